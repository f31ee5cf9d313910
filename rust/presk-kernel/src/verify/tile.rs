//! What a tile must be for one routine to compute its expansion: where its sums and factors lie.
//!
//! The bounds of its accesses, and that its counters are no others', are proven on the expansion. Here it is proven that
//! its operands' elements lie at strides: sums and right factors of a row side by side, the sums of different rows and
//! columns different, and no factor in a buffer of sums.

use crate::affine::Affine;
use crate::error::{Error, ErrorKind};
use crate::ir::{Access, Buffer, Element, Int, IntBinary, Kernel, Place, Run, StatementKind, Tile};
use crate::limits;
use crate::verify::head;
use crate::walk::{self, Value};

/// Checks every tile of a kernel.
pub fn check(kernel: &Kernel) -> Result<(), Error> {
    let mut fault = None;
    walk::statements(&kernel.body, &mut |statement| {
        if let (StatementKind::Tile(tile), None) = (&statement.kind, &fault) {
            fault = Check { kernel, tile, place: statement.place }.all().err();
        }
    });
    fault.map_or(Ok(()), Err)
}

/// The coefficient of a counter in an index; none where it stands in another form than as a term.
#[must_use]
pub fn coefficient(int: &Int, counter: u32) -> Option<i64> {
    match int {
        Int::Counter(number) => Some(i64::from(*number == counter)),
        Int::Neg(operand) => coefficient(operand, counter)?.checked_neg(),
        Int::Binary(IntBinary::Add, left, right) => {
            coefficient(left, counter)?.checked_add(coefficient(right, counter)?)
        }
        Int::Binary(IntBinary::Sub, left, right) => {
            coefficient(left, counter)?.checked_sub(coefficient(right, counter)?)
        }
        Int::Binary(IntBinary::Mul, left, right) => match (&**left, &**right) {
            (Int::Constant(factor), other) | (other, Int::Constant(factor)) => {
                coefficient(other, counter)?.checked_mul(*factor)
            }
            _ => absent(int, counter),
        },
        _ => absent(int, counter),
    }
}

fn absent(int: &Int, counter: u32) -> Option<i64> {
    let mut found = false;
    Value::Int(int)
        .visit(&mut |value| found |= matches!(value, Value::Int(Int::Counter(number)) if *number == counter));
    (!found).then_some(0)
}

struct Check<'k> {
    kernel: &'k Kernel,
    tile: &'k Tile,
    place: Place,
}

