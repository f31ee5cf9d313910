"""Codes E4xxx: binding an entry."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
