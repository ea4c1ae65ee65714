"""Read the table ``[evaluation]``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args, get_origin

import numpy as np

from fmident.errors import Location
from fmident.options import OptionError
from fmident.problem.model import EvaluationSettings
from fmident.problem.settings_keys import SettingKey, setting_keys
from fmident.toml_file import Section, build_dataclass

KEYS = {
    name
    for setting in setting_keys(EvaluationSettings)
    for name in (setting.field, setting.key)
    if name is not None
}
"""Names that no option of an executor may have: keys of all executors."""


class TakesOptions(Protocol):
    """The part of an executor needed to read a problem file."""

    @property
    def options_type(self) -> type[Any]:
        """A dataclass whose fields are keys of ``[evaluation]``."""


Executors: TypeAlias = Mapping[str, TakesOptions]
"""Executors by name."""


@dataclass(frozen=True)
class NoOptions:
    """Options of an executor that has none."""


def read_evaluation(root: Section, executors: Executors | None = None) -> EvaluationSettings:
    """Read ``[evaluation]`` of the file, which may be absent.

    Without `executors`, any executor name is accepted, but no options. Raises
    `ProblemError`, with the line, for wrong types, unknown values and numbers out of range.
    """
    section = root.table("evaluation", {})
    values = {
        setting.field: _value(section, setting, setting.key, executors)
        for setting in setting_keys(EvaluationSettings)
        if setting.key is not None
    }
    try:
        settings = EvaluationSettings(**values)
    except OptionError as error:
        raise section.error(f"[evaluation]: {error}", error.option, code=error.code) from error
    options = _executor_options(section, executors or {}, settings.executor)
    section.finish()
    return dataclasses.replace(settings, executor_options=options)


def _value(section: Section, setting: SettingKey, key: str, executors: Executors | None) -> Any:
    """Return the value of a key, or its default."""
    if key == "executor" and executors is not None:
        return section.choice(key, sorted(executors), setting.default)
    if setting.factor is not None:
        return _scaled(section, key, setting.factor)
    if get_origin(setting.kind) is Literal:
        return section.choice(key, get_args(setting.kind), setting.default)
    readers = {bool: section.flag, float: section.number, str: section.text, int: _whole(section)}
    return readers[setting.kind](key, setting.default)


def _executor_options(section: Section, executors: Executors, chosen: str) -> Any:
    """Return the options of the chosen executor; reject those of others."""
    others = executors if section.unread else ()  # what is not asked for is not imported
    names = sorted({chosen, *others} & set(executors))
    kinds = {name: executors[name].options_type for name in names}
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


def _whole(section: Section) -> Callable[[str, int | None], int | None]:
    """Return a function that reads an integer, or returns the default if the key is absent."""

    def read(key: str, default: int | None) -> int | None:
        value: float | None = section.number(key, default)
        if value is None or value is default:
            return default
        if not np.isfinite(value) or value != int(value):
            raise section.error(f"[evaluation]: {key} must be a whole number, not {value:g}", key)
        return int(value)

    return read


def _scaled(section: Section, key: str, factor: int) -> int | None:
    """Return a number of the file in the smaller unit; ``None`` if the key is absent."""
    value = section.number(key, None)
    if value is None:
        return None
    if not (np.isfinite(value) and value * factor >= 1.0):
        raise section.error(f"[evaluation]: {key} must be positive, not {value:g}", key)
    return int(value * factor)
