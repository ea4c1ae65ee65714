"""Fixed parameters of which the FMU makes no use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fmident.checking.subject import Subject, several
from fmident.errors import Diagnostic
from fmident.estimation.checks import inert_parameters
from fmident.evaluation import Evaluator, Executor


@dataclass(frozen=True)
class FixedWithoutInfluence:
    """Fixed parameters that the outputs do not depend on.

    Parameters
    ----------
    names
        Of the parameters.
    findings
        What to say of them.
    simulations
        Runs of the FMU that it took.
    """

    names: tuple[str, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    simulations: int = 0


def fixed_without_influence(subject: Subject, executor: Executor) -> FixedWithoutInfluence:
    """Change each fixed parameter as if it were free and look whether any output changes.

    Parameters
    ----------
    subject
        What is checked.
    executor
        Runs the simulations.
    """
    problem = subject.problem
    fixed = tuple(q for q in problem.parameters if q.fixed and q.variable is not None)
    if not fixed:
        return FixedWithoutInfluence()
    released = {q.name: replace(q, fixed=False, scaling="linear") for q in fixed}
    swapped = tuple(released.get(q.name, replace(q, fixed=True)) for q in problem.parameters)
    turned = replace(problem, parameters=swapped)
    evaluator = Evaluator(turned, executor)
    if not bool(np.isfinite(evaluator.residuals(turned.initial)).all()):
        return FixedWithoutInfluence(simulations=evaluator.simulations)
    still = tuple(q.name for q in inert_parameters(turned, evaluator))
    if not still:
        return FixedWithoutInfluence(simulations=evaluator.simulations)
    verb = "has" if len(still) == 1 else "have"
    finding = subject.finding(
        "note",
        "fixed-without-influence",
        f"the fixed parameter{'' if len(still) == 1 else 's'} {several(list(still))} {verb} no"
        " influence on the measured outputs",
        "right if it acts on nothing that was measured; else the FMU ignores the value",
        "parameters",
        still[0],
    )
    return FixedWithoutInfluence(still, (finding,), evaluator.simulations)
