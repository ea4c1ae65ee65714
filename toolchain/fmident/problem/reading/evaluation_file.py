"""Reading the table ``[evaluation]``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, get_args

import numpy as np

from fmident.errors import Location
from fmident.fmu.model_description.interfaces import CHOICES
from fmident.fmu.setup import INTERPOLATIONS
from fmident.options import OptionError
from fmident.problem.model import DifferenceScheme, EvaluationSettings
from fmident.toml_file import Section, build_dataclass

_MEGABYTE = 1_000_000

KEYS = {f.name for f in dataclasses.fields(EvaluationSettings)} | {"memory_limit_mb"}
"""Names that no option of an executor may have: keys of all executors."""


class TakesOptions(Protocol):
    """What reading a file has to know of an executor."""

    @property
    def options_type(self) -> type[Any]:
        """A dataclass whose fields are keys of ``[evaluation]``."""


Executors: TypeAlias = Mapping[str, TakesOptions]
"""Executors by name."""


@dataclass(frozen=True)
class NoOptions:
    """The options of an executor that has none."""


def read_evaluation(root: Section, executors: Executors | None = None) -> EvaluationSettings:
    """Read ``[evaluation]`` of the file, which may be absent.

    Parameters
    ----------
    root
        The file.
    executors
        Those that there are; without them any name is taken, and no options.

    Raises
    ------
    fmident.errors.ProblemError
        Wrong types, unknown words, numbers out of range; with the line.
    """
    section = root.table("evaluation", {})
    default = EvaluationSettings()
    try:
        settings = EvaluationSettings(
            tolerance=section.number("tolerance", None),
            interpolation=section.choice("interpolation", INTERPOLATIONS, "auto"),
            interface=section.choice("interface", CHOICES, default.interface),
            difference=section.choice("difference", get_args(DifferenceScheme), default.difference),
            relative_step=section.number("relative_step", None),
            check=section.flag("check", default.check),
            timeout=section.number("timeout", default.timeout),
            executor=_executor(section, executors, default.executor),
            workers=_whole(section, "workers"),
            memory_limit=_bytes(section, "memory_limit_mb"),
            renew_after=_whole(section, "renew_after"),
        )
    except OptionError as error:
        raise section.error(f"[evaluation]: {error}", error.option, code=error.code) from error
    options = _executor_options(section, executors or {}, settings.executor)
    section.finish()
    return dataclasses.replace(settings, executor_options=options)


def _executor(section: Section, executors: Executors | None, default: str) -> str:
    if executors is None:
        name: str = section.text("executor", default)
        return name
    chosen: str = section.choice("executor", sorted(executors), default)
    return chosen


def _executor_options(section: Section, executors: Executors, chosen: str) -> Any:
    """Return the options of the chosen executor; refuse those of the others."""
    kinds = {name: executors[name].options_type for name in sorted(executors)}
    options = {name: [f.name for f in dataclasses.fields(t)] for name, t in kinds.items()}
    own = options.get(chosen, [])
    for name, keys in options.items():
        for key in [k for k in keys if k not in own and section.has(k)]:
            raise section.error(
                f'[evaluation]: \'{key}\' requires executor = "{name}", not "{chosen}"', key
            )
    given = {key: section.raw(key) for key in own if section.has(key)}
    if not own:
        return None

    def where(key: str | None) -> Location:
        return section.source.where((*section.keys, *(() if key is None else (key,))))

    return build_dataclass(kinds[chosen], given, table=section.title, name=chosen, where=where)


def _whole(section: Section, key: str) -> int | None:
    """Return a whole number, or ``None`` when the key is absent."""
    value = section.number(key, None)
    if value is None:
        return None
    if not np.isfinite(value) or value != int(value):
        raise section.error(f"[evaluation]: {key} must be a whole number, not {value:g}", key)
    return int(value)


def _bytes(section: Section, key: str) -> int | None:
    """Return bytes from megabytes, or ``None`` when the key is absent."""
    value = section.number(key, None)
    if value is None:
        return None
    if not (np.isfinite(value) and value * _MEGABYTE >= 1.0):
        raise section.error(f"[evaluation]: {key} must be positive, not {value:g}", key)
    return int(value * _MEGABYTE)
