"""PSK text to syntax tree, and back: lexer, parser with error recovery, formatter."""
