"""Codes E5xxx: derivatives."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E5001": Code(
        "no derivative with respect to this",
        "Whole numbers and truths vary in steps, and what is known at binding does not vary at all: neither has a "
        "derivative. `wrt` chooses the arguments that are differentiated, counted from 0.",
        "fn look(t: nat[n] < 5, w: real[5]) -> real { sum(take(w, t, axis = 0)) }\n"
        "fn f(t: nat[n] < 5, w: real[5]) -> real[5] { grad(look)(t, w) }    # wrt = 1",
    ),
    "E5002": Code(
        "not something to differentiate",
        "`grad` and `value_and_grad` take a declared function, a parameter that is one, a module's tree (its `apply`), "
        "or what `grad` or `value_and_grad` made of one, with a result that is one real, or a real and a record that "
        "is carried along; `vjp` takes any result and a cotangent of its type. A primitive is wrapped in a function, "
        "and so is a vjp.",
        "fn f(x: real[n]) -> real[n] { x * x }\nfn g(x: real[n]) -> real[n] { grad(f)(x) }    # vjp(f)(x)(ones[n])",
    ),
    "E5003": Code(
        "derivatives of too high an order",
        "A derivative of a derivative, written so or through functions that take one, is several times as long as what "
        "it is of. Eight times over is the most.",
        "fn f(x: real) -> real { tanh(x) }\n"
        "fn second(x: real) -> real { grad(grad(f))(x) }\n"
        "fn fourth(x: real) -> real { grad(grad(second))(x) }\n"
        "fn sixth(x: real) -> real { grad(grad(fourth))(x) }\n"
        "fn ninth(x: real) -> real { grad(grad(grad(sixth)))(x) }",
    ),
}
