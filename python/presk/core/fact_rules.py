"""What each primitive makes of what is known of its operands (`facts`). Called by `marks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from presk.core import facts
from presk.core.facts import ANY, NAT, NUMBER, ONE, SOFT, UNKNOWN, ZERO, Fact, joined, when
from presk.core.nodes import Apply, Literal, Operand
from presk.primitives.table import Attribute
from presk.shapes import constants
from presk.shapes.constants import Constant
from presk.shapes.types import Tensor, Type

MODERATE = 10**12
"""What is no further from 1 than this has a bound, and is far from 0."""


@dataclass(frozen=True, slots=True)
class Known:
    """A primitive at hand: what is known of its operands, those themselves, its attributes and the types."""

    facts: tuple[Fact, ...]
    apply: Apply
    attributes: Mapping[str, Attribute]
    types: tuple[Type, ...]
    result: Type

    @property
    def x(self) -> Fact:
        """Operand 0's."""
        return self.facts[0]

    @property
    def y(self) -> Fact:
        """Operand 1's."""
        return self.facts[1]

    def size(self, number: int | None = None) -> int:
        """The number of elements of an operand, or of the result."""
        found = self.result if number is None else self.types[number]
        return prod(each.size.whole or 0 for each in found.explicit) if isinstance(found, Tensor) else 1

    @property
    def folded(self) -> int:
        """How many elements of operand 0 make one of the result: 0, or at least one."""
        return min(self.size(0), 1) if self.size() else 1

    def literal(self, number: int) -> Fraction | None:
        """The rational that an operand is."""
        return rational_of(self.apply.operands[number])


Rule = Callable[[Known], Fact]


def rational_of(operand: Operand) -> Fraction | None:
    """The rational that an operand is, None of anything else."""
    value = operand.value if isinstance(operand, Literal) else None
    return value.value if isinstance(value, constants.Rational) else None


def constant_fact(value: Constant) -> Fact:
    """What is known of an exact constant."""
    match value:
        case constants.Rational(number):
            is_moderate = not number or 1 <= abs(number) * MODERATE <= MODERATE**2
            return Fact(number < 0, number == 0, number > 0, not is_moderate, not is_moderate)
        case constants.Apply(function, arguments) if function in FUNCTIONS and len(arguments) == 1:
            return FUNCTIONS[function](constant_fact(arguments[0]))
        case constants.Apply(function, arguments) if function in OF_TWO and len(arguments) == 2:
            return OF_TWO[function](constant_fact(arguments[0]), constant_fact(arguments[1]))
        case constants.Apply("pi", (argument,)):
            return constant_fact(argument)
        case _:
            return NUMBER


# Functions of a number


def _exp(x: Fact) -> Fact:
    far = x.positive and (x.large or bool(x.infinite))
    grown = (x.infinite | when(x.large)) if x.positive else 0
    return Fact(False, False, True, (x.negative and x.large) or bool(x.infinite), far, grown, x.nan)


def _expm1(x: Fact) -> Fact:
    above = _exp(x)
    return Fact(x.negative, x.zero, x.positive, x.tiny, above.large, above.infinite, x.nan)


def _log(x: Fact) -> Fact:
    return replace(NUMBER, large=x.large or x.near, infinite=x.infinite | when(x.near), nan=x.nan | when(x.negative))


def _log1p(x: Fact) -> Fact:
    return replace(x, infinite=x.infinite | when(x.negative), nan=x.nan | when(x.negative))


def _within(x: Fact) -> Fact:
    """tanh, erf: between −1 and 1."""
    return replace(x, large=False, infinite=0)


def _wave(x: Fact) -> Fact:
    return replace(NUMBER, large=False, nan=x.nan | x.infinite)


def _sigmoid(x: Fact) -> Fact:
    return Fact(False, False, True, (x.negative and x.large) or bool(x.infinite), False, 0, x.nan)


def _softplus(x: Fact) -> Fact:
    return replace(_sigmoid(x), large=x.large, infinite=x.infinite)


