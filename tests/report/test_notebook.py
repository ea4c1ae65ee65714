"""What a notebook shows of a problem and of results."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from typing import Any

import pytest

from fmident.checking.result import CheckReport, ParameterCheck, in_stages
from fmident.estimation.result import EstimationResult
from fmident.findings import Finding, finding
from fmident.problem.model import Problem

from .test_profiles import NONE, bound, profile, reached
from .test_profiles import result as profile_result

MakeResult = Callable[..., EstimationResult]

EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """Collects the texts, and the tags with their classes; everything opened must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.classes: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.classes |= set((dict(attrs).get("class") or "").split())

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(t for t in self.texts if t)


def check(*findings: Finding, name: str = "m") -> CheckReport:
    parameters = (ParameterCheck(name, "kg", 2.5, "yes", 0.05),)
    return CheckReport("problem.toml", "model", "least-squares", findings, parameters)


def test_an_estimation_shows_verdict_and_parameters(make_result: MakeResult) -> None:
    page = Page(make_result()._repr_html_())
    assert "doubtful" in page.classes or "good" in page.classes
    assert not page.tags & {"script", "figure"}  # a notebook has no script of the report
    for words in ("Mechanisms.FMUs.DeltaInverse", "95.11", "[94.90, 95.32]", "N.s/m", "fixed"):
        assert words in page.text


def test_a_problem_shows_parameters_and_experiments(problem: Problem) -> None:
    mass, friction, offset = problem.parameters
    problem = replace(
        problem,
        parameters=(
            replace(mass, lower=0.5, scaling="log"),
            replace(friction, fixed=True),
            offset,
        ),
        validation=(replace(problem.experiments[0], name="sweep"),),
    )
    page = Page(problem._repr_html_())
    for words in ("axis", "0.5 … ∞", "log scaling", "fixed", "cycle 5 1 s", "sweep", "validation"):
        assert words in page.text


def test_profiles_show_verdict_and_intervals() -> None:
    page = Page(profile_result(profile(reached(1.0), reached(3.5)))._repr_html_())
    assert "doubtful" in page.classes
    assert "stiffness" in page.text
    flat = profile(bound(0.0, 0.01, -1), bound(9.0, 0.01, 1), NONE)
    assert "bad" in Page(profile_result(flat)._repr_html_()).classes


@pytest.mark.parametrize(
    ("findings", "grade", "words"),
    [
        ((), "good", "Can be estimated."),
        (
            (Finding("other", "warning", "the data are short", hint="measure"),),
            "doubtful",
            "→ measure",
        ),
        ((Finding("other", "error", "no input"),), "bad", "Cannot be estimated: no input."),
    ],
)
def test_a_check_shows_its_verdict_and_findings(
    findings: tuple[Finding, ...], grade: str, words: str
) -> None:
    page = Page(check(*findings)._repr_html_())
    assert grade in page.classes
    assert words in page.text
    assert "m to 2 %" in page.text


def test_a_check_in_stages_shows_each() -> None:
    page = Page(in_stages(["first", "second"], [check(), check()])._repr_html_())
    assert "Stage 'first'" in page.text
    assert "Stage 'second'" in page.text


def test_names_are_text(make_result: MakeResult, problem: Problem) -> None:
    result = make_result()
    shown: list[Any] = [
        replace(result, fmu_name=EVIL, findings=(finding("other", EVIL),),
                estimates=(replace(result.estimates[0], name=EVIL, description=EVIL),)),
        replace(problem, parameters=(replace(problem.parameters[0], name=EVIL, unit=EVIL),),
                experiments=(replace(problem.experiments[0], name=EVIL),)),
        profile_result(
            profile(reached(1.0), reached(3.5), name=EVIL), findings=(finding("other", EVIL),)
        ),
        replace(check(Finding("other", "error", EVIL, hint=EVIL), name=EVIL), problem=EVIL),
    ]  # fmt: skip
    for one in shown:
        page = Page(one._repr_html_())
        assert "script" not in page.tags
        assert EVIL in page.text


def test_a_repr_is_one_short_line(make_result: MakeResult, problem: Problem) -> None:
    many = {f"p{k}": 1.0 for k in range(50)}
    result = make_result()
    estimates = tuple(replace(result.estimates[0], name=name, value=v) for name, v in many.items())
    assert repr(replace(result, estimates=estimates)) == (
        "<EstimationResult converged: p0 = 1, p1 = 1, p2 = 1, p3 = 1, p4 = 1, p5 = 1, ...>"
    )
    assert repr(problem) == (
        "<Problem axis: 3 of 3 parameters searched, 1 experiment, least-squares>"
    )
    assert repr(check()) == "<CheckReport problem.toml: Can be estimated.>"
    assert repr(profile_result(profile(reached(1.0), reached(3.5)))) == (
        "<ProfileResult complete: stiffness [1, 3.5]>"
    )


def test_colours_are_those_of_the_report() -> None:
    folder = resources.files("fmident.report") / "templates"
    report, notebook = (
        (folder / name).read_text(encoding="utf-8") for name in ("report.css", "notebook.css")
    )

    def colours(text: str) -> list[dict[str, str]]:
        """Return each group of colours: those of light, of dark, perhaps of dark again."""
        blocks = [b for b in re.findall(r"\{([^{}]*)\}", text) if "--ink:" in b]
        return [dict(re.findall(r"--(\w+): *([^;]+);", b)) for b in blocks]

    light, dark = colours(report)
    assert colours(notebook) == [light, dark, dark]
    rules = re.sub(r"/\*.*?\*/", "", notebook)
    selectors = re.findall(r"([^{};]+)\{", rules)
    assert all(".fmident" in s or s.strip().startswith("@media") for s in selectors)


def test_what_draws_and_shows_is_not_imported_before() -> None:
    code = (
        "import sys, fmident; fmident.Problem, fmident.EstimationResult, fmident.ProfileResult;"
        "print([n for n in ('matplotlib', 'jinja2', 'fmident.report', 'fmident.api')"
        " if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
