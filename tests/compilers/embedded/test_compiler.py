"""The embedded compiler from Modelica source to FMU."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fmpy import read_model_description, simulate_fmu
from fmpy.validation import validate_fmu

from fmident import __version__
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.embedded import EmbeddedCompiler
from fmident.compilers.platforms import is_stale
from fmident.errors import Code, CompilationError

from ...refused import refused

pytestmark = pytest.mark.slow  # many builds or whole runs

SOURCE = """
model Decay "Falls & falls"
  parameter Real tau(unit="s") = 2 "Time constant";
  parameter Real x0 = 3;
  input Real u(start=0);
  output Real x(start=x0, fixed=true);
  output Real rate(unit="1/s");
equation
  tau*der(x) = u - x;
  rate = der(x);
  annotation (experiment(StopTime=4, Tolerance=1e-7, Interval=0.5));
end Decay;
"""


@pytest.fixture
def request_(tmp_path: Path) -> BuildRequest:
    source = tmp_path / "Decay.mo"
    source.write_text(SOURCE)
    return BuildRequest("Decay", (source,), tmp_path / "out" / "Decay.fmu")


def test_modelica_becomes_an_fmu_that_fmpy_runs(
    request_: BuildRequest, embedded_compiler: Compiler
) -> None:
    result = embedded_compiler.build(request_)
    assert result.fmu == request_.output
    assert result.compiler == embedded_compiler.version()
    assert result.seconds > 0
    assert validate_fmu(str(result.fmu)) == []
    run = simulate_fmu(
        str(result.fmu), start_values={"x0": 5.0}, output=["x", "rate"], relative_tolerance=1e-9
    )
    expected = 5 * np.exp(-run["time"] / 2)
    assert run["x"] == pytest.approx(expected, rel=1e-7)
    assert run["rate"] == pytest.approx(-expected / 2, rel=1e-7)


def test_description_carries_the_annotation_and_the_tool(
    request_: BuildRequest, embedded_compiler: Compiler
) -> None:
    embedded_compiler.build(request_)
    description = read_model_description(str(request_.output))
    assert description.modelName == "Decay"
    assert description.description == "Falls & falls"
    assert description.generationTool == f"fmident {__version__} (embedded compiler)"
    experiment = description.defaultExperiment
    assert (experiment.stopTime, experiment.tolerance, experiment.stepSize) == (
        "4.0", "1e-07", "0.5",
    )  # fmt: skip


def test_record_tells_when_to_build_anew(
    request_: BuildRequest, embedded_compiler: Compiler
) -> None:
    assert is_stale(request_.output, request_, embedded_compiler)
    embedded_compiler.build(request_)
    assert not is_stale(request_.output, request_, embedded_compiler)
    with zipfile.ZipFile(request_.output) as archive:
        record = json.loads(archive.read("resources/fmident.json"))
    assert record["class"] == "Decay"
    assert record["compiler"].startswith(f"fmident embedded {__version__}+")
    request_.sources[0].write_text(SOURCE.replace("= 2", "= 4"))
    assert is_stale(request_.output, request_, embedded_compiler)


def test_same_source_gives_the_same_bytes(
    request_: BuildRequest, embedded_compiler: Compiler
) -> None:
    first = embedded_compiler.build(request_).fmu.read_bytes()
    assert embedded_compiler.build(request_).fmu.read_bytes() == first


def test_source_that_is_wrong_leaves_the_old_fmu(
    request_: BuildRequest, embedded_compiler: Compiler
) -> None:
    good = embedded_compiler.build(request_).fmu.read_bytes()
    request_.sources[0].write_text(SOURCE.replace("rate = der(x)", "rate = der(y)"))
    with pytest.raises(CompilationError):
        embedded_compiler.build(request_)
    assert request_.output.read_bytes() == good


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"optimisation": 3}, Code.UNKNOWN_KEY, "'optimisation'"),
        ({"optimization": 4}, Code.COMPILATION_FAILED, "optimization .* 4"),
        ({"optimization": "fast"}, Code.COMPILATION_FAILED, "'optimization' .* 'fast'"),
        ({"integrator": "explizit"}, Code.UNKNOWN_NAME, "'integrator' is 'explizit'"),
    ],
)
def test_options_are_checked(
    request_: BuildRequest, options: dict[str, object], code: Code, words: str
) -> None:
    request = BuildRequest("Decay", request_.sources, request_.output, options=options)
    with refused(code, CompilationError, match=words):
        EmbeddedCompiler().build(request)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-6, float("nan")])
def test_tolerance_is_checked(request_: BuildRequest, tolerance: float) -> None:
    request = BuildRequest("Decay", request_.sources, request_.output, tolerance)
    with refused(Code.COMPILATION_FAILED, CompilationError, match=f"tolerance {tolerance!r}"):
        EmbeddedCompiler().build(request)


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "absent")
    message = EmbeddedCompiler().unavailable()
    assert message is not None
    assert "the C compiler 'absent' named by CC is not on the path" in message
    assert "To get it:" in message
