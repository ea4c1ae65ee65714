"""Apply a library's conversion scripts to Modelica text (Modelica 3.6, section 18.8.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fmident.compilers.conversions import Conversion
from fmident.compilers.scanner import (
    ClassText,
    Edit,
    Element,
    Token,
    behind,
    classes,
    dotted,
    edited,
    has,
    outside,
    tokens,
)


@dataclass
class Rules:
    """Rules of a script, by old class."""

    classes: Conversion
    elements: dict[tuple[str, str], str] = field(default_factory=dict)
    removed: dict[tuple[str, str], str] = field(default_factory=dict)
    """Modifiers that are left out, with their defaults."""
    messages: dict[str, str] = field(default_factory=dict)


def read_rules(script: Path) -> Rules:
    stream = tuple(tokens(script.read_text()))
    renamed: dict[str, str] = {}
    rules = Rules(Conversion("", renamed))
    i = 0
    while i < len(stream):
        name, end = stream[i].text, behind(stream, i + 1)
        first, second, third = (*_arguments(stream[i + 2 : end - 1]), [], [])[:3]
        assert has(stream, end, ";"), (script.name, name)
        if name == "convertClass":
            renamed.update(zip(first, second, strict=True))
        elif name == "convertElement":
            rules.elements.update({(owner, second[0]): third[0] for owner in first})
        elif name == "convertModifiers":
            old, _, default = second[0].partition("=")
            assert third == [""], "only the removal of a modifier is understood here"
            rules.removed.update({(owner, old): default for owner in first})
        else:
            assert name == "convertMessage", name
            rules.messages.update(dict.fromkeys(first, second[0]))
        i = end + 1
    return rules


def _arguments(stream: Sequence[Token]) -> list[list[str]]:
    """Return the strings of each argument."""
    result: list[list[str]] = [[]]
    commas = {k for k in outside(stream, 0) if stream[k].text == ","}
    for k, token in enumerate(stream):
        if k in commas:
            result.append([])
        elif token.kind == "string":
            result[-1].append(token.text.strip('"'))
    return result


@dataclass(frozen=True)
class Name:
    """A name in a text as it is written, and in full."""

    begin: int
    end: int
    written: str
    full: str


def names_of(text: str, libraries: Sequence[str]) -> list[Name]:
    """Return the names that begin with a library or an imported name of one."""
    stream = tuple(tokens(text))
    aliases = {name: name for name in libraries}
    for alias, target in re.findall(r"\bimport\s+(?:(\w+)\s*=\s*)?([\w.]+);", text):
        aliases[alias or target.rpartition(".")[2]] = target
    found, i = [], 0
    while i < len(stream):
        parts, end = dotted(stream, i)
        if not parts:
            i += 1
            continue
        if parts[0] in aliases and not has(stream, end, "=") and not has(stream, i - 1, "uses"):
            full = ".".join([aliases[parts[0]], *parts[1:]])
            found.append(Name(stream[i].offset, stream[end - 1].end, ".".join(parts), full))
        i = end
    return found


def converted(text: str, rules: Rules) -> tuple[str, list[str]]:
    """Return the text after the rules were applied, and the messages for its user."""
    text = re.sub(r", uses\(.*\)\)\);", ");", text)
    file = Path("converted.mo")
    edits: list[Edit] = []
    messages = []
    names = names_of(text, ["Mechanisms", "MechanismsMSL"])
    for name in names:
        if (message := rules.messages.get(name.full)) is not None:
            messages.append(f"{name.full}: {message}")
        new = rules.classes.new_name(name.full)
        if new is not None:
            short = name.written != name.full and not _imports(text, name)
            edits.append(Edit(file, name.begin, name.end, _short(name, new) if short else new))
    places = {name.begin: name.full for name in names}
    for item in classes(text, file):
        for element in item.elements:
            edits += _modifiers(item, element, places, rules, file)
    return edited(text, edits), messages


def _imports(text: str, name: Name) -> bool:
    return bool(re.search(r"import\s+(\w+\s*=\s*)?$", text[: name.begin]))


def _short(name: Name, new: str) -> str:
    """Return the new name by the alias where that is converted in the same way, else in full."""
    tail = name.written.partition(".")[2]
    return name.written if new.startswith("Modelica.Units.SI.") and new.endswith(tail) else new


def _modifiers(
    item: ClassText, element: Element, places: dict[int, str], rules: Rules, file: Path
) -> Iterator[Edit]:
    kinds = [places[t.offset] for t in item.tokens if t.offset in places]
    written = ".".join(element.type_name)
    owner = next((k for k in kinds if k == written or k.endswith("." + written)), written)
    for old, (begin, end) in element.own.items():
        if (owner, old) in rules.elements:
            token = item.tokens[begin]
            yield Edit(file, token.offset, token.end, rules.elements[owner, old])
        if (owner, old) in rules.removed:
            comma = item.tokens[end].text == ","
            first = item.tokens[begin if comma else begin - 1].offset
            yield Edit(file, first, item.tokens[end].offset + comma, "")
