"""What each input identifies, and how surely each way finds it.

    python examples/lugre/study.py identifiability      # half a minute
    python examples/lugre/study.py profile              # five minutes
    python examples/lugre/study.py starts --seeds 20    # from random starts; half an hour
    python examples/lugre/study.py genetic --seeds 5    # 2000 generations each; two hours
    python examples/lugre/study.py genetic --again 3    # what is recorded of one seed
    python examples/lugre/study.py figures              # the pictures of what is there

Tables go to ``results/``, runs of the genetic algorithm to ``genetic.csv``, and what the README
shows to ``figures.json``. Runs that are there already are not repeated.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
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

SYMBOLS = ("sigma0", "sigma1", "sigma2", "Fc", "Fs", "vs")
"""Of the paper, in the order of :data:`NAMES`."""
PAPER = {
    "500 generations": (99891.5632, 340.2324, 0.4469, 1.5427, 1.4785, 0.0019),
    "1000 generations": (99942.2754, 319.8685, 0.4223, 1.0927, 1.4985, 0.0011),
    "2000 generations, in Table 5-3 two-step": (
        100028.7287,
        319.3825,
        0.4111,
        0.9736,
        1.5093,
        9.8e-4,
    ),
    "one-step": (99906.8963, 319.1326, 0.4046, 1.0212, 1.5, 1e-3),
}
"""Identified values of Tables 5-2 and 5-3, in the order of :data:`NAMES`."""
PAPER_COSTS = {100: 0.010107, 200: 0.005651, 500: 0.000461, 1000: 6.311e-5, 2000: 2.0783e-6}
"""After so many generations: Table 5-1 and section 4."""

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


def genetic_runs(
    seeds: int, generations: Sequence[int] = GENERATIONS
) -> list[tuple[Row, Callable[[], list[Row]]]]:
    """Return all runs of the paper's genetic algorithm, the main readings of all seeds first."""
    usual, *others = OTHERWISE
    both, (first, *weights) = list(MUTATION)[:2], WEIGHTS
    parts = [
        itertools.product(both, [first], ("one", "two"), [usual]),
        # In SI units the squares of a displacement of micrometres are nothing: two steps of it are
        # those of the maxima alone.
        [
            *itertools.product(both, weights, ("one",), [usual]),
            *((m, weights[-1], "two", usual) for m in both),
        ],
        itertools.product(list(MUTATION)[2:], [first], ("one", "two"), [usual]),
        itertools.product(both, [first], ("one",), others),
    ]
    keys: list[Row] = [
        {"steps": s, "mutation": m, "weights": w, "other": o, "seed": seed}
        for part in map(list, parts)
        for seed in range(1, seeds + 1)
        for m, w, s, o in part
    ]
    return [(key, functools.partial(genetic_run, **key, generations=generations)) for key in keys]  # type: ignore[arg-type]


def recomputed(file: Path, seed: int, fresh: Path) -> pd.DataFrame:
    """Return the runs of `file`, those of a seed computed again and written there.

    `fresh` is the CSV that takes the new runs as they end.
    """
    recorded = pd.read_csv(file)
    names = ["steps", "mutation", "weights", "other", "seed", "generation"]
    ours = recorded[recorded["seed"] == seed]
    keys = ours[names[:-1]].drop_duplicates().to_dict("records")
    generations = tuple(map(int, ours["generation"].unique()))
    runs = collect(fresh, [run for run in genetic_runs(seed, generations) if run[0] in keys])
    merged = pd.concat([recorded[recorded["seed"] != seed], runs]).set_index(names)
    merged = merged.loc[recorded.set_index(names).index].reset_index()
    merged.to_csv(file, index=False)
    return merged


def errors_of(values: F64) -> F64:
    """Return relative errors, %, of parameters in the order of :data:`NAMES`, shape (..., 6)."""
    return 100 * np.abs(values / np.array(list(generate.TRUTH.values())) - 1.0)


