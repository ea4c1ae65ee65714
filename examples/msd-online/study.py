"""The study of the paper: how long it takes until the natural frequency is known within 2 %.

    python examples/msd-online/study.py [--draws 10] [--quick]

prints the tables of the README and writes ``results/*.csv``; the whole study also writes
``figures.json``, from which the README has them, and ``figures/*.png``.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from generate import Oscillator, noise_level

from fmident_estimators.algebraic import kernels
from fmident_estimators.algebraic.estimator import AlgebraicWindow, WindowDesign
from fmident_estimators.algebraic.kernels import Quadrature
from fmident_estimators.kalman_bucy.estimator import best_ratio, variance_factor
from fmident_estimators.kalman_bucy.recursion import KalmanBucy, differentiator, finite_differences
from fmident_estimators.linear_equation import LinearEquation

FOLDER = Path(__file__).resolve().parent
SYSTEM = Oscillator()
EQUATION = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
BOTH = LinearEquation(2, ("a1", "a0"), {"b0": 1.0})  # theta1 first
RATIOS = np.unique(np.append(np.geomspace(0.1, 10.0, 13).round(4), 1.0))
LEVELS = (25.0, 50.0, 80.0)
Filtered = Literal["all", "derivatives"]
Series = list[tuple[str, np.ndarray]]

# One setting for all cases: window and cutoff of the problem files, and for the filter as the
# paper writes it the estimator's default, a twentieth of the sampling rate.
WINDOW = 400  # ms
CUTOFF: dict[Filtered, float] = {"all": 10.0, "derivatives": 50.0}  # Hz
# What the best for each case is chosen from.
WINDOWS = (4, 8, 12, 20, 32, 52, 72, 100, 152, 200, 300, 400, 600, 1000)  # ms
CUTOFFS: dict[Filtered, tuple[float, ...]] = {
    "all": (2.0, 5.0, 10.0, 20.0, 50.0),
    "derivatives": (20.0, 50.0, 100.0, 200.0, 400.0),
}
FORGETTING = (0.95, 0.98, 0.99, 0.995, 0.998, 1.0)
SHOWN = (0.1, 0.2154, 0.4642, 1.0, 2.1544, 4.6416, 10.0)  # ratios in the tables
WITHIN = 0.02
PRECISION = 0.02  # predicted relative standard error of theta2 up to which a window counts


def held(estimates: np.ndarray) -> np.ndarray:
    """Return a series in which an estimate holds until the next one."""
    places = np.where(np.isfinite(estimates), np.arange(estimates.size), 0)
    return estimates[np.maximum.accumulate(places)]


def errors(theta2: np.ndarray) -> np.ndarray:
    """Return the relative error of omega0; NaN before the first estimate."""
    with np.errstate(invalid="ignore"):
        return np.abs(np.sqrt(held(theta2)) / SYSTEM.omega0 - 1.0)


def time_to_stay(theta2: np.ndarray) -> float:
    """Return the instant from which the error stays within 2 %, s; infinite if it never does."""
    bad = np.flatnonzero(~(errors(theta2) < WITHIN))
    if bad.size == 0:
        return 0.0
    return float(SYSTEM.times[bad[-1] + 1]) if bad[-1] + 1 < theta2.size else np.inf


def time_to_touch(theta2: np.ndarray) -> float:
    """Return the first instant at which the error is below 2 %, the paper's criterion, s."""
    good = np.flatnonzero(errors(theta2) < WITHIN)
    return float(SYSTEM.times[good[0]]) if good.size else np.inf


def algebraic(
    y: np.ndarray,
    u: np.ndarray,
    intervals: int,
    sigma: float,
    *,
    precise: bool = True,
    rule: Quadrature = "product-4",
) -> np.ndarray:
    """Return theta2 over time from a sliding window; NaN where a window does not count."""
    design = WindowDesign(intervals, SYSTEM.step, rows=3, quadrature=rule)
    window = AlgebraicWindow(EQUATION, design, sigma if sigma > 0.0 else None)
    theta, covariance, flags = window.batch(y, u)
    found = np.where(flags == kernels.OK, theta[:, 0], np.nan)
    if precise and sigma > 0.0:
        with np.errstate(invalid="ignore"):
            spread = np.sqrt(covariance[:, 0, 0])
            found[~(spread <= PRECISION * np.abs(found))] = np.nan
    return found


