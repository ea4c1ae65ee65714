"""What a script can hold of the style guide (docs/style-guide.md)."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "style-guide.md"  # names the words itself
TEXTS = [
    path
    for folder in ("toolchain", "plugins", "docs", "examples", "ci", "modelica")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md", ".mo", ".c", ".h", ".j2") and path != GUIDE
] + [ROOT / "README.md"]

STANDS = r"\b[Ss]tands? (?:in|at|there|here|among|behind|beside|above|below|under|before)\b"
"""Not held in Modelica and C: their text is part of what FMUs are built from."""

NOT_BUT = {
    r"(?<!here )\b(?:is|are|was|were) no (?!longer|more|such|better|worse|larger|smaller|shorter"
    r"|sense|matter|other|need|accident|success|harm|dataclass|result)\w+": "is not a ...",
    r"wants? to end": "requested termination",
    r"tell its authors": "report it to its authors",
    r"leaves? memory behind": "leaks memory",
    r"\bheeds?\b": "respects",
    r"\b(?:came|comes) to t = ": "reached t =",
    r"What may stand in": "reference",
    r"\b(?:is|are|was|were|been|be) told\b(?! apart| from)": "is reported, receives",
    r"\b(?:[Tt]ells?|[Tt]old) of\b": "reports",
    STANDS: "is",
    r"\bdear(?:er|est)? to\b": "slow to, expensive to",
    r"\bmend(?:s|ed|ing)?\b": "fixes, repairs",
    r"\b(?:come|came|comes) to (?:the|a|an|its|be) (?:end|value|point|time|instant)\b": "reaches",
    r"^ *(?:told|stand|stands)(?:: [\w\[\], ]+)? = ": "a name that says what it is",
}


@functools.cache
def texts() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in TEXTS}


def test_words_of_the_style_guide(subtests: pytest.Subtests) -> None:
    for pattern in NOT_BUT:
        with subtests.test(NOT_BUT[pattern]):
            search = re.compile(pattern, re.MULTILINE)
            found = [
                f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
                for path, text in texts().items()
                if pattern != STANDS or path.suffix in (".py", ".md")
                for match in search.finditer(text)
            ]
            assert not found, f"write {NOT_BUT[pattern]!r}:\n" + "\n".join(found)
