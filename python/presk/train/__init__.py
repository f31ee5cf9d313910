"""Training and what goes with it: tokenizers, data, the loop, checkpoints, generation."""
