"""The study of the paper: how long it takes until the natural frequency is known within 2 %.

    python examples/msd-online/study.py [--draws 10] [--quick]

writes ``results/*.csv`` and ``figures/*.png`` and prints the tables of the README.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from generate import Oscillator, noise_level

from fmident_estimators.algebraic import AlgebraicWindow, WindowDesign, kernels
from fmident_estimators.algebraic.weights import Quadrature
from fmident_estimators.kalman_bucy import KalmanBucy, best_ratio, differentiator, variance_factor
from fmident_estimators.linear_equation import LinearEquation

FOLDER = Path(__file__).resolve().parent
SYSTEM = Oscillator()
EQUATION = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})
RATIOS = np.unique(np.append(np.geomspace(0.1, 10.0, 13).round(4), 1.0))
LEVELS = (25.0, 50.0, 80.0)
WINDOWS = (4, 8, 12, 20, 32, 52, 72, 100, 152, 200, 300, 400, 600, 1000)  # ms
CUTOFFS = (2.0, 5.0, 10.0, 20.0, 50.0)  # Hz
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


def kalman(y: np.ndarray, u: np.ndarray, cutoff: float) -> np.ndarray:
    """Return theta2 over time from the recursion; the system starts at rest."""
    found, *_ = KalmanBucy(EQUATION, differentiator(3, cutoff, SYSTEM.step)).batch(y, u)
    return found[:, 0]


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
    """Return a time for a table."""
    return "never" if np.isinf(value) else f"{value:.3f}"


def study_map(ratios: np.ndarray, draws: int) -> dict[tuple[float, float], dict[str, float]]:
    """Return, for each level and ratio, the median times over the draws of noise."""
    found: dict[tuple[float, float], dict[str, float]] = {}
    rows = []
    for level in LEVELS:
        for ratio in ratios:
            x, _ = SYSTEM.response(ratio)
            u = SYSTEM.drive(ratio)
            sigma = noise_level(x, level)
            noisy = [
                x + sigma * np.random.default_rng([seed, int(level)]).normal(size=x.size)
                for seed in range(draws)
            ]
            by_window = {
                w: float(np.median([time_to_stay(algebraic(y, u, w, sigma)) for y in noisy]))
                for w in WINDOWS
            }
            by_cutoff = {
                c: float(np.median([time_to_stay(kalman(y, u, c)) for y in noisy])) for c in CUTOFFS
            }
            window = min(by_window, key=lambda w: (by_window[w], w))
            cutoff = min(by_cutoff, key=lambda c: (by_cutoff[c], c))
            touch = [time_to_touch(algebraic(y, u, 4, sigma, precise=False)) for y in noisy]
            cell = {
                "algebraic": by_window[window],
                "window": window * SYSTEM.step,
                "algebraic, 200 ms": by_window[200],
                "kalman": by_cutoff[cutoff],
                "cutoff": cutoff,
                "kalman, 10 Hz": by_cutoff[10.0],
                "bound": bound(ratio, sigma),
                "bound, start at rest known": bound(ratio, sigma, at_rest=True),
                "first touch, 4 ms window": float(np.median(touch)),
                "sigma": sigma,
            }
            found[level, float(ratio)] = cell
            rows.append([level, ratio, *cell.values()])
    write("map.csv", ["snr_db", "ratio", *cell], rows)
    return found


def study_clean(ratios: np.ndarray) -> None:
    """Print the times without noise, for windows of five intervals and more."""
    rules: tuple[tuple[Quadrature, int], ...] = (
        ("product-5", 5),
        ("product-6", 6),
        ("product-6", 24),
        ("simpson", 24),
        ("simpson", 100),
    )
    rows: list[list[float]] = []
    print("\nwithout noise: Z; first touch and stay (s) for each rule and window")
    for ratio in ratios:
        x, _ = SYSTEM.response(ratio)
        u = SYSTEM.drive(ratio)
        times: list[float] = []
        for rule, intervals in rules:
            theta2 = algebraic(x, u, intervals, 0.0, rule=rule)
            times += [time_to_touch(theta2), time_to_stay(theta2)]
        rows.append([ratio, *times])
        shown = [
            f"{seconds(a)} / {seconds(b)}" for a, b in zip(times[::2], times[1::2], strict=True)
        ]
        print(f"| {ratio:.3g} | " + " | ".join(shown) + " |")
    names = [f"{rule}, {n} ms: {what}" for rule, n in rules for what in ("touch", "stay")]
    write("without-noise.csv", ["ratio", *names], rows)


def study_disturbance() -> list[tuple[str, np.ndarray]]:
    """Add a sine of 0.1 m at 500*omega0 on the position, and white noise of 1 mm."""
    t = SYSTEM.times
    series, rows = [], []
    for name, ratio in (("algebraic", 10.0), ("kalman", 1.0)):
        x, _ = SYSTEM.response(ratio)
        u = SYSTEM.drive(ratio)
        y = x + 0.1 * np.sin(500.0 * SYSTEM.omega0 * t)
        y = y + 1e-3 * np.random.default_rng(0).normal(size=t.size)
        options: Sequence[float] = WINDOWS if name == "algebraic" else CUTOFFS
        sigma = 0.1 / np.sqrt(2.0)
        estimates = {
            o: algebraic(y, u, int(o), sigma) if name == "algebraic" else kalman(y, u, float(o))
            for o in options
        }
        times = {o: time_to_stay(e) for o, e in estimates.items()}
        best = min(times, key=lambda o: (times[o], o))
        rows.append([name, ratio, best, times[best]])
        series.append((f"{name}, Z = {ratio:g}", held(estimates[best])))
        print(f"disturbance, {name}, Z = {ratio:g}: {seconds(times[best])} s with {best}")
    write("disturbance.csv", ["estimator", "ratio", "window (ms) or cutoff (Hz)", "stay"], rows)
    return series


def study_jumps() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """omega0 jumps at 0.1 s and 0.25 s; Z = 10; without noise and with 80 dB."""
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
    clean = algebraic(x, u, 20, 0.0)
    sigma = noise_level(SYSTEM.response(10.0)[0], 80.0)
    noisy = algebraic(x + sigma * np.random.default_rng(0).normal(size=x.size), u, 72, sigma)
    for name, estimate, window in (("without noise", clean, 20), ("80 dB", noisy, 72)):
        with np.errstate(invalid="ignore"):
            error = np.abs(np.sqrt(held(estimate)) / truth - 1.0)
        late = []
        for begin, end in ((0.0, 0.1), (0.1, 0.25), (0.25, 0.501)):
            inside = np.flatnonzero((t >= begin - 1e-9) & (t < end - 1e-9))
            bad = inside[~(error[inside] < WITHIN)]
            last = bad[-1] + 1 if bad.size else inside[0]
            late.append(f"{t[last] - begin:.3f} s" if last <= inside[-1] else "never")
        print(f"jumps, {name}, window {window} ms: within 2 % after {', '.join(late)}")
    return t, truth, held(clean), held(noisy)


def study_excitation() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the variance over Z: eq. 13, and what the algebraic window predicts."""
    ratios = np.geomspace(0.1, 10.0, 201)
    curves = {}
    for count in (300, 1000, 5000):
        t = np.arange(1, count + 1) * SYSTEM.step
        factors = np.array([variance_factor(float(z), SYSTEM.omega0, t) for z in ratios])
        curves[f"eq. 13, {count} samples"] = (ratios, factors)
        print(
            f"eq. 13, {count} samples: smallest variance at Z = "
            f"{best_ratio(SYSTEM.omega0, t, 0.05, 10.0, 9951):.3f}"
        )
    for window in (200, 400):
        predicted = []
        for z in ratios:
            x, _ = SYSTEM.response(float(z))
            design = WindowDesign(window, SYSTEM.step, rows=3)
            _, covariance, _ = AlgebraicWindow(EQUATION, design, 1.0).batch(x, SYSTEM.drive(z))
            predicted.append(np.nanmedian(covariance[:, 0, 0]) * SYSTEM.amplitude**2)
        curves[f"algebraic, {window} ms window (median)"] = (ratios, np.array(predicted))
        best = ratios[int(np.argmin(predicted))]
        print(f"algebraic, {window} ms window: smallest median variance at Z = {best:.2f}")
    return curves


