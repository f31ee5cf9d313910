"""What runs an entry: values and trees, the Backend seam and the backends, synthesized inputs, tensor files."""
