"""How a solver is ended from inside of its residuals and Jacobians."""

from __future__ import annotations

from fmident.arrays import F64


class Arrived(Exception):  # noqa: N818 - ends a solver
    """Nothing is left to go from this point, by derivatives that may be exact enough or not."""

    def __init__(self, z: F64, exact: bool) -> None:
        self.z = z.copy()
        self.exact = exact
        super().__init__()


class NoDescent(Arrived):
    """Steps from this point do not lower the cost, or by less than it is known."""


class Stalled(Exception):  # noqa: N818 - ends a solver so that it starts again
    """The method leads no further than to this point: another goes on from there."""

    def __init__(self, z: F64) -> None:
        self.z = z.copy()
        super().__init__()


class IterationLimit(Exception):  # noqa: N818 - ends a solver that has no such limit
    """The limit of accepted steps is reached."""

    def __init__(self, z: F64) -> None:
        self.z = z.copy()
        super().__init__()
