"""Codes E8xxx: training, data, checkpoints."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E8001": Code(
        "a file that can't be read",
        "The operating system refuses the file: it is missing, a folder, or not this user's to read. The message has "
        "its words.",
        "presk hash missing.npz",
    ),
    "E8002": Code(
        "a file that can't be written",
        "The operating system refuses the file, or the disk is full. Files are written to a temporary name beside "
        "them and then renamed, so what stood there before stands there still.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --dim batch=4 --out /missing/y.npz",
    ),
    "E8003": Code(
        "a file that isn't what it should be",
        "The file is no npy, npz or safetensors file, is cut short or damaged, or holds Python objects, which are "
        "never unpacked. What a file is, is told by its first bytes.",
        "presk hash notes.txt",
    ),
    "E8004": Code(
        "names a file of weights lacks",
        "A map of names asks for arrays the file doesn't have, for a transpose of an array of fewer than two axes, or "
        "for a stack of arrays of different shapes.",
        "presk.load_file('w.safetensors', names={'head.w': 'lm_head.weight.T'})",
    ),
}
