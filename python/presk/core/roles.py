"""What each primitive is to the partition into groups: the table `ROLES`, by name.

`core.groups` reads it; a test joins it with the table of primitives. Roles depend on the name alone, and whether a map
is a view or a value is computed at the element on the let (`keeps_order`, `core.groups`).
"""

from __future__ import annotations

from enum import Enum

from presk.core.nodes import Apply, Literal, Ref


class Role(Enum):
    """How a primitive's loops stand to its operands'."""

    ELEMENTWISE = "elementwise"
    """One element of each operand, found by alignment, makes one of the result."""
    MAP = "index map"
    """One element of the operand makes one of the result: the same value at another index, or none."""
    REDUCTION = "reduction"
    """A row makes one element."""
    ROW = "row primitive"
    """A row makes a row, by a reduction with elementwise work on both sides."""
    FREE = "constant"
    """No operands to read: computed at the element by whoever reads it."""
    ALONE = "alone"
    """A group of its own."""
    NEVER = "not in Core"
    """Binding replaces it."""


def _named(role: Role, names: str) -> dict[str, Role]:
    return dict.fromkeys(names.split(), role)


ROLES: dict[str, Role] = (
    _named(Role.ELEMENTWISE, "neg abs square sqrt rsqrt recip exp expm1 log log1p tanh sin cos erf erfc sigmoid")
    | _named(Role.ELEMENTWISE, "softplus relu gelu gelu_tanh silu sign floor add sub mul div pow maximum")
    | _named(Role.ELEMENTWISE, "minimum where gaussian gelu_slope gelu_tanh_slope silu_slope")
    | _named(Role.ELEMENTWISE, "eq ne lt le gt ge and or not inject")
    | _named(Role.MAP, "rename transpose slice split merge split_heads merge_heads broadcast_to one_hot flip windows")
    | _named(Role.MAP, "index stop_gradient full")
    | _named(Role.REDUCTION, "sum mean max min prod any all argmax argmin logsumexp cross_entropy")
    | _named(Role.ROW, "softmax log_softmax")
    | _named(Role.FREE, "positions causal_mask zeros ones eye")
    | _named(
        Role.ALONE, "dot matmul ein dot_vjp_l dot_vjp_r embed take gather scatter_add sort top_k cumsum total concat"
    )
    | _named(Role.ALONE, "stack unstack pad")
    | _named(Role.ALONE, "update_index update_slice normal uniform dropout_mask sample")
    | _named(Role.NEVER, "dropout constant")
)

LOGIC = frozenset("eq ne lt le gt ge and or not".split())
"""What over nats and constants is computed at the element by each reader."""

ORDER_KEPT = frozenset("rename stop_gradient split merge split_heads merge_heads".split())
"""Maps that always keep the row-major order of the elements."""

FIRST_AXIS = frozenset("slice index unstack".split())
"""What keeps it on the first axis."""


def keeps_order(apply: Apply, counters: frozenset[Ref]) -> bool:
    """Whether the result is a stretch of the operand's elements in their order, known before anything runs.

    An index at a run-time nat is one only where that nat is the counter of a loop around it (`counters`).
    """
    if apply.primitive not in ORDER_KEPT | FIRST_AXIS or not isinstance(apply.operands[0], Ref):
        return False
    if apply.primitive in ORDER_KEPT:
        return True
    known = (isinstance(each, Literal) or each in counters for each in apply.operands[1:])
    return dict(apply.attributes)["axis"] == 0 and all(known)
