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
    "E8033": Code(
        "data that are not finite",
        "An element of a real field is NaN or infinite, and a program is a function over the reals. Rows and columns "
        "are counted from 0. In a CSV file it is E8073, with the line. A mapped file of more than 16 MiB isn't read "
        "for it: a step that such a row spoils names it (E8083).",
        'presk.train(program["regression"], data={"x": [[0.5], [float("nan")]], "y": [[0.0], [1.0]]})',
    ),
    "E8034": Code(
        "a split that can't be made",
        "`split` is the share of the rows that trains. `stratify` names a field of the batch with one nat or bool a "
        "row, whose labels are to be on both sides by that share. `measure` gives the rows that measure themselves, so "
        "it goes without `split`. The text of `tokens` is split in its order alone.",
        "presk train examples/classifier/classifier.psk --set data.stratify=x",
    ),
    "E8035": Code(
        "a preparation that doesn't fit",
        "The weights were trained on columns that `standardize` scaled, or on labels. Further values must have the "
        "same columns along their last axis, and what is to be named must be places of labels.",
        'presk.Preparation.of("runs/fruit").names([7])',
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
    "E8050": Code(
        "a `next_token` of other types",
        "A language model's `next_token` takes the model, a cache, a symbol a row and its position, and gives logits "
        "of all symbols a row and the cache. The number of places is the position's bound.",
        "fn next_token(cache: real[batch], t: nat[batch] < 8, pos: nat < 4) -> (real[batch, 7], real[batch]) { … }",
    ),
    "E8051": Code(
        "no tokenizer",
        "Symbols are made of text and text of symbols by a tokenizer. A checkpoint of a run carries the one it was "
        "trained with; for other weights it is named.",
        "presk generate examples/llama/llama.psk --weights w.safetensors",
    ),
    "E8052": Code(
        "a prompt without symbols",
        "A text is continued behind its last symbol, so there must be one. Without a prompt a text begins behind a "
        "line break.",
        'presk generate examples/minigpt/minigpt.psk --weights runs/tiny --prompt ""',
    ),
    "E8053": Code(
        "a setting of generation out of range",
        "A temperature is a number from 0 (the likeliest symbol), top_k a whole number from 0 (all), top_p above 0 and "
        "at most 1, and the number of symbols a whole number from 0.",
        'presk.generate("examples/minigpt/minigpt.psk", "runs/tiny", temperature=-1)',
    ),
    "E8070": Code(
        "a training without data",
        "A train block names its data, or they are given from Python in their place.",
        TRAIN + "train t { model = M; objective = loss; optimizer = sgd; lr = 0.1; batch = 8; epochs = 1 }",
    ),
    "E8071": Code(
        "data that are not the objective's batch",
        "The objective's batch is a record whose leaves' first axes count rows. The data must have an array for each "
        "leaf, of its rank, its kind and its sizes; for tokens the batch is `x` and, one place on, `y`.",
        'presk.train(program["fruit"], data={"x": x})',
    ),
    "E8072": Code(
        "a column a table lacks",
        "The first line of a CSV file names its columns; `x` and `y` choose among them.",
        "presk train examples/regression/regression.psk --set 'data.x=[\"z\"]'",
    ),
    "E8073": Code(
        "a table that can't be read",
        "A CSV file is UTF-8; its first line names the columns, and every other line has a cell for each. A cell may "
        "not be empty. Reals are finite decimals; nats are whole numbers or labels.",
        "x,y\n0.5,1\n0.75,\n",
    ),
    "E8074": Code(
        "a value of the data outside its bound",
        "A nat of the batch must be below the bound its type states. Rows are counted from 0.",
        "presk train examples/classifier/classifier.psk --const K=2",
    ),
    "E8075": Code(
        "too few rows",
        "An epoch has a step for each whole batch, and with `last = keep` one for the rest. There must be one "
        "at least.",
        "presk train examples/regression/regression.psk --set batch=1000",
    ),
    "E8076": Code(
        "patience without rows that measure",
        "`patience` ends a training whose loss on the rows that don't train no longer falls. `split` in the block's "
        "`data` holds rows out; from Python so do `split=` and `measure=` of presk.train.",
        "presk train examples/vae/vae.psk --set patience=3",
    ),
    "E8077": Code(
        "a training without an end",
        "A block says how many epochs it trains, or the command line does; `--steps` ends it behind a step.",
        TRAIN + 'train t { model = M; objective = loss; optimizer = sgd; lr = 0.1; batch = 8; data = arrays("x.npz") }',
    ),
    "E8078": Code(
        "a setting that can't be set",
        "`--set KEY=VALUE` gives a key of the train block another value, `--set KEY.KEYWORD=VALUE` a keyword of its "
        "optimizer, rate or data source.",
        "presk train examples/regression/regression.psk --set clip.norm=1",
    ),
    "E8079": Code(
        "quantised parameters in training",
        "A step moves a parameter by less than the integers of a quantised one can tell apart. Train in f64, f32 or "
        "bf16 and quantise what was trained: `presk quantize`.",
        "presk train examples/regression/regression.psk --realize @int8.json",
    ),
    "E8080": Code(
        "a folder that holds a run",
        "A run has a folder of its own, which nothing else overwrites. `--resume` goes on with the run in it. While a "
        "training runs, the file `lock` in its folder keeps others out; the lock of a process that is gone is free.",
        "presk train examples/regression/regression.psk --out runs/regression",
    ),
    "E8081": Code(
        "no checkpoint, or a damaged one",
        "A checkpoint says what it belongs to, and has the hashes of its arrays and of what it says. One that is cut "
        "short, changed or not of a training is left out for the one before it; without one no run can be resumed. "
        "Running or loading weights that have changed since a training wrote them raises it too: another checkpoint of "
        "the run may be whole.",
        "presk train examples/regression/regression.psk --resume --out runs/none",
    ),
    "E8082": Code(
        "a run with other settings",
        "A run goes on to the bits it would have had without a stop, which only the same program, block, data, seed "
        "and numbers give. Backend, threads and plan may change, and so may the step it ends behind.",
        "presk train examples/regression/regression.psk --resume --seed 2",
    ),
    "E8083": Code(
        "a loss that is no number",
        "The loss or the gradient's norm became infinite or NaN, and so would all that follows. The checkpoints before "
        "it stay. The step ran once more with each operation's value: the message names the first that isn't finite "
        "and spoils the result, its element and its operands.",
        "presk train examples/regression/regression.psk --set 'optimizer=sgd' --set lr=1e30",
    ),
    "E8084": Code(
        "which train block?",
        "The program has no train block of this name, or several and none was named, or none at all.",
        "presk train examples/tutorial/01_linear.psk",
    ),
    "E8085": Code(
        "gradient accumulation",
        "A step is one batch: gradients of several batches are not summed before a step. A larger batch gives the same "
        "mean.",
        TRAIN + "train t { model = M; objective = loss; optimizer = sgd; lr = 0.1; batch = 8; accumulate = 4 }",
    ),
}
