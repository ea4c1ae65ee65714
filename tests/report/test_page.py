from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fmident.errors import FmidentError
from fmident.estimation.comparisons import InputSignal, Validation
from fmident.estimation.contract import Iteration
from fmident.estimation.result import EstimationResult
from fmident.findings import finding
from fmident.report import estimate as page_module
from fmident.report.estimate import ESTIMATE, HtmlReporter, share_text
from fmident.report.figures.drawing import picture
from fmident.report.figures.fits import fit_chart
from fmident.report.figures.residuals import histogram_chart
from fmident.report.figures.search import cost_chart, searches
from fmident.report.sections import Section, Text

from .conftest import with_everything

pytestmark = pytest.mark.slow  # many builds or whole runs

MakeResult = Callable[..., EstimationResult]


def page(result: EstimationResult) -> str:
    return ESTIMATE.render(result, "delta.toml", "0.1.0")


class Balance(HTMLParser):
    """Collects tags that are opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "img", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag


def test_tags_are_balanced_and_nothing_is_loaded(make_result: MakeResult) -> None:
    html = page(make_result())
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    body = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert re.findall(r"""(?:src|href|url)\s*[=(](?!"#section-)""", body) == []


def test_the_policy_names_each_script_that_runs_by_its_hash(make_result: MakeResult) -> None:
    html = page(make_result())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    directives = dict(d.strip().split(" ", 1) for d in policy[1].split(";"))
    assert directives["default-src"] == "'none'"
    own = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    packed = re.findall(r'<script type="text/plain" id="library">(.*?)</script>', html)
    assert len(own) == len(packed) == 1
    library = zlib.decompress(base64.b64decode(packed[0]))
    named = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
        for text in (own[0].encode(), library)
    }
    assert set(directives["script-src"].split()) == named
    assert b"Bokeh" in library


def test_a_page_without_charts_runs_nothing(make_result: MakeResult) -> None:
    zero = tuple(replace(e, value=0.0) for e in make_result().estimates)
    html = page(make_result(fits=(), history=(), estimates=zero, identifiability=None))
    assert "<script" not in html
    assert "script-src" not in html


def test_sections_of_plugins_come_before_the_facts_of_the_run(make_result: MakeResult) -> None:
    added = [Section("Own", [Text("a paragraph")]), Section("Another", [])]
    html = ESTIMATE.render(make_result(), "delta.toml", "0.1.0", sections=added)
    headings = ["Measured against simulated", "Own", "Another", "Run"]
    positions = [html.index(f"<h2>{heading}</h2>") for heading in headings]
    assert positions == sorted(positions)
    parser = Balance()
    parser.feed(html)
    assert parser.open == []


def test_verdict_comes_first(make_result: MakeResult) -> None:
    html = page(make_result(status="limit"))
    positions = [html.index(text) for text in ('class="verdict doubtful"', "<h2>Parameters")]
    assert positions == sorted(positions)


def charts(html: str) -> list[dict[str, Any]]:
    found = re.findall(r'<script type="application/json">(.*?)</script>', html)
    return [json.loads(text) for text in found]


def test_charts_have_units_on_the_axes(make_result: MakeResult) -> None:
    first = charts(page(make_result()))[1]
    labels = [(p["x"]["label"], p["y"]["label"]) for p in first["panels"]]
    assert labels == [("", "tau[1] (N.m)"), ("time (s)", "residual (N.m)")]
    names = [m["name"] for p in first["panels"] for m in p["marks"]]
    assert names[:3] == ["measured", "initial", "fitted"]


def test_time_axes_of_an_experiment_are_linked(make_result: MakeResult) -> None:
    result = make_result()
    other = replace(result.fits[0], experiment="another")
    found = charts(page(replace(result, fits=(*result.fits, other))))[1:4]
    links = [{p["x"]["link"] for p in chart["panels"]} for chart in found]
    assert links == [{"time of cycle"}, {"time of cycle"}, {"time of another"}]


def test_names_cannot_inject_markup(make_result: MakeResult) -> None:
    evil = "<script>alert(1)</script>"
    result = make_result(message=evil, findings=(finding("other", evil),), fmu_name=evil)
    result = replace(
        result,
        estimates=(replace(result.estimates[0], name=evil, description=evil),),
        fits=(replace(result.fits[0], name=evil, experiment=evil),),
        correlation=np.eye(1),
    )
    html = ESTIMATE.render(result, title=evil, version="0.1.0")
    assert "<script>alert" not in html
    assert html.count("<script") == len(charts(html)) + 2
    assert charts(html)[1]["panels"][0]["y"]["label"] == f"{evil} (N.m)"


