"""Codes E9xxx: backends and export."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E9002": Code(
        "an unknown backend",
        "There is no backend of this name. `presk env` lists them.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --backend gpu",
    ),
    "E9004": Code(
        "the memory doesn't suffice",
        "An array or an exact computation needs more memory than the process may have. Smaller dimensions, fewer bits "
        "of the reference or a smaller batch need less.",
        "presk run examples/minigpt/minigpt.psk --entry MiniGPT.apply --const D=1000000 --dim batch=1",
    ),
    "E9005": Code(
        "an unknown code",
        "`presk explain-error` explains the codes of diagnostics, such as E3003, and there is none of this name. "
        "Without a code it lists all.",
        "presk explain-error E0000",
    ),
    "E9007": Code(
        "a number of threads that is none",
        "`PRESK_THREADS` and `--threads` take a number from 1 to 1024. Without either, a call uses the processors the "
        "process may run on, by its affinity and its container's quota. One thread and many give the same bits.",
        "PRESK_THREADS=all presk env",
    ),
    "E9008": Code(
        "an unknown instruction set",
        "`PRESK_ISA` has the native backend make code for less than the processor has: `sse2`, `sse4.2`, `avx`, "
        "`avx2` or `avx512` on x86-64, `baseline` everywhere; `host`, the default, is all there is. Every instruction "
        "set gives the same bits. `presk dump --stage clif` and `--stage asm` show code for `aarch64` on any machine.",
        "PRESK_ISA=avx3 presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --backend native",
    ),
    "E9010": Code(
        "the gap of the reference",
        "A gap is how far a machine backend's result is from the exact one. The exact reference, `interp`, is what it "
        "is measured from, and has none.",
        "presk gap examples/norms/norms.psk --entry rms_norm --dim N=8 --dim batch=4 --backend interp",
    ),
    "E9011": Code(
        "an entry that another library can't state",
        "`presk bench --against` states an entry in the functions of NumPy, PyTorch or JAX. What has no counterpart in "
        "the library (NumPy has no error function, none has a map over trees) is not translated, and the row says "
        "which was met first.",
        "presk bench examples/minigpt/minigpt.psk --entry MiniGPT.apply --dim batch=2 --against numpy",
    ),
    "E9012": Code(
        "what the reference doesn't have",
        "`f.schedule`, `f.kernels` and `f.memory` show how a machine backend runs an entry. The exact reference "
        "evaluates PSK-Core itself: it has no kernels, no schedule, and no arena.",
        'presk.compile(program["f"], backend="interp").schedule',
    ),
    "E9101": Code(
        "text that is no PSK-Core",
        "What `presk dump --stage core` prints reads back, and so does what a person writes in the same form: modules "
        "that occur in types, then functions, called ones first and the entry last. docs/core.md gives the grammar.",
        "fn f(%0 : real) -> real { exp %0 }",
    ),
    "E9102": Code(
        "PSK-Core nested too deeply",
        "Types, constants and bodies of loops stand inside one another at most 60 deep in a text of PSK-Core.",
        "fn f(%0 : ((((… real …))))) -> real { 0 }",
    ),
    "E9103": Code(
        "PSK-Core that breaks an invariant",
        "A text of PSK-Core was read, and the program breaks one of the rules every pass relies on: numbers are "
        "unique and stand before their use, sources of a loop agree, a result fits its stated type. docs/core.md "
        "lists them.",
        "fn f(%0 : real[3]) -> real[4] { %0 }",
    ),
    "E9201": Code(
        "kernel text that doesn't follow the grammar",
        "Kernel text is what `presk dump --stage kernel` prints, and what the kernel reader takes; its grammar is in "
        "docs/kernels.md. What stands at the caret has no place there.",
        "kernel copy (%0 : f32[2]) -> %1 : f32[2] {\n  for i0 in 0..2 {\n    %1[i0] := %0[i0]\n  }\n}",
    ),
    "E9202": Code(
        "a kernel's value or buffer of the wrong type",
        "Each place in kernel text wants a real, an integer, a truth value or a vector, and a buffer of its kind. "
        "Variables "
        "say their kind in their letter: `s0` is a real, `n0` and `i0` are integers, `b0` is a truth value, `v0` a "
        "vector.",
        "kernel copy (%0 : f32[2]) -> %1 : f32[2] {\n  for i0 in 0..2 {\n    %1[i0] = i0\n  }\n}",
    ),
    "E9203": Code(
        "a kernel's index that isn't proven to lie within its axis",
        "Every index of every access must be provably inside: from the ranges of loop counters, of integer variables "
        "(all "
        "their assignments together) and of `i64<V` elements, through + - * // % min max abs and select. An index "
        "that is "
        "right for another reason is clamped: `max(0, min(n0, 7))`.",
        "kernel shift (%0 : f32[2]) -> %1 : f32[2] {\n  for i0 in 0..2 {\n    %1[i0] = %0[(i0 + 1)]\n  }\n}",
    ),
    "E9204": Code(
        "a kernel's variable that may be read before it is assigned",
        "A variable is read where it was assigned before on every path: earlier in the same block or a block around "
        "it, or in "
        "a loop before that has a round. Assignments under an `if` don't count after it. A counter is known in its "
        "loop alone, "
        "and a loop within takes another one.",
        "kernel late () -> %0 : f32[2] {\n  for i0 in 0..2 {\n    %0[i0] = s0\n    s0 = 1\n  }\n}",
    ),
    "E9205": Code(
        "a kernel's shared buffer that may be read too late",
        "`%1 in %0` lets an output overwrite an input. Then the input is read only at the element about to be "
        "stored: each "
        "load stands before a store at the same index in its block, and no element is stored twice.",
        "kernel flip (%0 : f32[2]) -> %1 in %0 : f32[2] {\n  for i0 in 0..2 {\n    %1[i0] = %0[(1 - i0)]\n  }\n}",
    ),
    "E9206": Code(
        "a kernel larger than presk takes",
        "Text, nesting, the number and size of buffers, scratch memory, and the rounds of nested loops are bounded; "
        "the bounds "
        "are in docs/kernels.md. What presk lowers stays far below them.",
        "kernel vast () -> %0 : f32[1000000000, 1000000000] {\n}",
    ),
    "E9207": Code(
        "arrays that aren't those a kernel declares",
        "A kernel runs on as many buffers as it declares, of exactly their bytes, contiguous, and an output apart "
        "from all "
        "others. A quantised input is two: integers, then scales. An input whose buffer an output shares is given "
        "empty.",
        "Program(text).run([array], [array])",
    ),
    "E9208": Code(
        "an element that a kernel reads or leaves unwritten",
        "Under its shadow map the kernel interpreter notes which elements of outputs and scratch were written. One "
        "is read "
        "before it was, or an output has an element that never is. A kernel that presk lowered doing so is a fault "
        "of presk's.",
        "kernel half () -> %0 : f32[2] {\n  %0[0] = 1\n}",
    ),
    "E9209": Code(
        "an integer outside of its buffer's bound",
        "Elements of an `i64<V` buffer are 0 … V − 1. A store of an integer must be proven to be; an element of an "
        "input that "
        "isn't stops the run.",
        "kernel count () -> %0 : f32[1], %1 : i64<2[1] {\n  %0[0] = 0\n  %1[0] = 2\n}",
    ),
    "E9211": Code(
        "a schedule that doesn't follow the grammar",
        "A schedule is what `presk dump --stage schedule` prints: buffers, steps, then the kernels' texts. Its "
        "grammar is in docs/schedule.md. What stands at the caret has no place there.",
        'schedule "f" realized "f32" {\n  jump\n}',
    ),
    "E9212": Code(
        "a step whose buffers aren't what it wants",
        "Every view a step names must be of a buffer that exists, whose elements are stored as the step or its "
        "kernel wants, and that may be written where it is; counters are those of the loops around; a loop that is"
        " divided must be one whose rounds are independent.",
        'schedule "f" realized "f32" {\n  input h0 : f64[2] "x"\n  output o0 : f32[2] ""\n  copy 2 f32 (h0) -> (o0)\n}',
    ),
    "E9213": Code(
        "a view that leaves its buffer",
        "In every round of the loops around a step each view must lie in its buffer, and each buffer of the arena "
        "in the arena, at a multiple of its element's bytes.",
        'schedule "f" realized "f32" {\n  input h0 : f32[2] "x"\n  output o0 : f32[2] ""\n'
        "  copy 2 f32 (h0 + 1) -> (o0)\n}",
    ),
    "E9214": Code(
        "a step that overwrites what it reads",
        "What a step writes overlaps nothing else that it reads or writes, except where its kernel says that an "
        "output takes an input's place. Buffers that exchange places lie apart.",
        'schedule "f" realized "f32" {\n  arena 64 bytes\n  buffer a0 : f32[4] at 0\n  copy 2 f32 (a0) -> (a0 + 1)\n}',
    ),
    "E9215": Code(
        "a schedule larger than presk takes",
        "The text, the depth of loops, the number and the sizes of buffers, the rounds of nested loops, and the steps "
        "and operations of one call are bounded; what presk records stays far below.",
        'schedule "f" realized "f32" {\n  arena 999999999999999999 bytes\n  buffer a0 : f32[1] at 0\n}',
    ),
    "E9216": Code(
        "arrays that aren't a schedule's inputs",
        "A schedule runs on an array for each of its inputs, of the input's shape, floats of any float type, "
        "integers and truth values as NumPy's int64 and bool. What presk's backends give it has been checked "
        "before.",
        "_native.Schedule(text, 'kernel').run([np.zeros(3)], seed=0, step=0, row_offset=0, threads=1)",
    ),
    "E9217": Code(
        "a worker that stopped",
        "A piece of a call ended in a fault of presk's own. The call has no result; the pool and later calls are "
        "well. Please report it, with the entry and its arguments.",
        "f(x)    # `a worker stopped: …`",
    ),
    "E9218": Code(
        "a kernel that can't be compiled",
        "The code generator has bounds of its own, on the size of one kernel among others, and refuses what "
        "exceeds them. The kernel interpreter (`--backend kernel`) runs the entry; smaller tiles in a plan make "
        "smaller kernels.",
        "presk run model.psk --entry f --backend native --plan @huge_tiles.json",
    ),
    "E9219": Code(
        "a tile that no routine computes",
        "The routines of the statement `tile` read operands at strides: sums and right factors of a row side by side, "
        "rows and terms as terms of the indices, sums in a buffer of the arithmetic type that neither factor is in; 1 "
        "to 12 rows, 1 to 64 columns, lanes of 32 or 64 bytes. Lowering makes no other; docs/kernels.md lists what "
        "is asked.",
        "tile<8> i0 in 0..4, i1 in 0..8, i2 in 0..3 { %2[i1, i0] = (%0[i0, i2] * %1[i2, i1]) }",
    ),
    "E9230": Code(
        "a call that was asked to end",
        "Whoever called has asked the running call to end, as a signal's handler does by raising: Python raises what "
        "the handler raised, KeyboardInterrupt for Ctrl-C. What the call was writing holds no result, donated arrays "
        "among it; the executable and the workers are well.",
        "f(x)    # Ctrl-C: KeyboardInterrupt",
    ),
}
