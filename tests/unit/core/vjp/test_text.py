"""What derivatives add to Core's text: it reads back, and whatever is malformed is a diagnostic."""

from __future__ import annotations

import pytest

from presk.core.printer import print_program
from presk.core.reader import read_program
from presk.text.diagnostics import PreskError

TEXT = """fn f_forward(%0 : real[n: 3]) -> (real, (real[n: 3],)) of f(%1, %2) {
  %1 = exp(%0)
  %2 = sum(%1)
  %3 = (%1,)
  %4 = (%2, %3)
  %4
}

fn f_adjoint(%0 : real[n: 3], %1 : real) -> real[n: 3] {
  %2 = again exp(%0)
  %3 = mul(%1, %2, cotangent = 0)
  %3
}

fn f_grad(%0 : real[n: 3]) -> real[n: 3] of f() sha256_0123 {
  %1 = call f_adjoint(%0, 1)
  %1
}
"""


def test_it_reads_back() -> None:
    program = read_program(TEXT)
    assert print_program(program) == TEXT
    forward, adjoint, whole = program.functions
    assert forward.primal is not None
    assert (forward.primal.name, forward.primal.roots, forward.primal.core) == ("f", (1, 2), None)
    assert [let.again for let in adjoint.body.lets] == [True, False]
    assert whole.primal is not None
    assert whole.primal.core == "sha256:0123"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("of f(%1, %2)", "of f(%1", "E9101"),
        ("of f(%1, %2)", "of (%1)", "E9101"),
        ("of f(%1, %2)", "of f(x)", "E9101"),
        ("of f(%1, %2)", "off f(%1)", "E9101"),
        ("sha256_0123", "256", "E9101"),
        ("cotangent = 0", "cotangent = 2", "E9103"),
        ("cotangent = 0", "cotangent = x", "E9101"),
        ("cotangent = 0", "cotangent = 0, cotangent = 1", "E3002"),
        ("again exp(%0)", "exp(%0, cotangent = 0)", "E3002"),
        ("again exp(%0)", "again", "E9101"),
        ("(%1,)", "again (%1,)", "E2001"),
        ("(%2, %3)", "again call f(%1)", "E2001"),
    ],
)
def test_malformed_texts_are_diagnostics(old: str, new: str, code: str) -> None:
    with pytest.raises(PreskError) as error:
        read_program(TEXT.replace(old, new, 1))
    assert error.value.code == code
