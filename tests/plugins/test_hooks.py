"""Every hook has a test here, and a heading with its arguments in docs/reference/hooks.md."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fmident.errors import Code, Diagnostic, PluginError
from fmident.estimation.contract import Iteration, StopEstimation
from fmident.estimation.result import EstimationResult
from fmident.plugins import Host, Run, hookspecs, load_plugins
from fmident.plugins.host import PluginObserver

from ..refused import refused

MakePlugin = Callable[[str, str], EntryPoint]

PROBLEM = cast(Any, SimpleNamespace(name="the problem"))
STATE = cast(Iteration, SimpleNamespace(number=3))
RESULT = cast(EstimationResult, SimpleNamespace(status="converged"))

HOOKS = {
    name: function
    for name, function in vars(hookspecs).items()
    if name.startswith("fmident_") and callable(function)
}
DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "hooks.md"


def test_each_hook_and_no_other_is_documented_with_its_signature() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    signatures = {
        f"{name}({', '.join(inspect.signature(hook).parameters)})" for name, hook in HOOKS.items()
    }
    assert sorted(re.findall(r"^### `(\w+.*)`$", text, re.MULTILINE)) == sorted(signatures)


def test_hook_has_docstring_that_explains_each_argument(subtests: pytest.Subtests) -> None:
    for name in HOOKS:
        with subtests.test(name):
            docstring = inspect.getdoc(HOOKS[name]) or ""
            for argument in inspect.signature(HOOKS[name]).parameters:
                assert re.search(rf"^{argument}\n    \S", docstring, re.MULTILINE), argument


def test_every_hook_has_a_test() -> None:
    assert {f"test_{name}" for name in HOOKS} <= set(globals())


def load(make_plugin: MakePlugin, *sources: str) -> Host:
    head = "from fmident.plugins import hookimpl\n"
    found = [make_plugin(f"p{i}", head + inspect.cleandoc(s)) for i, s in enumerate(sources)]
    return load_plugins(found=found)


def observer(host: Host, report: Callable[[Diagnostic], None] = lambda _: None) -> PluginObserver:
    return PluginObserver(host, Run(PROBLEM, "least-squares"), report)


REGISTER = """
from dataclasses import make_dataclass
from {module} import {base}

@hookimpl
def {hook}(registry):
    registry.add("mine", Mine, summary="made for a test")

class Mine({base}):
    name = "mine"
    options_type = make_dataclass("Options", [], frozen=True)
    {methods}
"""


def registering(kind: str, base: str, *methods: str) -> str:
    module, _, name = base.rpartition(".")
    body = "; ".join(f"{method} = None" for method in methods) or "pass"
    return REGISTER.format(hook=f"fmident_register_{kind}", module=module, base=name, methods=body)


def test_fmident_register_estimators(make_plugin: MakePlugin) -> None:
    source = registering("estimators", "fmident.estimation.contract.Estimator", "estimate")
    host = load(make_plugin, source)
    assert host.estimators.get("mine").__name__ == "Mine"


def test_fmident_register_costs(make_plugin: MakePlugin) -> None:
    host = load(make_plugin, registering("costs", "fmident.problem.Cost", "residuals"))
    assert host.costs.get("mine").__name__ == "Mine"


EXECUTOR = """
from dataclasses import dataclass
from fmident.evaluation import ExecutorKind, InProcessExecutor

@dataclass(frozen=True)
class Options:
    {field}: int = 2

@hookimpl
def fmident_register_executors(registry):
    registry.add("mine", ExecutorKind(lambda *_: None, "for a test", options_type={options}))
