"""The example plugin, installed as a stranger would install it and run."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from fmident.evaluation import InProcessExecutor, Simulated

from ..evaluation.executors import faults
from ..fmu.build import compiler
from ..outcomes import run_heard
from ..study import TRUE, Study

pytestmark = pytest.mark.slow  # many builds or whole runs

EXAMPLE = Path(__file__).parents[2] / "plugins" / "example"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which pip has installed the example from its wheel."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    offline = ["--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, str(folder), *offline, str(EXAMPLE)], capture_output=True, text=True
    )
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip("the build back end hatchling is not installed")
    assert done.returncode == 0, done.stderr
    return folder


def run_with(
    site: Path, *arguments: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import fmident.cli as c; "
    return subprocess.run(
        [sys.executable, "-c", code + "sys.exit(c.main())", str(site), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
    )


def test_is_found_through_its_entry_point(site: Path) -> None:
    done = run_with(site, "plugins")
    assert done.returncode == 0, done.stderr
    plugins = [x for x in done.stdout.splitlines() if "fmident-random-search 0.1.0" in x]
    assert [x.split()[0] for x in plugins] == [
        *("absolute-cost", "command-compiler", "error-ranking", "numpy-reader", "pool"),
        "random-search",
    ]
    assert all("works" in x for x in plugins)
    (item,) = [x for x in done.stdout.splitlines() if "keeps the best" in x]
    assert item.split()[:3] == ["random-search", "estimator", "random-search"]


def test_estimates_like_a_built_in_one(site: Path, study: Study) -> None:
    study.change('name = "least-squares"', 'name = "random-search"\nsamples = 40')
    done = run_with(site, "estimate", "problem.toml", "-o", "out")
    assert done.returncode == 0, done.stderr
    result = json.loads((study.folder / "out" / "result.json").read_text())
    assert (result["estimator"], result["status"]) == ("random-search", "limit")
    assert result["settings"]["options"] == {"samples": 40, "seed": 0}
    assert result["cost"]["final"] < result["cost"]["initial"]
    assert result["parameters"]["k"]["standard_error"] > 0.0


@pytest.mark.slow
def test_its_cost_is_minimised_by_a_built_in_estimator(site: Path, study: Study) -> None:
    arguments = ("estimate", "problem.toml", "-o", "out", "--set", "cost.name=absolute")
    done = run_with(site, *arguments, "--set", "cost.factor=2")
    assert done.returncode == 0, done.stderr
    result = json.loads((study.folder / "out" / "result.json").read_text())
    assert result["cost"]["name"] == "absolute"
    assert result["cost"]["options"] == {"factor": 2.0}
    for name, true in TRUE.items():
        assert result["parameters"][name]["value"] == pytest.approx(true, rel=0.05)


def test_its_options_are_checked_by_the_host(site: Path, study: Study) -> None:
    study.change('name = "least-squares"', 'name = "random-search"\nsample = 40')
    done = run_with(site, "estimate", "problem.toml", "-o", "out")
    assert done.returncode == 2
    assert "'random-search' has no option 'sample'" in done.stderr
    assert "'samples'" in done.stderr


def test_its_executor_gives_the_result_of_this_process(site: Path, study: Study) -> None:
    found = []
    for name, keys in (("inline", []), ("pool", ["workers=2", "start=forkserver"])):
        # It does not know of sensitivities, so the other one does without them.
        both = (f"executor={name}", "difference=forward")
        settings = [f"evaluation.{key}" for key in (*both, *keys)]
        chosen = [word for setting in settings for word in ("--set", setting)]
        done = run_with(site, "estimate", "problem.toml", "-o", name, *chosen)
        assert done.returncode == 0, done.stderr
        found.append(json.loads((study.folder / name / "result.json").read_text()))
    inline, pool = found
    about = pool["settings"]["evaluation"]
    assert (about["executor"], about["workers"]) == ("PoolExecutor", 2)
    for key in ("parameters", "cost", "status"):
        assert pool[key] == inline[key]
    counts = [
        pd.read_csv(study.folder / n / "history.csv")["simulations"] for n in ("inline", "pool")
    ]
    assert counts[0].tolist() == counts[1].tolist()
    assert pool["simulations"] == inline["simulations"]


def test_its_executor_loses_only_the_simulation_that_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiler() is None:
        pytest.skip("no C compiler")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    module = importlib.import_module("fmident_pool")
    problem = faults.make_problem(faults.build_faults(tmp_path), executor="pool", workers=2)
    sound = [faults.task(1.0 + k, k % 2) for k in range(6)]
    tasks = [*sound[:2], faults.task(1.0, kind=faults.CRASH), *sound[2:]]
    told: dict[int, Simulated] = {}
    with module.PoolExecutor(problem, module.PoolOptions()) as executor:
        outcomes = run_heard(executor, tasks, told.__setitem__)
        again = executor.run_all(sound)
    with InProcessExecutor(problem) as inline:
        expected = inline.run_all(sound)
    assert faults.failure(outcomes.pop(2)).parameters["kind"] == faults.CRASH
    assert faults.same(outcomes, expected)
    assert faults.same(again, expected)
    assert sorted(told) == list(range(7))


def test_is_short_enough_to_be_copied() -> None:
    for path in EXAMPLE.glob("fmident_*.py"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        assert len(lines) <= 80, path.name
