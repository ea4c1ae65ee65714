r"""Generation of replicate noise: resampled residuals, or new noise.

A scheme draws the whitened residuals ``e*`` that the estimate would leave in the data
of a replicate. Their mean over all draws is zero. Sources: Davison and Hinkley,
Bootstrap Methods and their Application, 1997, chapters 6 and 8; Wu, Annals of
Statistics 14, 1986, and Mammen, Annals of Statistics 21, 1993 (wild); Kuensch, Annals
of Statistics 17, 1989 (moving blocks). Outputs of an experiment with samples at the same
instants form a panel, which is resampled as a whole: their correlation is preserved.

The length of moving blocks minimises the mean square error of the estimated variance of
a mean. For a series with autocovariance :math:`R(k)` it is

.. math:: b = \left(\frac{2 G^2}{D}\right)^{1/3} N^{1/3}, \quad
    G = \sum \lambda(k/M) |k| R(k), \quad D = \tfrac43 \left(\sum \lambda(k/M) R(k)\right)^2

with the flat-top window :math:`\lambda` and :math:`M` twice the lag beyond which the
correlations are negligible (Politis and White, Econometric Reviews 23, 2004, with the
correction by Patton, Politis and White, Econometric Reviews 28, 2009).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import signal

from fmident.arrays import F64
from fmident.estimation.diagnostics import Recorded, recorded_outputs
from fmident.problem.model import Problem
from fmident.problem.residuals import residual_layout
from fmident.statistics.noise.processes import NoiseModel

Method = Literal["residual", "wild", "block", "parametric"]
Weights = Literal["rademacher", "mammen"]

METHODS: tuple[str, ...] = get_args(Method)
WEIGHTS: tuple[str, ...] = get_args(Weights)

_MOST_STARTS = 4000
"""Beginnings of blocks that the closed form of the covariance looks at."""

_ROOT_5 = float(np.sqrt(5.0))


_NEGLIGIBLE = 2.0
"""Correlations below this many times ``sqrt(log10 N / N)`` are negligible."""


_GAP = 1.5
"""Distance of two samples, in usual ones, above which samples are missing between them."""

_UNEVEN = 0.1
"""Part of the distances above that, beyond which the samples are not equidistant at all."""

Indices = npt.NDArray[np.intp]


class Scheme(ABC):
    """Draws the residuals of replicates.

    `residuals` are whitened, at the estimate, shape (m,), and already scaled for the
    degrees of freedom used by the fit; `panels` are those measured together.
    """

    name: ClassVar[Method]
    symmetric: ClassVar[bool] = False
    """Whether a draw and its negative are equally likely, whatever the residuals are."""

    def __init__(self, panels: Sequence[Panel], residuals: F64) -> None:
        self.panels, self.residuals = tuple(panels), residuals

    @abstractmethod
    def draw(self, generator: np.random.Generator) -> F64:
        """Return the residuals of one replicate, shape (m,)."""

    @abstractmethod
    def covariance(self, answers: F64) -> F64:
        """Return the covariance of ``answers @ e*`` over all draws, (n, m) -> (n, n)."""

    def freedoms(self, answers: F64) -> F64:
        """Return the degrees of freedom of the noise level, shape (n,).

        They are infinite if draws account for its uncertainty, or if it is known as well as
        from all samples.
        """
        return np.full(len(answers), np.inf)

    def influences(self, answers: F64) -> F64:
        """Return what each independent part of the residuals contributes, (n, m) -> (n, parts)."""
        parts = [self._by_instant(answers, panel) for panel in self.panels]
        return np.concatenate(parts, axis=1) if parts else np.empty((answers.shape[0], 0))

    def _by_instant(self, answers: F64, panel: Panel) -> F64:
        """Return ``sum_outputs answer * residual`` at the instants of a panel, (n, k)."""
        sums: F64 = np.einsum(
            "nko,ko->nk", answers[:, panel.rows], self.residuals[panel.rows], optimize=True
        )
        return sums


class Residual(Scheme):
    """Centred residuals drawn with replacement: independent noise of any distribution."""

    name = "residual"

    def __init__(self, panels: Sequence[Panel], residuals: F64) -> None:
        super().__init__(panels, residuals)
        self._centred = []
        for panel in self.panels:
            own = residuals[panel.rows]
            self._centred.append(own - own.mean(axis=0))

    def draw(self, generator: np.random.Generator) -> F64:
        """Return the residuals of one replicate, shape (m,)."""
        draws = np.empty_like(self.residuals)
        for panel, own in zip(self.panels, self._centred, strict=True):
            draws[panel.rows] = own[generator.integers(panel.size, size=panel.size)]
        return draws

    def covariance(self, answers: F64) -> F64:
        """Return the covariance of ``answers @ e*``."""
        covariance = np.zeros((answers.shape[0],) * 2)
        for panel, own in zip(self.panels, self._centred, strict=True):
            square = own.T @ own / panel.size
            here = answers[:, panel.rows]
            covariance += np.tensordot(here @ square, here, axes=([1, 2], [1, 2]))
        return covariance


class Wild(Scheme):
    """Residuals multiplied by random factors: noise of varying size.

    The factors have mean 0 and variance 1. `weights` is ``"rademacher"``, +1 or -1, or
    ``"mammen"``, two values whose third moment is 1, so that skewness is preserved.
    """

    name = "wild"

    def __init__(
        self, panels: Sequence[Panel], residuals: F64, weights: Weights = "rademacher"
    ) -> None:
        super().__init__(panels, residuals)
        self._weights = weights
        self.symmetric = weights == "rademacher"  # type: ignore[misc]

    def draw(self, generator: np.random.Generator) -> F64:
        """Return the residuals of one replicate, shape (m,)."""
        draws = np.empty_like(self.residuals)
        for panel in self.panels:
            factors = self._factors(generator, panel.size)
            draws[panel.rows] = self.residuals[panel.rows] * factors[:, np.newaxis]
        return draws

    def _factors(self, generator: np.random.Generator, count: int) -> F64:
        if self._weights == "rademacher":
            return np.asarray(2.0 * generator.integers(2, size=count) - 1.0)
        low = generator.random(count) < (_ROOT_5 + 1.0) / (2.0 * _ROOT_5)
        return np.where(low, 0.5 * (1.0 - _ROOT_5), 0.5 * (1.0 + _ROOT_5))

    def covariance(self, answers: F64) -> F64:
        """Return the covariance of ``answers @ e*``."""
        influences = self.influences(answers)
        covariance: F64 = influences @ influences.T
        return covariance


class Blocks(Scheme):
    """Concatenated blocks of neighbouring residuals: correlated noise.

    Blocks never span a gap, and all outputs of a panel share them. Each position in a block
    is centred by its mean over all blocks, so that draws have mean zero. `length` is in
    samples; if ``None``, it is that of Politis and White, the longest of a panel's outputs.
    """

    name = "block"

    def __init__(self, panels: Sequence[Panel], residuals: F64, length: int | None = None) -> None:
        super().__init__(panels, residuals)
        self.lengths = tuple(_length(panel, residuals, length) for panel in self.panels)
        """Of each panel, in samples."""
        self._blocks = [
            _blocks_of(panel, residuals, size)
            for panel, size in zip(self.panels, self.lengths, strict=True)
        ]

    def draw(self, generator: np.random.Generator) -> F64:
        """Return the residuals of one replicate, shape (m,)."""
        draws = np.empty_like(self.residuals)
        for panel, size, (starts, means) in zip(
            self.panels, self.lengths, self._blocks, strict=True
        ):
            own = self.residuals[panel.rows]
            for begin, end in panel.runs:
                places = np.arange(end - begin)
                chosen = starts[generator.integers(starts.size, size=-(-(end - begin) // size))]
                inside = places % size
                values = own[chosen[places // size] + inside] - means[inside]
                draws[panel.rows[begin:end]] = values
        return draws

    def covariance(self, answers: F64) -> F64:
        """Return the covariance of ``answers @ e*``."""
        covariance = np.zeros((answers.shape[0],) * 2)
        for panel, size, (starts, means) in zip(
            self.panels, self.lengths, self._blocks, strict=True
        ):
            own = self.residuals[panel.rows]
            some = starts[:: -(-starts.size // _MOST_STARTS)]
            # All blocks, (size * outputs, blocks).
            blocks = own[some[:, np.newaxis] + np.arange(size)] - means
            columns = blocks.reshape(some.size, -1).T
            outputs = own.shape[1]
            for begin, end in panel.runs:
                for first in range(begin, end, size):
                    rows = panel.rows[first : min(first + size, end)]
                    effects = answers[:, rows.ravel()] @ columns[: rows.shape[0] * outputs]
                    covariance += effects @ effects.T / some.size
        return covariance

    def influences(self, answers: F64) -> F64:
        """Return the contribution of each block of the residuals, (n, m) -> (n, blocks)."""
        parts = []
        for panel, size in zip(self.panels, self.lengths, strict=True):
            instants = self._by_instant(answers, panel)
            for begin, end in panel.runs:
                edges = np.arange(begin, end, size)
                parts.append(np.add.reduceat(instants[:, :end], edges, axis=1))
        return np.concatenate(parts, axis=1)


class Parametric(Scheme):
    """New normal noise of the known size or that of the residuals.

    `sizes` are the standard deviations of the whitened residuals, shape (m,).
    """

    name = "parametric"
    symmetric = True

    def __init__(self, panels: Sequence[Panel], residuals: F64, sizes: F64) -> None:
        super().__init__(panels, residuals)
        self._sizes = sizes

    def draw(self, generator: np.random.Generator) -> F64:
        """Return the residuals of one replicate, shape (m,)."""
        draws: F64 = self._sizes * generator.standard_normal(self._sizes.size)
        return draws

    def covariance(self, answers: F64) -> F64:
        """Return the covariance of ``answers @ e*``."""
        scaled = answers * self._sizes
        covariance: F64 = scaled @ scaled.T
        return covariance


class Modelled(Scheme):
    """New normal noise from a model fitted to the residuals, possibly correlated in time."""

    name = "parametric"
    symmetric = True

    def __init__(self, panels: Sequence[Panel], residuals: F64, model: NoiseModel) -> None:
        super().__init__(panels, residuals)
        self.model = model

    def draw(self, generator: np.random.Generator) -> F64:
        """Return the residuals of one replicate, shape (m,)."""
        draws: F64 = self.model.simulate(generator)[0]
        return draws

    def covariance(self, answers: F64) -> F64:
        """Return the covariance of ``answers @ e*``."""
        responses = self.model.answers_to_innovations(answers)
        covariance: F64 = responses @ responses.T
        return covariance

    def freedoms(self, answers: F64) -> F64:
        """Return the effective degrees of freedom, which are few for slow noise."""
        return self.model.freedoms(answers)


def _length(panel: Panel, residuals: F64, given: int | None) -> int:
    if given is not None:
        return max(min(given, panel.longest), 1)
    columns = residuals[panel.rows]
    length = max(
        block_length([columns[begin:end, k] for begin, end in panel.runs])
        for k in range(columns.shape[1])
    )
    return max(min(round(length), panel.longest), 1)


def _blocks_of(
    panel: Panel, residuals: F64, size: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], F64]:
    """Return the possible block starts, and the mean at each block position, (size, outputs)."""
    own = residuals[panel.rows]
    starts = np.concatenate(
        [np.arange(begin, max(end - size + 1, begin)) for begin, end in panel.runs]
    ).astype(np.intp)
    means = np.array([own[starts + k].mean(axis=0) for k in range(size)])
    return starts, means


def block_length(runs: Sequence[F64]) -> float:
    """Return the block length of Politis and White for one signal, in samples; at least 1.

    `runs` are the gapless parts of the signal, shape (k,) each.
    """
    count = sum(r.size for r in runs)
    longest = max((r.size for r in runs), default=0)
    if longest < 4:
        return 1.0
    mean = sum(float(np.sum(r)) for r in runs) / count
    centred = [r - mean for r in runs]
    most = min(math.ceil(math.sqrt(count)) + max(5, round(math.log10(count))), longest - 1)
    covariance = np.zeros(most + 1)
    for run in centred:
        products = signal.correlate(run, run, method="fft")[run.size - 1 :][: most + 1]
        covariance[: products.size] += products / count
    if not covariance[0] > 0.0:
        return 1.0
    correlation = covariance / covariance[0]
    in_turn = max(5, math.ceil(math.sqrt(math.log10(count))))
    limit = _NEGLIGIBLE * math.sqrt(math.log10(count) / count)
    last = _last_lag(correlation[1:], limit, in_turn)
    window = min(2 * last, most)
    lags = np.arange(1, window + 1)
    weights = np.clip(2.0 * (1.0 - lags / window), 0.0, 1.0) if window else np.empty(0)
    tail = weights * covariance[1 : window + 1]
    spread = 2.0 * float(np.sum(lags * tail))
    long_run = float(covariance[0] + 2.0 * np.sum(tail))
    if not long_run > 0.0:
        return 1.0
    length = (2.0 * spread**2 / (4.0 / 3.0 * long_run**2) * count) ** (1.0 / 3.0)
    return float(np.clip(length, 1.0, math.ceil(min(3.0 * math.sqrt(count), count / 3.0))))


def _last_lag(correlation: F64, limit: float, in_turn: int) -> int:
    """Return the lag after which `in_turn` consecutive correlations are negligible."""
    small = np.abs(correlation) < limit
    for lag in range(small.size - in_turn + 1):
        if bool(small[lag : lag + in_turn].all()):
            return max(lag, 1)
    large = np.flatnonzero(~small)
    return int(large[-1]) + 1 if large.size else 1


@dataclass(frozen=True, eq=False)
class Panel:
    """Samples of one or several outputs of an experiment at the same instants.

    `rows` are the indices of the samples among all residuals, shape (k, outputs). `runs`
    has begin and end of each gapless run, in instants, and `labels` the experiment and
    output of each column.
    """

    rows: Indices
    runs: tuple[tuple[int, int], ...]
    labels: tuple[tuple[str, str], ...]

    @property
    def size(self) -> int:
        """Number of instants, k."""
        return int(self.rows.shape[0])

    @property
    def longest(self) -> int:
        """Number of instants of the longest run."""
        return max((end - begin for begin, end in self.runs), default=0)


def panels_of(problem: Problem) -> tuple[Panel, ...]:
    """Return the panels of a problem's residuals."""
    layout = residual_layout(problem)
    groups: dict[tuple[int, bytes], list[Recorded]] = {}
    for output in recorded_outputs(problem):
        if output.rows.size:
            instants = layout.sample[output.rows].tobytes()
            groups.setdefault((output.i, instants), []).append(output)
    return tuple(
        Panel(
            np.column_stack([o.rows for o in outputs]),
            runs_of(layout.time[outputs[0].rows]),
            tuple((o.experiment.name, o.measurement.name) for o in outputs),
        )
        for outputs in groups.values()
    )


def runs_of(times: F64) -> tuple[tuple[int, int], ...]:
    """Return begin and end of each gapless run of the available instants, shape (k,)."""
    if times.size < 3:
        return ((0, times.size),) if times.size else ()
    between = np.diff(times)
    wide = between > _GAP * np.median(between)
    if float(np.mean(wide)) > _UNEVEN:
        return ((0, times.size),)
    edges = [0, *(int(k) + 1 for k in np.flatnonzero(wide)), times.size]
    return tuple(pairwise(edges))
