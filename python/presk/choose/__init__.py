"""What is measured of realizations, and chosen by it: gaps, conformance, plans, precisions, quantized weights."""
