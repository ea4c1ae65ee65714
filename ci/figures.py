"""Put the measured figures of the examples into their READMEs.

A command of a README writes its tables and facts into ``figures.json`` beside it. A table is in the
README under ``<!-- figures.json: NAME -->``, a fact as it is written somewhere in the text.

    python ci/figures.py                 # write the tables below their marks
    python ci/figures.py --against REV   # what differs from a revision by over 10 %, but for times

``tests/docs/test_figures.py`` fails where README and file differ.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"-?\d[\d ]*(?:\.\d+)?(?:e[+-]?\d+)?")
TIMES = re.compile(r"\b(?:time|s|ms|min|µs|microseconds)\b")
"""Depend on the machine: not compared with a revision."""

Figures = Mapping[str, Mapping[str, Any]]


def examples() -> Iterator[tuple[Path, Figures]]:
    """Yield each README that has figures, and these."""
    for file in sorted(ROOT.glob("examples/*/figures.json")):
        yield file.parent / "README.md", json.loads(file.read_text(encoding="utf-8"))


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a table as lines of Markdown."""
    first, *rest = (f"| {' | '.join(line)} |\n" for line in (header, *rows))
    return f"{first}{'|---' * len(header)}|\n{''.join(rest)}"


def updated(text: str, figures: Figures) -> str:
    """Return the text of a README with the tables of its figures.

    Raises
    ------
    ValueError
        A table has no mark.
    """
    for name, table in figures["tables"].items():
        head, mark, rest = text.partition(f"<!-- figures.json: {name} -->\n")
        if not mark:
            raise ValueError(f"no mark '<!-- figures.json: {name} -->'")
        text = head + mark + markdown(**table) + re.sub(r"\A(\|.*\n)*", "", rest)
    return text


def lost_facts(text: str, figures: Figures) -> list[str]:
    """Return the facts that are not in the text of a README."""
    prose = " ".join(text.split())
    return [
        f"{what}: {value}" for what, value in figures.get("facts", {}).items() if value not in prose
    ]


def cells(figures: Figures) -> dict[str, str]:
    """Return all that was measured by where it is; rows by their number."""
    found = {what: str(value) for what, value in figures.get("facts", {}).items()}
    for name, table in figures["tables"].items():
        for number, row in enumerate(table["rows"]):
            found |= {
                f"{name}, {row[0]} ({number}), {title}": cell
                for title, cell in zip(table["header"], row, strict=True)
            }
    return found


def differing(old: Figures, new: Figures, share: float = 0.1) -> list[str]:
    """Return the figures that differ by more than a share, times left out."""
    before, now = cells(old), cells(new)
    lines = [f"{where}: is gone" for where in before.keys() - now.keys()]
    for where, cell in now.items():
        pair = [
            [float(n.replace(" ", "")) for n in NUMBER.findall(text)]
            for text in (before.get(where, ""), cell)
        ]
        alike = len(pair[0]) == len(pair[1]) and all(
            abs(a - b) <= share * max(abs(a), abs(b)) for a, b in zip(*pair, strict=True)
        )
        if not alike and not TIMES.search(where) and not TIMES.search(cell):
            lines.append(f"{where}: was {before.get(where)!r}, is {cell!r}")
    return lines


def main() -> int:
    """Write the READMEs, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--against", metavar="REVISION")
    against = parser.parse_args().against
    found: list[str] = []
    for readme, figures in examples():
        name = readme.parent.name
        if against is None:
            text = readme.read_text(encoding="utf-8")
            readme.write_text(updated(text, figures), encoding="utf-8")
            found += [f"{name}: the README does not say {f}" for f in lost_facts(text, figures)]
        else:
            path = f"{against}:examples/{name}/figures.json"
            old = subprocess.run(["git", "show", path], cwd=ROOT, capture_output=True, check=True)
            found += [f"{name}: {line}" for line in differing(json.loads(old.stdout), figures)]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
