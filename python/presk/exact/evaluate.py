"""The reference's entry point: a Core program on exact inputs, at a precision, certified or not.

`evaluate` compiles the program (kept for the next call), runs it, and refuses results that depend on a value the reals
don't have. When certifying, a run that met a decision its balls can't take is repeated as a whole: with expressions
tracked where two balls were the same bit for bit, else at twice the bits, at most DOUBLINGS times.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from flint import arb

from presk.core.nodes import Apply, Function, Program
from presk.core.operands import ref_of
from presk.exact.compile import CompiledProgram
from presk.exact.context import Run, Watch
from presk.exact.elements import Depends, Site, Undefined, ball_of
from presk.exact.loops import is_tuple
from presk.exact.precision import LARGEST_BITS, working
from presk.exact.reals import Reals
from presk.exact.rules.task import Value, names_of
from presk.exact.values import ExactArray
from presk.shapes.types import Tensor, Type, fields_of
from presk.text.diagnostics import InternalError, PreskError, fail

ExactTree: TypeAlias = Any
"""A tree (dicts and tuples) of ExactArray, and of NumPy arrays of int64 and bool for nats and booleans."""

DEFAULT_BITS = 256
DOUBLINGS = 4
"""How often a certifying evaluation doubles its precision before it gives up (E6005)."""

PROGRAMS_KEPT = 64
"""Compiled programs kept, the least recently used going first."""

_compiled: OrderedDict[tuple[int, bool], CompiledProgram] = OrderedDict()
_turn = Lock()


def evaluate(
    program: Program,
    arguments: Sequence[Any],
    *,
    bits: int = DEFAULT_BITS,
    certify: bool = False,
    seed: int = 0,
    step: int = 0,
    row_offset: int = 0,
    training: bool = False,
    watch: Watch | None = None,
) -> ExactTree:
    """The entry's value on `arguments`, one tree for each parameter.

    A leaf is an ExactArray, or a NumPy array of floats (exact binary values), int64 or bool, of the parameter's shape;
    `presk.run.values` makes such trees from what a user gives. Reals come back as ExactArray, with proven radii under
    `certify`. E6003 where a result depends on an undefined value, E6004 on a masked row that allows nothing, E6005
    where certifying can't decide, E6006 where a number leaves the range that can be held, E6012 for impossible `bits`.
    """
    if certify:
        if watch is not None:
            raise InternalError("a certified evaluation can't be watched")
        return _certified(program, arguments, bits, seed=seed, step=step, row_offset=row_offset, training=training)
    run = Run(bits, seed=seed, step=step, row_offset=row_offset, training=training, watch=watch)
    compiled = compile_program(program, watched=watch is not None)
    with working(bits):
        try:
            return _evaluate_once(compiled, run, arguments)
        except Depends as found:
            raise refusal(found.element) from None


def _certified(program: Program, arguments: Sequence[Any], bits: int, **options: Any) -> ExactTree:
    """The values with proven radii, at twice the bits as long as a decision wants them. E6005 after DOUBLINGS."""
    last = min(bits << DOUBLINGS, LARGEST_BITS)
    tracked = False
    while True:
        found = attempt(program, arguments, bits=bits, tracked=tracked, **options)
        if found.short is None and (found.hull is None or bits << 1 > last):
            return found.values
        if found.short is not None and bits << 1 > last:
            raise refusal(found.short, bits)
        bits <<= 1
        tracked = found.tracked


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one certified evaluation at one precision gave: values, or the element that is short of bits.

    `hull`: a mask that the balls can't decide, of a `where` whose branches are apart: its hull is a wide ball, and more
    bits may choose. `tracked`: expressions were tracked, which the next attempt should do from the start.
    """

    values: ExactTree
    short: Undefined | None
    bits: int
    tracked: bool
    hull: Undefined | None = None


def attempt(
    program: Program,
    arguments: Sequence[Any],
    *,
    bits: int,
    tracked: bool = False,
    seed: int = 0,
    step: int = 0,
    row_offset: int = 0,
    training: bool = False,
) -> Attempt:
    """One certified evaluation at `bits` bits, no more. What was compiled and laid out for another precision serves.

    Where a result depends on what its balls can't decide, `short` says where that happened and `values` is None: more
    bits may help. `refusal(short, bits)` is the error where none are to be had. What bits can't mend is raised.
    """
    compiled = compile_program(program)
    while True:
        run = Run(
            bits,
            certify=True,
            tracked=tracked,
            seed=seed,
            step=step,
            row_offset=row_offset,
            training=training,
        )
        with working(bits):
            try:
                values = _evaluate_once(compiled, run, arguments)
                return Attempt(values, None, bits, tracked, run.hulls[0] if run.hulls else None)
            except Depends as found:
                undefined = found.element
        if not undefined.undecided:
            raise refusal(undefined)
        if tracked or not undefined.alike:
            return Attempt(None, undefined, bits, tracked)
        tracked = True


