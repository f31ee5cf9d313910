"""Codes E3xxx: types and shapes."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E3001": Code(
        "a value of the wrong type",
        "An operand, argument or result is of another type than its place takes: a tensor where a record is "
        "needed, a bool where a real is. A nat is injected as a real by itself; a bool is not, since `where(m, 1, "
        "0)` says which numbers are meant.",
        "fn count(m: bool[n]) -> real { sum(m) }    # sum(where(m, 1, 0))",
    ),
    "E3002": Code(
        "wrong arguments",
        "A call has too many or too few arguments, a keyword that there isn't, one that is missing or of the wrong "
        "sort, or no new axes in brackets where a primitive makes some. `presk check --primitives` lists how each "
        "is called.",
        "fn f(x: real[n]) -> real { sum(x, axes = 0) }    # axis = 0",
    ),
    "E3003": Code(
        "axes that don't align",
        "The axes of two operands, or of a value and the type stated for it, don't fit each other: a name meets "
        "another name, sizes differ, a tensor would have one name twice, or it depends on how many axes `..` "
        "stands for. Nothing is stretched: an axis of size 1 meets an axis of size 1 only.",
        "fn f(x: real[batch, 3], b: real[4]) -> real[batch, 3] { x + b }",
    ),
    "E3004": Code(
        "an axis that isn't there",
        "An axis is meant by a name or position that the tensor doesn't have, or one is given twice. In `axis = …` "
        "a bare word is always an axis's name, never a variable.",
        "fn f(x: real[batch, seq: 8]) -> real[batch] { sum(x, axis = sequence) }    # axis = seq",
    ),
    "E3005": Code(
        "a number must be known",
        "A number that decides the shape of the program (how many values unstack gives, how often a loop runs, "
        "which branch an `if` takes) is not known here: it is a value of the run, or a dimension that isn't bound "
        "yet.",
        "fn f(x: real[s]) -> real { let (a, b) = unstack(x, axis = s); a - b }    # real[s: 2]",
    ),
    "E3006": Code(
        "a variable that does not follow from the arguments",
        "A dimension, a tree or `..` of a signature is found by matching the types of the arguments. It must occur in "
        "a parameter's type, and where it isn't alone there, the rest must tell it. A size that is the caller's choice "
        "is a parameter of its own: `n: nat`.",
        "fn f(x: real) -> real[n] { broadcast_to[n](x) }    # fn f(x: real, n: nat)",
    ),
    "E3007": Code(
        "a nat that may be too large",
        "A nat's bound must be certain to suffice where the nat is used: an index must stay below the size of the "
        "axis, an argument below the parameter's bound. `nat < A` plus `nat < B` is `nat < A + B - 1`, and a "
        "number n is `nat < n + 1`.",
        "fn f(x: real[t: 8], i: nat < 9) -> real { x[t = i] }    # nat < 8",
    ),
    "E3008": Code(
        "a nat without its bound",
        "A whole number of the run has a bound, `nat < N`: it is checked where it comes from, so that no look-up "
        "leaves its table. Without one, `n: nat` is a parameter that is known when the entry is bound, and may be "
        "used as a size; it stands alone, in no tensor, tuple or record.",
        "fn f(table: real[v, d], t: nat[n]) -> real[n, d] { embed(table, t) }    # nat[n] < v",
    ),
    "E3010": Code(
        "a draw for the leaves of a tree",
        "The body of a `map` has no shapes of its own, so nothing can be drawn in it: a draw's numbers belong to "
        "places in a tensor.",
        "fn noisy[P](p: P) -> P { map(p = p) { p + dropout(p, 0.5) } }",
    ),
    "E3011": Code(
        "a parameter without an initializer",
        "Each parameter of a module says what it begins as: `zeros`, `ones`, `constant(c)`, `normal(std = …)`, "
        "`uniform(lo = …, hi = …)`, or an expression of these.",
        "module Linear{I, O} { w: real[I, O] }",
    ),
    "E3012": Code(
        "an initializer with a shape",
        "An initializer fills the parameter it is written for, whose shape is known from its type.",
        "module Bias{N} { b: real[N] = zeros[N] }    # b: real[N] = zeros",
    ),
    "E3013": Code(
        "a tree that is too large",
        "A tuple, a record or a module's tree has at most 16 384 leaves, in trees nested at most 40 deep. Layers of "
        "one kind are stacked, `Block * L`, and count once.",
        "fn f(x: real) -> real {\n" + "  let x = (x, x)\n" * 15 + "  1\n}",
    ),
    "E3014": Code(
        "too many axes",
        "A tensor has at most 32 axes. Several may become one by `merge`.",
        "fn f() -> real { sum(zeros[" + ", ".join(["1"] * 33) + "]) }",
    ),
    "E3020": Code(
        "a number out of range",
        "A number goes past what its axis allows: a slice ends behind the axis, a window is longer than it, top_k "
        "asks for more elements than there are, or a maximum is taken of none; or it is outside the range of its "
        "argument, such as a stride of 0.",
        "fn f(x: real[t: 8]) -> real[t: 10] { slice(x, axis = t, start = 0, stop = 10) }",
    ),
}
