"""Executors of plugins: how a problem file chooses one, and what the host does with its flags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fmident
from fmident.cli import main
from fmident.errors import Code, Diagnostic, EstimationError, PluginError, ProblemError
from fmident.evaluation import (
    ExecutorKind,
    InProcessExecutor,
    SimulationTask,
    make_executor,
    runs_in_this_process,
)
from fmident.plugins import Host, load_plugins
from fmident_dask import DASK, DaskOptions

from ..outcomes import run_heard
from ..refused import refused
from ..study import Study

MakePlugin = Callable[[str, str], EntryPoint]

SITE = """
    from dataclasses import dataclass
    from fmident.evaluation import ExecutorKind, InProcessExecutor
    from fmident.plugins import hookimpl

    @dataclass(frozen=True)
    class Options:
        queue: str
        share: int = 2

        def __post_init__(self):
            if self.share < 1:
                raise ValueError("'share' must be positive")

    class SiteExecutor(InProcessExecutor):
        def __init__(self, problem, options):
            super().__init__(problem)
            self.options = options

    @hookimpl
    def fmident_register_executors(registry):
        kind = ExecutorKind(
            lambda problem, options, warn: SiteExecutor(problem, options),
            "the site's own",
            options_type=Options,
        )
        registry.add("site", kind)
