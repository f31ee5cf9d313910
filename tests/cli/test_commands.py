"""What each command does, and how each fails."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pytest
from tests.cli.conftest import Answer, Run

import presk as library
from presk.cli import application
from presk.run import tensor_files

ENTRY = ("-e", "Linear{3, 2}.apply")


def refused(answer: Answer, code: str) -> str:
    """A diagnostic of this code was printed, and nothing else."""
    assert answer.code == 1
    assert answer.out == ""
    assert f"error[{code}]" in answer.err
    return answer.err


# All of them


@pytest.mark.parametrize("name", application.COMMANDS)
def test_the_list_says_what_each_command_says_itself(name: str, presk: Run) -> None:
    command = application.application.get_command(click.Context(application.application), name)
    assert command is not None
    assert command.name == name
    assert (command.help or "").split("\n\n")[0].replace("\n", " ") == application.COMMANDS[name]
    answer = presk(name, "--help")
    assert answer.code == 0
    assert answer.out.startswith(f"Usage: presk {name}")


def test_every_option_has_a_help_text() -> None:
    context = click.Context(application.application)
    for name in application.COMMANDS:
        command = application.application.get_command(context, name)
        assert command is not None
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"{name} {option.name}"


def test_a_command_that_is_none_gets_a_hint(presk: Run) -> None:
    answer = presk("chek", "p.psk")
    assert answer.code == 2
    assert "did you mean `check`" in answer.err
    assert presk("trian", "p.psk").code == 2
    assert presk("--nonsense").code == 2


def test_the_version_is_the_packages(presk: Run) -> None:
    assert presk("--version").out == f"presk {library.__version__}\n"


# check


def test_check_lists_primitives_without_a_file(presk: Run) -> None:
    assert "softmax(" in presk("check", "--primitives").out
    rows = json.loads(presk("check", "--primitives", "--json").out)
    assert {"dot", "where", "normal"} <= {row["name"] for row in rows}
    assert presk("check", "p.psk", "--primitives").code == 2
    assert presk("check").code == 2


def test_check_says_what_is_wrong(presk: Run, program: Path) -> None:
    refused(presk("check", "missing.psk"), "E2003")
    refused(presk("check", "."), "E2003")
    refused(presk("check", program, "--const", "SCALE=x"), "E4020")
    refused(presk("check", program, "--const", "SCAL=1"), "E4007")
    assert presk("check", program, "--const", "SCALE").code == 2
    assert presk("check", program, "--const", "SCALE=1", "--const", "SCALE=2").code == 2


# fmt


def test_fmt_rewrites_and_check_only_says(presk: Run, program: Path) -> None:
    Path("u.psk").write_text("fn f( x:real[n] )->real[n]{x}\n")
    assert presk("fmt", "--check", program).code == 0
    answer = presk("fmt", "--check", program, "u.psk")
    assert (answer.code, answer.out) == (1, "would change u.psk\n")
    answer = presk("fmt", program, "u.psk")
    assert (answer.code, answer.out, answer.err) == (0, "", "formatted u.psk\n")
    assert Path("u.psk").read_text() == "fn f(x: real[n]) -> real[n] { x }\n"
    assert presk("fmt", program, "u.psk").err == ""


def test_fmt_leaves_what_it_cannot_format(presk: Run, program: Path) -> None:
    texts = {"broken.psk": b"fn f(", "latin.psk": b"# \xff\n", "nul.psk": b"const A = 1\0\n"}
    for name, data in texts.items():
        Path(name).write_bytes(data)
        assert presk("fmt", name).code == 1
        assert Path(name).read_bytes() == data
    Path("u.psk").write_text("const   A = 1\n")
    answer = presk("fmt", "missing.psk", "u.psk", "broken.psk")
    assert answer.code == 1
    assert "E8001" in answer.err
    assert Path("u.psk").read_text() == "const A = 1\n", "the others are formatted all the same"


def test_fmt_cannot_write(presk: Run, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    Path("u.psk").write_text("const   A = 1\n")
    monkeypatch.setattr("os.fsync", full)
    refused(presk("fmt", "u.psk"), "E8002")
    assert Path("u.psk").read_text() == "const   A = 1\n"
    assert {path.name for path in Path().iterdir()} == {"p.psk", "u.psk"}


# run


def test_run_takes_files_and_writes_files(presk: Run, program: Path) -> None:
    np.save("x.npy", np.arange(6.0).reshape(2, 3))
    np.savez("p.npz", w=np.eye(3, 2), b=np.ones(2))
    Path("x.json").write_text("[[0, 1, 2], [3, 4, 5]]")
    tensor_files.write("w.safetensors", {"w": np.eye(3, 2), "b": np.ones(2)})
    expected = np.arange(6.0).reshape(2, 3) @ np.eye(3, 2) + 1
    for inputs in (
        ("-i", "x=@x.npy", "-i", "self=@p.npz"),
        ("-i", "x=@x.json", "--weights", "w.safetensors"),
        ("-i", "x=@x.npy", "-i", "self=@w.safetensors"),
    ):
        answer = presk("run", program, *ENTRY, *inputs, "-q", "--out", "y.npz")
        assert (answer.code, answer.out, answer.err) == (0, "", "")
        with np.load("y.npz") as read:
            np.testing.assert_array_equal(read["result"], expected)
    assert presk("run", program, *ENTRY, "-i", "x=@x.npy", "-q", "-o", "y.json").code == 0
    assert json.loads(Path("y.json").read_text())["shape"] == [2, 2]
    assert presk("run", program, "-e", "double", "-q", "-o", "t.npz").code == 0
    with np.load("t.npz") as read:
        assert sorted(read) == ["t.0", "t.1", "y"]


def test_run_is_decided_by_its_seed(presk: Run, program: Path) -> None:
    def call(seed: int) -> str:
        return presk("run", program, *ENTRY, "--dim", "batch=2", "--seed", seed, "-q").out

    assert call(1) == call(1)
    assert call(1) != call(2)


def test_run_says_nothing_on_stderr(presk: Run, program: Path) -> None:
    for options in ((), ("-q",)):
        assert presk("run", program, "-e", "double", *options).err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--format", "npz"),
        ("--json", "--format", "text"),
        ("--format", "xml"),
        ("--dim", "batch"),
        ("--dim", "batch=-1"),
        ("--dim", "batch=x"),
        ("--dim", f"batch={1 << 63}"),
        ("--dim", "batch=1", "--dim", "batch=2"),
        ("-i", "x"),
        ("--bits", "many"),
        ("--seed", "-1"),
        ("--unknown",),
        ("extra",),
        ("-i", "self={}", "--weights", "w"),
    ],
)
def test_an_option_that_cannot_apply_is_a_usage_error(presk: Run, program: Path, arguments: tuple[str, ...]) -> None:
    answer = presk("run", program, *ENTRY, *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert "Usage: presk run" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("-i", "x=[1, 2"), "E6033"),
        (("-i", "x=[[1, 2], [3]]"), "E6033"),
        (("-i", "x=[1, true]"), "E6033"),
        (("-i", "x=null"), "E6033"),
        (("-i", 'x=["x"]'), "E6033"),
        (("-i", 'x=["1/0"]'), "E6033"),
        (("-i", "x=[{}]"), "E6033"),
        (("-i", "x=" + "[" * 100_000), "E6033"),
        (("-i", "x=" + "9" * 5000), "E6033"),
        (("-i", "x=[NaN, 1, 2]", "--backend", "interp"), "E6007"),
        (("-i", "x=[1e999, 1, 2]", "--backend", "interp"), "E6007"),
        (("-i", "x=[1, 2]"), "E6001"),
        (("-i", f"x=[{1 << 60}, 1, 2]"), "E6001"),
        (("-i", "y=[1]"), "E6034"),
        (("-i", "x=@missing.npy"), "E8001"),
        (("-i", "x=@."), "E8001"),
        (("-i", "x=@p.psk"), "E8003"),
        (("--out", "missing/y.npz"), "E8002"),
        (("--out", "."), "E8002"),
        (("--bits", "1", "--backend", "interp"), "E6012"),
        (("--bits", "99999999999", "--backend", "interp"), "E6012"),
        (("--seed", str(1 << 64)), "E6020"),
        (("--backend", "gpu"), "E9002"),
        (("--threads", "0"), "E9007"),
        (("--threads", "1025"), "E9007"),
        (("--realize", "f16"), "E7001"),
        (("--plan", "@plan.json"), "E8001"),
        (("--dim", "m=1"), "E4008"),
    ],
)
def test_a_value_that_does_not_fit_is_a_diagnostic(
    presk: Run, program: Path, arguments: tuple[str, ...], code: str
) -> None:
    refused(presk("run", program, "-e", "double", *arguments, "-q"), code)


def test_weights_that_are_another_modules(presk: Run, program: Path) -> None:
    tensor_files.write("w.safetensors", {"w": np.eye(2, 3), "c": np.ones(2)})
    message = refused(presk("run", program, *ENTRY, "--weights", "w.safetensors", "--dim", "batch=1", "-q"), "E6030")
    assert "it lacks `b`; it has no business with `c`; of another shape: `w`" in message
    answer = presk("run", program, "-e", "double", "--weights", "w.safetensors", "-q")
    assert answer.code == 2
    assert "takes no module" in answer.err


def test_a_name_the_shell_has_split_gets_a_hint(presk: Run, program: Path) -> None:
    for words in (["Linear3.apply", "Linear2.apply"], ["Linear{3,", "2}.apply"]):
        answer = presk("run", program, "--entry", *words)
        assert answer.code == 2
        assert "quote it: --entry 'Linear{3, 2}.apply'" in answer.err
    assert "quote" not in presk("run", program, "--entry", "double", "other.psk").err


# dump, explain-error, env


def test_dump_reads_what_it_prints(presk: Run, program: Path) -> None:
    from presk.core.printer import print_program
    from presk.core.reader import read_program
    from presk.text.spans import Source

    text = presk("dump", program, *ENTRY, "--dim", "batch=2", "--stage", "core").out
    assert print_program(read_program(Source("core", text))).strip() == text.strip()


def test_dump_writes_runs_out_as_loops(presk: Run, tmp_path: Path) -> None:
    (tmp_path / "wave.psk").write_text("fn wave(x: real[n]) -> real[n] { sin(x) }\n", "utf-8")
    wanted = ("dump", tmp_path / "wave.psk", "--dim", "n=64", "--stage", "kernel", "--plan", "auto")
    assert "  apply sin(%0[0]) to %1[0] over 64\n" in presk(*wanted).out
    expanded = presk(*wanted, "--expand").out
    assert "apply" not in expanded
    assert "  for i0 in 0..64 {\n    %1[i0] = sin(%0[i0])\n  }\n" in expanded


def test_dump_refuses_what_cannot_apply(presk: Run, program: Path) -> None:
    assert presk("dump", program, "--stage", "ast", "--entry", "double").code == 2
    assert presk("dump", program, "--stage", "nonsense").code == 2
    assert presk("dump", program).code == 2
    assert presk("dump", program, *ENTRY, "--stage", "c").code == 2
    assert presk("dump", program, *ENTRY, "--stage", "core", "--realize", "f64").code == 2
    assert presk("dump", program, *ENTRY, "--stage", "core", "--expand").code == 2
    refused(presk("dump", program, *ENTRY, "--stage", "core"), "E4001")


def test_dump_shows_what_a_plan_is(presk: Run, program: Path) -> None:
    """Of auto, its choices by site with the reasons: on their own, and as comments before the kernels."""
    given = ("dump", program, *ENTRY, "--dim", "batch=2")
    chosen = presk(*given, "--plan", "auto").out
    assert chosen.startswith("-- plan auto for ")
    assert "Linear{3, 2}.apply/%2: {" in chosen
    kernels = presk(*given, "--plan", "auto", "--stage", "kernel").out
    assert kernels.startswith(chosen)
    assert "-- 1 kernel, 1 launch, f32\n-- fusion: 2 launches without it, 1 saved (50%)\n" in kernels
    assert json.loads(presk(*given, "--plan", "default").out) == {"layout": {}}


def test_explain_error_knows_every_code(presk: Run) -> None:
    listed = presk("explain-error").out
    for code in json.loads(presk("explain-error", "--json").out):
        assert f"  {code}  " in listed
        assert presk("explain-error", code).out.startswith(f"{code}: ")
    assert presk("explain-error", " e3003 ").code == 0
    refused(presk("explain-error", "E0000"), "E9005")
    refused(presk("explain-error", ""), "E9005")


def test_env_tells_what_a_report_needs(presk: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESK_THREADS", "3")
    found = json.loads(presk("env", "--json").out)
    assert found["presk"] == library.__version__
    assert found["threads"] == 3
    assert found["backends"] == ["native", "kernel", "interp"]
    assert {"numpy", "python-flint"} <= found["libraries"].keys()
    assert "threads" in presk("env").out
    monkeypatch.setenv("PRESK_THREADS", "many")
    refused(presk("env"), "E9007")


# hash, diff


def test_hash_and_diff_tell_bits_apart(presk: Run, program: Path) -> None:
    np.save("a.npy", np.array([[1.0, 2.0]]))
    np.savez("b.npz", result=np.array([[1.0, 2.0]]))
    np.savez("c.npz", result=np.array([[1.0, np.nextafter(2.0, 3.0)]]))
    one, other = presk("hash", "b.npz").out, presk("hash", "c.npz").out
    assert one.split()[1] == "b.npz"
    assert one.split()[0] != other.split()[0]
    answer = presk("diff", "b.npz", "c.npz")
    assert answer.code == 1
    assert "`result` differs in 1 of 2 elements" in answer.out
    assert "first at [0, 1]: 2.0 and 2.0000000000000004, 1 ulp apart" in answer.out
    assert presk("diff", "b.npz", "b.npz").code == 0
    found = json.loads(presk("diff", "b.npz", "c.npz", "--json").out)["difference"]
    assert (found["index"], found["ulps"]) == ([0, 1], 1)
    assert found["second"] == {"decimal": 2.0000000000000004, "hex": "0x1.0000000000001p+1"}
    assert "is in the first only" in presk("diff", "a.npy", "b.npz").out


def test_hash_of_a_program_ignores_nothing_it_means(presk: Run, program: Path) -> None:
    before = presk("hash", program).out
    program.write_text("# Layout and comments don't count.\n" + program.read_text().replace("SCALE = 2", "SCALE  =  2"))
    assert presk("hash", program).out == before
    program.write_text(program.read_text().replace("SCALE  =  2", "SCALE = 2"))
    program.write_text(program.read_text().replace("SCALE = 2", "SCALE = 3"))
    assert presk("hash", program).out != before


@pytest.mark.parametrize("command", [("hash",), ("diff", "p.psk")])
def test_what_holds_no_arrays_is_refused(presk: Run, program: Path, command: tuple[str, ...]) -> None:
    Path("empty").mkdir()
    refused(presk(*command, "missing.npz"), "E8003" if command[0] == "diff" else "E8001")
    Path("notes.txt").write_text("no arrays")
    refused(presk("hash", "notes.txt"), "E8003")
    refused(presk("hash", "empty"), "E8003")


# The page


def test_the_page_of_the_command_line_is_current(root: Path) -> None:
    import runpy

    tool = runpy.run_path(str(root / "tools" / "cli.py"))
    assert (root / "docs" / "cli.md").read_text("utf-8") == tool["page"]()
