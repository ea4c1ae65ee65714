"""What each input identifies, and how surely each way finds it.

    python examples/lugre/study.py identifiability      # half a minute
    python examples/lugre/study.py profile              # five minutes
    python examples/lugre/study.py starts --seeds 20    # from random starts; half an hour
    python examples/lugre/study.py tenth                # 10 000 simulations a run; an hour
    python examples/lugre/study.py figures              # the pictures of what is there

Tables go to ``results/``; runs that are there already are not repeated.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import fmident
from fmident.fmu import SimulationSetup

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402 - the script beside this one

F64 = npt.NDArray[np.float64]
Row = dict[str, object]
NAMES = tuple(generate.TRUTH)
SIGMA = {"x": 1e-8, "frictionForce": 1e-3}
"""Noise of a good encoder, m, and of a good load cell, N: for what noise does to an input."""

PAPER = pd.DataFrame(
    {
        "two-step": [0.0287, 1.07, 2.775, 2.64, 0.62, 2.0],
        "one-step": [0.0931, 0.991, 1.15, 2.12, 0.0, 0.0],
    },
    index=["sigma0", "sigma1", "viscousFriction", "coulombForce", "staticForce", "stribeckSpeed"],
)
"""Relative errors of Table 5-3, %, after 100 000 simulations; 0: exact in the digits printed."""

STARTS = ("two-step", "break-away", "break-away-global")
GENERATIONS = (100, 200, 500, 1000, 2000)
"""Those of which the paper prints costs (Table 5-1, section 4) or parameters (Table 5-2)."""
BITS = 16
"""Of each parameter; the paper does not print them."""
MUTATION: dict[str, Callable[[int], float]] = {
    "0.05 per bit": lambda parameters: 0.05,
    "0.005 per bit": lambda parameters: 0.005,
    "0.05 per parameter": lambda parameters: 0.05 / BITS,
    "0.05 per vector": lambda parameters: 0.05 / (BITS * parameters),
}
"""What "mutation probability 0.05" may mean, as probability per bit of so many parameters."""
WEIGHTS: dict[str, dict[str, object]] = {
    "over range": {"errors": "whitened", "squares": 1.0, "maxima": 1.0},
    "SI units": {"errors": "plain", "squares": 1.0, "maxima": 1.0},
    "maxima only": {"errors": "whitened", "squares": 0.0, "maxima": 1.0},
}
"""What c1 ... c4 of eq. 11 may be: all 1, over the range or in SI units; or c1 = c3 = 0, since the
text below it speaks of the maxima alone."""
OTHERWISE: dict[str, tuple[dict[str, object], str | None]] = {
    "one elite, log code": ({}, None),
    "no elite": ({"elites": 0}, None),
    "linear code": ({}, "linear"),
}
"""What else is open: options of the estimator, and scaling of the parameters."""


def sensitivities(name: str, fmu_file: Path = generate.SLIDE_FMU, step: float = 3e-4) -> F64:
    """Return the change of both outputs per relative change of each parameter.

    Central differences in the logarithm of the parameters at their true values, shape
    (samples, 2, 6): x in m, friction force in N.
    """
    made = generate.RUNS[name]
    times = np.arange(0.0, made.duration, made.sample)
    inputs = made.force(times)[:, None]
    setup = SimulationSetup(
        times, ("u",), inputs, ("x", "frictionForce"), tolerance=min(made.tolerance, 1e-11)
    )
    columns = []
    with (
        fmident.open_fmu(fmu_file) as fmu,
        fmu.simulator() as simulator,
    ):
        for q in NAMES:
            high, low = (
                simulator.simulate(
                    setup, {**generate.TRUTH, q: generate.TRUTH[q] * np.exp(sign * step)}
                )
                for sign in (1.0, -1.0)
            )
            columns.append((high - low) / (2.0 * step))
    return np.stack(columns, axis=-1)


def stribeck_sensitivities() -> F64:
    """Return the same of the steady-state points, by eq. 14, shape (points, 6)."""
    v = generate.stribeck()["speed [m/s]"].to_numpy()
    p = generate.TRUTH
    fall, sign = np.exp(-((v / p["stribeckSpeed"]) ** 2)), np.sign(v)
    return np.column_stack(
        [
            np.zeros_like(v),
            np.zeros_like(v),
            p["viscousFriction"] * v,
            p["coulombForce"] * (1.0 - fall) * sign,
            p["staticForce"] * fall * sign,
            (p["staticForce"] - p["coulombForce"])
            * fall
            * 2.0
            * (v / p["stribeckSpeed"]) ** 2
            * sign,
        ]
    )


def standard_errors(jacobian: F64) -> F64:
    """Return the relative standard errors of a whitened Jacobian; infinite without influence."""
    errors = np.full(jacobian.shape[1], np.inf)
    moved = np.linalg.norm(jacobian, axis=0) > 0.0
    # The rows of R^-1, by QR: J^T J would square a condition number of 1e7.
    r = np.linalg.qr(jacobian[:, moved], mode="r")
    errors[moved] = np.linalg.norm(np.linalg.inv(r), axis=1)
    return errors


def identifiability(
    fmu_file: Path = generate.SLIDE_FMU,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return per input the singular values, and the standard errors that noise leaves, %.

    Singular values are those of the sensitivities per relative change of the parameters,
    each output over its range, root mean square over the samples.
    """
    singular, errors = {}, {}
    for name in generate.RUNS:
        found = sensitivities(name, fmu_file)
        table = generate.run(name, fmu_file)
        spread = np.ptp(table[["position [m]", "friction [N]"]].to_numpy(), axis=0)
        scaled = (found / spread[:, None]).reshape(-1, len(NAMES)) / np.sqrt(len(found))
        singular[name] = np.linalg.svd(scaled, compute_uv=False)
        sigma = np.array(list(SIGMA.values()))
        errors[name] = 100 * standard_errors((found / sigma[:, None]).reshape(-1, len(NAMES)))
    points = stribeck_sensitivities()
    errors["stribeck"] = 100 * standard_errors(points / SIGMA["frictionForce"])
    return (
        pd.DataFrame(singular, index=range(1, len(NAMES) + 1)).T,
        pd.DataFrame(errors, index=list(NAMES)).T,
    )