"""


BROUGHT = {"dask": "fmident_dask", "least-squares": "fmident_estimators.least_squares"}


@pytest.fixture
def host(make_plugin: MakePlugin) -> Host:
    others = [EntryPoint(name, module, "fmident") for name, module in BROUGHT.items()]
    found = load_plugins(found=[make_plugin("site", SITE), *others])
    assert found.diagnostics == ()
    return found


def load(host: Host, **evaluation: object) -> fmident.Problem:
    changes = {f"evaluation.{key}": value for key, value in evaluation.items()}
    return fmident.load_problem("problem.toml", host=host, overrides=changes)


def test_options_of_an_executor_are_keys_of_evaluation(study: Study, host: Host) -> None:
    problem = load(host, executor="site", queue="night", workers=3)
    assert problem.evaluation.workers == 3
    with make_executor(problem, host.executors.by_name) as executor:
        found: Any = getattr(executor, "whole")  # noqa: B009 - what the plugin made
        assert (found.options.queue, found.options.share) == ("night", 2)
    assert load(host, executor="inline").evaluation.executor_options is None


@pytest.mark.parametrize(
    ("keys", "said", "hint"),
    [
        ({"executor": "sight"}, "'executor' is 'sight'; it must be one of", "'site'"),
        ({"executor": "dsk"}, '"auto", "dask", "inline", "processes", "site"', "'dask'"),
        ({"executor": "site"}, "'site' needs the option 'queue'", "add queue = ..."),
        ({"executor": "site", "queue": 3}, "option 'queue' of 'site' must be a text", ""),
        ({"executor": "site", "queue": "q", "share": 0}, "'share' must be positive", ""),
        ({"executor": "site", "queue": "q", "shar": 1}, "unknown key 'shar'", "'share'"),
        ({"queue": "q"}, '\'queue\' requires executor = "site", not "auto"', ""),
        (
            {"executor": "site", "queue": "q", "scheduler": "tcp://h:1"},
            '\'scheduler\' requires executor = "dask", not "site"',
            "",
        ),
        ({"executor": "dask", "scheduler": 8786}, "option 'scheduler' of 'dask' must be a", ""),
    ],
)
def test_wrong_choices_are_refused_with_their_line(
    study: Study, host: Host, keys: dict[str, object], said: str, hint: str
) -> None:
    lines = "\n".join(f"{k} = {v if isinstance(v, int) else repr(v)}" for k, v in keys.items())
    study.change("[estimator]", f"[evaluation]\n{lines}\n\n[estimator]")
    with pytest.raises(ProblemError) as caught:
        load(host)
    assert said in caught.value.message
    assert hint in (caught.value.hint or "")
    at = caught.value.location
    assert at is not None
    line = study.problem.read_text().splitlines()[(at.line or 0) - 1]
    assert line.split(" ")[0] in {"[evaluation]", *keys}


def test_an_executor_that_is_left_out_is_not_there(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--set", "evaluation.executor=dask"]
    assert main(["estimate", "problem.toml", "--no-plugin", "dask", "-q", *chosen]) == 2
    shown = capsys.readouterr().err
    assert "'executor' is 'dask'; it must be one of \"auto\"," in shown
    assert "Traceback" not in shown


def test_a_problem_made_in_python_with_an_unknown_executor(study: Study, host: Host) -> None:
    problem = load(host)
    settings = replace(problem.evaluation, executor="procesess")
    for asked in (make_executor, runs_in_this_process):
        with refused(Code.UNKNOWN_NAME, EstimationError, match="'procesess'") as caught:
            asked(replace(problem, evaluation=settings), host.executors.by_name)  # type: ignore[operator]
        assert "'processes'" in (caught.value.hint or "")


def test_options_of_another_executor_are_refused(study: Study, host: Host) -> None:
    problem = load(host)
    settings = replace(problem.evaluation, executor_options=DaskOptions("tcp://h:1"))
    with refused(
        Code.ESTIMATION_FAILED, EstimationError, match="'auto' has the options DaskOptions"
    ):
        make_executor(replace(problem, evaluation=settings), host.executors.by_name)


def test_a_protection_that_an_executor_does_not_give_is_reported(study: Study, host: Host) -> None:
    told: list[Diagnostic] = []
    keys = {"memory_limit_mb": 500, "renew_after": 10}
    for name, more in (("site", {"queue": "q"}), ("inline", {}), ("processes", {})):
        problem = load(host, executor=name, **keys, **more)
        make_executor(problem, host.executors.by_name, warn=told.append).close()
    said = [d.message.removeprefix("[evaluation]: ") for d in told]
    assert said == [
        "'memory_limit_mb' has no effect with executor = \"site\"",
        "'renew_after' has no effect with executor = \"site\"",
        "'memory_limit_mb' has no effect with executor = \"inline\"",
    ]


def test_an_fmu_is_tried_in_a_child_first_where_an_executor_does_not_isolate_it(
    study: Study, host: Host
) -> None:
    kinds = host.executors.by_name
    tried = {n: runs_in_this_process(load(host, executor=n), kinds) for n in ("dask", "processes")}
    tried["site"] = runs_in_this_process(load(host, executor="site", queue="q"), kinds)
    tried["auto"] = runs_in_this_process(load(host), kinds)  # of the embedded compiler
    assert tried == {"dask": False, "processes": False, "site": True, "auto": True}


def test_executors_are_listed_with_what_they_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    cells = [[cell.strip() for cell in row if cell] for row in rows]
    assert ["inline", "renew workers"] in cells
    able = "survive crashes, limit memory, renew workers"
    assert ["processes", able] in cells
    assert ["dask", f"{able}, use several machines", "scheduler"] in cells
    assert DASK.options == ("scheduler",)
    assert ExecutorKind(lambda p, o, w: InProcessExecutor(p), "plain").options == ()
    assert main(["plugins", "dask"]) == 0
    shown = capsys.readouterr().out
    assert '[evaluation]\nexecutor = "dask"' in shown
    assert "Address of a Dask scheduler" in " ".join(shown.split())


BROKEN = """
from fmident.evaluation import ExecutorKind, ExecutorReport, InProcessExecutor
from fmident.plugins import hookimpl

class Site(InProcessExecutor):
    {body}

{make}

@hookimpl
def fmident_register_executors(registry):
    registry.add("broken", ExecutorKind(make, "for a test"))
