"""How parameters depend on each other: expressions, dependent parameters, constraints.

Reading order: ``tree`` (what an expression is), ``reader`` (from text), ``jets`` (derivatives),
``dimensions`` (units), ``expression`` (all of these together), ``dependent``.
"""
