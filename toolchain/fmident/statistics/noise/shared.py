r"""Noise that several outputs have in common at the same instants.

What shakes a machine, or disturbs its amplifiers, is seen by more than one sensor. Innovations of
outputs then go together at each instant with a correlation R, so that two of them tell less than
two independent ones: with their autoregressions L the covariance of an estimate that answers to the
samples with A is

.. math:: A L (1 \otimes R) L^T A^T

(Zellner, J. American Statistical Association 57, 1962; across sections Driscoll and Kraay, Review
of Economics and Statistics 80, 1998). R is that of the innovations themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail
from fmident.statistics.noise.series import Indices

_FEWEST = 20
"""Common instants from which on a correlation is looked for."""


@dataclass(frozen=True, eq=False)
class Shared:
    """Outputs of one experiment whose innovations go together.

    Parameters
    ----------
    rows
        Places of their samples at common instants among all residuals, shape (k, outputs).
    correlation
        Of their innovations, shape (outputs, outputs).
    pairs
        Which of them go together beyond chance, as columns of `rows`.
    """

    rows: Indices
    correlation: F64
    pairs: tuple[tuple[int, int], ...]

    def mix(self, innovations: F64) -> None:
        """Give innovations that are independent the correlation, in place.

        Parameters
        ----------
        innovations
            Shape (m, n); of quantities that answer to innovations, transposed: what they answer to
            independent ones then has the same covariance.
        """
        innovations[self.rows] = np.einsum("ij,kjn->kin", self._root, innovations[self.rows])

    def doubt(self, answers: F64) -> F64:
        """Return what the variances of estimated variances have more than without it, shape (n,).

        Of a Wishart distribution, ``2 tr(R M R M) / k`` with ``M`` the sum of the products of
        answers, in place of its parts that each output contributes by itself.

        Parameters
        ----------
        answers
            Of quantities to innovations before they are mixed, shape (n, m).
        """
        own = answers[:, self.rows]
        products = np.einsum("nki,nkj->nij", own, own, optimize=True)
        together = self.correlation @ products
        squares = np.einsum("nij,nji->n", together, together)
        alone = np.sum(np.einsum("nii->ni", products) ** 2, axis=1)
        found: F64 = 2.0 * np.maximum(squares - alone, 0.0) / len(self.rows)
        return found

    @property
    def _root(self) -> F64:
        """Symmetric root of the correlation."""
        values, vectors = np.linalg.eigh(self.correlation)
        found: F64 = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return found


def shared_noise(innovations: F64, together: Sequence[Indices], rare: float) -> tuple[Shared, ...]:
    """Return which outputs have noise in common.

    Parameters
    ----------
    innovations
        Shape (m,).
    together
        Of each experiment the places of samples of its outputs at the same instants, shape
        (k, outputs) each.
    rare
        Probability of such a correlation by chance, over all pairs, from which on it counts.
    """
    found = []
    for rows in together:
        pairs = [(i, j) for i in range(rows.shape[1]) for j in range(i)]
        if len(rows) < _FEWEST or not pairs:
            continue
        own = innovations[rows]
        own = own - own.mean(axis=0)
        sizes = np.sqrt(np.mean(own**2, axis=0))
        if not (sizes > 0.0).all():
            continue
        own = own / sizes
        # Over the root of the squared products, as for correlations in time (Dalla and others).
        seen = [
            (j, i)
            for i, j in pairs
            if len(pairs) * chi_squared_tail(1, _studentised(own[:, i] * own[:, j])) < rare
        ]
        if seen:
            found.append(Shared(rows, own.T @ own / len(rows), tuple(sorted(seen))))
    return tuple(found)


def _studentised(products: F64) -> float:
    total = float(products @ products)
    return float(np.sum(products)) ** 2 / total if total > 0.0 else 0.0
