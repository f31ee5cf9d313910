//! The grammar of docs/schedule.md by recursive descent, one token ahead: buffers here, steps in `steps`.

use presk_kernel::ir::{Element, Place, ScaleAxes};

use super::lexer::{Lexer, Token, fault};
use super::limits;
use super::{Fixed, Input, Name, Number, Output, Region, Schedule, Space, View};
use crate::error::{Error, ErrorKind};

/// Reads a schedule and its kernels. What comes back follows the grammar and isn't verified yet.
///
/// # Errors
/// The first fault of grammar, of the schedule or of a kernel, with its place.
pub fn read(text: &str) -> Result<Schedule, Error> {
    if text.len() > limits::TEXT_BYTES {
        return Err(over("the bytes of a schedule's text", limits::TEXT_BYTES as u64, Place::default()));
    }
    let mut reader = Reader::new(text)?;
    let mut schedule = reader.head()?;
    while let Some(buffer) = reader.buffer(&schedule)? {
        match buffer {
            Buffer::Input(input) => schedule.inputs.push(input),
            Buffer::Output(output) => schedule.outputs.push(output),
            Buffer::Constant(constant) => schedule.constants.push(constant),
            Buffer::Region(region) => schedule.regions.push(region),
            Buffer::Arena(bytes) => schedule.arena = bytes,
        }
    }
    schedule.steps = reader.steps()?;
    if reader.token != Token::Symbol("}") {
        return Err(reader.expected("a step or `}`"));
    }
    schedule.kernels = kernels(&text[reader.lexer.at..], reader.lexer.place())?;
    Ok(schedule)
}

/// The kernels after the schedule; places are those of the whole text.
fn kernels(text: &str, begin: Place) -> Result<Vec<presk_kernel::Kernel>, Error> {
    let kernels = presk_kernel::parse_all(text).map_err(|error| moved(error, begin))?;
    for kernel in &kernels {
        presk_kernel::verify(kernel).map_err(|error| moved(error, begin))?;
    }
    Ok(kernels)
}

fn moved(error: presk_kernel::Error, begin: Place) -> Error {
    let mut error = Error::from(error);
    if error.line == 1 {
        error.column = error.column.saturating_add(begin.column - 1);
    }
    if error.line > 0 {
        error.line = error.line.saturating_add(begin.line - 1);
    }
    error
}

enum Buffer {
    Input(Input),
    Output(Output),
    Constant(Fixed),
    Region(Region),
    Arena(u64),
}

/// The text being read.
pub struct Reader<'t> {
    lexer: Lexer<'t>,
    /// The token at hand.
    pub token: Token<'t>,
    /// Where it begins.
    pub place: Place,
    /// Loops around.
    pub depth: usize,
}

pub type Read<T> = Result<T, Error>;

