//! Kernel text to IR: the grammar of docs/kernels.md by recursive descent, one token ahead, nesting counted.

use crate::elaborate::Typer;
use crate::error::{Error, ErrorKind};
use crate::ir::{Access, Arithmetic, Axis, Buffer, BufferType, Element, Kernel, Loop, Output, Place, ScaleAxes};
use crate::ir::{Statement, StatementKind};
use crate::lexer::{Lexer, Token, index};
use crate::limits;
use crate::raw::{Raw, RawAccess, RawKind, VariableKind};
use crate::verify::buffer_fault;

mod runs;
mod tile;

/// Reads a text of exactly one kernel. What comes back is typed, not yet verified.
///
/// # Errors
/// The first fault of grammar or type, with its place.
pub fn parse(text: &str) -> Result<Kernel, Error> {
    let mut reader = Reader::new(text)?;
    let kernel = reader.kernel()?;
    if reader.token == Token::End { Ok(kernel) } else { Err(reader.expected("the end of the text after one kernel")) }
}

/// Reads a text of any number of kernels.
///
/// # Errors
/// The first fault of grammar or type, with its place.
pub fn parse_all(text: &str) -> Result<Vec<Kernel>, Error> {
    let mut reader = Reader::new(text)?;
    let mut kernels = Vec::new();
    while reader.token != Token::End {
        kernels.push(reader.kernel()?);
    }
    Ok(kernels)
}

/// A kernel's head while its body is read: its buffers and its arithmetic type.
struct Reader<'t> {
    lexer: Lexer<'t>,
    token: Token<'t>,
    place: Place,
    depth: usize,
    inputs: usize,
}

