"""What the options of a dataclass are, in words, from its annotations and its docstring."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import Any

from fmident.options import annotations_of, item_ranges, ranges, requirements, types_of
from fmident.toml_file.options import noun, written

_PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:[ \t]+[^\n]*\n|\n)+)", re.MULTILINE)


@dataclass(frozen=True)
class OptionRow:
    """One option.

    Parameters
    ----------
    name
        The key in the file.
    default
        As the file would write it; empty where the option is needed or absent by default.
    values
        What it may be.
    meaning
        From the docstring.
    """

    name: str
    default: str
    values: str
    meaning: str


def option_rows(kind: type[Any]) -> tuple[OptionRow, ...]:
    """Return the options of a dataclass in the order of its fields.

    Parameters
    ----------
    kind
        Its docstring, and those of the classes it derives from, describe the fields in NumPy style.
    """
    declared: Any = kind
    hints, types = annotations_of(declared), types_of(declared)
    meanings = _meanings(kind)
    return tuple(
        OptionRow(
            field.name,
            _default(field),
            _values(types[field.name], hints[field.name]),
            meanings.get(field.name, ""),
        )
        for field in dataclasses.fields(kind)
        if field.init
    )


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    if value is None or value is dataclasses.MISSING or value in ((), {}, []):
        return ""
    return written(list(value) if isinstance(value, tuple) else value)


def _values(plain: Any, annotated: Any) -> str:
    words = [noun(plain)]
    words += [str(limits) for limits in ranges(annotated)]
    words += [f"each {limits}" for limits in dict.fromkeys(item_ranges(annotated))]
    words += [f"requires {required}" for required in requirements(annotated)]
    return ", ".join(words)


def _plain(text: str) -> str:
    """Return a text without Sphinx's roles."""
    return " ".join(_ROLE.sub(r"`\1`", text).replace("``", "`").split())


def _meanings(kind: type[Any]) -> dict[str, str]:
    """Return what the docstrings say of the fields, those of the class itself before its bases'."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        text = _PARAMETERS.search(inspect.cleandoc(one.__doc__ or "") + "\n")
        for names, meaning in _ENTRY.findall(text.group(1)) if text else ():
            for name in names.split(","):
                found[name.strip()] = _plain(meaning)
    return found
