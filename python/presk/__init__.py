"""presk: programs over the exact real numbers, and their machine realizations with measured gaps."""

__version__ = "0.1.0"
