r"""Covariance of parameters that were estimated one after the other.

A later estimate that holds earlier ones inherits their errors. With the responses of
:mod:`fmident.statistics.local_model`, the later parameters have the errors

.. math:: \delta p_2 = -J_2^+ e_2 + G \, \delta p_1, \qquad G = -J_2^+ J_{21},

so that :math:`V_2 = V_{2|1} + G V_1 G^T`, and two more terms if both have used the same
samples, whose noise enters twice (Murphy and Topel, Estimation and inference in
two-step econometric models, Journal of Business & Economic Statistics 3(4), 1985,
theorem 1; Newey, A method of moments interpretation of sequential estimators, Economics
Letters 14, 1984). Here each parameter has a row with its response to the noise of every
estimate in the chain. Products of rows are the joint covariance, for any number of
estimates and any shared samples.

If noise levels were estimated, each is the residual variance with the held values free,
too, so that their errors do not count as noise (the residuals are projected, as for the
t test of a linear model with more columns; Seber and Wild, Nonlinear Regression,
section 2.1.2). The variance of a parameter is a sum of parts, each with the uncertainty
of one noise level. Student's t has the degrees of freedom of Welch and Satterthwaite
(Satterthwaite, Biometrics Bulletin 2, 1946; JCGM 100:2008, G.4), extended to noise
levels that are correlated because they were estimated from common samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.statistics.distributions import student_intervals, student_quantiles
from fmident.statistics.local_model import LocalModel

_NEGLIGIBLE = 1e-4
"""Share of the effect of an open direction that counts as none."""

_LARGEST_BLUR = 0.1
"""However inexact the derivatives are, a larger share than this is an effect."""

_FEWEST = 3
"""Degrees of freedom with which a noise level is of use: Student's t of 95 % is 3.2 there."""


@dataclass(frozen=True)
class HeldValues:
    """Parameters that an estimate held at earlier values.

    `names` are those whose uncertainty is known to the chain; `jacobian` is that of the
    whitened residuals with respect to them, shape (m, h), with errors of its columns of
    length `errors`.
    """

    names: tuple[str, ...] = ()
    jacobian: F64 = field(default_factory=lambda: np.empty((0, 0)))
    errors: F64 = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class _Noise:
    """Noise of the residuals of one estimate; samples used by several estimates have numbers."""

    level: float
    freedom: float
    count: int
    samples: npt.NDArray[np.int64] | None


_Columns = tuple[slice | npt.NDArray[np.intp], slice | npt.NDArray[np.intp]]
"""Columns of the answers to two noises that belong to the same samples."""


@dataclass(eq=False)
class _Row:
    """Response of one parameter to each noise (by its number), and along open directions.

    For noise other than white noise of one size, also the degrees of freedom of its part.
    """

    noise: dict[int, F64] = field(default_factory=dict)
    open: dict[int, float] = field(default_factory=dict)
    freedom: dict[int, float] = field(default_factory=dict)

    def move(self, source: _Row, factor: float) -> None:
        for number, answer in source.noise.items():
            self.noise[number] = self.noise.get(number, 0.0) + factor * answer
        for number, nu in source.freedom.items():
            self.freedom[number] = min(nu, self.freedom.get(number, np.inf))


