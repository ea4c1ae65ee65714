"""Dimensions of expressions and equations."""
