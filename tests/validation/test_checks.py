"""Every check passes on a good FMU and fails on one with the flaw that it looks for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.catalog import Interface, ReferenceExperiment, Signal, SmokeExperiment
from fmident.cli import main
from fmident.errors import DataError, FmuError
from fmident.validation import Check, FmuPlan, FmuReport, plan_fmu, validate, validate_fmu
from fmident.validation.checks.contents import check_description
from fmident.validation.children import FOLLOWING
from fmident.validation.fmu_plan import Reference, read_recording

from ..fmu.build import Fixture, build, real
from .conftest import VARIABLES

pytestmark = pytest.mark.slow  # many builds or whole runs

BuildFlawed = Callable[..., Path]

INTERFACE = Interface({"u": "N"}, {"x": "m"}, {"k": "1"})
SMOKE = SmokeExperiment(samples=201, inputs={"u": Signal(1.0, ((0.5, 1.0, 0.0),))})


def run(plan: FmuPlan, timeout: float = 20.0) -> FmuReport:
    (report,) = validate([plan], timeout=timeout, jobs=1)
    return report


def by_name(report: FmuReport) -> dict[str, Check]:
    return {c.name: c for c in report.checks}


def plan(path: Path, **changes: object) -> FmuPlan:
    return replace(FmuPlan(path, INTERFACE, smoke=SMOKE, resets=200), **changes)  # type: ignore[arg-type]


def write_reference(
    folder: Path, *, shift: float = 0.0, header: str = "time [s],u [N],x [mm]", k: float = 2.0
) -> Path:
    """Write x(t) for u = 1 in mm; `shift` is added at t = 1 s."""
    times = np.linspace(0.0, 2.0, 201)
    x = k * (1.0 - np.exp(-times))
    x[100] += shift
    rows = [f"{t:.17g},1,{1e3 * v:.17g}" for t, v in zip(times, x, strict=True)]
    file = folder / "reference.csv"
    file.write_text("\n".join(["# made by the test", f"# parameters: k={k}", header, *rows]))
    return file


def test_good_fmu_passes_everything(flawed: BuildFlawed, tmp_path: Path) -> None:
    experiment = ReferenceExperiment(write_reference(tmp_path), tube=1e-12)
    references = (Reference(read_recording(experiment.file), experiment),)
    report = run(plan(flawed(), references=references))
    assert [(c.name, c.outcome) for c in report.checks] == [
        (name, "ok")
        for name in (
            "identity", "contents", "model description", "FMI rules", "interface", "simulation",
            "reference reference", "parameters", "repeatability", "memory", "step sizes",
        )
    ]  # fmt: skip
    assert report.passed
    assert report.deviation is not None
    assert report.deviation < 1e-12


@pytest.mark.parametrize(
    ("flaw", "name", "fragment"),
    [
        ("REMEMBERS", "repeatability", "'x' differs by"),
        ("EULER", "step sizes", "2h against h/2"),
        ("CRASHES_LATE", "memory", "SIGABRT"),
    ],
)
def test_a_flaw_fails_its_own_check_only(
    flawed: BuildFlawed, flaw: str, name: str, fragment: str
) -> None:
    report = run(plan(flawed(flaw), resets=1000))
    failed = [c for c in report.checks if not c.passed]
    assert [c.name for c in failed] == [name]
    assert fragment in failed[0].detail
    assert "skipped" not in [c.outcome for c in report.checks]


@pytest.mark.parametrize(
    ("flaw", "fragment"),
    [
        (
            "CRASHES",
            "native code crashed with SIGABRT (it gave up by abort()); it said: last words",
        ),
        ("ENDS", "native code ended the whole process with exit code 0"),
        ("HANGS", "did not answer within 4 s and was ended"),
    ],
)
def test_native_code_that_dies_in_the_simulation(
    flawed: BuildFlawed, flaw: str, fragment: str
) -> None:
    report = run(plan(flawed(flaw)), timeout=4.0 if flaw == "HANGS" else 20.0)
    checks = by_name(report)
    assert not checks["simulation"].passed
    assert checks["simulation"].detail.startswith(fragment)
    assert [c.name for c in report.checks if c.outcome == "skipped"] == [
        "parameters", "repeatability", "memory", "step sizes",
    ]  # fmt: skip
    assert not report.passed


def test_what_an_fmu_prints_does_no_harm(flawed: BuildFlawed) -> None:
    assert run(plan(flawed("NOISY"))).passed


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ('unit="kN.m"', "The unit 'kN.m' of variable 'k' (line "),
        ('unit="kN.m" displayUnit="MN.m"', "the unit 'kN.m' of variable 'k' (line "),
        ('displayUnit="MN.m"', "has the display unit 'MN.m', but no unit"),
    ],
)
def test_a_unit_that_is_not_defined_is_named(flawed: BuildFlawed, unit: str, words: str) -> None:
    broken = VARIABLES.replace('unit="1"', unit)
    check = check_description(flawed(variables=broken))
    assert check.outcome == "finding"
    assert words in check.detail.replace('"', "'")


def test_illegal_names_of_derivatives_are_named(
    flawed: BuildFlawed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenModelica writes der(der(x)); FMPy's parser prints what it expected instead."""
    said = (
        '"der(der(gear.phi_b))" (line 348) is not a legal variable name for naming convention'
        " \"structured\". No terminal matches '(' in the current parser context, at line 1 col 8"
    )
    monkeypatch.setattr("fmpy.validation.validate_fmu", lambda path: [said])
    check = check_description(flawed())
    assert check.outcome == "finding"
    assert check.detail.startswith("'der(der(gear.phi_b))' (line 348) is not a legal name")
    assert check.detail.endswith("it would be 'der(gear.phi_b,2)'")


