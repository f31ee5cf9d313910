"""Train blocks, checked: their keys, the model, the objective's type, the optimizer's settings, the rate, the data.

What a block says is kept as a `TrainBlock`, from which the training loop works. Each key that is wrong is told. Codes
E8020 to E8028.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeVar

from presk.check.bound import BoundConstants
from presk.check.calls import session_signature
from presk.check.checking import CheckSession
from presk.check.recipes import Recipe, in_range, read_data, read_rate, split_call, string_list
from presk.check.scope import File, open_library
from presk.check.signature import Signature
from presk.check.solver import Mismatch, Solver
from presk.check.typing import TypeScope, find, number, resolve
from presk.check.values import FunctionType, FunctionValue
from presk.shapes import types
from presk.shapes.constants import Constant, Rational
from presk.shapes.types import REAL, ModuleOf, RecordOf, TreeVariable, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import Diagnostic, PreskError, did_you_mean, fail

REQUIRED = ("model", "objective", "optimizer", "lr", "batch")
KEYS = (*REQUIRED, "data", "epochs", "clip", "seed", "last", "eval", "patience", "keep", "freeze")
WHOLE = {"batch": "whole", "epochs": "whole", "seed": "count", "eval": "whole", "patience": "whole", "keep": "whole"}
"""Keys that take a whole number, and from what."""

ACCUMULATION = ("accumulate", "accumulation", "accumulation_steps", "gradient_accumulation")
"""Keys by which other libraries' users ask for it."""

OPTIMIZER_OWN = ("p", "g", "s", "t", "lr")
"""Parameters of an optimizer's `step` that the loop gives."""

OBJECTIVE_HINT = "`fn loss(m: Model, batch: {x: …, y: …}) -> real`, or `-> (real, {accuracy: real})`"
OPTIMIZER_HINT = "`fn init[P](p: P) -> S` and `fn step[P](p: P, g: P, s: S, t: real, lr: real, …) -> (P, S)`"

Read = TypeVar("Read")


@dataclass(frozen=True)
class TrainBlock:
    """A train block that checks.

    `objective` is the label of `function`; `optimizer_file` has the optimizer's `init` and `step`. `settings` are the
    whole numbers, `clip` the gradient's norm, `freeze` path patterns.
    """

    name: str
    doc: str
    file: File
    model: tree.NamedType
    objective: str
    function: FunctionValue
    optimizer: Recipe
    optimizer_file: File
    rate: Recipe
    data: Recipe | None
    settings: Mapping[str, int]
    clip: Constant | None
    keep_last: bool
    freeze: tuple[str, ...]
    metrics: tuple[str, ...]


def check_trains(
    session: CheckSession, overrides: Mapping[str, Constant]
) -> tuple[dict[str, TrainBlock], list[Diagnostic]]:
    """All train blocks of the main file that check, and what is wrong with the others."""
    blocks: dict[str, TrainBlock] = {}
    diagnostics: list[Diagnostic] = []
    values = BoundConstants(session.files, overrides)
    for name, declaration in session.files.main.trains.items():
        if isinstance(declaration.node, tree.Train):
            block, found = read_block(session, values, declaration.file, declaration.node)
            diagnostics.extend(found)
            if block is not None:
                blocks[name] = block
    return blocks, diagnostics


def read_block(
    session: CheckSession, values: BoundConstants, file: File, node: tree.Train
) -> tuple[TrainBlock | None, list[Diagnostic]]:
    """A block, or None where it does not check, and what is wrong with it."""
    reader = _BlockReader(session, values, file, node)
    return reader.read(), reader.found


