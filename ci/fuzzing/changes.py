"""Changes of texts, bytes, TOML and JSON at random."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

LONG = (
    "9" * 400,
    "9" * 5000,
    "-" + "1" * 4301,
    "x" * 5000,
    "0x" + "f" * 5000,
    "1e" + "9" * 300,
    "[" * 2000 + "]" * 2000,
    "(" * 3000 + ")" * 3000,
    "{a=" * 500 + "1" + "}" * 500,
    "a." * 2000 + "b",
    "1" * 131_073,
)
TOKENS = (
    "", "0", "-1", "1e400", "-1e400", "nan", "inf", "-inf", "1e-320", "true", "null", "[1]", "[]",
    "{}", "[[1]]", '""', '"x"', "''", "1979-05-27", "07:32:00", "2**64", "18446744073709551616",
    "\0", "\ufeff", "\u2028", "é", "\U0001f600", "%s", "{}", "{0.__class__}", "../../etc/passwd",
    "/dev/null", ".", "~", "-", "--", "\\", '"', "'", "#", ";", ",", "\t", "\r", "=", "]]>", "&lt;",
    "<!--", "1_000", "+5", "0b1", "1,5", "1.5.2", "1e5 ", "²", "٣", "\u00b5", "[", "]", "{", "}",
)  # fmt: skip


def token(random: Random) -> str:
    """Return something that is seldom expected."""
    return random.choice(LONG) if random.random() < 0.3 else random.choice(TOKENS)


def changed_text(text: str, random: Random) -> str:
    """Return a text with one to three changes in places that are anywhere."""
    for _ in range(random.choice((1, 1, 2, 3))):
        lines = text.split("\n")
        at, row = random.randrange(len(text) + 1), random.randrange(len(lines))
        match random.randrange(9):
            case 0:
                text = text[:at] + token(random) + text[at:]
            case 1:
                text = text[:at] + text[at + random.choice((1, 1, 3, 30, 300)) :]
            case 2:
                text = text[:at]
            case 3:
                lines.insert(random.randrange(len(lines)), lines[row])
                text = "\n".join(lines)
            case 4:
                del lines[row]
                text = "\n".join(lines)
            case 5:
                part = text[at : at + random.choice((1, 10, 100))]
                text = text[:at] + part * random.choice((2, 50, 2000)) + text[at:]
            case 6:
                numbers = list(re.finditer(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?", text))
                if numbers:
                    one = random.choice(numbers)
                    text = text[: one.start()] + token(random) + text[one.end() :]
            case 7:
                words = list(re.finditer(r"[A-Za-z_]\w*", text))
                if words:
                    one, other = random.choice(words), random.choice(words)
                    new = other[0] if random.random() < 0.5 else token(random)
                    text = text[: one.start()] + new + text[one.end() :]
            case 8:
                text = text[:at] + chr(random.randrange(1, 256)) + text[at + 1 :]
    return text


def changed_bytes(content: bytes, random: Random) -> bytes:
    """Return bytes with some of them others, gone or twice."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 3, 20))):
        at = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0 | 1:
                data[at : at + 1] = bytes([random.randrange(256)])
            case 2:
                del data[at : at + random.choice((1, 4, 100))]
            case 3:
                data[at:at] = random.randbytes(random.choice((1, 4, 100)))
            case 4:
                field = random.choice((b"\xff" * 4, b"\0" * 4, b"\xff" * 8, b"\x7f" + b"\xff" * 7))
                data[at : at + len(field)] = field
    return bytes(data[: random.randrange(len(data) + 1)] if random.random() < 0.1 else data)


def changed_toml(text: str, pool: Sequence[str], random: Random) -> str:
    """Return a TOML text with other values, keys, tables, or lines of the documentation."""
    for _ in range(random.choice((1, 1, 2))):
        lines = text.split("\n")
        settings = [i for i, line in enumerate(lines) if "=" in line]
        headers = [i for i, line in enumerate(lines) if line.startswith("[")]
        match random.randrange(6):
            case 0 | 1 if settings:
                row = random.choice(settings)
                lines[row] = f"{lines[row].split('=')[0]}= {token(random)}"
            case 2:
                lines.insert(random.randrange(len(lines) + 1), random.choice(pool))
            case 3 if headers:
                row = random.choice(headers)
                name = lines[row].strip("[]")
                lines[row] = random.choice(
                    (f"[[{name}]]", f"[{name}]", f"{name} = {token(random)}", f"[{name}.x]", "")
                )
            case 4 if settings:
                row = random.choice(settings)
                value = lines[row].split("=", 1)[1]
                lines[row] = f'"{token(random)}" ={value}'
            case _:
                return changed_text(text, random)
        text = "\n".join(lines)
    return text


def changed_json(value: Any, random: Random) -> Any:
    """Return a JSON value with one place in it changed."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, item in pairs:
            places.append((node, key))
            if isinstance(item, dict | list):
                walk(item)

    walk(value)
    for _ in range(random.choice((1, 1, 3))):
        node, key = random.choice(places)
        odd: list[Any] = [None, True, -1, 0, 10**400, 1e308, "x", "x" * 5000, [], [1], {}, [[[]]],
                          {"a": 1}, float("nan"), float("inf"), "\ud800", [None]]  # fmt: skip
        try:
            if random.random() < 0.2:
                del node[key]
            else:
                node[key] = random.choice(odd)
        except (KeyError, IndexError):
            continue  # an earlier change took it away
    return value
