"""JUnit XML for continuous integration: a suite per FMU, a case per check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from fmident.validation.check import Check, FmuReport

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold; an FMU's messages may contain them."""


def write_junit(reports: Sequence[FmuReport], path: Path) -> None:
    """Write reports as JUnit XML.

    Parameters
    ----------
    reports
        One per FMU.
    path
        The file; its folder is made.
    """
    root = Element("testsuites", {"name": "fmident validate"})
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for report in reports:
        counts = _suite(root, report)
        for key, count in counts.items():
            totals[key] += count
    root.attrib |= {key: str(count) for key, count in totals.items()}
    root.set("time", f"{sum(r.seconds for r in reports):.3f}")
    indent(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _suite(root: Element, report: FmuReport) -> dict[str, int]:
    name = _clean(report.path.stem)
    suite = SubElement(root, "testsuite", {"name": name, "file": _clean(str(report.path))})
    for check in report.checks:
        _case(suite, name, check)
    if report.unusable is not None:
        case = SubElement(suite, "testcase", {"classname": name, "name": "open", "time": "0.000"})
        _explain(SubElement(case, "error", {"type": "unusable"}), report.unusable)
    counts = {
        "tests": len(report.checks) + (report.unusable is not None),
        "failures": sum(not c.passed for c in report.checks),
        "errors": int(report.unusable is not None),
        "skipped": sum(c.outcome == "skipped" for c in report.checks),
    }
    suite.attrib |= {key: str(count) for key, count in counts.items()}
    suite.set("time", f"{report.seconds:.3f}")
    return counts


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
