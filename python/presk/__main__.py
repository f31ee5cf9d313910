"""`python -m presk` is the command line."""

from presk.cli import main

main()
