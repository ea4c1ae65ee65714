"""The interfaces by which an FMU can be simulated, and what each of them offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fmident.errors import Code, FmuError

InterfaceKind = Literal["co-simulation", "model-exchange"]
InterfaceChoice = Literal["auto", "co-simulation", "model-exchange"]
CHOICES = ("auto", "co-simulation", "model-exchange")


@dataclass(frozen=True)
class Capabilities:
    """One interface of an FMU and its capability flags.

    Parameters
    ----------
    kind
        ``"co-simulation"`` or ``"model-exchange"``.
    model_identifier
        Name of the shared library, without suffix.
    can_interpolate_inputs
        Whether Real inputs can follow straight lines between the communication points.
    can_get_and_set_state, can_handle_variable_step, only_once_per_process,
    needs_execution_tool, provides_directional_derivative
        As FMI defines them.
    has_event_mode, can_return_early, provides_intermediate_update
        FMI 3.0 Co-Simulation: events between steps, steps that end before their time,
        calls back within a step.
    fixed_step
        FMI 3.0 Co-Simulation: the fixed step of the FMU's own integrator, s, if it says so.
    needs_completed_step
        Model Exchange: whether the FMU wants to hear of every step of the integrator.
    """

    kind: InterfaceKind = "co-simulation"
    model_identifier: str = ""
    can_interpolate_inputs: bool = False
    can_get_and_set_state: bool = False
    can_handle_variable_step: bool = False
    only_once_per_process: bool = False
    needs_execution_tool: bool = False
    provides_directional_derivative: bool = False
    has_event_mode: bool = False
    can_return_early: bool = False
    provides_intermediate_update: bool = False
    fixed_step: float | None = None
    needs_completed_step: bool = True

    def flags(self) -> dict[str, Any]:
        """Return what :class:`fmident.fmu.ModelDescription` repeats of this."""
        return {
            name: getattr(self, name)
            for name in (
                "model_identifier",
                "can_interpolate_inputs",
                "can_get_and_set_state",
                "can_handle_variable_step",
                "only_once_per_process",
                "needs_execution_tool",
                "provides_directional_derivative",
            )
        }


OPENMODELICA = "OpenModelica"
"""How the generation tool of OpenModelica's FMUs begins."""


def sees_events_late(generation_tool: str, indicators: int) -> bool:
    """Whether an FMU's Co-Simulation handles state events at communication points only.

    Parameters
    ----------
    generation_tool
        As the description gives it. OpenModelica (1.26 and before) looks for state events
        when a communication step is over: its integrator has gone through them by then.
    indicators
        Number of event indicators; without any there are no state events.
    """
    return indicators > 0 and generation_tool.startswith(OPENMODELICA)


def choose_interface(
    name: str,
    offered: Sequence[Capabilities],
    choice: InterfaceChoice,
    *,
    exchange_first: bool = False,
) -> Capabilities:
    """Return the interface to use; ``"auto"`` takes Co-Simulation where there is one.

    Parameters
    ----------
    name
        Of the model, for messages.
    offered
        What the FMU has; at least one.
    choice
        What the user wants.
    exchange_first
        ``"auto"`` takes Model Exchange where there is one, see :func:`sees_events_late`.

    Raises
    ------
    FmuError
        The FMU does not have it, or there is no such choice.
    """
    if choice not in CHOICES:
        raise FmuError(
            f"there is no interface '{choice}'",
            hint="use one of " + ", ".join(f"'{c}'" for c in CHOICES),
            code=Code.NOT_A_CHOICE,
        )
    kinds: tuple[InterfaceKind, ...] = ("co-simulation", "model-exchange")
    for kind in reversed(kinds) if exchange_first else kinds:
        for found in offered:
            if found.kind == kind and choice in ("auto", kind):
                return found
    has = " and ".join(f"'{o.kind}'" for o in offered)
    raise FmuError(
        f"the FMU of '{name}' does not offer '{choice}', it offers {has}",
        hint="use interface='auto', or export the FMU again with both interfaces",
        code=Code.NOT_SUPPORTED,
    )
