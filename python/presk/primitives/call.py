"""A call of a primitive: operands checked and injected, attributes brought to normal form, the result's type.

The checker calls `normalize` on what a program wrote, then `result_type`; the verifier and the reader of PSK-Core call
`injected` and `result_type` on attributes that are in normal form already. Every refusal is a Misfit or a Misaligned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from presk.primitives.axes import AxisSpec, resolve_axes, resolve_axis, resolve_order
from presk.primitives.contractions import own_labels
from presk.primitives.fitting import as_tensor
from presk.primitives.new_axes import settle
from presk.primitives.signature import show_signature
from presk.primitives.table import Attribute, Attributes, Keyword, Misfit, Operand, Primitive
from presk.shapes.constants import Apply, Rational, Symbolic
from presk.shapes.types import Axis, Run, Shape, Tensor, Type, show
from presk.text.diagnostics import did_you_mean

Given = Attribute | tuple[AxisSpec, ...] | tuple[tuple[str, ...] | None, ...]
"""A keyword's value as a program writes it: an axis may be a name, a label list of `ein` may be left out (None)."""

BRACKETS = ("new", "out", "labels")
"""Attributes that stand in brackets; `draw` is a draw's number. All others are keywords."""


def operands_of(primitive: Primitive, count: int) -> tuple[Operand, ...]:
    """The row's operand for each of `count` given. Raises Misfit (E3002) where there are too many or too few."""
    rows = primitive.operands
    if rows and rows[-1].variadic and count >= len(rows):
        return (*rows, *(rows[-1:] * (count - len(rows))))
    needed = sum(1 for row in rows if not row.optional and row.default is None)
    if needed <= count <= len(rows):
        return rows[:count]
    wanted = str(needed) if needed == len(rows) else f"{needed} to {len(rows)}"
    if rows and rows[-1].variadic:
        wanted = "at least 1"
    plural = "" if wanted.endswith("1") else "s"
    raise Misfit("E3002", f"{primitive.name} takes {wanted} operand{plural}, not {count}", show_signature(primitive))


def injected(primitive: Primitive, operands: Sequence[Type]) -> tuple[Type, ...]:
    """The operands' types after nats are injected where a real is taken. Raises Misfit: E3001, E3002."""
    rows = operands_of(primitive, len(operands))
    common: dict[str, str] = {}
    out: list[Type] = []
    for row, operand in zip(rows, operands, strict=True):
        wanted = row.kind
        if wanted in ("number", "alike"):
            if wanted not in common:
                common[wanted] = _common_kind(primitive, rows, operands, wanted)
            wanted = common[wanted]
        out.append(operand if wanted == "tree" else _as_kind(primitive, row, operand, wanted))
    return tuple(out)


def normal_result(primitive: Primitive, operands: tuple[Type, ...], attributes: Attributes) -> Type:
    """`result_type` of operands that `injected` gave and attributes that `normalize` gave."""
    return primitive.rule(operands, attributes)


def result_type(primitive: Primitive, operands: Sequence[Type], attributes: Attributes) -> Type:
    """The type of the call's result. Nats in real places count as injected. Raises Misfit or Misaligned."""
    for name, value in attributes.items():
        _require_known(primitive, name)
        keyword = next((each for each in primitive.keywords if each.name == name), None)
        if keyword is not None and keyword.kind == "word":
            _require_word(keyword, value)
    missing = [keyword.name for keyword in primitive.keywords if keyword.name not in attributes]
    if missing:
        raise Misfit("E3002", f"{primitive.name} needs the attribute `{missing[0]}`")
    return primitive.rule(injected(primitive, operands), attributes)


def normalize(primitive: Primitive, operands: Sequence[Type], given: Mapping[str, Given]) -> dict[str, Attribute]:
    """Attributes in normal form, in the table's order: defaults filled in, axes resolved, open sizes settled.

    `given` holds keywords as the program writes them, and brackets: `new`, a tuple of axes, those without a size of
    size `new_axes.OPEN`; `out` and `labels`. Raises Misfit: E3002 for unknown or missing keywords, E3003 and E3004
    for axes.
    """
    for name in given:
        _require_known(primitive, name)
    normal: dict[str, Attribute] = {}
    for keyword in primitive.keywords:
        if keyword.name not in given and keyword.required:
            raise Misfit("E3002", f"{primitive.name} needs `{keyword.name}`", show_signature(primitive))
        value = given.get(keyword.name, keyword.default)
        try:
            normal[keyword.name] = _normal_value(primitive, keyword, value, operands)
        except Misfit as error:
            error.about = error.about or keyword.name
            raise
    return {**_normal_brackets(primitive, operands, given, normal), **normal}


def _normal_brackets(
    primitive: Primitive, operands: Sequence[Type], given: Mapping[str, Given], keywords: Attributes
) -> dict[str, Attribute]:
    if primitive.new_axes == "none":
        return {}
    tensors = [as_tensor(operand) for operand in operands]
    if primitive.name == "ein":
        if "out" not in given:
            raise Misfit("E3002", "ein needs the axes that stay in brackets", "such as `ein[i, j](a, b)`")
        return {"out": _rows_of_names(given["out"], "out"), "labels": _labels(tensors, given.get("labels"))}
    value = given.get("new")
    if value is None and primitive.new_axes != "labels":
        raise Misfit("E3002", f"{primitive.name} needs new axes in brackets", show_signature(primitive))
    new: Shape = tuple(axis for axis in value if isinstance(axis, (Axis, Run))) if isinstance(value, tuple) else ()
    return {"new": settle(primitive.name, tensors, keywords, new)}


