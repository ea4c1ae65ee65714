"""The result folder and the text of a cross-validation."""

from fmident.report.cross_validation.folder import (
    CROSS_VALIDATION,
    PARAMETERS_PICTURE,
    SCORES_PICTURE,
    write_cross_validation,
)

__all__ = [
    "CROSS_VALIDATION",
    "PARAMETERS_PICTURE",
    "SCORES_PICTURE",
    "write_cross_validation",
]
