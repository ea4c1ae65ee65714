"""The proof that runs where omc is: all of it but omc itself."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import numpy as np
import pytest

from fmident.fmu import read_description

pytestmark = pytest.mark.slow  # builds or starts processes throughout

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "ci" / "prove_openmodelica.py"
SLIDE = "Mechanisms.FMUs.SlideWithLuGreFriction"
DELTA = "Mechanisms.FMUs.DeltaInverse"
STEPS = (
    "validate_class",
    "compare_with_model_exchange",
    "compare_with_twin",
    "compare_estimates",
)


@pytest.fixture(scope="module")
def proof() -> ModuleType:
    sys.path.insert(0, str(SCRIPT.parent))  # as it is when the script runs
    spec = importlib.util.spec_from_file_location("prove_openmodelica", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["prove_openmodelica"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def references(proof: ModuleType) -> ModuleType:
    return importlib.import_module("proof_references")


def test_runnable_classes(proof: ModuleType, tmp_path: Path) -> None:
    for name, text in {
        "A": 'within L.Sub;\nmodel A "model B"\n  annotation(experiment(StopTime=1));\nend A;',
        "P": "within L;\npartial model P annotation(experiment(StopTime=1)); end P;",
        "N": "within L;\nmodel N // annotation(experiment(StopTime=1))\nend N;",
        "F": "within L;\nfunction F end F;",
        "B": "within L;\nblock B annotation (Icon(), experiment (StopTime=1)); end B;",
    }.items():
        (tmp_path / f"{name}.mo").write_text(text)
    assert proof.runnable_classes(tmp_path) == ["L.Sub.A", "L.B"]


def test_classes_of_the_project(proof: ModuleType) -> None:
    names = proof.runnable_classes(ROOT / "modelica" / "Mechanisms")
    assert SLIDE in names
    assert "Mechanisms.FMUs.DeltaInverse" in names
    assert not [n for n in names if ".Partial" in n or ".Icons." in n]


def write_reference(file: Path) -> None:
    file.write_text(
        "# made up\n# model: MechanismsMSL.X.Machine\n"
        "# input: u(t) = 0.5*sin(2*pi*t + 0.1) N.m, 3 samples over 1 s\n"
        "# simulation: input evaluated exactly\n"
        "# parameters: a[1]=2.0 b=1e-3\n# columns: name [unit]\n"
        "time [s],u [N.m],q[1] [rad]\n0.0,1.0,2.0\n0.5,3.0,4.0\n1.0,0.0,0.0\n"
    )


def test_references(references: ModuleType, tmp_path: Path) -> None:
    write_reference(tmp_path / "machine.csv")
    (reference,) = references.references_of("Mechanisms.Y.Machine", tmp_path)
    assert reference.parameters == {"a[1]": 2.0, "b": 1e-3}
    assert list(reference.columns) == ["time", "u", "q[1]"]
    np.testing.assert_array_equal(reference.columns["q[1]"], [2.0, 4.0, 0.0])
    assert reference.formulas == {"u": "0.5*sin(2*pi*t + 0.1)"}
    assert list(references.references_of("Mechanisms.Y.Other", tmp_path)) == []


def test_formulas(references: ModuleType) -> None:
    times = np.array([0.0, 0.25])
    found = references.evaluate("0.5*cos(2*pi*t) + 1e-1", times)
    np.testing.assert_allclose(found, [0.6, 0.1])
    with pytest.raises(ValueError, match="not a formula"):
        references.evaluate("__import__('os')", times)


def test_deviation(references: ModuleType) -> None:
    expected = np.array([[0.0, 5.0, 1e-15], [2.0, 5.0, 0.0]])
    result = expected + np.array([[0.0, 0.05, 0.0], [0.02, 0.0, 1e-14]])
    assert references.deviation(result, expected) == pytest.approx(0.01)
    assert references.deviation(expected, expected) == 0.0


def test_table(proof: ModuleType) -> None:
    good = proof.Row("A", 1.0, "5/5", 3.0, 4.0, 2.0, 1e-7, 2e-6, 5e-5, limits={"twin": 1e-5})
    bad = proof.Row("B.C", problems=["no\nlicence"])
    text = proof.table([good, bad])
    assert text.splitlines()[2].split() == [
        "A", "1.0", "2.0", "5/5", "1.0e-07", "2.0e-06", "<1.0e-05", "5.0e-05", "3.0", "4.0", "ok",
    ]  # fmt: skip
    assert "\nB.C\n  no\n  licence\n" in text
    long = proof.table([proof.Row("D", problems=["x\n" * 100])])
    assert "... and 76 lines more" in long
    assert text.endswith("1 of 2 classes passed")


def test_estimates_are_compared(
    proof: ModuleType, build_fmu: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Differences of the embedded compiler's FMU agree with its exact derivatives."""
    row, fmu = proof.Row(DELTA), build_fmu(DELTA)
    proof.compare_estimates(row, fmu, fmu, ROOT / "fmus" / "reference")
    assert row.problems == []
    assert row.estimate is not None
    assert 0.0 < row.estimate < 1e-3
    monkeypatch.setattr(proof, "ESTIMATE_LIMIT", 0.1 * row.estimate)
    proof.compare_estimates(row, fmu, fmu, ROOT / "fmus" / "reference")
    assert "standard errors off" in row.problems[0]


