"""Check an FMU's files against the rules of FMI's text; none of its code runs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from fmident.validation.check import Check
from fmident.validation.rules import Finding, NotReadableError, examine_fmu
from fmident.validation.rules.registry import DESCRIPTION, STANDARDS

NAME = "FMI rules"
_MOST = 20
"""Findings of one rule that are shown; a flaw of the exporting tool is often in all variables."""


def check_rules(path: Path, by_fmpy: Check) -> Check:
    """Return which rules an FMU breaks.

    Parameters
    ----------
    path
        The FMU.
    by_fmpy
        What FMPy's validation has found, which is not said again.
    """
    began = time.perf_counter()
    try:
        document, found = examine_fmu(path)
    except NotReadableError as error:
        return Check(NAME, False, f"the rules cannot be checked: {error}")
    lines = _lines((by_fmpy.detail, *by_fmpy.further))
    new = [f for f in found if not (_said(f) and f.line in lines)]
    new.sort(key=lambda f: f.rule.tolerable)  # stable: failures come first
    texts = list(_texts(new, document.major))
    seconds = time.perf_counter() - began
    if not texts:
        standard = STANDARDS[document.major]
        besides = " besides" if len(new) < len(found) else ""
        return Check(NAME, True, f"nothing is against {standard}{besides}", seconds=seconds)
    first, *others = texts
    more = f" (and {len(others)} more)" if others else ""
    passed = all(f.rule.tolerable for f in new)
    return Check(NAME, passed, first + more, seconds=seconds, warning=passed, further=tuple(others))


def _lines(texts: Iterable[str]) -> set[int]:
    """Return the lines of the description that texts name."""
    return {int(n) for text in texts for n in re.findall(r"\(line ([0-9]{1,9})\)", text)}


def _said(finding: Finding) -> bool:
    return finding.rule.known_to_fmpy and finding.file == DESCRIPTION


def _texts(findings: list[Finding], major: int) -> Iterator[str]:
    for key, group in groupby(findings, key=lambda f: f.key):
        listed = list(group)
        yield from (" ".join(f.text(major).split()) for f in listed[:_MOST])
        if len(listed) > _MOST:
            yield f"{len(listed) - _MOST} more of the rule '{key}'"
