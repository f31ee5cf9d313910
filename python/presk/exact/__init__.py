"""The exact reference: what every program means over the reals, in ball arithmetic.

It stands beside the machine backends as an independent witness, so it imports neither kernels nor realizations. Start
at `presk.exact.evaluate`; `presk.exact.compile` turns Core into Python closures once, `presk.exact.rules` holds the
meaning of every primitive, and `presk.exact.values` what a caller gets back.
"""
