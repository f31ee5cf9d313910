"""Codes E7xxx: realizations and plans."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
