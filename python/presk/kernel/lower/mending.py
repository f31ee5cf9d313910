"""What a contraction in an adjoint does after its sums: each NaN is summed again without terms whose cotangent is 0.

Such a term adds 0 whatever the other factor is. The sums are made as ever, so no bit of theirs moves; a sweep over the
result then looks for NaNs. The terms that are left are added in the order of the site. Called by `contract`.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from presk.core.nodes import Ref
from presk.kernel.lower.code import Code
from presk.kernel.lower.contraction import Contraction, Place
from presk.kernel.lower.operands import Operands
from presk.kernel.lower.points import RULES
from presk.kernel.lower.reader import Reader
from presk.kernel.lower.task import Task
from presk.kernel.lower.tiles import interleaved_sum
from presk.kernel.lowered import Buffered, Launch
from presk.kernel.nodes import Binary, BufferType, Constant, Variable
from presk.primitives.attributes import cotangents_of

LOOKED_AT = 3
"""A sum that is no NaN: a load, a comparison, a store."""


def is_marked(task: Task) -> bool:
    """Whether the contraction is one of an adjoint whose terms may have to be left out."""
    return bool(cotangents_of(dict(task.apply(task.root).attributes)))


def mending(task: Task, contraction: Contraction) -> Launch:
    """The sweep over the result."""
    first, second = task.apply(task.root).operands
    root = Ref(task.root.number)
    stored = task.stored_type(task.result(task.root))
    inputs: list[tuple[Buffered, BufferType]] = [*dict(task.inputs((first, second))).items(), (root, stored)]
    code = Code(f"mend_{contraction.name}", task.arithmetic, inputs, [(root, stored)])
    operands = Operands(Reader(task, code, RULES), contraction, (first, second))
    operands.marked = cotangents_of(dict(task.apply(task.root).attributes))
    with code.loops([contraction.sizes[label] for label in contraction.out]) as found:
        place = {label: position.index for label, position in zip(contraction.out, found, strict=True)}
        total = code.let("real", code.load(root, operands.index(place)))
        with code.when(Binary("!=", total, total)):
            _again(code, operands, contraction, place, total)
        operands.store(place, total, False)
    launch = code.launch((len(inputs) - 1,))
    return replace(launch, work=LOOKED_AT * prod(contraction.sizes[label] for label in contraction.out))


def _again(code: Code, operands: Operands, contraction: Contraction, place: Place, total: Variable) -> None:
    """The sum of the terms that count, in the site's order."""
    partials = operands.reader.task.choice.partials
    if partials is not None:
        code.assign(total, interleaved_sum(code, operands, contraction, place, partials))
        return
    code.assign(total, Constant(0.0))
    with code.loops([contraction.sizes[label] for label in contraction.k]) as found:
        there = {**place, **{label: each.index for label, each in zip(contraction.k, found, strict=True)}}
        left, right = (code.shared("real", each) for each in (operands.left(there), operands.right(there, False)))
        with operands.counting(left, right):
            code.assign(total, operands.grown(total, left, right, False))