def _relu(x: Fact) -> Fact:
    return replace(x, negative=False, zero=x.zero or x.negative)


def _gated(x: Fact) -> Fact:
    """silu, gelu: x times what is between 0 and 1, which is 0 at −∞."""
    return replace(x, tiny=True)


def _tail(x: Fact) -> Fact:
    """erfc, exp(−x²): from 0 to 2, and as near to 0 as can be."""
    return Fact(False, False, True, True, False, 0, x.nan)


def _bounded_slope(x: Fact) -> Fact:
    """The slopes of gelu and its kind: from −1 to 2, whatever x is."""
    return Fact(True, True, True, True, False, 0, x.nan)


def _sign(x: Fact) -> Fact:
    return replace(x, tiny=False, large=False, infinite=0)


def _floor(x: Fact) -> Fact:
    return replace(x, zero=x.zero or x.positive, tiny=False)


def _abs(x: Fact) -> Fact:
    return replace(x, negative=False, positive=x.negative or x.positive)


FUNCTIONS: dict[str, Callable[[Fact], Fact]] = {
    "neg": facts.negated,
    "abs": _abs,
    "square": facts.squared,
    "sqrt": facts.rooted,
    "rsqrt": lambda x: facts.inverted(facts.rooted(x)),
    "recip": facts.inverted,
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "tanh": _within,
    "erf": _within,
    "erfc": _tail,
    "gaussian": _tail,
    "gelu_slope": _bounded_slope,
    "gelu_tanh_slope": _bounded_slope,
    "silu_slope": _bounded_slope,
    "sin": _wave,
    "cos": _wave,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "relu": _relu,
    "gelu": _gated,
    "gelu_tanh": _gated,
    "silu": _gated,
    "sign": _sign,
    "floor": _floor,
}

# Functions of two


def _largest(x: Fact, y: Fact) -> Fact:
    apart = any(not each.negative and not each.near for each in (x, y))
    return Fact(
        x.negative and y.negative,
        not apart and ((x.zero and (y.zero or y.negative)) or (y.zero and x.negative)),
        x.positive or y.positive,
        not apart and (x.tiny or y.tiny),
        x.large or y.large,
        x.infinite | y.infinite,
        x.nan | y.nan,
    )


def _least(x: Fact, y: Fact) -> Fact:
    return facts.negated(_largest(facts.negated(x), facts.negated(y)))


OF_TWO: dict[str, Callable[[Fact, Fact], Fact]] = {
    "add": facts.added,
    "sub": lambda x, y: facts.added(x, facts.negated(y)),
    "mul": facts.multiplied,
    "div": facts.divided,
    "maximum": _largest,
    "minimum": _least,
}


def _power(known: Known) -> Fact:
    exponent = known.literal(1)
    if exponent is None:
        return UNKNOWN
    if exponent == 0:
        return ONE
    found = _raised(known.x, abs(exponent))
    return facts.inverted(found) if exponent < 0 else found


def _raised(x: Fact, exponent: Fraction) -> Fact:
    """x to a positive power."""
    overflows = exponent > 1 and x.large
    found = replace(x, infinite=x.infinite | when(overflows, SOFT if exponent <= 4 else ANY))
    if exponent.denominator > 1:
        return replace(found, negative=False, nan=x.nan | when(x.negative))
    return _abs(found) if exponent % 2 == 0 else found


# Rows and contractions


def _product_of_row(known: Known) -> Fact:
    x = known.x
    return replace(NUMBER, negative=x.negative, zero=x.zero, infinite=ANY, nan=x.nan | when(x.near) | x.infinite)


def _extreme(known: Known) -> Fact:
    return known.x if known.folded else UNKNOWN


def _logsumexp(known: Known) -> Fact:
    x = known.x
    return replace(NUMBER, infinite=x.infinite, nan=x.nan | x.infinite) if known.folded else UNKNOWN