def genetic_tables(found: pd.DataFrame) -> dict[str, list[list[str]]]:
    """Return the tables of the README: errors in the end, and costs over the generations."""
    errors, costs = [], []
    for name in list(PAPER)[2:]:
        shown = [f"{e:.2g}" for e in errors_of(np.array(PAPER[name]))]
        errors.append([f"paper, {name}", "", "1", "", *shown])
    costs.append(["paper", "", "1", *(f"{c / PAPER_COSTS[100]:.2g}" for c in PAPER_COSTS.values())])
    titles = ["steps", "mutation", "weights", "other"]
    for key, runs in found.groupby(titles, sort=False):
        steps, mutation, weights, other = map(str, key)
        end = errors_of(runs.loc[runs["generation"] == GENERATIONS[-1], list(NAMES)].to_numpy())
        shown = [f"{m:.2g} ({w:.2g})" for m, w in zip(np.median(end, 0), end.max(0), strict=True)]
        what = f"{steps}-step, {mutation}" + (
            f", {other}" if other != next(iter(OTHERWISE)) else ""
        )
        cost = runs.loc[runs["generation"] == GENERATIONS[-1], "cost"].median()
        errors.append([what, weights, str(len(end)), f"{cost:.2g}", *shown])
        by_run = runs.pivot_table(index="seed", columns="generation", values="cost")
        shares = by_run.div(by_run[GENERATIONS[0]], axis=0).median()
        costs.append([what, weights, str(len(end)), *(f"{c:.2g}" for c in shares)])
    return {"genetic": errors, "generations": costs}


def paper_columns(fmu_file: Path = generate.SLIDE_FMU) -> list[list[str]]:
    """Return what the paper's identified values cost on its input, for each of the weights.

    Sums over the samples and maxima, as parts of eq. 11, then eq. 11 in SI units, all weights 1.
    """
    made = generate.RUNS["published"]
    times = np.arange(0.0, made.duration, made.sample)
    inputs = made.force(times)[:, None]
    setup = SimulationSetup(times, ("u",), inputs, ("x", "frictionForce"), tolerance=1e-11)
    rows = []
    with fmident.open_fmu(fmu_file) as fmu, fmu.simulator() as simulator:
        true = simulator.simulate(setup, generate.TRUTH)
        printed = [PAPER_COSTS[g] for g in (500, 1000, 2000)]
        for (name, values), cost in zip(list(PAPER.items())[:3], printed, strict=True):
            e = np.abs(simulator.simulate(setup, dict(zip(NAMES, values, strict=True))) - true)
            parts = [(e[:, 0] ** 2).sum(), e[:, 0].max(), (e[:, 1] ** 2).sum(), e[:, 1].max()]
            rows.append([name.split(",")[0], *(f"{v:.2g}" for v in (cost, *parts, sum(parts)))])
    return rows


def record(
    tables: Mapping[str, tuple[Sequence[str], Sequence[Sequence[str]]]],
    facts: Mapping[str, str] | None = None,
) -> None:
    """Add to ``figures.json``, from which the README has its figures."""
    file = HERE / "figures.json"
    kept = json.loads(file.read_text()) if file.exists() else {"tables": {}, "facts": {}}
    for name, (header, rows) in tables.items():
        kept["tables"][name] = {"header": list(header), "rows": [list(row) for row in rows]}
    kept["facts"] |= facts or {}
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


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


STARTS_HEADER = ("file", "starts", "below 0.1 %", "simulations", "median", "largest error, %")


def starts_rows(results: Path) -> list[list[str]]:
    """Return per problem file how many random starts end below 0.1 %, and what they cost."""
    rows = []
    for file in STARTS:
        found = pd.read_csv(results / f"starts-{file}.csv")
        n, worst = found["simulations"], found["largest"]
        shown = [f"`{file}`", str(len(found)), str((worst < 0.1).sum()), f"{n.min()} to {n.max()}"]
        rows.append([*shown, f"{n.median():g}", f"{worst.max():.1g}"])
    return rows


