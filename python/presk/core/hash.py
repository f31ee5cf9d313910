"""The hash of a program's Core, by which realizations, plans and certificates know it again.

It is taken over the printed text without the names of lets: formatting, comments and local names of the source don't
count, numbers do, because sites go by them.
"""

from __future__ import annotations

import hashlib

from presk.core.nodes import Program
from presk.core.printer import print_program

PREFIX = "sha256:"


def core_hash(program: Program) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    return PREFIX + hashlib.sha256(print_program(program, names=False).encode()).hexdigest()
