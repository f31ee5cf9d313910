"""Derivatives of primitives, a file a family; `table` collects them by name."""
