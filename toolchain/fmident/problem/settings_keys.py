"""Keys of ``[evaluation]``, from the fields of the dataclass that holds their values.

What a key is called in the file, in which unit, and what it decides is annotated to its field::

    workers: Annotated[int | None, Range(least=1), WHO] = None
    memory_limit: Annotated[int | None, POSITIVE, InFile("memory_limit_mb", 1_000_000), WHO] = None
"""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any

from fmident.options import annotations_of, marked, types_of


@dataclass(frozen=True)
class Decides:
    """What a setting decides: :data:`WHO` or :data:`WHAT`."""

    words: str


WHO = Decides("who simulates")
"""Marks a setting that the result does not depend on: a run can be resumed with another value."""
WHAT = Decides("what is simulated")
"""Marks a setting that the result depends on."""


@dataclass(frozen=True)
class InFile:
    """How the file writes a setting, where that is not as the field holds it.

    Parameters
    ----------
    key
        Its name; ``None`` for a field that is not a key of its own.
    factor
        The field is the whole number below this times the number in the file; ``None``: the same.
    """

    key: str | None
    factor: int | None = None


@dataclass(frozen=True)
class SettingKey:
    """One field.

    Parameters
    ----------
    field
        Its name.
    key
        Its name in the file; ``None`` for a field that is not a key of its own.
    kind
        The type of its values other than ``None``.
    default
        Its default value.
    factor
        As of :class:`InFile`.
    decides
        :data:`WHO` or :data:`WHAT`; ``None`` where the field is not marked.
    """

    field: str
    key: str | None
    kind: Any
    default: Any
    factor: int | None
    decides: Decides | None

    def in_file(self, value: Any) -> Any:
        """Return the value of the field as the file would write it."""
        return value if value is None or self.factor is None else value / self.factor


def setting_keys(kind: Any) -> tuple[SettingKey, ...]:
    """Return the keys of a dataclass of settings, in the order of its fields."""
    hints, types = annotations_of(kind), types_of(kind)
    found = []
    for field in dataclasses.fields(kind):
        written = next(iter(marked(hints[field.name], InFile)), InFile(field.name))
        parts = [t for t in typing.get_args(types[field.name]) if t is not type(None)]
        optional = type(None) in typing.get_args(types[field.name]) and len(parts) == 1
        found.append(
            SettingKey(
                field.name,
                written.key,
                parts[0] if optional else types[field.name],
                field.default,
                written.factor,
                next(iter(marked(hints[field.name], Decides)), None),
            )
        )
    return tuple(found)


def as_written(settings: Any) -> dict[str, Any]:
    """Return all keys of a dataclass of settings with their values, as the file would write them.

    The options of an executor, which the file has in the same table, are among them.
    """
    found: dict[str, Any] = {}
    for setting in setting_keys(type(settings)):
        value = getattr(settings, setting.field)
        if setting.key is not None:
            found[setting.key] = setting.in_file(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            found |= dataclasses.asdict(value)
    return found


def deciding_what(settings: Any) -> dict[str, Any]:
    """Return the fields that the result depends on: all but those marked :data:`WHO`."""
    return {
        setting.field: getattr(settings, setting.field)
        for setting in setting_keys(type(settings))
        if setting.decides != WHO
    }
