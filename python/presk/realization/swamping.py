"""Sums in order that may swamp: more terms than the type they are taken in counts, 2²⁴ in f32.

From there on a term as large as the mean of those before is less than half of the sum's last place, and is lost. Known
from sizes and the realization alone, so it is said before anything runs. Called by the Python API and by training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from presk.core.groups import partition
from presk.core.links import reduced_axes
from presk.core.nodes import Apply, Function, Let, Loop, MakeTuple, MapTrees, Program, Ref
from presk.core.operands import ref_of
from presk.core.printer import bodies
from presk.core.sites import known_as
from presk.core.typing import operand_type
from presk.primitives.attributes import take_names
from presk.realization.mixed import expanded
from presk.realization.model import Plan, Realization
from presk.realization.resolve import SUMMED, SiteNumbers, resolve
from presk.shapes.types import Run, Tensor, Type, leaves

COUNTS = {"f32": 1 << 24, "f64": 1 << 53}
"""Terms of one size that a running sum of the type takes in without losing one whole."""

LEAST_PARTIALS, MOST_PARTIALS = 64, 4096
"""Partial sums that are proposed, where not more are needed, and that an order may have."""

WITHOUT_F64 = frozenset(
    "exp expm1 log log1p tanh sin cos erf pow sigmoid softplus silu gelu gelu_tanh softmax log_softmax logsumexp "
    "cross_entropy".split()
)
"""What has no form where sums are taken in f64 over f32: a group that has one of these is widened as a whole."""


@dataclass(frozen=True, slots=True)
class LongSum:
    """A sum that may swamp: its site, how many terms it adds in order, in which type, and what to declare instead."""

    site: str
    terms: int
    type: str
    remedy: str

    def __str__(self) -> str:
        counts = f"{self.type} counts to 2^{COUNTS[self.type].bit_length() - 1}"
        return f"`{self.site}` adds {self.terms} terms in order, and {counts}: late terms may be lost. {self.remedy}"


def long_sums(realization: Realization, program: Program) -> list[LongSum]:
    """The sums of an entry that may swamp under a realization, each site once."""
    long = [(function, _sums(function)) for function in program.functions]
    if not any(sums for _, sums in long):
        return []
    realization = expanded(realization, program)
    found = resolve(realization, Plan("default"), program)
    made: dict[str, LongSum] = {}
    for function, sums in long:
        roots = _roots(function) if sums else {}
        names = {let.number: let.value.primitive for let in _lets(function) if isinstance(let.value, Apply)}
        for let, terms in sums:
            if let.number not in roots:
                continue
            root = roots[let.number]
            said = found.sites.get((function.name, root), found.others)
            site = f"{known_as(function)}/%{root}"
            kind, in_order = _kind(said), _in_order(let, said, terms)
            if site not in made and in_order > COUNTS[kind]:
                inside = {names[number] for number, at in roots.items() if at == root}
                is_wide = kind == "f32" and said.storage == "f32" and inside.isdisjoint(WITHOUT_F64)
                made[site] = LongSum(site, in_order, kind, _remedy(site, let, kind, terms, is_wide))
    return list(made.values())


def _kind(said: SiteNumbers) -> str:
    return said.accumulate or ("f64" if said.storage == "f64" else "f32")


def _in_order(let: Let, said: SiteNumbers, terms: int) -> int:
    """The terms of the longest running sum: of all, or of one partial sum."""
    apply = let.value
    if said.partials is None or not isinstance(apply, Apply) or apply.primitive not in SUMMED:
        return terms
    return max(-(-terms // said.partials), said.partials)


def _remedy(site: str, let: Let, kind: str, terms: int, has_f64: bool) -> str:
    """What to declare instead: an order where there is one, a wider accumulation, or a wider site."""
    primitive = let.value.primitive if isinstance(let.value, Apply) else ""
    wider = "accum" if has_f64 and primitive in SUMMED | {"total"} else "storage"
    choices = [f'`"{wider}": {{"{site}": "f64"}}`'] if kind == "f32" else []
    if primitive in SUMMED:
        partials = max(LEAST_PARTIALS, 1 << (terms >> COUNTS["f32"].bit_length() - 1).bit_length())
        if partials <= MOST_PARTIALS:
            order = f'{{"kind": "interleaved", "partials": {partials}}}'
            choices.append(f'`"order": {{"{site}": {order}}}`')
    return f"Declare {' or '.join(choices)}" if choices else "Sum in parts"


def _lets(function: Function) -> Iterator[Let]:
    for body in bodies(function.body):
        yield from body.lets


def _roots(function: Function) -> dict[int, int]:
    """The root of each let's group."""
    return {member.number: group.root for group in partition(function).groups for member in group.members}


