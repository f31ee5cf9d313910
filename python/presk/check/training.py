"""Train blocks, checked: their keys, the model, the objective's type, the optimizer's arguments, the rate, the data.

What a block says is kept as a `TrainBlock`, from which the training loop works. Codes E8020 to E8028.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from presk.check.calls import session_signature
from presk.check.checking import CheckSession
from presk.check.scope import File, open_library
from presk.check.session import Session
from presk.check.signature import Signature
from presk.check.typing import TypeScope, number, resolve
from presk.check.values import FunctionType, FunctionValue
from presk.shapes import constants, types
from presk.shapes.constants import Constant
from presk.shapes.types import REAL, ModuleOf, RecordOf, TupleOf, Type
from presk.syntax import tree
from presk.text.diagnostics import Diagnostic, PreskError, did_you_mean, fail

REQUIRED = ("model", "objective", "optimizer", "lr", "batch")
KEYS = (*REQUIRED, "data", "epochs", "clip", "seed", "last", "eval", "patience", "keep", "freeze")
WHOLE = {"batch": 1, "epochs": 1, "seed": 0, "eval": 1, "patience": 1, "keep": 1}
"""Keys that take a whole number, with the least allowed."""

RATES: dict[str, dict[str, bool]] = {
    "constant": {"peak": True, "warmup": False},
    "linear": {"peak": True, "warmup": False, "floor": False},
    "cosine": {"peak": True, "warmup": False, "floor": False},
}
"""Learning rates and their keywords; True: required."""

DATA: dict[str, dict[str, str]] = {
    "tokens": {"tokenizer": "word", "context": "number", "split": "number"},
    "csv": {"x": "names", "y": "names", "standardize": "flag", "split": "number"},
    "arrays": {"split": "number"},
    "synthetic": {"split": "number", "count": "number"},
}
"""Data sources and the kinds of their keywords."""

OPTIMIZER_OWN = ("p", "g", "s", "t", "lr")
"""Parameters of an optimizer's `step` that the loop gives."""


@dataclass(frozen=True)
class Call:
    """A named choice with its keywords: an optimizer, a rate or a data source. Positional texts are in `texts`."""

    name: str
    numbers: Mapping[str, Constant]
    texts: tuple[str, ...] = ()
    words: Mapping[str, str | bool | tuple[str, ...]] | None = None


@dataclass(frozen=True)
class TrainBlock:
    """A train block that checks.

    `settings` are the whole numbers, `clip` the gradient's norm, `freeze` path patterns.
    """

    name: str
    doc: str
    file: File
    model: tree.NamedType
    objective: str
    optimizer: Call
    rate: Call
    data: Call | None
    settings: Mapping[str, int]
    clip: Constant | None
    keep_last: bool
    freeze: tuple[str, ...]
    metrics: tuple[str, ...]


def check_trains(session: CheckSession) -> tuple[dict[str, TrainBlock], list[Diagnostic]]:
    """All train blocks of the main file that check, and what is wrong with the others."""
    blocks: dict[str, TrainBlock] = {}
    diagnostics: list[Diagnostic] = []
    for name, declaration in session.files.main.trains.items():
        if isinstance(declaration.node, tree.Train):
            try:
                blocks[name] = _check(session, declaration.file, declaration.node)
            except PreskError as error:
                diagnostics.extend(error.diagnostics)
    return blocks, diagnostics


def _check(session: CheckSession, file: File, node: tree.Train) -> TrainBlock:
    items: dict[str, tree.TrainItem] = {}
    for item in node.items:
        if item.key not in KEYS:
            hint = did_you_mean(item.key, KEYS) or f"the keys are {', '.join(KEYS)}"
            raise fail("E8020", f"a train block has no key `{item.key}`", item.key_span, hint)
        if item.key in items:
            raise fail("E8020", f"`{item.key}` is given twice", item.key_span)
        items[item.key] = item
    missing = [key for key in REQUIRED if key not in items]
    if missing:
        raise fail("E8021", f"the train block `{node.name}` needs `{missing[0]}`", node.name_span)
    model = _named_type(items["model"].value)
    module = resolve(_scope(session, file), model)
    if not isinstance(module, ModuleOf):
        raise fail("E8022", f"the model is a module, not {types.show(module)}", items["model"].value.span)
    objective, metrics = _objective(session, file, module, items["objective"].value)
    data = items.get("data")
    clip = items.get("clip")
    return TrainBlock(
        node.name,
        node.doc,
        file,
        model,
        objective,
        _optimizer(session, file, items["optimizer"].value),
        _rate(session, file, items["lr"].value),
        None if data is None else _data(session, file, data.value),
        {key: _whole(session, file, key, items[key].value) for key in WHOLE if key in items},
        None if clip is None else _positive(session, file, clip.value),
        _last(items.get("last")),
        _texts(items.get("freeze")),
        metrics,
    )