def interval_rows(results: Path) -> list[list[str]]:
    """Return the ends of the intervals, % of the true value, by profile and linearised."""
    rows = []
    for name in generate.RUNS:
        found = pd.read_csv(results / f"intervals-{name}.csv", index_col=0).loc[list(NAMES)]
        truth = pd.Series(generate.TRUTH)
        for by, low, high in (
            ("profile", "low", "high"),
            ("linearised", "linearised_low", "linearised_high"),
        ):
            ends = 100 * (found[[low, high]].div(truth, axis=0) - 1.0)
            shown = [
                "open" if not np.isfinite(e).all() else f"{e[low]:.2g} ... {e[high]:.2g}"
                for _, e in ends.iterrows()
            ]
            rows.append([f"{name}, {by}", *shown])
    return rows


def main() -> None:
    """Run the parts that are asked for."""
    parts = ("identifiability", "profile", "starts", "global", "genetic", "figures")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts) + "; all")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", help="one problem file of 'starts'")
    parser.add_argument("--generations", type=int, default=GENERATIONS[-1], help="of 'genetic'")
    parser.add_argument(
        "--again",
        type=int,
        metavar="SEED",
        help="of 'genetic': compute again only what genetic.csv holds of this seed",
    )
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
            shown = [[str(n), *(f"{v:.2g}" for v in row)] for n, row in singular.iterrows()]
            left = [
                [str(n), *("-" if np.isinf(v) else f"{v:.2g}" for v in row)]
                for n, row in errors.iterrows()
            ]
            record(
                {
                    "singular values": (["input", *map(str, singular.columns)], shown),
                    "standard errors": (["input", *SYMBOLS], left),
                }
            )
        elif part == "profile":
            for name in generate.RUNS:
                profile(name, args.results)
                intervals = pd.read_csv(args.results / f"intervals-{name}.csv", index_col=0)
                print(f"{name}\n{intervals.to_string()}")
            record({"intervals": (["input, by", *SYMBOLS], interval_rows(args.results))})
        elif part == "starts":
            for file in STARTS if args.only is None else (args.only,):
                todo = [
                    ({"file": file, "seed": seed}, functools.partial(one_estimate, file, seed))
                    for seed in range(args.seeds)
                ]
                found = collect(args.results / f"starts-{file}.csv", todo)
                print(found.to_string())
            record({"starts": (STARTS_HEADER, starts_rows(args.results))})
        elif part == "global":
            (row,) = one_estimate("published-global", None)
            print(row)
            shown = [f"{row[n]:.2g}" for n in NAMES]
            record(
                {
                    "global": (
                        ["file", *SYMBOLS, "simulations"],
                        [["`published-global`", *shown, str(row["simulations"])]],
                    )
                }
            )
        elif part == "genetic":
            generations = tuple(g for g in GENERATIONS if g <= args.generations)
            generations = generations or (args.generations,)
            if args.again is None:
                runs = collect(HERE / "genetic.csv", genetic_runs(args.seeds, generations))
            else:
                fresh = args.results / f"genetic-{args.again}.csv"
                runs = recomputed(HERE / "genetic.csv", args.again, fresh)
            if generations == GENERATIONS:
                tables = genetic_tables(runs)
                first = ["run", "weights", "seeds"]
                parts_of = ["printed cost", "sum e^2", "max e", "sum Fe^2", "max Fe", "all, SI"]
                record(
                    {
                        "genetic": ([*first, "cost", *SYMBOLS], tables["genetic"]),
                        "generations": ([*first, *map(str, GENERATIONS)], tables["generations"]),
                        "paper's columns": (["after", *parts_of], paper_columns()),
                    }
                )
        else:
            from figures import draw

            draw(args.results, HERE / "figures")


if __name__ == "__main__":
    main()
