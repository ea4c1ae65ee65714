"""What rumoca says of source that it cannot parse, in words that help.

rumoca lists every token that could follow. Most often a semicolon is missing, and then that
is all there is to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fmident.errors import Diagnostic, Location

_SYNTAX = re.compile(
    r"×\s*(?P<what>.*?)\n\s*╭─\[(?P<file>.*?):(?P<line>\d+):(?P<column>\d+)\]", re.DOTALL
)
_EXPECTED = re.compile(r"help: expected (?:one of: )?(.*?)(?:\n\n|\n[A-Z]{2}\d+|\Z)", re.DOTALL)
_UNEXPECTED = re.compile(r"unexpected `(?P<token>[^`]*)`")
_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|\w+|[^\s\w]", re.DOTALL)

_OPERATORS = re.compile(
    r"and|or|not|[-*+/^]|dot(star|plus|minus|slash|circumflex)|circumflex|(lt|gt|equ)(equ|gt)?"
)
_OPEN = re.compile(
    r"algorithm|block|class|connector|connect|constant|discrete|each|else|elseif|elsewhen"
    r"|encapsulated|equation|expandable|extends|final|flow|for|function|if|import|impure|in"
    r"|initial|inner|input|loop|model|not|or|and|operator|outer|output|package|parameter|partial"
    r"|protected|public|pure|record|redeclare|replaceable|stream|then|type|when|while|within"
)
"""Words behind which no semicolon can be missing."""


def syntax_errors(item: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the parse errors in one of rumoca's findings."""
    text = str(item["message"])
    result = []
    for match in _SYNTAX.finditer(text):
        rest = text[match.end() :].split("×")[0]
        found = _EXPECTED.search(rest)
        expected = _tokens(found[1]) if found else []
        what = " ".join(match["what"].replace("│", " ").split())
        place = Location(match["file"], int(match["line"]), int(match["column"]))
        if "uplicate" in what:
            result.append(
                Diagnostic(
                    "error",
                    what.removeprefix("parse error: "),
                    place,
                    "correct the source here",
                    "duplicate",
                )
            )
            continue
        missing = _missing_semicolon(what, place) if ";" in expected else None
        message = f"syntax error: {what.replace('`', chr(39))}"
        hint = f"expected {_listed(expected)}" if expected else "correct the source here"
        if missing is not None:
            message, hint = missing
        result.append(Diagnostic("error", message, place, hint, "syntax-error"))
    return result


def _missing_semicolon(what: str, place: Location) -> tuple[str, str] | None:
    """Return message and hint when a semicolon is missing before the unexpected token."""
    unexpected = _UNEXPECTED.search(what)
    if unexpected is None or not re.match(r"\w", unexpected["token"]):
        return None
    assert place.line is not None
    assert place.column is not None
    try:
        lines = Path(place.file).read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        return None
    before = "".join(lines[: place.line - 1]) + lines[place.line - 1][: place.column - 1]
    code = [m for m in _CODE.finditer(before) if not m[0].startswith(("//", "/*"))]
    if not code or _OPEN.fullmatch(code[-1][0]):
        return None
    last = code[-1]
    if not re.match(r"[\w\")\]}]", last[0]):
        return None
    line = before.count("\n", 0, last.end()) + 1
    return (
        f"syntax error: expected ';' before '{unexpected['token']}'",
        f"end line {line} with a ';'" if line < place.line else "put a ';' there",
    )


def _tokens(text: str) -> list[str]:
    """Return the tokens of rumoca's list, in which the comma is one of them."""
    words = " ".join(text.split()).replace(", ,,", ", COMMA,").replace(", ,", ", COMMA")
    return ["," if word == "COMMA" else word for word in words.split(", ") if word]


def _listed(expected: list[str]) -> str:
    """Return the tokens in words; operators are one kind."""
    kinds = dict.fromkeys(
        "an operator" if _OPERATORS.fullmatch(token) else _shown(token) for token in expected
    )
    listed = list(kinds)
    if "an operator" in kinds:  # the commonest, and the least telling
        listed = [k for k in listed if k != "an operator"] + ["an operator"]
    if len(listed) > 8:
        signs = [k for k in listed if not k[1:2].isalpha()]
        listed = [*signs[:5], "a keyword"] if len(signs) < len(listed) else signs[:8]
    return listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " or " + listed[-1]


def _shown(token: str) -> str:
    names = {"colonequ": ":=", "string": "a text"}
    token = names.get(token, token.removesuffix(" (keyword)"))
    return token if token.startswith("a ") else f"'{token}'"
