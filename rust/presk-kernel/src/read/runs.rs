//! Statements over runs of elements.

use super::{Read, Reader};
use crate::elaborate::Typer;
use crate::error::ErrorKind;
use crate::ir::{Access, Applied, Apply, Function, StatementKind};

impl Reader<'_> {
    /// `apply exp(t0[0]) to t1[0] over 256`
    pub(super) fn apply(&mut self, typer: Typer) -> Read<StatementKind> {
        self.advance()?;
        let place = self.place;
        let name = self.word("an elementary function")?;
        let function = Function::ALL.into_iter().find(|function| function.name() == name);
        if function.is_none() && name != "pow" {
            return Err(ErrorKind::Type(format!("`{name}` is no elementary function")).at(place));
        }
        self.expect("(")?;
        let first = self.run(typer)?;
        let applied = match function {
            Some(function) => Applied::Function(function, first),
            None => {
                self.expect(",")?;
                Applied::Power(first, self.run(typer)?)
            }
        };
        self.expect(")")?;
        self.keyword("to")?;
        let target = self.run(typer)?;
        typer.check_writable(&target)?;
        self.keyword("over")?;
        let count = self.integer("the number of elements")?;
        Ok(StatementKind::Apply(Apply { applied, target, count }))
    }

    /// The first element of a run.
    fn run(&mut self, typer: Typer) -> Read<Access> {
        let raw = self.access()?;
        let access = typer.access(&raw)?;
        match crate::runs::run_fault(typer.kernel, &access) {
            Some(kind) => Err(kind.at(access.place)),
            None => Ok(access),
        }
    }
}
