# ruff: noqa: T201  # a program: it prints what it made
"""Compute exact outputs, standard errors and ranks of the cases; independent of fmident.

    python tests/estimation/derivative_cases/make_references.py [CASE ...]

From the root of the repository. Outputs are solutions in closed form or Taylor series of order 40,
in arithmetic of 50 digits; sensitivities are their central differences with a relative step of
1e-15, whose error is below 1e-25. Only the stiff case is a variational equation integrated in
double precision (Radau, 1e-12), compared at the truth with a Taylor series on its first samples.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import mpmath as mp
import numpy as np
from mpmath import mpf
from scipy.integrate import solve_ivp

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.estimation.derivative_cases.cases import CASES, HERE, Case, Point, Recording  # noqa: E402

from fmident.arrays import F64  # noqa: E402

mp.mp.dps = 50
STEP = mpf(10) ** -15
OTHERS = 3
"""Points beside the truth."""
ZERO = mpf(10) ** -20
"""Eigenvalues of the scaled Gram matrix below this are zero; differences leave 1e-30."""

Values = Mapping[str, mpf]
Solution = Callable[[Values, Recording], dict[str, list[mpf]]]


def thermal(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Solve over each straight piece of the inputs."""
    a = (1 / p["R1"] + 1 / p["R2"]) / p["C"]
    forcing = [
        (mpf(float(u)) / p["R1"] + mpf(float(w)) / p["R2"]) / p["C"]
        for u, w in zip(recording.inputs["Ti1"], recording.inputs["Ti2"], strict=True)
    ]
    h = mpf(float(recording.times[1] - recording.times[0]))
    decay = mp.exp(-a * h)
    hold = (1 - decay) / a
    ramp = (1 - hold / h) / a  # of a forcing that grows from 0 to 1
    found = [mpf(20)]
    for before, now in itertools.pairwise(forcing):
        found.append(decay * found[-1] + hold * before + ramp * (now - before))
    return {"T": found}


def swinging(m: mpf, d: mpf, k: mpf, x0: mpf, times: F64) -> list[mpf]:
    """Return x of ``m x'' + d x' + k x = 0`` from rest at `x0`, underdamped."""
    a = d / (2 * m)
    w = mp.sqrt(k / m - a**2)
    moments = [mpf(float(t)) for t in times]
    return [x0 * mp.exp(-a * t) * (mp.cos(w * t) + a / w * mp.sin(w * t)) for t in moments]