class SequentialCovariance:
    """Joint covariance of parameters estimated in sequence, the latest value of each."""

    def __init__(self) -> None:
        self._noises: list[_Noise] = []
        self._rows: dict[str, _Row] = {}
        self._models: dict[str, tuple[Sequence[str], LocalModel]] = {}
        self._undecided: list[bool] = []  # of each open direction: the derivatives are to blame
        self._blur: list[float] = []
        self._columns: dict[tuple[int, int], _Columns] = {}  # found once: samples may be many

    @property
    def noise_level(self) -> float:
        """Standard deviation of the noise of the latest estimate's residuals."""
        return self._noises[-1].level

    def knows(self, name: str) -> bool:
        """Return whether the uncertainty of a parameter is known, even if infinite."""
        return name in self._rows

    def forget(self, names: Sequence[str]) -> None:
        """Treat parameters as exact, because the uncertainty of their present values is unknown."""
        for name in names:
            self._rows.pop(name, None)

    def add(
        self,
        names: Sequence[str],
        linear: LocalModel,
        held: HeldValues | None = None,
        samples: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Add an estimate, which replaces earlier ones of the same parameters.

        `linear` is its linearisation at the solution, `held` are held values, whose names are
        all known here. `samples` has a number for each residual, the same for the same sample
        in each estimate that uses it; ``None`` if no other estimate uses any of them.
        """
        held = held or HeldValues()
        number = len(self._noises)
        noise, freedom = _noise_alone(linear, held)
        answers = linear.answer_to_noise
        if noise != linear.noise:
            # Priors have absolute standard deviations: the noise changes nothing of them.
            answers = answers.copy()
            answers[:, : linear.samples] *= noise / linear.noise
        self._noises.append(_Noise(noise, freedom, answers.shape[1], samples))
        own = answers if samples is not None else _compressed(answers)
        rows = [_Row({number: row}) for row in own]
        if linear.coloured is not None:
            for row, nu in zip(rows, linear.freedoms(np.eye(len(rows))), strict=True):
                row.freedom[number] = float(nu)
        if held.names:
            self._inherit(rows, linear, held)
        self._open(rows, linear)
        on_bound = linear.on_bound
        for name, row, bound in zip(names, rows, on_bound, strict=True):
            if bound:
                self._rows.pop(name, None)
            else:
                self._rows[name] = row
                self._models[name] = names, linear

    def combine(self, name: str, slopes: Mapping[str, float]) -> None:
        """Add a combination of parameters that is determined, although its members are not.

        `slopes` are its derivatives with respect to its members; nothing is added if one of
        these is unknown here.
        """
        if not all(n in self._rows for n in slopes):
            return
        row, reach = _Row(), dict[int, float]()
        for member, slope in slopes.items():
            own = self._rows[member]
            row.move(own, slope)
            for k, along in own.open.items():
                row.open[k] = row.open.get(k, 0.0) + slope * along
                reach[k] = reach.get(k, 0.0) + abs(slope * along)
        least = {k: min(_LARGEST_BLUR, max(_NEGLIGIBLE, self._blur[k])) * reach[k] for k in reach}
        row.open = {k: along for k, along in row.open.items() if abs(along) > least[k]}
        self._rows[name] = row

    def covariance(self, names: Sequence[str]) -> F64:
        """Return the joint covariance, NaN for unknown or unidentifiable parameters."""
        total = np.zeros((len(names), len(names)))
        for part in self._parts(names):
            total += part
        lost = ~self._finite(names)
        total[lost, :] = np.nan
        total[:, lost] = np.nan
        return 0.5 * (total + total.T)

    def freedoms(self, names: Sequence[str]) -> F64:
        """Return the effective degrees of freedom of the variances, shape (n,); may be infinite."""
        shares = np.array([np.diag(part) for part in self._parts(names)])  # (noises, n)
        # Relative standard deviation of each estimated variance, but for the factor sqrt(2).
        freedom = np.array(
            [
                [
                    self._rows[n].freedom.get(s, noise.freedom) if n in self._rows else np.nan
                    for n in names
                ]
                for s, noise in enumerate(self._noises)
            ]
        )
        doubt = np.where(freedom > 0.0, np.maximum(freedom, 1e-300) ** -0.5, 0.0)
        spread = np.einsum("sj,tj,st->j", shares * doubt, shares * doubt, self._alikeness())
        freedoms = np.full(len(names), np.inf)
        uncertain = spread > 0.0
        freedoms[uncertain] = shares.sum(axis=0)[uncertain] ** 2 / spread[uncertain]
        freedoms[np.isnan(spread) | ~self._finite(names)] = np.nan
        limited: F64 = np.maximum(freedoms, 1.0)
        return limited

    def intervals(self, names: Sequence[str], values: F64, level: float = 0.95) -> F64:
        """Return intervals, shape (n, 2), those of parameters within the limits of their estimate.

        Infinite or as far as the bounds for parameters that are not identifiable; NaN for unknown
        ones and for derivatives that are too inexact to decide.
        """
        errors = np.sqrt(np.diag(self.covariance(names)))
        intervals = student_intervals(values, errors, self.freedoms(names), level)
        for j, name in enumerate(names):
            row = self._rows.get(name)
            if row is None or any(self._undecided[k] for k in row.open):
                intervals[j] = np.nan
            elif name in self._models:
                own, model = self._models[name]
                quantiles = student_quantiles(level, self.freedoms(own))
                k = list(own).index(name)
                within = model.intervals_by(self.covariance(own), quantiles)[k]
                intervals[j] = within + (values[j] - model.values[k])
            elif row.open or not bool(np.isfinite(intervals[j]).all()):
                intervals[j] = (-np.inf, np.inf)
        return intervals

    def undetermined(self, names: Sequence[str]) -> list[str]:
        """Return the parameters among `names` in combinations that no data determine."""
        return [n for n in names if n in self._rows and self._rows[n].open]

    def _finite(self, names: Sequence[str]) -> npt.NDArray[np.bool_]:
        rows = [self._rows.get(n) for n in names]
        return np.array([row is not None and not row.open for row in rows], dtype=np.bool_)

    def _inherit(self, rows: Sequence[_Row], linear: LocalModel, held: HeldValues) -> None:
        """Add the errors of held values to the rows of an estimate."""
        lengths = np.linalg.norm(held.jacobian, axis=0)
        seen = lengths > held.errors
        moves = np.where(seen, linear.answer(held.jacobian), 0.0)
        sources = [self._rows[name] for name in held.names]
        inexact = np.where(seen, held.errors / np.where(seen, lengths, 1.0), 0.0)
        for j, row in enumerate(rows):
            for h, source in enumerate(sources):
                if moves[j, h] != 0.0:  # else an infinite error does not matter either
                    row.move(source, float(moves[j, h]))
        for k in sorted({k for source in sources for k in source.open}):
            along = np.array([source.open.get(k, 0.0) for source in sources])
            whole = float(np.sum(np.abs(along) * np.where(seen, lengths, 0.0)))
            if whole == 0.0:
                continue
            blur = max(self._blur[k], 3.0 * float(np.max(inexact[along != 0.0])))
            shares = np.abs(moves @ along) * linear.column_norms / whole
            least = min(_LARGEST_BLUR, max(_NEGLIGIBLE, blur))
            for row, move, share in zip(rows, moves, shares, strict=True):
                if share > least:
                    row.open[k] = float(move @ along)

    def _open(self, rows: Sequence[_Row], linear: LocalModel) -> None:
        """Add the directions that an estimate leaves open itself."""
        blur = linear.analysis.blur
        for direction in linear.open_directions.T:
            involved = np.flatnonzero(direction)
            if not involved.size:
                continue
            for j in involved:
                rows[int(j)].open[len(self._blur)] = float(direction[j])
            self._blur.append(3.0 * blur)
            self._undecided.append(bool(linear.is_undecided[involved].any()))

    def _parts(self, names: Sequence[str]) -> list[F64]:
        """Return the covariance in parts, one per noise, each of shape (n, n).

        The part of a noise is the product of the responses to it with those to all noises.
        """
        blocks = [self._block(names, s) for s in range(len(self._noises))]
        parts = []
        for s in range(len(blocks)):
            part = np.zeros((len(names), len(names)))
            for t in range(len(blocks)):
                if blocks[s].size and blocks[t].size:
                    mine, other = self._common(s, t)
                    part += blocks[s][:, mine] @ blocks[t][:, other].T
            parts.append(part)
        return parts

    def _block(self, names: Sequence[str], number: int) -> F64:
        """Return the responses of parameters to one noise, shape (n, width)."""
        rows = [self._rows.get(n) for n in names]
        responses = [None if row is None else row.noise.get(number) for row in rows]
        width = max((answer.size for answer in responses if answer is not None), default=0)
        return np.array([np.zeros(width) if a is None else a for a in responses]).reshape(
            len(names), width
        )

    def _common(self, s: int, t: int) -> _Columns:
        if s == t:
            return slice(None), slice(None)
        first, second = self._noises[s].samples, self._noises[t].samples
        if first is None or second is None:
            nothing = np.empty(0, dtype=np.intp)
            return nothing, nothing
        if (s, t) not in self._columns:
            _, mine, other = np.intersect1d(first, second, return_indices=True)
            self._columns[s, t], self._columns[t, s] = (mine, other), (other, mine)
        return self._columns[s, t]

    def _alikeness(self) -> F64:
        """Return the correlation of the estimated noise levels, from common samples."""
        count = len(self._noises)
        correlation = np.eye(count)
        for s in range(count):
            for t in range(s):
                mine, _ = self._common(s, t)
                shared = mine.size if isinstance(mine, np.ndarray) else 0
                sizes = self._noises[s].count * self._noises[t].count
                correlation[s, t] = correlation[t, s] = shared / np.sqrt(sizes)
        return correlation


def _noise_alone(linear: LocalModel, held: HeldValues) -> tuple[float, float]:
    """Return the level of an estimate's noise and its degrees of freedom, without held values.

    Errors of held values are part of the residuals, whether they come from other data or
    have used up degrees of freedom of the same. They change the residuals only along the
    columns of the Jacobian with respect to them: the part orthogonal to these is noise
    alone. If hardly any residuals remain, the level is that of all.
    """
    residuals = linear.right[: linear.samples]
    size = float(residuals @ residuals)
    if not held.names or not np.isfinite(linear.freedom) or not linear.noise > 0.0 or size == 0.0:
        return linear.noise, linear.freedom
    if linear.coloured is not None:  # a model of its own tells the noise
        return linear.noise, linear.freedom
    lengths = np.linalg.norm(held.jacobian, axis=0)
    seen = lengths > held.errors
    effects = held.jacobian + linear.rows @ linear.answer(held.jacobian)
    effects = effects[: linear.samples]
    left, singular, _ = np.linalg.svd(effects[:, seen] / lengths[seen], full_matrices=False)
    blur = float(np.linalg.norm(held.errors[seen] / lengths[seen]))
    ways = left[:, singular > max(_NEGLIGIBLE, blur)]
    freedom = linear.freedom - ways.shape[1]
    if freedom < _FEWEST:
        return linear.noise, linear.freedom
    rest = residuals - ways @ (ways.T @ residuals)
    ratio = float(rest @ rest) / freedom / (size / linear.freedom)
    return linear.noise * float(np.sqrt(ratio)), freedom


def _compressed(answers: F64) -> F64:
    """Return rows with the same inner products, at most as long as there are rows."""
    rows, columns = answers.shape
    if columns <= rows:
        return answers
    if not bool(np.isfinite(answers).all()):
        return np.full((rows, 1), np.nan)
    triangle = np.linalg.qr(answers.T, mode="r")
    return np.asarray(triangle).T
