"""Codes E6xxx: values at run time."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