def print_map(found: dict[tuple[float, float], dict[str, float]]) -> None:
    """Print the tables of the README."""
    ratios = sorted({z for _, z in found})
    for title, key in (
        ("algebraic, best window", "algebraic"),
        ("algebraic, window 200 ms", "algebraic, 200 ms"),
        ("Kalman-Bucy, best cutoff", "kalman"),
        ("Kalman-Bucy, cutoff 10 Hz", "kalman, 10 Hz"),
        ("Cramer-Rao, start unknown", "bound"),
        ("Cramer-Rao, start at rest known", "bound, start at rest known"),
        ("first touch of 2 %, 4 ms window", "first touch, 4 ms window"),
    ):
        print(f"\n{title} (s)\n| SNR | " + " | ".join(f"{z:.2g}" for z in ratios) + " |")
        print("|---" * (len(ratios) + 1) + "|")
        for level in LEVELS:
            cells = [seconds(found[level, z][key]) for z in ratios]
            print(f"| {level:g} dB | " + " | ".join(cells) + " |")


def main() -> None:
    """Run the whole study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10, help="draws of noise per cell")
    parser.add_argument("--quick", action="store_true", help="three ratios, two draws, no figures")
    chosen = parser.parse_args()
    began = time.perf_counter()
    ratios = np.array([0.1, 1.0, 10.0]) if chosen.quick else RATIOS
    found = study_map(ratios, 2 if chosen.quick else chosen.draws)
    print_map(found)
    study_clean(ratios)
    disturbed = study_disturbance()
    jumps = study_jumps()
    curves = study_excitation()
    if not chosen.quick:
        import figures

        figures.draw_map(found, FOLDER / "figures" / "map.png")
        figures.draw_excitation(curves, FOLDER / "figures" / "excitation.png")
        figures.draw_disturbance(SYSTEM, disturbed, FOLDER / "figures" / "disturbance.png")
        figures.draw_jumps(*jumps, FOLDER / "figures" / "jumps.png")
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