"""


def test_fmident_register_executors(make_plugin: MakePlugin) -> None:
    host = load(make_plugin, EXECUTOR.format(field="share", options="Options"))
    assert host.executors.registrations["mine"].summary == "for a test"
    assert host.executors.get("mine").options == ("share",)
    assert host.executors.names() == ("auto", "inline", "mine", "processes")


def test_fmident_register_compilers(make_plugin: MakePlugin) -> None:
    methods = ("unavailable", "version", "build")
    host = load(make_plugin, registering("compilers", "fmident.compilers.base.Compiler", *methods))
    assert host.compilers.get("mine").__name__ == "Mine"


def test_fmident_register_reporters(make_plugin: MakePlugin) -> None:
    source = registering("reporters", "fmident.report.contract.Reporter", "write")
    host = load(make_plugin, source)
    assert host.reporters.get("mine").__name__ == "Mine"


@pytest.mark.parametrize(
    ("source", "fragment"),
    [
        (registering("estimators", "builtins.object"), "not a subclass of"),
        (registering("reporters", "fmident.report.contract.Reporter"), "lacks 'write'"),
        (registering("costs", "builtins.object"), "not a subclass of fmident.problem.cost.Cost"),
        (registering("costs", "fmident.problem.Cost"), "lacks 'residuals'"),
        (registering("costs", "builtins.object").replace("Mine,", "Mine(),"), "is <"),
        (registering("executors", "builtins.object"), "the executor 'mine' is <class"),
        (EXECUTOR.format(field="share", options="dict"), "options_type of an executor"),
        (EXECUTOR.format(field="timeout", options="Options"), "a key of all executors"),
    ],
    ids=[
        *("no subclass", "abstract", "no cost", "abstract cost", "instance"),
        *("no description", "no options", "taken key"),
    ],
)
def test_what_the_host_could_not_use_is_refused_at_once(
    make_plugin: MakePlugin, source: str, fragment: str
) -> None:
    host = load(make_plugin, source)
    (diagnostic,) = [d for d in host.diagnostics if "'p0'" in d.message]
    assert fragment in diagnostic.message
    assert "mine" not in host.estimators


READ = """
import pandas
@hookimpl
def fmident_read_data(path, spec):
    if path.suffix == ".{suffix}":
        return pandas.DataFrame({{"time": [0.0, spec["end"]], "{suffix}": [1.0, 2.0]}})
