"""JSON that somebody may have changed: whatever is wrong with it is a ``ValueError``."""

from __future__ import annotations

import json
from typing import Any, NoReturn

_LONGEST_INTEGER = 18


def loads_json(text: str) -> Any:
    """Return the value of a JSON text; integers beyond 64 bits become floating-point numbers.

    Raises
    ------
    ValueError
        It is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply") from None


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


class JsonTable:
    """An object of a JSON file whose values are asked for with their types.

    Parameters
    ----------
    value
        What is there.
    place
        Keys from the root with dots between them, for messages.
    """

    def __init__(self, value: Any, place: str = "") -> None:
        self.place = place
        if not isinstance(value, dict):
            self._fail("", "an object")
        self._values: dict[str, Any] = value

    def keys(self) -> list[str]:
        """Return all keys."""
        return list(self._values)

    def values(self) -> dict[str, Any]:
        """Return the object as it is."""
        return self._values

    def raw(self, key: str, *default: Any) -> Any:
        """Return a value of any type.

        Raises
        ------
        ValueError
            There is none, and no default.
        """
        if key in self._values:
            return self._values[key]
        if default:
            return default[0]
        raise ValueError(f"'{self._name(key)}' is missing")

    def text(self, key: str, *default: str) -> str:
        """Return a text."""
        value = self.raw(key, *default)
        return value if isinstance(value, str) else self._fail(key, "a text")

    def maybe_text(self, key: str, *default: str | None) -> str | None:
        """Return a text or ``None``."""
        return None if self.raw(key, *default) is None else self.text(key, "")

    def flag(self, key: str, *default: bool) -> bool:
        """Return a boolean, or the default."""
        value = self.raw(key, *default)
        return value if isinstance(value, bool) else self._fail(key, "true or false")

    def count(self, key: str, *default: int) -> int:
        """Return a whole number that is not negative."""
        value = self.raw(key, *default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self._fail(key, "a whole number")
        return value

    def number(self, key: str, missing: float = float("nan")) -> float:
        """Return a number, `missing` where the file has ``null``."""
        return self._number(key, self.raw(key), missing)

    def named_numbers(self, key: str) -> dict[str, float]:
        """Return an object of numbers."""
        inner = self.table(key)
        return {name: inner.number(name) for name in inner.keys()}  # noqa: SIM118

    def listed(self, key: str, *default: list[Any]) -> list[Any]:
        """Return a list."""
        value = self.raw(key, *default)
        return value if isinstance(value, list) else self._fail(key, "a list")

    def texts(self, key: str, *default: list[Any]) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.listed(key, *default)
        return tuple(v if isinstance(v, str) else self._fail(key, "a list of texts") for v in value)

    def table(self, key: str, *default: Any) -> JsonTable:
        """Return an object inside this one."""
        return JsonTable(self.raw(key, *default), self._name(key))

    def maybe_table(self, key: str) -> JsonTable | None:
        """Return an object inside this one, ``None`` where there is none."""
        return None if self.raw(key, None) is None else self.table(key)

    def _number(self, key: str, value: Any, missing: float) -> float:
        if value is None:
            return missing
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._fail(key, "a number")
        return float(value)

    def _name(self, key: str) -> str:
        return f"{self.place}.{key}".strip(".")

    def _fail(self, key: str, wanted: str) -> NoReturn:
        raise ValueError(f"'{self._name(key) or 'the whole'}' is not {wanted}")
