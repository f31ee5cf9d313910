"""Sites: where a realization or plan may decide something, which is the root of each group that runs.

A site is written `<function>/%<let>`, or `<function>/<name>` where one site of the function has that name. A function's
name without groups and `@` (`core.names.bare`) means every instantiation. The forward half of a derivative has the
sites of the function it is the half of, and a function's name means both. Called by realizations, plans and reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from presk.core.groups import Groups, partition
from presk.core.names import bare
from presk.core.nodes import Function, Let, Program
from presk.core.printer import bodies
from presk.text.diagnostics import did_you_mean

SHOWN = 8
"""Names that a hint lists at most."""


@dataclass(frozen=True, slots=True)
class Site:
    """The root of a group: its function, its let's number and, where the source gives one, its name.

    `known_as` is the function whose name the site has, where that isn't its own: in a forward half.
    """

    function: str
    number: int
    name: str | None
    known_as: str | None = None

    @property
    def named(self) -> str:
        """The function whose name the site has."""
        return self.known_as or self.function

    @property
    def key(self) -> str:
        """`loss/%17`."""
        return f"{self.named}/%{self.number}"


def known_as(function: Function) -> str:
    """The name that a function's sites have."""
    return function.name if function.primal is None else function.primal.name


class NoSite(Exception):
    """A key that means no site of the program, or no single one: why, and what may be meant."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def sites(program: Program) -> tuple[Site, ...]:
    """The sites of a simplified program, functions in order, each function's by number."""
    found: list[Site] = []
    for function in program.functions:
        lets = {let.number: let for body in bodies(function.body) for let in body.lets}
        found += _sites_of(function, partition(function), lets)
    return tuple(found)


def let_of(program: Program, site: Site) -> Let:
    """The let at a site of the program."""
    function = next(each for each in program.functions if each.name == site.function)
    return next(let for body in bodies(function.body) for let in body.lets if let.number == site.number)


def _sites_of(function: Function, groups: Groups, lets: dict[int, Let]) -> list[Site]:
    roots = sorted(group.root for group in groups.groups if group.kind != "view")
    return [Site(function.name, root, lets[root].name, known_as(function)) for root in roots]


def find_sites(known: Sequence[Site], key: str) -> tuple[Site, ...]:
    """The sites a key means: one of its function, or one of every instantiation. Raises NoSite."""
    function, slash, let = key.rpartition("/")
    if not slash or not function or not let:
        raise NoSite(f"`{key}` is no site", "a site is written `<function>/%<let>`, such as `scores/%2`")
    names = dict.fromkeys(name for site in known for name in (site.named, site.function))
    exact = [name for name in names if name == function]
    wanted = exact or [name for name in names if bare(name) == function]
    if not wanted:
        hint = did_you_mean(function, {**names, **dict.fromkeys(bare(name) for name in names)})
        if hint is None and names:
            hint = f"functions with sites: {', '.join(f'`{name}`' for name in list(names)[:SHOWN])}"
        raise NoSite(f"no function `{function}` with sites is called here", hint)
    if exact and bare(function) == function:
        wanted = [name for name in names if bare(name) == function]
    meant = [site for site in known if site.function in wanted or site.named in wanted]
    found: list[Site] = []
    for named in dict.fromkeys(site.named for site in meant):
        found += _in_function([site for site in meant if site.named == named], named, let)
    return tuple(found)


def _in_function(candidates: list[Site], function: str, let: str) -> list[Site]:
    """The sites of a function that `%17` or `logits` means: one, and the same in its forward half where both run."""
    found = [site for site in candidates if (f"%{site.number}" if let.startswith("%") else site.name) == let]
    numbers = dict.fromkeys(f"%{site.number}" for site in found)
    if len(numbers) == 1:
        return found
    if found:
        raise NoSite(f"`{let}` names several sites of `{function}`", f"write the number: {', '.join(numbers)}")
    there = dict.fromkeys(f"%{site.number}" for site in candidates)
    hint = did_you_mean(let, [*there, *(site.name for site in candidates if site.name)])
    raise NoSite(f"`{function}` has no site `{let}`", hint or f"its sites: {', '.join(there)}")