def test_all_problems_of_a_description_are_kept(
    flawed: BuildFlawed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fmpy.validation.validate_fmu", lambda path: ["one\n here", "two", "three"])
    path = flawed()
    check = check_description(path)
    assert check.detail == "one here (and 2 more)"
    assert check.further == ("two", "three")
    brief = ["validate", str(path), "--resets", "5"]
    assert main(brief) == 0
    assert "2 more of 'model description': -v" in capsys.readouterr().out
    assert main([*brief, "-v", "--strict"]) == 1
    assert "  - two\n  - three" in capsys.readouterr().out


def test_interface_that_differs(flawed: BuildFlawed) -> None:
    wanted = Interface({"u": "m", "force": "N"}, {}, {"k": "1", "dead": "", "kk": "1", "x": "m"})
    checks = by_name(run(plan(flawed(), interface=wanted)))
    assert checks["interface"].detail.split("; ") == [
        "input 'force' is missing",
        "input 'u' has the unit 'N', not 'm'",
        "output 'x' is not in the catalogue",
        "there is no parameter 'kk' (nearest parameter: 'k')",
        "parameter 'x' cannot be set: calculated by the model",
    ]


def test_parameter_without_effect(flawed: BuildFlawed) -> None:
    frozen = Interface({"u": "N"}, {"x": "m"}, {"k": "1", "dead": ""})
    checks = by_name(run(plan(flawed(), interface=frozen)))
    assert checks["interface"].passed
    assert checks["parameters"].detail == "no output changes with 'dead': frozen in the FMU"


def test_reference_that_is_left(flawed: BuildFlawed, tmp_path: Path) -> None:
    experiment = ReferenceExperiment(write_reference(tmp_path, shift=0.01), tube=1e-3)
    references = (Reference(read_recording(experiment.file), experiment),)
    check = by_name(run(plan(flawed(), references=references)))["reference reference"]
    assert not check.passed
    assert "'x' deviates most: 5.8e-03 of its range at t = 1 s, allowed 1e-03" in check.detail
    wider = replace(experiment, tubes={"x": 6e-3})
    references = (Reference(read_recording(experiment.file), wider),)
    assert by_name(run(plan(flawed(), references=references)))["reference reference"].passed


@pytest.mark.parametrize(
    ("header", "fragment"),
    [
        ("time,u,y", "nearest variable"),
        ("time,u,x [kg]", "'x'"),
    ],
)
def test_reference_that_does_not_fit(
    flawed: BuildFlawed, tmp_path: Path, header: str, fragment: str
) -> None:
    experiment = ReferenceExperiment(write_reference(tmp_path, header=header))
    references = (Reference(read_recording(experiment.file), experiment),)
    check = by_name(run(plan(flawed(), references=references)))["reference reference"]
    assert not check.passed
    assert "y" in check.detail or fragment in check.detail


def test_users_reference_may_hold_more(flawed: BuildFlawed, tmp_path: Path) -> None:
    text = write_reference(tmp_path).read_text().replace("u [N]", "somewhat")
    (tmp_path / "reference.csv").write_text(text.replace("k=2.0", "k=2.0 other=1"))
    references = [ReferenceExperiment(tmp_path / "reference.csv", tube=1e-9)]
    check = by_name(run(plan_fmu(flawed(), None, references, resets=10)))["reference reference"]
    assert check.passed
    assert check.detail.endswith("not in the FMU: somewhat, other")


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("x,y\n1,2\n", "column 'time'"),
        ("time,x\n0,1\n1,\n", "gap"),
        ("# parameters: a=1 b\ntime,x\n0,1\n1,2\n", "'b' is not of the form name=value"),
        ("# parameters: a=one\ntime,x\n0,1\n1,2\n", "'a=one' is not of the form"),
    ],
)
def test_recording_that_cannot_be_read(tmp_path: Path, text: str, fragment: str) -> None:
    file = tmp_path / "r.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=fragment):
        read_recording(file)


def test_no_output(flawed: BuildFlawed) -> None:
    path = flawed(variables=real("x", 2, "local"))
    checks = by_name(run(FmuPlan(path, resets=5)))
    assert checks["contents"].outcome == "finding"


