"""Codes E3xxx: types and shapes."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
