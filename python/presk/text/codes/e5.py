"""Codes E5xxx: derivatives."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
