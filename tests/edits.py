"""Change a text file in a test: what is replaced must be there."""

from __future__ import annotations

from pathlib import Path


def replace_once(file: Path, old: str, new: str) -> None:
    """Replace text that is in the file exactly once."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    file.write_text(text.replace(old, new), encoding="utf-8")
