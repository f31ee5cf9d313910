"""Codes E1xxx: text and syntax."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
