"""PSK-Kernel: nodes, printer, reader; lowering by family; the layout space and the rule `auto`."""
