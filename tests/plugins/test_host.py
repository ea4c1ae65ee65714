from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fmident.errors import Code, Location, PluginError
from fmident.plugins import load_plugins

from ..refused import refused

MakePlugin = Callable[[str, str], EntryPoint]

GOOD = """
    from fmident.plugins import hookimpl
    from fmident.problem import TimeDomain

    class Good(TimeDomain):
        "A cost that works."

    @hookimpl
    def fmident_register_costs(registry):
        registry.add("good", Good)
"""

ESTIMATOR = """
    from dataclasses import dataclass
    from fmident.estimation import Estimator
    from fmident.plugins import hookimpl
    @dataclass(frozen=True)
    class O:
        pass
    class Own(Estimator):
        {body}
        def estimate(self, problem, evaluator, options, monitor): pass
    @hookimpl
    def fmident_register_estimators(registry):
        registry.add("own", Own)
"""

COST = """
    from dataclasses import dataclass
    from typing import ClassVar
    from fmident.plugins import hookimpl
    from fmident.problem import Cost
    {decorator}
    class Own(Cost):
        name = "own"
        {body}
        def residuals(self, signals, predicted): return predicted[0]
    @hookimpl
    def fmident_register_costs(registry):
        registry.add("own", Own)
"""

FROZEN = "@dataclass(frozen=True)"

BROKEN = {
    "import error": ("import surely_not_installed", "surely_not_installed"),
    "syntax error": ("def (", "SyntaxError"),
    "ends the program at import": ("raise SystemExit('bye')", "bye"),
    "no hook": ("x = 1", "implements no hook"),
    "hook without mark": (
        "def fmident_register_costs(registry): pass",
        "not marked as a hook implementation",
    ),
    "misspelt hook": (
        """
        from fmident.plugins import hookimpl
        @hookimpl
        def fmident_register_cost(registry): pass
        """,
        "'fmident_register_cost', which does not exist",
    ),
    "unknown argument": (
        """
        from fmident.plugins import hookimpl
        @hookimpl
        def fmident_register_costs(registri): pass
        """,
        "registri",
    ),
    "exception in register": (
        """
        from fmident.plugins import hookimpl
        @hookimpl
        def fmident_register_costs(registry):
            registry.add("half", object)
            raise ZeroDivisionError("oops")
        """,
        "ZeroDivisionError: oops",
    ),
    "name twice": (
        """
        from fmident.plugins import hookimpl
        @hookimpl
        def fmident_register_costs(registry):
            registry.add("same", object)
            registry.add("same", object)
        """,
        "'same' is registered twice",
    ),
    "cost without a name": (
        """
        from dataclasses import dataclass
        from fmident.plugins import hookimpl
        from fmident.problem import Cost
        @dataclass(frozen=True)
        class Own(Cost):
            def residuals(self, signals, predicted): return predicted[0]
        @hookimpl
        def fmident_register_costs(registry):
            registry.add("own", Own)
        """,
        "the cost 'own': its class Own has no name",
    ),
    "estimator without a name": (ESTIMATOR.format(body="options_type = O"), "has no name"),
    "estimator of another name": (
        ESTIMATOR.format(body="name = 'mine'; options_type = O"),
        "the estimator 'own': its class Own is called 'mine'",
    ),
    "estimator without options": (ESTIMATOR.format(body="name = 'own'"), "no dataclass as options"),
    "estimator with odd options": (
        ESTIMATOR.format(body="name = 'own'; options_type = dict"),
        "no dataclass as options_type",
    ),
}


BROKEN |= {
    "cost that is not a dataclass": (
        COST.format(decorator="", body="width: float = 1.0"),
        "the cost 'own': its class Own has the field 'width', but is not a dataclass",
    ),
    "option called name": (
        COST.format(decorator=FROZEN, body="name: str = 'own'"),
        "its class Own has an option called 'name'",
    ),
    "option that no file can give": (
        COST.format(decorator=FROZEN, body="pole: list[complex] | None = None"),
        "the option 'pole' of its class Own is of type",
    ),
    "option of an unknown type": (
        COST.format(decorator=FROZEN, body="width: 'Width' = 1.0"),
        "the types of the fields of its class Own cannot be found: NameError",
    ),
    "estimator with an odd option": (
        ESTIMATOR.format(body="name = 'own'; options_type = O").replace(
            "        pass", "        z: complex = 0j"
        ),
        "the option 'z' of its class O is of type complex",
    ),
    "estimator that needs an argument": (
        ESTIMATOR.format(
            body="name = 'own'; options_type = O\n        def __init__(self, n): pass"
        ),
        "its class Own needs the argument 'n'",
    ),
    "compiler that needs an argument": (
        """
        from fmident.compilers.base import Compiler
        from fmident.plugins import hookimpl
        class Own(Compiler):
            def __init__(self, folder): pass
            def unavailable(self): pass
            def version(self): pass
            def build(self, request): pass
        @hookimpl
        def fmident_register_compilers(registry):
            registry.add("own", Own)
        """,
        "the compiler 'own': its class Own needs the argument 'folder'",
    ),
}


