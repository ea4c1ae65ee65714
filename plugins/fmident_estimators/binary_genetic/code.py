"""Numbers of the unit interval as bit strings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

Bits = npt.NDArray[np.bool_]


def decode(strings: Bits, bits: int, *, gray: bool) -> F64:
    """Return the points of the unit cube that bit strings stand for.

    Parameters
    ----------
    strings
        Shape (k, n * bits), the most significant bit of each parameter first.
    bits
        Of each parameter.
    gray
        Whether neighbouring values differ in one bit.

    Returns
    -------
    numpy.ndarray
        Shape (k, n), from 0 to 1 in steps of ``1 / (2^bits - 1)``.
    """
    words = strings.reshape(len(strings), strings.shape[1] // bits, bits)
    if gray:
        words = np.logical_xor.accumulate(words, axis=2)
    weights = 2.0 ** np.arange(bits - 1, -1, -1)
    points: F64 = (words @ weights) / (2.0**bits - 1.0)
    return points


def encode(points: F64, bits: int, *, gray: bool) -> Bits:
    """Return the bit strings nearest to points of the unit cube, (k, n) -> (k, n * bits)."""
    whole = np.rint(points * (2.0**bits - 1.0)).astype(np.int64)
    words = (whole[..., np.newaxis] >> np.arange(bits - 1, -1, -1)) & 1 == 1
    if gray:
        words = np.concatenate([words[..., :1], words[..., 1:] ^ words[..., :-1]], axis=-1)
    strings: Bits = words.reshape(len(points), -1)
    return strings
