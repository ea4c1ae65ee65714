"""A problem file with its data and an FMU that has a description only."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fmident.errors import FmidentError
from fmident.fmu import ModelDescription, read_description
from fmident.problem import Problem, problem_from_file
from fmident.problem.reading.file import Plugins

from ..edits import replace_once
from ..fmu.build import Fixture, description, real, scalar

VARIABLES = "\n".join(
    [
        real("m", 1, "parameter", start=2.0, extra=' unit="kg" min="0.1" max="50"'),
        real("k", 2, "parameter", start=100.0, extra=' unit="N/m"', description="Stiffness, c_G"),
        real("phi0", 3, "parameter", start=0.0, extra=' unit="rad"'),
        real("derived", 4, "calculatedParameter"),
        real("frozen", 5, variability="fixed"),
        scalar("Integer", "count", 1, "parameter", start=3),
        scalar("Boolean", "on", 1, "parameter", start="true"),
        scalar("String", "file", 1, "parameter", start="a"),
        real("F", 10, "input", start=0.5, extra=' unit="N"'),
        real("tau[1]", 11, "input", start=0.0, extra=' unit="N.m"'),
        real("x", 20, "output", extra=' unit="m"'),
        real("q[1]", 21, "output", extra=' unit="rad"'),
        real("odd", 22, "output", extra=' unit="furlong"'),
        real("inner", 23, "local"),
    ]
)

FROZEN = """
<VendorAnnotations><Tool name="fmident">
<Frozen name="odd_k" reason="it is 'final' in the Modelica source"/>
<Frozen name="count2" reason="Integer parameters are fixed when the FMU is built"
 advice="only Real parameters can be estimated"/>
</Tool></VendorAnnotations>
"""

PROBLEM = """\
[model]
fmu = "model.fmu"

[parameters.m]
initial = 2.5
bounds = [0.5, 10.0]

[parameters.k]
initial = 300.0

[[experiments]]
name = "push"
data = "data.csv"

[experiments.inputs]
F = "force"
"tau[1]" = "torque"

[experiments.outputs]
x = { column = "position", sigma = 0.01 }
"""

DATA = """\
t [s],force [N],torque [N.m],position [m],angle [deg],spare
0.0,1.0,0.0,0.0,0.0,7.0
0.1,1.5,0.1,0.1,90.0,7.0
0.2,2.0,0.2,0.4,180.0,7.0
0.3,2.5,0.3,0.9,270.0,7.0
"""


@dataclass(frozen=True)
class Case:
    """A folder with ``problem.toml``, ``data.csv`` and ``model.fmu``."""

    folder: Path

    def load(
        self, old: str = "", new: str = "", *, text: str | None = None, **plugins: Any
    ) -> Problem:
        """Load the problem after one change; `old` must be there exactly once."""
        if old:
            replace_once(self.folder / "problem.toml", old, new)
        return problem_from_file(
            self.folder / "problem.toml", text=text, plugins=Plugins(**plugins)
        )

    def write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.write_text(content)
        return path

    def change_data(self, old: str, new: str) -> None:
        replace_once(self.folder / "data.csv", old, new)


@pytest.fixture(scope="session")
def fmu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fmu") / "model.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "modelDescription.xml",
            description(Fixture("m.c", VARIABLES, experiment=FROZEN), "model"),
        )
    return path


@pytest.fixture(scope="session")
def model(fmu: Path) -> ModelDescription:
    return read_description(fmu)


@pytest.fixture
def case(tmp_path: Path, fmu: Path) -> Case:
    found = Case(tmp_path)
    (tmp_path / "model.fmu").write_bytes(fmu.read_bytes())
    found.write("problem.toml", PROBLEM)
    found.write("data.csv", DATA)
    return found


@pytest.fixture
def error(case: Case) -> Callable[..., FmidentError]:
    """Return the error of a problem with one change."""

    def load(old: str = "", new: str = "") -> FmidentError:
        with pytest.raises(FmidentError) as caught:
            case.load(old, new)
        return caught.value

    return load
