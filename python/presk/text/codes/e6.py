"""Codes E6xxx: values at run time."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E6001": Code(
        "an argument of another shape or kind",
        "An argument has exactly its parameter's axes: nothing is stretched or flattened. A real tensor takes floats, "
        "integers up to 2**53 and exact numbers, a nat tensor integers, a bool tensor truth values; complex numbers "
        "are refused, and so is whatever would have to be rounded or guessed.",
        "f(params, np.zeros((4, 2)))    # f takes x: real[batch, 3]",
    ),
    "E6002": Code(
        "a nat outside its bound",
        "A parameter of type `nat < N` takes whole numbers from 0 to N - 1. Every one is checked before anything "
        "runs, so that no look-up ever leaves its table; the message names the axis, the position and the value.",
        "gpt(params, [[3, 64]])    # tokens are below 64",
    ),
    "E6003": Code(
        "a result depends on an undefined value",
        "A division by zero, the logarithm of a number that isn't positive, or another value outside a function's "
        "domain, has no meaning over the reals. It may arise anywhere, and is an error of the exact reference only "
        "where a result depends on it: `where` doesn't depend on the branch it refuses. Machine backends follow IEEE "
        "754 there.",
        "fn f(x: real[n]) -> real[n] { log(x) }    # undefined at x = 0; where(x > 0, log(x), 0) is not",
    ),
    "E6004": Code(
        "a masked row that allows nothing",
        "A softmax, log_softmax or cross_entropy whose mask refuses a whole row has no value there. Machine backends "
        "give zeros for softmax; the reference refuses the row, if a result depends on it.",
        "softmax(s, mask = keep)    # with a row of `keep` all false",
    ),
    "E6005": Code(
        "a decision that can't be certified",
        "The reference decides every comparison, argmax, sort, floor and sign on balls that are proven to hold "
        "the exact numbers. Where two of them overlap, the whole entry is computed again at twice the bits, up to "
        "--max-bits. Numbers that are equal, but computed in different ways, can't be told apart at any precision. "
        "The same holds for rounding a number that can't be told from the middle between two machine numbers.",
        "fn f(x: real) -> bool { exp(log(x)) < x }    # equal for every x > 0",
    ),
    "E6006": Code(
        "a number out of the reference's range",
        "Exact numbers have exponents of up to four thousand bits, so that every function has its value at every "
        "machine number; and still exp(exp(exp(100))) has none that can be held.",
        "fn f(x: real) -> real { exp(exp(exp(x))) }    # at x = 100",
    ),
    "E6008": Code(
        "a radius that has swamped its value",
        "Where a computation amplifies errors, a proven radius outgrows the number it belongs to: no digit is known "
        "any more, and what is computed from it knows less. A certified evaluation ends where such a radius runs away "
        "and names the place, the round of the loop and the element, unless no result depends on it. More bits move "
        "that place further out.",
        "fold x = x over i in 0..400 { 4 * x * (1 - x) }    # at 64 bits nothing is left after 80 rounds",
    ),
    "E6009": Code(
        "a training that a machine backend can't certify",
        "Proof radii are the reference's: a training with --certify runs on --backend interp, where every step takes "
        "the balls of the one before. Machine backends compute to the bit what they say, and prove nothing of it.",
        "presk train regression.psk --certify    # add --backend interp",
    ),
    "E6007": Code(
        "an input that is no real number",
        "NaN and the infinities are no real numbers, so the exact reference has no meaning for them. Machine backends "
        "take them, by the rules of IEEE 754.",
        "presk run f.psk --backend interp --input 'x=[1.0, NaN]'",
    ),
    "E6012": Code(
        "an impossible precision",
        "The exact reference works at 2 to 1 048 576 bits.",
        "presk run f.psk --backend interp --bits 1",
    ),
    "E6013": Code(
        "no proven radius",
        "Exact values computed with --no-certify (`certify=False`) carry no proven radius: radii are dropped as the "
        "evaluation goes, and the values are as accurate as rounding at that precision.",
        "presk.compile(entry, backend='interp', certify=False)(x).radius    # without certify=False there is one",
    ),
    "E6014": Code(
        "digits that can't be proven",
        "The exact reference proves from one digit to some three hundred thousand, and begins at no more bits than it "
        "may take.",
        "presk run f.psk --backend interp --digits 20 --bits 8192    # --max-bits is 4096",
    ),
    "E6020": Code(
        "a draw's coordinates out of range",
        "What a random draw gets is decided by the seed, the step, the row offset, and the indices of the layers and "
        "loops it stands in. Seed, step and the number of a stream's last element must be whole numbers from 0 to "
        "2**64 - 1; an index of a layer or loop from 0 to 2**32 - 1.",
        "presk run model.psk --entry f --seed -1",
    ),
    "E6021": Code(
        "a draw too large for memory",
        "The tensor a draw would fill can't be held in this machine's memory.",
        "fn noise() -> real[n: 1_000_000_000_000_000] { normal[n: 1_000_000_000_000_000]() }",
    ),
    "E6030": Code(
        "a tree that isn't the parameter's",
        "A parameter that is a module or a record takes a tree with exactly its fields: nested dicts of arrays, a "
        "stacked module's arrays having a leading axis. The message lists what is missing, what is there and "
        "shouldn't be, and what has another shape.",
        "f = presk.compile(prog['Linear{3, 2}.apply'])\nf({'w': np.zeros((3, 2))}, x)    # `b` is missing",
    ),
    "E6031": Code(
        "no tree of arrays",
        "Records are dicts with text as keys, tuples are tuples, and a leaf is an array or a number. In a file every "
        "leaf needs a dotted path of its own, and is of a type a safetensors file can hold.",
        "presk.save_file({'w.b': array}, 'w.safetensors')    # `w.b` would be field b of w",
    ),
    "E6032": Code(
        "an array that can't be read where it is",
        "Arrays of other libraries are read in place, through DLPack. One on another device would have to be moved, "
        "and one that records a gradient would lose it: presk does neither silently.",
        "f(params, torch.ones(4, 3, requires_grad=True))    # pass x.detach()",
    ),
    "E6033": Code(
        "an input that can't be read",
        "The value of `--input` is JSON or a file: a number, nested lists of one length per axis, an object for a "
        "record, or `@x.npy`, `@x.npz`, `@x.safetensors`, `@x.json`. A string is an exact number.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --input 'x=[[1, 2], [3]]'",
    ),
    "E6034": Code(
        "arguments that don't fit the entry's parameters",
        "A call gives each of the entry's parameters once, by its place or by its name; those with a default may be "
        "left out.",
        "f = presk.compile(prog['Linear{3, 2}.apply'])\nf(params, x, y)    # takes `self` and `x`",
    ),
}
