"""Results of the checks of an FMU, and their JUnit file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

Outcome = Literal["ok", "finding", "failed", "skipped"]
"""``failed``: results are wrong, or the FMU is not what the catalogue says. ``finding``: against
the standard, or less exact than one would wish, with its figure. ``skipped``: it could not be done.
"""


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold; an FMU's messages may contain them."""


@dataclass(frozen=True)
class Check:
    """Result of one check.

    `detail` is the finding, or why the check was impossible; of those in `further`, it
    gives only the number. `figure` is the decisive number, such as a deviation over range;
    ``None`` if there is none. `seconds` is the wall time.
    """

    name: str
    outcome: Outcome
    detail: str
    figure: float | None = None
    seconds: float = 0.0
    further: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it has not failed."""
        return self.outcome != "failed"


@dataclass(frozen=True)
class FmuReport:
    """All checks of one FMU, in the order of execution.

    `unusable` says why the file cannot be used here; `checks` are then those before.
    """

    path: Path
    checks: tuple[Check, ...]
    unusable: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the file is usable and no check failed."""
        return self.unusable is None and all(c.passed for c in self.checks)

    def strict(self) -> FmuReport:
        """Return the report with findings treated as failures."""
        checks = (
            replace(c, outcome="failed") if c.outcome == "finding" else c for c in self.checks
        )
        return replace(self, checks=tuple(checks))

    @property
    def findings(self) -> int:
        """Number of checks with a finding."""
        return sum(c.outcome == "finding" for c in self.checks)

    @property
    def seconds(self) -> float:
        """Wall time of all checks."""
        return sum(c.seconds for c in self.checks)

    @property
    def deviation(self) -> float | None:
        """Maximum deviation from a reference over range; ``None`` without a reference."""
        figures = [c.figure for c in self.checks if c.name.startswith("reference ")]
        return max((f for f in figures if f is not None), default=None)


def write_junit(reports: Sequence[FmuReport], path: Path) -> None:
    """Write reports, one per FMU, as JUnit XML; the folder of `path` is created."""
    root = Element("testsuites", {"name": "fmident validate"})
    root.extend(_suite(report) for report in reports)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.attrib[key]) for suite in root)))
    root.set("time", f"{sum(r.seconds for r in reports):.3f}")
    indent(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _suite(report: FmuReport) -> Element:
    name, unusable = _clean(report.path.stem), report.unusable is not None
    counts = {
        "tests": len(report.checks) + unusable,
        "failures": sum(not c.passed for c in report.checks),
        "errors": int(unusable),
        "skipped": sum(c.outcome == "skipped" for c in report.checks),
    }
    suite = Element("testsuite", {"name": name, "file": _clean(str(report.path))})
    suite.attrib |= {key: str(count) for key, count in counts.items()}
    suite.set("time", f"{report.seconds:.3f}")
    for check in report.checks:
        _case(suite, name, check)
    if report.unusable is not None:
        case = SubElement(suite, "testcase", {"classname": name, "name": "open", "time": "0.000"})
        _explain(SubElement(case, "error", {"type": "unusable"}), report.unusable)
    return suite


def _case(suite: Element, name: str, check: Check) -> None:
    case = SubElement(
        suite,
        "testcase",
        {"classname": name, "name": _clean(check.name), "time": f"{check.seconds:.3f}"},
    )
    if check.outcome == "skipped":
        SubElement(case, "skipped", {"message": _clean(check.detail)})
    elif not check.passed:
        _explain(
            SubElement(case, "failure", {"type": "check"}),
            "\n".join((check.detail, *check.further)),
        )
    else:
        finding = "finding: " if check.outcome == "finding" else ""
        text = "\n".join((finding + check.detail, *check.further))
        SubElement(case, "system-out").text = _clean(text)


def _explain(element: Element, text: str) -> None:
    element.set("message", _clean(text.splitlines()[0] if text else ""))
    element.text = _clean(text)


def _clean(text: str) -> str:
    return _NOT_XML.sub("?", text)
