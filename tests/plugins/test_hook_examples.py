"""The examples of docs/reference/hooks.md and the modules of plugins/example do what they say."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zipfile import ZipFile

import numpy as np
import pytest
from scipy.io import savemat

from fmident.api.builds import build
from fmident.errors import Code, CompilationError, DataError
from fmident.estimation.contract import StopEstimation
from fmident.estimation.result import EstimationResult
from fmident.estimation.run import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, make_executor, python_problem
from fmident.plugins import Host, hookspecs, load_plugins
from fmident.plugins.host import PluginObserver
from fmident.problem.model import Parameter, Problem

from ..evaluation.executors import faults
from ..fmu.build import compiler as c_compiler
from ..refused import refused

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "plugins" / "example"
MakePlugin = Callable[[str, str], EntryPoint]


def examples() -> dict[str, str]:
    """Return the examples of the page by the hook under whose heading they are."""
    page = (ROOT / "docs" / "reference" / "hooks.md").read_text(encoding="utf-8")
    sections = re.split(r"^### `(\w+)", page, flags=re.MULTILINE)[1:]
    found = zip(sections[::2], sections[1::2], strict=True)
    python = re.compile(r"```python\n(.*?)```", re.DOTALL)
    return {hook: code for hook, text in found for code in python.findall(text)}


@pytest.fixture
def load(make_plugin: MakePlugin) -> Callable[[str], Host]:
    """Return a function that loads the example of a hook as a plugin."""

    def loaded(hook: str) -> Host:
        host = load_plugins(found=[make_plugin("copied", examples()[hook])])
        assert [str(d) for d in host.diagnostics] == []
        return host

    return loaded


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Host]]:
    """Return a function that loads a module of plugins/example."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    names = []

    def loaded(name: str) -> Host:
        names.append(name)
        host = load_plugins(found=[EntryPoint("example", name, "fmident")])
        assert [str(d) for d in host.diagnostics] == []
        return host

    yield loaded
    for name in names:
        sys.modules.pop(name, None)


TIMES = np.linspace(0.0, 1.0, 21)


def decay(times: Any, inputs: Any, k: float) -> dict[str, Any]:
    return {"y": np.exp(-k * times), "z": 10.0 * k * times}


def problem() -> Problem:
    found = decay(TIMES, {}, 2.0)
    measured = {"y": found["y"] + 0.01, "z": found["z"] + 0.5 * np.sin(30.0 * TIMES)}
    parameters = [Parameter("k", 1.0, lower=0.5, upper=4.0, variable="k")]
    return python_problem(measured, TIMES, parameters, sigma=0.1)


def estimated(host: Host, name: str) -> EstimationResult:
    found = problem()
    with Evaluator(found, PythonExecutor(found, decay)) as evaluator:
        return run_estimation(found, evaluator, host.estimators.get(name)())


@pytest.fixture(scope="module")
def result() -> EstimationResult:
    return estimated(load_plugins(), "least-squares")


def test_every_hook_that_returns_or_registers_has_an_example() -> None:
    hooks = {name for name in vars(hookspecs) if name.startswith("fmident_")}
    assert hooks - set(examples()) == {"fmident_run_started", "fmident_run_finished"}


@pytest.mark.parametrize("hook", examples())
def test_example_can_be_loaded(hook: str, load: Callable[[str], Host]) -> None:
    load(hook)


def test_the_estimator_estimates(load: Callable[[str], Host]) -> None:
    found = estimated(load("fmident_register_estimators"), "best-of")
    assert found.estimates[0].value == pytest.approx(2.0, abs=0.1)


def test_the_cost_gives_residuals(load: Callable[[str], Host]) -> None:
    cost = load("fmident_register_costs").costs.get("root")()
    signal: Any = SimpleNamespace(differences=lambda y: np.array([1.0, -2.0]) - y)
    assert 0.5 * np.sum(cost.residuals([signal], [np.zeros(2)]) ** 2) == pytest.approx(3.0)


def test_the_executor_simulates(load: Callable[[str], Host], tmp_path: Path) -> None:
    if c_compiler() is None:
        pytest.skip("no C compiler")
    kinds = load("fmident_register_executors").executors.by_name
    asked = faults.make_problem(faults.build_faults(tmp_path), executor="counting")
    tasks = [faults.task(1.0), faults.task(2.0)]
    with make_executor(asked, kinds) as executor:
        outcomes = executor.run_all(tasks)
        assert executor.whole.asked == 2  # type: ignore[attr-defined]
    with make_executor(faults.make_problem(asked.fmu, executor="inline"), kinds) as executor:
        assert faults.same(outcomes, executor.run_all(tasks))


TOOL = """\
#!{python}
import sys, zipfile
if sys.argv[1:] == ["--version"]:
    sys.exit(print("tool 2"))
if sys.argv[1] == "P.Broken":
    sys.exit("P.mo:7: there is no equation for x")
print("P.mo:3: y is not used", file=sys.stderr)
with zipfile.ZipFile(sys.argv[2], "w") as fmu:
    fmu.writestr("modelDescription.xml", sys.argv[1])
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a program ``my-tool`` on the path, that compiles as the examples expect it."""
    program = tmp_path / "my-tool"
    program.write_text(TOOL.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / "P.mo").write_text("package P model M end M; model Broken end Broken; end P;")
    return program


