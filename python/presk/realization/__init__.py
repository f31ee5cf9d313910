"""Realizations and plans as data: in which machine numbers an entry is computed, and in which loops."""
