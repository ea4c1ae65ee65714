"""Options of the estimator ``least-squares``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fmident_estimators.least_squares.losses import LossName


@dataclass(frozen=True)
class LeastSquaresOptions:
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    solver
        ``"scipy"``: trust region; ``"ceres"``: Levenberg-Marquardt.
    method
        SciPy's algorithm; ``"auto"`` chooses by bounds and rank.
    loss
        Robust loss on each residual; ``"linear"`` is none.
    loss_scale
        Whitened residual from which the loss departs from the square.
    max_iterations
        Accepted steps at most, per start.
    step_tolerance
        Converged when the step of Gauss and Newton that is left is shorter than this fraction of
        each parameter or of its standard error, or lost in the noise of the simulation.
    cost_tolerance
        Also converged when a step lowers the cost by less than this fraction; 0: not.
    gradient_tolerance
        Also converged when no component of the gradient in the search space is larger; 0: not.
    starts
        Searches from the initial point (first) and Latin hypercube points in the bounds.
    seed
        Of the Latin hypercube.
    initial_trust_region
        Radius of Ceres' first trust region; its own default if absent.
    """

    solver: Literal["scipy", "ceres"] = "scipy"
    method: Literal["auto", "trf", "dogbox"] = "auto"
    loss: LossName = "linear"
    loss_scale: float = 1.0
    max_iterations: int = 2000
    step_tolerance: float = 1e-7
    cost_tolerance: float = 0.0
    gradient_tolerance: float = 0.0
    starts: int = 1
    seed: int = 0
    initial_trust_region: float | None = None

    def __post_init__(self) -> None:
        for name in ("loss_scale", "step_tolerance"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        for name in ("cost_tolerance", "gradient_tolerance"):
            if not getattr(self, name) >= 0.0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
        for name in ("max_iterations", "starts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.method != "auto" and self.solver != "scipy":
            raise ValueError("method needs solver = 'scipy'")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, not {self.seed}")
        if self.initial_trust_region is not None:
            if self.solver != "ceres":
                raise ValueError("initial_trust_region needs solver = 'ceres'")
            if not self.initial_trust_region > 0.0:
                raise ValueError(
                    f"initial_trust_region must be positive, not {self.initial_trust_region}"
                )
