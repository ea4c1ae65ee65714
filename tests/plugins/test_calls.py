"""pluggy calls the hooks: order, wrappers and first results are as its documentation says."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fmident.errors import Diagnostic, PluginError
from fmident.estimation.contract import StopEstimation
from fmident.plugins import Host, Run, hookspecs, load_plugins
from fmident.plugins.host import PluginObserver

MakePlugin = Callable[[str, str], EntryPoint]

HOOKS = sorted(name for name in vars(hookspecs) if name.startswith("fmident_"))
CALLED: list[str] = []
"""What the plugins of a test have done, in order."""

PLAIN = """
from fmident.plugins import hookimpl
from {here} import CALLED

@hookimpl({options})
def {hook}():
    CALLED.append("{name}")
"""

WRAPPER = """
from fmident.plugins import hookimpl
from {here} import CALLED

@hookimpl(wrapper=True)
def {hook}():
    CALLED.append("before")
    try:
        return (yield)
    finally:
        CALLED.append("after")
"""

OLD_WRAPPER = """
from fmident.plugins import hookimpl
from {here} import CALLED

@hookimpl(hookwrapper=True)
def {hook}():
    CALLED.append("before")
    outcome = yield
    outcome.force_result(outcome.get_result())
    CALLED.append("after")
"""


@pytest.fixture(autouse=True)
def nothing_called() -> Iterator[None]:
    CALLED.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def load(make_plugin: MakePlugin, hook: str, **sources: str) -> Host:
    """Load plugins of these names, in order, and call a hook once."""
    here = __name__
    found = [
        make_plugin(n, textwrap.dedent(s).replace("{hook}", hook).replace("{here}", here))
        for n, s in sources.items()
    ]
    return load_plugins(found=found)


def call(host: Host, hook: str) -> tuple[Any, list[Diagnostic]]:
    """Call a hook as the host does; return its answer, and what was reported."""
    said: list[Diagnostic] = list(host.diagnostics)
    whatever = cast(Any, SimpleNamespace(name="whatever", status="converged"))
    if hook == "fmident_read_data":
        return host.read_data(Path("data.abc"), {}), said
    if hook == "fmident_check_problem":
        return host.check_problem(whatever), said
    if hook == "fmident_report_sections":
        sections, failed = host.report_sections(whatever, whatever)
        return sections, [*said, *failed]
    if hook.startswith("fmident_register"):
        return None, said  # when plugins are loaded
    events = PluginObserver(host, Run(whatever, "least-squares"), said.append)
    event = {"fmident_run_started": events.started, "fmident_iteration": events.iteration}
    event.get(hook, events.finished)(*[whatever] * (hook != "fmident_run_started"))  # type: ignore[operator]
    return None, said


def plain(name: str, options: str = "") -> str:
    return PLAIN.replace("{name}", name).replace("{options}", options)


@pytest.mark.parametrize("hook", HOOKS)
def test_tryfirst_and_trylast(make_plugin: MakePlugin, hook: str) -> None:
    host = load(
        make_plugin,
        hook,
        a=plain("last", "trylast=True"),
        b=plain("first of equals"),
        c=plain("second of equals"),
        d=plain("first", "tryfirst=True"),
    )
    call(host, hook)
    assert CALLED == ["first", "first of equals", "second of equals", "last"]


@pytest.mark.parametrize("source", [WRAPPER, OLD_WRAPPER], ids=["wrapper", "hookwrapper"])
@pytest.mark.parametrize("hook", HOOKS)
def test_wrappers_are_around_the_calls_of_all_plugins(
    make_plugin: MakePlugin, hook: str, source: str
) -> None:
    host = load(make_plugin, hook, a=plain("a", "tryfirst=True"), b=source, c=plain("c"))
    _, said = call(host, hook)
    assert said == []
    assert CALLED == ["before", "a", "c", "after"]


def test_a_wrapper_sees_what_others_register_and_registers_too(make_plugin: MakePlugin) -> None:
    cost = """
    from fmident.plugins import hookimpl
    from fmident.problem import TimeDomain
    @hookimpl
    def {hook}(registry):
        registry.add("plain", TimeDomain)
    """
    around = """
    from fmident.plugins import hookimpl
    from fmident.problem import TimeDomain
    from {here} import CALLED
    @hookimpl(wrapper=True)
    def {hook}(registry):
        CALLED.extend(registry.names())
        yield
        CALLED.extend(registry.names())
        registry.add("more", TimeDomain)
    """
    host = load(make_plugin, "fmident_register_costs", a=cost, b=around)
    assert host.diagnostics == ()
    assert CALLED == ["plain"]
    assert {n: r.origin.plugin for n, r in host.costs.registrations.items()} == {
        "plain": "a",
        "more": "b",
    }


READER = """
import pandas
from fmident.plugins import hookimpl
@hookimpl({options})
def fmident_read_data(path, spec):
    return {answer}