pub fn over(what: &str, limit: u64, place: Place) -> Error {
    Error { kind: ErrorKind::Limit { what: what.into(), limit }, line: place.line, column: place.column }
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Read<Self> {
        let mut lexer = Lexer::new(text);
        let (token, place) = lexer.next()?;
        Ok(Self { lexer, token, place, depth: 0 })
    }

    pub fn advance(&mut self) -> Read<()> {
        (self.token, self.place) = self.lexer.next()?;
        Ok(())
    }

    pub fn expected(&self, what: &str) -> Error {
        fault(format!("expected {what}, found {}", self.token.show()), self.place)
    }

    pub fn accept(&mut self, symbol: &'static str) -> Read<bool> {
        let found = self.token == Token::Symbol(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn expect(&mut self, symbol: &'static str) -> Read<()> {
        if self.accept(symbol)? { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    pub fn accept_word(&mut self, word: &str) -> Read<bool> {
        let found = self.token == Token::Word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn keyword(&mut self, word: &str) -> Read<()> {
        if self.accept_word(word)? { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    pub fn word(&mut self, what: &str) -> Read<&'t str> {
        let Token::Word(word) = self.token else { return Err(self.expected(what)) };
        self.advance()?;
        Ok(word)
    }

    pub fn text(&mut self, what: &str) -> Read<String> {
        let Token::Text(text) = &mut self.token else { return Err(self.expected(what)) };
        let text = std::mem::take(text);
        self.advance()?;
        Ok(text)
    }

    pub fn integer(&mut self, what: &str) -> Read<u64> {
        let Token::Number(text) = self.token else { return Err(self.expected(what)) };
        let value = text.parse::<u64>().map_err(|_| self.expected(&format!("{what} below 2^64")))?;
        self.advance()?;
        Ok(value)
    }

    pub fn number(&mut self) -> Read<Number> {
        let negative = self.accept("-")?;
        let sign = if negative { -1.0 } else { 1.0 };
        let value = match self.token {
            Token::Word("inf") => Number::Real(sign * f64::INFINITY),
            Token::Word("nan") => Number::Real(f64::NAN),
            Token::Number(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                let signed = if negative { format!("-{text}") } else { text.to_owned() };
                Number::Whole(signed.parse().map_err(|_| self.expected("a whole number of 64 bits"))?)
            }
            Token::Number(text) => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Number::Real(sign * value),
                _ => return Err(self.expected("a number that f64 holds")),
            },
            _ => return Err(self.expected("a number")),
        };
        self.advance()?;
        Ok(value)
    }

    fn head(&mut self) -> Read<Schedule> {
        self.keyword("schedule")?;
        let name = self.text("the entry's name, a string")?;
        self.keyword("realized")?;
        let realization = self.text("the realization's name, a string")?;
        self.expect("{")?;
        Ok(Schedule {
            name,
            realization,
            inputs: Vec::new(),
            outputs: Vec::new(),
            constants: Vec::new(),
            arena: 0,
            regions: Vec::new(),
            kernels: Vec::new(),
            steps: Vec::new(),
        })
    }

    fn buffer(&mut self, schedule: &Schedule) -> Read<Option<Buffer>> {
        let place = self.place;
        let Token::Word(word) = self.token else { return Ok(None) };
        if !matches!(word, "input" | "output" | "constant" | "arena" | "buffer") {
            return Ok(None);
        }
        self.advance()?;
        Ok(Some(match word {
            "input" => Buffer::Input(self.input(schedule.inputs.len(), place)?),
            "output" => Buffer::Output(self.output(schedule.outputs.len(), place)?),
            "constant" => Buffer::Constant(self.constant(schedule.constants.len(), place)?),
            "buffer" => Buffer::Region(self.region(schedule.regions.len(), place)?),
            _ => {
                let bytes = self.integer("the arena's bytes")?;
                self.keyword("bytes")?;
                Buffer::Arena(bytes)
            }
        }))
    }

    fn input(&mut self, number: usize, place: Place) -> Read<Input> {
        self.numbered(Space::Input, number)?;
        self.expect(":")?;
        let (element, sizes) = self.typed()?;
        let path = self.text("the leaf's path, a string")?;
        let donated = self.accept_word("donated")?;
        Ok(Input { path, element, sizes, donated, place })
    }

    fn output(&mut self, number: usize, place: Place) -> Read<Output> {
        self.numbered(Space::Output, number)?;
        let shares = if self.accept_word("in")? { Some(self.named('h', "an input")?) } else { None };
        self.expect(":")?;
        let (element, sizes) = self.typed()?;
        let path = self.text("the leaf's path, a string")?;
        Ok(Output { path, element, sizes, shares, place })
    }

    fn constant(&mut self, number: usize, place: Place) -> Read<Fixed> {
        self.numbered(Space::Constant, number)?;
        self.expect(":")?;
        let element = self.element()?;
        self.expect("=")?;
        Ok(Fixed { element, value: self.number()?, place })
    }

    fn region(&mut self, number: usize, place: Place) -> Read<Region> {
        self.numbered(Space::Arena, number)?;
        self.expect(":")?;
        let element = self.element()?;
        self.expect("[")?;
        let count = self.integer("the number of elements")?;
        self.expect("]")?;
        self.keyword("at")?;
        let offset = self.integer("the first byte")?;
        Ok(Region { element, count, offset, place })
    }

    fn numbered(&mut self, space: Space, number: usize) -> Read<()> {
        if number >= limits::BUFFERS {
            return Err(over("the number of buffers of a kind", limits::BUFFERS as u64, self.place));
        }
        let name = format!("{}{number}", space.letter());
        if self.accept_word(&name)? { Ok(()) } else { Err(self.expected(&format!("`{name}`"))) }
    }

    /// The number of a name that begins with a letter.
    pub fn named(&mut self, letter: char, what: &str) -> Read<u32> {
        let found = match self.token {
            Token::Word(word) => word.strip_prefix(letter).and_then(index),
            _ => None,
        };
        let number = found.ok_or_else(|| self.expected(&format!("{what}, `{letter}n`")))?;
        self.advance()?;
        Ok(number)
    }

    fn typed(&mut self) -> Read<(Element, Vec<u64>)> {
        Ok((self.element()?, self.sizes()?))
    }

    pub fn sizes(&mut self) -> Read<Vec<u64>> {
        self.expect("[")?;
        let mut sizes = Vec::new();
        if self.accept("]")? {
            return Ok(sizes);
        }
        loop {
            if sizes.len() == limits::RANK {
                return Err(over("the number of axes", limits::RANK as u64, self.place));
            }
            sizes.push(self.integer("an axis's size")?);
            if !self.accept(",")? {
                self.expect("]")?;
                return Ok(sizes);
            }
        }
    }

    pub fn element(&mut self) -> Read<Element> {
        let Token::Word(word) = self.token else { return Err(self.expected("an element type")) };
        let element = match word {
            "f64" => Element::F64,
            "f32" => Element::F32,
            "bf16" => Element::Bf16,
            "bool" => Element::Bool,
            "i64" => Element::I64,
            "int8" | "int4" => {
                self.advance()?;
                let axes = self.scale_axes()?;
                return Ok(if word == "int8" { Element::Int8(axes) } else { Element::Int4(axes) });
            }
            _ => return Err(self.expected("an element type")),
        };
        self.advance()?;
        if element == Element::I64 && self.accept("<")? {
            let place = self.place;
            let bound = self.integer("the bound")?;
            if bound == 0 || bound > presk_kernel::limits::BOUND {
                return Err(fault(format!("the bound of an i64<V> is 1 to {}", presk_kernel::limits::BOUND), place));
            }
            self.expect(">")?;
            return Ok(Element::Index(bound));
        }
        Ok(element)
    }

    fn scale_axes(&mut self) -> Read<ScaleAxes> {
        self.expect("/")?;
        let place = self.place;
        let first = self.integer("the first axis of the scales")?;
        let end =
            if self.accept("..")? { self.integer("the end of the scales' axes")? } else { first.saturating_add(1) };
        let small = |axis| u32::try_from(axis).ok().filter(|&axis| axis as usize <= limits::RANK);
        match (small(first), small(end)) {
            (Some(first), Some(end)) if first < end => Ok(ScaleAxes { first, end }),
            _ => Err(fault("the axes of the scales are no axes".into(), place)),
        }
    }

    pub fn view(&mut self) -> Read<View> {
        let buffer = self.name()?;
        let mut view = View { buffer, start: 0, strides: Vec::new() };
        while self.accept("+")? {
            let place = self.place;
            let value = self.integer("an offset")?;
            if !self.accept("*")? {
                view.start = value;
                return Ok(view);
            }
            let counter = self.counter()?;
            if view.strides.iter().any(|&(other, _)| other == counter) {
                return Err(fault(format!("l{counter} occurs twice in one view"), place));
            }
            if view.strides.len() == limits::NESTING {
                return Err(over("the number of counters in a view", limits::NESTING as u64, place));
            }
            view.strides.push((counter, value));
        }
        Ok(view)
    }

    fn name(&mut self) -> Read<Name> {
        let spaces = [Space::Input, Space::Output, Space::Arena, Space::Constant];
        let found = match self.token {
            Token::Word(word) => {
                spaces.into_iter().find_map(|space| Some((space, index(word.strip_prefix(space.letter())?)?)))
            }
            _ => None,
        };
        let (space, number) = found.ok_or_else(|| self.expected("a buffer: `h`, `o`, `a` or `c` and its number"))?;
        self.advance()?;
        Ok(Name { space, number })
    }

    pub fn counter(&mut self) -> Read<u32> {
        let place = self.place;
        let number = self.named('l', "a loop's counter")?;
        if number < limits::COUNTERS {
            return Ok(number);
        }
        Err(over("the number of a loop's counter", u64::from(limits::COUNTERS) - 1, place))
    }
}

/// A number of digits alone, without leading zeros, below 2³².
fn index(digits: &str) -> Option<u32> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
    if is_plain { digits.parse().ok() } else { None }
}
