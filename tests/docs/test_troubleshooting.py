"""Every message that the page on troubleshooting explains is still in the code."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)
INSERTED = "\N{HORIZONTAL ELLIPSIS}"


@functools.cache
def texts() -> tuple[str, ...]:
    """Return all texts of the code; what is inserted is an ellipsis."""
    found = []
    for top in ("toolchain", "plugins"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    parts = (getattr(part, "value", None) for part in node.values)
                    text = "".join(p if isinstance(p, str) else INSERTED for p in parts)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    text = node.value
                else:
                    continue
                found.append(text.replace("\n", " "))
    return tuple(found)


def test_message_is_in_the_code(subtests: pytest.Subtests) -> None:
    for message in MESSAGES:
        with subtests.test(message):
            known = message.replace(INSERTED, "").strip("'.:; ")
            assert len(known) > 10, "too little to be recognised"
            pieces = message.split(INSERTED)
            pattern = re.compile(f".*{INSERTED}.*".join(map(re.escape, pieces)))
            longest = max(pieces, key=len)
            assert any(pattern.search(text) for text in texts() if longest in text)


def test_there_are_as_many_as_readers_meet() -> None:
    assert 25 <= len(MESSAGES) <= 60
    assert len(set(MESSAGES)) == len(MESSAGES)