def compiled(host: Host, compiler: str, class_name: str, folder: Path) -> Any:
    output = folder / "P.fmu"
    built = build(host, class_name, sources=[folder / "P.mo"], output=output, compiler=compiler)
    with ZipFile(built.fmu) as archive:
        assert archive.read("modelDescription.xml").decode() == class_name
    return built


def test_the_compiler_compiles(load: Callable[[str], Host], tool: Path) -> None:
    host = load("fmident_register_compilers")
    compiled(host, "my-tool", "P.M", tool.parent)
    with refused(
        Code.COMPILATION_FAILED,
        CompilationError,
        match=r"my-tool failed: P\.mo:7: there is no equation",
    ):
        compiled(host, "my-tool", "P.Broken", tool.parent)


def test_the_reporter_writes(
    load: Callable[[str], Host], result: EstimationResult, tmp_path: Path
) -> None:
    load("fmident_register_reporters").reporters.get("values")().write(result, problem(), tmp_path)
    value = result.estimates[0].value
    assert (tmp_path / "values.txt").read_text() == f"k = {value!r}  # no unit\n"


def test_the_reader_reads(load: Callable[[str], Host], tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", {"time": [0.0, 1.0], "x": [3.0, 4.0]})
    host = load("fmident_read_data")
    table = host.read_data(tmp_path / "a.mat", {})
    assert table is not None
    assert table.to_dict("list") == {"time": [0.0, 1.0], "x": [3.0, 4.0]}
    assert host.read_data(tmp_path / "a.csv", {}) is None


def test_the_check_warns(load: Callable[[str], Host]) -> None:
    (found,) = load("fmident_check_problem").check_problem(problem())
    assert "one experiment" in found.message


def test_the_section_is_shown(load: Callable[[str], Host], result: EstimationResult) -> None:
    (section,), failed = load("fmident_report_sections").report_sections(result, problem())
    assert failed == []
    assert [row[0] for row in section.blocks[1].rows] == ["z", "y"]  # type: ignore[union-attr]


def test_the_watcher_stops(load: Callable[[str], Host]) -> None:
    run, states = cast(Any, None), [cast(Any, SimpleNamespace(seconds=s)) for s in (1.0, 601.0)]
    events = PluginObserver(load("fmident_iteration"), run, lambda _: None)
    events.iteration(states[0])
    with pytest.raises(StopEstimation, match="ten minutes"):
        events.iteration(states[1])


def test_the_compiler_of_the_example_shows_what_the_program_says(
    example: Callable[[str], Host], tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = example("fmident_command_compiler")
    with pytest.raises(CompilationError, match="set MODELICA_TO_FMU to a program"):
        compiled(host, "command", "P.M", tool.parent)
    monkeypatch.setenv("MODELICA_TO_FMU", str(tool))
    built = compiled(host, "command", "P.M", tool.parent)
    assert built.result.compiler == "command tool 2"
    assert [str(d) for d in built.result.diagnostics] == ["P.mo:3: warning: y is not used"]
    with pytest.raises(CompilationError) as caught:
        compiled(host, "command", "P.Broken", tool.parent)
    assert str(caught.value.diagnostics[0]) == "P.mo:7: error: there is no equation for x"
    assert compiled(host, "command", "P.M", tool.parent)  # the earlier FMU is still there
    assert not [p for p in tool.parent.iterdir() if p.name.startswith(".")]


def test_the_reader_of_the_example_reads_archives_of_numpy(
    example: Callable[[str], Host], tmp_path: Path
) -> None:
    host, file = example("fmident_numpy_reader"), tmp_path / "a.npz"
    np.savez(file, **{"time": [0.0, 1.0], "f [N]": [3.0, 4.0]})  # type: ignore[arg-type]
    table = host.read_data(file, {})
    assert table is not None
    assert table.to_dict("list") == {"time": [0.0, 1.0], "f [N]": [3.0, 4.0]}
    assert host.read_data(tmp_path / "a.csv", {}) is None
    np.savez(file, time=[0.0, 1.0], x=[3.0])
    with pytest.raises(DataError, match="of one equal length"):
        host.read_data(file, {})
    file.write_text("time,x")
    with pytest.raises(DataError, match="not an archive of NumPy"):
        host.read_data(file, {})


def test_the_section_of_the_example_is_sorted(
    example: Callable[[str], Host], result: EstimationResult
) -> None:
    host = example("fmident_error_ranking")
    sections, failed = host.report_sections(result, problem())
    assert [str(d) for d in failed] == []
    (section,) = sections
    errors = [row[-1] for row in section.blocks[1].rows]  # type: ignore[union-attr]
    assert errors == sorted(errors, reverse=True)
    assert len(errors) == 2
