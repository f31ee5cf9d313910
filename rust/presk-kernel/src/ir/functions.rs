//! The elementary functions of one real.

/// Elementary functions of one real: the libm crate's, and the forms of [`crate::forms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Function {
    Exp,
    Expm1,
    Log,
    Log1p,
    Tanh,
    Sin,
    Cos,
    Erf,
    Erfc,
    Gaussian,
    Gelu,
    GeluSlope,
    Silu,
    SiluSlope,
    GeluTanh,
    GeluTanhSlope,
}

impl Function {
    /// Every function, in the order of the documentation.
    pub const ALL: [Self; 16] = [
        Self::Exp,
        Self::Expm1,
        Self::Log,
        Self::Log1p,
        Self::Tanh,
        Self::Sin,
        Self::Cos,
        Self::Erf,
        Self::Erfc,
        Self::Gaussian,
        Self::Gelu,
        Self::GeluSlope,
        Self::Silu,
        Self::SiluSlope,
        Self::GeluTanh,
        Self::GeluTanhSlope,
    ];

    /// The name in the text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Expm1 => "expm1",
            Self::Log => "log",
            Self::Log1p => "log1p",
            Self::Tanh => "tanh",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Erf => "erf",
            Self::Erfc => "erfc",
            Self::Gaussian => "gaussian",
            Self::Gelu => "gelu",
            Self::GeluSlope => "gelu_slope",
            Self::Silu => "silu",
            Self::SiluSlope => "silu_slope",
            Self::GeluTanh => "gelu_tanh",
            Self::GeluTanhSlope => "gelu_tanh_slope",
        }
    }
}
