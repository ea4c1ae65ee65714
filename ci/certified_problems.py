# ruff: noqa: T201  # a program: it prints a table
"""Certified nonlinear regression: problem, start, solver, digits, verdict, simulations.

The Statistical Reference Datasets of NIST, nonlinear regression, 27 problems with two starts
each; the first lies far away, the second near. Digits are ``-log10`` of the largest relative
error among the parameters, or among their standard deviations, at most 11, as many as are
certified (McCullough, Assessing the reliability of statistical software, The American
Statistician 52, 1998).
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import certified_models
import numpy as np

import fmident
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident_estimators.least_squares.estimator import LeastSquares

REQUIRED = 6.0
OF_MODELS = 8.0
"""Digits that Modelica models with exact sensitivities are to reach, deviations included."""

BEYOND_DOUBLES = {"Lanczos1"}
"""Problems whose residuals are so small, 1e-13 of the data, that rounding the data to double
precision leaves two or three digits of the deviations."""

MOST = 11.0
SOLVERS: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "trf": {"method": "trf"},
    "dogbox": {"method": "dogbox"},
}
Array = np.ndarray[Any, np.dtype[np.float64]]
Formula = Callable[..., Array]


def _cubic_ratio(x: Array, *b: float) -> Array:
    top = b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3
    return top / (1.0 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def _quadratic_ratio(x: Array, *b: float) -> Array:
    return (b[0] + b[1] * x + b[2] * x**2) / (1.0 + b[3] * x + b[4] * x**2)


def _two_peaks(x: Array, *b: float) -> Array:
    peaks = b[2] * np.exp(-(((x - b[3]) / b[4]) ** 2)) + b[5] * np.exp(-(((x - b[6]) / b[7]) ** 2))
    return b[0] * np.exp(-b[1] * x) + peaks


def _three_decays(x: Array, *b: float) -> Array:
    return b[0] * np.exp(-b[1] * x) + b[2] * np.exp(-b[3] * x) + b[4] * np.exp(-b[5] * x)


def _seasons(x: Array, *b: float) -> Array:
    def wave(period: float, cosine: float, sine: float) -> Array:
        angle = 2.0 * np.pi * x / period
        return cosine * np.cos(angle) + sine * np.sin(angle)

    return b[0] + wave(12.0, b[1], b[2]) + wave(b[3], b[4], b[5]) + wave(b[6], b[7], b[8])


FORMULAS: Mapping[str, Formula] = {
    "Misra1a": lambda x, a, b: a * (1.0 - np.exp(-b * x)),
    "Misra1b": lambda x, a, b: a * (1.0 - (1.0 + b * x / 2.0) ** -2),
    "Misra1c": lambda x, a, b: a * (1.0 - (1.0 + 2.0 * b * x) ** -0.5),
    "Misra1d": lambda x, a, b: a * b * x / (1.0 + b * x),
    "BoxBOD": lambda x, a, b: a * (1.0 - np.exp(-b * x)),
    "DanWood": lambda x, a, b: a * x**b,
    "Chwirut1": lambda x, a, b, c: np.exp(-a * x) / (b + c * x),
    "Chwirut2": lambda x, a, b, c: np.exp(-a * x) / (b + c * x),
    "Eckerle4": lambda x, a, b, c: (a / b) * np.exp(-0.5 * ((x - c) / b) ** 2),
    "MGH10": lambda x, a, b, c: a * np.exp(b / (x + c)),
    "Bennett5": lambda x, a, b, c: a * (b + x) ** (-1.0 / c),
    "Rat42": lambda x, a, b, c: a / (1.0 + np.exp(b - c * x)),
    "Rat43": lambda x, a, b, c, d: a / (1.0 + np.exp(b - c * x)) ** (1.0 / d),
    "MGH09": lambda x, a, b, c, d: a * (x**2 + x * b) / (x**2 + x * c + d),
    "Roszman1": lambda x, a, b, c, d: a - b * x - np.arctan(c / (x - d)) / np.pi,
    "MGH17": lambda x, a, b, c, d, e: a + b * np.exp(-x * d) + c * np.exp(-x * e),
    "Kirby2": _quadratic_ratio,
    "Hahn1": _cubic_ratio,
    "Thurber": _cubic_ratio,
    "Lanczos1": _three_decays,
    "Lanczos2": _three_decays,
    "Lanczos3": _three_decays,
    "Gauss1": _two_peaks,
    "Gauss2": _two_peaks,
    "Gauss3": _two_peaks,
    "ENSO": _seasons,
    # The logarithm of the measured column is modelled, see `read`.
    "Nelson": lambda x, z, a, b, c: a - b * x * np.exp(-c * z),
}


@dataclass(frozen=True)
class Certified:
    """One problem.

    Parameters
    ----------
    name
        Of the file.
    formula
        Of the predictors and the parameters.
    predictors
        Columns, each of shape (m,).
    measured
        Shape (m,).
    starts
        Shape (2, n).
    values, deviations
        Certified, shape (n,).
    squares
        Certified residual sum of squares.
    """

    name: str
    formula: Formula
    predictors: tuple[Array, ...]
    measured: Array
    starts: Array
    values: Array
    deviations: Array
    squares: float


def read(path: Path) -> Certified:
    """Read a file of the Statistical Reference Datasets.

    Raises
    ------
    ValueError
        It is not one.
    """
    text = path.read_text(encoding="ascii", errors="replace")
    number = r"[-+]?\d*\.?\d+(?:[EeDd][-+]?\d+)?"
    rows = re.findall(rf"^\s*b\d+\s*=((?:\s+{number}){{4}})\s*$", text, re.MULTILINE)
    squares = re.search(rf"^Residual Sum of Squares:\s+({number})", text, re.MULTILINE)
    data = re.search(r"^Data:\s+y\s+x.*\n((?:[-+.\dEe \t\r]*\n?)*)", text, re.MULTILINE)
    if not rows or squares is None or data is None:
        raise ValueError(f"{path} is not a nonlinear regression problem of NIST")
    table = np.array([[float(x) for x in row.split()] for row in rows])
    columns = np.array(
        [[float(x) for x in line.split()] for line in data[1].split("\n") if line.strip()]
    )
    name = path.stem
    measured = np.log(columns[:, 0]) if name == "Nelson" else columns[:, 0]
    return Certified(
        name,
        FORMULAS[name],
        tuple(columns[:, 1:].T),
        measured,
        table[:, :2].T,
        table[:, 2],
        table[:, 3],
        float(squares[1]),
    )


def solve(case: Certified, start: int, options: Mapping[str, Any]) -> EstimationResult:
    """Fit a problem from one of its starts."""
    names = [f"b{j}" for j in range(1, case.values.size + 1)]
    parameters = [
        Parameter(n, float(v), variable=n, scale=abs(float(v)))
        for n, v in zip(names, case.starts[start], strict=True)
    ]
    inputs = {f"x{k}": x for k, x in enumerate(case.predictors)}
    times = np.arange(case.measured.size, dtype=np.float64)
    problem = python_problem({"y": case.measured}, times, parameters, inputs=inputs)

    def model(times: Array, inputs: Mapping[str, Array], **b: float) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            return {"y": case.formula(*inputs.values(), *(b[n] for n in names))}

    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, LeastSquares(), options)


def solve_model(
    case: Certified, start: int, options: Mapping[str, Any], folder: Path
) -> EstimationResult:
    """Fit a problem from one of its starts, as a Modelica model with a problem file."""
    file = certified_models.write(
        folder, case.name, case.predictors, case.measured, case.starts[start]
    )
    overrides = {f"estimator.{key}": value for key, value in options.items()}
    problem = fmident.load_problem(
        file, overrides={"evaluation.executor": "inline", **overrides}, report=lambda found: None
    )
    return fmident.estimate(problem, report=lambda found: None)


def digits(found: Array, certified: Array) -> float:
    """Return how many significant digits the worst of some values has in common, 0 to 11."""
    if not bool(np.isfinite(found).all()):
        return 0.0
    error = float(np.max(np.abs(found - certified) / np.abs(certified)))
    return float(np.clip(-np.log10(max(error, 1e-300)), 0.0, MOST))


def as_certified(case: Certified, found: Array) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return indices that put exponentials, a sum in any order, into that of the certified ones."""
    if case.formula is not _three_decays:
        return np.arange(found.size)
    pairs = np.argsort(found[1::2])
    return np.ravel(np.column_stack([2 * pairs, 2 * pairs + 1]))


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--solver", action="append", choices=list(SOLVERS))
    parser.add_argument("--problem", action="append", choices=list(FORMULAS))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument(
        "--modelica", action="store_true", help="fit Modelica models, with exact sensitivities"
    )
    given = parser.parse_args()
    extra = tomllib.loads("\n".join(given.set))
    names = given.problem or sorted(FORMULAS)
    missing = [n for n in names if not (given.folder / f"{n}.dat").is_file()]
    if missing:
        print(f"{given.folder} lacks {', '.join(f'{n}.dat' for n in missing)}", file=sys.stderr)
        return 2
    solvers = given.solver or (["default"] if given.modelica else list(SOLVERS))
    with tempfile.TemporaryDirectory() as models:
        folder = Path(models) if given.modelica else None
        return table([read(given.folder / f"{n}.dat") for n in names], solvers, extra, folder)