def test_stays_below_two_megabytes(make_result: MakeResult) -> None:
    result = make_result(6250)
    assert len(page(replace(result, fits=result.fits * 2))) < 2_000_000


def test_stays_small_with_a_hundred_experiments(make_result: MakeResult) -> None:
    result = make_result(2000)
    html = page(replace(result, fits=result.fits * 50))
    assert len(html) < 4_000_000
    assert "40 more: fit.csv has them." in html


def test_dollar_signs_and_odd_names_do_not_break_the_plot(make_result: MakeResult) -> None:
    fit = replace(make_result().fits[0], name="a$b_{c$", unit="$")
    assert b"a$b_{c$" in picture(fit_chart(fit))


@pytest.mark.parametrize("field", ["measured", "initial", "fitted"])
def test_signals_that_are_all_nan_leave_a_plot(make_result: MakeResult, field: str) -> None:
    fit = make_result().fits[0]
    nothing = replace(fit, **{field: np.full_like(fit.times, np.nan)})
    unknown = replace(fit, sigma=np.full_like(fit.times, np.nan))
    for one in (nothing, unknown):
        assert b"<svg" in picture(fit_chart(one))


def test_page_of_a_run_that_ended_before_any_fit(make_result: MakeResult) -> None:
    result = make_result(
        status="failed", fits=(), history=(), identifiability=None, cost_final=np.inf,
        correlation=np.full((3, 3), np.nan),
    )  # fmt: skip
    html = page(result)
    assert "ended before a fit could be computed" in html
    assert histogram_chart(()) is None


def test_same_result_same_bytes(make_result: MakeResult) -> None:
    result = make_result()
    assert page(result) == page(result)


def test_settings_are_tables_not_dictionaries(make_result: MakeResult) -> None:
    settings = {
        "options": {"solver": "scipy", "initial_trust_region": None},
        "difference_steps": {"mass": {"step": 0.003, "reason": "nearly linear"}},
        "local_results": [{"cost": 12.5, "parameters": [1.0, 2.0]}],
        "difference": "forward",
    }
    page = ESTIMATE.render(make_result(settings=settings), title="x", version="1")
    assert "<tr><th>solver</th><td>scipy</td></tr>" in page
    assert "<tr><th>initial_trust_region</th><td>default</td></tr>" in page
    assert "<tr><th>mass</th><td>0.003</td><td>nearly linear</td></tr>" in page
    assert "<tr><th>1</th><td>12.5</td><td>1, 2</td></tr>" in page
    assert "<dd>forward</dd>" in page
    assert "{'" not in page.split("<h2>Run</h2>")[1]


def test_the_cost_of_each_start_is_a_line_of_its_own(make_result: MakeResult) -> None:
    def state(number: int, start: float, cost: float) -> Iteration:
        details = {"start": start, "starts": 2.0, "local_cost": cost}
        return Iteration(number, np.zeros(1), min(cost, 5.0), number, 0, 0.0, details)

    costs = [(1.0, 9.0), (1.0, 5.0), (2.0, 80.0), (2.0, np.nan), (2.0, 30.0)]
    history = [state(k, start, cost) for k, (start, cost) in enumerate(costs)]
    assert searches(history) == [[9.0, 5.0], [80.0, 30.0]]
    chart, alone = cost_chart(history), cost_chart(make_result().history)
    assert chart is not None
    assert alone is not None
    drawn = picture(chart).decode()
    assert "iteration of each start" in drawn
    assert "best start" in drawn
    assert "best start" not in picture(alone).decode()
    assert "iteration" in picture(alone).decode()


def test_a_time_axis_that_just_misses_a_label_reaches_it(make_result: MakeResult) -> None:
    fit = make_result().fits[0]
    times = np.linspace(0.0, 3.998, fit.times.size)
    drawn = picture(fit_chart(replace(fit, times=times)))
    assert b">4.0<" in drawn
    short = picture(fit_chart(replace(fit, times=0.9 * times)))
    assert b">4.0<" not in short


def test_each_stage_has_a_table_of_its_own_options(make_result: MakeResult) -> None:
    settings = {
        "options": {"solver": "ceres", "starts": 1},
        "stages": {
            "search": {"generations": 12, "seed": 3},
            "polish": {"solver": "ceres", "starts": 1},
            "bare": {},
        },
    }
    page = ESTIMATE.render(make_result(settings=settings), title="x", version="1")
    run = page[page.index("<dt>Status") :]
    assert run.count('<table class="settings">') == 2
    search, polish = run.index("stage &#39;search&#39;"), run.index("stage &#39;polish&#39;")
    assert search < run.index("<th>generations</th>") < polish < run.index("<th>solver</th>")
    assert run.count("<th>solver</th>") == 1  # the last stage's are not told twice
    assert "stage &#39;bare&#39;" in run


