"""SSV files as other tools read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from fmpy.ssp.ssd import read_ssv

from fmident.estimation.result import EstimationResult
from fmident.report.export import exported_values, write_ssv

from .conftest import estimate


def test_fmpy_reads_names_values_and_units(
    tmp_path: Path, make_result: Callable[..., EstimationResult]
) -> None:
    result = make_result(
        estimate("arm.mass", 0.1 + 0.2, 0.002, description='Mass of an <arm> & "more"'),
        estimate("c[2]", -1e-300, unit="kW"),
        estimate("T", 20.0, unit="degC"),
        estimate("ratio", 3.0, unit="1"),
        estimate("strange", 1.5, unit="furlong"),
        estimate("plain", np.pi, unit=None),
    )
    file = tmp_path / "identified.ssv"
    write_ssv(exported_values(result), file)
    parameters = read_ssv(str(file)).parameters  # validates against the standard's schema
    assert {p.name: float(p.value) for p in parameters} == {
        "arm.mass": 0.1 + 0.2,
        "c[2]": -1e-300,
        "T": 20.0,
        "ratio": 3.0,
        "strange": 1.5,
        "plain": np.pi,
    }
    assert {p.name: p.unit for p in parameters} == {
        "arm.mass": "kg",
        "c[2]": "kW",
        "T": "degC",
        "ratio": "1",
        "strange": "furlong",
        "plain": None,
    }


def test_units_are_defined(tmp_path: Path, make_result: Callable[..., EstimationResult]) -> None:
    file = tmp_path / "identified.ssv"
    write_ssv(
        exported_values(
            make_result(estimate("P", 1.0, unit="kW"), estimate("T", 1.0, unit="degC"))
        ),
        file,
    )
    text = file.read_text()
    assert '<ssc:BaseUnit kg="1" m="2" s="-3" factor="1000.0" />' in text
    assert '<ssc:BaseUnit K="1" offset="273.15" />' in text
    assert 'version="1.0"' in text
