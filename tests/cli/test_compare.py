"""``fmident compare``: results side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import fmident
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
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 4.0)]) == 0
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


def nested(*folders: str) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    assert main(["compare", *folders, "--json", "both.json"]) == 0
    found = json.loads(Path("both.json").read_text())
    return found["tests"], found["not_tested"]


def held(name: str, value: float) -> list[str]:
    place = f"parameters.{name}"
    return ["--set", f"{place}.fixed=true", "--set", f"{place}.initial={value}"]


@pytest.mark.parametrize("known", [True, False])
def test_likelihood_ratio_of_nested_problems(study: Study, capsys: Capture, known: bool) -> None:
    if not known:
        study.change(", sigma = 2e-5", "")
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 4.2)]) == 0
    capsys.readouterr()
    (test,), untested = nested("held", "full")
    printed = " ".join(capsys.readouterr().out.split())
    assert untested == []
    assert (test["smaller"], test["larger"]) == ("held", "full")
    assert (test["parameters"], test["held_at_a_bound"]) == (["d"], [])
    squares = []
    for name in ("held", "full"):
        table = pd.read_csv(f"{name}/fit.csv")
        squares.append(float(np.sum((table["measured"] - table["fitted"]) ** 2)))
    variance = NOISE**2 if known else squares[1] / (101 - 3)
    statistic = (squares[0] - squares[1]) / variance
    assert test["statistic"] == pytest.approx(statistic, rel=1e-4)
    tail = stats.chi2.sf(statistic, 1) if known else stats.f.sf(statistic, 1, 98)
    assert test["p_value"] == pytest.approx(float(tail), rel=1e-2)
    assert test["distribution"] == ("chi2(1)" if known else "F(1, 98)")
    assert "held in full d" in printed
    assert "Valid for Gaussian noise, many samples" in printed
    both = fmident.compare("full", "held")
    assert "likelihood ratio" in both._repr_html_()
    assert both.tests["p_value"][0] == pytest.approx(test["p_value"])
    assert both.figures["weight"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("sigma = 2e-5", "sigma = 2e-5, gain = 1.001", "the gain of 'x' differs"),
        ("sigma = 2e-5", "sigma = 2e-5, offset = 1e-6", "the offset of 'x' differs"),
        ("sigma = 2e-5", "sigma = 2e-5, delay = 1e-3", "the delay of 'x' differs"),
        ('F = "force"', 'F = "later"', "the input 'F' of experiment 'push' differs"),
        ('F = "force"', 'F = { column = "force" }', ""),
        # The values count, not what the column is called.
        ('F = "force"', 'F = "same"', ""),
        ('F = "force"', 'F = { column = "milli", unit = "mN" }', ""),
        (
            'F = "force"',
            'F = { column = "force", unit = "mN" }',
            "the input 'F' of experiment 'push' differs",
        ),
        ("sigma = 2e-5", "sigma = 2e-5, gain = 1, offset = 0", ""),
    ],
)
def test_other_measurements_or_inputs_are_not_nested(
    study: Study, before: str, after: str, reason: str
) -> None:
    table = pd.read_csv(study.data)
    force = table["force"]
    more = table.assign(later=1.001 * force, same=force, milli=1e3 * force)
    more.to_csv(study.data, index=False)
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    study.change(before, after)
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 4.0)]) == 0
    tests, untested = nested("held", "full")
    if reason:
        assert tests == []
        assert [one["since"] for one in untested] == [reason]
    else:
        assert len(tests) == 1
        assert untested == []


def test_a_parameter_without_bounds_is_not_held_at_one(study: Study) -> None:
    study.change("bounds = [0.0, 50.0]\n", "")  # below, that of the model, 0, is left
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 4.0)]) == 0
    (test,), _ = nested("held", "full")
    assert test["held_at_a_bound"] == []


def test_a_parameter_held_at_its_bound(study: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 0.0)]) == 0
    capsys.readouterr()
    (test,), _ = nested("held", "full")
    assert test["held_at_a_bound"] == ["d"]
    assert test["distribution"] == "half 0, half chi2(1)"
    assert test["p_value"] == 0.0
    assert "d held at a bound" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--set", "parameters.d.bounds=[0.0, 100.0]", *held("d", 80.0)],
         "d = 80 is outside of its bounds"),
        (["--set", "model.start_values.x_start=1e-3", *held("d", 4.0)],
         "the start value of 'x_start' differs"),
    ],
)  # fmt: skip
def test_problems_that_are_not_nested(
    study: Study, capsys: Capture, arguments: list[str], reason: str
) -> None:
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "other", "-q", *arguments]) == 0
    capsys.readouterr()
    tested, ((untested),) = nested("other", "full")
    assert tested == []
    assert reason in str(untested["since"])
    assert "other and full: no likelihood-ratio test" in capsys.readouterr().out


def test_other_excluded_samples_are_other_data(study: Study, capsys: Capture) -> None:
    assert main(["estimate", "problem.toml", "-o", "first", "-q"]) == 0
    study.change("x = { column", 'x = { exclude = "time < 0.1", column')
    assert main(["estimate", "problem.toml", "-o", "second", "-q", *held("d", 4.0)]) == 0
    capsys.readouterr()
    _, second = compared("first", "second")
    assert "there are" in str(second["no_criteria_since"])
    assert json.loads(Path("both.json").read_text())["tests"] == []


def test_coloured_residuals_count_as_fewer_samples(study: Study, capsys: Capture) -> None:
    table = pd.read_csv(study.data)
    rng, noise = np.random.default_rng(11), 0.0
    for k in range(len(table)):
        noise = 0.95 * noise + rng.normal(scale=2e-5)
        table.loc[k, "position"] += noise
    table.to_csv(study.data, index=False)
    study.change(", sigma = 2e-5", "")
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 4.4)]) == 0
    capsys.readouterr()
    full, less = compared("full", "held")
    whole = json.loads(Path("both.json").read_text())
    assert whole["coloured_residuals"]
    inflation = whole["samples_per_independent_sample"]
    assert 3.0 < inflation < 60.0
    (test,) = whole["tests"]
    assert test["effective_p_value"] > test["p_value"]
    effective = full["effective"]
    assert isinstance(effective, dict)
    assert effective["aic"] == pytest.approx((full["aic"] - 8.0) / inflation + 8.0)  # type: ignore[operator]
    printed = " ".join(capsys.readouterr().out.split())
    assert "These numbers take the residuals for white, which they are not" in printed
    assert less["name"] == "held"


def with_ar_noise(study: Study, correlation: float = 0.9) -> None:
    """Give the data autoregressive noise, and let some samples be missing."""
    table = pd.read_csv(study.data)
    rng, noise = np.random.default_rng(5), 0.0
    for k in range(len(table)):
        noise = correlation * noise + rng.normal(scale=2e-5)
        table.loc[k, "position"] += noise
    table.loc[[20, 21, 60], "position"] = np.nan
    table.to_csv(study.data, index=False)


AR = "noise = { model = 'ar', order = 1 }"


def dense_deviance(residuals: np.ndarray, places: np.ndarray, unknowns: np.ndarray) -> float:
    """Return -2 ln L of a first-order autoregression by its dense covariance."""
    correlation, variance = np.tanh(unknowns[0]), np.exp(unknowns[1])
    lags = np.abs(places[:, np.newaxis] - places)
    covariance = variance / (1.0 - correlation**2) * correlation**lags
    return float(-2.0 * stats.multivariate_normal(cov=covariance).logpdf(residuals))


def test_a_model_of_the_noise_has_its_own_likelihood(study: Study, capsys: Capture) -> None:
    with_ar_noise(study)
    study.change("sigma = 2e-5", AR)
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 4.2)]) == 0
    capsys.readouterr()
    full, less = compared("full", "held")
    whole = json.loads(Path("both.json").read_text())
    deviances = []
    for found, name, count in ((full, "full", 3), (less, "held", 2)):
        table = pd.read_csv(f"{name}/fit.csv").dropna()
        assert len(table) == 98
        residuals = (table["measured"] - table["fitted"]).to_numpy() * 1e5
        places = np.rint(table["time"].to_numpy() / 0.01)
        places = np.rint((places - places[0]) / np.median(np.diff(places)))
        best = optimize.minimize(
            lambda z, r=residuals, p=places: dense_deviance(r, p, z), [1.2, 1.4],
            method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-9},
        )  # fmt: skip
        deviances.append(best.fun - 2.0 * len(table) * np.log(1e5))
        k = count + 2  # the coefficient and the variance of the innovations
        assert found["estimated"] == k
        assert found["aic"] == pytest.approx(deviances[-1] + 2 * k, rel=1e-8)
        aicc = deviances[-1] + 2 * k + 2 * k * (k + 1) / (98 - k - 1)
        assert found["aicc"] == pytest.approx(aicc, rel=1e-8)
        assert found["bic"] == pytest.approx(deviances[-1] + k * np.log(98), rel=1e-8)
    # What the model of the noise leaves is white: nothing is to be corrected.
    assert not whole["coloured_residuals"]
    (test,) = whole["tests"]
    assert test["distribution"] == "chi2(1)"
    assert test["statistic"] == pytest.approx(deviances[1] - deviances[0], rel=1e-3)
    same = fmident.compare(fmident.load_result("full"), fmident.load_result("held"))
    assert same.figures["aic"]["result 1"] == pytest.approx(full["aic"])


def test_with_and_without_a_model_of_the_noise(study: Study, capsys: Capture) -> None:
    with_ar_noise(study)
    study.change("sigma = 2e-5", AR)
    assert main(["estimate", "problem.toml", "-o", "modelled", "-q"]) == 0
    study.change(f", {AR}", "")
    assert main(["estimate", "problem.toml", "-o", "white", "-q", *held("d", 4.2)]) == 0
    capsys.readouterr()
    modelled, white = compared("white", "modelled")[::-1]
    printed = " ".join(capsys.readouterr().out.split())
    table = pd.read_csv("white/fit.csv").dropna()
    squares = float(np.sum((table["measured"] - table["fitted"]) ** 2))
    plain = 98 * (np.log(2 * np.pi * squares / 98) + 1.0) + 2 * 3
    assert white["aic"] == pytest.approx(plain, rel=1e-8)
    assert float(str(modelled["aic"])) < plain - 20.0
    assert modelled["effective"]["aic"] == modelled["aic"]  # type: ignore[index]
    assert "modelled has a model of the noise" in printed
    whole = json.loads(Path("both.json").read_text())
    assert whole["noise_modelled_in_some"] == ["modelled"]
    assert whole["tests"] == []
    assert "model of the noise" in whole["not_tested"][0]["since"]


def test_each_output_with_white_noise_of_its_own_size(study: Study) -> None:
    study.change("sigma = 2e-5", "noise = { model = 'white' }")
    assert main(["estimate", "problem.toml", "-o", "own", "-q"]) == 0
    study.change(", noise = { model = 'white' }", "")
    assert main(["estimate", "problem.toml", "-o", "one", "-q"]) == 0
    own, one = compared("own", "one")
    assert own["estimated"] == one["estimated"] == 4
    # With one output both are the same likelihood.
    assert own["aic"] == pytest.approx(one["aic"], rel=1e-9)


def test_a_model_of_the_noise_without_its_samples_has_no_criteria(
    study: Study, capsys: Capture
) -> None:
    with_ar_noise(study)
    study.change("sigma = 2e-5", AR)
    for name in ("one", "other"):
        assert main(["estimate", "problem.toml", "-o", name, "-q"]) == 0
    table = pd.read_csv("other/fit.csv")
    table.iloc[:-5].to_csv("other/fit.csv", index=False)
    assert main(["compare", "one", "other"]) == 2
    assert "has 93 samples of 'x'" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="the tables have 93 samples of 'x'"):
        results = [fmident.load_result(name) for name in ("one", "other")]
    (_, other) = fmident.compare(*results).to_dict()["results"]  # type: ignore[arg-type]
    assert "not one of the samples" in str(other["no_criteria_since"])


def test_a_model_of_the_noise_with_a_tone_has_no_criteria(study: Study) -> None:
    table = pd.read_csv(study.data)
    table["position"] += 2e-3 * np.cos(0.2 * 2.0 * np.pi * np.arange(len(table)) + 0.3)
    table.to_csv(study.data, index=False)
    study.change("sigma = 2e-5", AR)
    assert main(["estimate", "problem.toml", "-o", "one", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "other", "-q", *held("d", 4.2)]) == 0
    one, _ = compared("one", "other")
    assert "holds a tone of" in str(one["no_criteria_since"])


def test_an_experiment_may_be_called_na(study: Study) -> None:
    study.change('name = "push"', 'name = "NA"')
    table = pd.read_csv(study.data)
    table.loc[[20, 21], "position"] = np.nan
    table.to_csv(study.data, index=False)
    for name in ("one", "other"):
        assert main(["estimate", "problem.toml", "-o", name, "-q"]) == 0
    one, other = compared("one", "other")
    assert one["aic"] == other["aic"]
    assert isinstance(one["aic"], float)


def test_inputs_of_the_same_name_in_another_file(study: Study) -> None:
    """The column is called the same, but what is in it is something else."""
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    table = pd.read_csv(study.data)
    table.loc[90, "force"] *= 1.01
    table.to_csv(study.data, index=False)
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 4.0)]) == 0
    tests, ((untested),) = nested("held", "full")
    assert tests == []
    assert untested["since"] == "the input 'F' of experiment 'push' differs"


def test_inputs_that_are_not_known_are_a_doubt(study: Study) -> None:
    assert main(["estimate", "problem.toml", "-o", "full", "-q"]) == 0
    assert main(["estimate", "problem.toml", "-o", "held", "-q", *held("d", 4.0)]) == 0
    Path("held/inputs.csv").unlink()
    (test,), _ = nested("held", "full")
    assert any("inputs was not verified" in str(d) for d in test["doubts"])
    settings = ["--set", "evaluation.interpolation=hold"]
    assert main(["estimate", "problem.toml", "-o", "steps", "-q", *settings, *held("d", 4.0)]) == 0
    _, ((untested),) = nested("steps", "full")
    assert "is held between samples in one of them" in str(untested["since"])