type Read<T> = Result<T, Error>;

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Read<Self> {
        if text.len() > limits::TEXT_BYTES {
            let what = format!("kernel text of {} bytes", text.len());
            return Err(ErrorKind::Limit { what, limit: limits::TEXT_BYTES as u64 }.at(Place::default()));
        }
        let mut lexer = Lexer::new(text);
        let (token, place) = lexer.next()?;
        Ok(Self { lexer, token, place, depth: 0, inputs: 0 })
    }

    fn advance(&mut self) -> Read<()> {
        (self.token, self.place) = self.lexer.next()?;
        Ok(())
    }

    fn expected(&self, what: &str) -> Error {
        ErrorKind::Syntax(format!("expected {what}, found {}", self.token.show())).at(self.place)
    }

    fn accept(&mut self, symbol: &'static str) -> Read<bool> {
        let found = self.token == Token::Symbol(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, symbol: &'static str) -> Read<()> {
        if self.accept(symbol)? { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    fn keyword(&mut self, word: &str) -> Read<()> {
        if self.token != Token::Word(word) {
            return Err(self.expected(&format!("`{word}`")));
        }
        self.advance()
    }

    fn word(&mut self, what: &str) -> Read<&'t str> {
        let Token::Word(word) = self.token else { return Err(self.expected(what)) };
        self.advance()?;
        Ok(word)
    }

    fn integer(&mut self, what: &str) -> Read<u64> {
        let Token::Number(text) = self.token else { return Err(self.expected(what)) };
        let value = text.parse::<u64>().map_err(|_| self.expected(&format!("{what} below 2^64")))?;
        self.advance()?;
        Ok(value)
    }

    fn enter(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > limits::NESTING {
            let what = "the depth of blocks and expressions".into();
            return Err(ErrorKind::Limit { what, limit: limits::NESTING as u64 }.at(self.place));
        }
        Ok(())
    }

    fn kernel(&mut self) -> Read<Kernel> {
        self.keyword("kernel")?;
        let name = self.kernel_name()?;
        let stated = self.stated_arithmetic()?;
        let inputs = self.inputs()?;
        self.inputs = inputs.len();
        self.expect("->")?;
        let outputs_at = self.place;
        let outputs = self.outputs(&inputs)?;
        let implied = outputs[0].buffer.element.arithmetic();
        let Some(arithmetic) = stated.or(implied) else {
            let message = "the first output doesn't say the arithmetic type; state it: `kernel name in f32 (…)`";
            return Err(ErrorKind::Type(message.into()).at(outputs_at));
        };
        self.expect("{")?;
        let scratch = self.scratch()?;
        let mut kernel = Kernel { name, arithmetic, inputs, outputs, scratch, body: Vec::new() };
        kernel.body = self.statements(&kernel)?;
        self.expect("}")?;
        Ok(kernel)
    }

    /// The name, its bracketed part spaced as it prints: `split[heads: 2, hd]`.
    fn kernel_name(&mut self) -> Read<String> {
        let mut name = self.word("the kernel's name")?.to_owned();
        if !self.accept("[")? {
            return Ok(name);
        }
        name.push('[');
        if self.accept("]")? {
            return Ok(name + "]");
        }
        loop {
            match self.token {
                Token::Word(text) | Token::Number(text) => name.push_str(text),
                _ => return Err(self.expected("a word or a number in the kernel's name")),
            }
            self.advance()?;
            if self.accept("]")? {
                return Ok(name + "]");
            }
            let Token::Symbol(symbol @ ("," | ":")) = self.token else {
                return Err(self.expected("`,`, `:` or `]` in the kernel's name"));
            };
            self.advance()?;
            name.push_str(symbol);
            name.push(' ');
        }
    }

    fn stated_arithmetic(&mut self) -> Read<Option<Arithmetic>> {
        if self.token != Token::Word("in") {
            return Ok(None);
        }
        self.advance()?;
        let arithmetic = match self.token {
            Token::Word("f32") => Arithmetic::F32,
            Token::Word("f64") => Arithmetic::F64,
            _ => return Err(self.expected("`f32` or `f64`")),
        };
        self.advance()?;
        Ok(Some(arithmetic))
    }

    fn numbered(&mut self, number: usize) -> Read<()> {
        if self.token != Token::Parameter(u32::try_from(number).unwrap_or(u32::MAX)) {
            return Err(self.expected(&format!("`%{number}`")));
        }
        self.advance()
    }

    fn inputs(&mut self) -> Read<Vec<BufferType>> {
        self.expect("(")?;
        let mut inputs = Vec::new();
        if self.accept(")")? {
            return Ok(inputs);
        }
        loop {
            self.numbered(inputs.len())?;
            self.expect(":")?;
            inputs.push(self.buffer_type(true)?);
            self.bounded(inputs.len(), "the number of inputs")?;
            if !self.accept(",")? {
                self.expect(")")?;
                return Ok(inputs);
            }
        }
    }

    fn outputs(&mut self, inputs: &[BufferType]) -> Read<Vec<Output>> {
        let mut outputs = Vec::new();
        loop {
            self.numbered(inputs.len() + outputs.len())?;
            let mut shares = None;
            if self.token == Token::Word("in") {
                self.advance()?;
                let Token::Parameter(input) = self.token else { return Err(self.expected("an input such as `%0`")) };
                self.advance()?;
                shares = Some(input);
            }
            self.expect(":")?;
            outputs.push(Output { shares, buffer: self.buffer_type(false)? });
            self.bounded(outputs.len(), "the number of outputs")?;
            if !self.accept(",")? {
                return Ok(outputs);
            }
        }
    }

    fn bounded(&self, count: usize, what: &str) -> Read<()> {
        if count <= limits::BUFFERS {
            return Ok(());
        }
        Err(ErrorKind::Limit { what: what.into(), limit: limits::BUFFERS as u64 }.at(self.place))
    }

    fn scratch(&mut self) -> Read<Vec<BufferType>> {
        let mut scratch = Vec::new();
        while let Token::Word(word) = self.token {
            let Some(number) = temporary(word) else { break };
            let place = self.place;
            self.advance()?;
            if self.token == Token::Symbol("[") {
                return Err(ErrorKind::Type(format!("t{number} isn't declared at the kernel's head")).at(place));
            }
            if number as usize != scratch.len() {
                let message = format!("expected `t{}`: scratch is numbered in order", scratch.len());
                return Err(ErrorKind::Syntax(message).at(place));
            }
            self.expect(":")?;
            scratch.push(self.buffer_type(false)?);
            self.bounded(scratch.len(), "the number of scratch buffers")?;
            // A store into scratch begins with its name too, but without a colon: told apart by `[`.
            if matches!(self.token, Token::Word(word) if temporary(word).is_some_and(|n| (n as usize) < scratch.len()))
            {
                break;
            }
        }
        Ok(scratch)
    }

    fn buffer_type(&mut self, is_input: bool) -> Read<BufferType> {
        let place = self.place;
        let element = self.element()?;
        let mut axes = Vec::new();
        if self.accept("[")? {
            loop {
                let mut name = None;
                if let Token::Word(word) = self.token {
                    name = Some(word.to_owned());
                    self.advance()?;
                    self.expect(":")?;
                }
                axes.push(Axis { name, size: self.integer("the size of an axis")? });
                if !self.accept(",")? {
                    break;
                }
                if axes.len() >= limits::RANK {
                    let what = "the number of axes".into();
                    return Err(ErrorKind::Limit { what, limit: limits::RANK as u64 }.at(self.place));
                }
            }
            self.expect("]")?;
        }
        let buffer = BufferType { element, axes };
        match buffer_fault(&buffer, is_input) {
            Some(kind) => Err(kind.at(place)),
            None => Ok(buffer),
        }
    }

    fn element(&mut self) -> Read<Element> {
        let what = "an element type: f64, f32, bf16, i64, i64<V, bool, int8/o or int4/o";
        let Token::Word(word) = self.token else { return Err(self.expected(what)) };
        let element = match word {
            "f64" => Element::F64,
            "f32" => Element::F32,
            "bf16" => Element::Bf16,
            "bool" => Element::Bool,
            "i64" => {
                self.advance()?;
                let bounded = self.accept("<")?;
                return Ok(if bounded { Element::Index(self.integer("the bound V of i64<V")?) } else { Element::I64 });
            }
            "int8" | "int4" => {
                self.advance()?;
                let axes = self.scale_axes()?;
                return Ok(if word == "int8" { Element::Int8(axes) } else { Element::Int4(axes) });
            }
            _ => return Err(self.expected(what)),
        };
        self.advance()?;
        Ok(element)
    }

    fn scale_axes(&mut self) -> Read<ScaleAxes> {
        self.expect("/")?;
        let place = self.place;
        let first = self.integer("the axis of the scales")?;
        let end =
            if self.accept("..")? { self.integer("the end of the axes of the scales")? } else { first.wrapping_add(1) };
        let narrow = |axis: u64| u32::try_from(axis).ok();
        match (narrow(first), narrow(end)) {
            (Some(first), Some(end)) => Ok(ScaleAxes { first, end }),
            _ => Err(ErrorKind::Type("the axes of the scales are not axes of the buffer".into()).at(place)),
        }
    }

    fn block(&mut self, kernel: &Kernel) -> Read<Vec<Statement>> {
        self.expect("{")?;
        let statements = self.statements(kernel)?;
        self.expect("}")?;
        Ok(statements)
    }

    fn statements(&mut self, kernel: &Kernel) -> Read<Vec<Statement>> {
        self.enter()?;
        let mut statements = Vec::new();
        while self.token != Token::Symbol("}") {
            let place = self.place;
            statements.push(Statement { kind: self.statement(kernel)?, place });
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self, kernel: &Kernel) -> Read<StatementKind> {
        let typer = Typer { kernel };
        match self.token {
            Token::Word("for") => self.for_loop(kernel),
            Token::Word("apply") => self.apply(typer),
            Token::Word("tile") => self.tile(kernel),
            Token::Word("if") => {
                self.advance()?;
                let condition = typer.condition(&self.expression()?)?;
                Ok(StatementKind::If(condition, self.block(kernel)?))
            }
            Token::Word(word) if temporary(word).is_none() => {
                let Some((kind, number)) = VariableKind::of(word) else { return Err(self.expected("a statement")) };
                let place = self.place;
                self.advance()?;
                self.expect("=")?;
                let value = self.expression()?;
                typer.assignment(kind, number, &value, place)
            }
            Token::Parameter(_) | Token::Word(_) => {
                let raw = self.access()?;
                let access: Access = typer.access(&raw)?;
                if self.accept("<v=")? {
                    return typer.store_vector(access, &self.expression()?);
                }
                self.expect("=")?;
                typer.store(access, &self.expression()?)
            }
            _ => Err(self.expected("a statement or `}`")),
        }
    }

    fn for_loop(&mut self, kernel: &Kernel) -> Read<StatementKind> {
        self.advance()?;
        let (variable, extent) = self.counted()?;
        Ok(StatementKind::For(Loop { variable, extent, body: self.block(kernel)? }))
    }

    /// `iN in 0..extent`
    fn counted(&mut self) -> Read<(u32, u64)> {
        let counter = match self.token {
            Token::Word(word) => VariableKind::of(word),
            _ => None,
        };
        let Some((VariableKind::Counter, variable)) = counter else {
            return Err(self.expected("a loop counter such as `i0`"));
        };
        self.advance()?;
        self.keyword("in")?;
        if self.token != Token::Number("0") {
            return Err(self.expected("`0`, where every loop begins"));
        }
        self.advance()?;
        self.expect("..")?;
        Ok((variable, self.integer("the number of rounds")?))
    }

    fn access(&mut self) -> Read<RawAccess<'t>> {
        let place = self.place;
        let buffer = match self.token {
            Token::Parameter(number) if (number as usize) < self.inputs => Buffer::Input(number),
            Token::Parameter(number) => Buffer::Output(number - u32::try_from(self.inputs).unwrap_or(0)),
            Token::Word(word) => match temporary(word) {
                Some(number) => Buffer::Scratch(number),
                None => return Err(self.expected("a buffer")),
            },
            _ => return Err(self.expected("a buffer")),
        };
        self.advance()?;
        self.expect("[")?;
        Ok(RawAccess { buffer, index: self.listed("]")?, place })
    }

    /// Expressions with commas between them, up to and with the closing symbol.
    fn listed(&mut self, close: &'static str) -> Read<Vec<Raw<'t>>> {
        let mut list = Vec::new();
        if self.accept(close)? {
            return Ok(list);
        }
        loop {
            list.push(self.expression()?);
            if !self.accept(",")? {
                self.expect(close)?;
                return Ok(list);
            }
        }
    }

    fn expression(&mut self) -> Read<Raw<'t>> {
        self.enter()?;
        let place = self.place;
        let kind = match self.token {
            Token::Symbol("(") => {
                self.advance()?;
                self.parenthesised()?
            }
            Token::Symbol("-") => {
                self.advance()?;
                self.number(true)?
            }
            Token::Number(_) => self.number(false)?,
            Token::Parameter(_) => self.load()?,
            Token::Word(word) => self.named(word)?,
            _ => return Err(self.expected("an expression")),
        };
        self.depth -= 1;
        Ok(Raw { kind, place })
    }

    fn number(&mut self, negative: bool) -> Read<RawKind<'t>> {
        let kind = match self.token {
            Token::Number(text) => RawKind::Number { text, negative },
            Token::Word("inf") => RawKind::Infinity { negative },
            _ => return Err(self.expected("a number after `-`")),
        };
        self.advance()?;
        Ok(kind)
    }

    fn load(&mut self) -> Read<RawKind<'t>> {
        let access = self.access()?;
        Ok(RawKind::Load { access, vector: self.accept("<v>")? })
    }

    fn named(&mut self, word: &'t str) -> Read<RawKind<'t>> {
        let plain = match word {
            "inf" => Some(RawKind::Infinity { negative: false }),
            "nan" => Some(RawKind::Nan),
            "true" => Some(RawKind::Truth(true)),
            "false" => Some(RawKind::Truth(false)),
            _ => VariableKind::of(word).map(|(kind, number)| RawKind::Variable(kind, number)),
        };
        if let Some(kind) = plain {
            self.advance()?;
            return Ok(kind);
        }
        if temporary(word).is_some() {
            return self.load();
        }
        let place = self.place;
        self.advance()?;
        if self.token != Token::Symbol("(") {
            let shown = Token::Word(word).show();
            return Err(ErrorKind::Syntax(format!("{shown} is neither a variable nor a function's name")).at(place));
        }
        self.advance()?;
        let arguments = self.listed(")")?;
        if let "splat" | "ramp" = word {
            return broadcast(word, arguments, place);
        }
        Ok(RawKind::Call { function: word, arguments, vector: self.accept("<v>")? })
    }

    /// After `(`: a sign, `not`, or a binary operation. `(-1)` is the negation of 1, `(-1 + s0)` begins with −1.
    fn parenthesised(&mut self) -> Read<RawKind<'t>> {
        let place = self.place;
        if self.accept("-")? {
            if !matches!(self.token, Token::Number(_) | Token::Word("inf")) {
                return self.negation();
            }
            let literal_at = self.place;
            let literal = self.number(false)?;
            if self.token == Token::Symbol(")") {
                self.advance()?;
                let operand = Box::new(Raw { kind: literal, place: literal_at });
                return Ok(RawKind::Negate { operand, vector: self.accept("<v>")? });
            }
            let kind = match literal {
                RawKind::Number { text, .. } => RawKind::Number { text, negative: true },
                _ => RawKind::Infinity { negative: true },
            };
            return self.binary(Raw { kind, place });
        }
        if self.token == Token::Word("not") {
            self.advance()?;
            let operand = self.expression()?;
            self.expect(")")?;
            return Ok(RawKind::Not { operand: Box::new(operand), vector: self.accept("<v>")? });
        }
        let left = self.expression()?;
        self.binary(left)
    }

    fn negation(&mut self) -> Read<RawKind<'t>> {
        let operand = Box::new(self.expression()?);
        self.expect(")")?;
        Ok(RawKind::Negate { operand, vector: self.accept("<v>")? })
    }

    fn binary(&mut self, left: Raw<'t>) -> Read<RawKind<'t>> {
        let operator = match self.token {
            Token::Symbol(symbol @ ("+" | "-" | "*" | "/" | "//" | "%" | "<" | "<=" | "==" | "!=" | ">=" | ">")) => {
                symbol
            }
            Token::Word("and") => "and",
            Token::Word("or") => "or",
            _ => return Err(self.expected("an operator")),
        };
        self.advance()?;
        let right = self.expression()?;
        self.expect(")")?;
        Ok(RawKind::Binary { operator, operands: Box::new([left, right]), vector: self.accept("<v>")? })
    }
}

/// Lanes made of one value.
fn broadcast<'t>(word: &str, mut arguments: Vec<Raw<'t>>, place: Place) -> Read<RawKind<'t>> {
    let takes = if word == "splat" { "splat takes one value" } else { "ramp takes an integer and a literal one" };
    match (word, arguments.pop(), arguments.pop(), arguments.is_empty()) {
        ("splat", Some(operand), None, true) => Ok(RawKind::Splat(Box::new(operand))),
        ("ramp", Some(step), Some(first), true) => Ok(RawKind::Ramp(Box::new([first, step]))),
        _ => Err(ErrorKind::Type(takes.into()).at(place)),
    }
}

/// The number of a scratch buffer's name.
fn temporary(word: &str) -> Option<u32> {
    index(word.strip_prefix('t')?).filter(|_| word.as_bytes()[1].is_ascii_digit())
}