class _BlockReader:
    """Reads one block. What is wrong with a key is kept in `found`, and the next one is read."""

    def __init__(self, session: CheckSession, values: BoundConstants, file: File, node: tree.Train) -> None:
        self.session = session
        self.values = values
        self.file = file
        self.node = node
        self.found: list[Diagnostic] = []
        self.items: dict[str, tree.Expr] = {}

    def read(self) -> TrainBlock | None:
        """The block, or None where it does not check."""
        self._sort()
        model = self._key("model", self._model)
        module = None if model is None else self._attempt(lambda: self._module(model))
        objective = self._key("objective", lambda written: self._objective(module, written))
        optimizer = self._key("optimizer", self._optimizer)
        rate = self._key("lr", lambda written: read_rate(self.values, self.file, written))
        data = self._key("data", lambda written: read_data(self.values, self.file, written))
        settings = {key: self._key(key, lambda written, key=key: self._whole(key, written)) for key in WHOLE}
        clip = self._key("clip", self._clip)
        last = self._key("last", _last)
        freeze = self._key("freeze", lambda written: _freeze(module, written))
        if self.found or model is None or objective is None or optimizer is None or rate is None:
            return None
        return TrainBlock(
            self.node.name,
            self.node.doc,
            self.file,
            model,
            objective[0].declaration.label,
            objective[0],
            *optimizer,
            rate,
            data,
            {key: value for key, value in settings.items() if value is not None},
            clip,
            last == "keep",
            freeze or (),
            objective[1],
        )

    def _sort(self) -> None:
        """Takes the items by their keys."""
        for item in self.node.items:
            if item.key in ACCUMULATION:
                hint = "a larger `batch` gives the same mean"
                self.found.append(Diagnostic("E8085", "gradients aren't accumulated yet", item.key_span, hint))
            elif item.key not in KEYS:
                hint = did_you_mean(item.key, KEYS) or f"the keys are {', '.join(KEYS)}"
                self.found.append(Diagnostic("E8020", f"a train block has no key `{item.key}`", item.key_span, hint))
            elif item.key in self.items:
                self.found.append(Diagnostic("E8020", f"`{item.key}` is given twice", item.key_span))
            else:
                self.items[item.key] = item.value
        missing = [f"`{key}`" for key in REQUIRED if key not in self.items]
        if missing:
            message = f"the train block `{self.node.name}` needs {', '.join(missing)}"
            self.found.append(Diagnostic("E8021", message, self.node.name_span))

    def _key(self, key: str, read: Callable[[tree.Expr], Read]) -> Read | None:
        """What a key says, or None where it isn't given or wrong."""
        written = self.items.get(key)
        return None if written is None else self._attempt(lambda: read(written))

    def _attempt(self, read: Callable[[], Read]) -> Read | None:
        try:
            return read()
        except PreskError as error:
            self.found.extend(error.diagnostics)
            return None

    def _model(self, written: tree.Expr) -> tree.NamedType:
        match written:
            case tree.Name(span=span, name=name):
                return tree.NamedType(span, (name,), None)
            case tree.Field(span=span, base=tree.Name(name=base), name=name):
                return tree.NamedType(span, (base, name), None)
            case tree.Instance(span=span, base=base, arguments=arguments):
                return tree.NamedType(span, self._model(base).path, arguments)
            case _:
                hint = "`model = MiniGPT` or `model = Linear{3, 2}`"
                raise fail("E8022", "the model is a module", written.span, hint)

    def _module(self, model: tree.NamedType) -> ModuleOf:
        module = resolve(TypeScope(self.session, self.file, {}), model)
        if not isinstance(module, ModuleOf):
            raise fail("E8022", f"the model is a module, not {types.show(module)}", model.span)
        return module

    def _objective(self, module: ModuleOf | None, written: tree.Expr) -> tuple[FunctionValue, tuple[str, ...]]:
        """The objective, and the names of its metrics."""
        path = _path(written)
        declaration = None if path is None else find(self.file, path)
        if declaration is None or not isinstance(declaration.node, tree.Function):
            raise fail("E8023", "the objective is a declared function's name", written.span, OBJECTIVE_HINT)
        function = FunctionValue(declaration)
        signature = session_signature(self.session, function)
        kinds = [parameter.type for parameter in signature.parameters]
        fits = len(kinds) == 2 and isinstance(kinds[0], ModuleOf) and isinstance(kinds[1], RecordOf)
        if not fits or (module is not None and not _takes(kinds[0], module)):
            model = "a module" if module is None else f"the model {module.label}"
            message = f"`{declaration.name}` must take {model} and a batch, a record"
            raise fail("E8023", message, written.span, OBJECTIVE_HINT)
        result = signature.result
        if result is None:
            result = self.session.check_function(self.session.generic(function), written.span)
        return function, _metrics(result, declaration.name, written)

    def _optimizer(self, written: tree.Expr) -> tuple[Recipe, File]:
        name, arguments = split_call(written, "optimizer")
        library = self.file.imports.get(name) or open_library(self.session.files, name)
        if library is None:
            known = "the library has adamw, sgd and lion; one of your own is a file beside this one"
            hint = did_you_mean(name, ("adamw", "sgd", "lion")) or known
            raise fail("E8025", f"there is no optimizer `{name}`", written.span, hint)
        signature = self._step(library, name, written)
        own = {each.name: each.type for each in signature.parameters if each.name not in OPTIMIZER_OWN}
        numbers: dict[str, Constant] = {}
        words: dict[str, str | bool | tuple[str, ...]] = {}
        for argument in arguments:
            key = argument.name or ""
            if key not in own or key in numbers or key in words:
                hint = did_you_mean(key, own) or f"it takes {', '.join(own) or 'no keywords'}, each once"
                raise fail("E8025", f"`{name}` has no setting `{key or argument.span.text}`", argument.span, hint)
            if isinstance(argument.value, tree.BoolLiteral) and own[key] == types.BOOL:
                words[key] = argument.value.value
            else:
                numbers[key] = number(TypeScope(self.values, self.file, {}), argument.value).value
        for parameter in signature.parameters:
            if parameter.name in own and parameter.default is None and parameter.name not in {**numbers, **words}:
                raise fail("E8025", f"`{name}` needs its setting `{parameter.name}`", written.span)
        return Recipe(name, numbers, (), words), library

    def _step(self, library: File, name: str, written: tree.Expr) -> Signature:
        """The signature of an optimizer's `step`."""
        for required in ("init", "step"):
            found = library.declarations.get(required)
            if found is None or not isinstance(found.node, tree.Function):
                message = f"{library.name}.psk has no function `{required}`"
                raise fail("E8025", message, written.span, OPTIMIZER_HINT)
        signature = session_signature(self.session, FunctionValue(library.declarations["step"]))
        names = tuple(parameter.name for parameter in signature.parameters)
        kinds = [parameter.type for parameter in signature.parameters]
        trees = [kind for kind in kinds[:2] if isinstance(kind, TreeVariable)]
        fits = len(trees) == 2 and trees[0] == trees[1] and kinds[3:5] == [REAL, REAL]
        if names[:5] != OPTIMIZER_OWN or not fits or any(isinstance(kind, FunctionType) for kind in kinds):
            message = f"`{name}.step` must take {', '.join(OPTIMIZER_OWN)} first"
            raise fail("E8025", message, written.span, OPTIMIZER_HINT)
        return signature

    def _whole(self, key: str, written: tree.Expr) -> int:
        given = number(TypeScope(self.values, self.file, {}), written)
        value = in_range(given, WHOLE[key], key, "E8028", written.span)
        assert isinstance(value, Rational), "a whole number is a rational"
        return int(value.value)

    def _clip(self, written: tree.Expr) -> Constant:
        return in_range(
            number(TypeScope(self.values, self.file, {}), written), "positive", "clip", "E8028", written.span
        )


