//! Typed expressions, one method a kind of value.

use super::{Kind, Typed, Typer, check_number, type_error};
use crate::ir::{Bool, Comparison, Constant, Division, Float, Function, Int, IntBinary, Real, RealBinary, RealUnary};
use crate::literal;
use crate::raw::{Raw, RawKind, VariableKind};

impl Typer<'_> {
    /// An expression where a real is wanted.
    pub fn real(self, raw: &Raw) -> Typed<Real> {
        match &raw.kind {
            RawKind::Number { text, negative } => match literal::read(text, self.kernel.arithmetic) {
                Some(value) => Ok(Real::Constant(Constant::new(if *negative { -value } else { value }))),
                None => {
                    let arithmetic = self.kernel.arithmetic.name();
                    type_error(
                        format!("this literal is beyond the range of {arithmetic}; infinity is `inf`"),
                        raw.place,
                    )
                }
            },
            RawKind::Infinity { negative } => {
                Ok(Real::Constant(Constant::new(if *negative { f64::NEG_INFINITY } else { f64::INFINITY })))
            }
            RawKind::Nan => Ok(Real::Constant(Constant::new(f64::NAN))),
            RawKind::Variable(VariableKind::Real, number) => {
                check_number(*number, raw.place)?;
                Ok(Real::Variable(*number))
            }
            RawKind::Load { access, vector: false } => Ok(Real::Load(self.load(access, Kind::Real, raw)?)),
            RawKind::Negate { operand, vector: false } => {
                Ok(Real::Unary(RealUnary::Neg, Box::new(self.real(operand)?)))
            }
            RawKind::Binary { operator, operands, vector: false } => {
                let Some(operator) = real_operator(operator) else { return self.mismatch(Kind::Real, raw) };
                let [left, right] = &**operands;
                Ok(Real::Binary(operator, Box::new(self.real(left)?), Box::new(self.real(right)?)))
            }
            RawKind::Call { function, arguments, vector: false } => self.real_call(function, arguments, raw),
            _ => self.mismatch(Kind::Real, raw),
        }
    }

    fn real_call(self, function: &str, arguments: &[Raw], raw: &Raw) -> Typed<Real> {
        if let Some(operator) = unary_name(function) {
            let [operand] = arity(function, arguments, raw)?;
            return Ok(Real::Unary(operator, Box::new(self.real(operand)?)));
        }
        if let Some(operator) = binary_name(function) {
            let [left, right] = arity(function, arguments, raw)?;
            return Ok(Real::Binary(operator, Box::new(self.real(left)?), Box::new(self.real(right)?)));
        }
        if let Some(elementary) = Function::ALL.into_iter().find(|each| each.name() == function) {
            let [operand] = arity(function, arguments, raw)?;
            return Ok(Real::Call(elementary, Box::new(self.real(operand)?)));
        }
        if let Some(float) = [Float::Bf16, Float::F32, Float::F64].into_iter().find(|each| each.name() == function) {
            return self.conversion(float, arguments, raw);
        }
        match function {
            "fma" => {
                let [a, b, c] = arity(function, arguments, raw)?;
                Ok(Real::Fma(Box::new([self.real(a)?, self.real(b)?, self.real(c)?])))
            }
            "select" => {
                let [condition, a, b] = arity(function, arguments, raw)?;
                let condition = Box::new(self.bool(condition)?);
                Ok(Real::Select(condition, Box::new(self.real(a)?), Box::new(self.real(b)?)))
            }
            _ => type_error(format!("there is no function `{function}`"), raw.place),
        }
    }

    fn conversion(self, float: Float, arguments: &[Raw], raw: &Raw) -> Typed<Real> {
        let [operand] = arity(float.name(), arguments, raw)?;
        if float == Float::F64 && self.kernel.arithmetic.name() == "f32" {
            return type_error("reals of an f32 kernel are f32: f64(x) has no meaning here", raw.place);
        }
        match self.kind(operand) {
            None | Some(Kind::Int) => Ok(Real::FromInt(float, Box::new(self.int(operand)?))),
            _ => Ok(Real::Round(float, Box::new(self.real(operand)?))),
        }
    }

    /// An expression where an integer is wanted.
    pub fn int(self, raw: &Raw) -> Typed<Int> {
        match &raw.kind {
            RawKind::Number { text, negative } if literal::is_plain(text) => {
                let signed = if *negative { format!("-{text}") } else { (*text).to_owned() };
                match signed.parse() {
                    Ok(value) => Ok(Int::Constant(value)),
                    Err(_) => type_error("this integer is beyond 64 bits", raw.place),
                }
            }
            RawKind::Variable(VariableKind::Counter, number) => {
                check_number(*number, raw.place)?;
                Ok(Int::Counter(*number))
            }
            RawKind::Variable(VariableKind::Int, number) => {
                check_number(*number, raw.place)?;
                Ok(Int::Variable(*number))
            }
            RawKind::Load { access, vector: false } => Ok(Int::Load(self.load(access, Kind::Int, raw)?)),
            RawKind::Negate { operand, vector: false } => Ok(Int::Neg(Box::new(self.int(operand)?))),
            RawKind::Binary { operator, operands, vector: false } => self.int_binary(operator, operands, raw),
            RawKind::Call { function: "abs", arguments, vector: false } => {
                let [operand] = arity("abs", arguments, raw)?;
                Ok(Int::Abs(Box::new(self.int(operand)?)))
            }
            RawKind::Call { function: function @ ("max" | "min"), arguments, vector: false } => {
                let [left, right] = arity(function, arguments, raw)?;
                let operator = if *function == "max" { IntBinary::Max } else { IntBinary::Min };
                Ok(Int::Binary(operator, Box::new(self.int(left)?), Box::new(self.int(right)?)))
            }
            RawKind::Call { function: "select", arguments, vector: false } => {
                let [condition, a, b] = arity("select", arguments, raw)?;
                let condition = Box::new(self.bool(condition)?);
                Ok(Int::Select(condition, Box::new(self.int(a)?), Box::new(self.int(b)?)))
            }
            _ => self.mismatch(Kind::Int, raw),
        }
    }

    fn int_binary(self, operator: &str, operands: &[Raw; 2], raw: &Raw) -> Typed<Int> {
        let [left, right] = operands;
        let operation = match operator {
            "+" => IntBinary::Add,
            "-" => IntBinary::Sub,
            "*" => IntBinary::Mul,
            "//" | "%" => {
                let division = if operator == "//" { Division::Quotient } else { Division::Remainder };
                let Int::Constant(divisor @ 1..) = self.int(right)? else {
                    return type_error("a divisor of integers is a positive literal", right.place);
                };
                return Ok(Int::Divide(division, Box::new(self.int(left)?), divisor));
            }
            _ => return self.mismatch(Kind::Int, raw),
        };
        Ok(Int::Binary(operation, Box::new(self.int(left)?), Box::new(self.int(right)?)))
    }

    /// An expression where a truth value is wanted.
    pub fn bool(self, raw: &Raw) -> Typed<Bool> {
        match &raw.kind {
            RawKind::Truth(value) => Ok(Bool::Constant(*value)),
            RawKind::Variable(VariableKind::Bool, number) => {
                check_number(*number, raw.place)?;
                Ok(Bool::Variable(*number))
            }
            RawKind::Load { access, vector: false } => Ok(Bool::Load(self.load(access, Kind::Bool, raw)?)),
            RawKind::Not { operand, vector: false } => Ok(Bool::Not(Box::new(self.bool(operand)?))),
            RawKind::Binary { operator: operator @ ("and" | "or"), operands, vector: false } => {
                let (left, right) = (Box::new(self.bool(&operands[0])?), Box::new(self.bool(&operands[1])?));
                Ok(if *operator == "and" { Bool::And(left, right) } else { Bool::Or(left, right) })
            }
            RawKind::Binary { operator, operands, vector: false } => match comparison(operator) {
                Some(comparison) => self.compare(comparison, operands),
                None => self.mismatch(Kind::Bool, raw),
            },
            _ => self.mismatch(Kind::Bool, raw),
        }
    }

    fn compare(self, comparison: Comparison, operands: &[Raw; 2]) -> Typed<Bool> {
        let [left, right] = operands;
        match self.kind(left).or_else(|| self.kind(right)) {
            None | Some(Kind::Int) => {
                Ok(Bool::CompareInt(comparison, Box::new(self.int(left)?), Box::new(self.int(right)?)))
            }
            Some(Kind::Real) => {
                Ok(Bool::CompareReal(comparison, Box::new(self.real(left)?), Box::new(self.real(right)?)))
            }
            Some(found) => type_error(format!("reals and integers are compared, not {}", found.name()), left.place),
        }
    }
}