impl Check<'_> {
    fn fault<T>(&self, message: impl Into<String>, place: Place) -> Result<T, Error> {
        Err(ErrorKind::Tile(message.into()).at(place))
    }

    fn all(&self) -> Result<(), Error> {
        self.head()?;
        let [rows, columns, depth] = self.tile.runs;
        self.sum(rows, columns, depth)?;
        self.left(columns)?;
        self.right(rows, columns)
    }

    fn head(&self) -> Result<(), Error> {
        let known = Tile::lanes_of(self.kernel.arithmetic);
        if !known.contains(&self.tile.lanes) {
            let (narrow, wide) = (known[0], known[1]);
            return self.fault(format!("a tile has {narrow} or {wide} lanes, not {}", self.tile.lanes), self.place);
        }
        let [rows, columns, depth] = self.tile.runs;
        let widest = if rows.extent == 1 { Tile::ROW_COLUMNS } else { Tile::COLUMNS };
        for (what, run, most) in [("rows", rows, Tile::ROWS), ("columns", columns, widest)] {
            if !(1..=most).contains(&run.extent) {
                return self.fault(format!("a tile has 1 to {most} {what}, not {}", run.extent), self.place);
            }
        }
        if depth.extent > limits::ELEMENTS {
            let kind = ErrorKind::Limit { what: "the depth of a tile".into(), limit: limits::ELEMENTS };
            return Err(kind.at(self.place));
        }
        let numbers = [rows.variable, columns.variable, depth.variable];
        if numbers[0] == numbers[1] || numbers[1] == numbers[2] || numbers[0] == numbers[2] {
            return Err(ErrorKind::Unassigned("the three counters of a tile are different".into()).at(self.place));
        }
        Ok(())
    }

    /// Rows along one axis, columns one by one along the last, in a buffer of the arithmetic type, or of bf16 where nothing
    /// goes on from what was rounded.
    fn sum(&self, rows: Run, columns: Run, depth: Run) -> Result<(), Error> {
        let access = &self.tile.sum;
        head::check_access(self.kernel, access)?;
        let buffer = self.kernel.buffer(access.buffer);
        let is_rounded = buffer.element == Element::Bf16 && !buffer.axes.is_empty() && !self.tile.continues;
        if !is_rounded && !head::is_arithmetic(self.kernel, access) {
            let message =
                "a tile's sums are of the kernel's arithmetic type, or bf16 where they don't go on, along an axis";
            return self.fault(message, access.place);
        }
        let is_own = match access.buffer {
            Buffer::Input(_) => false,
            Buffer::Output(number) => self.kernel.outputs[number as usize].shares.is_none(),
            Buffer::Scratch(_) => true,
        };
        if !is_own || access.buffer == self.tile.left.buffer || access.buffer == self.tile.right.buffer {
            return self.fault("a tile's sums lie in a buffer of their own", access.place);
        }
        self.lies_along(access, columns)?;
        self.is_without(access, depth)?;
        let last = access.index.len() - 1;
        let steps = access.index.iter().enumerate().map(|(axis, index)| (axis, coefficient(index, rows.variable)));
        let moving: Vec<(usize, Option<i64>)> = steps.filter(|(_, step)| *step != Some(0)).collect();
        match moving[..] {
            [] if rows.extent == 1 => Ok(()),
            [(axis, Some(_))] if axis < last => Ok(()),
            _ => self.fault("a tile's rows lie along one axis of its sums, before the last", access.place),
        }
    }

    /// Rows and terms at any strides.
    fn left(&self, columns: Run) -> Result<(), Error> {
        let access = &self.tile.left;
        self.is_float(access)?;
        self.is_without(access, columns)?;
        self.is_affine(access)
    }

    /// Terms at any stride, columns one by one along the last axis.
    fn right(&self, rows: Run, columns: Run) -> Result<(), Error> {
        let access = &self.tile.right;
        self.is_float(access)?;
        self.is_without(access, rows)?;
        self.lies_along(access, columns)?;
        self.is_affine(access)?;
        self.begins_bytes(access, columns)
    }

    /// Of int4, whose rows are two to a byte: that every row of columns begins at a byte.
    fn begins_bytes(&self, access: &Access, columns: Run) -> Result<(), Error> {
        let buffer = self.kernel.buffer(access.buffer);
        let Element::Int4(axes) = buffer.element else { return Ok(()) };
        let last = access.index.len() - 1;
        if axes.end as usize > last && (axes.first as usize) < last {
            return self.fault("a tile reads int4 whose rows are the last axis", access.place);
        }
        let is_even = |index: Affine| {
            index.constant % 2 == 0 && index.terms.iter().all(|(&at, by)| at == columns.variable || by % 2 == 0)
        };
        if Affine::of(&access.index[last]).is_some_and(is_even) {
            return Ok(());
        }
        self.fault("a tile of int4 begins at an even column, two lying in a byte", access.place)
    }

    fn is_float(&self, access: &Access) -> Result<(), Error> {
        head::check_access(self.kernel, access)?;
        let is_real = self.kernel.buffer(access.buffer).element.is_real();
        if !is_real || head::load_fault(self.kernel, access, true).is_some() {
            return self.fault("a tile's factors are reals no wider than the arithmetic, along an axis", access.place);
        }
        match self.kernel.buffer(access.buffer).element {
            Element::Int8(_) | Element::Int4(_) if std::ptr::eq(access, &self.tile.left) => {
                self.fault("a tile reads integers with scales on its right alone", access.place)
            }
            _ => Ok(()),
        }
    }

    fn is_affine(&self, access: &Access) -> Result<(), Error> {
        let is_term = |index: &Int| self.tile.runs.iter().all(|run| coefficient(index, run.variable).is_some());
        if access.index.iter().all(is_term) {
            return Ok(());
        }
        self.fault("a tile's counters stand in indices as terms, times a number", access.place)
    }

    fn is_without(&self, access: &Access, run: Run) -> Result<(), Error> {
        if access.index.iter().all(|index| absent(index, run.variable).is_some()) {
            return Ok(());
        }
        self.fault(format!("i{} has no place in this index of a tile", run.variable), access.place)
    }

    fn lies_along(&self, access: &Access, columns: Run) -> Result<(), Error> {
        let steps = access.index.iter().map(|index| coefficient(index, columns.variable));
        let steps: Vec<Option<i64>> = steps.collect();
        let is_run = match steps.split_last() {
            Some((last, before)) => {
                before.iter().all(|step| *step == Some(0))
                    && (*last == Some(1) || columns.extent == 1 && *last == Some(0))
            }
            None => false,
        };
        if is_run {
            return Ok(());
        }
        self.fault("a tile's columns lie one after the other along the last axis", access.place)
    }
}
