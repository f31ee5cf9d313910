//! Constants and polynomials of the forms in f32. tools/forms.py writes this file.

use super::{Number, horner};

impl Number for f32 {
    /// What makes a number whole, where added and subtracted again.
    const SHIFT: Self = 1.2582912e07;
    /// 1
    const ONE: Self = 1.0;
    /// ½
    const HALF: Self = 0.5;
    /// 4
    const FOUR: Self = 4.0;
    /// 1 / ln 2
    const INV_LN2: Self = 1.442695;
    /// ln 2, of which a multiple up to 2¹¹ is exact.
    const LN2_HI: Self = 0.69311523;
    /// What that lacks.
    const LN2_LO: Self = 3.1946183e-5;
    /// φ(0) = 1 / √(2π)
    const DENSITY: Self = 0.3989423;
    /// 2·√(2/π), the factor of gelu_tanh's argument.
    const LINE_HI: Self = 1.5957692;
    /// What that lacks.
    const LINE_LO: Self = -4.534068e-8;
    /// 0.044715 times it, in half as many digits.
    const CUBE_HI: Self = 0.0713501;
    /// What that lacks.
    const CUBE_LO: Self = 4.7186163e-6;
    /// Three times it.
    const THRICE_CUBE: Self = 0.21406445;
    /// From here on gaussian at −a is 0.
    const GAUSSIAN_END: Self = 11.0;
    /// From here on gelu at −a is 0.
    const GELU_END: Self = 15.0;
    /// From here on silu at −a is 0.
    const SILU_END: Self = 110.0;
    /// From here on gelu_tanh at −a is 0.
    const GELU_TANH_END: Self = 11.0;
    /// Where the slope of gelu at −a is 0.
    const GELU_ROOT_HI: Self = 0.75179154;
    /// What that lacks.
    const GELU_ROOT_LO: Self = -1.211445e-8;
    /// How far from there it is computed from there.
    const GELU_NEAR: Self = 0.4;
    /// Where the slope of silu at −a is 0.
    const SILU_ROOT_HI: Self = 1.2784646;
    /// What that lacks.
    const SILU_ROOT_LO: Self = -1.29792825e-8;
    /// How far from there it is computed from there.
    const SILU_NEAR: Self = 0.45;
    /// Where the slope of gelu_tanh at −a is 0.
    const GELU_TANH_ROOT_HI: Self = 0.75246143;
    /// What that lacks.
    const GELU_TANH_ROOT_LO: Self = -1.1339628e-8;
    /// How far from there it is computed from there.
    const GELU_TANH_NEAR: Self = 0.4;

    /// p of eʳ = 1 + r + r²·p(r)
    #[inline(always)]
    fn rest_of_exp(r: Self) -> Self {
        let square = r * r;
        let even = horner!(square; 0.5, 0.041666094, 0.0013964415);
        even + r * horner!(square; 0.16666667, 0.0083332695, 0.00019925149)
    }

    /// Φ(−a)·exp(a²/2)·(a + 4) of t = (a − 4) / (a + 4)
    #[inline(always)]
    fn mills(t: Self) -> Self {
        let square = t * t;
        let even = horner!(square; 0.75528514, 0.38713735, 0.06039753, -0.0034893174, 0.0001710546, -5.155659e-5);
        even + t * horner!(square; -0.6078967, -0.18652128, -0.007545268, 0.0016452193, -0.00023179868)
    }

    /// P of the slope of gelu about its root
    #[inline(always)]
    fn gelu_root(w: Self) -> Self {
        let square = w * w;
        let even = horner!(square; 0.5724062, 0.036581643, 0.005162586, 0.000566458);
        even + w * horner!(square; -0.08475637, -0.014313674, -0.0017381249, -0.00016976499)
    }

    /// P of the slope of silu about its root
    #[inline(always)]
    fn silu_root(w: Self) -> Self {
        let square = w * w;
        let even = horner!(square; 1.2784646, 0.046410758, 0.00232051, 5.552401e-5);
        even + w * horner!(square; -0.13923228, -0.01160244, -0.00038921557)
    }

    /// P of the slope of gelu_tanh about its root
    #[inline(always)]
    fn gelu_tanh_root(w: Self) -> Self {
        let square = w * w;
        let even = horner!(square; 2.460657, 0.40044808, 0.030474272, 0.0038067016);
        even + w * horner!(square; 0.099911526, -0.0759591, -0.011291849, -0.0011865271)
    }

    #[inline(always)]
    fn size(self) -> Self {
        self.abs()
    }

    #[inline(always)]
    fn cut(self) -> Self {
        Self::from_bits(self.to_bits() & 0xffff_f000)
    }

    #[inline(always)]
    fn power_of_two(k: Self) -> Self {
        const ONE: u32 = 1f32.to_bits();
        Self::from_bits(ONE.wrapping_add((k + Self::SHIFT).to_bits() << 23))
    }
}
