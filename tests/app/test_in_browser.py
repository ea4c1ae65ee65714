"""The whole way, as a user clicks it."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from fmident.cli import main
from fmident_app.guard import leading_to
from fmident_app.jobs import Jobs

from ..fmu.build import Fixture, description, real
from ..report.browser import started
from .served import LIMIT, AppPage, Server, opened

pytestmark = pytest.mark.slow  # they start a browser and processes

ROOT = Path(__file__).parents[2]
OSCILLATOR = ROOT / "examples" / "oscillator"
EXAMPLE = ROOT / "plugins" / "example"

Serve = Callable[..., Server]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as chromium:
        yield chromium


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return what starts servers, which end with the test."""
    servers: list[Server] = []

    def start(*arguments: str, **more: Any) -> Server:
        servers.append(Server(tmp_path, *arguments, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
    for job in Jobs(tmp_path).jobs:  # they outlive their servers
        if job.state in ("running", "paused"):
            job.stop()


@pytest.fixture(scope="module")
def fmu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("fmu") / "Oscillator.fmu"
    assert main(["build", str(OSCILLATOR / "Oscillator.mo"), "-o", str(file)]) == 0
    return file


def study(folder: Path, fmu: Path) -> None:
    """Make a folder with a problem that can be estimated."""
    shutil.copy(fmu, folder / "oscillator.fmu")
    shutil.copy(OSCILLATOR / "measured.csv", folder)
    (folder / "problem.toml").write_text(
        '[model]\nfmu = "oscillator.fmu"\n'
        "[parameters.m]\ninitial = 1.0\nbounds = [0.1, 20.0]\n"
        "[parameters.k]\ninitial = 200.0\nbounds = [10.0, 5000.0]\n"
        "[parameters.d]\ninitial = 1.0\nbounds = [0.0, 100.0]\n"
        '[[experiments]]\ndata = "measured.csv"\n'
        '[experiments.inputs]\nF = "force"\n[experiments.outputs]\nx = "position"\n'
        '[estimator]\nname = "least-squares"\n',
        encoding="utf-8",
    )


def values(folder: Path) -> dict[str, float]:
    """Return the values of a result, to the last bit."""
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return {name: p["value"] for name, p in result["parameters"].items()}


def test_from_an_fmu_and_a_file_to_exported_values(
    browser: Any, serve: Serve, fmu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    with opened(browser, server) as app:
        app.drop(fmu)
        app.sees("FMI 2.0")
        app.stage("Data")
        app.drop(OSCILLATOR / "measured.csv")
        app.sees("501 rows")
        app.stage("Parameters")
        for name in ("m", "d", "k"):
            app.tick(f"identify {name}")
        app.sees("Can be estimated.")
        app.stage("Estimate")
        app.click("Start")
        app.sees("run-1: done")
        app.stage("Results")
        report = app.page.frame_locator("iframe")
        report.get_by_text("every parameter is determined by the data").first.wait_for()
        app.click("Modelica modifier")
        app.sees("Modelica modifier of run-1: done")
        assert app.complaints == []
        assert app.hosts - {""} == {urlsplit(server.address).netloc}  # nothing from outside
    content = tomllib.loads((tmp_path / "problem.toml").read_text(encoding="utf-8"))
    assert content["model"] == {"fmu": "Oscillator.fmu"}
    assert content["experiments"] == [
        {"data": "measured.csv", "inputs": {"F": "force"}, "outputs": {"x": "position"}}
    ]
    text = (tmp_path / "results" / "run-1" / "run-1-modifier.txt").read_text(encoding="utf-8")
    assert "k=400." in text.replace(" ", "")
    monkeypatch.chdir(tmp_path)
    assert main(["estimate", "problem.toml", "-o", "by-command", "--quiet"]) == 0
    assert values(tmp_path / "by-command") == values(tmp_path / "results" / "run-1")


@pytest.mark.nightly
def test_two_experiments_one_of_them_for_validation(
    browser: Any, serve: Serve, fmu: Path, tmp_path: Path
) -> None:
    study(tmp_path, fmu)
    lines = (OSCILLATOR / "measured.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "second.csv").write_text("\n".join(lines[:300]) + "\n", encoding="utf-8")
    with opened(browser, serve("problem.toml")) as app:
        app.stage("Data")
        app.choose("Add a file of this folder", "second.csv")
        app.sees("299 rows")
        app.page.get_by_role("checkbox", name="for validation").nth(1).click()
        app.stage("Estimate")
        app.click("Start")
        app.sees("run-1: done")
        assert app.complaints == []
    experiments = tomllib.loads((tmp_path / "problem.toml").read_text("utf-8"))["experiments"]
    assert [e.get("role") for e in experiments] == [None, "validation"]
    result = json.loads((tmp_path / "results" / "run-1" / "result.json").read_text("utf-8"))
    assert [e["name"] for e in result["validation"]["experiments"]] == ["second"]


def test_a_modelica_file_with_an_error_is_shown_at_its_line(
    browser: Any, serve: Serve, tmp_path: Path
) -> None:
    text = (OSCILLATOR / "Oscillator.mo").read_text(encoding="utf-8")
    wrong = text.replace("der(x)", "derr(x)", 1)
    assert wrong != text
    line = next(n for n, row in enumerate(wrong.splitlines(), 1) if "derr(x)" in row)
    (tmp_path / "Oscillator.mo").write_text(wrong, encoding="utf-8")
    with opened(browser, serve("Oscillator.mo")) as app:
        app.click("Build")
        app.page.get_by_role("alert").first.wait_for()
        assert "derr" in app.page.get_by_role("alert").first.inner_text()
        assert f"{line}  " in app.page.locator("pre:visible").first.inner_text()
        (tmp_path / "Oscillator.mo").write_text(text, encoding="utf-8")
        app.click("Build")
        app.sees("FMI 2.0")
        assert app.complaints == []


def test_a_run_survives_its_server(browser: Any, serve: Serve, fmu: Path, tmp_path: Path) -> None:
    study(tmp_path, fmu)
    problem = tmp_path / "problem.toml"
    text = problem.read_text(encoding="utf-8")
    slow = 'name = "differential-evolution"\ngenerations = 100000\npopulation = 400\n'
    slow += "relative_tolerance = 0.0\nparameter_tolerance = 0.0\n"
    problem.write_text(text.replace('name = "least-squares"\n', slow), encoding="utf-8")
    server = serve("problem.toml")
    with opened(browser, server) as app:
        app.stage("Estimate")
        app.click("Start")
        app.sees("run-1: running, iteration 3")
        server.kill()
    with opened(browser, serve("problem.toml")) as app:
        app.stage("Estimate")
        app.sees("run-1: running, iteration")
        app.click("Pause run-1")
        app.sees("run-1: paused")
        app.click("Go on run-1")
        app.sees("run-1: running")  # the buttons are those of a running one from now on
        app.click("Stop run-1")
        app.sees("run-1: interrupted")
        app.click("Resume run-1")
        app.sees("run-1: running, iteration")
        app.click("Stop run-1")
        app.sees("run-1: interrupted")
        assert app.complaints == []
    assert (tmp_path / "results" / "run-1" / "result.json").exists()


@pytest.mark.nightly
def test_two_windows_show_the_same(browser: Any, serve: Serve, fmu: Path, tmp_path: Path) -> None:
    study(tmp_path, fmu)
    server = serve("problem.toml")
    with opened(browser, server) as one, opened(browser, server) as other:
        for window in (one, other):
            window.stage("Parameters")
        field = one.page.get_by_label("initial value of m")
        field.fill("2.5")
        field.press("Tab")
        other.page.wait_for_function(
            "document.querySelector('[aria-label=\"initial value of m\"]').value == '2.5'"
        )
        one.tick("identify d")
        other.page.get_by_label("initial value of d").wait_for(state="detached")
        one.click("Undo")
        other.page.get_by_label("initial value of d").wait_for()
    assert tomllib.loads((tmp_path / "problem.toml").read_text("utf-8"))["parameters"]["m"] == {
        "initial": 2.5, "bounds": [0.1, 20.0],
    }  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("notes.pdf", b"%PDF", "'notes.pdf' is neither a model nor data"),
        ("broken.fmu", b"no archive", "broken.fmu"),
        ("empty.csv", b"", "empty.csv"),
    ],
)
def test_wrong_files_are_refused_with_what_is_wrong(
    browser: Any, serve: Serve, tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    dropped = tmp_path / "elsewhere" / name
    dropped.parent.mkdir()
    dropped.write_bytes(content)
    with opened(browser, serve()) as app:
        app.drop(dropped)
        app.page.locator(".q-notification").get_by_text(told).first.wait_for()
        assert app.complaints == []
    assert not (tmp_path / "problem.toml").exists()


@pytest.mark.nightly
def test_an_estimator_of_a_plugin_appears_with_its_options(
    browser: Any, serve: Serve, fmu: Path, tmp_path: Path
) -> None:
    study(tmp_path, fmu)
    plugin = tmp_path / "plugin"
    described = plugin / "fmident_random_search-0.1.0.dist-info"
    described.mkdir(parents=True)
    shutil.copy(EXAMPLE / "fmident_random_search.py", plugin)
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: fmident-random-search\nVersion: 0.1.0\n"
    )
    (described / "entry_points.txt").write_text("[fmident]\nrandom-search=fmident_random_search\n")
    paths = os.pathsep.join([str(plugin), os.environ.get("PYTHONPATH", "")])
    with opened(browser, serve("problem.toml", environment={"PYTHONPATH": paths})) as app:
        app.stage("Estimate")
        app.page.get_by_label("Estimator", exact=True).locator("visible=true").first.click()
        app.page.get_by_role("option", name="random-search").click()
        app.page.get_by_label("samples").first.wait_for(state="attached")
        app.page.get_by_role("button", name="Options").click()
        app.page.get_by_label("samples").first.wait_for()
        assert app.complaints == []
    chosen = tomllib.loads((tmp_path / "problem.toml").read_text("utf-8"))["estimator"]
    assert chosen == {"name": "random-search"}


@pytest.mark.nightly
def test_parameters_with_names_of_their_own_and_a_value_for_each_experiment(
    browser: Any, serve: Serve, fmu: Path, tmp_path: Path
) -> None:
    study(tmp_path, fmu)
    problem = tmp_path / "problem.toml"
    text = problem.read_text(encoding="utf-8")
    text = text.replace("[parameters.k]", '[parameters.stiffness]\nvariable = "k"')
    text += '[[experiments]]\nname = "second"\ndata = "measured.csv"\n'
    text += '[experiments.inputs]\nF = "force"\n[experiments.outputs]\nx = "position"\n'
    problem.write_text(text, encoding="utf-8")
    with opened(browser, serve("problem.toml")) as app:
        app.stage("Parameters")
        app.sees("sets k")
        app.page.get_by_role("button", name="Parameter with a name of its own").click()
        app.page.get_by_label("name", exact=True).locator("visible=true").first.fill("half")
        field = app.page.get_by_label("expression of other parameters, such as 2 * k")
        field.fill("0.5 * stiffness")
        app.click("Add")
        expression = app.page.get_by_label("expression of half", exact=True)
        expression.wait_for()
        expression.fill("0.25 * stiffness")
        expression.press("Tab")
        app.click("more of d")
        app.click("A value for each experiment")
        app.sees("sets d in measured")
        app.sees("sets d in second")
        assert app.complaints == []
        before = tomllib.loads(problem.read_text("utf-8"))["parameters"]
        problem.write_text(problem.read_text("utf-8").replace("0.25 *", "0.125 *"), "utf-8")
        app.page.wait_for_function(
            "document.querySelector('[aria-label=\"expression of half\"]').value"
            " == '0.125 * stiffness'"
        )
    assert before["half"] == {"expression": "0.25 * stiffness"}
    own = {"initial": 1.0, "bounds": [0.0, 100.0], "variable": "d"}
    assert before["d_measured"] == {**own, "experiments": ["measured"]}
    assert before["d_second"] == {**own, "experiments": ["second"]}
    assert before["stiffness"]["variable"] == "k"


@pytest.mark.nightly
def test_many_parameters_are_ticked_in_a_tree(browser: Any, serve: Serve, tmp_path: Path) -> None:
    variables = [
        real(f"arm.link{n}.m", n, "parameter", variability="fixed", start=2.0) for n in range(1, 41)
    ]
    with zipfile.ZipFile(tmp_path / "arm.fmu", "w") as archive:
        text = description(Fixture("", "\n".join(variables)), "arm")
        archive.writestr("modelDescription.xml", text)
    with opened(browser, serve("arm.fmu")) as app:
        app.stage("Parameters")
        app.page.get_by_label("Search names and descriptions").locator("visible=true").fill("link7")
        shown = app.page.locator(".q-tree:visible")
        for part in ("arm", "link7"):
            shown.get_by_text(part, exact=True).click()
        shown.locator(".q-tree__node--child .q-checkbox").last.click()
        app.page.get_by_label("initial value of arm.link7.m").wait_for()
        app.click("Undo")
        app.page.get_by_label("initial value of arm.link7.m").wait_for(state="detached")
        assert app.complaints == []


def test_without_its_token_the_page_is_refused(serve: Serve) -> None:
    address = serve().address.partition("?")[0]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(address, timeout=LIMIT / 1000)
    assert refused.value.code == 403


@pytest.mark.nightly
def test_sliders_move_the_curves(browser: Any, serve: Serve, fmu: Path, tmp_path: Path) -> None:
    study(tmp_path, fmu)
    with opened(browser, serve("problem.toml")) as app:
        app.stage("Parameters")
        app.page.get_by_role("img", name="measured: x [m]").first.wait_for()
        before = drawn(app)
        number = app.page.get_by_label("value of m [kg]")
        number.fill("3")
        number.press("Tab")
        app.page.wait_for_function(f"({_LAST}) !== {before!r}")
        app.click("Start from here")
        app.sees("Can be estimated.")
    table = tomllib.loads((tmp_path / "problem.toml").read_text("utf-8"))["parameters"]["m"]
    assert table["initial"] == 3.0


_LAST = """[...document.querySelectorAll('[aria-label="measured: x [m]"]')].map(
  e => getElement(+e.id.slice(1)).chart.getOption().series.at(-1).data.at(-1)[1])[0]"""
"""The last simulated value of the chart."""


def drawn(app: AppPage) -> float:
    """Return the last simulated value that is drawn."""
    app.page.wait_for_function(f"({_LAST}) !== undefined")
    value: float = app.page.evaluate(_LAST)
    return value


def test_the_tour_goes_on_with_the_work_and_can_be_left(
    browser: Any, serve: Serve, fmu: Path, tmp_path: Path
) -> None:
    with opened(browser, serve()) as app:
        app.click("Tour with my model and data")
        app.sees("1 of 7, Model")
        app.drop(fmu)
        app.sees("2 of 7, Data")
        app.page.get_by_role("button", name="Show me").press("Enter")
        app.page.get_by_role("tab", name="Data", selected=True).wait_for()
        app.page.get_by_role("button", name="Leave the tour").press("Escape")
        app.page.get_by_role("region", name="Tour").wait_for(state="hidden")
        app.drop(OSCILLATOR / "measured.csv")
        app.sees("501 rows")
        app.click("Tour")
        app.sees("3 of 7, Parameters")
        app.page.wait_for_url("**/?tour=own")
        app.page.reload()
        app.sees("3 of 7, Parameters")
        assert app.complaints == []


@pytest.mark.nightly
def test_a_modelica_file_is_built_when_it_is_dropped(browser: Any, serve: Serve) -> None:
    with opened(browser, serve()) as app:
        app.drop(OSCILLATOR / "Oscillator.mo")
        app.sees("FMI 2.0")


def test_a_page_of_a_folder_leads_to_the_app(browser: Any, serve: Serve, tmp_path: Path) -> None:
    server = serve()
    page = tmp_path / "open.html"
    page.write_text(leading_to(server.address), encoding="utf-8")
    server.address = page.as_uri()
    with opened(browser, server) as app:
        app.sees("No model yet.")


def test_a_small_window_needs_no_horizontal_scrolling(
    browser: Any, serve: Serve, fmu: Path, tmp_path: Path
) -> None:
    """512 points are 1024 at a zoom of 200 %."""
    study(tmp_path, fmu)
    assert (
        main(["estimate", str(tmp_path / "problem.toml"), "-o", str(tmp_path / "results" / "one")])
        == 0
    )
    with opened(browser, serve("problem.toml")) as app:
        app.page.set_viewport_size({"width": 512, "height": 384})
        for name in ("Model", "Data", "Parameters", "Estimate", "Results"):
            app.stage(name)
            app.page.get_by_role("tabpanel").locator("visible=true").first.wait_for()
            assert app.page.evaluate("document.documentElement.scrollWidth") <= 512, name


@pytest.mark.nightly
def test_the_tour_on_the_delta_robot_arrives(browser: Any, serve: Serve, tmp_path: Path) -> None:
    with opened(browser, serve()) as app:
        app.click("Tour on a delta robot")
        app.click("Build")
        app.sees("2 of 7, Data")
        app.sees("FMI 2.0")  # what the build changes is shown
        app.stage("Data")
        app.choose("Add a file of this folder", "handling.csv")
        app.sees("3 of 7, Parameters")
        app.stage("Parameters")
        for name in ("platformMass", "coulombTorque", "viscousFriction"):
            app.tick(f"identify {name}")
        app.sees("5 of 7, Estimate")
        app.stage("Estimate")
        app.click("Start")
        app.sees("7 of 7, Results")
        app.stage("Results")
        app.page.frame_locator("iframe").get_by_text("converged").first.wait_for()
        app.click("Modelica modifier")
        app.sees("That is the whole way.")
        app.page.reload()
        app.sees("That is the whole way.")
        assert app.complaints == []
    assert not (tmp_path / "problem.toml").exists()
    result = json.loads((tmp_path / "fmident-tour/results/run-1/result.json").read_text("utf-8"))
    truth = {"platformMass": 1.35, "coulombTorque": 0.13, "viscousFriction": 0.0018}
    for name, value in truth.items():
        low, high = result["parameters"][name]["interval_95"]
        assert low < value < high