"""
TABLE = 'pandas.DataFrame({{"{name}": [1.0]}})'


def reader(name: str, options: str = "") -> str:
    return READER.format(options=options, answer=TABLE.format(name=name))


def columns(host: Host) -> list[str]:
    table = host.read_data(Path("x"), {})
    assert table is not None
    return list(table)


def test_the_first_reader_that_answers_wins(make_plugin: MakePlugin) -> None:
    hook = "fmident_read_data"
    nothing = READER.format(options="tryfirst=True", answer="None")
    host = load(make_plugin, hook, a=reader("a"), b=reader("b"), c=nothing)
    assert columns(host) == ["a"]
    host = load(make_plugin, hook, d=reader("d"), e=reader("e", "tryfirst=True"))
    assert columns(host) == ["e"]


CHANGES = {
    "wrapper": """
        @hookimpl(wrapper=True)
        def {hook}():
            answer = yield
            return {changed}
    """,
    "hookwrapper": """
        @hookimpl(hookwrapper=True)
        def {hook}():
            outcome = yield
            answer = outcome.get_result()
            outcome.force_result({changed})
    """,
}


def changing(style: str, changed: str) -> str:
    head = "from fmident.errors import Diagnostic\nfrom fmident.plugins import hookimpl\n"
    return head + textwrap.dedent(CHANGES[style]).replace("{changed}", changed)


@pytest.mark.parametrize("style", CHANGES)
def test_a_wrapper_changes_answers(make_plugin: MakePlugin, style: str) -> None:
    check = """
    from fmident.errors import Diagnostic
    from fmident.plugins import hookimpl
    @hookimpl
    def {hook}(problem):
        return [Diagnostic("warning", "{hook}")]
    """
    more = changing(style, 'answer + [[Diagnostic("note", "more")]]')
    host = load(make_plugin, "fmident_check_problem", a=check, b=more)
    found, _ = call(host, "fmident_check_problem")
    assert [d.message for d in found] == ["fmident_check_problem", "more"]
    more = changing(style, "answer.assign(z=2.0)")
    host = load(make_plugin, "fmident_read_data", c=reader("c"), d=more)
    assert columns(host) == ["c", "z"]


FAULTS = {
    "raises before": "1 / 0\n    yield",
    "raises after": "yield\n    1 / 0",
    "exits": "yield\n    raise SystemExit(3)",
    "does not yield": "if False:\n        yield",
    "yields twice": "yield\n    yield",
}


@pytest.mark.parametrize("style", ["wrapper", "hookwrapper"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("hook", HOOKS)
def test_a_faulty_wrapper_is_named(
    make_plugin: MakePlugin, hook: str, fault: str, style: str
) -> None:
    faulty = f"""
from fmident.plugins import hookimpl
@hookimpl({style}=True)
def {{hook}}():
    {FAULTS[fault]}