pub(super) fn arity<'r, 't, const N: usize>(
    function: &str,
    arguments: &'r [Raw<'t>],
    raw: &Raw,
) -> Typed<[&'r Raw<'t>; N]> {
    let found = arguments.len();
    let message = || format!("`{function}` takes {N} argument{}, not {found}", if N == 1 { "" } else { "s" });
    let references: Vec<&Raw> = arguments.iter().collect();
    references.try_into().or_else(|_| type_error(message(), raw.place))
}

pub(super) fn real_operator(operator: &str) -> Option<RealBinary> {
    match operator {
        "+" => Some(RealBinary::Add),
        "-" => Some(RealBinary::Sub),
        "*" => Some(RealBinary::Mul),
        "/" => Some(RealBinary::Div),
        _ => None,
    }
}

pub(super) fn unary_name(function: &str) -> Option<RealUnary> {
    match function {
        "abs" => Some(RealUnary::Abs),
        "floor" => Some(RealUnary::Floor),
        "sqrt" => Some(RealUnary::Sqrt),
        _ => None,
    }
}

pub(super) fn binary_name(function: &str) -> Option<RealBinary> {
    match function {
        "max" => Some(RealBinary::Max),
        "min" => Some(RealBinary::Min),
        "pow" => Some(RealBinary::Pow),
        _ => None,
    }
}

pub(super) fn comparison(operator: &str) -> Option<Comparison> {
    let all = [Comparison::Lt, Comparison::Le, Comparison::Eq, Comparison::Ne, Comparison::Ge, Comparison::Gt];
    all.into_iter().find(|each| each.symbol() == operator)
}
