"""The table of derivatives by the primitive's name, and the primitives that have none, each with its reason.

A test joins both with the table of primitives.
"""

from __future__ import annotations

from collections.abc import Callable

from presk.core.vjp.pullback import Pullback
from presk.core.vjp.rules import contractions, elementwise, gathers, layout, reductions, rows

Rule = Callable[[Pullback], None]

RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **reductions.RULES,
    **rows.RULES,
    **contractions.RULES,
    **gathers.RULES,
    **layout.RULES,
}

WITHOUT: dict[str, str] = {
    **dict.fromkeys(("sign", "floor"), "its derivative is 0"),
    **dict.fromkeys("eq ne lt le gt ge and or not any all".split(), "it gives bool"),
    **dict.fromkeys(("argmax", "argmin", "sample", "positions"), "it gives nats"),
    **dict.fromkeys(("zeros", "ones", "eye", "causal_mask"), "it is a constant"),
    **dict.fromkeys(("one_hot", "inject"), "its operand is a nat"),
    **dict.fromkeys(("normal", "uniform"), "a draw of constants"),
    "dropout_mask": "a draw is a constant; its probability decides what is dropped, which is no smooth dependence",
    "stop_gradient": "derivatives take it as a constant",
    **dict.fromkeys(("dropout", "constant"), "binding replaces it"),
}
