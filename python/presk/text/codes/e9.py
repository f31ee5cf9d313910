"""Codes E9xxx: backends and export."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
