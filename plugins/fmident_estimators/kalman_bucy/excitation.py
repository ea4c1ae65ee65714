r"""Which sine shows the stiffness best: the variance of the estimate over the input's frequency.

With the damping neglected and one unknown, ``theta2 = omega0^2``, the regression's row is x itself,
and the driven motion from rest is (eq. 8, with Z = omega1/omega0)

    x(t) = A1 (Z sin(omega0 t) - sin(Z omega0 t)) / (omega0^2 (Z^2 - 1)).

Without forgetting eq. 11 gives ``Var = (sigma_rho/A1)^2 K`` with (eq. 13; in eq. 12 the printed
factor omega0 of the second sine is one too many)

    K(Z) = omega0^4 (Z^2 - 1)^2 / sum_i (Z sin(omega0 t_i) - sin(Z omega0 t_i))^2.

At Z = 1 both are zero; the limit is ``4 omega0^4 / sum_i (sin(omega0 t_i) - omega0 t_i
cos(omega0 t_i))^2``, the response in resonance.
"""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64

_NEAR = 1e-8


def unit_response(ratio: float, omega0: float, times: F64) -> F64:
    """Return x/A1 of the undamped oscillator from rest, shape (n,), s2.

    Parameters
    ----------
    ratio
        Z, the input's frequency relative to the oscillator's own; positive.
    omega0
        Natural angular frequency, rad/s.
    times
        Shape (n,), s.
    """
    phase = omega0 * times
    motion: F64
    if abs(ratio - 1.0) < _NEAR:
        # The limit; the formula below loses its digits there.
        motion = (np.sin(phase) - phase * np.cos(phase)) / (2.0 * omega0**2)
    else:
        motion = ratio * np.sin(phase) - np.sin(ratio * phase)
        motion /= omega0**2 * (ratio**2 - 1.0)
    return motion


def variance_factor(ratio: float, omega0: float, times: F64, forgetting: float = 1.0) -> float:
    """Return K of eqs. 12 and 13: the variance of theta2 times ``(A1/sigma_rho)^2``.

    Parameters
    ----------
    ratio, omega0
        As for :func:`unit_response`.
    times
        Instants of the rows, s.
    forgetting
        lambda in ]0, 1].
    """
    square = unit_response(ratio, omega0, times) ** 2
    weights = forgetting ** np.arange(times.size - 1, -1, -1, dtype=np.float64)
    return float(np.sum(weights**2 * square) / np.sum(weights * square) ** 2)


def best_ratio(
    omega0: float, times: F64, lowest: float = 0.05, highest: float = 2.0, points: int = 2000
) -> float:
    """Return the Z between two limits with the smallest variance, to the grid's resolution."""
    ratios = np.linspace(lowest, highest, points)
    factors = [variance_factor(float(z), omega0, times) for z in ratios]
    return float(ratios[int(np.argmin(factors))])
