"""Changes of files as rumoca is shown them. They come last, for places shift behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Edit:
    """New text from one character offset of a file to another."""

    file: Path
    begin: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit], original: str) -> str:
    """Return a text with edits; those of characters that it does not show are left out.

    Parameters
    ----------
    text
        A file, in which characters may be blank or changed that keep their places.
    edits
        Of that file.
    original
        The file as it is.
    """
    for edit in sorted(edits, reverse=True):
        around = slice(edit.begin - 1, edit.end + 1)
        if text[around] == original[around]:
            text = text[: edit.begin] + edit.text + text[edit.end :]
    return text
