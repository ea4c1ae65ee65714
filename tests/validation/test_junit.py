"""JUnit XML that continuous integration can read."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from fmident.validation import Check, FmuReport, write_junit


def test_suites_cases_and_messages(tmp_path: Path) -> None:
    reports = [
        FmuReport(
            Path("fmus/A.B.fmu"),
            (
                Check("identity", "ok", "A.B", seconds=0.25),
                Check("reference r", "failed", 'off <by> "5" & more \x00\x1b[31m', 0.5, 1.0),
                Check("memory", "skipped", "cannot be measured"),
            ),
        ),
        FmuReport(Path("C.fmu"), (), "not a zip\nat all"),
    ]
    file = tmp_path / "deep" / "junit.xml"
    write_junit(reports, file)
    root = ElementTree.parse(file).getroot()
    assert root.tag == "testsuites"
    counts = {k: root.get(k) for k in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {
        "tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "1.250",
    }  # fmt: skip
    first, second = root.findall("testsuite")
    assert first.get("name") == "A.B"
    assert first.get("failures") == "1"
    cases = first.findall("testcase")
    assert [c.get("name") for c in cases] == ["identity", "reference r", "memory"]
    assert {c.get("classname") for c in cases} == {"A.B"}
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.text == 'off <by> "5" & more ??[31m'
    assert cases[2].find("skipped") is not None
    error = second.find("testcase/error")
    assert error is not None
    assert error.get("message") == "not a zip"
    assert error.text == "not a zip\nat all"


def test_all_that_was_found_is_there(tmp_path: Path) -> None:
    check = Check("model description", "finding", "first (and 2 more)", further=("second", "third"))
    report = FmuReport(Path("A.fmu"), (check,))
    file = tmp_path / "junit.xml"
    write_junit([report], file)
    assert report.passed
    assert ElementTree.parse(file).getroot().find("testsuite/testcase/failure") is None
    write_junit([report.strict()], file)
    failure = ElementTree.parse(file).getroot().find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.get("message") == "first (and 2 more)"
    assert failure.text == "first (and 2 more)\nsecond\nthird"