def _path(written: tree.Expr) -> tuple[str, ...] | None:
    """`loss` or `losses.mse` as a dotted name."""
    match written:
        case tree.Name(name=name):
            return (name,)
        case tree.Field(base=tree.Name(name=base), name=name):
            return (base, name)
        case _:
            return None


def _takes(parameter: Type | FunctionType | None, module: ModuleOf) -> bool:
    """Whether the model may be given for the objective's parameter."""
    if parameter is None or isinstance(parameter, FunctionType):
        return False
    solver = Solver()
    try:
        solver.match(parameter, module, "")
        solver.solve()
    except Mismatch:
        return False
    return True


def _metrics(result: Type, name: str, written: tree.Expr) -> tuple[str, ...]:
    match result:
        case TupleOf((first, RecordOf(fields))) if first == REAL and all(each == REAL for _, each in fields):
            return tuple(field for field, _ in fields)
        case _ if result == REAL:
            return ()
        case _:
            message = f"`{name}` must give a real or (real, record of reals), not {types.show(result)}"
            raise fail("E8023", message, written.span, OBJECTIVE_HINT)


def _last(written: tree.Expr) -> str:
    if isinstance(written, tree.Name) and written.name in ("drop", "keep"):
        return written.name
    raise fail("E8028", "`last` is `drop` or `keep`", written.span)


SHOWN_PATHS = 8
"""Parameters that a hint lists."""


def _freeze(module: ModuleOf | None, written: tree.Expr) -> tuple[str, ...]:
    patterns = string_list(written)
    if patterns is None:
        raise fail("E8028", "`freeze` is a list of strings", written.span, '`freeze = ["tok.*"]`')
    paths = [] if module is None else [".".join(path) for path, _ in types.leaves(module)]
    for pattern in patterns:
        if module is not None and not any(fnmatchcase(path, pattern) for path in paths):
            hint = did_you_mean(pattern, paths) or f"its parameters are {', '.join(paths[:SHOWN_PATHS])}"
            raise fail("E8028", f"no parameter of {module.label} is called `{pattern}`", written.span, hint)
    return patterns
