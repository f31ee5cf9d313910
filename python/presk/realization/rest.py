"""Types at rest that a call hands on to the next: parameters and moments of a training step.

A donated argument whose tree the result has at the same place is what the next call is given. Its leaves keep their
types: the sites that make them are stored in the type at rest where the realization says nothing of them, so that an
update isn't rounded to a narrower one first. Called by `run.record.choices`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from presk.core.flow import flow_of
from presk.core.nodes import Program
from presk.core.roles import Role
from presk.core.sites import Site, sites
from presk.realization.mixed import stated_places
from presk.realization.model import Realization
from presk.shapes.types import TupleOf, leaves
from presk.text.cursor import shown
from presk.text.diagnostics import PreskError, fail

WIDTH = {"bf16": 1, "f32": 2, "f64": 3}

Place = tuple[str, int]


def handed_on(program: Program, donate: Iterable[int]) -> Iterator[tuple[str, str]]:
    """The real leaves that a call hands on: the path of each as an argument, and as a result."""
    entry = program.entry
    items = entry.result.items if isinstance(entry.result, TupleOf) else (entry.result,)
    is_tuple = isinstance(entry.result, TupleOf)
    for number in donate:
        parameter = entry.parameters[number]
        if number >= len(items) or items[number] != parameter.type:
            continue
        for path, tensor in leaves(parameter.type):
            if tensor.kind == "real":
                name = parameter.name or f"%{parameter.number}"
                yield ".".join((name, *path)), ".".join(((str(number),) if is_tuple else ()) + path)


def sites_at_rest(
    realization: Realization, program: Program, donate: Sequence[int], rest: Mapping[str, str]
) -> dict[Place, str]:
    """The sites that make what is handed on and that nothing is stated of, with the widest type at rest they serve.

    `rest` has each leaf's type by its path as an argument. Empty where all are of the realization's own type.
    """
    wanted = {result: rest[given] for given, result in handed_on(program, donate) if given in rest}
    if not any(kind != realization.default for kind in wanted.values()):
        return {}
    known = sites(program)
    taken = stated_places(realization, known)
    places = {(site.function, site.number): site for site in known}
    flow = flow_of(program)
    found: dict[Place, str] = {}
    for path, node in flow.results[program.entry.name].items():
        kind = wanted.get(".".join(path))
        if kind is None:
            continue
        met = flow.back((node,), lambda each: flow.made_of[each] if flow.role(each) is Role.MAP else ())
        for place in {each[:2] for each in met} & places.keys() - taken:
            before = found.get(place)
            found[place] = kind if before is None or WIDTH[kind] > WIDTH[before] else before
    return found


def loses_its_type(program: Program, path: str, rest: str, stored: str) -> PreskError:
    """E7005 for a leaf of the result that is narrower than what it takes the place of."""
    made = [site.key for site in makers(program, path)]
    given = next(each for each, result in handed_on(program, range(len(program.entry.parameters))) if result == path)
    where = f": {' and '.join(f'`{shown(key)}`' for key in made)} is stored in {stored}" if made else ""
    hint = f"`storage` of that site as {rest}, or `params` of it as {stored}"
    name = given.partition(".")[2] or given
    return fail("E7005", f"`{shown(name)}` rests in {rest}, and a call leaves it in {stored}{where}", hint=hint)


def makers(program: Program, path: str) -> list[Site]:
    """The sites that make a leaf of the result, by its path."""
    flow = flow_of(program)
    node = flow.results[program.entry.name][tuple(path.split(".")) if path else ()]
    met = flow.back((node,), lambda each: flow.made_of[each] if flow.role(each) is Role.MAP else ())
    return [site for site in sites(program) if (site.function, site.number) in {each[:2] for each in met}]
