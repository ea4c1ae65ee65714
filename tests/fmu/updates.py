"""How inputs are set, which no caller needs to know but tests do."""

from __future__ import annotations

from fmident.fmu import SimulationSetup, Simulator


def update_of(simulator: Simulator, setup: SimulationSetup) -> str:
    """Return how inputs are set in `setup`, which was simulated before."""
    return simulator._plans.prepare(setup, {}).plan.update
