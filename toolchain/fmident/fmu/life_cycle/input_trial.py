"""Trial that determines when inputs of a Co-Simulation must be set.

FMI requires outputs to be recomputed after inputs were set, although FMI 2.0 (section
4.2.1) does not let a master rely on it. In some FMUs only the step does so; read the
usual way, their outputs lag one sample behind in case of direct feedthrough.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed, directly
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value
from fmident.fmu.plan import InputUpdate, Plan
from fmident.fmu.values import Assignment

_SHORT_STEP = 1e-3  # of the communication step
_FEEDTHROUGH_SHARE = 0.1

UNKNOWN = "could not find out whether outputs follow inputs at once"


def farthest(inputs: F64) -> int:
    """Return the instant whose inputs differ most from those at the start."""
    span = np.ptp(inputs, axis=0)
    span[span == 0.0] = 1.0
    return int(np.argmax(np.abs((inputs - inputs[0]) / span).sum(axis=1)))


def may_depend(
    description: ModelDescription, outputs: Iterable[str], inputs: Iterable[str]
) -> bool:
    """Return whether an output may depend directly on an input, according to the FMU."""
    declared, driving = description.output_dependencies, set(inputs)
    return any(
        (depends := declared.get(name)) is None or bool(depends & driving) for name in outputs
    )


class InputTrial:
    """Single steps with different inputs, each from a new instance.

    `plan` is laid out for ``"after_step"``, `make` instantiates the FMU, and `variable_step`
    permits shorter steps.
    """

    def __init__(
        self,
        plan: Plan,
        assignment: Assignment,
        values: Mapping[str, Value],
        make: Callable[[], BaseInstance],
        *,
        variable_step: bool,
    ) -> None:
        self._plan = plan
        self._assignment = assignment
        self._values = values
        self._make = make
        self._instance: BaseInstance | None = None
        self._variable_step = variable_step
        self._inputs = plan.inputs.floats
        self._start = float(plan.times[0])
        self._h = float(plan.times[1] - plan.times[0])
        self._far = farthest(np.concatenate([g.values for g in self._inputs], axis=1))
        self._apart: Callable[[Callable[[], Any]], Any] = directly

    def begin(self) -> BaseInstance:
        """Bring a new instance to the first instant, with its inputs."""
        self._free()
        self._instance = self._make()
        self._plan.initialise(self._instance, self._assignment, self._values)
        return self._instance

    def _free(self, status: int = 0) -> None:
        """Free the present instance, if there is one; after Fatal, FMI forbids even that."""
        instance, self._instance = self._instance, None
        if instance is None:
            return
        if status == 0:
            with contextlib.suppress(CallFailed):
                instance.terminate()
        instance.free(status)

    @property
    def instance(self) -> BaseInstance:
        """The present instance."""
        assert self._instance is not None, "a trial begins with a new instance"
        return self._instance

    def set_inputs(self, row: int) -> None:
        """Set the floating-point inputs to their values at an instant."""
        self._plan.inputs.mover.move(self.instance, self._inputs, row)

    def step(self, size: float) -> F64:
        """Take a step from the first instant and return the outputs."""
        self.instance.do_step(self._start, size)
        return self.outputs()

    def outputs(self) -> F64:
        """Return the floating-point outputs."""
        self._plan.outputs.read(self.instance, 0)
        return np.concatenate([g.values[0] for g in self._plan.outputs.floats], dtype=np.float64)

    def after_line(self) -> F64:
        """Return the outputs after one step with a linearly interpolated input."""
        instance = self.begin()
        for line in self._plan.inputs.lines:
            slopes = (line.values[self._far] - line.values[0]) / self._h
            instance.set_slopes(line.references, np.ascontiguousarray(slopes))
        return self.step(self._h)

    def decide(
        self, apart: Callable[[Callable[[], Any]], Any] = directly
    ) -> tuple[InputUpdate, str]:
        """Decide when u(t_(i+1)) must be set so that y(t_(i+1)) belongs to it.

        Parameters
        ----------
        apart
            Runs a part of the trial that needs an instance, as :func:`directly` or
            :func:`fmident.fmu.life_cycle.instance.forked` does.

        Returns
        -------
        tuple
            ``"after_step"`` or ``"before_step"``, and a remark for the log, possibly empty.
        """
        self._apart = apart
        try:
            answer = self._decide()
        except CallFailed as failed:
            # The run itself will tell if the FMU fails; a strange input may fail only here.
            self._free(failed.status)
            return "after_step", UNKNOWN
        except RunFailed:
            answer = "after_step", UNKNOWN
        self._free()
        return answer

    def _decide(self) -> tuple[InputUpdate, str]:
        if self.follows_at_once():
            return "after_step", ""
        feeds = self.feeds_through_in_step()
        if feeds is None:
            return (
                "after_step",
                "outputs do not change when inputs are set; whether the FMU has direct"
                " feedthrough cannot be detected: if it has, use input_update='before_step'",
            )
        if not feeds or self.interpolates():
            return "after_step", ""
        prefix = self._plan.outputs.mover.prefix
        return (
            "before_step",
            f"the FMU computes its outputs in {prefix}DoStep only: inputs of the end of a step"
            " are set before it, so that outputs belong to the inputs of the same instant",
        )

    def interpolates(self) -> bool:
        """Return whether linear interpolation of inputs is requested and has an effect."""
        if not self._plan.inputs.lines:
            return False
        return not _same(self._apart(self.after_line), self.after_step_of(self._h, 0))

    def follows_at_once(self) -> bool:
        """Return whether outputs change when inputs are set between two steps."""

        def look() -> bool:
            self.begin()
            before = self.step(self._h)
            for row in (1, self._far):
                self.set_inputs(row)
                if not _same(self.outputs(), before):
                    return True
            return False

        return bool(self._apart(look))

    def after_step_of(self, size: float, row: int) -> F64:
        """Return the outputs after one step with the inputs of instant `row`."""

        def look() -> F64:
            self.begin()
            self.set_inputs(row)
            return self.step(size)

        outputs: F64 = self._apart(look)
        return outputs

    def feeds_through_in_step(self) -> bool | None:
        """Return whether an input acts on the outputs of a step directly, not through states.

        Only direct feedthrough remains when the step size vanishes. ``None`` if unknown.
        """
        full = np.abs(self.after_step_of(self._h, self._far) - self.after_step_of(self._h, 0))
        if not np.any(full > 0.0):
            return False
        if not self._variable_step:
            return None
        short = self._h * _SHORT_STEP
        brief = np.abs(self.after_step_of(short, self._far) - self.after_step_of(short, 0))
        return bool(np.any(brief > _FEEDTHROUGH_SHARE * full))


def _same(first: F64, second: F64) -> bool:
    return bool(np.array_equal(first, second, equal_nan=True))
