"""Codes E7xxx: realizations and plans."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E7001": Code(
        "an unknown realization or plan, or a part of one",
        "A realization is `f64`, `f32`, `bf16`, `f64+fma` or `f32+fma`, a plan `auto` or `default`. Nothing in either "
        "is ever passed over: an unknown name, key, type or value is refused by its name.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --realize f16",
    ),
}
