"""Codes E2xxx: names and imports."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
