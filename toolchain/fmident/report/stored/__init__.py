"""Reading result folders back."""

from fmident.report.stored.estimation import StoredResult, read_result

__all__ = ["StoredResult", "read_result"]