def kalman(
    y: np.ndarray,
    u: np.ndarray,
    cutoff: float,
    filtered: Filtered = "all",
    forgetting: float = 1.0,
) -> np.ndarray:
    """Return theta2 over time from the recursion; the system starts at rest."""
    filter_ = (
        differentiator(3, cutoff, SYSTEM.step)
        if filtered == "all"
        else finite_differences(2, 1, cutoff, SYSTEM.step)
    )
    found, *_ = KalmanBucy(EQUATION, filter_, forgetting=forgetting).batch(y, u)
    return found[:, 0]


def noisy(ratio: float, level: float, draws: int) -> tuple[list[np.ndarray], np.ndarray, float]:
    """Return draws of the position with noise, the input, and the noise's deviation."""
    x, _ = SYSTEM.response(ratio)
    sigma = noise_level(x, level)
    draw = [np.random.default_rng([seed, int(level)]).normal(size=x.size) for seed in range(draws)]
    return [x + sigma * e for e in draw], SYSTEM.drive(ratio), sigma


def bound(ratio: float, sigma: float, *, at_rest: bool = False) -> float:
    """Return the time before which no unbiased estimator has half of its runs within 2 %, s.

    Cramer-Rao for theta1, theta2 and, unless the start at rest is known, x(0) and x'(0).
    """
    t = SYSTEM.times
    columns = []
    for name, change in (("stiffness", 1e-3 * SYSTEM.stiffness), ("damping", 0.5 * SYSTEM.damping)):
        ends = [
            Oscillator(**{name: getattr(SYSTEM, name) + sign * change}).response_at(ratio, SYSTEM)
            for sign in (-1.0, 1.0)
        ]
        columns.append((ends[1] - ends[0]) / (2.0 * change / SYSTEM.mass))
    if not at_rest:
        base = SYSTEM.response(ratio)[0]
        columns += [SYSTEM.response(ratio, start=s)[0] - base for s in ((1.0, 0.0), (0.0, 1.0))]
    rows = np.column_stack(columns)
    information = np.cumsum(rows[:, :, np.newaxis] * rows[:, np.newaxis, :], axis=0)[8:]
    scale = np.sqrt(np.einsum("kii->ki", information))
    scaled = information / (scale[:, :, np.newaxis] * scale[:, np.newaxis, :])
    variance = np.full(scaled.shape[0], np.inf)
    for k, matrix in enumerate(scaled):
        if np.linalg.cond(matrix) < 1e13:
            variance[k] = np.linalg.inv(matrix)[0, 0] / scale[k, 0] ** 2
    spread = sigma * np.sqrt(variance) / (2.0 * SYSTEM.theta2)  # of omega0, relative
    within = np.flatnonzero(0.6745 * spread <= WITHIN)
    return float(t[8 + within[0]]) if within.size else np.inf