def noisy_problem(name: str, folder: Path | None = None) -> fmident.Problem:
    """Return the problem of one input, from the true values, with :data:`SIGMA` for its noise.

    The data are without noise, so that a rise of the cost is what it is in the mean.
    """
    file = (folder or HERE) / (
        "break-away.toml" if name == "break-away" else "published-global.toml"
    )
    problem = fmident.load_problem(file, overrides=QUICK, report=lambda found: None)
    experiment = next(e for e in problem.experiments if e.name == name)
    measurements = tuple(
        dataclasses.replace(m, sigma=np.array(SIGMA[m.variable]), weight=1.0)
        for m in experiment.measurements
    )
    evaluation = problem.evaluation
    if name == "break-away":  # steps of 1e-4 are longer than the standard error of Fc
        evaluation = dataclasses.replace(evaluation, relative_step=None)
    else:  # singular values over seven decades ask for exact derivatives
        evaluation = dataclasses.replace(evaluation, difference="central")
    return dataclasses.replace(
        problem,
        experiments=(dataclasses.replace(experiment, measurements=measurements),),
        stages=(),
        parameters=tuple(
            dataclasses.replace(q, initial=generate.TRUTH[q.name]) for q in problem.parameters
        ),
        estimator=dataclasses.replace(problem.estimator, name="least-squares", options={}),
        evaluation=evaluation,
    )


def profile(name: str, results: Path) -> None:
    """Write the profiles of all parameters: ``profile-NAME.csv`` and ``intervals-NAME.csv``.

    The likelihood ratio is tau squared; above 3.84 a value is rejected at 95 %.
    """
    intervals = results / f"intervals-{name}.csv"
    if intervals.exists():
        return
    results.mkdir(exist_ok=True)
    found = fmident.profile(noisy_problem(name), report=lambda found: None)
    points = found.points.assign(ratio=found.points["tau"] ** 2)
    columns = ["profile", "value", "ratio", "converged", *NAMES]
    points[columns].to_csv(results / f"profile-{name}.csv", index=False, float_format="%.9g")
    found.intervals.drop(columns="unit").to_csv(intervals, float_format="%.9g")
    print(f"{name}: {found.simulations} simulations, {found.seconds:.0f} s")
    print("\n".join(found.notes))


