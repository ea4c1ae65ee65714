"""Which features of a problem go together: every pair is estimated, or refused as the docs say."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import fmident
from fmident.compilers.base import Compiler
from fmident.errors import Code, ProblemError
from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Parameter, Prior, read_constraint

from ..kept import library_fmu

MODEL = """model Curve
  parameter Real a = 1.0;
  parameter Real b = 2.0;
  parameter Real c = 0.5;
  Real x(start = 0.0, fixed = true);
  output Real y = a + b*x + c*x^2;
equation
  der(x) = 1.0;
end Curve;
"""
PAGE = Path(__file__).parents[2] / "docs/explanation/local-model.md"
HEADING = "| | prior |"
FEATURES: dict[str, dict[str, Any]] = {
    "prior": {"c": 'prior = { distribution = "normal", mean = 0.6, sd = 0.2 }'},
    "bound": {"bound": 1.9},
    "equality": {"constraints": 'ratio = "b = 4*c"'},
    "inequality": {"constraints": 'least = "a + b >= 3.2"', "estimator": 'name = "scipy-minimize"'},
    "coloured noise": {"data": "coloured"},
    "noise model": {"output": 'noise = { model = "ar" }'},
    "robust loss": {"estimator": 'loss = "soft_l1"'},
    "stages": {"stages": True},
}
PAIRS = list(itertools.combinations(FEATURES, 2))
WITH_SIGMA = "with `sigma`"


def table() -> dict[tuple[str, str], str]:
    """Return the cells of the page's table by both features."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(HEADING))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    ]
    return {
        (row[0], name): cell
        for row in rows[2:]
        for name, cell in zip(rows[0][1:], row[1:], strict=True)
    }


