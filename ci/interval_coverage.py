#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Count how often intervals hold the truth, over more draws of the noise than a test can take.

The studies are those of tests/estimation/stages/test_propagation_coverage.py (two stages) and
tests/profiles/test_coverage.py (profile likelihoods of a model with eight samples).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ci import noise_coverage  # noqa: E402
from ci.noise_coverage import KINDS, MODELS  # noqa: E402
from tests.estimation.stages.test_propagation_coverage import (  # noqa: E402
    with_common_data,
    with_noise_of_unknown_size,
)
from tests.profiles.test_coverage import shares  # noqa: E402

COVERED = 0.95


def _profiles(known: bool) -> Callable[[int], Mapping[str, float]]:
    return lambda draws: dict(zip("ak", shares(known, draws), strict=True))


STUDIES: dict[str, Callable[[int], Mapping[str, float]]] = {
    "two stages, noise of unknown size": lambda draws: with_noise_of_unknown_size(draws)[0],
    "two stages, common data": lambda draws: with_common_data(draws)[0],
    "profiles, known noise": _profiles(known=True),
    "profiles, noise of unknown size": _profiles(known=False),
}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="ci/coverage",
        description="Count how often 95 % intervals hold the truth.",
        epilog="exit code 0: as often as three standard deviations allow, 1: not so",
    )
    parser.add_argument("--draws", type=int, default=1000, help="of the noise (default 1000)")
    parser.add_argument(
        "--noise",
        metavar="KIND,...",
        help=f"other studies, noise that is not white: all, or some of {','.join(KINDS)}",
    )
    parser.add_argument(
        "--models", default="all", metavar="NAME,...", help=f"all, or some of {','.join(MODELS)}"
    )
    parser.add_argument(
        "--noise-model",
        choices=("default", "ar", "white"),
        default="default",
        help="how the noise is estimated: default, or with the parameters: ar, white",
    )
    asked = parser.parse_args()
    draws = asked.draws
    if asked.noise:
        kinds = KINDS if asked.noise == "all" else asked.noise.split(",")
        models = tuple(MODELS) if asked.models == "all" else asked.models.split(",")
        wrong = noise_coverage.main(kinds, models, draws, asked.noise_model)
        print(f"{wrong} shares are not between 93 and 97 %, as far as {draws} draws tell")
        return 1 if wrong else 0
    allowed = 3.0 * np.sqrt(COVERED * (1.0 - COVERED) / draws)
    wrong = 0
    for name, study in STUDIES.items():
        for parameter, share in study(draws).items():
            good = abs(share - COVERED) <= allowed
            wrong += not good
            print(f"{name:<36}{parameter:<6}{share:>7.1%}{'' if good else '  wrong'}", flush=True)
    print(f"{draws} draws, {allowed:.1%} allowed, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
