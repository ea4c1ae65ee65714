"""Two FMUs coupled by a co-simulation master of others, libcosim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from fmident.arrays import F64
from fmident.compilers.base import BuildRequest
from fmident.compilers.embedded.compiler import EmbeddedCompiler

MODELS = """\
package Two "A mass on a spring and its controller"
  model Plant
    input Real F;
    output Real s(start = 0.1, fixed = true);
    output Real v(start = 0, fixed = true);
  equation
    der(s) = v;
    2*der(v) = F - 50*s - v;
  end Plant;
  model Controller
    input Real s;
    input Real v;
    output Real F;
    Real i(start = 0, fixed = true);
  equation
    der(i) = 0.2 - s;
    F = 4*(0.2 - s) + 30*i - 3*v;
  end Controller;
end Two;
"""
CONNECTIONS = (
    ("Plant", "s", "Controller"),
    ("Plant", "v", "Controller"),
    ("Controller", "F", "Plant"),
)


def coupled(folder: Path, step: float, steps: int) -> F64:
    """Return the position of the mass after each communication step."""
    execution = pytest.importorskip("libcosimpy.CosimExecution").CosimExecution
    slave = pytest.importorskip("libcosimpy.CosimSlave").CosimLocalSlave
    observer = pytest.importorskip("libcosimpy.CosimObserver").CosimObserver.create_last_value()
    logging = pytest.importorskip("libcosimpy.CosimLogging")
    logging.log_output_level(logging.CosimLogLevel.ERROR)
    master = execution.from_step_size(step_size=round(step * 1e9))
    index, reference = {}, {}
    for name in ("Plant", "Controller"):
        one = slave(fmu_path=str(folder / f"{name}.fmu"), instance_name=name)
        index[name] = master.add_local_slave(one)
        for variable in master.slave_variables(index[name]):
            reference[name, variable.name.decode()] = variable.reference
    master.add_observer(observer)
    for source, signal, target in CONNECTIONS:
        ends = (source, target)
        places = [place for e in ends for place in (index[e], reference[e, signal])]
        assert master.connect_real_variables(*places) == 0
    found = []
    for _ in range(steps):
        assert master.step()
        found.append(observer.last_real_values(index["Plant"], [reference["Plant", "s"]])[0])
    return np.array(found)


@pytest.mark.slow
def test_two_fmus_in_one_master(tmp_path: Path) -> None:
    """The coupling error of this master, which holds signals over a step, is of first order."""
    pytest.importorskip("libcosimpy", reason="libcosimpy is not installed (extra 'studies')")
    (tmp_path / "Two.mo").write_text(MODELS)
    for name in ("Plant", "Controller"):
        request = BuildRequest(f"Two.{name}", (tmp_path / "Two.mo",), tmp_path / f"{name}.fmu")
        EmbeddedCompiler().build(request)

    def slopes(_: float, y: F64) -> list[float]:
        s, v, i = y
        force = 4 * (0.2 - s) + 30 * i - 3 * v
        return [v, (force - 50 * s - v) / 2, 0.2 - s]

    errors = []
    for step in (2e-3, 1e-3):
        steps = round(2.0 / step)
        times = step * np.arange(1, steps + 1)
        exact = solve_ivp(slopes, [0, 2], [0.1, 0, 0], t_eval=times, rtol=1e-10, atol=1e-12)
        errors.append(np.abs(coupled(tmp_path, step, steps) - exact.y[0]).max())
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