QUICK: dict[str, object] = {"evaluation.check": False, "evaluation.executor": "inline"}


def random_start(problem: fmident.Problem, seed: int) -> fmident.Problem:
    """Return the problem, and its stages, from a point uniform in the search space."""
    rng = np.random.default_rng(seed)
    start = {
        q.name: float(np.exp(rng.uniform(np.log(q.lower), np.log(q.upper))))
        for q in problem.parameters
    }

    def moved(part: fmident.Problem) -> fmident.Problem:
        parameters = tuple(dataclasses.replace(q, initial=start[q.name]) for q in part.parameters)
        return dataclasses.replace(part, parameters=parameters)

    stages = tuple(dataclasses.replace(s, problem=moved(s.problem)) for s in problem.stages)
    return dataclasses.replace(moved(problem), stages=stages)


def one_estimate(file: str, seed: int | None) -> list[Row]:
    """Return simulations and relative errors (%) of a run; with a seed from a random start."""
    chosen = dict(QUICK)
    if seed is not None and file == "break-away-global":
        chosen["stages.0.estimator.seed"] = seed + 1
    problem = fmident.load_problem(
        HERE / f"{file}.toml", overrides=chosen, report=lambda found: None
    )
    if seed is not None:
        problem = random_start(problem, seed)
    result = fmident.estimate(problem, report=lambda found: None)
    truth = pd.Series(generate.TRUTH)
    errors = 100 * (result.parameters.loc[list(NAMES), "value"] / truth - 1.0).abs()
    return [
        {
            "simulations": result.simulations,
            "cost": result.cost_final,
            **errors[list(NAMES)].to_dict(),
            "largest": float(errors.max()),
        }
    ]


def collect(file: Path, todo: Sequence[tuple[Row, Callable[[], list[Row]]]]) -> pd.DataFrame:
    """Run what `file` does not hold yet; it is complete after every run.

    Parameters
    ----------
    file
        CSV.
    todo
        What a run's rows have in common, and the function that computes the rest of them.
    """
    file.parent.mkdir(exist_ok=True)
    rows = pd.read_csv(file).to_dict("records") if file.exists() else []
    for key, compute in todo:
        if any(all(row[k] == v for k, v in key.items()) for row in rows):
            continue
        rows += [key | row for row in compute()]
        print(rows[-1], flush=True)
        pd.DataFrame(rows).to_csv(file, index=False)
    return pd.DataFrame(rows)


def genetic_runs(seeds: int) -> list[tuple[Row, Callable[[], list[Row]]]]:
    """Return all runs of the paper's genetic algorithm, the main readings of all seeds first."""
    usual, *others = OTHERWISE
    main = list(itertools.product(list(MUTATION)[:2], WEIGHTS, ("one", "two"), [usual]))
    # In SI units the squares of a displacement of micrometres are nothing: as the maxima alone.
    main = [run for run in main if run[1:3] != ("SI units", "two")]
    more = list(itertools.product(list(MUTATION)[2:], list(WEIGHTS)[:1], ("one", "two"), [usual]))
    more += list(itertools.product(list(MUTATION)[:2], list(WEIGHTS)[:1], ("one",), others))
    keys: list[Row] = [
        {"steps": s, "mutation": m, "weights": w, "other": o, "seed": seed}
        for part in (main, more)
        for seed in range(1, seeds + 1)
        for m, w, s, o in part
    ]
    return [(key, functools.partial(genetic_run, **key)) for key in keys]  # type: ignore[arg-type]