def test_a_broken_section_costs_only_itself(
    make_result: MakeResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fits: object) -> None:
        raise TypeError("no such <argument>")

    monkeypatch.setattr(page_module, "histogram_chart", broken)
    problem: Any = SimpleNamespace(source=None, fmu=Path("delta.fmu"))
    said = r"\.py:\d+: the section 'Residuals .* of report\.html .*: TypeError: no such <argument>"
    with pytest.raises(FmidentError, match=said):
        HtmlReporter().write(make_result(), problem, tmp_path)
    html = (tmp_path / "report.html").read_text()
    assert "<h2>Residuals and cost</h2>" in html
    assert "could not be made: TypeError: no such &lt;argument&gt;" in html
    assert "<h2>Parameters</h2>" in html


def test_residuals_of_what_was_not_fitted_are_compared_with_its_own_inputs(
    make_result: MakeResult,
) -> None:
    result = make_result()
    later = replace(result.fits[0], experiment="later")
    result = replace(result, validation=Validation((later,), None))
    wave = np.sin(later.times)
    inputs = (
        InputSignal("cycle", "u", None, later.times, wave),
        InputSignal("later", "v", None, later.times, wave, fitted=False),
    )
    html = ESTIMATE.render(replace(result, inputs=inputs), title="x", version="1")
    assert "later, not fitted" in html.split("<h2>Residuals of each output</h2>")[1]
    titles = [[p["title"] for p in chart["panels"]] for chart in charts(html)]
    assert [t[-1] for t in titles if t[0] == "Histogram"] == [
        "With the input u",
        "With the input u",
        "With the input v",
    ]


def test_what_the_samples_tell_is_shown_with_a_sentence(make_result: MakeResult) -> None:
    result = with_everything(make_result())
    html = page(result)
    section = html.split("<h2>Sensitivities over time</h2>")[1].split("</section>")[0]
    assert "the standard error that it would have if all others were known" in section
    for one in result.sensitivities:
        assert f"<code>{one.name}</code>" in section
        for share in one.shares:
            assert f"{100.0 * share:.1f} %" in section
    links = [
        [p["x"]["link"] for p in chart["panels"]]
        for chart in charts(html)
        if chart["panels"][0]["y"]["label"] == "change / σ"
    ]
    assert links == [["time of cycle"], ["time of cycle"]]


def test_a_run_without_derivatives_says_that_there_are_no_sensitivities(
    make_result: MakeResult,
) -> None:
    html = page(make_result(identifiability=None))
    section = html.split("<h2>Sensitivities over time</h2>")[1].split("</section>")[0]
    assert "None: the run computed no derivatives" in section
    older = page(make_result())
    assert "None: the result does not hold them" in older


def test_inputs_share_the_time_axis_of_the_outputs(make_result: MakeResult) -> None:
    result = with_everything(make_result())
    (chart,) = [c for c in charts(page(result)) if c["panels"][0]["title"] == "u (V)"]
    assert [p["title"] for p in chart["panels"]] == ["u (V)", "valve (V)"]
    assert {p["x"]["link"] for p in chart["panels"]} == {"time of cycle"}
    assert "<h2>Inputs</h2>" not in page(make_result())


def test_every_section_can_be_reached_from_the_top(make_result: MakeResult) -> None:
    evil = Section("<b>evil</b>", [Text("words")])
    html = ESTIMATE.render(with_everything(make_result()), title="x", version="1", sections=[evil])
    links = re.findall(r'<a href="#(.*?)">(.*?)</a>', html)
    titles = [title for _, title in links]
    assert titles[0] == "Parameters"
    assert titles[-1] == "Run"
    assert "&lt;b&gt;evil&lt;/b&gt;" in titles
    for anchor, title in links:
        section = html.split(f'<section id="{anchor}"')[1]
        assert section.split("<h2>")[1].startswith(f"{title}</h2>")
    assert len({anchor for anchor, _ in links}) == len(links)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0.0 %"), (6e-7, "< 0.1 %"), (0.0012, "0.1 %"), (0.3333, "33.3 %"), (1.0, "100.0 %")],
)
def test_parts_of_the_information_have_one_decimal(share: float, text: str) -> None:
    assert share_text(share) == text