def compile_program(program: Program, *, watched: bool = False) -> CompiledProgram:
    """The program compiled; kept by the program's identity."""
    key = (id(program), watched)
    with _turn:
        found = _compiled.get(key)
        if found is None or found.program is not program:
            found = _compiled[key] = CompiledProgram(program, watched)
        _compiled.move_to_end(key)
        while len(_compiled) > PROGRAMS_KEPT:
            _compiled.popitem(last=False)
        return found


def refusal(undefined: Undefined, bits: int | None = None) -> PreskError:
    """The error of a result that depends on an undefined element, or of a decision that `bits` bits can't take."""
    site = undefined.site
    if undefined.code == "E6008":
        element = "" if undefined.position is None else f", element {undefined.position}"
        sentence = f"`{site.primitive}` at {site.label} {undefined.reason}{element}"
        return fail("E6008", sentence, site.span, "more bits move this further out: --bits, or --max-bits")
    if bits is not None:
        return fail(
            "E6005",
            f"`{site.primitive}` at {site.label} {undefined.reason}, even at {bits} bits",
            site.span,
            "two expressions may be equal without looking alike; with --no-certify midpoints decide",
        )
    place = "" if undefined.position is None else f", at element {undefined.position}"
    hints = {"E6003": "`where(mask, a, b)` doesn't depend on the branch it refuses"}
    sentence = f"`{site.primitive}` at {site.label} {undefined.reason}{place}"
    return fail(undefined.code, sentence, site.span, hints.get(undefined.code))


def _evaluate_once(compiled: CompiledProgram, run: Run, arguments: Sequence[Any]) -> ExactTree:
    function = compiled.entry.function
    if len(arguments) != len(function.parameters):
        raise InternalError(f"{function.name} takes {len(function.parameters)} arguments, not {len(arguments)}")
    inputs = [
        _accept(argument, parameter.type, run)
        for argument, parameter in zip(arguments, function.parameters, strict=True)
    ]
    value = compiled.entry(run, inputs, (), ())
    return _deliver(value, function.result, run, _site_of_result(function))


def _site_of_result(function: Function) -> Site:
    ref = ref_of(function.body.result)
    lets = {let.number: let for let in function.body.lets}
    let = None if ref is None else lets.get(ref.number)
    if let is None:
        return Site(function.name, 0 if ref is None else ref.number, None, "result")
    primitive = let.value.primitive if isinstance(let.value, Apply) else "result"
    return Site(function.name, let.number, let.name, primitive, let.span)


def _accept(tree: Any, of: Type, run: Run) -> Value:
    """An argument as the rules take it."""
    if isinstance(of, Tensor):
        return _accept_tensor(tree, of, run)
    fields = fields_of(of) or ()
    if is_tuple(of):
        return tuple(_accept(each, inner, run) for each, (_, inner) in zip(tree, fields, strict=True))
    return {name: _accept(tree[name], inner, run) for name, inner in fields}


def _accept_tensor(leaf: Any, of: Tensor, run: Run) -> Value:
    if tuple(leaf.shape) != of.sizes:
        raise InternalError(
            f"an argument of shape {list(leaf.shape)} reached the reference where {of.sizes} is expected"
        )
    if of.kind != "real":
        return leaf.reshape(-1).tolist()
    if isinstance(leaf, ExactArray):
        return leaf.taken(run)
    return run.given([arb(each) for each in np.asarray(leaf, dtype=np.float64).reshape(-1).tolist()])


def _deliver(value: Value, of: Type, run: Run, site: Site) -> ExactTree:
    """A result as a caller gets it. Depends where it isn't defined."""
    if not isinstance(of, Tensor):
        fields = fields_of(of) or ()
        if is_tuple(of):
            return tuple(_deliver(each, inner, run, site) for each, (_, inner) in zip(value, fields, strict=True))
        return {name: _deliver(value[name], inner, run, site) for name, inner in fields}
    sizes = of.sizes
    if isinstance(value, Reals):
        flat = value.points()
        if set(map(type, flat)) - {arb}:
            flat = [_plain(element) for element in flat]
        if not all(map(arb.is_finite, flat)):
            if run.certify:
                at = next(at for at, ball in enumerate(flat) if not ball.is_finite())
                raise Depends(Undefined(site, "has a radius that is infinite", at, code="E6008", undecided=True))
            raise fail("E6006", "a result is too large or too small to be held")
        return ExactArray(flat, sizes, names_of(of), run.bits, certified=run.certify)
    for each in value:
        if isinstance(each, Undefined):
            raise Depends(each)
    return np.array(value, dtype=np.int64 if of.kind == "nat" else np.bool_).reshape(sizes)


def _plain(element: Any) -> arb:
    if isinstance(element, Undefined):
        raise Depends(element)
    return ball_of(element)
