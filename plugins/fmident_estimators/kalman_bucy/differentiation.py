r"""Causal filtered differentiators: linear filters whose states are a signal's derivatives.

:func:`differentiator` filters the signal, too. ``F(s) = w^q/(s + w)^q`` in controllable form has
the states ``F x, s F x, ..., s^(q-1) F x``: the filtered signal and its first q - 1 derivatives,
each exact for the filtered signal. With ``q = n + 1`` they reach the n-th derivative. The signal
between two samples is taken as a straight line, for which the discrete filter is exact (ramp
invariance). Input and output are filtered alike, so that the differential equation holds between
the filtered signals as it does between the signals themselves: the filter's delay does no harm.

:func:`finite_differences` is what the paper has (sections 3.A and 6): finite differences through
a low-pass filter, beside position and input as measured. In its eq. 2 the row of a sample is
``((x')_e, x)`` and its left side ``u - (x'')_e``, where only what has the index e is filtered. The
derivatives lag behind the rest, so that the equation holds no longer. The paper gives neither
order nor corner of its filter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64


@dataclass(frozen=True, eq=False)
class Differentiator:
    """The discrete filter; at rest all states are zero but the first, which is the signal.

    Parameters
    ----------
    transition
        Phi, shape (q, q).
    before, now
        Gains on the sample before and the present one, shape (q,).
    scales
        The i-th derivative is ``scales[i] * state[i]``, shape (q,).
    highest
        Order of the highest derivative.
    """

    transition: F64
    before: F64
    now: F64
    scales: F64
    highest: int

    @property
    def order(self) -> int:
        """Number of states."""
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
        order - 1,
    )


def finite_differences(highest: int, poles: int, cutoff: float, step: float) -> Differentiator:
    """Return backward differences through a low-pass filter; the signal itself stays as it is.

    The first difference is held over its interval and passes ``w^q/(s + w)^q``, for which the
    discrete filter is exact; the further ones are differences of that.

    Parameters
    ----------
    highest
        Order of the highest derivative.
    poles
        q of the low-pass filter.
    cutoff
        Corner frequency of each of its poles, Hz.
    step
        Sampling interval, s.
    """
    low = differentiator(poles, cutoff, step)
    count = highest + poles
    places = [1, *range(highest + 1, count)]
    transition, now, scales = np.zeros((count, count)), np.zeros(count), np.ones(count)
    transition[np.ix_(places, places)] = low.transition
    now[0], now[places] = 1.0, low.before + low.now
    for i in range(2, highest + 1):
        transition[i], now[i] = transition[i - 1], now[i - 1]
        transition[i, i - 1] -= 1.0
    scales[: highest + 1] = step ** -np.arange(highest + 1.0)
    return Differentiator(
        transition, np.where(np.arange(count) > 0, -now, 0.0), now, scales, highest
    )
