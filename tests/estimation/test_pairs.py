"""Which features of a problem go together: every pair is estimated, or refused as the docs say."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fmident
from fmident.compilers.base import Compiler
from fmident.errors import Code, ProblemError

from ..kept import library_fmu

MODEL = """model Curve
  parameter Real a = 1.0;
  parameter Real b = 2.0;
  parameter Real c = 0.5;
  Real x(start = 0.0, fixed = true);
  output Real y = a + b*x + c*x^2;
equation
  der(x) = 1.0;
end Curve;
"""
PAGE = Path(__file__).parents[2] / "docs/explanation/uncertainty.md"
HEADING = "| | prior |"
FEATURES: dict[str, dict[str, Any]] = {
    "prior": {"c": 'prior = { distribution = "normal", mean = 0.6, sd = 0.2 }'},
    "bound": {"bound": 1.9},
    "equality": {"constraints": 'ratio = "b = 4*c"'},
    "inequality": {"constraints": 'least = "a + b >= 3.2"', "estimator": 'name = "scipy-minimize"'},
    "coloured noise": {"data": "coloured"},
    "noise model": {"output": 'noise = { model = "ar" }'},
    "robust loss": {"estimator": 'loss = "soft_l1"'},
    "stages": {"stages": True},
}
PAIRS = list(itertools.combinations(FEATURES, 2))


def table() -> dict[tuple[str, str], str]:
    """Return the cells of the page's table by both features."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(HEADING))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    ]
    return {
        (row[0], name): cell
        for row in rows[2:]
        for name, cell in zip(rows[0][1:], row[1:], strict=True)
    }


@pytest.fixture(scope="module")
def folder(embedded_compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the FMU, and data with white and with coloured noise."""
    folder = tmp_path_factory.mktemp("pairs")
    source = folder / "Curve.mo"
    source.write_text(MODEL, encoding="utf-8")
    (folder / "Curve.fmu").symlink_to(library_fmu(embedded_compiler, "Curve", (source,)))
    times = np.linspace(0.0, 1.0, 101)
    white = 0.1 * np.random.default_rng(3).normal(size=times.size)
    coloured = np.zeros_like(white)
    for k in range(times.size):
        coloured[k] = 0.8 * coloured[k - 1] + 0.6 * white[k]
    for name, noise in (("white", white), ("coloured", coloured)):
        columns = np.column_stack([times, 1.0 + 2.0 * times + 0.5 * times**2 + noise])
        np.savetxt(folder / f"{name}.csv", columns, delimiter=",", header="time,y", comments="")
    return folder


def text(*names: str) -> str:
    """Return the problem file with some features."""

    def lines(key: str) -> list[str]:
        return [FEATURES[n][key] for n in names if key in FEATURES[n]]

    estimator = lines("estimator")
    if not any(line.startswith("name") for line in estimator):
        estimator.append('name = "least-squares"')
    bound, data = [*lines("bound"), 9.0][0], [*lines("data"), "white"][0]
    ends = ["[estimator]", *estimator]
    if "stages" in names:
        ends = ["[[stages]]", 'free = ["b", "c"]', "[stages.estimator]", *estimator]
        ends += ["[[stages]]", "[stages.estimator]", *estimator]
    parts = [
        ["[model]", 'fmu = "Curve.fmu"'],
        ["[parameters.a]", "initial = 0.9", "bounds = [-9.0, 9.0]"],
        ["[parameters.b]", "initial = 1.6", f"bounds = [-9.0, {bound}]"],
        ["[parameters.c]", "initial = 0.4", "bounds = [-9.0, 9.0]", *lines("c")],
        ["[constraints]", *lines("constraints")],
        ["[[experiments]]", f'data = "{data}.csv"', 'time = "time"'],
        ["[experiments.outputs.y]", 'column = "y"', *lines("output")],
        ends,
    ]
    return "\n".join(itertools.chain.from_iterable(parts))


@pytest.mark.each_time("bound-inequality")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_pair_has_intervals_within_bounds_or_is_refused(
    folder: Path, pair: tuple[str, str]
) -> None:
    """With scipy-minimize, the only estimator that keeps inequalities of several parameters."""
    file = folder / f"{'-'.join(pair)}.toml"
    file.write_text(text(*pair), encoding="utf-8")
    cell = table()[pair]
    if cell == "refused":
        with pytest.raises(ProblemError) as caught:
            fmident.estimate(file, report=lambda _: None)
        assert caught.value.code in (Code.NOT_SUPPORTED, Code.UNKNOWN_KEY)
        return
    assert cell == "yes"
    result = fmident.estimate(file, report=lambda _: None)
    assert result.converged()
    ends = result.parameters[["interval_95_low", "interval_95_high"]].to_numpy(dtype=float)
    assert np.isfinite(ends).all()
    assert (ends[:, 0] < ends[:, 1]).all()
    if "bound" in pair:
        assert ends[1, 1] <= 1.9
