"""Contractions: dot, matmul and ein as kernels, at every point of the layout space.

One builder serves them all. A plan's pack copies operand 1 to a panel by a kernel of its own, so that J is contiguous;
a plan's epilogue does the work of a group that alone reads the product, before it is stored or where it lies. Wide
tiles have panels of their own (`panels`). Called by `table`.
"""

from __future__ import annotations

from presk.core.nodes import Let, Ref
from presk.kernel.lower.choices import check_accumulation, no_accumulation, split
from presk.kernel.lower.code import Code
from presk.kernel.lower.contraction import Contraction, contraction_of, positions
from presk.kernel.lower.mending import is_marked, mending
from presk.kernel.lower.operands import Operands, epilogue_of
from presk.kernel.lower.panels import pack, panels_of
from presk.kernel.lower.points import RULES
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.reals import Unhonoured
from presk.kernel.lower.space import Point, settle
from presk.kernel.lower.task import Task, axes_of, packed_element
from presk.kernel.lower.tiles import RowWise, Tiles, write_interleaved
from presk.kernel.lower.wide import WideTiles
from presk.kernel.lowered import Buffered, Launch, Lowered, Temporary
from presk.kernel.nodes import Axis, BufferType


def lower_contraction(task: Task) -> Lowered:
    """The kernel of a contraction, with a pack before it and a group joined to it where the plan says so."""
    check_accumulation(task, has_sums=True)
    contraction = contraction_of(task, task.root)
    point = settle(task, contraction)
    following = _joined(task) if task.layout.epilogue else None
    packs = _packs(task, contraction, point)
    copies = tuple(pack.kernel.outputs[0].type for pack in packs)
    root = following or task.root
    try:
        launch = split(task, _product(task, contraction, point, copies, root))
    except Unhonoured as found:
        reason = f"an epilogue with `{found.operation}`, which has no form in it"
        raise no_accumulation(task, reason) from None
    stored = (Ref(root.number), task.stored_type(task.result(root)))
    mended = (mending(task, contraction),) if is_marked(task) else ()
    return Lowered((*packs, launch, *mended), (stored,), copies)


def _product(task: Task, contraction: Contraction, point: Point, copies: tuple[BufferType, ...], root: Let) -> Launch:
    """The kernel itself; `root` is the let it stores, `copies` those of operand 1 and of operand 0, if any."""
    first, second = task.apply(task.root).operands
    inputs: list[tuple[Buffered, BufferType]] = []
    for copy, operand in ((1, first), (0, second)):
        inputs += [(Temporary(copy), copies[copy])] if copy < len(copies) else task.inputs((operand,))
    joined = root.number != task.root.number
    if joined:
        inputs += task.inputs((Ref(root.number),))
    name = _named(contraction.name, task.apply(root).primitive) if joined else contraction.name
    outputs: list[tuple[Buffered, BufferType]] = [(Ref(root.number), task.stored_type(task.result(root)))]
    code = Code(name, task.arithmetic, list(dict(inputs).items()), outputs)
    reader = Reader(task, code, RULES)
    operands = Operands(reader, contraction, (first, second), contraction.panel if copies else None)
    if joined:
        operands.epilogue = epilogue_of(task, root, contraction.out)
    if task.choice.partials is not None:
        write_interleaved(code, operands, contraction, task.choice.partials)
    elif point.row_wise:
        RowWise(code, operands, contraction).write()
    elif point.is_wide:
        WideTiles(code, operands, contraction, point, panels_of(task, contraction, point)).write()
    else:
        Tiles(code, operands, contraction, point).write()
    return code.launch()


# Packing


def _packs(task: Task, contraction: Contraction, point: Point) -> tuple[Launch, ...]:
    """The copies a point wants: of operand 1, then of operand 0."""
    if point.pack is True:
        return (_pack(task, contraction, _panel_type(task, contraction)),)
    panels = reversed(panels_of(task, contraction, point))
    return tuple(pack(task, contraction, panel) for panel in panels if panel is not None)


def _panel_type(task: Task, contraction: Contraction) -> BufferType:
    """Operand 1's copy with J as its last axis."""
    operand = task.apply(task.root).operands[1]
    names = {label: axis.name for label, axis in zip(contraction.right, axes_of(task.tensor(operand)), strict=True)}
    return BufferType(
        packed_element(task, operand),
        tuple(Axis(names[label], contraction.sizes[label]) for label in contraction.panel),
    )


def _pack(task: Task, contraction: Contraction, panel: BufferType) -> Launch:
    """The copy, in the panel's order."""
    operand = task.apply(task.root).operands[1]
    arithmetic = "f64" if panel.element.kind == "f64" else "f32"
    code = Code("pack", arithmetic, task.inputs((operand,)), [(Temporary(0), panel)])
    reader = Reader(task, code, RULES)
    with code.loops([axis.size for axis in panel.axes]) as found:
        place = {label: position.index for label, position in zip(contraction.panel, found, strict=True)}
        value = reader.value(operand, positions(contraction.right, contraction.sizes, place))
        code.store(code.output(), [place[label] for label in contraction.panel], value)
    return code.launch()


def _named(name: str, after: str) -> str:
    """The name of a product with what a primitive ends joined to it."""
    head, bracket, rest = name.partition("[")
    return f"{head}_{after}{bracket}{rest}"


def _joined(task: Task) -> Let:
    """The root of the group that joins the product's store. Raises E7002, condition 6, where there is none."""
    if task.following is None or task.following_choice is None:
        sentence = "no elementwise group alone reads the product's value, so there is no epilogue to join"
        raise task.refuse(6, sentence)
    after = task.following_choice
    if (after.storage, after.computed) != (task.choice.storage, task.choice.computed) or after.accumulate not in (
        None,
        task.interior,
    ):
        raise task.refuse(6, "the following group is realized otherwise than the product, so it can't join it")
    return task.lets[task.following.root]
