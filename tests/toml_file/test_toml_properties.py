"""TOML: what is printed is read again, overrides change one key, places are those of the keys."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmident.toml_file import encoded, loads, quoted
from fmident.toml_file.overrides import apply_overrides, read_value
from fmident.toml_file.text import line_of, lines_of, statements

from ..properties import examples, keys, texts

plain = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    texts,
    st.dates(),
    st.times(),
    st.datetimes(),
)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
tables = st.dictionaries(keys, values, max_size=4)


@given(values)
@examples(80)
def test_what_is_printed_is_read_again(value: object) -> None:
    assert tomllib.loads(f"x = {encoded(value)}") == {"x": value}
    if not isinstance(value, str):
        assert read_value(encoded(value)) == value


@given(keys)
@examples(40)
def test_keys_that_are_printed_are_read_again(key: str) -> None:
    assert tomllib.loads(f"{quoted(key)} = 1") == {key: 1}
    assert tomllib.loads(f"[{quoted(key)}]") == {key: {}}


def one_per_line(value: list[Any]) -> str:
    return "[\n" + "".join(f"  {encoded(item)},  # [c] = 1\n" for item in value) + "]"


def as_long_text(value: str) -> str:
    inner = encoded(value)[1:-1].replace("\\n", "\n").replace("\\r\n", "\\r\\n")
    return f'"""\n{inner}"""'


@st.composite
def written(draw: st.DrawFn) -> tuple[str, dict[str, dict[str, Any]], dict[tuple[str, ...], int]]:
    """Return a text in TOML, its content, and the lines of its keys."""
    content = draw(st.dictionaries(keys, tables, min_size=1, max_size=3))
    lines: list[str] = []
    places: dict[tuple[str, ...], int] = {}
    for name, table in content.items():
        lines += draw(st.sampled_from([[], [""], ["# \u2028 not a line [x]"], ["# = [", ""]]))
        places[name,] = len(lines) + 1
        lines.append(f"[{quoted(name)}]  # so")
        for key, value in table.items():
            text = encoded(value)
            if isinstance(value, list) and draw(st.booleans()):
                text = one_per_line(value)
            elif isinstance(value, str) and draw(st.booleans()):
                text = as_long_text(value)
            places[name, key] = len(lines) + 1
            lines += f"{quoted(key)} = {text}".split("\n")
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + "\n", content, places


@given(written())
@examples(50)
def test_every_key_has_its_line(
    example: tuple[str, dict[str, Any], dict[tuple[str, ...], int]],
) -> None:
    text, _, places = example
    for path, line in places.items():
        assert line_of(text, path) == line


@given(written())
@examples(40)
def test_statements_are_all_of_the_text(example: tuple[str, Any, Any]) -> None:
    text = example[0]
    found = list(statements(text))
    lines = lines_of(text)
    assert [n for s in found for n in range(s.first, s.last + 1)] == list(range(len(lines)))
    for statement in found:
        tomllib.loads(statement.text)


@given(written(), values, st.data())
@examples(50)
def test_an_override_changes_one_key(
    example: tuple[str, dict[str, Any], Any], value: object, data: st.DataObject
) -> None:
    text, content, _ = example
    name = data.draw(st.sampled_from(sorted(content)))
    key = data.draw(st.one_of(keys, st.sampled_from(sorted(content[name]) or ["a"])))
    before = loads(text)  # a text of several lines has lost its own ends of lines
    changed = apply_overrides(text, {f"{quoted(name)}.{quoted(key)}": value}, "p.toml")
    assert loads(changed) == {**before, name: {**before[name], key: value}}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = [\n [1],\n [3]\n]\nb = 2\n", 5),
        ('a = """\n[c]\n"""\nb = 2\n', 4),
        ("a = '''\nb = 1\n'''\nb = 2\n", 4),
        ("# \u2028\nb = 2\n", 2),
        ('a = """"quoted""""\nb = 2\n', 2),
        ('a = "[" # {\nb = 2\n', 2),
    ],
)
def test_lines_within_a_value_are_not_keys(text: str, line: int) -> None:
    assert line_of(text, ("b",)) == line
    assert loads(apply_overrides(text, {"b": 7}, "p.toml")) == {**loads(text), "b": 7}


@pytest.mark.parametrize("name", ["\N{GRINNING FACE}", "\x7f", "é", "a\u2028b", 'b"c\\'])
def test_names_of_any_characters_can_be_overridden(name: str) -> None:
    changed = apply_overrides("a = 1\n", {quoted(name): 2}, "p.toml")
    assert loads(changed) == {"a": 1, name: 2}


def test_dates_and_what_is_not_a_number_can_be_overridden() -> None:
    changed = apply_overrides("a = 1\n", {"a": read_value("nan")}, "p.toml")
    assert math.isnan(loads(changed)["a"])
    day = read_value("2026-11-22")
    assert loads(apply_overrides("a = 1\n", {"a": day}, "p.toml")) == {"a": day}