def table(
    cases: Sequence[Certified],
    solvers: Sequence[str],
    extra: Mapping[str, Any],
    folder: Path | None,
) -> int:
    """Solve all cases, print a line for each, and return the exit code.

    Parameters
    ----------
    cases
        The problems.
    solvers
        Names in :data:`SOLVERS`.
    extra
        Options of the estimator.
    folder
        For Modelica models; ``None``: functions of Python.
    """
    required = REQUIRED if folder is None else OF_MODELS
    reached = dict.fromkeys(solvers, 0)
    simulations = dict.fromkeys(solvers, 0)
    wrong = beyond = 0
    print("problem   start  solver   parameters  deviations  verdict    simulations")
    for case in cases:
        for start in (0, 1):
            for solver in solvers:
                options = {**SOLVERS[solver], **extra}
                result = (
                    solve(case, start, options)
                    if folder is None
                    else solve_model(case, start, options, folder)
                )
                found = np.array([result.values[f"b{j + 1}"] for j in range(case.values.size)])
                order = as_certified(case, found)
                good = digits(found[order], case.values)
                # The certified ones are those for white noise.
                white = {} if result.noise is None else result.noise.white_errors
                modelled = result.parameters["standard_error"]
                deviations = np.array([white.get(n, error) for n, error in modelled.items()])
                errors = digits(deviations[order], case.deviations)
                claimed = result.status == "converged" and good < REQUIRED
                wrong += claimed
                unknowable = case.name in BEYOND_DOUBLES
                beyond += folder is not None and unknowable
                counted = good if folder is None or unknowable else min(good, errors)
                reached[solver] += counted >= required
                simulations[solver] += result.simulations
                print(
                    f"{case.name:9} {start + 1:5}  {solver:8} {good:10.1f}  {errors:10.1f}  "
                    f"{result.status:10} {result.simulations:10}{'  WRONG' * claimed}",
                    flush=True,
                )
    total = 2 * len(cases)
    for solver in solvers:
        print(
            f"{solver}: {reached[solver]} of {total} starts with {required:g} digits, "
            f"{simulations[solver]} simulations"
        )
    if beyond:
        print(f"{beyond} with digits of the parameters only: see BEYOND_DOUBLES")
    print(f"{wrong} wrongly called converged")
    return int(wrong > 0 or any(reached[s] < total for s in solvers if s == "default"))


if __name__ == "__main__":
    sys.exit(main())
