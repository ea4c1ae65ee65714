"""Tables keep within the width of a terminal, without losing a word."""

from __future__ import annotations

import pytest

from fmident.report.terminal import narrow_table

HEADER = ["name", "values", "n", "meaning"]
ROWS = [
    ["strategy", "'best1bin', 'best1exp', 'rand1bin', 'rand1exp'", "12", "who is mutated, and how"],
    ["seed", "an integer", "3", "of the random numbers"],
]


@pytest.mark.parametrize("width", [120, 80, 60, 44])
def test_cells_of_several_columns_are_wrapped_where_that_is_needed(width: int) -> None:
    text = narrow_table(HEADER, ROWS, ["<", "<", ">", "<"], width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join([*HEADER, *(cell for row in ROWS for cell in row)]).split()
    assert sorted(w for w in text.split() if set(w) != {"-"}) == sorted(words)


def test_words_and_numbers_are_never_broken() -> None:
    text = narrow_table(HEADER, ROWS, ["<", "<", ">", "<"], 20)
    assert "'best1bin'," in text.split()
    assert "12" in text.split()


def test_columns_that_can_be_spared_go_first() -> None:
    rows = [["x", "12345.678", "▁▂▃▄▅▆▇█"]]
    text = narrow_table(["name", "mean", "course"], rows, ["<", ">", "<"], 16, ["mean"])
    assert "mean" not in text
    assert "▁▂▃▄▅▆▇█" in text