def _softmax(known: Known) -> Fact:
    x = known.x
    return Fact(False, len(known.facts) > 1, True, True, False, 0, x.nan | x.infinite)


def _log_softmax(known: Known) -> Fact:
    x = known.x
    return replace(NUMBER, infinite=x.infinite | when(len(known.facts) > 1), nan=x.nan | x.infinite)


def _cross_entropy(known: Known) -> Fact:
    x = known.x
    return replace(NUMBER, infinite=x.infinite | when(len(known.facts) > 2), nan=x.nan | x.infinite)


def _contraction(known: Known) -> Fact:
    return facts.contracted(known.x, known.y, min(known.size(0), known.size(1), 1))


# Where elements move


def _one_of_all(known: Known) -> Fact:
    return joined(*known.facts)


def _pad(known: Known) -> Fact:
    value = known.attributes.get("value")
    is_constant = isinstance(value, (constants.Rational, constants.Symbolic, constants.Apply))
    return joined(known.x, constant_fact(value) if is_constant else NUMBER)


def _scatter(known: Known) -> Fact:
    return facts.summed(joined(known.facts[0], known.facts[2], ZERO), 1)


def _dropout(known: Known) -> Fact:
    share = known.literal(1)
    kept = share is not None and share < 1
    x = known.x
    return joined(ZERO, replace(x, infinite=x.infinite | when(not kept), nan=x.nan | when(not kept)))


def _dropout_mask(known: Known) -> Fact:
    share = known.literal(0)
    return replace(NAT, infinite=when(share is None or share >= 1))


def _constant(known: Known) -> Fact:
    value = known.attributes.get("c")
    is_constant = isinstance(value, (constants.Rational, constants.Symbolic, constants.Apply))
    return constant_fact(value) if is_constant else NUMBER


SAME = (
    "split merge transpose rename slice flip split_heads merge_heads broadcast_to windows unstack index stop_gradient "
    "full embed take gather sort top_k inject"
).split()
"""What gives elements of operand 0."""

TRUTHS = "eq ne lt le gt ge and or not any all causal_mask".split()

RULES: dict[str, Rule] = {
    **{name: (lambda known, f=function: f(known.x)) for name, function in FUNCTIONS.items()},
    **{name: (lambda known, f=function: f(known.x, known.y)) for name, function in OF_TWO.items()},
    **dict.fromkeys(SAME, lambda known: known.x),
    **dict.fromkeys(TRUTHS, lambda known: NAT),
    **dict.fromkeys(("argmax", "argmin", "one_hot", "positions", "eye", "sample"), lambda known: NAT),
    **dict.fromkeys(("normal", "uniform"), lambda known: NUMBER),
    **dict.fromkeys(("dot", "matmul", "ein", "dot_vjp_l", "dot_vjp_r"), _contraction),
    **dict.fromkeys(("concat", "stack"), _one_of_all),
    **dict.fromkeys(("update_index", "update_slice"), lambda known: joined(known.x, known.y)),
    **dict.fromkeys(("max", "min"), _extreme),
    **dict.fromkeys(("sum", "mean", "cumsum", "total"), lambda known: facts.summed(known.x, known.folded)),
    "pow": _power,
    "where": lambda known: joined(known.facts[1], known.facts[2]),
    "prod": _product_of_row,
    "logsumexp": _logsumexp,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "cross_entropy": _cross_entropy,
    "pad": _pad,
    "scatter_add": _scatter,
    "dropout": _dropout,
    "dropout_mask": _dropout_mask,
    "constant": _constant,
    "zeros": lambda known: ZERO,
    "ones": lambda known: ONE,
}
"""By the primitive's name; nothing is known of what another gives."""


def fact_of(known: Known) -> Fact:
    """What is known of a primitive's value, of each real component where it is a tuple."""
    rule = RULES.get(known.apply.primitive)
    return UNKNOWN if rule is None else rule(known)


def facts_of(operands: Sequence[Fact]) -> Fact:
    """Of a tree: any of its leaves."""
    return joined(*operands) if operands else NUMBER