def _scope(session: Session, file: File) -> TypeScope:
    return TypeScope(session, file, {})


def _named_type(written: tree.Expr) -> tree.NamedType:
    match written:
        case tree.Name(span=span, name=name):
            return tree.NamedType(span, (name,), None)
        case tree.Field(span=span, base=tree.Name(name=base), name=name):
            return tree.NamedType(span, (base, name), None)
        case tree.Instance(span=span, base=base, arguments=arguments):
            return tree.NamedType(span, _named_type(base).path, arguments)
        case _:
            raise fail("E8022", "the model is a module", written.span, "`model = MiniGPT` or `model = Linear{3, 2}`")


def _objective(session: CheckSession, file: File, module: ModuleOf, written: tree.Expr) -> tuple[str, tuple[str, ...]]:
    hint = "`fn loss(m: Model, batch: {x: …, y: …}) -> real`, or `-> (real, {accuracy: real})`"
    declaration = file.declarations.get(written.name) if isinstance(written, tree.Name) else None
    if declaration is None or not isinstance(declaration.node, tree.Function):
        raise fail("E8023", "the objective is a declared function's name", written.span, hint)
    function = FunctionValue(declaration)
    signature = session_signature(session, function)
    kinds = [parameter.type for parameter in signature.parameters]
    fits = len(kinds) == 2 and isinstance(kinds[0], ModuleOf) and isinstance(kinds[1], RecordOf)
    if not fits or not isinstance(kinds[0], ModuleOf) or kinds[0].name != module.name:
        raise fail(
            "E8023",
            f"`{declaration.name}` must take the model {module.label} and a batch, a record",
            written.span,
            hint,
        )
    result = signature.result
    if result is None:
        result = session.check_function(session.generic(function), written.span)
    return declaration.name, _metrics(result, declaration.name, written, hint)


def _metrics(result: Type, name: str, written: tree.Expr, hint: str) -> tuple[str, ...]:
    match result:
        case TupleOf((first, RecordOf(fields))) if first == REAL and all(each == REAL for _, each in fields):
            return tuple(field for field, _ in fields)
        case _ if result == REAL:
            return ()
        case _:
            raise fail(
                "E8023", f"`{name}` must give a real or (real, record), not {types.show(result)}", written.span, hint
            )


def _split_call(written: tree.Expr, what: str) -> tuple[str, tuple[tree.Argument, ...]]:
    match written:
        case tree.Name(name=name):
            return name, ()
        case tree.Call(callee=tree.Name(name=name), arguments=arguments):
            return name, arguments
        case _:
            raise fail(
                "E8024", f"{what} is a name with keywords", written.span, f"such as `{what} = name(key = value)`"
            )


def _optimizer(session: CheckSession, file: File, written: tree.Expr) -> Call:
    name, arguments = _split_call(written, "optimizer")
    library = file.imports.get(name) or open_library(session.files, name)
    if library is None:
        raise fail(
            "E8025",
            f"there is no optimizer `{name}`",
            written.span,
            "std has adamw, sgd and lion; or a file of your own",
        )
    signature = _step_signature(session, library, name, written)
    known = {parameter.name for parameter in signature.parameters} - set(OPTIMIZER_OWN)
    numbers: dict[str, Constant] = {}
    for argument in arguments:
        if argument.name is None or argument.name not in known or argument.name in numbers:
            hint = did_you_mean(argument.name or "", known) or f"it takes {', '.join(sorted(known)) or 'no keywords'}"
            raise fail("E8025", f"`{name}` has no setting `{argument.name or argument.span.text}`", argument.span, hint)
        numbers[argument.name] = number(_scope(session, file), argument.value).value
    for parameter in signature.parameters:
        if parameter.name in known and parameter.default is None and parameter.name not in numbers:
            raise fail("E8025", f"`{name}` needs its setting `{parameter.name}`", written.span)
    return Call(name, numbers)


def _step_signature(session: CheckSession, library: File, name: str, written: tree.Expr) -> Signature:
    hint = "`fn init[P](p: P) -> S` and `fn step[P](p: P, g: P, s: S, t: real, lr: real, …) -> (P, S)`"
    for required in ("init", "step"):
        found = library.declarations.get(required)
        if found is None or not isinstance(found.node, tree.Function):
            raise fail("E8025", f"{name}.psk has no function `{required}`", written.span, hint)
    signature = session_signature(session, FunctionValue(library.declarations["step"]))
    names = tuple(parameter.name for parameter in signature.parameters)
    if names[:5] != OPTIMIZER_OWN or any(isinstance(p.type, FunctionType) for p in signature.parameters):
        raise fail("E8025", f"`{name}.step` must take {', '.join(OPTIMIZER_OWN)} first", written.span, hint)
    return signature


