"""Codes E6xxx: values at run time."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
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
        "A parameter that is a module or a record takes a tree with exactly its fields: nested dicts of arrays, a stacked "
        "module's arrays having a leading axis. The message lists what is missing, what is there and shouldn't be, and "
        "what has another shape.",
        "f = presk.compile(prog['Linear{3, 2}.apply'])\nf({'w': np.zeros((3, 2))}, x)    # `b` is missing",
    ),
    "E6031": Code(
        "no tree of arrays",
        "Records are dicts with text as keys, tuples are tuples, and a leaf is an array or a number. In a file every leaf "
        "needs a dotted path of its own, and is of a type a safetensors file can hold.",
        "presk.save_file({'w.b': array}, 'w.safetensors')    # `w.b` would be field b of w",
    ),
    "E6032": Code(
        "an array that can't be read where it is",
        "Arrays of other libraries are read in place, through DLPack. One on another device would have to be moved, and one "
        "that records a gradient would lose it: presk does neither silently.",
        "f(params, torch.ones(4, 3, requires_grad=True))    # pass x.detach()",
    ),
    "E6033": Code(
        "an input that can't be read",
        "The value of `--input` is JSON or a file: a number, nested lists of one length per axis, an object for a record, or "
        "`@x.npy`, `@x.npz`, `@x.safetensors`, `@x.json`. A string is an exact number.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --input 'x=[[1, 2], [3]]'",
    ),
    "E6034": Code(
        "arguments that don't fit the entry's parameters",
        "A call gives each of the entry's parameters once, by its place or by its name; those with a default may be left "
        "out.",
        "f = presk.compile(prog['Linear{3, 2}.apply'])\nf(params, x, y)    # takes `self` and `x`",
    ),
}
