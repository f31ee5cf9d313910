"""The command line `presk`: one thin file a command, loaded when it is called.

A command parses its flags, calls the Python API and prints; whatever it needs beyond click is imported inside it, so
that `presk --help` and shell completion stay quick.
"""

from __future__ import annotations


def main() -> None:
    """The console script: runs the command line under the guard and ends the process with its exit code."""
    import sys

    from presk.cli.guard import run

    sys.exit(run(sys.argv[1:]))
