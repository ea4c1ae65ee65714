"""Comparison of results: parameters, fit, validation, model selection, effort."""

from fmident.report.comparison.choice import Compared
from fmident.report.comparison.results import (
    Comparison,
    compare_any,
    compare_results,
    comparison_json,
)
from fmident.report.comparison.text import comparison_text

__all__ = [
    "Compared",
    "Comparison",
    "compare_any",
    "compare_results",
    "comparison_json",
    "comparison_text",
]
