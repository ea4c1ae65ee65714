"""Keys of ``[evaluation]``, derived from the fields of its settings dataclass.

A field is annotated with its name and unit in the file and with what it decides::

    workers: Annotated[int | None, Range(least=1), WHO] = None
    memory_limit: Annotated[int | None, POSITIVE, InFile("memory_limit_mb", 1_000_000), WHO] = None
"""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any

from fmident.options import InFile, annotations_of, marked, types_of


@dataclass(frozen=True)
class Decides:
    """What a setting decides: :data:`WHO` or :data:`WHAT`."""

    words: str


WHO = Decides("who simulates")
"""Marks a setting that the result does not depend on: a run can be resumed with another value."""
WHAT = Decides("what is simulated")
"""Marks a setting that the result depends on."""


@dataclass(frozen=True)
class SettingKey:
    """One field of a settings dataclass.

    `key` is its name in the file, ``None`` if it is not a key itself, and `kind` the type
    of its values other than ``None``. `factor` is as in :class:`~fmident.options.InFile`, and
    `decides` is :data:`WHO` or :data:`WHAT`; ``None`` if the field is not annotated.
    """

    field: str
    key: str | None
    kind: Any
    default: Any
    factor: int | None
    decides: Decides | None

    def in_file(self, value: Any) -> Any:
        """Return the value of the field as written in the file."""
        return value if value is None or self.factor is None else value / self.factor


def setting_keys(kind: Any) -> tuple[SettingKey, ...]:
    """Return the keys of a dataclass of settings, in the order of its fields."""
    hints, types = annotations_of(kind), types_of(kind)
    keys = []
    for field in dataclasses.fields(kind):
        written = next(iter(marked(hints[field.name], InFile)), InFile(field.name))
        parts = [t for t in typing.get_args(types[field.name]) if t is not type(None)]
        optional = type(None) in typing.get_args(types[field.name]) and len(parts) == 1
        keys.append(
            SettingKey(
                field.name,
                written.key,
                parts[0] if optional else types[field.name],
                field.default,
                written.factor,
                next(iter(marked(hints[field.name], Decides)), None),
            )
        )
    return tuple(keys)


def as_written(settings: Any) -> dict[str, Any]:
    """Return all keys of a settings dataclass with their values as written in the file.

    This includes the options of an executor, which are in the same table.
    """
    written: dict[str, Any] = {}
    for setting in setting_keys(type(settings)):
        value = getattr(settings, setting.field)
        if setting.key is not None:
            written[setting.key] = setting.in_file(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            written |= dataclasses.asdict(value)
    return written


def deciding_what(settings: Any) -> dict[str, Any]:
    """Return the fields that affect the result, i.e. all but those marked :data:`WHO`."""
    return {
        setting.field: getattr(settings, setting.field)
        for setting in setting_keys(type(settings))
        if setting.decides != WHO
    }
