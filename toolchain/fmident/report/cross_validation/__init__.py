"""The result folder and the text of a cross-validation."""

from fmident.report.cross_validation.folder import (
    FILE_NAME,
    PAGE,
    PARAMETERS_PICTURE,
    SCORES_PICTURE,
    write_cross_validation,
)
from fmident.report.cross_validation.text import summary_text

__all__ = [
    "FILE_NAME",
    "PAGE",
    "PARAMETERS_PICTURE",
    "SCORES_PICTURE",
    "summary_text",
    "write_cross_validation",
]
