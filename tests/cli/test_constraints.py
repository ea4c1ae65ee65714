"""Constraints between parameters on an FMU of the library, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fmident
from fmident.cli import main
from fmident.evaluation.journal.keys import differences, identity_of

from ..study import TRUE, Study

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]
INLINE = ["--set", "evaluation.executor=inline"]
TOTAL = 'total = "k + 100 [N/(m.kg)]*m = 700 N/m"'
DAMPING = 'damping = "d/(2*sqrt(k*m)) <= 0.05"'


def constrained(study: Study, *lines: str) -> None:
    text = study.problem.read_text()
    study.problem.write_text(text + "\n[constraints]\n" + "\n".join(lines) + "\n")


def estimated(study: Study, *more: str) -> dict[str, Any]:
    out = study.folder / "out"
    assert main(["estimate", str(study.problem), "-o", str(out), *INLINE, *more]) == 0
    found: dict[str, Any] = json.loads((out / "result.json").read_text())
    return found


def test_an_equality_with_either_estimator(study: Study, capsys: Capture) -> None:
    free = estimated(study)
    constrained(study, TOTAL)
    kept = estimated(study, "--set", "estimator.name=scipy-minimize")
    said = capsys.readouterr().out
    assert "Active constraint 'total' (k + 100 [N/(m.kg)]*m = 700 N/m)" in " ".join(said.split())
    (check,) = kept["constraints"]
    assert (check["name"], check["active"], check["violated"]) == ("total", True, False)
    assert abs(check["slack"]) < 1e-9
    followed = estimated(study)
    assert followed["parameters"]["k"]["expression"] == "k + 100 [N/(m.kg)]*m = 700 N/m"
    for name in TRUE:
        one, two = kept["parameters"][name], followed["parameters"][name]
        assert two["value"] == pytest.approx(one["value"], rel=1e-5)
        assert two["standard_error"] == pytest.approx(one["standard_error"], rel=0.01)
        low, high = one["interval_95"]
        assert low < TRUE[name] < high
    (check,) = followed["constraints"]  # a dependent parameter keeps it, and it counts all the same
    assert (check["name"], check["active"], check["violated"]) == ("total", True, False)
    assert kept["parameters"]["m"]["standard_error"] < free["parameters"]["m"]["standard_error"]


def test_an_active_nonlinear_inequality(study: Study, capsys: Capture) -> None:
    """The truth has a damping ratio of 0.0577, which the constraint forbids."""
    constrained(study, DAMPING)
    found = estimated(study, "--set", "estimator.name=scipy-minimize")
    values = {n: p["value"] for n, p in found["parameters"].items()}
    assert values["d"] / (2.0 * np.sqrt(values["k"] * values["m"])) == pytest.approx(0.05)
    assert found["constraints"][0]["active"]
    assert "'damping'" in capsys.readouterr().out


def test_an_inequality_that_is_a_bound_is_named_all_the_same(study: Study, capsys: Capture) -> None:
    constrained(study, 'stiff = "k >= 450 N/m"', 'light = "m <= 50 kg"')
    found = estimated(study)
    assert found["parameters"]["k"]["value"] == 450.0
    checks = {c["name"]: (c["active"], c["violated"]) for c in found["constraints"]}
    assert checks == {"stiff": (True, False), "light": (False, False)}
    said = " ".join(capsys.readouterr().out.split())
    assert "The constraint 'stiff' (k >= 450 N/m) hides the fit: correct it" in said
    assert "Active constraint 'stiff' (k >= 450 N/m)" in said
    assert "widen the bounds" not in said


def test_constraints_that_cannot_be_kept_lead_the_verdict(study: Study, capsys: Capture) -> None:
    constrained(study, 'one = "k*m >= 2000 kg.N/m"', 'other = "k*m <= 1500 kg.N/m"')
    found = estimated(study, "--set", "estimator.name=scipy-minimize")
    violated = [c["name"] for c in found["constraints"] if c["violated"]]
    assert violated
    said = " ".join(capsys.readouterr().out.split())
    assert f"The search did not come to keep the constraint '{violated[0]}'" in said
    assert "The constraints may contradict each other" in said
    assert "The cost fell" in said or "The cost rose" in said


def test_who_cannot_keep_it_refuses_and_names_who_can(study: Study, capsys: Capture) -> None:
    constrained(study, DAMPING)
    assert main(["estimate", str(study.problem), "-q", *INLINE]) == 2
    said = capsys.readouterr().err
    assert "problem.toml:30: the estimator 'least-squares' does not keep the constraint" in said
    assert "'damping'" in said
    assert "'scipy-minimize'" in said
    assert (
        main(["profile", str(study.problem), "-q", "--set", "estimator.name=scipy-minimize"]) == 2
    )
    assert "profiles do not keep the constraint 'damping'" in capsys.readouterr().err


def test_check_names_what_the_start_does_not_keep(study: Study, capsys: Capture) -> None:
    constrained(study, TOTAL)
    words = ["check", str(study.problem), "--quick", *INLINE]
    assert main([*words, "--set", "estimator.name=scipy-minimize"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the initial values do not keep the constraint 'total'" in said
    assert "begins at the nearest values that keep all: m = " in said
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "the constraint 'total' (k + 100 [N/(m.kg)]*m = 700 N/m) gives 'k'" in " ".join(
        said.split()
    )
    assert "follows" in said


def test_a_profile_of_what_is_left(study: Study) -> None:
    constrained(study, TOTAL)
    out = study.folder / "profiles"
    assert main(["profile", str(study.problem), "-o", str(out), "-q", *INLINE]) == 0
    content = json.loads((out / "profiles.json").read_text())
    assert set(content["profiles"]) == {"m", "d"}


def test_export_and_stages(study: Study, capsys: Capture) -> None:
    constrained(study, TOTAL)
    text = study.problem.read_text()
    stages = '\n[[stages]]\nname = "one"\nfree = ["d"]\n\n[[stages]]\nname = "two"\n'
    study.problem.write_text(text + stages)
    found = estimated(study)
    k, m = found["parameters"]["k"], found["parameters"]["m"]
    assert k["value"] + 100.0 * m["value"] == pytest.approx(700.0)
    assert k["standard_error"] == pytest.approx(100.0 * m["standard_error"], rel=1e-6)
    assert (k["stage"], k["expression"]) == ("two", "k + 100 [N/(m.kg)]*m = 700 N/m")
    assert found["free_parameters"] == ["m", "d"]
    assert not any("keeps its initial value" in note for note in found["notes"])
    capsys.readouterr()
    assert main(["export", "out", "--modelica", "modifier"]) == 0
    assert ", k + 100 [N/(m.kg)]*m = 700 N/m, " in capsys.readouterr().out


def test_another_constraint_is_another_problem(study: Study) -> None:
    plain = fmident.load_problem(study.problem)
    constrained(study, DAMPING)
    settings = {"estimator.name": "scipy-minimize"}
    one = fmident.load_problem(study.problem, overrides=settings)
    two = fmident.load_problem(
        study.problem, overrides={**settings, "constraints.damping": "d <= 5 N.s/m"}
    )
    assert "constraints" not in identity_of(plain)
    said = differences(identity_of(one), identity_of(two))
    assert said.startswith("constraints.damping was")


def test_a_dependent_parameter_of_the_model(study: Study) -> None:
    study.change("[parameters.k]\ninitial = 300.0\nbounds = [50.0, 1000.0]",
                 '[parameters.k]\nexpression = "700 N/m - 100 [N/(m.kg)]*m"')  # fmt: skip
    path = Path(study.problem)
    assert path.exists()
    found = estimated(study)
    assert found["parameters"]["k"]["value"] == pytest.approx(400.0, rel=1e-3)
    assert found["parameters"]["k"]["expression"] == "700 N/m - 100 [N/(m.kg)]*m"
