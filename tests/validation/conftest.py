"""FMUs with one flaw each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ..fmu.build import Fixture, build, compiler, real

SOURCE = str(Path(__file__).parent / "fixtures" / "flawed.c")
VARIABLES = "\n".join(
    [
        real("u", 0, "input", start=1, extra=' unit="N"'),
        real("k", 1, "parameter", start=2, extra=' unit="1"'),
        real("x", 2, "output", extra=' unit="m"'),
        real("dead", 3, "parameter", start=1),
    ]
)
STRUCTURE = (
    '<Outputs><Unknown index="3"/></Outputs><InitialUnknowns><Unknown index="3"/></InitialUnknowns>'
)
UNITS = "".join(f'<Unit name="{u}"/>' for u in ("N", "1", "m"))

BuildFlawed = Callable[..., Path]


@pytest.fixture(scope="session")
def flawed(tmp_path_factory: pytest.TempPathFactory) -> BuildFlawed:
    """Return a function from the name of a flaw to an FMU that has it."""
    if compiler() is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("flawed")

    def make(flaw: str = "NOTHING", *, variables: str = VARIABLES, tolerance: str = "1e-6") -> Path:
        stated = f' tolerance="{tolerance}"' if tolerance else ""
        fixture = Fixture(
            SOURCE,
            variables,
            defines=(f"FLAW={flaw}",),
            structure=STRUCTURE,
            extra=f"<UnitDefinitions>{UNITS}</UnitDefinitions>",
            experiment=f'<DefaultExperiment startTime="0" stopTime="2"{stated} stepSize="0.1"/>',
        )
        return build(fixture, folder)

    return make
