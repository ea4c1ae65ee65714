"""What results draw on axes of Matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from fmident.errors import FmidentError
from fmident.estimation.comparisons import Validation
from fmident.estimation.contract import Iteration
from fmident.estimation.result import EstimationResult

from .test_profiles import profile, reached
from .test_profiles import result as profile_result

MakeResult = Callable[..., EstimationResult]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def lines(axes: Axes) -> dict[str, Any]:
    return {str(line.get_label()): line for line in axes.get_lines()}


def test_a_fit_shows_what_was_measured_and_simulated(make_result: MakeResult) -> None:
    result = make_result(samples=60)
    panels = result.plot_fit()
    assert panels.shape == (2,)
    drawn = lines(panels[1])
    assert {"measured", "initial", "fitted"} <= drawn.keys()
    fit = result.fits[1]
    np.testing.assert_array_equal(drawn["fitted"].get_data(), [fit.times, fit.fitted])
    assert panels[1].get_ylabel() == "tau[2] (N.m)"
    assert panels[1].figure in map(plt.figure, plt.get_fignums())


def test_residuals_have_the_noise_beside_them(make_result: MakeResult) -> None:
    result = make_result(samples=60)
    (axes,) = result.plot_residuals("tau[1]", experiment="cycle")
    levels = sorted(
        float(line.get_ydata()[0]) for line in axes.get_lines() if line.get_label() != "residual"
    )
    assert levels == pytest.approx([-1.96 * 0.2, 0.0, 1.96 * 0.2])
    fit = result.fits[0]
    there = np.isfinite(fit.measured)
    np.testing.assert_array_equal(
        lines(axes)["residual"].get_ydata(), (fit.measured - fit.fitted)[there]
    )


def test_an_experiment_for_validation_is_drawn_when_it_is_named(make_result: MakeResult) -> None:
    result = make_result(samples=60)
    held_out = replace(result.fits[0], experiment="sweep")
    result = replace(result, validation=Validation((held_out,)))
    assert result.plot_fit().shape == (2,)
    assert result.plot_fit("tau[1]", experiment="sweep").shape == (1,)
    with pytest.raises(FmidentError, match="experiment 'sweep' has no output 'tau\\[2\\]'"):
        result.plot_residuals("tau[2]", experiment="sweep")


def test_given_axes_are_drawn_on(make_result: MakeResult) -> None:
    result = make_result()
    figure, grid = plt.subplots(2)
    panels = result.plot_fit(ax=grid)
    assert list(panels) == list(grid)
    assert result.plot_residuals("tau[1]", ax=grid[0])[0] is grid[0]
    assert result.plot_convergence(ax=grid[1]) is grid[1]
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: r.plot_fit("tau[3]"), "the result has no output 'tau\\[3\\]'"),
        (lambda r: r.plot_fit(experiment="circle"), "nearest experiment: 'cycle'"),
        (lambda r: r.plot_fit(ax=plt.subplots()[1]), "there are 1 axes for 2 pictures"),
        (lambda r: replace(r, fits=()).plot_fit(), "the result has no samples"),
        (lambda r: replace(r, history=()).plot_convergence(), "no iteration with a finite cost"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    make_result: MakeResult, call: Callable[[EstimationResult], object], said: str
) -> None:
    with pytest.raises(FmidentError, match=said):
        call(make_result())


def test_intervals_are_in_percent_of_the_estimate(make_result: MakeResult) -> None:
    result = make_result()
    mass, friction, offset, gravity = result.estimates
    result = replace(
        result,
        estimates=(
            mass,
            replace(friction, interval_95=(-math.inf, math.inf), standard_error=math.nan),
            replace(offset, interval_95=(math.nan, math.nan), at_bound=True),
            gravity,
        ),
    )
    axes = result.plot_intervals()
    mass_bar, open_bar = axes.collections
    half = 100.0 * 1.96 * mass.standard_error / mass.value
    np.testing.assert_allclose(mass_bar.get_segments()[0], [[-half, 3.0], [half, 3.0]])
    assert open_bar.get_segments()[0][:, 1].tolist() == [2.0, 2.0]
    assert [t.get_text().strip() for t in axes.texts] == [
        "[94.90, 95.32]", "not determined by the data", "at a bound: no interval",
    ]  # fmt: skip
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "mass = 95.11 kg", "friction = 203.503 N.s/m", "offset = -3.165 N",
    ]  # fmt: skip


def test_an_estimate_of_zero_has_no_percent(make_result: MakeResult) -> None:
    result = make_result()
    zero = replace(result.estimates[0], value=0.0, interval_95=(-0.2, 0.2))
    axes = replace(result, estimates=(zero,)).plot_intervals()
    assert not axes.collections
    assert axes.texts[0].get_text().strip() == "[-0.20, 0.20]"


def test_convergence_has_a_line_for_each_start(make_result: MakeResult) -> None:
    history = tuple(
        Iteration(
            k, np.zeros(3), 1.0, k, k, 0.1, {"start": 1.0 + k % 2, "local_cost": 9.0 - k + k % 2}
        )
        for k in range(6)
    )
    lines = make_result(history=history).plot_convergence().get_lines()
    drawn = [line for line in lines if line.get_linestyle() == "-"]
    assert [list(line.get_ydata()) for line in drawn] == [[9.0, 7.0, 5.0], [9.0, 7.0, 5.0]]


def test_names_are_no_formulas(make_result: MakeResult) -> None:
    """Matplotlib would take '$' for the begin of one."""
    result = make_result()
    odd = replace(result.fits[0], name="a$b$c")
    _, axes = plt.subplots()
    replace(result, fits=(odd,)).plot_fit(ax=axes)
    assert not axes.yaxis.label.get_parse_math()
    axes.figure.canvas.draw()


def test_profiles_are_drawn_by_name_and_kind() -> None:
    both = profile_result(
        profile(reached(1.0), reached(3.0)), profile(reached(1.0), reached(3.5), name="damping")
    )
    assert [a.get_xlabel() for a in both.plot_profile()] == ["stiffness (N/m)", "damping (N/m)"]
    (axes,) = both.plot_profile("damping", kind="rise")
    assert axes.get_ylabel() == "2 · rise of the cost / s²"
    ends = [
        line.get_xdata()[0]
        for line in axes.get_lines()
        if line.get_label() == "end of the interval"
    ]
    assert ends == [1.0, 3.5]
    for call, said in (
        (lambda: both.plot_profile("dampin"), "nearest parameter: 'damping'"),
        (lambda: both.plot_profile(kind="cost"), "give 'tau' or 'rise'"),  # type: ignore[arg-type]
        (lambda: both.plot_profile(ax=[axes]), "there are 1 axes for 2 pictures"),
    ):
        with pytest.raises(FmidentError, match=said):
            call()
