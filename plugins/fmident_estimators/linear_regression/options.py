"""Options of ``linear-regression``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fmident.options import INSIDE_UNIT, NOT_NEGATIVE, Options, Range

Dependent = Literal["initial", "zero", "minimum-norm"]


@dataclass(frozen=True)
class LinearRegressionOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    energies
        Variables of the FMU whose sum is the total energy, such as ``["kineticEnergy",
        "potentialEnergy"]``. The base parameters then follow from the mechanism, whatever
        the data; without, from the regressor of the data.
    prefer
        Parameters that shall be independent, the most preferred first. The others follow in
        the order of the problem file: of parameters that act alike, the first stays.
    dependent
        What the dependent parameters are set to; the base parameters do not change with it.
        ``"initial"``: their initial values; ``"zero"``; ``"minimum-norm"``: so that the sum
        of squares of all parameters is least, those without influence at zero or at the
        bound next to it. Where a bound holds parameters that have influence, the others stay
        close to that choice.
    weighting
        ``"problem"``: residuals count as the problem file says (sigma, weight).
        ``"residual"``: each output counts, in addition, by the inverse of the standard
        deviation of its own residuals, iterated.
    validation
        Names of experiments that are held out of the regression and only predicted.
    physical
        Masses and moments of inertia (by their units kg and kg.m2) are not negative. The
        bounds of the problem hold in any case.
    random_states
        Number of random states at which the energies are evaluated.
    seed
        Of the random states and of the test of linearity.
    linearity_tolerance
        By how much superposition may miss, relative to the change of the outputs.
    rank_tolerance
        A column counts as dependent when what the preferred ones leave of it is smaller than
        this part of its length.

    Raises
    ------
    ValueError
        A number out of its range.
    """

    energies: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    dependent: Dependent = "initial"
    weighting: Literal["problem", "residual"] = "problem"
    validation: tuple[str, ...] = ()
    physical: bool = False
    random_states: Annotated[int, Range(least=2)] = 200
    seed: Annotated[int, NOT_NEGATIVE] = 0
    linearity_tolerance: Annotated[float, INSIDE_UNIT] = 1e-6
    rank_tolerance: Annotated[float, INSIDE_UNIT] = 1e-7