"""


def test_fmident_read_data(make_plugin: MakePlugin) -> None:
    host = load(make_plugin, READ.format(suffix="one"), READ.format(suffix="two"))
    table = host.read_data(Path("x.two"), {"end": 5.0})
    assert table is not None
    assert list(table.columns) == ["time", "two"]
    assert table["time"].tolist() == [0.0, 5.0]
    assert host.read_data(Path("x.three"), {}) is None
    said = r"test_p0\.py:6: plugin 'p0': 'fmident_read_data' on 'x\.one' .*KeyError"
    with pytest.raises(PluginError, match=said):
        host.read_data(Path("x.one"), {})


def test_a_reader_that_answers_something_else_is_named(make_plugin: MakePlugin) -> None:
    source = """
    @hookimpl
    def fmident_read_data(path, spec):
        return {"time": [0.0]}
    """
    said = r"test_p0\.py:2: plugin 'p0' answered .*'time'.* which is not a DataFrame"
    with refused(Code.PLUGIN_FAILED, PluginError, match=said):
        load(make_plugin, source).read_data(Path("x.one"), {})


def test_fmident_check_problem(make_plugin: MakePlugin) -> None:
    source = """
    from fmident.errors import Diagnostic
    @hookimpl
    def fmident_check_problem(problem):
        return [Diagnostic("warning", problem.name, rule="{who}")]
    """
    host = load(make_plugin, source.format(who="first"), source.format(who="second"))
    found = [(d.rule, d.message) for d in host.check_problem(PROBLEM)]
    assert found == [("first", PROBLEM.name), ("second", PROBLEM.name)]


def test_fmident_check_problem_that_answers_nonsense(make_plugin: MakePlugin) -> None:
    source = """
    @hookimpl
    def fmident_check_problem(problem):
        return ["beware"]
    """
    with refused(Code.PLUGIN_FAILED, PluginError, match=r"'beware'.*not a Diagnostic"):
        load(make_plugin, source).check_problem(PROBLEM)


SECTION = """
from fmident.report.sections import Figure, Section, Table, Text
@hookimpl
def fmident_report_sections(result, problem):
    rows = [[fit.name, fit.rms] for fit in result.fits]
    figure = Figure(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a <figure>")
    return [Section("{who} & others", [Text("<b>"), Table(["output", "rms"], rows), figure])]
"""


FITTED = cast(
    EstimationResult, SimpleNamespace(fits=[SimpleNamespace(name="x", rms=0.5)], status="converged")
)


def test_fmident_report_sections(make_plugin: MakePlugin) -> None:
    host = load(make_plugin, SECTION.format(who="first"), SECTION.format(who="second"))
    sections, failed = host.report_sections(FITTED, PROBLEM)
    assert failed == []
    assert [section.title for section in sections] == ["first & others", "second & others"]
    html = sections[0].html()
    assert "<h2>first &amp; others</h2>" in html
    assert "<p>&lt;b&gt;</p>" in html
    assert 'alt="a &lt;figure&gt;"' in html
    assert '<td class="n">0.5</td>' in html


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('["beware"]', "'beware' to fmident_report_sections, which is not a Section"),
        ("1 / 0", "division by zero"),
        ('[Section("short", [Table(["a", "b"], [["only one"]])])]', "index"),
    ],
    ids=["text", "error", "short row"],
)
def test_report_sections_that_fail_cost_nothing_else(
    answer: str, reason: str, make_plugin: MakePlugin
) -> None:
    broken = SECTION[: SECTION.index("    rows")] + f"    return {answer}\n"
    host = load(make_plugin, broken, SECTION.format(who="good"))
    sections, failed = host.report_sections(FITTED, PROBLEM)
    assert [section.title for section in sections] == ["good & others"]
    assert len(failed) == 1
    assert failed[0].message.startswith("the report sections of plugin 'p0'")
    assert reason in failed[0].message


WATCH = """
@hookimpl
def fmident_run_started(run):
    run.memory["{who}"] = ["started " + run.estimator]

@hookimpl
def fmident_iteration(run, state):
    run.memory["{who}"].append(state.number)

@hookimpl
def fmident_run_finished(run, result):
    run.memory["{who}"].append(result.status)
"""


def watched(host: Host) -> dict[str, object]:
    run = Run(PROBLEM, "least-squares")
    events = PluginObserver(host, run, lambda _: None)
    events.started()
    events.iteration(STATE)
    events.finished(RESULT)
    return run.memory


def test_fmident_run_started(make_plugin: MakePlugin) -> None:
    memory = watched(load(make_plugin, WATCH.format(who="a"), WATCH.format(who="b")))
    for who in "ab":
        assert cast(list[object], memory[who])[0] == "started least-squares"


def test_fmident_iteration(make_plugin: MakePlugin) -> None:
    memory = watched(load(make_plugin, WATCH.format(who="a")))
    assert cast(list[object], memory["a"])[1] == 3


def test_fmident_run_finished(make_plugin: MakePlugin) -> None:
    memory = watched(load(make_plugin, WATCH.format(who="a")))
    assert cast(list[object], memory["a"])[2] == "converged"


STOP = """
from fmident.estimation.contract import StopEstimation
@hookimpl
def fmident_iteration(run, state):
    raise StopEstimation("enough")
"""


def test_plugin_can_stop_a_run_and_the_others_are_told(make_plugin: MakePlugin) -> None:
    host = load(make_plugin, STOP, WATCH.format(who="b"))
    run = Run(PROBLEM, "least-squares", {"b": []})
    with pytest.raises(StopEstimation, match="plugin 'p0': enough"):
        PluginObserver(host, run, lambda _: None).iteration(STATE)
    assert run.memory["b"] == [3]


def test_plugin_that_fails_in_a_run_is_reported_once_and_silenced(make_plugin: MakePlugin) -> None:
    source = """
    @hookimpl
    def fmident_iteration(run, state):
        raise ValueError("disk full")
    """
    found: list[Diagnostic] = []
    host = load(make_plugin, source, WATCH.format(who="b"))
    run = Run(PROBLEM, "least-squares", {"b": []})
    events = PluginObserver(host, run, found.append)
    events.iteration(STATE)
    events.iteration(STATE)
    assert len(found) == 1
    assert "ValueError: disk full" in found[0].message
    assert run.memory["b"] == [3, 3]
