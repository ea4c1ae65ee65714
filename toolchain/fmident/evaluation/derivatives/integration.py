"""What the integrator's tolerance leaves in the residuals, seen by a tighter one."""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.derivatives.exact import Exact
from fmident.evaluation.runs import Runs
from fmident.evaluation.solver_error import can_compare_interfaces, can_halve_steps

_OTHERS = (1e-7, 1e-5)
"""Tolerances that show whether an FMU respects one at all, where its own, which may be one of
them, is not known."""

TIGHTER = 0.01
"""Tolerance at which the error of the integration is measured, in relation to the problem's."""

_SLOWEST, _FASTEST = 0.25, 1.5
"""Powers of the tolerance between which the error of an integrator falls."""

TIGHTEST = 1e-13
"""Integrators in double precision cannot respect a smaller tolerance."""


class Integration:
    """Measures the error of the integration.

    Parameters
    ----------
    runs
        Simulates.
    exact
        The same simulations have sensitivities where it uses some: then they are compared at no
        more cost.
    """

    def __init__(self, runs: Runs, exact: Exact) -> None:
        self._runs, self._exact = runs, exact
        self._known: tuple[bytes, F64] | None = None
        self._halved: tuple[bytes, F64] | None = None
        self._ignores_tolerance = runs.without_integration

    def take_over(self, other: Integration) -> None:
        """Go on with what another of the same problem knows."""
        self._known, self._ignores_tolerance = other._known, other._ignores_tolerance
        self._halved = other._halved

    @property
    def tighter(self) -> float | None:
        """Tolerance with which the error is measured; ``None`` where its own is not known."""
        own = self._runs.tolerance
        return own * TIGHTER if own is not None and own * TIGHTER >= TIGHTEST else None

    @property
    def size(self) -> float | None:
        """Root mean square of the error where it was measured last; ``None`` before that.

        0 where the FMU ignores the tolerance, as one without states does.
        """
        if self._ignores_tolerance:
            return 0.0
        if self._known is None or not bool(np.isfinite(self._known[1]).all()):
            return None
        return float(np.sqrt(np.mean(self._known[1] ** 2)))

    def error(self, point: F64, base: F64) -> F64 | None:
        """Return what the integrator's tolerance leaves in the residuals at `point`, shape (m,).

        The residuals minus those at a hundredth of the tolerance.

        Parameters
        ----------
        point
            Shape (n,).
        base
            Residuals there, shape (m,).

        Returns
        -------
        numpy.ndarray
            Zero where the FMU ignores the tolerance; ``None`` where it respects one that is not
            known, or the simulation fails.
        """
        tighter = self.tighter
        if tighter is None and not can_compare_interfaces(self._runs.problem):
            return None
        key = point.tobytes()
        if self._known is None or self._known[0] != key:
            if self._ignores_tolerance:
                return np.zeros(base.size)
            others = _OTHERS if tighter is None else (tighter,)
            self._ignores_tolerance = True
            error = np.zeros(base.size)
            for tolerance in others:
                if self._ignores_tolerance:
                    error = base - self._at(point, tolerance)
                    self._ignores_tolerance = not error.any()
            self._known = (key, error)
        error = self._known[1]
        if tighter is None and not self._ignores_tolerance:
            return None
        return error if bool(np.isfinite(error).all()) else None

    def of_step(self, point: F64, base: F64) -> F64 | None:
        """Return the residuals minus those with half the communication step, shape (m,).

        ``None`` where there is no such step that matters, or the simulation fails. Parameters are
        those of :meth:`error`.
        """
        if self._runs.without_integration or not can_halve_steps(self._runs.problem):
            return None
        key = point.tobytes()
        if self._halved is None or self._halved[0] != key:
            self._halved = key, base - self._runs.probe(point[np.newaxis, :], finer=2)[0]
        change = self._halved[1]
        return change if bool(np.isfinite(change).all()) else None

    def order(self, point: F64, base: F64) -> float:
        """Return the power of the tolerance with which the error falls; NaN where unknown.

        Takes one more simulation of each experiment.

        Parameters
        ----------
        point, base
            As of :meth:`error`.
        """
        own, coarse = self._runs.tolerance, self.error(point, base)
        if own is None or coarse is None or not coarse.any():
            return float("nan")
        tightest = max(own * TIGHTER**2, TIGHTEST)
        near = base - coarse
        far = self._runs.probe(point[np.newaxis, :], tightest)[0]
        left = float(np.linalg.norm(near - far))
        if not np.isfinite(left) or left == 0.0:
            return 1.0
        order = np.log(float(np.linalg.norm(coarse)) / left) / -np.log(TIGHTER)
        return float(np.clip(order, _SLOWEST, _FASTEST))

    def _at(self, point: F64, tolerance: float) -> F64:
        """Return the residuals at another tolerance; with exact columns where there are some."""
        linearised = self._exact.at(point, tolerance) if self._exact.knows(point) else None
        if linearised is not None:
            return linearised.residuals
        row: F64 = self._runs.probe(point[np.newaxis, :], tolerance)[0]
        return row