def test_model_exchange_is_compared(
    proof: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the engine is asked for; tests/validation/test_model_exchange.py lets it run."""
    times = np.array([0.0, 0.5, 1.0])
    setup = proof.SimulationSetup(times, ("u",), times[:, None], ("y",), {"k": 4.0}, 1e-7)
    opened = MagicMock()
    monkeypatch.setattr("fmident.validation.checks.model_exchange.open_fmu", opened)
    simulator = opened.return_value.__enter__.return_value.simulator
    running = simulator.return_value.__enter__.return_value
    running.simulate.return_value = np.zeros((9, 1))
    proof.exchange(tmp_path / "x.fmu", setup)
    opened.assert_called_once_with(tmp_path / "x.fmu")
    simulator.assert_called_once_with(interface="model-exchange")
    (asked,) = running.simulate.call_args.args
    assert (asked.interpolation, asked.tolerance) == ("linear", 1e-11)
    assert asked.start_values == {"k": 4.0}
    np.testing.assert_allclose(asked.inputs[:, 0], asked.times)  # finer, on the same lines
    assert asked.times.size == 9


def test_options_of_the_compiler(proof: ModuleType) -> None:
    assert proof.option_of("ramp_inputs=false") == ("ramp_inputs", False)
    assert proof.option_of("timeout=60") == ("timeout", 60)
    assert proof.option_of("session=script") == ("session", "script")
    assert proof.option_of('platforms=["static"]') == ("platforms", ["static"])


def test_an_fmu_that_crashes_costs_one_row(
    proof: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crash = tmp_path / "crash.py"
    crash.write_text("import os; os.abort()\n")
    monkeypatch.setattr(proof, "__file__", str(crash))
    row = proof.in_a_process("A.B", [], 30.0)
    assert not row.passed
    assert "ended with code -6" in row.problems[0]
    crash.write_text("import time; time.sleep(30)\n")
    assert "not finished after 0.5 s" in proof.in_a_process("A.B", [], 0.5).problems[0]


def test_without_openmodelica_it_says_how_to_get_it(
    proof: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("OPENMODELICAHOME", raising=False)
    assert proof.main([]) == 2
    assert "apt-get install omc" in capsys.readouterr().err
    assert proof.main(["--compiler", "embedded", "--library", str(tmp_path)]) == 2


def test_failed_builds_fail_the_proof(
    proof: ModuleType, fake_omc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through recorded answers: the class is not balanced."""
    library = tmp_path / "Unbalanced"
    library.mkdir()
    (library / "package.mo").write_text("package Unbalanced end Unbalanced;")
    code = proof.main(
        ["--library", str(library), "--class", "Unbalanced", "--output", str(tmp_path / "o")]
    )
    assert code == 1
    assert "'Unbalanced' has 1 equation(s) and 2 variable(s)" in capsys.readouterr().out


@pytest.mark.nightly
def test_the_whole_proof_with_the_embedded_compiler(tmp_path: Path) -> None:
    """Everything runs for real, with the embedded compiler in OpenModelica's place."""
    report = tmp_path / "report.json"
    done = subprocess.run(
        [
            sys.executable, str(SCRIPT), "--compiler", "embedded", "--class", DELTA,
            "--output", str(tmp_path), "--json", str(report),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 classes passed" in done.stdout
    (row,) = json.loads(report.read_text())
    passed, _, total = row["valid"].partition("/")
    assert passed == total
    assert int(total) >= 5
    assert 0.0 < row["reference"] < 1e-5
    assert row["twin"] == 0.0
    assert row["run_ms"] > 0.0
    assert 0.0 < row["estimate"] < 1e-2


def test_the_wrapper_script_is_executable() -> None:
    done = subprocess.run(
        [str(ROOT / "ci" / "prove-openmodelica"), "--help"],
        capture_output=True, text=True, check=False,
        env={"PYTHON": sys.executable, "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0
    assert "example: ci/prove-openmodelica" in done.stdout


@pytest.mark.nightly
@pytest.mark.slow
def test_the_whole_proof_with_a_compiler_behind_omc(
    proof: ModuleType,
    fake_omc: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sessions, wrappers, ramps, validation, comparison: all but omc's own code.

    The program in omc's place compiles with the embedded compiler, which stands in the
    comparison, too; so what deviates is what ramps make different from linear inputs.
    """
    monkeypatch.setenv("FAKE_OMC_EMBEDDED", "1")
    library = ROOT / "modelica" / "Mechanisms"

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    output = tmp_path / "fmus"
    row = proof.prove_class(SLIDE, [library], output, ROOT / "fmus" / "reference")
    assert row.problems == []
    assert 0.0 < row.reference < 1e-4
    assert 0.0 < row.twin < 1e-5
    assert row.estimate is not None
    assert 0.0 < row.estimate < 1e-3
    fmu = output / f"{SLIDE}.fmu"
    ramps = read_description(fmu).input_ramps
    assert ramps is not None
    assert dict(ramps.slopes) == {"u": "fmident.slope.u"}

    # The administrator has another kind of session. It builds the same FMU, so the rest of the
    # proof says the same of it.
    monkeypatch.setattr("os.geteuid", lambda: 0)
    steps: list[str] = []
    with monkeypatch.context() as patch:
        for step in STEPS:
            patch.setattr(proof, step, lambda *_, step=step: steps.append(step))
        again = proof.prove_class(SLIDE, [library], tmp_path / "0", ROOT / "fmus" / "reference")
    assert again.problems == []
    assert steps == list(STEPS)
    assert members(tmp_path / "0" / f"{SLIDE}.fmu") == members(fmu)


def members(fmu: Path) -> dict[str, bytes]:
    """Return the content of an FMU, but for the moment at which it was made."""
    with zipfile.ZipFile(fmu) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    text, count = re.subn(rb'generationDateAndTime="[^"]*"', b"", found["modelDescription.xml"])
    assert count <= 1
    return {**found, "modelDescription.xml": text}


def test_the_catalogues_settings_are_used(proof: ModuleType, tmp_path: Path) -> None:
    entry = proof.find_entry(SLIDE, ROOT / "fmus" / "reference")
    assert entry is not None
    assert entry.class_name == SLIDE
    assert proof.find_entry("No.Such", ROOT / "fmus" / "reference") is None
    assert proof.find_entry(SLIDE, tmp_path / "reference") is None
