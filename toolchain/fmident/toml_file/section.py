"""Typed reading of TOML tables with locations in every message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fmident.errors import Code, FmidentError, Location, ProblemError, did_you_mean, shown
from fmident.toml_file.text import Keys as KeyPath
from fmident.toml_file.text import line_of, quoted

_MISSING: Any = object()


@dataclass(frozen=True)
class Source:
    """A TOML file.

    `path` is as given by the user, `error` the exception type for errors in it, and `title`
    the name of the file as a whole in messages.
    """

    path: Path
    text: str
    error: type[FmidentError] = ProblemError
    title: str = "the problem file"

    def where(self, keys: KeyPath) -> Location:
        """Return the location of a key."""
        return Location(str(self.path), line_of(self.text, keys))


@dataclass(frozen=True)
class Arguments(Source):
    """Tables made in Python, whose locations are names of arguments instead of lines.

    `names` replaces leading keys of a location: ``{("experiments", 0, "inputs"):
    "inputs"}``.
    """

    names: Mapping[KeyPath, str] = field(default_factory=dict)

    def where(self, keys: KeyPath) -> Location:
        """Return the argument and the keys in it, such as ``parameters.m.bounds``."""
        begin = next((n for n in range(len(keys), 0, -1) if keys[:n] in self.names), 0)
        words = [self.names[keys[:begin]]] if begin else []
        words += [quoted(k) if isinstance(k, str) else str(k) for k in keys[begin:]]
        return Location(".".join(words) or self.title)


class Section:
    """One table; every key must be asked for before :meth:`finish`, or it is unknown.

    Parameters
    ----------
    source
        The file.
    keys
        Keys of the table in it.
    table
        Its content.
    """

    def __init__(self, source: Source, keys: KeyPath, table: Mapping[str, Any]) -> None:
        self.source = source
        self.keys = keys
        self._table = table
        self._known: set[str] = set()
        if not isinstance(table, Mapping):
            raise source.error(
                f"{self.title}: this must be a table, not {_shown(table)}",
                location=source.where(keys),
                hint=f"write {self.title} on a line of its own, and its keys below",
                code=Code.WRONG_TYPE,
            )

    @property
    def title(self) -> str:
        """The table as written in the file, such as ``[parameters.m]``."""
        text = ".".join(quoted(k) for k in self.keys if isinstance(k, str))
        if self.keys and isinstance(self.keys[-1], int):
            return f"[[{text}]]"
        return f"[{text}]" if text else self.source.title

    def error(
        self, message: str, *keys: str, hint: str | None = None, code: str | None = None
    ) -> FmidentError:
        """Return an error at a key of this table."""
        where = self.source.where((*self.keys, *keys))
        return self.source.error(message, location=where, hint=hint, code=code)

    def at_key(self, error: FmidentError, *keys: str) -> FmidentError:
        """Return an error from elsewhere, located at a key of this table."""
        return self.error(error.message, *keys, hint=error.hint, code=error.code)

    def has(self, key: str) -> bool:
        """Return whether the key exists."""
        self._known.add(key)
        return key in self._table

    def raw(self, key: str, default: Any = _MISSING) -> Any:
        """Return a value of any type."""
        self._known.add(key)
        if key in self._table:
            return self._table[key]
        if default is _MISSING:
            raise self.error(f"{self.title} needs the key '{key}'", code=Code.MISSING_KEY)
        return default

    def number(self, key: str, default: Any = _MISSING) -> Any:
        """Return a number as float, or the default."""
        value = self.raw(key, default)
        return value if value is default else self._number(key, value)

    def text(self, key: str, default: Any = _MISSING) -> Any:
        """Return a string, or the default."""
        value = self.raw(key, default)
        if value is default or isinstance(value, str):
            return value
        raise self.wrong(key, value, "a string")

    def flag(self, key: str, default: bool) -> bool:
        """Return a boolean, or the default."""
        value = self.raw(key, default)
        if isinstance(value, bool):
            return value
        raise self.wrong(key, value, "true or false")

    def choice(self, key: str, options: Iterable[str], default: Any = _MISSING) -> Any:
        """Return one of the given words, or the default."""
        value = self.raw(key, default)
        allowed = list(options)
        if value is default or value in allowed:
            return value
        listed = ", ".join(f'"{o}"' for o in allowed)
        hint = did_you_mean(value, allowed, kind="choice") if isinstance(value, str) else None
        raise self.error(
            f"{self.title}: '{key}' is {_plain(value)}; it must be one of {listed}",
            key,
            hint=hint,
            code=Code.NOT_A_CHOICE,
        )

    def pair(self, key: str) -> tuple[float, float] | None:
        """Return two numbers, or ``None`` if the key is absent."""
        value = self.raw(key, None)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != 2:
            raise self.wrong(key, value, "a list of two numbers")
        return self._number(key, value[0]), self._number(key, value[1])

    def words(self, key: str) -> tuple[str, ...] | None:
        """Return a list of strings, or ``None`` if the key is absent."""
        value = self.raw(key, None)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.wrong(key, value, "a list of strings")
        return tuple(value)

    def table(self, key: str, default: Any = _MISSING) -> Section:
        """Return a table inside this one."""
        value = self.raw(key, default)
        if not isinstance(value, Mapping):
            raise self.wrong(key, value, f"a table, written [{key}]")
        return Section(self.source, (*self.keys, key), value)

    def as_dict(self) -> dict[str, Any]:
        """Return the table as a dictionary without marking its keys as read."""
        return dict(self._table)

    def items(self) -> list[tuple[str, Any]]:
        """Return all keys with their values, marking them as read."""
        self._known.update(self._table)
        return list(self._table.items())

    @property
    def unread(self) -> tuple[str, ...]:
        """Keys of the file that were not read."""
        return tuple(key for key in self._table if key not in self._known)

    def finish(self) -> None:
        """Raise the source's error type, with the nearest known key, if keys were not read."""
        for key in self.unread:
            raise self.error(
                f"unknown key '{key}' in {self.title}",
                key,
                hint=did_you_mean(key, self._known, kind="key"),
                code=Code.UNKNOWN_KEY,
            )

    def wrong(self, key: str, value: Any, wanted: str) -> FmidentError:
        """Return the error for a value of the wrong type."""
        message = f"{self.title}: '{key}' must be {wanted}, not {_shown(value)}"
        return self.error(message, key, code=Code.WRONG_TYPE)

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, value, "a number")
        try:
            return float(value)
        except OverflowError:
            raise self.wrong(key, value, "a number of ordinary size") from None


def _plain(value: Any) -> str:
    return shown(repr(value) if isinstance(value, str) else value)


def _shown(value: Any) -> str:
    names = {str: "the string", dict: "a table", list: "the list", bool: "the truth value"}
    kind = names.get(type(value), "")
    if isinstance(value, dict):
        return kind
    return f"{kind} {_plain(value)}".strip()
