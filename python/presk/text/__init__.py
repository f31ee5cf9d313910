"""What every text format of presk shares: spans, diagnostics and their codes, and the base of lexers and printers."""