def _rate(session: CheckSession, file: File, written: tree.Expr) -> Call:
    if not isinstance(written, (tree.Call, tree.Name)) or (
        isinstance(written, tree.Name) and written.name not in RATES
    ):
        return Call("constant", {"peak": _positive(session, file, written)})
    name, arguments = _split_call(written, "lr")
    if name not in RATES:
        hint = did_you_mean(name, RATES) or f"there are {', '.join(RATES)}"
        raise fail("E8026", f"there is no learning rate `{name}`", written.span, hint)
    keywords = list(RATES[name])
    numbers: dict[str, Constant] = {}
    for place, argument in enumerate(arguments):
        key = argument.name or (keywords[place] if place < len(keywords) else "")
        if key not in keywords or key in numbers:
            raise fail("E8026", f"`{name}` takes {', '.join(keywords)}", argument.span)
        numbers[key] = number(_scope(session, file), argument.value).value
    for key, required in RATES[name].items():
        if required and key not in numbers:
            raise fail("E8026", f"`{name}` needs `{key}`", written.span)
    return Call(name, numbers)


def _data(session: CheckSession, file: File, written: tree.Expr) -> Call:
    name, arguments = _split_call(written, "data")
    if name not in DATA:
        hint = did_you_mean(name, DATA) or f"there are {', '.join(DATA)}"
        raise fail("E8027", f"there is no data source `{name}`", written.span, hint)
    texts: list[str] = []
    numbers: dict[str, Constant] = {}
    words: dict[str, str | bool | tuple[str, ...]] = {}
    for argument in arguments:
        if argument.name is None:
            texts.append(_text(argument.value, allow_name=name == "synthetic"))
            continue
        kind = DATA[name].get(argument.name)
        if kind is None or argument.name in numbers or argument.name in words:
            raise fail("E8027", f"`{name}` takes {', '.join(DATA[name])}", argument.span)
        if kind == "number":
            numbers[argument.name] = number(_scope(session, file), argument.value).value
        else:
            words[argument.name] = _word(argument.value, kind)
    if len(texts) != 1:
        raise fail("E8027", f"`{name}` takes one {'function' if name == 'synthetic' else 'path'}", written.span)
    return Call(name, numbers, tuple(texts), words)


def _text(written: tree.Expr, allow_name: bool = False) -> str:
    if isinstance(written, tree.StringLiteral):
        return written.value
    if allow_name and isinstance(written, tree.Name):
        return written.name
    raise fail("E8027", "a string is needed here", written.span)


def _word(written: tree.Expr, kind: str) -> str | bool | tuple[str, ...]:
    match written, kind:
        case tree.BoolLiteral(value=value), "flag":
            return value
        case (tree.Name(name=name), "word"):
            return name
        case (tree.StringLiteral(value=value), "word" | "names"):
            return value
        case tree.ListLiteral(items=items), "names":
            return tuple(_text(item) for item in items)
        case _:
            wanted = {"flag": "true or false", "word": "a name or a string", "names": "a string or a list of strings"}[
                kind
            ]
            raise fail("E8027", f"{wanted} is needed here", written.span)


def _whole(session: CheckSession, file: File, key: str, written: tree.Expr) -> int:
    value = number(_scope(session.values, file), written)
    whole = value.value if value.nat else None
    if not isinstance(whole, constants.Rational) or whole.value < WHOLE[key]:
        raise fail("E8028", f"`{key}` is a whole number from {WHOLE[key]}", written.span)
    return int(whole.value)


def _positive(session: CheckSession, file: File, written: tree.Expr) -> Constant:
    value = number(_scope(session.values, file), written).value
    if isinstance(value, constants.Rational) and value.value <= 0:
        raise fail("E8028", f"a positive number is needed here, not {constants.show(value)}", written.span)
    return value


def _last(item: tree.TrainItem | None) -> bool:
    if item is None:
        return False
    if isinstance(item.value, tree.Name) and item.value.name in ("drop", "keep"):
        return item.value.name == "keep"
    raise fail("E8028", "`last` is `drop` or `keep`", item.value.span)


def _texts(item: tree.TrainItem | None) -> tuple[str, ...]:
    if item is None:
        return ()
    if isinstance(item.value, tree.ListLiteral):
        return tuple(_text(each) for each in item.value.items)
    raise fail("E8028", f"`{item.key}` is a list of strings", item.value.span, '`freeze = ["tok.*"]`')
