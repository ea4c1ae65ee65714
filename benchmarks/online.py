"""Benchmark: cost of one sample in the online estimators.

The streaming form of ``algebraic`` takes a sample into a ring buffer, forms all iterated
integrals as dot products with fixed weights, and solves for two coefficients with their
covariance. The peer is the same in NumPy as one would write it: shift the window, multiply with
the weights, solve.

    python benchmarks/online.py [--samples 20000]

Prints microseconds per sample; ends with 1 when the window of 1000 samples costs 20
microseconds or more, when a later part of a run costs more than an earlier one, or when
updates allocate memory.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from fmident.problem import Expression
from fmident_estimators.algebraic.estimator import (
    AlgebraicStream,
    AlgebraicTracker,
    AlgebraicWindow,
    WindowDesign,
)
from fmident_estimators.kalman_bucy.recursion import KalmanBucy, differentiator
from fmident_estimators.linear_equation import LinearEquation, ParameterMap

ALLOWED = 20.0  # microseconds
STEP = 1e-3
EQUATION = LinearEquation(2, ("a0", "a1"), {"b0": 1.0})


def signals(count: int) -> tuple[list[float], list[float]]:
    """Return output and input of an oscillator driven by two sines."""
    t = np.arange(count) * STEP
    u = np.sin(25.0 * t) + 0.5 * np.sin(9.0 * t)
    y = sum(
        a * (np.exp(1j * w * t) / (133.0 - w * w + 0.02j * w)).imag
        for a, w in ((1.0, 25.0), (0.5, 9.0))
    )
    return y.tolist(), u.tolist()


def per_sample(update: Callable[[float, float], object], y: list[float], u: list[float]) -> float:
    """Return the best of five runs, microseconds per sample."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        for a, b in zip(y, u, strict=True):
            update(a, b)
        times.append(time.perf_counter() - began)
    return 1e6 * min(times) / len(y)


def stream_of(samples: int) -> AlgebraicStream:
    """Return a stream with a full window."""
    stream = AlgebraicStream(AlgebraicWindow(EQUATION, WindowDesign(samples, STEP), 1e-4))
    for a, b in zip(*signals(samples + 1), strict=True):
        stream.update(a, b)
    return stream


def plain_numpy(samples: int) -> Callable[[float, float], object]:
    """Return the peer."""
    window = AlgebraicWindow(EQUATION, WindowDesign(samples, STEP))
    y, u = (np.array(s) for s in signals(samples + 1))

    def update(new_y: float, new_u: float) -> np.ndarray:
        y[:-1] = y[1:]
        y[-1] = new_y
        u[:-1] = u[1:]
        u[-1] = new_u
        integrals = window.weights_y @ y
        return np.linalg.solve(integrals[:, 1:], window.weights_u[:, 0] @ u - integrals[:, 0])

    return update


def tracker_of(samples: int) -> Callable[[float, float], object]:
    """Return the whole of what ``fmident follow`` calls per sample."""
    window = AlgebraicWindow(EQUATION, WindowDesign(samples, STEP), 1e-4)
    formulas = [Expression("3*a0"), Expression("3*a1")]
    parameters = ParameterMap(("a0", "a1"), formulas, {})
    tracker = AlgebraicTracker(window, parameters, (0, 0), np.full(2, np.inf))
    now = [0.0]

    def update(y: float, u: float) -> object:
        now[0] += STEP
        return tracker.update(now[0], np.array([u]), np.array([y]))

    for a, b in zip(*signals(samples + 1), strict=True):
        update(a, b)
    return update


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    y, u = signals(parser.parse_args().samples)
    failed = False
    print("window   algebraic   whole tracker   plain NumPy   ratio   (microseconds per sample)")
    for samples in (100, 1000, 10_000):
        stream = stream_of(samples)
        ours = per_sample(stream.update, y, u)
        whole = per_sample(tracker_of(samples), y[:5000], u[:5000])
        peer = per_sample(plain_numpy(samples), y[:5000], u[:5000])
        print(f"{samples:6d} {ours:11.2f} {whole:15.2f} {peer:13.2f} {peer / ours:7.1f}")
        failed |= samples == 1000 and max(ours, whole) >= ALLOWED
    recursion = KalmanBucy(EQUATION, differentiator(3, 20.0, STEP), sigma=1e-4)
    print(f"kalman-bucy {per_sample(recursion.update, y, u):.2f}")

    stream = stream_of(1000)
    early = per_sample(stream.update, y[:5000], u[:5000])
    for a, b in zip(y, u, strict=True):
        stream.update(a, b)
    late = per_sample(stream.update, y[:5000], u[:5000])
    print(f"first samples {early:.2f}, after {25_000 + len(y)} samples {late:.2f}")
    failed |= late > 1.5 * early

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for a, b in zip(y, u, strict=True):
        stream.update(a, b)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"memory: {after - before} bytes kept, {peak - before} bytes at most at a time")
    failed |= peak - before > 4096
    print("failed" if failed else f"passed: below {ALLOWED:g} microseconds at a window of 1000")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
