"""The recorded answers, as data; used by the tests and by the program in omc's place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
MODELS = RECORDED / "models"
CALL = re.compile(r'(\w+)\(("[^"]*"|[\w.]*)')


@dataclass(frozen=True)
class Recorded:
    """One recorded call: function, subject (class, or stem of a file), what came back."""

    expression: str
    function: str
    subject: str
    value: str | None
    raised: str | None


def key(expression: str) -> tuple[str, str]:
    """Return function and subject of an expression."""
    match = CALL.match(expression)
    if match is None:
        return expression, ""
    subject = match[2]
    if subject.startswith('"'):
        subject = Path(subject.strip('"')).stem
    return match[1], subject


def ompython() -> list[Recorded]:
    """Return the calls of the OMPython session."""
    text = (RECORDED / "ompython-4.1.0-session.txt").read_text()
    found = []
    for block in re.split(r"^>>> ", text, flags=re.MULTILINE)[1:]:
        block = re.split(r"^#+ ", block, flags=re.MULTILINE)[0]
        expression, _, rest = block.partition("\n")
        expression = expression.strip()
        value = raised = None
        if match := re.match(r"\s+-> \w+ (.*)", rest, re.DOTALL):
            value = eval(match[1].strip(), {"__builtins__": {}})  # repr of str, bool, tuple
        elif match := re.match(r"\s+raised \S+ \| (.*)", rest, re.DOTALL):
            raised = match[1].rstrip("\n")
        found.append(Recorded(expression, *key(expression), value, raised))
    return found


def scripts() -> dict[tuple[str, str], str]:
    """Return what omc printed for each (function, class): value and messages."""
    text = (RECORDED / "omc-1.26.9-scripts.txt").read_text()
    found = {}
    for section in text.split("===== models/")[1:]:
        name, _, rest = section.partition(".mo\n")
        output = "\n".join(li for li in rest.splitlines() if not li.startswith("    | "))
        parts = re.split(r"^(loadFile|checkModel|buildModelFMU): $", output, flags=re.MULTILINE)
        for function, answer in zip(parts[1::2], parts[2::2], strict=True):
            found[function, name] = answer.strip("\n") + "\n"
    return found


def placed(text: str, cwd: str, home: str = "/home/user") -> str:
    """Put folders in the place of the recordings' names for them."""
    text = text.replace("<cwd>/models/", str(MODELS) + "/")
    return text.replace("<cwd>", cwd).replace("<home>", home)
