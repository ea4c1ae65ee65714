"""Solutions in closed form of the FMUs with events, in numbers of any precision.

Each takes an instant, s, and the parameters, and returns the states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

from fmident.arrays import F64

Solution = Callable[..., Sequence[Any]]
DIGITS = 40


def ball(t: Any, e: Any, g: Any, h: Any) -> Sequence[Any]:
    """Height and speed of ``ball.c`` without rest."""
    contact, speed = mpmath.sqrt(2 * h / g), 0
    if t < contact:
        return h - g * t**2 / 2, -g * t
    speed = e * g * contact
    while t >= contact + 2 * speed / g:
        contact += 2 * speed / g
        speed *= e
    return speed * (t - contact) - g * (t - contact) ** 2 / 2, speed - g * (t - contact)


def stick_slip(t: Any, k: Any, m: Any, fc: Any, fs: Any, belt: Any, x: Any) -> Sequence[Any]:
    """Position and speed of ``stick_slip.c``, which sticks at first."""
    now = mpmath.mpf(0)
    omega = mpmath.sqrt(k / m)
    while True:
        stuck = (fs / k - x) / belt
        if t < now + stuck:
            return x + belt * (t - now), belt
        now += stuck
        away = (fs - fc) / k
        slip = 2 * (mpmath.pi - mpmath.atan(away * omega / belt)) / omega
        angle = omega * min(t - now, slip)
        x = fc / k + away * mpmath.cos(angle) + belt / omega * mpmath.sin(angle)
        v = belt * mpmath.cos(angle) - away * omega * mpmath.sin(angle)
        if t < now + slip:
            return x, v
        now += slip


def converter(
    t: Any,
    volts: Any,
    r: Any,
    coil: Any,
    period: Any,
    peak: Any,
    gain: Any,
    i: Any,
) -> Sequence[Any]:
    """Current and charge of ``converter.c``."""
    charge, begin, tau, most = mpmath.mpf(0), mpmath.mpf(0), coil / r, volts / r
    while True:
        held = gain * i
        rest = min(t - begin, period)
        opened = tau * mpmath.log((most - i) / (most - peak))
        if rest < opened:
            i = most + (i - most) * mpmath.exp(-rest / tau)
        else:
            i = peak * mpmath.exp(-(rest - opened) / tau)
        charge += held * rest
        if t < begin + period:
            return i, charge
        begin += period


def wall(t: Any, wall: Any, e: Any, v: Any) -> Sequence[Any]:
    """Position and speed of ``wall.c``, from x = 0."""
    x, now = mpmath.mpf(0), mpmath.mpf(0)
    while True:
        size, phase = mpmath.sqrt(x * x + v * v), mpmath.atan2(x, v)
        turn = mpmath.asin(wall / size) if size > wall else mpmath.inf
        wait = turn - phase
        while wait <= mpmath.mpf(10) ** (-DIGITS // 2):
            wait += 2 * mpmath.pi
        if t < now + wait:
            return size * mpmath.sin(phase + t - now), size * mpmath.cos(phase + t - now)
        now += wait
        x, v = wall, -e * size * mpmath.cos(turn)


def race(t: Any, rate: Any, a: Any, b: Any, at: Any) -> Sequence[Any]:
    """States of ``race.c``, whose events happen in the order of their instants."""
    y, now, gain = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(1)
    changes = {a / rate: lambda g: 2 * g, b / rate: lambda g: g + 3, at: lambda g: -g}
    for instant in sorted(changes):
        end = min(instant, t)
        y += gain * rate * (end**2 - now**2) / 2
        now = end
        if t < instant:
            break
        gain = changes[instant](gain)
    return rate * t, y + gain * rate * (t**2 - now**2) / 2


def derivatives(solution: Solution, times: F64, values: Sequence[float]) -> F64:
    """Return states and their derivatives, shape (n, 1 + parameters, states).

    By central differences with forty digits, which leave twenty.
    """
    found = []
    with mpmath.workdps(DIGITS):
        exact = [mpmath.mpf(v) for v in values]
        step = mpmath.mpf(10) ** (-DIGITS // 4)
        for t in times:
            rows = [[float(y) for y in solution(mpmath.mpf(t), *exact)]]
            for k, value in enumerate(exact):
                away = [[*exact[:k], value + s * step, *exact[k + 1 :]] for s in (1, -1)]
                above, below = (solution(mpmath.mpf(t), *a) for a in away)
                rows.append(
                    [float((a - b) / (2 * step)) for a, b in zip(above, below, strict=True)]
                )
            found.append(rows)
    return np.array(found)
