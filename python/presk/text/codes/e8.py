"""Codes E8xxx: training, data, checkpoints."""

from presk.text.codes import Code

TRAIN = "module M { w: real = zeros }\nfn loss(m: M, batch: {x: real[n]}) -> real { mean(batch.x) * m.w }\n"
"""What the examples of train blocks train."""

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
    "E8020": Code(
        "an unknown key of a train block",
        "The keys are model, objective, optimizer, lr, batch, data, epochs, clip, seed, last, eval, patience, keep and "
        "freeze, each given once.",
        TRAIN + "train t { model = M; objective = loss; optimizer = sgd; lr = 0.1; batch = 8; learning_rate = 0.1 }",
    ),
    "E8021": Code(
        "a train block that lacks a key",
        "A train block names its model, objective, optimizer, lr and batch. Data may come from Python "
        "instead of `data`.",
        TRAIN + "train t { model = M; objective = loss; optimizer = sgd; batch = 8 }",
    ),
    "E8022": Code(
        "a model that is no module",
        "What is trained is a module's tree of parameters: `model = MiniGPT`, or `model = Linear{3, 2}`.",
        TRAIN + "train t { model = 3; objective = loss; optimizer = sgd; lr = 0.1; batch = 8 }",
    ),
    "E8023": Code(
        "an objective that does not fit",
        "The objective is a declared function of the model and a batch, a record of what the data give. Its result is "
        "one real, or a real and a record of reals, which are shown as metrics.",
        TRAIN + "train t { model = M; objective = mean; optimizer = sgd; lr = 0.1; batch = 8 }",
    ),
    "E8024": Code(
        "not a name with keywords",
        "Optimizers, rates and data sources are named, with keywords in parentheses: `adamw(beta1 = 0.9)`.",
        TRAIN + 'train t { model = M; objective = loss; optimizer = "sgd"; lr = 0.1; batch = 8 }',
    ),
    "E8025": Code(
        "an optimizer that does not fit",
        "An optimizer is a file with `init` and `step`, imported, beside this one or of the library (adamw, sgd, "
        "lion). Its settings are the parameters of `step` behind those the loop gives.",
        TRAIN + "train t { model = M; objective = loss; optimizer = sgd(beta = 0.9); lr = 0.1; batch = 8 }",
    ),
    "E8026": Code(
        "a learning rate that does not fit",
        "A rate is a positive number, or `constant`, `linear` or `cosine` with `peak`, and perhaps `warmup` in steps "
        "and the `floor` it falls to.",
        TRAIN + "train t { model = M; objective = loss; optimizer = sgd; lr = cosine(warmup = 100); batch = 8 }",
    ),
    "E8027": Code(
        "data that do not fit",
        "A data source is `tokens`, `csv`, `arrays` or `synthetic` with its keywords. Paths are relative to the file "
        "of the program.",
        TRAIN + "train t { model = M; objective = loss; optimizer = sgd; lr = 0.1; batch = 8; data = csv(table) }",
    ),
    "E8028": Code(
        "a setting out of range",
        "batch, epochs, eval, patience and keep are whole numbers from 1, seed one from 0, clip a positive number, "
        "last `drop` or `keep`, and freeze a list of patterns, each of which matches a parameter.",
        TRAIN + "train t { model = M; objective = loss; optimizer = sgd; lr = 0.1; batch = 0 }",
    ),
    "E8040": Code(
        "text a tokenizer has no symbols for",
        "A vocabulary of characters has those of the text it was made of, and no others. Half of a surrogate pair is "
        "no character at all. The tokenizer `bytes` has symbols for every text.",
        'presk generate examples/minigpt/minigpt.psk --weights runs/tiny --prompt "\u00e9"',
    ),
    "E8041": Code(
        "not a tokenizer",
        "The file isn't one the `tokenizers` package reads, or a checkpoint's metadata doesn't describe a tokenizer. "
        "The message has the package's words.",
        "presk generate examples/minigpt/minigpt.psk --weights w.safetensors --tokenizer notes.json",
    ),
    "E8042": Code(
        "the package of tokenizers is absent",
        "JSON files of tokenizers are read by the package `tokenizers`, which presk doesn't install by itself.",
        "presk generate examples/llama/llama.psk --weights w.safetensors --tokenizer tokenizer.json",
    ),
    "E8043": Code(
        "text that isn't UTF-8",
        "Characters are read from files in UTF-8. `tokenizer = bytes` takes any file, a symbol a byte.",
        TRAIN
        + 'train t { model = M; objective = loss; optimizer = sgd; lr = 0.1; batch = 8; data = tokens("latin1.txt") }',
    ),
    "E8044": Code(
        "a number that is no symbol",
        "Symbols are counted from 0, and there are as many as the tokenizer has. A model may know more: those have no "
        "text.",
        "tokenizer.decode([1_000_000])",
    ),
    "E8045": Code(
        "a tokenizer with more symbols than the model",
        "The model's table of embeddings has a row a symbol, so it must have at least as many as the tokenizer.",
        "presk train examples/minigpt/minigpt.psk --const V=16",
    ),
}
