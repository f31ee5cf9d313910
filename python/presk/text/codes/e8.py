"""Codes E8xxx: training, data, checkpoints."""

from presk.text.codes import Code

CODES: dict[str, Code] = {}
