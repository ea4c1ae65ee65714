"""Translation of expressions, functions and asserts to CasADi."""
