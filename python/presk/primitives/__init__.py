"""The one table of primitives: name, operands, keywords, shape rule and doc of each."""
