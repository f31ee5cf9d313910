//! IR to kernel text, the inverse of [`crate::read`].

use std::fmt::Write;

use crate::ir::{
    Access, Apply, Arithmetic, Axis, Bool, BufferType, Condition, Division, Element, Int, IntBinary, Kernel, Real,
    RealBinary, RealUnary, ScaleAxes, Statement, StatementKind, Tile,
};
use crate::literal;

mod lanes;

/// The text of a kernel, ending in a newline.
#[must_use]
pub fn print(kernel: &Kernel) -> String {
    let mut printer = Printer { kernel, text: String::new() };
    printer.head();
    printer.block(&kernel.body, 1);
    printer.text.push_str("}\n");
    printer.text
}

/// The text of one expression or access, as error messages and listings show it.
struct Printer<'k> {
    kernel: &'k Kernel,
    text: String,
}

impl Printer<'_> {
    /// Appends formatted text. Writing to a `String` can't fail.
    fn put(&mut self, arguments: std::fmt::Arguments) {
        self.text.write_fmt(arguments).expect("a String takes any text");
    }

    fn head(&mut self) {
        let kernel = self.kernel;
        self.put(format_args!("kernel {} ", kernel.name));
        if kernel.states_arithmetic() {
            self.put(format_args!("in {} ", kernel.arithmetic.name()));
        }
        self.text.push('(');
        for (number, input) in kernel.inputs.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            self.put(format_args!("{comma}%{number} : "));
            self.buffer_type(input);
        }
        self.text.push_str(") -> ");
        for (number, output) in kernel.outputs.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            self.put(format_args!("{comma}%{}", kernel.inputs.len() + number));
            if let Some(input) = output.shares {
                self.put(format_args!(" in %{input}"));
            }
            self.text.push_str(" : ");
            self.buffer_type(&output.buffer);
        }
        self.text.push_str(" {\n");
        for (number, scratch) in kernel.scratch.iter().enumerate() {
            self.put(format_args!("  t{number} : "));
            self.buffer_type(scratch);
            self.text.push('\n');
        }
    }

    fn buffer_type(&mut self, buffer: &BufferType) {
        match buffer.element {
            Element::F64 => self.text.push_str("f64"),
            Element::F32 => self.text.push_str("f32"),
            Element::Bf16 => self.text.push_str("bf16"),
            Element::I64 => self.text.push_str("i64"),
            Element::Index(bound) => self.put(format_args!("i64<{bound}")),
            Element::Bool => self.text.push_str("bool"),
            Element::Int8(axes) => self.quantised("int8", axes),
            Element::Int4(axes) => self.quantised("int4", axes),
        }
        for (position, Axis { name, size }) in buffer.axes.iter().enumerate() {
            self.text.push_str(if position == 0 { "[" } else { ", " });
            if let Some(name) = name {
                self.put(format_args!("{name}: "));
            }
            self.put(format_args!("{size}"));
        }
        if !buffer.axes.is_empty() {
            self.text.push(']');
        }
    }

    fn quantised(&mut self, name: &str, axes: ScaleAxes) {
        self.put(format_args!("{name}/{}", axes.first));
        if axes.end != axes.first + 1 {
            self.put(format_args!("..{}", axes.end));
        }
    }

    fn block(&mut self, statements: &[Statement], depth: usize) {
        for statement in statements {
            self.indent(depth);
            self.statement(&statement.kind, depth);
            self.text.push('\n');
        }
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.text.push_str("  ");
        }
    }

    fn statement(&mut self, statement: &StatementKind, depth: usize) {
        match statement {
            StatementKind::SetReal(number, value) => {
                self.put(format_args!("s{number} = "));
                self.real(value, false);
            }
            StatementKind::SetInt(number, value) => {
                self.put(format_args!("n{number} = "));
                self.int(value);
            }
            StatementKind::SetBool(number, value) => {
                self.put(format_args!("b{number} = "));
                self.bool(value);
            }
            StatementKind::SetVector(number, value) => {
                self.put(format_args!("v{number} = "));
                self.vector(value, false);
            }
            StatementKind::SetMask(number, value) => {
                self.put(format_args!("m{number} = "));
                self.mask(value);
            }
            StatementKind::StoreReal(access, value) => {
                self.store(access, " = ");
                self.real(value, false);
            }
            StatementKind::StoreInt(access, value) => {
                self.store(access, " = ");
                self.int(value);
            }
            StatementKind::StoreBool(access, value) => {
                self.store(access, " = ");
                self.bool(value);
            }
            StatementKind::StoreVector(access, value) => {
                self.store(access, " <v= ");
                self.vector(value, false);
            }
            StatementKind::StoreMask(access, value) => {
                self.store(access, " <v= ");
                self.mask(value);
            }
            StatementKind::For(each) => {
                self.put(format_args!("for i{} in 0..{} {{\n", each.variable, each.extent));
                self.close(&each.body, depth);
            }
            StatementKind::If(condition, body) => {
                self.text.push_str("if ");
                match condition {
                    Condition::Holds(condition) => self.bool(condition),
                    Condition::NonZero(condition) => self.int(condition),
                }
                self.text.push_str(" {\n");
                self.close(body, depth);
            }
            StatementKind::Apply(apply) => self.apply(apply),
            StatementKind::Tile(tile) => self.tile(tile, depth),
        }
    }

    fn apply(&mut self, apply: &Apply) {
        self.put(format_args!("apply {}(", apply.name()));
        for (position, source) in apply.sources().enumerate() {
            self.text.push_str(if position == 0 { "" } else { ", " });
            self.access(source);
        }
        self.text.push_str(") to ");
        self.access(&apply.target);
        self.put(format_args!(" over {}", apply.count));
    }

    fn close(&mut self, body: &[Statement], depth: usize) {
        self.block(body, depth + 1);
        self.indent(depth);
        self.text.push('}');
    }

    fn tile(&mut self, tile: &Tile, depth: usize) {
        self.put(format_args!("tile<{}>", tile.lanes));
        for (number, run) in tile.runs.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            self.put(format_args!("{comma} i{} in 0..{}", run.variable, run.extent));
        }
        self.text.push_str(" {\n");
        self.indent(depth + 1);
        self.store(&tile.sum, if tile.continues { " += " } else { " = " });
        let [open, middle] = if tile.fused { ["fma(", ", "] } else { ["(", " * "] };
        self.text.push_str(open);
        self.access(&tile.left);
        self.text.push_str(middle);
        self.access(&tile.right);
        self.text.push_str(")\n");
        self.indent(depth);
        self.text.push('}');
    }

    fn store(&mut self, access: &Access, sign: &str) {
        self.access(access);
        self.text.push_str(sign);
    }

    fn access(&mut self, access: &Access) {
        let name = self.kernel.buffer_name(access.buffer);
        self.text.push_str(&name);
        self.text.push('[');
        for (position, index) in access.index.iter().enumerate() {
            if position > 0 {
                self.text.push_str(", ");
            }
            self.int(index);
        }
        self.text.push(']');
    }

    /// `pointed` keeps literals that would read as integers reals: `1.0`.
    fn real(&mut self, value: &Real, pointed: bool) {
        match value {
            Real::Constant(constant) => {
                self.text.push_str(&literal::print(*constant, self.kernel.arithmetic, pointed));
            }
            Real::Variable(number) => self.put(format_args!("s{number}")),
            Real::Load(access) => self.access(access),
            Real::Unary(RealUnary::Neg, operand) => {
                self.text.push_str("(-");
                self.real(operand, pointed);
                self.text.push(')');
            }
            Real::Unary(operator, operand) => self.call(unary_name(*operator), |each| each.real(operand, pointed)),
            Real::Call(function, operand) => self.call(function.name(), |each| each.real(operand, false)),
            Real::Binary(operator, left, right) => {
                self.binary(*operator, |each| each.real(left, pointed), |each| each.real(right, pointed))
            }
            Real::Fma(operands) => self.call("fma", |each| each.listed(&operands[..], |each, x| each.real(x, false))),
            Real::Select(condition, a, b) => self.call("select", |each| {
                each.bool(condition);
                each.text.push_str(", ");
                each.real(a, pointed);
                each.text.push_str(", ");
                each.real(b, pointed);
            }),
            Real::Round(float, operand) => {
                let pointed = !is_determined(operand, self.kernel.arithmetic);
                self.call(float.name(), |each| each.real(operand, pointed));
            }
            Real::FromInt(float, operand) => self.call(float.name(), |each| each.int(operand)),
        }
    }

    fn call(&mut self, name: &str, arguments: impl FnOnce(&mut Self)) {
        self.text.push_str(name);
        self.text.push('(');
        arguments(self);
        self.text.push(')');
    }

    fn listed<T>(&mut self, values: &[T], mut each: impl FnMut(&mut Self, &T)) {
        for (position, value) in values.iter().enumerate() {
            if position > 0 {
                self.text.push_str(", ");
            }
            each(self, value);
        }
    }

    fn binary(&mut self, operator: RealBinary, left: impl FnOnce(&mut Self), right: impl FnOnce(&mut Self)) {
        let (open, middle) = match operator {
            RealBinary::Add => ("(", " + "),
            RealBinary::Sub => ("(", " - "),
            RealBinary::Mul => ("(", " * "),
            RealBinary::Div => ("(", " / "),
            RealBinary::Max => ("max(", ", "),
            RealBinary::Min => ("min(", ", "),
            RealBinary::Pow => ("pow(", ", "),
        };
        self.text.push_str(open);
        left(self);
        self.text.push_str(middle);
        right(self);
        self.text.push(')');
    }

    fn int(&mut self, value: &Int) {
        match value {
            Int::Constant(value) => self.put(format_args!("{value}")),
            Int::Counter(number) => self.put(format_args!("i{number}")),
            Int::Variable(number) => self.put(format_args!("n{number}")),
            Int::Load(access) => self.access(access),
            Int::Neg(operand) => {
                self.text.push_str("(-");
                self.int(operand);
                self.text.push(')');
            }
            Int::Abs(operand) => self.call("abs", |each| each.int(operand)),
            Int::Binary(operator, left, right) => {
                let (open, middle) = match operator {
                    IntBinary::Add => ("(", " + "),
                    IntBinary::Sub => ("(", " - "),
                    IntBinary::Mul => ("(", " * "),
                    IntBinary::Max => ("max(", ", "),
                    IntBinary::Min => ("min(", ", "),
                };
                self.text.push_str(open);
                self.int(left);
                self.text.push_str(middle);
                self.int(right);
                self.text.push(')');
            }
            Int::Divide(division, operand, divisor) => {
                self.text.push('(');
                self.int(operand);
                let sign = if *division == Division::Quotient { "//" } else { "%" };
                self.put(format_args!(" {sign} {divisor})"));
            }
            Int::Select(condition, a, b) => self.call("select", |each| {
                each.bool(condition);
                each.text.push_str(", ");
                each.int(a);
                each.text.push_str(", ");
                each.int(b);
            }),
        }
    }

    fn bool(&mut self, value: &Bool) {
        match value {
            Bool::Constant(value) => self.put(format_args!("{value}")),
            Bool::Variable(number) => self.put(format_args!("b{number}")),
            Bool::Load(access) => self.access(access),
            Bool::CompareReal(comparison, left, right) => {
                let arithmetic = self.kernel.arithmetic;
                let pointed = !is_determined(left, arithmetic) && !is_determined(right, arithmetic);
                self.text.push('(');
                self.real(left, pointed);
                self.put(format_args!(" {} ", comparison.symbol()));
                self.real(right, pointed);
                self.text.push(')');
            }
            Bool::CompareInt(comparison, left, right) => {
                self.text.push('(');
                self.int(left);
                self.put(format_args!(" {} ", comparison.symbol()));
                self.int(right);
                self.text.push(')');
            }
            Bool::Not(operand) => {
                self.text.push_str("(not ");
                self.bool(operand);
                self.text.push(')');
            }
            Bool::And(left, right) | Bool::Or(left, right) => {
                self.text.push('(');
                self.bool(left);
                self.text.push_str(if matches!(value, Bool::And(..)) { " and " } else { " or " });
                self.bool(right);
                self.text.push(')');
            }
        }
    }
}

fn unary_name(operator: RealUnary) -> &'static str {
    match operator {
        RealUnary::Neg => "-",
        RealUnary::Abs => "abs",
        RealUnary::Floor => "floor",
        RealUnary::Sqrt => "sqrt",
    }
}

/// Whether the text of a real reads as one where nothing says what is wanted: the reader's rule, on typed values.
fn is_determined(value: &Real, arithmetic: Arithmetic) -> bool {
    let of = |value: &Real| is_determined(value, arithmetic);
    match value {
        Real::Constant(constant) => {
            let text = literal::print(*constant, arithmetic, false);
            !literal::is_plain(text.strip_prefix('-').unwrap_or(&text))
        }
        Real::Unary(RealUnary::Neg | RealUnary::Abs, operand) => of(operand),
        Real::Binary(
            RealBinary::Add | RealBinary::Sub | RealBinary::Mul | RealBinary::Max | RealBinary::Min,
            left,
            right,
        ) => of(left) || of(right),
        Real::Select(_, a, b) => of(a) || of(b),
        _ => true,
    }
}
