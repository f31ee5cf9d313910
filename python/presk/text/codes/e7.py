"""Codes E7xxx: realizations and plans."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E7001": Code(
        "an unknown realization or plan, or a part of one",
        "A realization is `f64`, `f32`, `bf16`, `f64+fma`, `f32+fma`, `bf16/f32` or the file `@FILE`, a plan `auto`, "
        "`default` or `@FILE`. Files are JSON objects that follow the schemas presk ships with (docs/realizations.md). "
        "Nothing in either is ever passed over: an unknown name, key, type or value is refused by its name, and so are "
        "a key that stands twice, a site or parameter two things are said of, and what is no JSON.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --realize f16",
    ),
    "E7002": Code(
        "a realization or plan that can't be run as stated",
        "It follows its schema, and doesn't fit this entry or this machine. The message names the site and the "
        "condition: 1, the site or parameter doesn't exist in the entry; 2, the choice isn't in that nest's space; 3, "
        "sums stored between blocks of K need a storage of the accumulation's type; 4, lanes need operand 1 contiguous "
        "along J; 5, a split's workers are the machine's count or half of it; 6, no elementwise group "
        "alone reads an epilogue's product, element by element, or it is stored in another type; 7, a layout assumes "
        "the default accumulation, and the realization states another; 8, the loop to be split isn't parallel; 9, an "
        "accumulation or order the kernels can't honour; 10, it was written for another entry, Core or realization. "
        "Nothing has been run then.",
        "presk run examples/tutorial/03_attention.psk --entry scores --dim B=1 --dim T=4 --realize @r.json"
        '    # {"storage": {"scores/%99": "bf16"}}',
    ),
    "E7003": Code(
        "a quantised array that is none, or another one",
        "A quantised array is integers of int8 (-127 to 127) or int4 (-7 to 7) with f32 scales, one for each index of "
        "one axis within a layer: `presk.Quantized(q, scale, axis)`. Weights that are to be quantised must be finite "
        "in f32. Where the realization quantises a parameter, an array that is quantised already must be of its type "
        "and along its axis.",
        "presk.Quantized(np.zeros((3, 2), np.int8), np.ones(3, np.float32), axis=1)    # axis 1 has 2 indices",
    ),
    "E7004": Code(
        "a draw without a number in its bounds",
        "What `uniform(lo, hi)` stores is below hi and not below lo, in the type it is stored in: f64 on the exact "
        "reference, the site's or the parameter's type on a machine. Where no number of that type lies in the bounds, "
        "such as no bf16 from 1.001 up to 1.002, nothing can be drawn.",
        "fn f() -> real[4] { uniform[4](lo = 1.001, hi = 1.002) }    # under --realize bf16",
    ),
    "E7005": Code(
        "a parameter whose type at rest a step doesn't keep",
        "A training's parameters and moments are handed from each step to the next in their type at rest: what "
        "`params` says, or `default`. The sites that make them are stored in that type where nothing is stated of "
        "them. Where one is stated in a narrower type, each update would be rounded to it, and nothing runs. A wider "
        "one is rounded to the type at rest when the step ends.",
        "presk train examples/tutorial/06_training.psk --realize @r.json"
        '    # {"default": "f32", "storage": {"adamw.step/%33": "bf16"}}',
    ),
}
