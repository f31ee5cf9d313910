"""Outputs that may take an input's buffer: where the input is read only where the output is about to be stored.

The rule is the verifier's (E9205), seen from the side that makes kernels: every load of the input stands in the block
of the kernel's one store to the output, in front of it or in it, at the store's index. Called by rules that make
kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from presk.core.nodes import Ref
from presk.kernel.lowered import InPlace, Launch
from presk.kernel.nodes import (
    Access,
    Apply,
    Assign,
    Binary,
    Buffer,
    Call,
    Element,
    Expression,
    For,
    If,
    Load,
    Splat,
    Statement,
    Store,
    Tile,
    Unary,
)

MOST_WAYS = 16
"""Inputs whose buffers are offered for the output: each is a kernel of its own, and the host takes one of them."""


def in_place(launch: Launch, output: Ref, elements: Mapping[Ref, Element]) -> tuple[InPlace, ...]:
    """For each input whose buffer the launch's one output may take, the launch that does so; MOST_WAYS at most.

    `elements` is how the host holds the inputs: what is converted at the kernel's edge is a copy.
    """
    kernel = launch.kernel
    stored = kernel.outputs[0].type
    found = _block_of_store(kernel.body, Buffer("%", len(kernel.inputs)))
    if len(kernel.outputs) != 1 or found is None:
        return ()
    block, store = found
    near = [load for statement in block for load in _loads(statement)]
    everywhere = [load for statement in kernel.body for load in _loads(statement)]
    ways: list[InPlace] = []
    for number, (source, held) in enumerate(zip(launch.inputs, kernel.inputs, strict=True)):
        sizes, wanted = ([axis.size for axis in each.axes] for each in (held, stored))
        if not isinstance(source, Ref) or held.element != stored.element or sizes != wanted:
            continue
        if elements.get(source, stored.element).kind != stored.element.kind:
            continue
        mine = [load for load in near if load.buffer == Buffer("%", number)]
        if all(load.index == store.access.index for load in mine) and len(mine) == sum(
            load.buffer == Buffer("%", number) for load in everywhere
        ):
            ways.append(InPlace(output, source, (sharing(launch, number),)))
            if len(ways) == MOST_WAYS:
                break
    return tuple(ways)


def sharing(launch: Launch, number: int) -> Launch:
    """The launch whose first output takes the buffer of an input."""
    first, *others = launch.kernel.outputs
    outputs = (replace(first, shares=number), *others)
    return replace(launch, kernel=replace(launch.kernel, outputs=outputs))


def _block_of_store(body: Sequence[Statement], buffer: Buffer) -> tuple[Sequence[Statement], Store] | None:
    """The statements up to the one store to a buffer, in its block; None where there are several."""
    blocks = list(_blocks(body))
    found = [
        (block[: at + 1], statement)
        for block in blocks
        for at, statement in enumerate(block)
        if isinstance(statement, Store) and statement.access.buffer == buffer
    ]
    return found[0] if len(found) == 1 else None


def _blocks(body: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    yield body
    for statement in body:
        if isinstance(statement, (For, If)):
            yield from _blocks(statement.body)


def _loads(statement: Statement) -> Iterator[Access]:
    match statement:
        case Assign(_, value):
            yield from _loaded(value)
        case Store(access, value):
            yield from _loaded(value)
            for each in access.index:
                yield from _loaded(each)
        case For(_, _, body):
            for each in body:
                yield from _loads(each)
        case If(condition, body):
            yield from _loaded(condition)
            for each in body:
                yield from _loads(each)
        case Apply(_, sources, target):
            yield from sources
            for access in (*sources, target):
                for each in access.index:
                    yield from _loaded(each)
        case Tile(left=left, right=right, sum=total):
            yield from (left, right, total)


def _loaded(value: Expression) -> Iterator[Access]:
    match value:
        case Load(access):
            yield access
            for each in access.index:
                yield from _loaded(each)
        case Binary(_, left, right):
            yield from _loaded(left)
            yield from _loaded(right)
        case Unary(_, operand) | Splat(operand):
            yield from _loaded(operand)
        case Call(_, arguments):
            for each in arguments:
                yield from _loaded(each)
        case _:
            return