@pytest.fixture(scope="module")
def folder(embedded_compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the FMU, and data with white and with coloured noise."""
    folder = tmp_path_factory.mktemp("pairs")
    source = folder / "Curve.mo"
    source.write_text(MODEL, encoding="utf-8")
    (folder / "Curve.fmu").symlink_to(library_fmu(embedded_compiler, "Curve", (source,)))
    times = np.linspace(0.0, 1.0, 101)
    white = 0.1 * np.random.default_rng(3).normal(size=times.size)
    coloured = np.zeros_like(white)
    for k in range(times.size):
        coloured[k] = 0.8 * coloured[k - 1] + 0.6 * white[k]
    for name, noise in (("white", white), ("coloured", coloured)):
        columns = np.column_stack([times, 1.0 + 2.0 * times + 0.5 * times**2 + noise])
        np.savetxt(folder / f"{name}.csv", columns, delimiter=",", header="time,y", comments="")
    return folder


def text(*names: str, sigma: float | None = None) -> str:
    """Return the problem file with some features, and the size of the noise if known."""

    def lines(key: str) -> list[str]:
        return [FEATURES[n][key] for n in names if key in FEATURES[n]]

    estimator = lines("estimator")
    if not any(line.startswith("name") for line in estimator):
        estimator.append('name = "least-squares"')
    bound, data = [*lines("bound"), 9.0][0], [*lines("data"), "white"][0]
    ends = ["[estimator]", *estimator]
    if "stages" in names:
        ends = ["[[stages]]", 'free = ["b", "c"]', "[stages.estimator]", *estimator]
        ends += ["[[stages]]", "[stages.estimator]", *estimator]
    output = [*lines("output"), *([] if sigma is None else [f"sigma = {sigma}"])]
    parts = [
        ["[model]", 'fmu = "Curve.fmu"'],
        ["[parameters.a]", "initial = 0.9", "bounds = [-9.0, 9.0]"],
        ["[parameters.b]", "initial = 1.6", f"bounds = [-9.0, {bound}]"],
        ["[parameters.c]", "initial = 0.4", "bounds = [-9.0, 9.0]", *lines("c")],
        ["[constraints]", *lines("constraints")],
        ["[[experiments]]", f'data = "{data}.csv"', 'time = "time"'],
        ["[experiments.outputs.y]", 'column = "y"', *output],
        ends,
    ]
    return "\n".join(itertools.chain.from_iterable(parts))


@pytest.mark.each_time("bound-inequality")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_pair_has_intervals_within_bounds_or_is_refused(
    folder: Path, pair: tuple[str, str]
) -> None:
    """With scipy-minimize, the only estimator that keeps inequalities of several parameters."""
    file = folder / f"{'-'.join(pair)}.toml"
    file.write_text(text(*pair), encoding="utf-8")
    cell = table()[pair]
    if cell in ("refused", WITH_SIGMA):
        with pytest.raises(ProblemError) as caught:
            fmident.estimate(file, report=lambda _: None)
        assert caught.value.code == Code.NOT_SUPPORTED
        if cell == "refused":
            return
        file.write_text(text(*pair, sigma=0.1), encoding="utf-8")
    assert cell in ("yes", WITH_SIGMA)
    result = fmident.estimate(file, report=lambda _: None)
    assert result.converged()
    ends = result.parameters[["interval_95_low", "interval_95_high"]].to_numpy(dtype=float)
    assert np.isfinite(ends).all()
    assert (ends[:, 0] < ends[:, 1]).all()
    if "bound" in pair:
        assert ends[1, 1] <= 1.9


UNWEIGHED = {"prior", "noise model", "robust loss"}


@pytest.mark.nightly
@pytest.mark.parametrize("triple", list(itertools.combinations(FEATURES, 3)), ids="-".join)
def test_triples_have_intervals_where_their_pairs_have(
    folder: Path, triple: tuple[str, ...]
) -> None:
    """But for those beside which no `sigma` can weigh a prior."""
    cells = [table()[pair] for pair in itertools.combinations(triple, 2)]
    file = folder / f"{'-'.join(triple)}.toml"
    sigma = 0.1 if WITH_SIGMA in cells and "noise model" not in triple else None
    file.write_text(text(*triple, sigma=sigma), encoding="utf-8")
    if "refused" in cells or set(triple) >= UNWEIGHED:
        with pytest.raises(ProblemError) as caught:
            fmident.estimate(file, report=lambda _: None)
        assert caught.value.code == Code.NOT_SUPPORTED
        return
    result = fmident.estimate(file, report=lambda _: None)
    assert result.converged()
    ends = result.parameters[["interval_95_low", "interval_95_high"]].to_numpy(dtype=float)
    assert np.isfinite(ends).all()
    assert (ends[:, 0] < ends[:, 1]).all()
    if "bound" in triple:
        assert ends[1, 1] <= 1.9


COLUMNS = np.column_stack(
    [np.ones(101), np.linspace(0.0, 1.0, 101), np.linspace(0.0, 1.0, 101) ** 2]
)
PRIOR = np.diag([0.0, 0.0, 1.0 / 0.2**2])


def sandwich(residuals: np.ndarray, prior: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return the covariance of an M-estimate with ``soft_l1``, along directions.

    `residuals` are whitened with a sigma of 0.1.
    """
    columns, root = COLUMNS @ basis / 0.1, np.sqrt(1.0 + residuals**2)
    scores, slopes, count = residuals / root, root**-3.0, basis.shape[1]
    factor = 1.0 + count / 101 * np.var(slopes) / np.mean(slopes) ** 2
    squares = factor**2 * (scores @ scores) / (101 - count)
    data, known = columns.T @ columns, basis.T @ prior @ basis
    inverse = np.linalg.inv(np.mean(slopes) * data + known)
    return basis @ inverse @ (squares * data + known) @ inverse @ basis.T


def measured_of(folder: Path) -> np.ndarray:
    return np.loadtxt(folder / "white.csv", delimiter=",", skiprows=1)[:, 1]


@pytest.mark.parametrize("name", ["least-squares", "scipy-minimize"])
def test_a_prior_beside_a_robust_loss(folder: Path, name: str) -> None:
    """Curvature and scores of both: the estimate and its sandwich, by hand."""
    file = folder / f"robust-prior-{name}.toml"
    content = text("prior", "robust loss", sigma=0.1).replace("least-squares", name)
    file.write_text(content, encoding="utf-8")
    result = fmident.estimate(file, report=lambda _: None)
    right = measured_of(folder)

    def cost(p: np.ndarray) -> float:
        s = ((COLUMNS @ p - right) / 0.1) ** 2
        return float(np.sum(np.sqrt(1.0 + s) - 1.0)) + 0.5 * ((p[2] - 0.6) / 0.2) ** 2

    values = np.array(list(result.values.values()))
    exact = optimize.minimize(cost, values, method="BFGS", options={"gtol": 1e-9}).x
    expected = sandwich((COLUMNS @ exact - right) / 0.1, PRIOR, np.eye(3))
    errors = np.sqrt(np.diag(expected))
    assert (np.abs(values - exact) < 1e-4 * errors).all()
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-3)
    assert result.priors is not None
    assert 0.0 < result.priors.shares["c"] < 1.0


