"""The conformance suite: every primitive and every example entry on a machine backend, against the exact reference.

`cases` says what is measured and on which operands, `suite` measures it and holds it to the bands, `cancellation` says
how ill-conditioned a sum is, `table` keeps the worst gaps. docs/conformance.md is the page.
"""