def _sums(function: Function) -> list[tuple[Let, int]]:
    """Lets that add up more than f32 counts, and how many terms an element has at most."""
    types = _types(function)
    found: list[tuple[Let, int]] = []
    for body in bodies(function.body):
        for let in body.lets:
            match let.value:
                case Apply(primitive, operands) as apply if primitive in TERMS:
                    found.append((let, TERMS[primitive](apply, [operand_type(each, types) for each in operands])))
                case Loop(trips=trips) as loop:
                    found += [(adding, trips) for adding in _adding(loop)]
                case _:
                    continue
    return [(let, terms) for let, terms in found if terms > COUNTS["f32"]]


def _adding(loop: Loop) -> Iterator[Let]:
    """The additions that a loop's next state is, of its state and something else."""
    own = {let.number: let for let in loop.body.lets}
    made = [loop.body.result]
    while made:
        ref = ref_of(made.pop())
        let = None if ref is None else own.get(ref.number)
        if let is None:
            continue
        if isinstance(let.value, MakeTuple):
            made += let.value.items
        elif isinstance(let.value, Apply) and let.value.primitive == "add" and isinstance(let.type, Tensor):
            read = [each.number for each in let.value.operands if isinstance(each, Ref)]
            if let.type.kind == "real" and loop.state.number in read:
                yield let


def _types(function: Function) -> dict[int, Type]:
    types: dict[int, Type] = {each.number: each.type for each in function.parameters}
    for body in bodies(function.body):
        for let in body.lets:
            types[let.number] = let.type
            if isinstance(let.value, Loop):
                types |= {each.number: each.type for each in (let.value.state, *let.value.elements)}
            elif isinstance(let.value, MapTrees):
                types |= {each.number: each.type for each in let.value.parameters}
    return types


# How many terms an element has at most, from a primitive and its operands' types


def _sizes(of: Type) -> tuple[int, ...]:
    """A tensor's sizes; none where they are a run's, whose leaves are counted by `total`."""
    return of.sizes if isinstance(of, Tensor) and not any(isinstance(axis, Run) for axis in of.axes) else ()


def _reduced(apply: Apply, operands: list[Type]) -> int:
    of = operands[0]
    sizes = _sizes(of)
    assert isinstance(of, Tensor), "a tensor is reduced"
    return prod(sizes[axis] for axis in reduced_axes(apply, of)) if sizes else 0


def _last(apply: Apply, operands: list[Type]) -> int:
    return _sizes(operands[0])[-1]


def _free(apply: Apply, operands: list[Type]) -> int:
    """Of a product's left adjoint: the axes of the second factor but the first."""
    return prod(_sizes(operands[1])[1:])


def _rows(apply: Apply, operands: list[Type]) -> int:
    """Of its right adjoint: the axes of the first factor but the last."""
    return prod(_sizes(operands[0])[:-1])


def _named(apply: Apply, operands: list[Type]) -> int:
    attributes = dict(apply.attributes)
    (out,) = take_names(attributes, "out")
    sizes: dict[str, int] = {}
    for labels, operand in zip(take_names(attributes, "labels"), operands, strict=True):
        assert isinstance(operand, Tensor), "a contraction takes tensors"
        axes = zip(labels, operand.axes, strict=True)
        sizes |= {label: axis.size.whole or 0 for label, axis in axes if not isinstance(axis, Run)}
    return prod(size for label, size in sizes.items() if label not in out)


def _all(apply: Apply, operands: list[Type]) -> int:
    return sum(prod(tensor.sizes) for _, tensor in leaves(operands[0]))


def _along(apply: Apply, operands: list[Type]) -> int:
    axis = dict(apply.attributes)["axis"]
    assert isinstance(axis, int), "a running sum is along one axis"
    return _sizes(operands[0])[axis]


def _indices(apply: Apply, operands: list[Type]) -> int:
    return prod(_sizes(operands[1]))


TERMS: Mapping[str, Callable[[Apply, list[Type]], int]] = {
    **dict.fromkeys(("sum", "mean", "softmax", "log_softmax", "logsumexp", "cross_entropy"), _reduced),
    **dict.fromkeys(("dot", "matmul"), _last),
    "dot_vjp_l": _free,
    "dot_vjp_r": _rows,
    "ein": _named,
    "total": _all,
    "cumsum": _along,
    "scatter_add": _indices,
}
