"""Sizes as polynomials, exact constants, axes and their names, the types of values, and the alignment of operands."""