def write(name: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a table into the folder of results."""
    target = FOLDER / "results" / name
    target.parent.mkdir(exist_ok=True)
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def seconds(value: float) -> str:
    """Return a time for a table, s."""
    return "never" if np.isinf(value) else f"{value:.3f}"


@dataclass(frozen=True)
class Table:
    """A table of the README: title of each column, and cells."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the lines of the table."""
        first, *rest = (f"| {' | '.join(line)} |\n" for line in (self.header, *self.rows))
        return f"{first}{'|---' * len(self.header)}|\n{''.join(rest)}"


def study_map(ratios: np.ndarray, draws: int) -> dict[tuple[float, float], dict[str, float]]:
    """Return, for each level and ratio, the median times over the draws of noise."""
    found: dict[tuple[float, float], dict[str, float]] = {}
    rows = []
    for level, ratio in itertools.product(LEVELS, ratios):
        measured, u, sigma = noisy(ratio, level, draws)

        def median(values: Sequence[float]) -> float:
            return float(np.median(values))

        windows = {w: [algebraic(y, u, w, sigma) for y in measured] for w in WINDOWS}
        by_window = {w: median([time_to_stay(e) for e in es]) for w, es in windows.items()}
        window = min(by_window, key=lambda w: (by_window[w], w))
        cell = {
            "algebraic": by_window[WINDOW],
            "algebraic, touch": median([time_to_touch(e) for e in windows[WINDOW]]),
            "algebraic, best": by_window[window],
            "algebraic, best window": window * SYSTEM.step,
        }
        for filtered, cutoffs in CUTOFFS.items():
            estimates = {c: [kalman(y, u, c, filtered) for y in measured] for c in cutoffs}
            by_cutoff = {c: median([time_to_stay(e) for e in es]) for c, es in estimates.items()}
            cutoff = min(by_cutoff, key=lambda c: (by_cutoff[c], c))
            own = CUTOFF[filtered]
            cell |= {
                f"kalman, {filtered}": by_cutoff[own],
                f"kalman, {filtered}, touch": median([time_to_touch(e) for e in estimates[own]]),
                f"kalman, {filtered}, best": by_cutoff[cutoff],
                f"kalman, {filtered}, best cutoff": cutoff,
            }
        touch = [time_to_touch(algebraic(y, u, 4, sigma, precise=False)) for y in measured]
        cell |= {
            "bound": bound(ratio, sigma),
            "bound, start at rest known": bound(ratio, sigma, at_rest=True),
            "algebraic, touch, 4 ms": median(touch),
            "sigma": sigma,
        }
        found[level, float(ratio)] = cell
        rows.append([level, ratio, *cell.values()])
    write("map.csv", ["snr_db", "ratio", *cell], rows)
    return found


def study_clean(ratios: np.ndarray) -> Table:
    """Return the times without noise, for windows of five intervals and more."""
    rules: tuple[tuple[Quadrature, int], ...] = (
        ("product-5", 5),
        ("product-6", 6),
        ("product-6", 24),
        ("simpson", 24),
        ("simpson", 100),
    )
    rows: list[list[float]] = []
    for ratio in ratios:
        x, _ = SYSTEM.response(ratio)
        u = SYSTEM.drive(ratio)
        times: list[float] = []
        for rule, intervals in rules:
            theta2 = algebraic(x, u, intervals, 0.0, rule=rule)
            times += [time_to_touch(theta2), time_to_stay(theta2)]
        rows.append([ratio, *times])
    names = [f"{rule}, {n} ms: {what}" for rule, n in rules for what in ("touch", "stay")]
    write("without-noise.csv", ["ratio", *names], rows)
    shown = [row for row in rows if np.isclose(row[0], SHOWN, rtol=1e-3).any()]
    cells = [
        [f"{rule}, {n} ms", *(f"{seconds(r[2 * k + 1])} / {seconds(r[2 * k + 2])}" for r in shown)]
        for k, (rule, n) in enumerate(rules)
    ]
    return Table(["Z", *(f"{r[0]:.2g}" for r in shown)], cells)


def study_exactness() -> Table:
    """Return the largest error of theta1 without noise, over windows of 0.3 to 0.504 s."""
    ratios = (0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
    rules: tuple[Quadrature, ...] = ("simpson", "product-4", "product-6")
    rows = []
    for rule in rules:
        worst = [max(worst_theta1(z, n, rule) for n in (300, 360, 420, 480, 504)) for z in ratios]
        rows.append([f"`{rule}`", *(f"{error:.1g}" for error in worst)])
    return Table(["Z", *(f"{z:g}" for z in ratios)], rows)


def worst_theta1(ratio: float, intervals: int, rule: Quadrature, rows: int = 2) -> float:
    """Return the largest relative error of theta1 over all windows of a length, without noise."""
    design = WindowDesign(intervals, SYSTEM.step, rows=rows, quadrature=rule)
    x, u = SYSTEM.response(ratio)[0], SYSTEM.drive(ratio)
    theta, _, flags = AlgebraicWindow(BOTH, design, None).batch(x, u)
    error = np.abs(theta[:, 0] / SYSTEM.theta1 - 1.0)
    return float(error[flags == kernels.OK].max())


def study_forgetting(draws: int) -> Table:
    """Return what the forgetting factor does at 80 dB, with one cutoff for all cases.

    The variance is that of eq. 12 at Z = 1 after 100 samples, the paper's figure 2.
    """
    t = SYSTEM.times[1:101]
    least = variance_factor(1.0, SYSTEM.omega0, t)
    rows = []
    for forgetting in FORGETTING:
        row = [f"{forgetting:g}"]
        row.append(f"{variance_factor(1.0, SYSTEM.omega0, t, forgetting) / least:.3g}")
        for filtered, ratio in itertools.product(CUTOFF, (1.0, 10.0)):
            measured, u, _ = noisy(ratio, 80.0, draws)
            found = [kalman(y, u, CUTOFF[filtered], filtered, forgetting) for y in measured]
            row.append(seconds(float(np.median([time_to_stay(e) for e in found]))))
        rows.append(row)
    header = ["lambda", "variance", "Z = 1", "Z = 10", "as written, Z = 1", "as written, Z = 10"]
    return Table(header, rows)


def study_disturbance() -> tuple[dict[str, tuple[float, float, float]], Series]:
    """Add a sine of 0.1 m at 500*omega0 on the position, and white noise of 1 mm.

    Returns
    -------
    tuple
        Times to stay by estimator: with the one setting, with the best, and which that is; the
        estimates over time.
    """
    t = SYSTEM.times
    sigma = 0.1 / np.sqrt(2.0)
    series, times = [], {}
    cases: tuple[tuple[str, float, float, Sequence[float]], ...] = (
        ("algebraic", 10.0, WINDOW, WINDOWS),
        *((f"kalman, {f}", 1.0, CUTOFF[f], CUTOFFS[f]) for f in CUTOFF),
    )
    for name, ratio, own, settings in cases:
        y = SYSTEM.response(ratio)[0] + 0.1 * np.sin(500.0 * SYSTEM.omega0 * t)
        y = y + 1e-3 * np.random.default_rng(0).normal(size=t.size)
        u, filtered = SYSTEM.drive(ratio), name.rpartition(" ")[2]
        estimates = {
            s: algebraic(y, u, int(s), sigma) if name == "algebraic" else kalman(y, u, s, filtered)
            for s in settings
        }
        stays = {s: time_to_stay(e) for s, e in estimates.items()}
        best = min(stays, key=lambda s: (stays[s], s))
        times[name] = (stays[own], stays[best], float(best))
        if np.isfinite(stays[best]):
            series.append((f"{name}, Z = {ratio:g}", held(estimates[best])))
    header = ["estimator", "stay", "best stay", "best window (ms) or cutoff (Hz)"]
    write("disturbance.csv", header, [[name, *row] for name, row in times.items()])
    return times, series


def study_jumps() -> tuple[Table, tuple[np.ndarray, Series]]:
    """Let omega0 jump at 0.1 s and 0.25 s; Z = 10; without noise and with 80 dB.

    Returns
    -------
    tuple
        When each estimate is within 2 % again; the true omega0 and the estimates over time.
    """
    t = SYSTEM.times[:501]
    pieces = ((0.0, 1.0), (0.1, 1.2), (0.25, 0.9), (np.inf, 0.0))
    u = SYSTEM.drive(10.0, t)
    x, truth = np.zeros(t.size), np.zeros(t.size)
    start = (0.0, 0.0)
    for (begin, factor), (end, _) in itertools.pairwise(pieces):
        system = Oscillator(stiffness=SYSTEM.stiffness * factor**2)
        # The drive keeps its own frequency, ten times the first natural one.
        ratio = 10.0 / factor
        inside = (t >= begin - 1e-9) & (t < end - 1e-9)
        x[inside], _ = system.response(ratio, t[inside], start, begin)
        truth[inside] = system.omega0
        if np.isfinite(end):
            moved = system.response(ratio, np.array([end]), start, begin)
            start = (float(moved[0][0]), float(moved[1][0]))
    sigma = noise_level(SYSTEM.response(10.0)[0], 80.0)
    y = x + sigma * np.random.default_rng(0).normal(size=x.size)
    series = [
        ("algebraic without noise, window 20 ms", algebraic(x, u, 20, 0.0)),
        ("algebraic, window 72 ms", algebraic(y, u, 72, sigma)),
        ("Kalman-Bucy, 20 Hz, lambda 0.95", kalman(y, u, 20.0, forgetting=0.95)),
        ("Kalman-Bucy, 20 Hz, lambda 1", kalman(y, u, 20.0)),
    ]
    rows = []
    for name, estimate in series:
        with np.errstate(invalid="ignore"):
            error = np.abs(np.sqrt(held(estimate)) / truth - 1.0)
        late = []
        for begin, end in ((0.0, 0.1), (0.1, 0.25), (0.25, 0.501)):
            inside = np.flatnonzero((t >= begin - 1e-9) & (t < end - 1e-9))
            bad = inside[~(error[inside] < WITHIN)]
            last = bad[-1] + 1 if bad.size else inside[0]
            late.append(f"{t[last] - begin:.3f}" if last <= inside[-1] else "never")
        rows.append([name, *late])
    table = Table(["", "start", "after 0.1 s", "after 0.25 s"], rows)
    return table, (truth, [(name, held(estimate)) for name, estimate in series])


def study_excitation() -> tuple[dict[str, float], dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Return the best Z and the variance over Z, of eq. 13 and as algebraic windows predict it."""
    ratios = np.geomspace(0.1, 10.0, 201)
    best, curves = {}, {}
    for count in (100, 300, 1000, 5000):
        t = np.arange(1, count + 1) * SYSTEM.step
        factors = np.array([variance_factor(float(z), SYSTEM.omega0, t) for z in ratios])
        name = f"eq. 13, {count} samples"
        curves[name] = (ratios, factors)
        best[name] = best_ratio(SYSTEM.omega0, t, 0.05, 10.0, 9951)
    for window in (200, 400):
        predicted = []
        for z in ratios:
            x, _ = SYSTEM.response(float(z))
            design = WindowDesign(window, SYSTEM.step, rows=3)
            _, covariance, _ = AlgebraicWindow(EQUATION, design, 1.0).batch(x, SYSTEM.drive(z))
            predicted.append(np.nanmedian(covariance[:, 0, 0]) * SYSTEM.amplitude**2)
        name = f"algebraic, {window} ms window (median)"
        curves[name] = (ratios, np.array(predicted))
        best[name] = float(ratios[int(np.argmin(predicted))])
    return best, curves


Cells = Mapping[tuple[float, float], Mapping[str, float]]


def map_table(found: Cells) -> Table:
    """Return the times to stay within 2 % of all cases."""
    ratios = sorted(z for z in {z for _, z in found} if np.isclose(z, SHOWN, rtol=1e-3).any())
    rows = []
    for title, key in (
        ("algebraic", "algebraic"),
        ("Kalman-Bucy", "kalman, all"),
        ("Kalman-Bucy as written", "kalman, derivatives"),
        ("best: algebraic", "algebraic, best"),
        ("best: Kalman-Bucy", "kalman, all, best"),
        ("best: Kalman-Bucy as written", "kalman, derivatives, best"),
        ("Cramer-Rao", "bound"),
    ):
        rows += [
            [f"{title}, {level:g} dB", *(seconds(found[level, z][key]) for z in ratios)]
            for level in LEVELS
        ]
    return Table(["Z", *(f"{z:.2g}" for z in ratios)], rows)


def paper_table(
    found: Cells,
    disturbed: Mapping[str, tuple[float, float, float]],
    best: Mapping[str, float],
) -> Table:
    """Return the figures of the paper beside ours."""
    slow, fast = found[80.0, 1.0], found[80.0, 10.0]

    def row(what: str, paper: str, key: str, cell: Mapping[str, float], unit: str) -> list[str]:
        setting = next(v for k, v in cell.items() if k.startswith(f"{key}, best "))
        chosen = f"{1e3 * setting:g} ms" if unit == "ms" else f"{setting:g} Hz"
        stays = seconds(cell[f"{key}, best"])
        return [
            what,
            paper,
            seconds(cell[key]),
            f"{stays} ({chosen})",
            seconds(cell[f"{key}, touch"]),
        ]

    def times(what: str, numerator: Mapping[str, float]) -> list[str]:
        def factor(kind: str) -> str:
            value = numerator[f"kalman, derivatives{kind}"] / fast[f"algebraic{kind}"]
            return f"{value:.2g}"

        return [what, "100", factor(""), factor(", best"), factor(", touch")]

    def disturbance(what: str, paper: str, key: str, unit: str) -> list[str]:
        own, least, setting = disturbed[key]
        chosen = f" ({setting:g} {unit})" if np.isfinite(least) else ""
        return [what, paper, seconds(own), f"{seconds(least)}{chosen}", ""]

    written, ours = "Kalman-Bucy as the paper writes it", "Kalman-Bucy, all filtered"
    limits = f"{seconds(slow['bound'])} and {seconds(fast['bound'])}"
    smallest = [
        f"{best[f'eq. 13, {n} samples']:.3g} after {n / 1000:g} s" for n in (5000, 1000, 300)
    ]
    return Table(
        ["80 dB unless said, s", "paper", "one setting", "best setting", "first within 2 %"],
        [
            row("algebraic, Z = 10", "0.005", "algebraic", fast, "ms"),
            row(f"{written}, Z = 1", "about 0.5", "kalman, derivatives", slow, "Hz"),
            row(f"{written}, Z = 10", "", "kalman, derivatives", fast, "Hz"),
            row(f"{ours}, Z = 1", "", "kalman, all", slow, "Hz"),
            row(f"{ours}, Z = 10", "", "kalman, all", fast, "Hz"),
            times("times the algebraic at Z = 10: as written, Z = 1", slow),
            times("the same: as written, Z = 10", fast),
            ["Cramer-Rao bound, Z = 1 and 10", "", "", limits, ""],
            disturbance("disturbance: algebraic, Z = 10", "0.005", "algebraic", "ms"),
            disturbance("disturbance: as written, Z = 1", "0.05", "kalman, derivatives", "Hz"),
            disturbance("disturbance: all filtered, Z = 1", "", "kalman, all", "Hz"),
            ["Z of the smallest variance, eq. 13", "1", "; ".join(smallest), "", ""],
        ],
    )


def facts(found: Cells, best: Mapping[str, float]) -> dict[str, str]:
    """Return the numbers that the text of the README names."""
    x, _ = SYSTEM.response(10.0)
    cell = found[80.0, 10.0]
    softer = Oscillator(stiffness=SYSTEM.stiffness * (1.0 - WITHIN) ** 2)
    moved = abs(x[5] - softer.response_at(10.0, SYSTEM)[5])
    worst = {
        rows: [
            worst_theta1(3.0, n, rule, rows)
            for rule, n in (("simpson", 1000), ("product-4", 1000), ("product-6", 1002))
        ]
        for rows in (2, 3)
    }
    design = WindowDesign(5, SYSTEM.step, rows=3, quadrature="product-5")
    _, covariance, _ = AlgebraicWindow(EQUATION, design, 1.0).batch(x, SYSTEM.drive(10.0))
    least = 2.0 * WITHIN * SYSTEM.theta2 / (0.6745 * np.sqrt(np.nanmedian(covariance[:, 0, 0])))
    needed = 20.0 * np.log10(np.sqrt(np.mean(x**2)) / least)
    at_rest = cell["bound, start at rest known"]
    return {
        "rms of the signal at Z = 10": f"{np.sqrt(np.mean(x**2)):.3f} m",
        "noise at 80 dB": f"{cell['sigma']:.1e} m",
        "change of x in 5 ms for 2 %": f"{1e9 * moved:.2g} nm",
        "ratio that a window of five intervals asks for": f"{needed:.0f} dB",
        "half of the runs within 2 %, start at rest known": f"{1e3 * at_rest:.0f} ms",
        "first within 2 %, window of 4 ms": f"{cell['algebraic, touch, 4 ms']:.2g} s",
        "worst theta1, Z = 3, 1 s": ", ".join(f"{e:.1g}" for e in worst[2]),
        "the same with three rows": ", ".join(f"{e:.1g}" for e in worst[3]),
        "worst theta1, Z = 3, 24 ms, product-4": f"{worst_theta1(3.0, 24, 'product-4'):.1g}",
        "best Z for 0.1 s": f"Z = {best['eq. 13, 100 samples']:.1f}",
    }


def main() -> None:
    """Run the whole study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10, help="draws of noise per cell")
    parser.add_argument("--quick", action="store_true", help="three ratios, two draws, no figures")
    chosen = parser.parse_args()
    began = time.perf_counter()
    ratios = np.array([0.1, 1.0, 10.0]) if chosen.quick else RATIOS
    draws = 2 if chosen.quick else chosen.draws
    found = study_map(ratios, draws)
    disturbed, disturbed_series = study_disturbance()
    jumps, jump_series = study_jumps()
    best, curves = study_excitation()
    tables = {
        "paper": paper_table(found, disturbed, best),
        "map": map_table(found),
        "forgetting": study_forgetting(draws),
        "jumps": jumps,
        "without noise": study_clean(ratios),
        "exactness": study_exactness(),
    }
    for name, table in tables.items():
        print(f"\n{name}\n{table.markdown()}", end="")
    said = facts(found, best)
    print("\n" + "\n".join(f"{what}: {value}" for what, value in said.items()))
    if not chosen.quick:
        import figures

        content = {"tables": {n: asdict(table) for n, table in tables.items()}, "facts": said}
        text = json.dumps(content, indent=1) + "\n"
        (FOLDER / "figures.json").write_text(text, encoding="utf-8")
        figures.draw_map(found, FOLDER / "figures" / "map.png")
        figures.draw_excitation(curves, FOLDER / "figures" / "excitation.png")
        figures.draw_disturbance(SYSTEM, disturbed_series, FOLDER / "figures" / "disturbance.png")
        figures.draw_jumps(SYSTEM.times[:501], *jump_series, FOLDER / "figures" / "jumps.png")
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
