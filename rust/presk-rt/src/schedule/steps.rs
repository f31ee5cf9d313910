//! Reading the steps of a schedule.

use presk_kernel::ir::{Element, Place};

use super::lexer::{Token, fault};
use super::limits;
use super::reader::{Read, Reader, over};
use super::{Distribution, Key, Launch, Loop, Name, Sample, Shape, Space, Split, Step, StepKind, Transfer, View};
use crate::draw::Uniform;

impl Reader<'_> {
    /// Steps up to a closing brace or the first word that begins none.
    pub fn steps(&mut self) -> Read<Vec<Step>> {
        let mut steps = Vec::new();
        while let Token::Word(word) = self.token {
            let place = self.place;
            self.advance()?;
            let kind = match word {
                "launch" => StepKind::Launch(self.launch()?),
                "loop" => StepKind::Loop(self.repeat(place)?),
                "convert" => StepKind::Convert(self.convert()?),
                "copy" => StepKind::Copy(self.copy()?),
                "count" => self.count()?,
                "swap" => StepKind::Swap(self.arena_buffer()?, self.arena_buffer()?),
                "normal" | "uniform" => self.draw(word == "normal")?,
                "mask" => self.mask()?,
                "sample" => StepKind::Sample(self.sample()?),
                _ => return Err(fault(format!("no step begins with `{}`", first_letters(word)), place)),
            };
            steps.push(Step { kind, place });
        }
        Ok(steps)
    }

    fn launch(&mut self) -> Read<Launch> {
        let kernel = self.named('k', "a kernel")?;
        let name = self.word("the kernel's name")?.to_owned();
        self.expect("(")?;
        let inputs = if self.accept(")")? { Vec::new() } else { self.views()? };
        self.expect("->")?;
        self.expect("(")?;
        let outputs = self.views()?;
        let split = self.split()?;
        let site = self.text("the site, a string")?;
        Ok(Launch { kernel, name, inputs, outputs, split, site })
    }

    /// Views up to a closing parenthesis.
    fn views(&mut self) -> Read<Vec<View>> {
        let mut views = Vec::new();
        loop {
            views.push(self.view()?);
            if !self.accept(",")? {
                self.expect(")")?;
                return Ok(views);
            }
        }
    }

    fn split(&mut self) -> Read<Split> {
        if self.accept_word("whole")? {
            return Ok(Split::Whole);
        }
        if !self.accept_word("split")? {
            return Ok(Split::Free);
        }
        self.keyword("at")?;
        let depth = self.integer("a depth")?;
        let place = self.place;
        let workers = if self.accept_word("over")? { Some(self.integer("the number of workers")?) } else { None };
        if workers == Some(0) {
            return Err(fault("a loop is divided over one worker at least".into(), place));
        }
        Ok(Split::At { depth, workers })
    }

    fn repeat(&mut self, place: Place) -> Read<Loop> {
        let counter = self.counter()?;
        self.keyword("in")?;
        if self.integer("0")? != 0 {
            return Err(fault("a loop's counter begins at 0".into(), place));
        }
        self.expect("..")?;
        let trips = self.integer("the number of rounds")?;
        let reversed = self.accept_word("reversed")?;
        self.expect("{")?;
        self.depth += 1;
        if self.depth > limits::NESTING {
            return Err(over("the depth of loops", limits::NESTING as u64, place));
        }
        let steps = self.steps()?;
        self.depth -= 1;
        self.expect("}")?;
        Ok(Loop { counter, trips, reversed, steps })
    }

    fn convert(&mut self) -> Read<Transfer> {
        let count = self.integer("the number of elements")?;
        let from = self.element()?;
        self.keyword("to")?;
        let to = self.element()?;
        let (source, target) = self.transfer()?;
        Ok(Transfer { count, from, to, source, target })
    }

    fn copy(&mut self) -> Read<Transfer> {
        let count = self.integer("the number of elements")?;
        let element = self.element()?;
        let (source, target) = self.transfer()?;
        Ok(Transfer { count, from: element, to: element, source, target })
    }

    fn transfer(&mut self) -> Read<(View, View)> {
        Ok((self.in_parentheses()?, self.target()?))
    }

    fn in_parentheses(&mut self) -> Read<View> {
        self.expect("(")?;
        let view = self.view()?;
        self.expect(")")?;
        Ok(view)
    }

    fn target(&mut self) -> Read<View> {
        self.expect("->")?;
        self.in_parentheses()
    }

    fn count(&mut self) -> Read<StepKind> {
        let counter = self.counter()?;
        self.keyword("from")?;
        let start = self.integer("the first number")?;
        Ok(StepKind::Count { counter, start, target: self.target()? })
    }

    fn arena_buffer(&mut self) -> Read<Name> {
        Ok(Name { space: Space::Arena, number: self.named('a', "a buffer of the arena")? })
    }

    fn draw(&mut self, is_normal: bool) -> Read<StepKind> {
        let (first, second) = (self.number()?.real(), self.number()?.real());
        let distribution = if is_normal {
            Distribution::Normal(first, second)
        } else {
            self.keyword("within")?;
            let (least, most) = (self.number()?.real(), self.number()?.real());
            Distribution::Uniform(Uniform { lo: first, hi: second, least, most })
        };
        let (shape, element, key, target) = self.drawn()?;
        Ok(StepKind::Draw { distribution, shape, element, key, target })
    }

    fn mask(&mut self) -> Read<StepKind> {
        let given = self.element()?;
        let probability = self.in_parentheses()?;
        let (shape, element, key, target) = self.drawn()?;
        Ok(StepKind::Mask { given, probability, shape, element, key, target })
    }

    fn drawn(&mut self) -> Read<(Shape, Element, Key, View)> {
        Ok((self.shape()?, self.element()?, self.key()?, self.target()?))
    }

    fn sample(&mut self) -> Read<Sample> {
        let element = self.element()?;
        let logits = self.in_parentheses()?;
        let scalar = self.element()?;
        self.expect("(")?;
        let temperature = self.view()?;
        self.expect(",")?;
        let top_p = self.view()?;
        self.expect(")")?;
        let shape = self.shape()?;
        self.keyword("axis")?;
        let axis = self.integer("an axis")?;
        self.keyword("of")?;
        let size = self.integer("the axis's size")?;
        self.keyword("top")?;
        let top_k = self.integer("how many are allowed")?;
        let key = self.key()?;
        let target = self.target()?;
        Ok(Sample { element, logits, scalar, temperature, top_p, shape, axis, size, top_k, key, target })
    }

    fn shape(&mut self) -> Read<Shape> {
        let sizes = self.sizes()?;
        let rows = if self.accept_word("rows")? { Some(self.integer("the axis of rows")?) } else { None };
        Ok(Shape { sizes, rows })
    }

    fn key(&mut self) -> Read<Key> {
        self.keyword("key")?;
        let stream = self.text("the stream, a string")?;
        let path = self.text("the path, a string")?;
        self.expect("[")?;
        let mut counters = Vec::new();
        if self.accept("]")? {
            return Ok(Key { stream, path, counters });
        }
        loop {
            if counters.len() == limits::NESTING {
                return Err(over("the number of counters in a key", limits::NESTING as u64, self.place));
            }
            counters.push(self.counter()?);
            if !self.accept(",")? {
                self.expect("]")?;
                return Ok(Key { stream, path, counters });
            }
        }
    }
}

fn first_letters(word: &str) -> String {
    word.chars().take(40).collect()
}