def genetic_run(
    steps: str,
    mutation: str,
    weights: str,
    other: str,
    seed: int,
    generations: Sequence[int] = GENERATIONS,
    folder: Path | None = None,
) -> list[Row]:
    """Return simulations, cost and parameters of one run after the given generations."""
    options, scaling = OTHERWISE[other]

    def chosen(problem: fmident.Problem) -> fmident.Problem:
        rate = MUTATION[mutation](len(problem.free))
        changed = {**options, "mutation": rate, "seed": seed, "generations": max(generations)}
        estimator = problem.estimator
        estimator = dataclasses.replace(estimator, options={**estimator.options, **changed})
        parameters = tuple(
            dataclasses.replace(q, scaling=scaling or q.scaling) for q in problem.parameters
        )
        stages = tuple(dataclasses.replace(s, problem=chosen(s.problem)) for s in problem.stages)
        return dataclasses.replace(
            problem, estimator=estimator, parameters=parameters, stages=stages
        )

    cost = "stages.1.cost" if steps == "two" else "cost"
    picked = WEIGHTS[weights]
    if steps == "two":  # eq. 17: the displacement only
        picked = picked | {k: {"x": picked[k]} for k in ("squares", "maxima")}
    overrides = QUICK | {f"{cost}.{key}": value for key, value in picked.items()}
    file = (folder or HERE) / f"published-{steps}-step.toml"
    problem = chosen(fmident.load_problem(file, overrides=overrides, report=lambda found: None))
    result = fmident.estimate(problem, report=lambda found: None)
    names = [q.name for q in problem.free]
    searched = {s.name: {q.name for q in s.problem.free} for s in problem.stages} or {
        "": set(names)
    }
    rows: dict[int, Row] = {g: {"generation": g} for g in generations}
    first: dict[str, int] = {}
    for iteration in result.history:
        generation = iteration.number - first.setdefault(iteration.stage, iteration.number)
        if generation in rows:
            values = zip(names, iteration.parameters.tolist(), strict=True)
            rows[generation] |= {
                "simulations": iteration.simulations,
                "cost": float(f"{iteration.cost:.5g}"),
            } | {n: float(f"{v:.6g}") for n, v in values if n in searched[iteration.stage]}
    return list(rows.values())


def starts_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return per problem file how many random starts end below 0.1 %, and what they cost."""
    groups = found.groupby("file", sort=False)
    return pd.DataFrame(
        {
            "starts": groups.size(),
            "below 0.1 %": groups["largest"].apply(lambda e: int((e < 0.1).sum())),
            "and below 500": groups[["largest", "simulations"]].apply(
                lambda g: int(((g["largest"] < 0.1) & (g["simulations"] < 500)).sum())
            ),
            "median simulations": groups["simulations"].median(),
            "most simulations": groups["simulations"].max(),
        }
    )


def main() -> None:
    """Run the parts that are asked for."""
    parts = ("identifiability", "profile", "starts", "genetic", "figures")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts) + "; all")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", help="one problem file of 'starts', one run of 'tenth'")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    args = parser.parse_args()
    for part in args.parts or parts:
        if part not in parts:
            parser.error(f"'{part}' is none of {', '.join(parts)}")
        if part == "identifiability":
            singular, errors = identifiability()
            args.results.mkdir(exist_ok=True)
            singular.to_csv(args.results / "singular-values.csv")
            errors.to_csv(args.results / "standard-errors.csv")
            print(singular.to_string(float_format="%.2g"))
            print(errors.to_string(float_format="%.2g"))
        elif part == "profile":
            for name in generate.RUNS:
                profile(name, args.results)
                intervals = pd.read_csv(args.results / f"intervals-{name}.csv", index_col=0)
                print(f"{name}\n{intervals.to_string()}")
        elif part == "starts":
            for file in STARTS if args.only is None else (args.only,):
                todo = [
                    ({"file": file, "seed": seed}, functools.partial(one_estimate, file, seed))
                    for seed in range(args.seeds)
                ]
                found = collect(args.results / f"starts-{file}.csv", todo)
                print(starts_table(found).to_string())
        elif part == "genetic":
            collect(args.results / "genetic.csv", genetic_runs(args.seeds))
        else:
            from figures import draw

            draw(args.results, HERE / "figures")


if __name__ == "__main__":
    main()