@pytest.mark.parametrize(
    "body",
    ["width: float = 1.0", "by: ClassVar[int] = 2", "a: list[int | str] | None = None", "pass"],
)
def test_a_cost_whose_options_a_file_can_give(make_plugin: MakePlugin, body: str) -> None:
    host = load_plugins(found=[make_plugin("own", COST.format(decorator=FROZEN, body=body))])
    assert host.diagnostics == ()


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_plugin_is_reported_and_skipped(make_plugin: MakePlugin, kind: str) -> None:
    source, expected = BROKEN[kind]
    host = load_plugins(found=[make_plugin("bad", source), make_plugin("good", GOOD)])
    mine = [d for d in host.diagnostics if "'bad'" in d.message]
    assert len(mine) == 1
    assert expected in mine[0].message
    assert mine[0].hint
    assert host.costs.names() == ("good",)


BROKEN_LINES = {
    "raises": ("import fmident\n\nx = {}['nothing']  # here\n", "KeyError: 'nothing'"),
    "exits": ("import sys\nsys.exit(3)  # here\n", "SystemExit: 3"),
    "calls what raises": ("import json\njson.loads('{')  # here\n", "JSONDecodeError"),
    "imports what is missing": ("x = 1\nimport fmident_not_there  # here\n", "ModuleNotFound"),
    "is not Python": ("x = 1\ndef f(:  # here\n", "SyntaxError: invalid syntax"),
    "raises in its hook": (GOOD.replace('registry.add("good"', "1 / 0  # here\n    #"), "Zero"),
}
"""Name to a module whose line with ``# here`` is the one that fails, and the reason."""


@pytest.mark.parametrize("kind", BROKEN_LINES)
def test_a_plugin_that_is_left_out_is_reported_with_file_and_line(
    make_plugin: MakePlugin, tmp_path: Path, kind: str
) -> None:
    source, reason = BROKEN_LINES[kind]
    (diagnostic,) = load_plugins(found=[make_plugin("bad", source)]).diagnostics
    assert reason in diagnostic.message
    place = diagnostic.location
    assert place is not None
    assert Path(place.file) == tmp_path / "fmident_test_bad.py"
    assert "# here" in Path(place.file).read_text().splitlines()[(place.line or 0) - 1]


def test_the_line_may_be_in_the_package_around_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "fmident_test_package"
    package.mkdir()
    (package / "__init__.py").write_text("\n\nraise OSError('no licence')\n")
    (package / "plugin.py").write_text("")
    point = EntryPoint("bad", "fmident_test_package.plugin", "fmident")
    (diagnostic,) = load_plugins(found=[point]).diagnostics
    assert diagnostic.location == Location(str(package / "__init__.py"), 3)


def test_a_plugin_that_is_not_there_has_no_line() -> None:
    missing = EntryPoint("bad", "fmident_test_not_there", "fmident")
    (diagnostic,) = load_plugins(found=[missing]).diagnostics
    assert diagnostic.location is None


def test_misspelt_hook_names_the_nearest(make_plugin: MakePlugin) -> None:
    host = load_plugins(found=[make_plugin("bad", BROKEN["misspelt hook"][0])])
    (diagnostic,) = [d for d in host.diagnostics if "'bad'" in d.message]
    assert "'fmident_register_costs'" in (diagnostic.hint or "")


def test_second_plugin_with_a_taken_name_is_left_out(make_plugin: MakePlugin) -> None:
    host = load_plugins(found=[make_plugin("b", GOOD), make_plugin("a", GOOD)])
    (diagnostic,) = [d for d in host.diagnostics if "registered twice" in d.message]
    assert "'a'" in diagnostic.message
    assert "'b'" in diagnostic.message
    assert host.costs.registrations["good"].origin.plugin == "a"


def test_plugins_of_one_name_live_together(make_plugin: MakePlugin) -> None:
    other = make_plugin("other", GOOD.replace('"good"', '"better"'))
    renamed = EntryPoint("good", other.value, "fmident")
    host = load_plugins(found=[make_plugin("good", GOOD), renamed])
    assert host.costs.names() == ("better", "good")


def test_plugins_can_be_left_out(make_plugin: MakePlugin) -> None:
    host = load_plugins(without=["good"], found=[make_plugin("good", GOOD)])
    assert host.costs.names() == ()
    with refused(Code.UNKNOWN_NAME, PluginError, match="'goood'") as caught:
        load_plugins(without=["goood"], found=[make_plugin("good", GOOD)])
    assert "'good'" in str(caught.value)


def test_built_in_reporters_come_through_the_hooks() -> None:
    host = load_plugins(found=[])
    assert {"json", "csv", "html"} <= set(host.reporters.names())
    assert host.reporters.registrations["json"].origin.distribution == "fmident"


def test_built_in_estimators_come_only_through_their_entry_point() -> None:
    assert len(load_plugins(found=[]).estimators) == 0
    installed = load_plugins()
    assert "least-squares" in installed.estimators
    origin = installed.estimators.registrations["least-squares"].origin
    assert (origin.distribution, origin.module) == ("fmident", "fmident_estimators.least_squares")


def test_nothing_is_loaded_at_import() -> None:
    code = (
        "import sys, fmident, fmident.plugins; "
        "print([m for m in sys.modules if m.startswith('fmident_estimators') or m == 'casadi'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
