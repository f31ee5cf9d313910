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
}
