"""Closed-form responses of linear systems, and records of them."""

from __future__ import annotations

import numpy as np


def response(a, b, times, omega, start, amplitude=1.0):
    """Return y and u of ``sum a_i y^(i) = sum b_j u^(j)`` with u = amplitude*sin(omega*t).

    `a` holds a_0 .. a_n with a_n = 1, `start` the values y, y', ..., y^(n-1) at t = 0.
    """
    n = len(a) - 1
    s = 1j * omega
    gain = amplitude * np.polyval(b[::-1], s) / np.polyval(a[::-1], s)
    roots = np.roots(a[::-1])
    matrix = np.array([roots**k for k in range(n)])
    forced = np.array([(s**k * gain).imag for k in range(n)])
    free = np.linalg.solve(matrix, np.asarray(start, dtype=complex) - forced)
    y = (gain * np.exp(s * times)).imag
    y = y + sum((c * np.exp(r * times)).real for c, r in zip(free, roots, strict=True))
    return y, amplitude * np.sin(omega * times)
