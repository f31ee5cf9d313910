"""What a realization and a plan are: JSON data that is held against a schema, in Python and as files.

A realization says in which machine numbers an entry is computed: it changes bits. A plan says in which loops, lanes and
threads: it changes none. Both are immutable, compared by content, and as valid as their schema can tell whichever way
they were made (E7001); whether they fit an entry is `realization.resolve`'s to say. docs/realizations.md is their page.
Called by the seam, the Python API and the command line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from presk.realization.frozen import EMPTY, FrozenMap, freeze, thaw
from presk.realization.json_text import Located, read_json
from presk.realization.schema import validate
from presk.text.cursor import shown
from presk.text.diagnostics import PreskError, did_you_mean, fail
from presk.text.files import is_file, write_bytes
from presk.text.sources import read_source
from presk.text.spans import Source

FLOAT_TYPES = ("f64", "f32", "bf16")

MIXED = "bf16/f32"
"""The rule that `realization.mixed` writes out for an entry, as a default."""

NAMES = (*FLOAT_TYPES, "f64+fma", "f32+fma", MIXED)
"""The realizations that have a short name."""

RULES = ("auto", "default", "scalar")
"""The plans that have a name."""

FROM_FILE = "@"
"""Before the path of a file, where a name is expected."""

HASH_SHOWN = 8
"""Digits of a realization's hash in its name."""


@dataclass(frozen=True, slots=True)
class Realization:
    """In which machine numbers an entry is computed: the types of its sites and parameters, the order of its sums.

    The fields are the keys of the JSON form (docs/realizations.md), given as plain dicts: `storage`, `round`, `accum`,
    `order` by site (the last also one for all), `params` and `quant` by the parameter's path. `fma` makes every
    multiply-add of a contraction one operation. Raises PreskError E7001 for what the schema refuses.
    """

    default: str = "f32"
    fma: bool = False
    storage: Mapping[str, str] = EMPTY
    round: Mapping[str, str] = EMPTY
    accum: Mapping[str, str] = EMPTY
    order: Mapping[str, Any] = EMPTY
    params: Mapping[str, str] = EMPTY
    quant: Mapping[str, Mapping[str, Any]] = EMPTY
    entry: str | None = None
    core: str | None = None

    def __post_init__(self) -> None:
        if _is_short(self):
            return  # the schema has nothing to say, and its reader takes long to load
        _settle(self, "realization")
        twice = sorted(self.params.keys() & self.quant.keys())
        if twice:
            raise fail("E7001", f"`{shown(twice[0])}` is in `params` and in `quant`", hint="a parameter has one type")

    @property
    def is_uniform(self) -> bool:
        """Whether one type and sequential sums say it all."""
        return self.default != MIXED and not self._maps

    @property
    def _maps(self) -> bool:
        """Whether anything is said of single sites, sums or parameters."""
        return bool(self.storage or self.round or self.accum or self.order or self.params or self.quant)

    @property
    def name(self) -> str:
        """Its short name, such as `f32+fma`; with `~` and the start of its hash where that doesn't say it all."""
        short = f"{self.default}+fma" if self.fma else self.default
        return f"{short}~{self.hash.removeprefix('sha256:')[:HASH_SHOWN]}" if self._maps else short

    @property
    def hash(self) -> str:
        """`sha256:` and 64 hexadecimal digits, over what it says of numbers."""
        said = {key: each for key, each in self.json().items() if key not in ("entry", "core")}
        return f"sha256:{hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()}"

    def json(self) -> dict[str, Any]:
        """The JSON form as plain data, what is said by leaving it out left out."""
        keys = ("entry", "core", "default", "storage", "round", "accum", "order", "params", "quant", "fma")
        return _plain(self, keys, always=("default",))

    def write(self, path: str | Path) -> None:
        """Writes the JSON form, whole or not at all. E8002 where that can't be done."""
        write_bytes(path, f"{json.dumps(self.json(), indent=2)}\n".encode())

    @classmethod
    def read(cls, path: str | Path) -> Realization:
        """The realization in a file. E8001 where it can't be read, E1xxx for its characters, E7001 for what it says."""
        return cls.parse(_source(path, "the realization"))

    @classmethod
    def parse(cls, source: Source) -> Realization:
        """The realization that a JSON text is; errors as for `read`, with the place in the text."""
        return cls(**_members("realization", source))


