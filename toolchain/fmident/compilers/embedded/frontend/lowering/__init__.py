"""Expressions, functions and asserts of the syntax tree to CasADi expressions."""
