"""Position of a walk: residuals and derivatives in the search space."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64

if TYPE_CHECKING:
    from fmident.evaluation import Evaluator


@dataclass(frozen=True)
class State:
    """A point with its residuals and derivatives.

    `z` and `p` are in the search space and in physical units, shape (n,); `residuals` are
    whitened, shape (m,). The `jacobian` is with respect to the search space, shape (m, n),
    with the expected norm `blur` of the error of each column, shape (n,); it was computed
    at `origin`. `drift` is the change of the outputs since then, in whitened residuals, 0
    at that point itself, and `bent` the largest fraction of such a change that the Jacobian
    did not predict.
    """

    z: F64
    p: F64
    residuals: F64
    jacobian: F64
    blur: F64
    origin: F64
    drift: float = 0.0
    bent: float = 0.0

    @property
    def cost(self) -> float:
        """``1/2 sum r^2``."""
        return 0.5 * float(self.residuals @ self.residuals)


class Landscape:
    """Evaluates states; `sizes` are the parameter scales in the search space, shape (n,)."""

    def __init__(self, evaluator: Evaluator, sizes: F64) -> None:
        problem = evaluator.problem
        self._evaluator = evaluator
        self._space = evaluator.space
        self._lower, self._upper = problem.lower, problem.upper
        self.sizes, self.log = sizes, evaluator.space.log
        self.lower, self.upper = evaluator.space.lower, evaluator.space.upper

    def at(self, p: F64) -> State | None:
        """Return the state at a physical point with its Jacobian; ``None`` on failure.

        Raises `JacobianError` if the simulation works at the point, but nowhere around.
        """
        residuals = self._evaluator.residuals(p)
        if not bool(np.isfinite(residuals).all()):
            return None
        z = self._space.from_physical(p)
        bare = State(z, p, residuals, np.empty((residuals.size, 0)), np.empty(0), z)
        return self.refreshed(bare)

    def refreshed(self, state: State) -> State:
        """Return the state with a new Jacobian, or raise `JacobianError` as :meth:`at` does."""
        jacobian, blur = self._derivatives(state.p)
        return dataclasses.replace(
            state, jacobian=jacobian, blur=blur, origin=state.z, drift=0.0, bent=0.0
        )

    def _derivatives(self, p: F64) -> tuple[F64, F64]:
        """Return the Jacobian at a physical point, and the errors of its columns."""
        scale = self._space.derivative(p)
        jacobian = self._evaluator.jacobian(p) * scale
        errors = self._evaluator.column_errors(p)
        return jacobian, np.zeros(p.size) if errors is None else errors * np.abs(scale)

    def _physical(self, z: F64) -> F64:
        """Return the physical point within the bounds."""
        return np.clip(self._space.to_physical(z), self._lower, self._upper)

    def travel(self, state: State) -> float:
        """Return the scaled distance of a point from that of its Jacobian."""
        return float(np.max(np.abs(state.z - state.origin) / self.sizes, initial=0.0))

    def moved(self, state: State, z: F64) -> State | None:
        """Return the state at another point with the Jacobian updated; ``None`` if it fails.

        The update is Broyden's rank-one formula (Mathematics of Computation 19, 1965).
        """
        p = self._physical(z)
        residuals = self._evaluator.residuals(p)
        if not bool(np.isfinite(residuals).all()):
            return None
        step = z - state.z
        length = float(step @ step)
        if length == 0.0:
            return dataclasses.replace(state, residuals=residuals)
        change = residuals - state.residuals
        # Steps are measured by what they do, so that the update does not depend on units.
        norms = np.linalg.norm(state.jacobian, axis=0)
        weighted = norms**2 * step
        size = float(weighted @ step)
        missed = change - state.jacobian @ step
        jacobian = state.jacobian
        if size > 0.0:
            jacobian = jacobian + np.outer(missed, weighted / size)
        whole = float(np.linalg.norm(change))
        bent = float(np.linalg.norm(missed)) / whole if whole > 0.0 else 0.0
        return State(
            z, p, residuals, jacobian, state.blur, state.origin, state.drift + whole,
            max(state.bent, bent),
        )  # fmt: skip


class RayLandscape(Landscape):
    """Landscape over the distance along a ray and the parameters that the ray does not move.

    The ray starts at `optimum` and moves the two parameters of `pair` along `direction`, in
    the search space, shape (2,). The first coordinate is the distance in lengths of
    `direction`; the others are the remaining parameters in order.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        sizes: F64,
        optimum: State,
        pair: tuple[int, int],
        direction: F64,
    ) -> None:
        super().__init__(evaluator, sizes)
        both = list(pair)
        others = [j for j in range(sizes.size) if j not in pair]
        self._basis = np.zeros((sizes.size, 1 + len(others)))
        self._basis[both, 0] = direction
        self._basis[others, np.arange(1, 1 + len(others))] = 1.0
        self._origin = np.where(np.isin(np.arange(sizes.size), both), optimum.z, 0.0)
        room = np.where(direction > 0.0, self.upper[both], self.lower[both]) - optimum.z[both]
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = float(np.min(np.where(direction == 0.0, np.inf, room / direction)))
        self.lower = np.concatenate([[0.0], self.lower[others]])
        self.upper = np.concatenate([[max(reach, 0.0)], self.upper[others]])
        self.sizes = np.concatenate([[1.0], sizes[others]])
        self.log = np.concatenate([[False], self.log[others]])
        z = np.concatenate([[0.0], optimum.z[others]])
        jacobian, blur = self._along(optimum.jacobian, optimum.blur)
        self.begin = dataclasses.replace(optimum, z=z, origin=z, jacobian=jacobian, blur=blur)

    def _derivatives(self, p: F64) -> tuple[F64, F64]:
        return self._along(*super()._derivatives(p))

    def _along(self, jacobian: F64, blur: F64) -> tuple[F64, F64]:
        return jacobian @ self._basis, np.asarray(blur @ np.abs(self._basis))

    def _physical(self, z: F64) -> F64:
        return super()._physical(self._origin + self._basis @ z)
