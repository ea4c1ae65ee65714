"""What a result of an estimation can draw; the drawing itself is a matter of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fmident._lazy import above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Panels: TypeAlias = npt.NDArray[np.object_]
"""Axes of Matplotlib, shape (n,)."""


class Drawable:
    """Pictures of an :class:`~fmident.estimation.result.EstimationResult`."""

    def plot_fit(
        self, output: str | None = None, *, experiment: str | None = None, ax: Any = None
    ) -> Panels:
        """Draw measured, initial and fitted signals over time with Matplotlib.

        Parameters
        ----------
        output, experiment
            Names; all that were fitted by default. An experiment for validation is drawn when it
            is named.
        ax
            Axes to draw on, one for each output of each experiment; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,), in the order of `fits`.

        Raises
        ------
        fmident.errors.EstimationError
            There is nothing of these names, no sample, or another number of axes.
        """
        drawn: Panels = above("report.plots.results").plot_fit(self, output, experiment, ax)
        return drawn

    def plot_residuals(
        self, output: str | None = None, *, experiment: str | None = None, ax: Any = None
    ) -> Panels:
        """Draw measured minus fitted over time, with 1.96 standard deviations of the noise.

        Parameters, value and errors are those of :meth:`plot_fit`. The lines of the noise are drawn
        where it is constant.
        """
        drawn: Panels = above("report.plots.results").plot_residuals(self, output, experiment, ax)
        return drawn

    def plot_intervals(self, *, ax: Axes | None = None) -> Axes:
        """Draw the 95 % intervals of the parameters as deviations from the estimates in percent.

        A dashed line over the whole width is a parameter that the data do not determine. Where
        there is no interval, or the estimate is 0, which has no percent, there is a point only.

        Parameters
        ----------
        ax
            To draw on; a new figure by default.
        """
        drawn: Axes = above("report.plots.results").plot_intervals(self, ax)
        return drawn

    def plot_convergence(self, *, ax: Axes | None = None) -> Axes:
        """Draw the cost over the iterations, a line for each start; of the last stage.

        Parameters
        ----------
        ax
            To draw on; a new figure by default.

        Raises
        ------
        fmident.errors.EstimationError
            There is no iteration with a finite cost.
        """
        drawn: Axes = above("report.plots.results").plot_convergence(self, ax)
        return drawn

    def plot_draws(self, name: str | None = None, *, ax: Any = None) -> Panels:
        """Draw the course of some chains of draws from the posterior, a panel for each parameter.

        Parameters
        ----------
        name
            Of a parameter; all that were searched by default.
        ax
            Axes to draw on, one for each parameter; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,).

        Raises
        ------
        fmident.errors.EstimationError
            The estimator does not draw, there is no such parameter, or another number of axes.
        """
        drawn: Panels = above("report.plots.analyses").plot_draws(self, name, ax)
        return drawn

    def plot_corner(self, *, ax: Any = None) -> Panels:
        """Draw each pair of parameters over the draws from the posterior, and their histograms.

        Parameters
        ----------
        ax
            n x n axes to draw on, for n parameters (10 at most); a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Row by row, shape (n * n,); those above the diagonal are empty.

        Raises
        ------
        fmident.errors.EstimationError
            The estimator does not draw, or another number of axes.
        """
        drawn: Panels = above("report.plots.analyses").plot_draws_corner(self, ax)
        return drawn

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        html: str = above("report.notebook").result_view(self)
        return html
