"""The problem file as it is edited: comments stay, and every change is on disk at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from fmident.errors import Code, Location, ProblemError

Key = str | int


class Draft:
    """A problem file, and what it was before each change.

    Parameters
    ----------
    path
        The file; made by the first change where there is none.

    Raises
    ------
    fmident.errors.ProblemError
        It is not TOML.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._document = tomlkit.document()
        self._earlier: list[str] = []
        if path.exists():
            self._read(path.read_text(encoding="utf-8"))

    @property
    def text(self) -> str:
        """The file's text."""
        return tomlkit.dumps(self._document)

    def content(self) -> dict[str, Any]:
        """Return the file as plain tables, lists and values."""
        plain: dict[str, Any] = self._document.unwrap()
        return plain

    def get(self, *keys: Key, default: Any = None) -> Any:
        """Return a plain value, or `default` where a key is missing."""
        value: Any = self.content()
        for key in keys:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return default
        return value

    def part(self, tables: Iterable[str]) -> str:
        """Return the text of some of its tables."""
        chosen = tomlkit.document()
        for name in tables:
            if name in self._document:
                chosen[name] = self._document[name]
        return tomlkit.dumps(chosen).strip("\n")

    def change(self, *keys: Key, value: Any) -> None:
        """Set a key, or remove it where the value is ``None``; missing tables are made."""
        if self.get(*keys) == value:
            return
        before = self.text
        table = self._table(keys[:-1], make=value is not None)
        last: Any = keys[-1]
        if value is not None:
            table[last] = value
        elif table is not None:
            table.pop(last)
        self._save(before)

    def add_experiment(self, content: Mapping[str, Any]) -> int:
        """Append an experiment and return its number, counted from 0."""
        before = self.text
        tables = self._document.setdefault("experiments", tomlkit.aot())
        tables.append(tomlkit.item(dict(content)))
        self._save(before)
        return len(tables) - 1

    def remove_experiment(self, number: int) -> None:
        """Remove an experiment."""
        before = self.text
        del self._document["experiments"][number]
        if not self._document["experiments"]:
            del self._document["experiments"]
        self._save(before)

    def replace(self, text: str) -> None:
        """Take another text."""
        before = self.text
        self._read(text)
        self._save(before)

    @property
    def can_undo(self) -> bool:
        """Whether there was a change."""
        return bool(self._earlier)

    def undo(self) -> None:
        """Take the last change back."""
        self._read(self._earlier.pop())
        self._write()

    def _read(self, text: str) -> None:
        try:
            self._document = tomlkit.parse(text)
        except TOMLKitError as error:
            raise ProblemError(
                f"'{self.path}' is not TOML: {error}",
                location=Location(str(self.path), getattr(error, "line", None)),
                hint="correct the file in an editor, or name another one",
                code=Code.UNUSABLE_FILE,
            ) from error

    def _table(self, keys: tuple[Key, ...], *, make: bool) -> Any:
        place: Any = self._document
        for key in keys:
            inside = key < len(place) if isinstance(key, int) else key in place
            if not inside:
                if not make:
                    return None
                place[key] = tomlkit.table(is_super_table=False)
            elif isinstance(place[key], str | int | float) and make:
                column, place[key] = place[key], tomlkit.inline_table()
                place[key]["column"] = column  # 'x = "column"' becomes a table of it
            place = place[key]
        return place

    def _save(self, before: str) -> None:
        self._earlier.append(before)
        self._write()

    def _write(self) -> None:
        temporary = self.path.with_name(f".{self.path.name}.part")
        temporary.write_text(self.text, encoding="utf-8")
        temporary.replace(self.path)