"""
    host = load(make_plugin, hook, good=plain("good"), bad=faulty)
    if hook in ("fmident_read_data", "fmident_check_problem"):
        with pytest.raises(PluginError, match=rf"plugin 'bad': '{hook}'") as caught:
            call(host, hook)
        assert "--no-plugin bad" in (caught.value.hint or "")
        return
    _, said = call(host, hook)
    assert "good" in CALLED
    assert ["'bad'" in d.message for d in said] == [True]


@pytest.mark.parametrize("style", CHANGES)
@pytest.mark.parametrize("answer", ["['nonsense']", "None", "3"])
@pytest.mark.parametrize("hook", ["fmident_read_data", "fmident_check_problem"])
def test_a_wrapper_that_answers_something_else_is_named(
    make_plugin: MakePlugin, style: str, answer: str, hook: str
) -> None:
    host = load(make_plugin, hook, bad=changing(style, answer))
    if (hook, answer) == ("fmident_read_data", "None"):
        assert call(host, hook)[0] is None  # the format is not known
        return
    with pytest.raises(PluginError, match=r"test_bad\.py:\d+: plugin 'bad' answered"):
        call(host, hook)


@pytest.mark.parametrize("style", CHANGES)
def test_sections_of_others_outlive_a_wrapper_that_spoils_them(
    make_plugin: MakePlugin, style: str
) -> None:
    section = """
    from fmident.plugins import hookimpl
    from fmident.report.sections import Section
    @hookimpl
    def {hook}():
        return [Section("good", [])]
    """
    hook = "fmident_report_sections"
    host = load(make_plugin, hook, good=section, bad=changing(style, "['spoilt']"))
    sections, (failed,) = call(host, hook)
    assert [s.title for s in sections] == ["good"]
    assert "'bad'" in failed.message


STOPS = """
from fmident.estimation.contract import StopEstimation
from fmident.plugins import hookimpl
@hookimpl
def {hook}():
    raise StopEstimation("enough")
"""


@pytest.mark.parametrize("hook", ["fmident_run_started", "fmident_run_finished"])
def test_only_an_iteration_ends_a_run(make_plugin: MakePlugin, hook: str) -> None:
    _, (said,) = call(load(make_plugin, hook, a=STOPS), hook)
    assert "StopEstimation: enough" in said.message


def test_a_wrapper_sees_that_a_plugin_ends_the_run(make_plugin: MakePlugin) -> None:
    hook = "fmident_iteration"
    host = load(make_plugin, hook, a=STOPS, b=WRAPPER, c=plain("c"))
    with pytest.raises(StopEstimation, match="plugin 'a': enough"):
        call(host, hook)
    assert CALLED == ["before", "c", "after"]


def test_a_wrapper_lets_a_run_go_on(make_plugin: MakePlugin) -> None:
    goes_on = """
    from fmident.estimation.contract import StopEstimation
    from fmident.plugins import hookimpl
    @hookimpl(wrapper=True)
    def {hook}():
        try:
            yield
        except StopEstimation:
            pass
    """
    host = load(make_plugin, "fmident_iteration", a=STOPS, b=goes_on)
    assert call(host, "fmident_iteration") == (None, [])


@pytest.mark.parametrize("after", [False, True])
def test_a_wrapper_ends_the_run(make_plugin: MakePlugin, after: bool) -> None:
    stops = f"""
from fmident.estimation.contract import StopEstimation
from fmident.plugins import hookimpl
@hookimpl(wrapper=True)
def {{hook}}():
    {"yield" if after else ""}
    raise StopEstimation("enough")
    yield
"""
    host = load(make_plugin, "fmident_iteration", a=stops, b=plain("b"))
    with pytest.raises(StopEstimation, match="plugin 'a': enough"):
        call(host, "fmident_iteration")
    assert CALLED == ["b"]


def test_a_plugin_that_fails_takes_no_name_from_another(make_plugin: MakePlugin) -> None:
    cost = """
    from fmident.plugins import hookimpl
    from fmident.problem import TimeDomain
    @hookimpl
    def fmident_register_costs(registry):
        registry.add("same", TimeDomain)
    """
    fails = "\n    @hookimpl\n    def fmident_register_executors(registry): 1 / 0\n"
    host = load(make_plugin, "", a=cost + fails, b=cost)
    (said,) = host.diagnostics
    assert "'a'" in said.message
    assert host.costs.registrations["same"].origin.plugin == "b"