def dampers(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Solve by the distance from rest under the force of 3."""
    rest = 3 / p["k"]
    free = swinging(p["m"], p["d1"] + p["d2"], p["k"], -rest, recording.times)
    return {"x": [rest + x for x in free]}


def oscillator(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Solve with a mass of 1."""
    return {"x": swinging(mpf(1), p["d"], p["k"], p["x0"], recording.times)}


def monod(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Solve the implicit solution for the logarithm of the substrate."""
    x0, s0 = mpf("0.1"), mpf(10)
    whole = x0 + p["Y"] * s0
    share = p["Y"] * p["Ks"] / whole
    substrate = []
    guess = mp.log(s0)
    for moment in recording.times:
        t = mpf(float(moment))

        def excess(log_s: mpf, t: mpf = t) -> mpf:
            x = whole - p["Y"] * mp.exp(log_s)
            return (1 + share) * mp.log(x / x0) - share * (log_s - mp.log(s0)) - p["mu"] * t

        if t > 0:
            # Falling in log_s: bracketed from the last root, where time was less.
            low = guess - 1
            while excess(low) < 0:
                low -= 20
            guess = mp.findroot(excess, (low, guess), solver="anderson", tol=mpf(10) ** -90)
        substrate.append(mp.exp(guess))
    return {"S": substrate, "X": [whole - p["Y"] * s for s in substrate]}


def ball(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Fly from contact to contact."""
    found = []
    for moment in recording.times:
        t = mpf(float(moment))
        contact = mp.sqrt(2 / p["g"])
        speed = p["e"] * p["g"] * contact
        if t < contact:
            found.append(1 - p["g"] * t**2 / 2)
            continue
        while t >= contact + 2 * speed / p["g"]:
            contact += 2 * speed / p["g"]
            speed *= p["e"]
        found.append(speed * (t - contact) - p["g"] * (t - contact) ** 2 / 2)
    return {"h": found}


def switch(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Charge until the switch, then discharge."""
    found = []
    for moment in recording.times:
        t = mpf(float(moment))
        on = min(t, p["off"])
        found.append(
            p["power"] / p["loss"] * (1 - mp.exp(-p["loss"] * on)) * mp.exp(-p["loss"] * (t - on))
        )
    return {"x": found}


def taylor(
    quadratic: Sequence[tuple[int, mpf, int, int]],
    linear: Sequence[tuple[int, mpf, int]],
    y0: Sequence[mpf],
    times: F64,
    longest: mpf,
) -> list[list[mpf]]:
    """Integrate ``y_i' = sum c y_j + sum c y_j y_k`` by series of order 40.

    Parameters
    ----------
    quadratic, linear
        Terms (i, c, j, k) and (i, c, j).
    longest
        Step; within it the last term must be below 1e-35 of the whole.

    Returns
    -------
    list
        Per state its values at `times`.
    """
    order = 40
    y, now = list(y0), mpf(float(times[0]))
    found = [[v] for v in y]
    for moment in times[1:]:
        end = mpf(float(moment))
        steps = int(mp.ceil((end - now) / longest))
        h = (end - now) / steps
        for _ in range(steps):
            series = [[v] for v in y]
            for n in range(order):
                rates = [mpf(0)] * len(y)
                for i, c, j in linear:
                    rates[i] += c * series[j][n]
                for i, c, j, k in quadratic:
                    # Sums of products in one call: the bulk of the time.
                    rates[i] += c * mp.fdot(series[j][: n + 1], series[k][n::-1])
                for i, rate in enumerate(rates):
                    series[i].append(rate / (n + 1))
            for i, terms in enumerate(series):
                y[i] = mp.polyval(terms[::-1], h)
                assert abs(terms[-1] * h**order) < mpf(10) ** -35 * max(abs(y[i]), mpf(10) ** -5)
        now = end
        for i, v in enumerate(y):
            found[i].append(v)
    return found


def predator(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Sum the series."""
    x, y = taylor(
        [(0, -p["b"], 0, 1), (1, p["d"], 0, 1)],
        [(0, p["a"], 0), (1, -p["c"], 1)],
        [mpf(10), mpf(5)],
        recording.times,
        mpf("0.1"),
    )
    return {"x": x, "y": y}


def discharge(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Charge through R, beside which the leak takes its part."""
    rate = (1 / p["R"] + 1 / p["leak"]) / p["C"]
    level = p["leak"] / (p["R"] + p["leak"])
    v = [level * (1 - mp.exp(-rate * mpf(float(t)))) for t in recording.times]
    return {"v": v, "i": [(1 - x) / p["R"] for x in v]}


def ladder(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Solve in the modes of the matrix, made symmetric by the roots of the capacities."""
    n = 10
    r = [p[f"R{j + 1}"] for j in range(n)]
    root = [mp.sqrt(p[f"C{j + 1}"]) for j in range(n)]
    matrix = mp.zeros(n)
    for j in range(n):
        matrix[j, j] = (1 / r[j] + (1 / r[j - 1] if j else 0)) / root[j] ** 2
        if j:
            matrix[j, j - 1] = matrix[j - 1, j] = -1 / (r[j - 1] * root[j] * root[j - 1])
    rates, modes = mp.eigsy(matrix)
    found = {}
    for j in range(n):
        shares = [10 / root[0] * modes[0, m] * modes[j, m] / root[j] / rates[m] for m in range(n)]
        found[f"T[{j + 1}]"] = [
            mp.fsum(
                s * (1 - mp.exp(-rate * mpf(float(t))))
                for s, rate in zip(shares, rates, strict=True)
            )
            for t in recording.times
        ]
    return found


def dose(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Return Bateman's function."""
    ka, ke = p["ka"], p["ke"]
    factor = mpf(100000) * ka / (p["V"] * (ka - ke))
    moments = [mpf(float(t)) for t in recording.times]
    return {"c": [factor * (mp.exp(-ke * t) - mp.exp(-ka * t)) for t in moments]}


def cooling(p: Values, recording: Recording) -> dict[str, list[mpf]]:
    """Go from the start to the level of this experiment's heating."""
    level = 20 + mpf(recording.start["Q"]) / p["k"]
    start = p["warm"] if recording.name == "cooling" else p["cold"]
    rate = p["k"] / p["C"]
    return {"T": [level + (start - level) * mp.exp(-rate * mpf(float(t))) for t in recording.times]}


SOLUTIONS: dict[str, Solution] = {
    "products": thermal,
    "log-products": thermal,
    "sum": dampers,
    "bend": monod,
    "jump": ball,
    "switch": switch,
    "drift": predator,
    "coarse": oscillator,
    "deaf": oscillator,
    "threshold": oscillator,
    "staircase": oscillator,
    "units": discharge,
    "twenty": ladder,
    "log": dose,
    "experiments": cooling,
}


def columns_of(case: Case, values: Values) -> dict[str, dict[str, list[mpf]]]:
    """Return the outputs of all experiments."""
    return {r.name: SOLUTIONS[case.name](values, r) for r in case.recordings}


def sensitivities(
    case: Case, values: Mapping[str, float]
) -> tuple[dict[str, dict[str, list[mpf]]], list[list[mpf]]]:
    """Return outputs, and the columns of the whitened Jacobian."""
    truth = {name: mpf(value) for name, value in values.items()}
    if case.name == "stiff":
        return robertson(case, values)
    columns = []
    for name, value in truth.items():
        h = STEP * abs(value)
        sides = [columns_of(case, {**truth, name: value + way * h}) for way in (1, -1)]
        columns.append(
            [
                (above - below) / (2 * h * mpf(sigma))
                for r in case.recordings
                for variable, sigma in r.sigma.items()
                for above, below in zip(*(s[r.name][variable] for s in sides), strict=True)
            ]
        )
    return columns_of(case, truth), columns


def robertson(
    case: Case, values: Mapping[str, float]
) -> tuple[dict[str, dict[str, list[mpf]]], list[list[mpf]]]:
    """Integrate states and sensitivities with Radau; compare the first samples with a series."""
    (recording,) = case.recordings
    k1, k2, k3 = (values[name] for name in ("k1", "k2", "k3"))
    size = np.array([k1, k2, k3])

    def rates(y: F64) -> F64:
        a, b, c = k1 * y[0], k2 * y[1] * y[2], k3 * y[1] ** 2
        return np.array([-a + b, a - b - c, c])

    def by_state(y: F64) -> F64:
        a = [k1, 0.0, 0.0]
        b = [0.0, k2 * y[2], k2 * y[1]]
        c = [0.0, 2.0 * k3 * y[1], 0.0]
        return np.array([np.subtract(b, a), np.subtract(np.subtract(a, b), c), c])

    def by_parameter(y: F64) -> F64:
        a, b, c = y[0] * k1, y[1] * y[2] * k2, y[1] ** 2 * k3  # relative: d/dlog k
        return np.array([[-a, b, 0.0], [a, -b, -c], [0.0, 0.0, c]])

    def whole(_: float, z: F64) -> F64:
        y, s = z[:3], z[3:].reshape(3, 3)
        return np.concatenate([rates(y), (by_state(y) @ s + by_parameter(y)).ravel()])

    scale = np.array([1.0, 1e-5, 1.0])
    solved = solve_ivp(
        whole,
        (0.0, float(recording.times[-1])),
        np.concatenate([[1.0, 0.0, 0.0], np.zeros(9)]),
        "Radau",
        recording.times,
        rtol=1e-12,
        atol=1e-14 * np.concatenate([scale, np.repeat(scale, 3)]),
    )
    assert solved.success, solved.message
    y, s = solved.y[:3], solved.y[3:].reshape(3, 3, -1)

    few = int(np.searchsorted(recording.times, 0.2))
    for j in range(3 if values == case.truth else 0):
        sides = []
        for way in (1, -1):
            k = [mpf(v) for v in (k1, k2, k3)]
            k[j] *= 1 + way * STEP
            sides.append(
                taylor(
                    [(0, k[1], 1, 2), (1, -k[1], 1, 2), (1, -k[2], 1, 1), (2, k[2], 1, 1)],
                    [(0, -k[0], 0), (1, k[0], 0)],
                    [mpf(1), mpf(0), mpf(0)],
                    recording.times[:few],
                    mpf("2e-4"),
                )
            )
        for i in range(2):
            exact = [(a - b) / (2 * STEP) for a, b in zip(sides[0][i], sides[1][i], strict=True)]
            error = np.abs(s[i, j, :few] - np.array(exact, dtype=float)).max()
            assert error < 1e-8 * np.abs(s[i, j]).max(), (i, j, error)
    sigmas = list(recording.sigma.values())
    columns = [
        [mpf(float(x)) / mpf(size[j]) / mpf(sigmas[i]) for i in range(2) for x in s[i, j]]
        for j in range(3)
    ]
    return {"data": {f"y{i + 1}": [mpf(float(x)) for x in y[i]] for i in range(2)}}, columns


def standard_errors(columns: Sequence[Sequence[mpf]]) -> tuple[list[mpf | None], int]:
    """Return the standard errors of known noise, ``None`` where open, and the rank."""
    n = len(columns)
    norms = [mp.sqrt(mp.fdot(c, c)) for c in columns]
    gram = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            gram[i, j] = mp.fdot(columns[i], columns[j]) / (norms[i] * norms[j])
    squares, vectors = mp.eigsy(gram)
    kept = [m for m in range(n) if squares[m] > ZERO]
    lost = [m for m in range(n) if m not in kept]
    found: list[mpf | None] = []
    for j in range(n):
        if any(abs(vectors[j, m]) > mpf(10) ** -8 for m in lost):
            found.append(None)
            continue
        found.append(mp.sqrt(mp.fsum(vectors[j, m] ** 2 / squares[m] for m in kept)) / norms[j])
    return found, len(kept)


def points_of(case: Case) -> list[dict[str, float]]:
    """Return the truth, and other values up to 5 % away."""
    rng = np.random.default_rng(20261122)
    found = [case.truth]
    for _ in range(OTHERS):
        shifts = rng.uniform(-0.05, 0.05, len(found[0]))
        found.append(
            {
                name: float(f"{value * (1.0 + shift):.6g}")
                for (name, value), shift in zip(case.truth.items(), shifts, strict=True)
            }
        )
    return found


def main() -> None:
    """Write the files of the cases named, or of all."""
    for case in CASES:
        if sys.argv[1:] and case.name not in sys.argv[1:]:
            continue
        outputs: dict[str, dict[str, list[mpf]]] = {}
        points = []
        for values in points_of(case):
            found, columns = sensitivities(case, values)
            outputs = outputs or found
            errors, rank = standard_errors(columns)
            known = {
                name: None if e is None else float(mp.nstr(e, 10))
                for name, e in zip(values, errors, strict=True)
            }
            points.append(Point(values, known, rank))
        text = {
            "points": [asdict(point) for point in points],
            "outputs": {
                r.name: {v: [float(mp.nstr(x, 12)) for x in outputs[r.name][v]] for v in r.sigma}
                for r in case.recordings
            },
        }
        file = HERE / "references" / f"{case.name}.json"
        file.write_text(json.dumps(text, indent=1, allow_nan=False) + "\n")
        relative = [
            "open" if e is None else f"{e / case.truth[name]:.3g}"
            for name, e in points[0].standard_errors.items()
        ]
        print(f"{case.name}: rank {points[0].rank}; relative errors {', '.join(relative)}")


if __name__ == "__main__":
    main()
