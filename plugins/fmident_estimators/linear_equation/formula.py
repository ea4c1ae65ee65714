"""Arithmetic formulas that a problem file may hold, such as ``"m*a0"``."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from types import CodeType

_FUNCTIONS = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log, "abs": abs}
_ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow,
    ast.USub, ast.UAdd, ast.Constant, ast.Name, ast.Load, ast.Call,
)  # fmt: skip


class Formula:
    """A formula of numbers, names, ``+ - * / **``, ``sqrt``, ``exp``, ``log`` and ``abs``.

    Parameters
    ----------
    source
        Text, or a number.

    Raises
    ------
    ValueError
        Anything else is in the text.
    """

    def __init__(self, source: str | float) -> None:
        self.text = str(source)
        try:
            tree = ast.parse(self.text, mode="eval")
        except SyntaxError as error:
            raise ValueError(f"'{self.text}' is not a formula ({error.msg})") from error
        for node in ast.walk(tree):
            if not isinstance(node, _ALLOWED) or not _is_plain(node):
                raise ValueError(
                    f"'{self.text}' holds more than numbers, names, + - * / ** and "
                    + ", ".join(_FUNCTIONS)
                )
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.names = frozenset(names - set(_FUNCTIONS))
        self._code: CodeType = compile(tree, self.text, "eval")

    def __call__(self, values: Mapping[str, float]) -> float:
        """Return the value; NaN where it is not defined, as in a division by zero.

        Parameters
        ----------
        values
            At least the formula's names.
        """
        try:
            # The tree holds arithmetic only: it was checked node by node.
            found = eval(self._code, {"__builtins__": {}, **_FUNCTIONS}, dict(values))
        except (ZeroDivisionError, ValueError, OverflowError):
            return math.nan
        return float(found) if isinstance(found, (int, float)) else math.nan

    def __repr__(self) -> str:
        return f"Formula('{self.text}')"


def _is_plain(node: ast.AST) -> bool:
    """Return whether a node of an allowed kind holds nothing but arithmetic."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        return known and len(node.args) == 1 and not node.keywords
    return True
