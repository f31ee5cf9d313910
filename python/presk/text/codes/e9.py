"""Codes E9xxx: backends and export."""

from presk.text.codes import Code

CODES: dict[str, Code] = {
    "E9001": Code(
        "a backend that isn't built yet",
        "The backend is one presk is designed to have, and this version doesn't have it. Nothing runs in its place: a call "
        "that asks for a backend gets that one or this error. Without `--backend` the fastest backend there is runs, and a "
        "note on stderr names it.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --backend native",
    ),
    "E9002": Code(
        "an unknown backend",
        "There is no backend of this name. `presk env` lists them.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --backend gpu",
    ),
    "E9003": Code(
        "a stage or a file that no backend reads yet",
        "`presk dump` prints what each pass makes; the stages after the groups come with the backends that make them. Files of "
        "realizations and plans are read by those backends too, and refused until then rather than passed over.",
        "presk dump examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --dim batch=4 --stage clif",
    ),
    "E9004": Code(
        "the memory doesn't suffice",
        "An array or an exact computation needs more memory than the process may have. Smaller dimensions, fewer bits of the "
        "reference or a smaller batch need less.",
        "presk run examples/minigpt/minigpt.psk --entry MiniGPT.apply --const D=1000000 --dim batch=1",
    ),
    "E9005": Code(
        "an unknown code",
        "`presk explain-error` explains the codes of diagnostics, such as E3003, and there is none of this name. Without a "
        "code it lists all.",
        "presk explain-error E0000",
    ),
    "E9006": Code(
        "a precision the reference doesn't compute at",
        "The exact reference rounds to between 2 and 1 000 000 bits. 53 bits are a double's; 256, the default, leave every "
        "machine type far behind.",
        "presk run examples/tutorial/01_linear.psk --entry 'Linear{3, 2}.apply' --dim batch=4 --bits 1",
    ),
    "E9007": Code(
        "a number of threads that is none",
        "`PRESK_THREADS` and `--threads` take a number from 1 on. Without either, a call uses the processors the process may "
        "run on, by its affinity and its container's quota. One thread and many give the same bits.",
        "PRESK_THREADS=all presk env",
    ),
    "E9101": Code(
        "text that is no PSK-Core",
        "What `presk dump --stage core` prints reads back, and so does what a person writes in the same form: modules that "
        "occur in types, then functions, called ones first and the entry last. docs/core.md gives the grammar.",
        "fn f(%0 : real) -> real { exp %0 }",
    ),
    "E9102": Code(
        "PSK-Core nested too deeply",
        "Types, constants and bodies of loops stand inside one another at most 60 deep in a text of PSK-Core.",
        "fn f(%0 : ((((… real …))))) -> real { 0 }",
    ),
    "E9103": Code(
        "PSK-Core that breaks an invariant",
        "A text of PSK-Core was read, and the program breaks one of the rules every pass relies on: numbers are unique and "
        "stand before their use, sources of a loop agree, a result fits its stated type. docs/core.md lists them.",
        "fn f(%0 : real[3]) -> real[4] { %0 }",
    ),
}
