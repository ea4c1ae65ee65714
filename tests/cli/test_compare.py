"""``fmident compare``: results side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmident.cli import main

from ..study import NOISE, Study

Capture = pytest.CaptureFixture[str]


def compared(*folders: str) -> list[dict[str, object]]:
    assert main(["compare", *folders, "--json", "both.json"]) == 0
    found: list[dict[str, object]] = json.loads(Path("both.json").read_text())["results"]
    return found


def test_a_parameter_that_the_data_do_not_need(study: Study, capsys: Capture) -> None:
    """AIC and BIC by their definitions, from the samples, and what they say of nested models."""
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    held = ["--set", "parameters.d.fixed=true", "--set", "parameters.d.initial=4.0"]
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held]) == 0
    capsys.readouterr()
    full, less = compared("full", "held")
    printed = capsys.readouterr().out
    for one, name, count in ((full, "full", 3), (less, "held", 2)):
        table = pd.read_csv(f"{name}/fit.csv")
        r = table["measured"] - table["fitted"]
        twice = np.sum(np.log(2 * np.pi * NOISE**2) + (r / NOISE) ** 2)
        assert one["aic"] == pytest.approx(twice + 2 * count, rel=1e-7)
        assert one["bic"] == pytest.approx(twice + count * np.log(len(table)), rel=1e-7)
    # The true value costs next to nothing, and is a parameter less.
    assert less["bic"] < full["bic"]  # type: ignore[operator]
    assert [row.split()[0] for row in printed.splitlines()[2:5]] == ["m", "held", "d"]
    assert "fixed" in printed
    assert " no AIC" not in printed


def test_without_sigma_the_size_of_the_noise_is_a_parameter(study: Study) -> None:
    study.change(", sigma = 2e-5", "")
    for name in ("one", "two"):
        assert main(["estimate", "problem.toml", "-o", name, "-q"]) == 0
    found, same = compared("one", "two")
    table = pd.read_csv("one/fit.csv")
    variance = np.mean((table["measured"] - table["fitted"]) ** 2)
    twice = len(table) * (np.log(2 * np.pi * variance) + 1.0)
    assert found["aic"] == pytest.approx(twice + 2 * 4, rel=1e-7)
    assert same["aic"] == found["aic"]


def test_other_data_have_no_criteria_beside_the_first(
    study: Study, measure: Callable[[int], pd.DataFrame], capsys: Capture
) -> None:
    assert main(["estimate", "problem.toml", "-o", "first", "-q"]) == 0
    measure(151).to_csv(study.data, index=False)
    assert main(["estimate", "problem.toml", "-o", "second", "-q"]) == 0
    capsys.readouterr()
    first, second = compared("first", "second")
    assert first["aic"] is not None
    assert second["aic"] is None
    printed = " ".join(capsys.readouterr().out.split())
    assert "second: no AIC and BIC, since its samples are not those of the first" in printed


def test_validation_and_names(study: Study, capsys: Capture) -> None:
    text = study.problem.read_text()
    table = text[text.index("[[experiments]]") : text.index("[estimator]")]
    again = table.replace('name = "push"', 'name = "again"\nrole = "validation"')
    study.problem.write_text(text + again)
    assert main(["estimate", "problem.toml", "-o", "a/results", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "b/results", "-q"]) == 0
    capsys.readouterr()
    one, other = compared("a/results", "b/results/result.json")
    assert (one["name"], other["name"]) == ("a/results", "b/results")
    assert one["validation"][0]["nrmse"] == one["fit"][0]["nrmse"]  # type: ignore[index]


def test_refused(study: Study, capsys: Capture) -> None:
    assert main(["compare", "results"]) == 2
    assert "one result cannot be compared" in capsys.readouterr().err
    assert main(["compare", ".", "."]) == 2
    assert "there is no 'result.json'" in capsys.readouterr().err
