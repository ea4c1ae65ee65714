"""Reading the table ``[evaluation]``."""

from __future__ import annotations

from typing import get_args

import numpy as np

from fmident.fmu.interfaces import CHOICES
from fmident.fmu.setup import INTERPOLATIONS
from fmident.problem.model import DifferenceScheme, EvaluationSettings, ExecutorName
from fmident.toml_file import Section

_MEGABYTE = 1_000_000


def read_evaluation(root: Section) -> EvaluationSettings:
    """Read ``[evaluation]`` of the file, which may be absent.

    Raises
    ------
    fmident.errors.ProblemError
        Wrong types, unknown words, numbers out of range; with the line.
    """
    section = root.table("evaluation", {})
    default = EvaluationSettings()
    memory = section.number("memory_limit_mb", None)
    settings = EvaluationSettings(
        tolerance=section.number("tolerance", None),
        interpolation=section.choice("interpolation", INTERPOLATIONS, "auto"),
        interface=section.choice("interface", CHOICES, default.interface),
        difference=section.choice("difference", get_args(DifferenceScheme), default.difference),
        relative_step=section.number("relative_step", None),
        check=section.flag("check", default.check),
        timeout=section.number("timeout", default.timeout),
        executor=section.choice("executor", get_args(ExecutorName), default.executor),
        workers=_whole(section, "workers", 1),
        scheduler=section.text("scheduler", None),
        memory_limit=None if memory is None else int(memory * _MEGABYTE),
        renew_after=_whole(section, "renew_after", 1),
        broyden=_whole(section, "broyden", 0) or 0,
    )
    for key, value in (
        ("tolerance", settings.tolerance),
        ("relative_step", settings.relative_step),
        ("timeout", settings.timeout),
        ("memory_limit_mb", memory),
    ):
        if value is not None and not (np.isfinite(value) and value > 0.0):
            raise section.error(f"[evaluation]: '{key}' must be positive, not {value:g}", key)
    for key, value in (
        ("tolerance", settings.tolerance),
        ("relative_step", settings.relative_step),
    ):
        if value is not None and value >= 1.0:
            raise section.error(
                f"[evaluation]: '{key}' is relative and must be below 1, not {value:g}", key
            )
    if settings.scheduler is not None and settings.executor != "dask":
        raise section.error(
            f"[evaluation]: 'scheduler' belongs to executor = \"dask\", not to "
            f'"{settings.executor}"',
            "scheduler",
        )
    section.finish()
    return settings


def _whole(section: Section, key: str, least: int) -> int | None:
    """Return a whole number not below `least`, or ``None`` when the key is absent."""
    value = section.number(key, None)
    if value is None:
        return None
    if not np.isfinite(value) or value != int(value) or value < least:
        raise section.error(
            f"[evaluation]: '{key}' must be a whole number, {least} or more, not {value:g}", key
        )
    return int(value)
