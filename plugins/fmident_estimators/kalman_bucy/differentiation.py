r"""A causal filtered differentiator: a low-pass filter whose states are the derivatives.

``F(s) = w^q/(s + w)^q`` in controllable form has the states ``F x, s F x, ..., s^(q-1) F x``: the
filtered signal and its first q - 1 derivatives, each exact for the filtered signal. With
``q = n + 1`` they reach the n-th derivative. The signal between two samples is taken as a straight
line, for which the discrete filter is exact (ramp invariance).

Input and output are filtered alike, so that the differential equation holds between the
filtered signals as it does between the signals themselves: the filter's delay does no harm.
(The paper filters the derivatives of the output only, and compares them with the input as it is.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64


@dataclass(frozen=True, eq=False)
class Differentiator:
    """The discrete filter; states are derivatives in the time ``w*t``.

    Parameters
    ----------
    transition
        Phi, shape (q, q).
    before, now
        Gains on the sample before and the present one, shape (q,).
    scales
        ``w^i``: the i-th derivative is ``scales[i] * state[i]``, shape (q,).
    """

    transition: F64
    before: F64
    now: F64
    scales: F64

    @property
    def order(self) -> int:
        """Q."""
        return self.scales.size

    def steady(self, value: float) -> F64:
        """Return the state after a long constant signal, shape (q,)."""
        state = np.zeros(self.order)
        state[0] = value
        return state


def differentiator(order: int, cutoff: float, step: float) -> Differentiator:
    """Return the filter.

    Parameters
    ----------
    order
        q: number of states; derivatives up to q - 1.
    cutoff
        Corner frequency w/(2*pi) of each of the q equal poles, Hz.
    step
        Sampling interval, s.
    """
    from scipy.linalg import expm  # here, since it is slow to import and seldom needed

    corner = 2.0 * np.pi * cutoff
    # In the time w*t: z' = A z + B x with (p + 1)^q z_0 = x.
    a = np.diag(np.ones(order - 1), 1)
    a[-1] = [-float(c) for c in np.poly(-np.ones(order))[:0:-1]]
    b = np.zeros((order, 1))
    b[-1] = 1.0
    h = corner * step
    # The signal and its slope are carried along as two more states.
    block = np.zeros((order + 2, order + 2))
    block[:order, :order] = a * h
    block[:order, order : order + 1] = b * h
    block[order, order + 1] = 1.0
    whole = expm(block)
    ramp = whole[:order, order + 1]
    return Differentiator(
        np.ascontiguousarray(whole[:order, :order]),
        np.ascontiguousarray(whole[:order, order] - ramp),
        np.ascontiguousarray(ramp),
        corner ** np.arange(order, dtype=np.float64),
    )
