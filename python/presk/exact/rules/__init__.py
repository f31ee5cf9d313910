"""What every primitive means over the reals: one planner a primitive, found by its name in `rules.table.RULES`.

A planner gets the let's types and attributes (`Task`) once and gives the function that computes its values (`Compute`):
index arithmetic is done when planning, so that an evaluation does arithmetic alone.
"""
