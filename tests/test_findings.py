from __future__ import annotations

import random

import pytest

from fmident.checking import CheckReport
from fmident.findings import SEVERITIES, Finding, finding, gravity, in_order, sentence


def test_findings_are_in_order_of_severity_and_then_of_their_codes() -> None:
    expected = [finding(code, f"about {code}") for code in SEVERITIES]
    expected.sort(key=lambda f: ("error", "warning", "note").index(f.severity))
    shuffled = [*expected, *expected]
    random.Random(0).shuffle(shuffled)
    assert list(in_order(shuffled)) == expected


def test_a_code_that_is_not_known_comes_last_of_its_severity() -> None:
    of_plugin = Finding("of-a-plugin", "warning", "mind this")
    last = finding("residuals-correlated", "correlated")
    note = finding("cost", "the cost fell")
    assert in_order([note, of_plugin, last]) == (last, of_plugin, note)
    assert gravity(None, "error") < gravity("failed", "warning")


@pytest.mark.parametrize(
    ("text", "expected"), [("a lies on a bound", "A lies on a bound."), ("Is it?", "Is it?")]
)
def test_a_clause_becomes_a_sentence(text: str, expected: str) -> None:
    assert sentence(text) == expected
    assert finding("other", text, "widen it").note == f"{expected} Widen it."


def test_no_lesser_warning_of_a_check_hides_that_parameters_cannot_be_told_apart() -> None:
    apart = Finding("not-identifiable", "warning", "m and k cannot be told apart")
    slow = Finding("sampling-slow", "warning", "'x' is sampled slowly")
    far = Finding("initial-far-from-model", "warning", "'x' is far from the model")
    broken = Finding("initial-simulation-fails", "error", "it fails")

    def report(*found: Finding) -> CheckReport:
        return CheckReport("problem.toml", "x.fmu", "least-squares", in_order(found))

    assert report(slow, far, apart).findings == (apart, slow, far)
    assert apart.text in report(slow, far, apart).headline
    assert broken.text in report(slow, apart, broken).headline
