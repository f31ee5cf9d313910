//! Reading the statement `tile`.

use super::{Read, Reader};
use crate::elaborate::Typer;
use crate::error::ErrorKind;
use crate::ir::{Kernel, Run, StatementKind, Tile};
use crate::raw::{Raw, RawAccess, RawKind};

impl<'t> Reader<'t> {
    /// `tile<16> i0 in 0..8, i1 in 0..32, i2 in 0..64 { %2[…] += (%0[…] * %1[…]) }`, from the word on.
    pub(super) fn tile(&mut self, kernel: &Kernel) -> Read<StatementKind> {
        self.advance()?;
        self.expect("<")?;
        let lanes = self.integer("the lanes of a tile")?;
        self.expect(">")?;
        let rows = self.extent()?;
        self.expect(",")?;
        let columns = self.extent()?;
        self.expect(",")?;
        let depth = self.extent()?;
        self.expect("{")?;
        let typer = Typer { kernel };
        let sum = self.access()?;
        let sum = typer.written(&sum)?;
        let continues = self.accept("+=")?;
        if !continues {
            self.expect("=")?;
        }
        let (fused, left, right) = self.product()?;
        self.expect("}")?;
        let (left, right) = (typer.real_load(&left)?, typer.real_load(&right)?);
        Ok(StatementKind::Tile(Box::new(Tile {
            runs: [rows, columns, depth],
            lanes,
            continues,
            fused,
            sum,
            left,
            right,
        })))
    }

    fn extent(&mut self) -> Read<Run> {
        let (variable, extent) = self.counted()?;
        Ok(Run { variable, extent })
    }

    /// `(%0[…] * %1[…])` or `fma(%0[…], %1[…])`: whether it is fused, and the factors.
    fn product(&mut self) -> Read<(bool, RawAccess<'t>, RawAccess<'t>)> {
        let place = self.place;
        let what = "the product of two elements: `(%0[…] * %1[…])` or `fma(%0[…], %1[…])`";
        let (fused, left, right) = match self.expression()?.kind {
            RawKind::Binary { operator: "*", operands, vector: false } => {
                let [left, right] = *operands;
                (false, left, right)
            }
            RawKind::Call { function: "fma", mut arguments, vector: false } if arguments.len() == 2 => {
                let right = arguments.pop();
                match (arguments.pop(), right) {
                    (Some(left), Some(right)) => (true, left, right),
                    _ => return Err(ErrorKind::Syntax(format!("expected {what}")).at(place)),
                }
            }
            _ => return Err(ErrorKind::Syntax(format!("expected {what}")).at(place)),
        };
        match (left, right) {
            (
                Raw { kind: RawKind::Load { access: left, vector: false }, .. },
                Raw { kind: RawKind::Load { access: right, vector: false }, .. },
            ) => Ok((fused, left, right)),
            _ => Err(ErrorKind::Syntax(format!("expected {what}")).at(place)),
        }
    }
}
