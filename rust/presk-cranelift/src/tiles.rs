//! Tiles: each is a call of the runtime's routine for the target's instruction set.
//!
//! What is known of a tile now (sizes, strides, elements) is its form, which lies in a stack slot that is filled where the
//! kernel begins; where its operands begin is known at each call.

use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types as clif};
use presk_kernel::affine::Affine;
use presk_kernel::ir::{Access, BufferType, Element, Int, StatementKind, Tile};
use presk_kernel::walk;
use presk_rt::tile::{Form, Kind};

use crate::addresses::Linear;
use crate::generator::{Counter, Generator, Position};
use crate::loads::{rows, scale_index};
use crate::types;

/// A tile's form, in its slot.
#[derive(Clone, Copy)]
pub(crate) struct Formed<'k> {
    tile: &'k Tile,
    slot: StackSlot,
}

impl<'k> Generator<'_, 'k> {
    /// Fills a slot with the form of each tile of the kernel.
    pub(crate) fn form_tiles(&mut self) {
        let mut tiles = Vec::new();
        let mut extents = Vec::new();
        walk::statements(&self.kernel.body, &mut |statement| match &statement.kind {
            StatementKind::Tile(tile) => tiles.push(&**tile),
            StatementKind::For(each) => extents.push((each.variable, each.extent)),
            _ => {}
        });
        for tile in tiles {
            let data =
                StackSlotData::new(StackSlotKind::ExplicitSlot, u32::try_from(size_of::<Form>()).unwrap_or(0), 3);
            let slot = self.builder.create_sized_stack_slot(data);
            let form = self.form(tile, &extents);
            for (offset, word) in (0i32..).step_by(8).zip(form.words()) {
                let word = self.whole(word);
                self.builder.ins().stack_store(clif::I64, word, slot, offset);
            }
            self.formed.push(Formed { tile, slot });
        }
    }

    /// Calls the routine.
    pub(crate) fn tile(&mut self, tile: &'k Tile) {
        let formed = self.formed.iter().find(|formed| std::ptr::eq(formed.tile, tile));
        let slot = formed.expect("a form was made for each tile").slot;
        // The tile's own counters stand at their first values: the routine goes on from there.
        let depth = self.nest.len();
        self.nest.extend(tile.runs.iter().map(|run| Counter {
            extent: run.extent,
            number: run.variable,
            position: Position::Fixed(0),
            strides: Vec::new(),
        }));
        let form = self.builder.ins().stack_addr(clif::I64, slot, 0);
        let [sum, left, right] = tile.accesses().map(|access| {
            let linear = bytes(access, self.kernel.buffer(access.buffer), tile.runs[1].variable);
            let base = self.memory(access).base;
            let (address, offset) = self.address(base, &linear);
            self.builder.ins().iadd_imm_s(address, i64::from(offset))
        });
        let scales = self.first_scale(&tile.right);
        self.nest.truncate(depth);
        self.call_tile([form, sum, left, right, scales]);
    }

    /// The address of an element's scale, or null where it has none.
    fn first_scale(&mut self, access: &'k Access) -> Value {
        let Some((base, _)) = self.memory(access).scales else { return self.whole(0) };
        let linear = scale_index(access, self.kernel.buffer(access.buffer)).times(4);
        let (address, offset) = self.address(base, &linear);
        self.builder.ins().iadd_imm_s(address, i64::from(offset))
    }

    fn form(&self, tile: &'k Tile, extents: &[(u32, u64)]) -> Form {
        let [rows, columns, depth] = tile.runs.map(|run| run.variable);
        let buffer = |access: &Access| self.kernel.buffer(access.buffer);
        let [sum, left, right] = tile.accesses().map(|access| bytes(access, buffer(access), columns));
        let scales = match buffer(&tile.right).element {
            Element::Int8(_) | Element::Int4(_) => scale_index(&tile.right, buffer(&tile.right)).times(4),
            _ => Linear::default(),
        };
        // The verifier has bounded rows, columns and lanes far below a byte.
        let small = |value: u64| u8::try_from(value).unwrap_or(u8::MAX);
        let medium = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
        let [m, n, k] = tile.runs.map(|run| run.extent);
        Form {
            sum_row: sum.coefficient(rows),
            left_row: left.coefficient(rows),
            left_step: left.coefficient(depth),
            right_step: right.coefficient(depth),
            scale_step: scales.coefficient(depth),
            scale_column: scales.coefficient(columns),
            depth: k,
            columns: medium(n),
            readable: medium(readable(tile, buffer(&tile.right), extents)),
            rows: small(m),
            lanes: small(tile.lanes),
            left: self.kind(buffer(&tile.left).element),
            right: self.kind(buffer(&tile.right).element),
            continues: tile.continues,
            fused: tile.fused,
            rounds: !types::is_exact(buffer(&tile.sum).element, self.kernel.arithmetic),
        }
    }

    fn kind(&self, element: Element) -> Kind {
        match element {
            Element::Bf16 => Kind::Bf16,
            Element::Int8(_) => Kind::Int8,
            Element::Int4(_) => Kind::Int4,
            element if types::is_exact(element, self.kernel.arithmetic) => Kind::Own,
            _ => Kind::F32,
        }
    }
}

/// The first byte of an access's columns, whose counter stands at 0. Of int4 they begin at a byte, the verifier has proven.
fn bytes<'k>(access: &'k Access, buffer: &BufferType, columns: u32) -> Linear<'k> {
    if !matches!(buffer.element, Element::Int4(_)) {
        return Linear::element(access, buffer).times(types::step(buffer.element));
    }
    let (mut bytes, mut column) = rows(access, buffer);
    column.counters.remove(&columns);
    bytes.constant = bytes.constant.wrapping_add(column.constant / 2);
    for (counter, coefficient) in column.counters {
        let sum = bytes.counters.entry(counter).or_default();
        *sum = sum.wrapping_add(coefficient / 2);
    }
    bytes
}

/// Columns of the right factor that lie in its rows from the tile's first on, wherever the tile is: at least its own.
fn readable(tile: &Tile, buffer: &BufferType, extents: &[(u32, u64)]) -> u64 {
    let [_, columns, depth] = tile.runs;
    let (Some(index), Some(axis)) = (tile.right.index.last(), buffer.axes.last()) else { return columns.extent };
    let first = |counter: u32| match counter {
        counter if counter == columns.variable => Some(1),
        counter if counter == depth.variable => Some(depth.extent),
        // Loops one after the other may share a counter: the longest holds for all.
        counter => extents.iter().filter(|each| each.0 == counter).map(|each| each.1).max(),
    };
    let last = Affine::of(index as &Int).and_then(|index| index.range(first)).map(|(_, last)| last);
    let room = last.and_then(|last| u64::try_from(i128::from(axis.size) - last).ok());
    room.map_or(columns.extent, |room| room.max(columns.extent))
}
