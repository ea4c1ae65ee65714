"""The certified problems as a user has them: a Modelica model, a CSV file and a problem file each.

The predictors are inputs of the model. `Nelson` measures the logarithm of its response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray[Any, np.dtype[np.float64]]

_CUBIC_RATIO = "y = (b1 + b2*x + b3*x^2 + b4*x^3)/(1 + b5*x + b6*x^2 + b7*x^3)"
_TWO_PEAKS = "y = b1*exp(-b2*x) + b3*exp(-((x - b4)/b5)^2) + b6*exp(-((x - b7)/b8)^2)"
_THREE_DECAYS = "y = b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)"

EQUATIONS: Mapping[str, str] = {
    "Misra1a": "y = b1*(1 - exp(-b2*x))",
    "Misra1b": "y = b1*(1 - 1/(1 + b2*x/2)^2)",
    "Misra1c": "y = b1*(1 - 1/sqrt(1 + 2*b2*x))",
    "Misra1d": "y = b1*b2*x/(1 + b2*x)",
    "BoxBOD": "y = b1*(1 - exp(-b2*x))",
    "DanWood": "y = b1*x^b2",
    "Chwirut1": "y = exp(-b1*x)/(b2 + b3*x)",
    "Chwirut2": "y = exp(-b1*x)/(b2 + b3*x)",
    "Eckerle4": "y = b1/b2*exp(-0.5*((x - b3)/b2)^2)",
    "MGH10": "y = b1*exp(b2/(x + b3))",
    "Bennett5": "y = b1*(b2 + x)^(-1/b3)",
    "Rat42": "y = b1/(1 + exp(b2 - b3*x))",
    "Rat43": "y = b1/(1 + exp(b2 - b3*x))^(1/b4)",
    "MGH09": "y = b1*(x^2 + x*b2)/(x^2 + x*b3 + b4)",
    "Roszman1": "y = b1 - b2*x - atan(b3/(x - b4))/pi",
    "MGH17": "y = b1 + b2*exp(-x*b4) + b3*exp(-x*b5)",
    "Kirby2": "y = (b1 + b2*x + b3*x^2)/(1 + b4*x + b5*x^2)",
    "Hahn1": _CUBIC_RATIO,
    "Thurber": _CUBIC_RATIO,
    "Lanczos1": _THREE_DECAYS,
    "Lanczos2": _THREE_DECAYS,
    "Lanczos3": _THREE_DECAYS,
    "Gauss1": _TWO_PEAKS,
    "Gauss2": _TWO_PEAKS,
    "Gauss3": _TWO_PEAKS,
    "ENSO": (
        "y = b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4)"
        " + b6*sin(2*pi*x/b4) + b8*cos(2*pi*x/b7) + b9*sin(2*pi*x/b7)"
    ),
    "Nelson": "y = exp(b1 - b2*x1*exp(-b3*x2)); measured = log(y)",
}
"""Equations of `y` and the input `x`, or `x1` and `x2`; NIST's formulas in Modelica."""


def write(
    folder: Path,
    name: str,
    predictors: Sequence[Array],
    measured: Array,
    start: Array,
) -> Path:
    """Write the model, the data and the problem file of one start, and return the last.

    Parameters
    ----------
    folder
        Where they go; it exists.
    name
        Of the problem.
    predictors
        Columns, each of shape (m,).
    measured
        What the output is compared with, shape (m,).
    start
        Shape (n,).
    """
    inputs = ["x"] if len(predictors) == 1 else [f"x{k + 1}" for k in range(len(predictors))]
    names = [f"b{j + 1}" for j in range(start.size)]
    output = "measured" if "measured" in EQUATIONS[name] else "y"
    values = dict(zip(names, start.tolist(), strict=True))
    lines = [f"model {name}", f"  constant Real pi = {np.pi!r};"]
    lines += [f"  parameter Real {b} = 1;" for b in names]
    lines += [f"  input Real {x};" for x in inputs]
    lines += [f"  output Real {output};", *(["  Real y(start = 1);"] * (output != "y"))]
    lines += ["equation", *(f"  {one};" for one in EQUATIONS[name].split("; ")), f"end {name};"]
    (folder / f"{name}.mo").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = {"time [s]": np.arange(measured.size, dtype=np.float64)}
    columns |= dict(zip(inputs, predictors, strict=True)) | {output: measured}
    pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False, float_format="%.17g")
    toml = ["[model]", f'class = "{name}"', f'sources = ["{name}.mo"]', 'fmu_folder = "."']
    toml += ['compiler = "embedded"']
    toml += [f"[parameters.{b}]\ninitial = {value!r}" for b, value in values.items()]
    toml += [f'[[experiments]]\ndata = "{name}.csv"', "[experiments.inputs]"]
    toml += [f'{x} = "{x}"' for x in inputs]
    toml += ["[experiments.outputs]", f'{output} = "{output}"']
    toml += ['[estimator]\nname = "least-squares"']
    file = folder / f"{name}.toml"
    file.write_text("\n".join(toml) + "\n", encoding="utf-8")
    return file
