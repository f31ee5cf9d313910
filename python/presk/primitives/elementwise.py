"""Elementwise primitives: one operand, two, comparisons, logic and `where`. Operands align (`shapes.align`)."""

from __future__ import annotations

from presk.primitives.fitting import bound_of, joined_bound, on_tensors
from presk.primitives.table import Attributes, Kind, Operand, Primitive
from presk.shapes.align import align
from presk.shapes.poly import Poly, number
from presk.shapes.types import Tensor

FAMILY = "elementwise"

UNARY_DOCS = {
    "neg": "−x.",
    "abs": "The absolute value; its derivative at 0 is 0.",
    "square": "x·x.",
    "sqrt": "The square root; undefined for x < 0.",
    "rsqrt": "1 / √x; undefined for x ≤ 0.",
    "recip": "1 / x; undefined for x = 0.",
    "exp": "The exponential.",
    "expm1": "exp(x) − 1.",
    "log": "The natural logarithm; undefined for x ≤ 0.",
    "log1p": "log(1 + x); undefined for x ≤ −1.",
    "tanh": "The hyperbolic tangent.",
    "sin": "The sine.",
    "cos": "The cosine.",
    "erf": "The error function.",
    "erfc": "1 less the error function, without cancellation.",
    "sigmoid": "1 / (1 + exp(−x)), without overflow.",
    "softplus": "log(1 + exp(x)), without overflow.",
    "relu": "maximum(x, 0); its derivative at 0 is 0.",
    "gelu": "x·Φ(x), exactly: x·(1 + erf(x / √2)) / 2.",
    "gelu_tanh": "The approximation of gelu by tanh: x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) / 2.",
    "silu": "x·sigmoid(x).",
    "sign": "−1, 0 or 1; its derivative is 0.",
    "floor": "The largest whole number not above x, as a real; its derivative is 0.",
}

INTERNAL_DOCS = {
    "gaussian": "exp(−x²), in derivatives.",
    "gelu_slope": "The derivative of gelu: Φ(x) + x·φ(x).",
    "silu_slope": "The derivative of silu.",
    "gelu_tanh_slope": "The derivative of gelu_tanh.",
}

REAL_BINARY_DOCS = {
    "sub": "x − y.",
    "div": "x / y; undefined for y = 0.",
    "pow": "x to the power y. A whole y takes any x (0 only if y ≥ 0), any other y takes x > 0, or x = 0 where y > 0.",
    "maximum": "The larger of the two; equals share the derivative in halves.",
    "minimum": "The smaller of the two; equals share the derivative in halves.",
}

COMPARISON_DOCS = {
    "eq": "x = y.",
    "ne": "x ≠ y.",
    "lt": "x < y.",
    "le": "x ≤ y.",
    "gt": "x > y.",
    "ge": "x ≥ y.",
}


def _aligned(kind: str, operands: tuple[Tensor, ...], bound: Poly | None = None) -> Tensor:
    return Tensor(kind, align([operand.axes for operand in operands]).axes, bound)


def real_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Reals to reals."""
    return _aligned("real", operands)


def bool_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Anything aligned to booleans."""
    return _aligned("bool", operands)


def add_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """`nat < A` plus `nat < B` is `nat < A + B − 1`."""
    left, right = operands
    if left.kind != "nat":
        return _aligned("real", operands)
    return _aligned("nat", operands, bound_of(left) + bound_of(right) - number(1))


def mul_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """`nat < A` times `nat < B` is `nat < (A − 1)(B − 1) + 1`."""
    left, right = operands
    if left.kind != "nat":
        return _aligned("real", operands)
    one = number(1)
    return _aligned("nat", operands, (bound_of(left) - one) * (bound_of(right) - one) + one)


def where_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Both branches are of one kind; of nats the result has the larger bound."""
    left, right = operands[1:]
    bound = joined_bound([bound_of(left), bound_of(right)]) if left.kind == "nat" else None
    return _aligned(left.kind, operands, bound)


def inject_rule(operands: tuple[Tensor, ...], attributes: Attributes) -> Tensor:
    """Nats to reals."""
    return _aligned("real", operands)


def _two(kind: Kind) -> tuple[Operand, Operand]:
    return Operand("x", kind), Operand("y", kind)


def _rows() -> list[Primitive]:
    real, boolean = on_tensors(real_rule), on_tensors(bool_rule)
    rows = [Primitive(name, FAMILY, (Operand("x"),), real, doc) for name, doc in UNARY_DOCS.items()]
    rows += [Primitive(name, FAMILY, (Operand("x"),), real, doc, internal=True) for name, doc in INTERNAL_DOCS.items()]
    rows += [
        Primitive("add", FAMILY, _two("number"), on_tensors(add_rule), "x + y; nats give nats below A + B − 1."),
        Primitive(
            "mul",
            FAMILY,
            _two("number"),
            on_tensors(mul_rule),
            "x·y; nats give nats below (A − 1)(B − 1) + 1.",
            product=True,
        ),
    ]
    rows += [
        Primitive(name, FAMILY, _two("real"), real, doc, product=name == "div")
        for name, doc in REAL_BINARY_DOCS.items()
    ]
    rows += [Primitive(name, FAMILY, _two("number"), boolean, doc) for name, doc in COMPARISON_DOCS.items()]
    rows += [
        Primitive("and", FAMILY, _two("bool"), boolean, "Both."),
        Primitive("or", FAMILY, _two("bool"), boolean, "At least one."),
        Primitive("not", FAMILY, (Operand("x", "bool"),), boolean, "The opposite."),
        Primitive(
            "where",
            FAMILY,
            (Operand("mask", "bool"), Operand("a", "alike"), Operand("b", "alike")),
            on_tensors(where_rule),
            "a where the mask is true, else b; it doesn't depend on the branch it refuses. Both are of one kind.",
        ),
        Primitive(
            "inject",
            FAMILY,
            (Operand("n", "nat"),),
            on_tensors(inject_rule),
            "Nats as reals, where they are passed on as such: to a call, in a tree, as a loop's state, as a result.",
            internal=True,
        ),
    ]
    return rows


ROWS = _rows()