def _rows_of_names(value: Given, what: str) -> tuple[tuple[str, ...], ...]:
    rows = tuple(row for row in value if isinstance(row, tuple)) if isinstance(value, tuple) else ()
    if not rows:
        raise Misfit("E3002", f"`{what}` must hold a list of names")
    return rows


def _labels(operands: Sequence[Tensor], value: Given) -> tuple[tuple[str, ...], ...]:
    given = value if isinstance(value, tuple) else ()
    labels: list[tuple[str, ...]] = []
    for at, operand in enumerate(operands):
        row = given[at] if at < len(given) else None
        labels.append(row if isinstance(row, tuple) else own_labels(operand))
    return tuple(labels)


def _normal_value(primitive: Primitive, keyword: Keyword, value: Given, operands: Sequence[Type]) -> Attribute:
    match keyword.kind:
        case "axis" | "axes" | "order":
            tensor = _operand_of(primitive, keyword, operands)
            return _normal_axes(keyword, value, tensor)
        case "word":
            return _require_word(keyword, value)
        case "nat" | "int" | "real":
            wanted = (Rational, Symbolic, Apply) if keyword.kind == "real" else (int, Rational, Symbolic, Apply)
            if isinstance(value, bool) or not isinstance(value, wanted):
                raise Misfit("E3002", f"`{keyword.name}` of {primitive.name} must be a {_VALUE_NAMES[keyword.kind]}")
            return _as_int(value) if keyword.kind != "real" else value
        case "names":
            return _rows_of_names(value, keyword.name) if value else ()


def _normal_axes(keyword: Keyword, value: Given, tensor: Tensor) -> Attribute:
    if value is None and keyword.kind == "axes":
        return None
    specs = value if isinstance(value, tuple) else (value,)
    wanted: list[AxisSpec] = []
    for spec in specs:
        if isinstance(spec, bool) or not isinstance(spec, (str, int)):
            raise Misfit("E3002", f"`{keyword.name}` must be an axis's name or position")
        wanted.append(spec)
    if keyword.kind == "axes":
        return resolve_axes(tensor, wanted)
    if keyword.kind == "axis":
        if len(wanted) != 1:
            raise Misfit("E3002", f"`{keyword.name}` takes one axis here, not {len(wanted)}")
        return resolve_axis(tensor, wanted[0])
    order = resolve_order(tensor, wanted)
    keeps_run = keyword.name == "order" and tensor.run is not None
    return (0, *order) if keeps_run else order


def _as_int(value: Given) -> Attribute:
    """A nat or int constant that is a number already, as an int."""
    if isinstance(value, Rational) and value.value.denominator == 1:
        return int(value.value)
    if isinstance(value, (int, Rational, Symbolic, Apply)):
        return value
    return None


def _operand_of(primitive: Primitive, keyword: Keyword, operands: Sequence[Type]) -> Tensor:
    if keyword.of >= len(operands):
        operands_of(primitive, len(operands))
        raise Misfit("E3002", f"`{keyword.name}` of {primitive.name} needs an operand")
    return as_tensor(operands[keyword.of])


def _require_known(primitive: Primitive, name: str) -> None:
    keywords = [keyword.name for keyword in primitive.keywords]
    brackets = ("out", "labels") if primitive.name == "ein" else ("new",) if primitive.new_axes != "none" else ()
    marks = (primitive.draws and name == "draw") or (primitive.product and name == "cotangent")
    if name in keywords or name in brackets or marks:
        return
    if name in BRACKETS:
        raise Misfit("E3002", f"{primitive.name} takes no axes in brackets")
    known = keywords + [row.name for row in primitive.operands]
    raise Misfit("E3002", f"{primitive.name} has no keyword `{name}`", did_you_mean(name, known))


def _require_word(keyword: Keyword, value: object) -> str:
    if isinstance(value, str) and value in keyword.words:
        return value
    raise Misfit("E3002", f"`{keyword.name}` must be one of {', '.join(keyword.words)}")


def _common_kind(primitive: Primitive, rows: Sequence[Operand], operands: Sequence[Type], wanted: str) -> str:
    """What the `number` or `alike` operands of a call all become: nat, real or bool."""
    kinds = {as_tensor(each).kind for row, each in zip(rows, operands, strict=True) if row.kind == wanted}
    if wanted == "alike" and "bool" in kinds:
        if len(kinds) > 1:
            raise Misfit(
                "E3001",
                f"{primitive.name} takes operands of one kind, not bool and {max(kinds)}",
                "`where(m, 1, 0)` makes numbers",
            )
        return "bool"
    return "nat" if kinds == {"nat"} else "real"


def _as_kind(primitive: Primitive, row: Operand, operand: Type, wanted: str) -> Tensor:
    tensor = as_tensor(operand)
    what = f"`{row.name}` of {primitive.name}"
    if row.scalar and tensor.axes:
        raise Misfit("E3001", f"{what} must be a scalar, not {show(tensor)}", about=row.name)
    if wanted in ("any", tensor.kind):
        return tensor
    if wanted == "real" and tensor.kind == "nat":
        return Tensor("real", tensor.axes)
    hints = {
        ("real", "bool"): "`where(m, 1, 0)` makes numbers of a mask",
        ("nat", "real"): "an index must be a nat with a bound; argmax, positions and inputs give such",
        ("bool", "real"): "a comparison gives bool",
        ("bool", "nat"): "a comparison gives bool",
    }
    raise Misfit("E3001", f"{what} must be {wanted}, not {show(tensor)}", hints.get((wanted, tensor.kind)), row.name)


_VALUE_NAMES = {"nat": "whole number known when the entry is bound", "int": "whole number", "real": "real constant"}
