"""Plugins in a run from problem file to result."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import EntryPoint

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.errors import ProblemError
from fmident.plugins import Host, load_plugins

from ..study import Study

MakePlugin = Callable[[str, str], EntryPoint]

LEAST_SQUARES = EntryPoint("least-squares", "fmident_estimators.least_squares", "fmident")


def host_with(make_plugin: MakePlugin, source: str) -> Host:
    found = make_plugin("guest", "from fmident.plugins import hookimpl\n" + source)
    host = load_plugins(found=[LEAST_SQUARES, found])
    assert host.diagnostics == ()
    return host


def test_a_plugin_ends_the_run(make_plugin: MakePlugin, study: Study) -> None:
    source = """
from fmident.estimation.contract import StopEstimation
@hookimpl
def fmident_iteration(run, state):
    if state.number == 1:
        raise StopEstimation("that will do")
"""
    host = host_with(make_plugin, source)
    result = fmident.estimate(fmident.load_problem("problem.toml", host=host), host=host)
    assert result.status == "stopped"
    assert "plugin 'guest': that will do" in result.message
    assert result.cost_final < result.cost_initial
    assert len(result.history) == 2


def test_a_plugin_watches_the_run(make_plugin: MakePlugin, study: Study) -> None:
    source = """
import json
from pathlib import Path
@hookimpl
def fmident_run_started(run):
    run.memory["guest"] = [run.problem.source.name]
@hookimpl
def fmident_iteration(run, state):
    run.memory["guest"].append(state.cost)
@hookimpl
def fmident_run_finished(run, result):
    Path("seen.json").write_text(json.dumps([run.memory["guest"], result.cost_final]))
"""
    host = host_with(make_plugin, source)
    result = fmident.estimate(fmident.load_problem("problem.toml", host=host), host=host)
    (name, *costs), final = json.loads((study.folder / "seen.json").read_text())
    assert name == "problem.toml"
    assert costs == [state.cost for state in result.history]
    assert final == result.cost_final


def test_a_plugin_refuses_a_problem(make_plugin: MakePlugin, study: Study) -> None:
    source = """
from fmident.errors import Diagnostic
@hookimpl
def fmident_check_problem(problem):
    return [Diagnostic("warning", "look out"), Diagnostic("error", "not on Sundays", hint="wait")]
"""
    host = host_with(make_plugin, source)
    problem = fmident.load_problem("problem.toml", host=host)
    with pytest.warns(UserWarning, match="look out"), pytest.raises(ProblemError) as caught:
        fmident.estimate(problem, host=host)
    assert str(caught.value) == "problem.toml: not on Sundays\n  hint: wait"


def test_a_plugin_reads_data(make_plugin: MakePlugin, study: Study) -> None:
    source = """
import numpy, pandas
@hookimpl
def fmident_read_data(path, spec):
    if path.suffix == ".npz":
        return pandas.DataFrame(dict(numpy.load(path)))
"""
    table = pd.read_csv(study.data)
    np.savez(study.folder / "data.npz", **{name: table[name].to_numpy() for name in table})
    host = host_with(make_plugin, source)
    from_csv = fmident.load_problem("problem.toml", host=host)
    study.change('"data.csv"', '"data.npz"')
    from_npz = fmident.load_problem("problem.toml", host=host)
    np.testing.assert_array_equal(
        from_npz.experiments[0].measurements[0].values,
        from_csv.experiments[0].measurements[0].values,
    )


def test_a_broken_plugin_is_a_python_warning(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    from fmident.plugins import host as module

    broken = EntryPoint("broken", "surely_not_installed", "fmident")
    monkeypatch.setattr(module, "entry_points", lambda group: [LEAST_SQUARES, broken])
    with pytest.warns(UserWarning, match="plugin 'broken' cannot be used"):
        problem = fmident.load_problem("problem.toml")
    assert problem.estimator.name == "least-squares"
