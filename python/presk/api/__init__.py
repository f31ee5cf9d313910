"""What users of Python meet, and the command line calls: programs, compiled entries, trees of arrays."""
