"""Packages that are installed by an extra of fmident."""

from __future__ import annotations

import importlib
from typing import Any

from fmident.errors import Code, EstimationError


def imported(name: str, estimator: str, extra: str) -> Any:
    """Return the module `name`, which `estimator` needs and `extra` installs."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0].replace("_", "-")
        raise EstimationError(
            f"the estimator '{estimator}' needs the package '{package}', which is missing: {error}",
            hint=f"pip install 'fmident[{extra}]'",
            code=Code.NOT_INSTALLED,
        ) from error
