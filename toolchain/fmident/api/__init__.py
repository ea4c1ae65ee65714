"""The public functions of the library, and what the command line shares with them."""

from typing import Any

import fmident


def __getattr__(name: str) -> Any:
    """Return a function of the library: :mod:`fmident` has them all, imported on first use."""
    if name not in fmident.__all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(fmident, name)
