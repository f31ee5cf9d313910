"""PSK-Core: nodes, verifier, printer and reader; binding an entry; simplification; derivatives; groups."""
