"""Names, dimensions and types: a program checked with nothing bound, and the one elaborator that binding shares.

The elaborator walks the syntax tree once per function and says what every expression is. While a program is checked,
sizes are symbolic and what it says is thrown away; while an entry is bound (`core.bind`), sizes are numbers and what
it says becomes PSK-Core. So checking and binding can't disagree on a rule.
"""
