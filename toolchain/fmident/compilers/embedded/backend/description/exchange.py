"""What a description says of Model Exchange, whatever the version of FMI."""

from __future__ import annotations

import casadi as ca

from fmident.compilers.embedded.backend.derivatives import symbols
from fmident.compilers.embedded.model import OdeModel


def offers_model_exchange(model: OdeModel) -> bool:
    """Whether the FMU of a model offers Model Exchange beside Co-Simulation.

    States that are bound to each other have to return to their constraints after each step, which
    an integrator outside of the FMU does not do.
    """
    return model.constraints is None


def indicator_count(model: OdeModel) -> int:
    """Return the number of event indicators: one for each relation."""
    return len(model.events.relations) if model.events and offers_model_exchange(model) else 0


def needs_completed_steps(model: OdeModel) -> bool:
    """Whether the FMU has to hear of each step that the importer's integrator has completed.

    Loops are iterated from the solution there, and assertions are looked at.
    """
    return bool(model.loops or model.asserts)


def states_moved_at_events(model: OdeModel) -> frozenset[str]:
    """Return the names of states that an event may give another value."""
    if model.events is None:
        return frozenset()
    arguments = symbols(model.events.update)
    after = ca.vec(model.events.update.call(arguments)[1])
    states = zip(model.states, range(after.numel()), strict=True)
    return frozenset(v.name for v, i in states if not ca.is_equal(after[i], arguments[1][i]))