@dataclass(frozen=True, slots=True)
class Plan:
    """In which loops, lanes and threads an entry is computed.

    `rule` decides what isn't stated: `auto`, a fixed rule over shapes and caches; `default`, the plain loops; `scalar`,
    these without vectors. A plan that states `layout` (choices by site, as in docs/realizations.md) or `fuse` (sweeps
    over the same elements become one launch) leaves the rest to `default`. Raises PreskError E7001 for what the schema
    refuses.
    """

    rule: str = ""
    layout: Mapping[str, Mapping[str, Any]] = EMPTY
    realization: str | None = None
    entry: str | None = None
    core: str | None = None
    fuse: bool = False

    def __post_init__(self) -> None:
        stated = (self.realization, self.entry, self.core)
        is_rule = self.layout is EMPTY and self.fuse is False and stated == (None, None, None)
        if not self.rule:
            object.__setattr__(self, "rule", "auto" if is_rule else "default")
        if self.rule not in RULES:
            raise _unknown("plan", self.rule, RULES)
        if not is_rule:
            _settle(self, "plan")
        if (self.layout or self.fuse) and self.rule != "default":
            raise fail("E7001", f"what a plan's layouts leave open is `default`, not `{self.rule}`")

    def json(self) -> dict[str, Any]:
        """The JSON form as plain data. E7001 for the plans `auto` and `scalar`, which are rules and have none."""
        if self.rule != "default":
            hint = "`Compiled.plan` and `presk dump --stage plan -o` have what it chose for an entry"
            raise fail("E7001", f"the plan `{self.rule}` is a rule, which has no JSON form", hint=hint)
        return _plain(self, ("entry", "core", "realization", "fuse", "layout"), always=("layout",))

    def write(self, path: str | Path) -> None:
        """Writes the JSON form, whole or not at all. E8002 where that can't be done, E7001 as for `json`."""
        write_bytes(path, f"{json.dumps(self.json(), indent=2)}\n".encode())

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """The plan in a file. E8001 where it can't be read, E1xxx for its characters, E7001 for what it says."""
        return cls.parse(_source(path, "the plan"))

    @classmethod
    def parse(cls, source: Source) -> Plan:
        """The plan that a JSON text is; errors as for `read`, with the place in the text."""
        return cls("default", **_members("plan", source))


def read_realization(text: str) -> Realization:
    """The realization of a short name or in the file `@FILE`. E7001 for an unknown name, else as `Realization.read`."""
    file = _file(text)
    if file is not None:
        return Realization.read(file)
    if text not in NAMES:
        raise _unknown("realization", text, NAMES)
    return Realization(text.removesuffix("+fma"), text.endswith("+fma"))


def read_plan(text: str) -> Plan:
    """The plan of a name or in the file `@FILE`. E7001 for an unknown name, else as `Plan.read`."""
    file = _file(text)
    if file is not None:
        return Plan.read(file)
    if text not in RULES:
        raise _unknown("plan", text, RULES)
    return Plan(text)


def _file(text: object) -> str | None:
    """The path of `@FILE`; None for anything else."""
    return text.removeprefix(FROM_FILE) if isinstance(text, str) and text.startswith(FROM_FILE) else None


def _unknown(kind: str, text: object, names: tuple[str, ...]) -> PreskError:
    word = text if isinstance(text, str) else type(text).__name__
    listed = f"there are {', '.join(f'`{name}`' for name in names)}, or {FROM_FILE}FILE"
    if word.endswith(".json") or is_file(word):
        listed = f"`{FROM_FILE}{shown(word)}` is the {kind} in that file"
        return fail("E7001", f"`{shown(word)}` is no {kind}", hint=listed)
    return fail("E7001", f"`{shown(word)}` is no {kind}", hint=did_you_mean(word, names) or listed)


def _is_short(made: Realization) -> bool:
    """Whether only `default` and `fma` are given, and are what they should be."""
    rest = [field for field in fields(made) if field.name not in ("default", "fma")]
    given = (type(made.default), type(made.fma))  # a caller from Python may have given anything
    is_plain = given == (str, bool) and made.default in (*FLOAT_TYPES, MIXED)
    return is_plain and all(getattr(made, field.name) is field.default for field in rest)


def _settle(made: Realization | Plan, kind: str) -> None:
    """Freezes the fields and holds them against the schema."""
    stated = {field.name: freeze(getattr(made, field.name)) for field in fields(made) if field.name != "rule"}
    for name, value in stated.items():
        object.__setattr__(made, name, value if value != EMPTY or not isinstance(value, FrozenMap) else EMPTY)
    left_out = {field.name for field in fields(made) if field.default is None and stated.get(field.name) is None}
    validate(kind, {name: thaw(value) for name, value in stated.items() if name not in left_out})


def _plain(made: Realization | Plan, keys: tuple[str, ...], always: tuple[str, ...]) -> dict[str, Any]:
    found = {key: thaw(getattr(made, key)) for key in keys}
    return {key: value for key, value in found.items() if key in always or value not in (None, False, {})}


def _source(path: str | Path, what: str) -> Source:
    return read_source(path, what)


def _members(kind: str, source: Source) -> dict[str, Any]:
    """The members of a JSON text that follows the schema."""
    located: Located = read_json(source)
    validate(kind, located.data, located)
    return located.data