"""

MAKE = "def make(problem, options, warn): return Site(problem)"


@pytest.mark.parametrize(
    ("body", "make", "said", "line"),
    [
        ("def run(self, tasks): return None", MAKE, "'run' .* returned NoneType", "run"),
        (
            "def run(self, tasks): return tasks[9]",
            MAKE,
            "'run' .* IndexError",
            "tasks[9",
        ),
        ("def run(self, tasks): exit(4)", MAKE, "'run' .* SystemExit: 4", "exit"),
        ("def run(self): return []", MAKE, "'run' .* failed with TypeError", "def run"),
        ("def run(self, tasks): return []", MAKE, "returned 0 outcomes for 1", "run"),
        (
            "def run(self, tasks): return [[1.0]]",
            MAKE,
            "yielded list as an outcome",
            "def run",
        ),
        (
            "def run(self, tasks): return ((k, o.T) for k, o in super().run(tasks))",
            MAKE,
            r"of shape \(1, (\d+)\) and type float64, not \(\1, 1\)",
            "def run",
        ),
        ("simultaneous = 0", MAKE, "'simultaneous' of .* is 0, not a positive", "InProcessExec"),
        ("pass", "def make(problem): return Site(problem)", "making .* TypeError", "def make"),
        ("pass", "def make(*given): pass", "returned NoneType, not an Executor", "def make"),
        ("pass", "def make(*given): return 1 / 0", "failed with ZeroDivisionError", "def make"),
    ],
)
def test_a_bug_of_an_executor_is_reported_with_file_and_line(
    study: Study, make_plugin: MakePlugin, body: str, make: str, said: str, line: str
) -> None:
    host = load_plugins(
        found=[
            make_plugin("broken", BROKEN.format(body=body, make=make)),
            EntryPoint("least-squares", BROUGHT["least-squares"], "fmident"),
        ]
    )
    problem = load(host, executor="broken")
    tasks = [SimulationTask(0, {})]
    with pytest.raises(PluginError, match=said) as caught:  # noqa: SIM117 - where is the point
        with make_executor(problem, host.executors.by_name) as executor:
            executor.run_all(tasks)
    assert "the executor 'broken' (fmident_test_broken)" in caught.value.message
    assert "bug in the plugin" in (caught.value.hint or "")
    place = caught.value.location
    assert place is not None
    if "simultaneous" not in body:
        assert line in Path(place.file).read_text().splitlines()[(place.line or 0) - 1]


def test_a_list_of_outcomes_is_understood(study: Study, make_plugin: MakePlugin) -> None:
    """Executors had to return one, and to call a function with each outcome."""
    body = "def run(self, tasks, done=None): return [o for _, o in super().run(tasks)]"
    broken = make_plugin("broken", BROKEN.format(body=body, make=MAKE))
    others = [EntryPoint("least-squares", BROUGHT["least-squares"], "fmident")]
    host = load_plugins(found=[broken, *others])
    tasks = [SimulationTask(0, {}), SimulationTask(0, {"m": 2.0})]
    with make_executor(load(host, executor="broken"), host.executors.by_name) as executor:
        one, two = executor.run_all(tasks)
    assert isinstance(one, np.ndarray)
    assert isinstance(two, np.ndarray)
    assert not np.array_equal(one, two)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("for k, o in super().run(tasks): yield 0, o", "an outcome for 0, which was not asked"),
        ("yield from list(super().run(tasks))[1:]", "yielded 1 outcomes for 2 tasks"),
        ("yield from (o for _, o in super().run(tasks))", "not an index and an outcome"),
    ],
)
def test_each_task_has_one_outcome(
    study: Study, make_plugin: MakePlugin, body: str, said: str
) -> None:
    body = f"def run(self, tasks):\n        {body}"
    host = load_plugins(
        found=[
            make_plugin("broken", BROKEN.format(body=body, make=MAKE)),
            EntryPoint("least-squares", BROUGHT["least-squares"], "fmident"),
        ]
    )
    tasks = [SimulationTask(0, {}), SimulationTask(0, {"m": 3.0})]
    with make_executor(load(host, executor="broken"), host.executors.by_name) as executor:  # noqa: SIM117
        with pytest.raises(PluginError, match=said):
            executor.run_all(tasks)


def test_what_the_host_raises_while_an_executor_runs_is_not_the_plugins(
    study: Study, host: Host
) -> None:
    def full(index: int, outcome: object) -> None:
        raise OSError("no room")

    problem = load(host, executor="site", queue="q")
    with make_executor(problem, host.executors.by_name) as executor:  # noqa: SIM117
        with pytest.raises(OSError, match="no room"):
            run_heard(executor, [SimulationTask(0, {})], full)
