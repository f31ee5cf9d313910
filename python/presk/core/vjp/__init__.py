"""Derivatives, Core to Core: a function to its forward half and its adjoint (docs/derivatives.md)."""
