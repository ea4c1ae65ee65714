"""The problem file as it is edited: comments stay, and every change is on disk at once.

An editor may change the file meanwhile: its changes are taken over, and never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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
        self._on_disk: str | None = None
        self._changing = False
        if path.exists():
            self.read_changes()
            self._earlier.clear()

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

    @contextmanager
    def one_change(self) -> Iterator[None]:
        """Make the changes of the ``with`` statement one: all or none, written and undone at once.

        Raises
        ------
        fmident.errors.ProblemError
            An editor has made a file of it that is not TOML; it stays as it is.
        """
        if self._changing:
            yield
            return
        self.read_changes()
        before = self.text
        self._changing = True
        try:
            yield
            if self.text != before:
                self._write()
                self._earlier.append(before)
        except BaseException:
            self._document = tomlkit.parse(before)
            raise
        finally:
            self._changing = False

    def read_changes(self) -> bool:
        """Take over what an editor has changed in the file; return whether it has.

        Raises
        ------
        fmident.errors.ProblemError
            It is not TOML now.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
            if text == self._on_disk:
                return False
            document = tomlkit.parse(text)
        except FileNotFoundError:  # while the editor replaces it
            return False
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise ProblemError(
                f"'{self.path}' is not TOML: {error}",
                location=Location(str(self.path), getattr(error, "line", None)),
                hint="correct it in an editor; until then nothing is written to it",
                code=Code.UNUSABLE_FILE,
            ) from error
        self._earlier.append(self.text)
        self._document, self._on_disk = document, text
        return True

    def change(self, *keys: Key, value: Any) -> None:
        """Set a key, or remove it where the value is ``None``; missing tables are made."""
        with self.one_change():
            if self.get(*keys) == value:
                return
            table = self._table(keys[:-1], make=value is not None)
            last: Any = keys[-1]
            if value is not None:
                table[last] = value
            elif table is not None:
                table.pop(last)

    def add_experiment(self, content: Mapping[str, Any]) -> int:
        """Append an experiment and return its number, counted from 0."""
        with self.one_change():
            tables = self._document.setdefault("experiments", tomlkit.aot())
            tables.append(tomlkit.item(dict(content)))
            return len(tables) - 1

    def remove_experiment(self, number: int) -> None:
        """Remove an experiment."""
        with self.one_change():
            del self._document["experiments"][number]
            if not self._document["experiments"]:
                del self._document["experiments"]

    @property
    def can_undo(self) -> bool:
        """Whether there was a change."""
        return bool(self._earlier)

    def undo(self) -> None:
        """Take the last change back; that of an editor which is not shown yet is only shown."""
        if self.read_changes() or not self._earlier:
            return
        self._document = tomlkit.parse(self._earlier[-1])
        self._write()
        self._earlier.pop()

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

    def _write(self) -> None:
        temporary = self.path.with_name(f".{self.path.name}.part")
        text = self.text
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path)
        self._on_disk = text
