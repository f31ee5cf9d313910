"""Derivatives of entries, to be compiled: `presk.grad`, `presk.value_and_grad`, `presk.vjp`.

Each gives an Entry again, whose name says what it is: `grad(loss)`. They nest.
"""

from __future__ import annotations

from presk.api.program import Entry, find_entry
from presk.api.signature import whole_number
from presk.check.operators import Operator
from presk.text.diagnostics import fail


def grad(entry: Entry | str, wrt: int | tuple[int, ...] = 0) -> Entry:
    """The derivative of a scalar-valued entry with respect to an argument, counted from 0: a tree of its type.

    `wrt` may be a tuple of arguments; then so is the result. An entry that gives (real, record) is differentiated by
    the real. Integers and booleans have no derivative: E5001 when it is bound, and E5002 for any other result.
    """
    return _operated("grad", entry, wrt)


def value_and_grad(entry: Entry | str, wrt: int | tuple[int, ...] = 0) -> Entry:
    """The entry's value and its derivative, as `grad` gives it: the pair of both."""
    return _operated("value_and_grad", entry, wrt)


def vjp(entry: Entry | str, wrt: int | tuple[int, ...] = 0) -> Entry:
    """The transposed derivative of an entry: it takes the entry's arguments and then a cotangent of its result's type.

    The function's result must be stated, for it tells what the cotangent is.
    """
    return _operated("vjp", entry, wrt)


def _operated(kind: str, entry: Entry | str, wrt: int | tuple[int, ...]) -> Entry:
    found = find_entry(entry)
    chosen = wrt if isinstance(wrt, tuple) else (wrt,)
    numbers = tuple(whole_number("wrt", each) for each in chosen)
    if not numbers or min(numbers) < 0:
        raise fail("E5002", "`wrt` is the number of an argument, from 0, or a tuple of such")
    return found.program[Operator(kind, numbers, not isinstance(wrt, tuple)).name(found.name)]
