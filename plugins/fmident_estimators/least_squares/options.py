"""Options of the estimator ``least-squares``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from fmident.options import NOT_NEGATIVE, POSITIVE, OptionError, Options, Range, Requires
from fmident_estimators.losses import LossName


@dataclass(frozen=True)
class LeastSquaresOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    solver
        ``"ceres"`` of older files gives SciPy's solver, with a note.
    method
        SciPy's algorithm; ``"auto"`` chooses by bounds and rank.
    loss
        Robust loss on each residual of the data; ``"linear"`` is none.
    loss_scale
        Whitened residual above which the loss departs from the square.
    max_iterations
        Maximum number of accepted steps per start.
    step_tolerance
        Converged when the remaining Gauss-Newton step is shorter than this fraction of each
        parameter or of its standard error, or is lost in the noise of the simulation.
    cost_tolerance
        Also converged when a step lowers the cost by less than this fraction; 0: not.
    gradient_tolerance
        Also converged when no component of the gradient in the search space is larger; 0:
        not.
    starts
        Searches from the initial point (first) and Latin hypercube points in the bounds.
    seed
        Seed of the Latin hypercube.
    candidates
        Number of Latin hypercube points in the bounds. If the search from the initial point
        takes long or does not explain the data, their costs show where other searches
        start, one after the other, until one does.
    initial_trust_region
        Of Ceres in older files; without effect.
    """

    instead: ClassVar[Mapping[str, str]] = {
        "truncate": "give each parameter that the data leave open a prior, whose mean is its"
        " initial value and whose sd says how far that may be off; or fix it, or tie it to others"
    }

    solver: Literal["scipy", "ceres"] = "scipy"
    method: Literal["auto", "trf", "dogbox"] = "auto"
    loss: LossName = "linear"
    loss_scale: Annotated[float, POSITIVE] = 1.0
    max_iterations: Annotated[int, Range(least=1)] = 2000
    step_tolerance: Annotated[float, POSITIVE] = 1e-7
    cost_tolerance: Annotated[float, NOT_NEGATIVE] = 0.0
    gradient_tolerance: Annotated[float, NOT_NEGATIVE] = 0.0
    starts: Annotated[int, Range(least=1)] = 1
    seed: Annotated[int, NOT_NEGATIVE] = 0
    candidates: Annotated[int, NOT_NEGATIVE] = 0
    initial_trust_region: Annotated[float | None, POSITIVE, Requires("solver", "ceres")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.candidates and self.starts > 1:
            raise OptionError(
                f"candidates = {self.candidates} and starts = {self.starts} are two ways to start"
                " elsewhere: leave one of them out",
                "candidates",
            )
