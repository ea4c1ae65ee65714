"""The packages that draw and judge, which the extra ``posterior`` installs."""

from __future__ import annotations

import importlib
from typing import Any

from fmident.errors import Code, EstimationError

_HINT = "pip install 'fmident[posterior]'"


def sampler() -> Any:
    """Return the package ``emcee``.

    Raises
    ------
    fmident.errors.EstimationError
        It is not installed.
    """
    return _imported("emcee")


def diagnostics() -> Any:
    """Return the diagnostics of ArviZ for arrays.

    Raises
    ------
    fmident.errors.EstimationError
        The package ``arviz-stats`` is not installed.
    """
    return _imported("arviz_stats.base").array_stats


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0].replace("_", "-")
        raise EstimationError(
            f"the estimator 'posterior' needs the package '{package}', which is missing: {error}",
            hint=_HINT,
            code=Code.NOT_INSTALLED,
        ) from error
