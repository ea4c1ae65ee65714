"""A slider with a number field for one quantity."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from fmident.fmu import Variable
from fmident.problem import search_range
from fmident_app.naming import named

_STEPS = 400


class Slider:
    """A row with a name, a slider and a number.

    Parameters
    ----------
    variable
        Of the FMU: name, unit, description.
    value
        At the beginning.
    moved
        Called with name and value, while the slider moves.
    bounds
        Ends of the slider; by default those that a search would have.
    log
        Whether equal distances are equal ratios; needs positive bounds.
    """

    def __init__(
        self,
        variable: Variable,
        value: float,
        moved: Callable[[str, float], Awaitable[None]],
        *,
        bounds: tuple[float, float] | None = None,
        log: bool = False,
    ) -> None:
        self._name, self._moved = variable.name, moved
        low, high = bounds or search_range(variable) or (-1.0, 1.0)
        self._log = log and low > 0.0
        low, high = self._scaled(low), self._scaled(high)
        label = f"{variable.name} [{variable.unit}]" if variable.unit else variable.name
        with ui.row().classes("w-full items-center no-wrap gap-3"):
            ui.label(label).classes("ellipsis").style("width: 11rem; flex: none").tooltip(
                variable.description or variable.name
            )
            self._slider = ui.slider(
                min=low, max=high, step=(high - low) / _STEPS, value=self._scaled(value)
            )
            named(self._slider, label).classes("col")
            self._number = ui.number(value=value, format="%.6g")
            named(self._number, f"value of {label}").props("dense").style("width: 8rem")
        self._slider.on_value_change(self._slide)
        self._number.on_value_change(self._type)

    def set(self, value: float) -> None:
        """Move slider and number, as the user would."""
        self._number.set_value(value)

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self._log else value

    async def _slide(self, event: ValueChangeEventArguments[float | None]) -> None:
        if event.value is None:
            return
        value = 10.0**event.value if self._log else event.value
        if not self._same(value):
            self._number.set_value(float(f"{value:.6g}"))

    async def _type(self, event: ValueChangeEventArguments[float | None]) -> None:
        if event.value is None or not math.isfinite(event.value):
            return
        if not self._same(10.0**self._slider.value if self._log else self._slider.value):
            self._slider.set_value(self._scaled(event.value))
        await self._moved(self._name, float(event.value))

    def _same(self, value: float) -> bool:
        number = self._number.value
        return number is not None and math.isclose(value, number, rel_tol=1e-5, abs_tol=1e-300)