def test_file_that_is_no_fmu(tmp_path: Path, flawed: BuildFlawed) -> None:
    bad = tmp_path / "bad.fmu"
    bad.write_text("no zip")
    good, broken = validate([FmuPlan(flawed(), resets=5), FmuPlan(bad)], jobs=2)
    assert good.passed
    assert not broken.passed
    assert "zip" in (broken.unusable or "")
    with pytest.raises(FmuError, match="zip"):
        validate_fmu(bad)


def test_a_caller_that_wants_no_more_waits_for_nothing(flawed: BuildFlawed) -> None:
    """The others are ended, not awaited: one that hangs would take its time limit."""
    plans = [FmuPlan(flawed(), resets=5), plan(flawed("HANGS")), plan(flawed("HANGS"))]
    began = time.perf_counter()
    reports = validate(plans, timeout=600.0, jobs=2)
    assert next(reports).passed
    reports.close()  # type: ignore[attr-defined]
    assert time.perf_counter() - began < 300.0


def test_an_fmu_that_ends_the_simulation_itself(tmp_path: Path) -> None:
    """All checks are done up to there; that a reset does not help is no harm, either."""
    variables = real("a", 0, "parameter", start=1) + real("x", 1, "output")
    path = build(Fixture("trouble.c", variables, defines=("ENDS",)), tmp_path)
    found = by_name(run(FmuPlan(path, resets=20)))
    assert "; at t = 1" in found["simulation"].detail
    assert "the FMU itself ends the simulation" in found["simulation"].detail
    said = ("model description", "FMI rules")
    assert [n for n, c in found.items() if not c.passed and n not in said] == []


@pytest.mark.slow
def test_growth_that_new_processes_bound_is_a_finding_about_the_tool(flawed: BuildFlawed) -> None:
    """20 kB per run cost an estimation a new worker now and then; 20 MB would be too much."""
    checks = {c.name: c for c in run(plan(flawed("LEAKS"), resets=1000)).checks}
    memory = checks["memory"]
    assert memory.outcome == "finding"
    assert memory.figure is not None
    assert memory.figure > 15_000
    assert "a finding about fmident tests" in memory.detail
    assert "a new instance does not give it back" in memory.detail
    assert "replaces the worker process about every 1.3e+04 runs" in memory.detail
    assert all(c.passed for c in checks.values())


@pytest.mark.slow
def test_growth_that_nothing_bounds_fails(flawed: BuildFlawed) -> None:
    report = run(plan(flawed("LEAKS_MUCH"), resets=12))
    assert [c.name for c in report.checks if not c.passed] == ["memory"]


def test_parameters_without_effect_are_not_frozen_where_no_input_moves(
    flawed: BuildFlawed,
) -> None:
    interface = replace(INTERFACE, identifiable={"k": "1", "dead": "1"})
    moving = by_name(run(plan(flawed(), interface=interface, only=("parameters",))))
    assert not moving["parameters"].passed
    assert "'dead': frozen in the FMU" in moving["parameters"].detail
    still = replace(SMOKE, inputs={"u": Signal(0.0, ())})
    found = by_name(run(plan(flawed(), interface=interface, smoke=still, only=("parameters",))))
    assert found["parameters"].outcome == "skipped"
    assert "no input moves in any of the experiments" in found["parameters"].detail
    assert "frozen" not in found["parameters"].detail


def test_step_sizes_are_not_compared_where_no_output_moves(flawed: BuildFlawed) -> None:
    still = replace(SMOKE, inputs={"u": Signal(0.0, ())})
    found = by_name(run(plan(flawed("EULER"), smoke=still, only=("step sizes",))))
    assert found["step sizes"].outcome == "skipped"
    assert "no output moves" in found["step sizes"].detail


@pytest.mark.parametrize(
    ("tolerance", "tube", "outcome"),
    [("1e-6", None, "failed"), ("", None, "finding"), ("", 1e-4, "failed"), ("", 0.5, "ok")],
)
def test_coarse_steps_fail_where_a_tolerance_or_a_limit_is_given(
    flawed: BuildFlawed, tolerance: str, tube: float | None, outcome: str
) -> None:
    path = flawed("EULER", tolerance=tolerance)
    checks = by_name(run(plan(path, step_tube=tube, only=("step sizes",))))
    assert checks["step sizes"].outcome == outcome
    assert checks["step sizes"].figure is not None
    assert checks["step sizes"].figure > 1e-3


def test_a_simulation_that_fails_is_reported_once(flawed: BuildFlawed) -> None:
    report = run(plan(flawed("REFUSES")))
    failed = [c for c in report.checks if not c.passed]
    assert [c.name for c in failed] == ["simulation"]
    following = [c for c in report.checks if c.name in FOLLOWING]
    assert [c.detail for c in following] == ["not tried: 'simulation' failed"] * len(FOLLOWING)
    assert {c.outcome for c in following} == {"skipped"}
