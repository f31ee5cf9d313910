//! Draws and masks: elements of a stream, numbered with rows outermost, drawn in pieces on the workers.

use super::link::{DrawStep, Drawn, Rows};
use super::run::Run;
use crate::draw::{self, Uniform};
use crate::error::{Error, ErrorKind};
use crate::interrupt::Watch;
use crate::key;
use crate::memory::Memory;
use crate::schedule::{Distribution, Key, limits};

/// Elements drawn at a time, on the stack.
const PIECE: usize = 256;

/// Pieces between two looks at whether the call is to end.
const LOOK: usize = 1 << 10;

/// Elements from which a draw is divided over workers: some tenths of a millisecond.
pub const DRAWS_DIVIDED_FROM: usize = 1 << 15;

impl Run<'_> {
    /// The key of a draw in this round of its loops.
    pub fn key(&self, key: &Key) -> Result<key::Key, Error> {
        let mut indices = [0u32; limits::NESTING];
        for (index, &counter) in indices.iter_mut().zip(&key.counters) {
            let round = self.leased.memory.counters[counter as usize];
            *index = u32::try_from(round).expect("the verifier has bounded rounds that keys are made of");
        }
        let indices = &indices[..key.counters.len()];
        key::derive(self.settings.seed, key.stream.as_bytes(), key.path.as_bytes(), indices)
            .ok_or_else(|| ErrorKind::Draw("the path of a draw is too long".into()).anywhere())
    }

    /// The number in its stream of a shape's first element.
    pub fn first(&self, layout: Rows) -> Result<u64, Error> {
        let row = layout.outer as u128 * layout.inner as u128;
        let first = if layout.has_rows { u128::from(self.settings.row_offset) * row } else { 0 };
        let end = first + row * layout.rows as u128;
        if end > u128::from(u64::MAX) {
            let message = format!("the last element's number is {end}, outside of 0 … 2**64 - 1");
            return Err(ErrorKind::Draw(message).anywhere());
        }
        Ok(u64::try_from(first).expect("not above the end"))
    }

    /// Runs a draw or a mask.
    pub fn draw(&mut self, step: &DrawStep) -> Result<(), Error> {
        let key = self.key(&step.key)?;
        let first = self.first(step.layout)?;
        let filler = Filler { step, key, nonce: self.settings.step, first, factor: factor(step, &self.leased.memory) };
        let count = step.layout.count();
        let cells = self.leased.memory.cells(&step.target);
        let watch = self.watch;
        let fill =
            |from: usize, to: usize| filler.fill(from, to, watch, &|at, value| cells.set(step.element, at, value));
        match &mut self.pool {
            Some(pool) if count >= DRAWS_DIVIDED_FROM => {
                let pieces = pool.threads();
                let bound = |piece: usize| count / pieces * piece + (count % pieces).min(piece);
                pool.run(pieces, &|piece| fill(bound(piece), bound(piece + 1)), watch)
            }
            _ => fill(0, count),
        }
    }
}

/// What a draw's pieces share.
struct Filler<'s> {
    step: &'s DrawStep,
    key: key::Key,
    nonce: u64,
    first: u64,
    /// Of a mask: the probability, and the factor of what is kept.
    factor: Option<(f64, f64)>,
}

/// A mask's probability and factor.
fn factor(step: &DrawStep, memory: &Memory) -> Option<(f64, f64)> {
    let Drawn::Factor(given, probability) = &step.drawn else { return None };
    let probability = given.get(memory.read(probability), 0);
    Some((probability, 1.0 / (1.0 - probability)))
}

impl Filler<'_> {
    /// Sets elements `from` … `to` − 1 in the order of the stream.
    fn fill(&self, from: usize, to: usize, watch: &Watch<'_>, set: &dyn Fn(usize, f64)) -> Result<(), Error> {
        let mut values = [0.0; PIECE];
        for (piece, start) in (from..to).step_by(PIECE).enumerate() {
            if piece % LOOK == LOOK - 1 {
                watch.look()?;
            }
            let values = &mut values[..PIECE.min(to - start)];
            let at = self.first + start as u64;
            match self.step.drawn {
                Drawn::Number(Distribution::Normal(std, mean)) => {
                    draw::fill_normal(&self.key, self.nonce, at, std, mean, values);
                }
                Drawn::Number(Distribution::Uniform(of)) => {
                    draw::fill_uniform(&self.key, self.nonce, at, of, values);
                }
                Drawn::Factor(..) => draw::fill_uniform(&self.key, self.nonce, at, Uniform::UNIT, values),
            }
            for (number, &value) in (start..).zip(values.iter()) {
                let value = match self.factor {
                    Some((probability, kept)) => {
                        if value < probability {
                            0.0
                        } else {
                            kept
                        }
                    }
                    None => value,
                };
                set(self.step.layout.place(number), value);
            }
        }
        Ok(())
    }
}

impl Rows {
    /// The number of elements.
    pub fn count(self) -> usize {
        self.outer.saturating_mul(self.rows).saturating_mul(self.inner)
    }

    /// Where in row-major order the stream's element stands.
    pub fn place(self, number: usize) -> usize {
        if self.outer == 1 {
            return number;
        }
        let (row, rest) = (number / (self.outer * self.inner), number % (self.outer * self.inner));
        (rest / self.inner * self.rows + row) * self.inner + rest % self.inner
    }

    /// Which element of the stream stands there: the inverse of [`Self::place`].
    pub fn number(self, place: usize) -> usize {
        if self.outer == 1 {
            return place;
        }
        let (line, column) = (place / self.inner, place % self.inner);
        (line % self.rows * self.outer + line / self.rows) * self.inner + column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_outermost_wherever_they_stand() {
        let layout = Rows { has_rows: true, outer: 2, rows: 3, inner: 4 };
        let mut seen = vec![false; layout.count()];
        for number in 0..layout.count() {
            let place = layout.place(number);
            assert_eq!(layout.number(place), number);
            let (outer, row, inner) = (place / 12, place / 4 % 3, place % 4);
            assert_eq!(number, (row * 2 + outer) * 4 + inner);
            assert!(!std::mem::replace(&mut seen[place], true));
        }
        let first = Rows { outer: 1, ..layout };
        assert!((0..first.count()).all(|number| first.place(number) == number && first.number(number) == number));
    }
}
