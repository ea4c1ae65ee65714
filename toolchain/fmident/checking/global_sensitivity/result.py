"""Settings, result and findings of a global sensitivity analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, Diagnostic, ProblemError, did_you_mean

Method = Literal["morris", "sobol"]

METHODS: tuple[Method, ...] = ("morris", "sobol")

_DEFAULTS: dict[Method, int] = {"morris": 30, "sobol": 512}
"""Trajectories; base points, a power of two."""

FEWEST = 8
"""Trajectories or base points below which there are no indices."""

_NEGLIGIBLE = 0.01
"""Part of the variance of each output below which a parameter can as well be fixed."""

_LOOSE = 0.1
"""Error of an index from which on more samples are advised."""


@dataclass(frozen=True)
class GlobalMethod:
    """Method of a global sensitivity analysis.

    Parameters
    ----------
    name
        ``"morris"``: elementary effects (Morris 1991; Campolongo, Cariboni and Saltelli
        2007), which rank the parameters with few simulations. ``"sobol"``: fractions of the
        variance (Sobol' 2001; Saltelli et al. 2010), which need many.
    samples
        Trajectories of n + 1 points, or base points, each needing n + 2; rounded up to a
        power of two for ``"sobol"``. ``None``: 30 and 512.
    seed
        Seed of the random numbers.

    Raises
    ------
    fmident.errors.ProblemError
        An unknown name; fewer samples than 8.
    """

    name: Method = "sobol"
    samples: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.name not in METHODS:
            raise ProblemError(
                f"there is no method '{self.name}' of global sensitivity",
                hint=did_you_mean(self.name, METHODS, kind="method"),
                code=Code.UNKNOWN_NAME,
            )
        if self.samples is not None and self.samples < FEWEST:
            raise ProblemError(
                f"{self.samples} samples are too few for a global sensitivity analysis",
                hint=f"at least {FEWEST}; {_DEFAULTS[self.name]} is the default",
            )
        if self.seed < 0:
            raise ProblemError(f"the seed must not be negative, but is {self.seed}")

    @property
    def count(self) -> int:
        """Return the number of trajectories or base points."""
        count = _DEFAULTS[self.name] if self.samples is None else self.samples
        return count if self.name == "morris" else 1 << (count - 1).bit_length()

    def points(self, parameters: int) -> int:
        """Return the number of simulated points for a number of parameters."""
        return self.count * (parameters + (1 if self.name == "morris" else 2))


@dataclass(frozen=True, eq=False)
class OutputIndices:
    """Sensitivity indices of one output.

    Parameters
    ----------
    spread
        Root mean square over time of the standard deviation of the output over the bounds,
        in `unit`.
    indices
        Shape (n,) each. For ``"sobol"``: ``S1`` and ``ST``, the fraction of the output's
        variance, summed over time, caused by a parameter alone and including interactions
        (Lamboni, Monod and Makowski 2011), and the half widths ``S1_conf`` and ``ST_conf``
        of their 95 % intervals. For ``"morris"``: ``mu_star`` and ``sigma``, mean magnitude
        and standard deviation of the effect of a parameter over its whole range, as root
        mean squares over time in units of `spread`, and ``mu_star_conf``.
    times
        Instants, s, shape (k,).
    over_time
        ``ST`` times the ratio of instantaneous to mean variance, or ``mu_star``; shape (k,
        n).
    """

    experiment: str
    output: str
    unit: str | None
    spread: float
    indices: Mapping[str, F64]
    times: F64
    over_time: F64


@dataclass(frozen=True, eq=False)
class GlobalSensitivity:
    """Sensitivities of the outputs to parameters varied within their bounds.

    Parameters
    ----------
    method
        Method used.
    names
        Names of the n parameters.
    lower, upper
        Their ranges, shape (n,).
    points, failed
        Numbers of simulated points and of failures.
    used
        Trajectories or base points without a failed simulation.
    outputs
        One item per output of each experiment that varies at all; empty if too few
        simulations succeeded.
    """

    method: GlobalMethod
    names: tuple[str, ...]
    lower: F64
    upper: F64
    points: int
    failed: int
    used: int
    outputs: tuple[OutputIndices, ...] = field(default=())

    @property
    def index(self) -> str:
        """Return the name of the ranking index."""
        return "ST" if self.method.name == "sobol" else "mu_star"

    @property
    def largest(self) -> F64:
        """Return the maximum of that index over the outputs, shape (n,)."""
        return self.largest_of(self.index)

    def largest_of(self, index: str) -> F64:
        """Return the maximum of one index over the outputs, shape (n,); NaN without any."""
        if not self.outputs:
            return np.full(len(self.names), np.nan)
        largest: F64 = np.max([o.indices[index] for o in self.outputs], axis=0)
        return largest

    @property
    def negligible(self) -> tuple[str, ...]:
        """Return the parameters with negligible effect on all outputs within the bounds.

        Including the error of the index, they cause less than 1 % of the variance of each
        output.
        """
        if not self.outputs:
            return ()
        bound = np.max(
            [o.indices[self.index] + o.indices[f"{self.index}_conf"] for o in self.outputs], axis=0
        )
        # An effect of a tenth of the spread is one of a hundredth of the variance.
        limit = _NEGLIGIBLE if self.method.name == "sobol" else np.sqrt(_NEGLIGIBLE)
        return tuple(n for n, b in zip(self.names, bound, strict=True) if b < limit)


def global_findings(found: GlobalSensitivity) -> list[Diagnostic]:
    """Return the findings of a global sensitivity analysis."""
    findings = []
    if found.used < FEWEST:
        findings.append(
            _finding(
                "warning",
                f"no global sensitivities: {found.failed} of {found.points} simulations inside the "
                f"bounds fail, and {found.used} of {found.method.count} samples are whole",
                "narrow the bounds to where the model can be simulated",
            )
        )
        return findings
    if found.failed:
        findings.append(
            _finding(
                "note",
                f"the global sensitivities are those of {found.used} of {found.method.count} "
                f"samples: {found.failed} of {found.points} simulations fail, and where they do "
                "the model is not looked at",
                "narrow the bounds to where the model can be simulated",
            )
        )
    if found.negligible:
        words = ", ".join(found.negligible)
        findings.append(
            _finding(
                "note",
                f"less than 1 % of the variance of each output over the bounds comes from {words}",
                "fix it if its value is known well enough; how well the data determine it is its "
                "predicted error",
            )
        )
    loosest = float(np.nanmax(found.largest_of(f"{found.index}_conf"), initial=0.0))
    if found.method.name == "sobol" and loosest > _LOOSE:
        findings.append(
            _finding(
                "note",
                f"the global sensitivities are known to +-{loosest:.2g} only",
                f"--samples {4 * found.method.count} halves that",
            )
        )
    return findings


def _finding(severity: Literal["warning", "note"], message: str, hint: str) -> Diagnostic:
    return Diagnostic(severity, message, None, hint, "global-sensitivity")
