"""Sums that run: cumsum along an axis, and total over the leaves of a tree.

A running sum is held in the arithmetic type and rounded at each store. Called by `table`.
"""

from __future__ import annotations

from presk.core.nodes import Ref
from presk.kernel.lower import own
from presk.kernel.lower.folds import InterleavedSum, Sum
from presk.kernel.lower.index import Position, at, join, plus
from presk.kernel.lower.task import Task
from presk.kernel.lowered import Lowered
from presk.kernel.nodes import Constant, Expression, Integer


def lower_cumsum(task: Task) -> Lowered:
    """cumsum: for each row along the axis, its sums up to each element."""
    own.check(task)
    axis = task.whole(task.root, "axis")
    sizes = task.result(task.root).sizes
    reader = own.begin(task)
    code = reader.code
    with code.loops((*sizes[:axis], *sizes[axis + 1 :])) as others:
        total = code.let("real", Constant(0.0))
        with code.loop(sizes[axis]) as counter:
            found = (*others[:axis], at(counter, sizes[axis]), *others[axis:])
            code.assign(total, reader.reals.binary("+", total, reader.value(own.operand(task, 0), found)))
            code.store(code.output(), [each.index for each in found], total)
    return own.finished(task, reader)


def lower_total(task: Task) -> Lowered:
    """total: one sum over all leaves, in declaration order; an element's place counts on from leaf to leaf."""
    own.check(task, has_sums=True)
    reader = own.begin(task)
    code = reader.code
    tree = own.operand(task, 0)
    leaves = task.leaves(tree) if isinstance(tree, Ref) else [tree]
    at_hand: list[Expression] = []
    places: list[Position] = []
    partials = task.choice.partials

    def term() -> Expression:
        return at_hand[-1]

    total = Sum(reader.reals, term)
    fold = total if partials is None else InterleavedSum(reader.reals, term, lambda: places[-1], partials)
    fold.start(code)
    before = 0
    for leaf in leaves:
        sizes = task.tensor(leaf).sizes
        with code.loops(sizes) as found:
            at_hand.append(reader.value(leaf, found))
            places.append(at(plus(join(found).index, Integer(before)), before + join(found).size))
            fold.step(code)
        before += join(found).size
    code.store(code.output(), (), fold.finish(code))
    return own.finished(task, reader)
