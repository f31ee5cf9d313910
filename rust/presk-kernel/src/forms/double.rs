//! Constants and polynomials of the forms in f64. tools/forms.py writes this file.

use super::{Number, horner};

impl Number for f64 {
    /// What makes a number whole, where added and subtracted again.
    const SHIFT: Self = 6755399441055744.0;
    /// 1
    const ONE: Self = 1.0;
    /// ½
    const HALF: Self = 0.5;
    /// 4
    const FOUR: Self = 4.0;
    /// 1 / ln 2
    const INV_LN2: Self = 1.4426950408889634;
    /// ln 2, of which a multiple up to 2¹¹ is exact.
    const LN2_HI: Self = 0.693147180559663;
    /// What that lacks.
    const LN2_LO: Self = 2.8235290563031577e-13;
    /// φ(0) = 1 / √(2π)
    const DENSITY: Self = 0.3989422804014327;
    /// 2·√(2/π), the factor of gelu_tanh's argument.
    const LINE_HI: Self = 1.5957691216057308;
    /// What that lacks.
    const LINE_LO: Self = -9.96930880911092e-17;
    /// 0.044715 times it, in half as many digits.
    const CUBE_HI: Self = 0.071354815736413;
    /// What that lacks.
    const CUBE_LO: Self = 5.361872467621785e-10;
    /// Three times it.
    const THRICE_CUBE: Self = 0.21406444881780073;
    /// From here on gaussian at −a is 0.
    const GAUSSIAN_END: Self = 28.0;
    /// From here on gelu at −a is 0.
    const GELU_END: Self = 40.0;
    /// From here on silu at −a is 0.
    const SILU_END: Self = 756.0;
    /// From here on gelu_tanh at −a is 0.
    const GELU_TANH_END: Self = 23.0;
    /// Where the slope of gelu at −a is 0.
    const GELU_ROOT_HI: Self = 0.7517915246935645;
    /// What that lacks.
    const GELU_ROOT_LO: Self = -1.4956759177009883e-17;
    /// How far from there it is computed from there.
    const GELU_NEAR: Self = 0.4;
    /// Where the slope of silu at −a is 0.
    const SILU_ROOT_HI: Self = 1.2784645427610737;
    /// What that lacks.
    const SILU_ROOT_LO: Self = 1.0946994183093437e-16;
    /// How far from there it is computed from there.
    const SILU_NEAR: Self = 0.45;
    /// Where the slope of gelu_tanh at −a is 0.
    const GELU_TANH_ROOT_HI: Self = 0.7524614220710163;
    /// What that lacks.
    const GELU_TANH_ROOT_LO: Self = -3.635560509207687e-17;
    /// How far from there it is computed from there.
    const GELU_TANH_NEAR: Self = 0.4;

    /// p of eʳ = 1 + r + r²·p(r)
    #[inline(always)]
    fn rest_of_exp(r: Self) -> Self {
        let square = r * r;
        let even = horner!(square; 0.5, 0.04166666666666667, 0.001388888888888375, 2.480158732554432e-5, 2.7557273647451066e-7, 2.0914685161426215e-9);
        even + r
            * horner!(square; 0.1666666666666667, 0.008333333333326136, 0.00019841269874815834, 2.7557255406285044e-6, 2.5105214474751555e-8)
    }

    /// Φ(−a)·exp(a²/2)·(a + 4) of t = (a − 4) / (a + 4)
    #[inline(always)]
    fn mills(t: Self) -> Self {
        let square = t * t;
        let even = horner!(square; 0.7552851304157515, 0.38713740074221453, 0.06039657489093769, -0.003479692367412914, 0.0001333443125592139, -1.9082589727909575e-6, 7.166661392310459e-7, -6.296896838092998e-7, 2.717809948345e-7, -8.536991353342608e-8, 1.9587727444446167e-8, -2.511372928694166e-9);
        even + t
            * horner!(square; -0.6078966419718921, -0.18652185795965745, -0.007540188966719381, 0.0016308184574697466, -0.00023109493413064064, 3.514468067075562e-5, -5.920156161474508e-6, 1.0215205012909071e-6, -1.549271323887327e-7, 1.32610923300199e-8, 1.917695265350152e-9, -7.227674920350449e-10)
    }

    /// P of the slope of gelu about its root
    #[inline(always)]
    fn gelu_root(w: Self) -> Self {
        let square = w * w;
        let even = horner!(square; 0.5724061752276146, 0.036581591489377445, 0.00516414067323373, 0.0005510161610377392, 4.739642524631584e-5, 3.4194413114840953e-6, 2.195910528765493e-7);
        even + w
            * horner!(square; -0.0847563696385306, -0.0143136597992526, -0.001738550434883236, -0.0001655376414878412, -1.2990589597949056e-5, -8.678980119733518e-7, -5.2071602742509694e-8)
    }

    /// P of the slope of silu about its root
    #[inline(always)]
    fn silu_root(w: Self) -> Self {
        let square = w * w;
        let even = horner!(square; 1.2784645427610737, 0.046410757126846176, 0.0023205378563111046, 5.525090199697535e-5, 7.673674011336999e-7, 7.0033942742111454e-9);
        even + w
            * horner!(square; -0.1392322713805369, -0.011602689281711447, -0.00038675630938815413, -6.906362714490617e-6, -7.673691820694881e-8, -5.832911010897235e-10)
    }

    /// P of the slope of gelu_tanh about its root
    #[inline(always)]
    fn gelu_tanh_root(w: Self) -> Self {
        let square = w * w;
        let even = horner!(square; 2.4606567646302393, 0.4004476935340449, 0.030485990572143178, 0.003690377293056572, 0.0003565119181500793, 2.808348128071981e-5, 2.005420027012537e-6, 1.2708215224944027e-7);
        even + w
            * horner!(square; 0.09991152322555415, -0.07595899090764559, -0.011295232370017522, -0.0011529345671335864, -0.00010306866069371397, -7.606509928054944e-6, -5.186980533879482e-7)
    }

    #[inline(always)]
    fn size(self) -> Self {
        self.abs()
    }

    #[inline(always)]
    fn cut(self) -> Self {
        Self::from_bits(self.to_bits() & 0xffff_ffff_f800_0000)
    }

    #[inline(always)]
    fn power_of_two(k: Self) -> Self {
        const ONE: u64 = 1f64.to_bits();
        Self::from_bits(ONE.wrapping_add((k + Self::SHIFT).to_bits() << 52))
    }
}
