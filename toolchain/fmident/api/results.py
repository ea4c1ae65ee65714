"""From a result folder back to a result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.errors import Code, EstimationError

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.profiles import ProfileResult


def load_result(path: str | os.PathLike[str]) -> EstimationResult | ProfileResult:
    """Read the result of an estimation, or profiles, from the folder that they were written to.

    Parameters
    ----------
    path
        The folder, its ``result.json`` or its ``profiles.json``.

    Returns
    -------
    fmident.EstimationResult or fmident.ProfileResult
        With the samples, iterations, vectors and estimates over time of the tables beside
        ``result.json``, to nine digits, as far as these are there.

    Raises
    ------
    fmident.errors.EstimationError
        There is no result, or somebody has changed it.
    """
    from fmident.report.profile_folder import FILE_NAME as PROFILES
    from fmident.report.result_json import FILE_NAME as RESULT
    from fmident.report.stored.estimation import read_result
    from fmident.report.stored.profiles import read_profiles
    from fmident.report.stored.samples import with_signals

    given = Path(path)
    folder = given if given.is_dir() else given.parent
    if given.name == PROFILES or (given.is_dir() and not (given / RESULT).exists()):
        file = given / PROFILES if given.is_dir() else given
        if not file.exists():
            raise EstimationError(
                f"there is neither '{folder / RESULT}' nor '{folder / PROFILES}'",
                hint="give the folder that 'fmident estimate' or 'fmident profile' wrote",
                code=Code.UNKNOWN_NAME,
            )
        return read_profiles(file)
    return with_signals(read_result(given).result, folder, required=False)