def test_an_inequality_beside_a_robust_loss(folder: Path) -> None:
    """The constraint holds: the covariance is that along it."""
    file = folder / "robust-inequality.toml"
    file.write_text(
        text("inequality", "robust loss", sigma=0.1).replace("3.2", "3.4"), encoding="utf-8"
    )
    result = fmident.estimate(file, report=lambda _: None)
    right, basis = measured_of(folder), np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]).T

    def cost(z: np.ndarray) -> float:
        s = ((COLUMNS @ (np.array([1.7, 1.7, 0.0]) + basis @ z) - right) / 0.1) ** 2
        return float(np.sum(np.sqrt(1.0 + s) - 1.0))

    z = optimize.minimize(cost, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    exact = np.array([1.7, 1.7, 0.0]) + basis @ z
    expected = sandwich((COLUMNS @ exact - right) / 0.1, np.zeros((3, 3)), basis)
    values = np.array(list(result.values.values()))
    assert (np.abs(values - exact) < 1e-4 * np.sqrt(np.diag(expected))).all()
    assert result.constraints[0].active
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-3)


def with_outliers(seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    noise = 0.1 * generator.normal(size=101)
    noise[generator.random(101) < 0.1] *= 8.0
    return COLUMNS @ np.array([1.0, 2.0, 0.5]) + noise


def shares_of_truth(
    *, prior: bool = False, least: float | None = None, loss: str = "huber", draws: int = 400
) -> np.ndarray:
    """Return how often intervals hold the truth in records with outliers.

    The constraint says that ``a + b``, which is 3, is `least` at least.
    """
    truth, inside = {"a": 1.0, "b": 2.0, "c": 0.5}, np.zeros(3)
    for seed in range(draws):
        generator, priors = np.random.default_rng(1000 + seed), {}
        if prior:
            priors = {
                name: Prior("normal", truth[name] + sd * generator.normal(), sd)
                for name, sd in (("a", 0.05), ("c", 0.2))
            }
        parameters = [
            Parameter(n, 0.9 * v, -9.0, 9.0, variable=n, prior=priors.get(n))
            for n, v in truth.items()
        ]
        problem = python_problem({"y": with_outliers(seed)}, COLUMNS[:, 1], parameters, sigma=0.1)
        name = "least-squares"
        if least is not None:
            name, limits = "scipy-minimize", read_constraint("least", f"a + b >= {least}")
            problem = dataclasses.replace(problem, constraints=tuple(limits))
        estimator = load_plugins().estimators.get(name)()
        with Evaluator(problem, PythonExecutor(problem, curve)) as evaluator:
            result = run_estimation(problem, evaluator, estimator, {"loss": loss})
        ends = np.array([e.interval_95 for e in result.estimates])
        values = np.array(list(truth.values()))
        inside += (ends[:, 0] <= values) & (values <= ends[:, 1])
    return inside / draws


def least_share(draws: int) -> float:
    """Return a share of draws three standard deviations below 95 %."""
    return float(0.95 - 3.0 * np.sqrt(0.95 * 0.05 / draws))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("prior", "least"), [(True, None), (False, 2.9), (True, 2.9)], ids=["prior", "least", "both"]
)
def test_intervals_beside_a_robust_loss_hold_the_truth(prior: bool, least: float | None) -> None:
    assert (shares_of_truth(prior=prior, least=least) >= least_share(400)).all()


@pytest.mark.nightly
def test_intervals_hold_the_truth_on_an_inequality() -> None:
    assert (shares_of_truth(least=3.0, draws=1600) >= least_share(1600)).all()


def curve(times: np.ndarray, inputs: Any, a: float, b: float, c: float) -> dict[str, Any]:
    return {"y": a + b * times + c * times**2}
