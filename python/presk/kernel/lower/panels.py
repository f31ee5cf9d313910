"""Panels: operands of a contraction copied so that a wide tile reads one run of memory.

Operand 1 becomes (…, J/n, K, n), operand 0 (…, I/rows, rows/m, K, m), with the axes around first; zeros fill the last
blocks up. Called by `contract` and `wide`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from presk.core.nodes import Operand
from presk.kernel.lower.code import Code
from presk.kernel.lower.contraction import Contraction, Labels, Place, positions
from presk.kernel.lower.index import ZERO, plus, times
from presk.kernel.lower.points import RULES
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.space import Point
from presk.kernel.lower.task import Task, axes_of, packed_element
from presk.kernel.lowered import Launch, Temporary
from presk.kernel.nodes import Axis, BufferType, Constant, Expression, Integer


@dataclass(frozen=True, slots=True)
class Panel:
    """An operand's copy in blocks along one axis, of `widths` places, each within one of the width before.

    `labels` are the operand's axes, `outer` those around, `label` the one that is cut, `k` the summed ones.
    """

    operand: Operand
    labels: Labels
    outer: Labels
    label: int | None
    size: int
    widths: tuple[int, ...]
    k: Labels
    buffer: Temporary

    @property
    def counts(self) -> tuple[int, ...]:
        """Blocks of each width in one of the width before: as many as cover it."""
        around = (self.size, *self.widths[:-1])
        return tuple(-(-size // width) for size, width in zip(around, self.widths, strict=True))

    def index(self, place: Place, blocks: Sequence[Expression], inside: Expression) -> list[Expression]:
        """The index of an element: the axes around, its blocks, its term, its place in the block."""
        return [*(place[each] for each in self.outer), *blocks, *(place[each] for each in self.k), inside]


def panels_of(task: Task, contraction: Contraction, point: Point) -> tuple[Panel | None, Panel | None]:
    """The panels a point wants, of operand 0 and of operand 1."""
    if point.pack not in ("panel", "both"):
        return None, None
    right = _panel(task, 1, contraction, (point.columns,))
    if point.pack == "panel":
        return None, right
    block = point.block or max(contraction.size(contraction.i), 1)
    return _panel(task, 0, contraction, (block, min(point.rows, block))), right


def _panel(task: Task, number: int, contraction: Contraction, widths: tuple[int, ...]) -> Panel:
    labels, label = ((contraction.left, contraction.i), (contraction.right, contraction.j))[number]
    k = tuple(each for each in contraction.k if each in labels)
    outer = tuple(each for each in labels if each != label and each not in k)
    operand = task.apply(task.root).operands[number]
    # Operand 1's panel is the first buffer between the launches.
    return Panel(operand, labels, outer, label, contraction.size(label), widths, k, Temporary(1 - number))


def panel_type(task: Task, contraction: Contraction, panel: Panel) -> BufferType:
    """The copy's type: the operand's own element, or of integers with scales the values they stand for."""
    names = {label: axis.name for label, axis in zip(panel.labels, axes_of(task.tensor(panel.operand)), strict=True)}
    around, terms = (
        [Axis(names[each], contraction.sizes[each]) for each in labels] for labels in (panel.outer, panel.k)
    )
    blocks = [Axis(None, count) for count in panel.counts]
    return BufferType(packed_element(task, panel.operand), (*around, *blocks, *terms, Axis(None, panel.widths[-1])))


def pack(task: Task, contraction: Contraction, panel: Panel) -> Launch:
    """The kernel that copies an operand into its panel."""
    declared = panel_type(task, contraction, panel)
    arithmetic = "f64" if declared.element.kind == "f64" else "f32"
    code = Code("pack", arithmetic, task.inputs((panel.operand,)), [(panel.buffer, declared)])
    _Packing(code, Reader(task, code, RULES), panel, contraction.sizes).write()
    return code.launch()


@dataclass(slots=True)
class _Packing:
    """The writing of one panel."""

    code: Code
    reader: Reader
    panel: Panel
    sizes: Mapping[int, int]

    def write(self) -> None:
        """All loops."""
        outer = self.panel.outer
        with self.code.loops([self.sizes[each] for each in outer]) as found:
            place = {each: position.index for each, position in zip(outer, found, strict=True)}
            self.blocks(place, (), ZERO, self.panel.size)

    def blocks(self, place: Place, before: tuple[Expression, ...], start: Expression, filled: int) -> None:
        """The blocks within `before`, `filled` places of which hold elements, the first of them at `start`."""
        level = len(before)
        if level == len(self.panel.widths):
            self.block(place, before, start, filled)
            return
        width = self.panel.widths[level]
        full, rest = divmod(filled, width)
        if full:
            with self.code.loop(full) as number:
                self.blocks(place, (*before, number), plus(start, times(number, width)), width)
        for number in range(full, self.panel.counts[level]):
            inside = rest if number == full else 0
            self.blocks(place, (*before, Integer(number)), plus(start, Integer(number * width)), inside)

    def block(self, place: Place, blocks: tuple[Expression, ...], start: Expression, filled: int) -> None:
        """One block, term by term: its elements, then zeros."""
        panel = self.panel
        with self.code.loops([self.sizes[each] for each in panel.k]) as found:
            inner = {**place, **{each: position.index for each, position in zip(panel.k, found, strict=True)}}
            if filled:
                with self.code.loop(filled) as inside:
                    own = {} if panel.label is None else {panel.label: plus(start, inside)}
                    where = positions(panel.labels, self.sizes, {**inner, **own})
                    value = self.reader.value(panel.operand, where)
                    self.code.store(self.code.output(), panel.index(inner, blocks, inside), value)
            if filled < panel.widths[-1]:
                with self.code.loop(panel.widths[-1] - filled) as inside:
                    index = panel.index(inner, blocks, plus(inside, Integer(filled)))
                    self.code.store(self.code.output(), index, Constant(0.0))
