"""Benchmark: simulations that Broyden updates between Jacobians save on the delta study.

    python benchmarks/broyden.py [--updates N]

Prints simulations and Jacobians with and without updates, and how far apart the estimates are.
Ends with 1 when updates save nothing, or when SciPy's estimates differ by more than 1e-6 relative
(both solvers stop by their own tolerance; Ceres' default is the coarser one).
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

import numpy as np

import fmident

PROBLEM = Path(__file__).resolve().parents[1] / "examples" / "delta" / "problem.toml"
SAME = 1e-6


def main() -> int:
    """Run each solver with and without updates."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--updates", type=int, default=3)
    args = parser.parse_args()
    problem = fmident.load_problem(PROBLEM)
    good = True
    print(
        f"{'solver':<8}{'updates':>8}{'simulations':>13}{'Jacobians':>11}"
        f"{'apart':>10}{'in standard errors':>20}"
    )
    for solver in ("scipy", "ceres"):
        results = []
        for updates in (0, args.updates):
            chosen = dataclasses.replace(
                problem,
                estimator=dataclasses.replace(problem.estimator, options={"solver": solver}),
                evaluation=dataclasses.replace(problem.evaluation, check=False, broyden=updates),
            )
            result = fmident.estimate(chosen)
            results.append(result)
            found, first = (np.array(list(r.values.values())) for r in (result, results[0]))
            apart = float(np.max(np.abs(found / first - 1.0)))
            errors = np.sqrt(np.diag(results[0].covariance))
            print(
                f"{solver:<8}{updates:>8}{result.simulations:>13}{result.jacobians:>11}"
                f"{apart:>10.1e}{float(np.max(np.abs(found - first) / errors)):>20.1e}"
            )
        good &= results[1].simulations < results[0].simulations
        good &= solver != "scipy" or apart <= SAME
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
