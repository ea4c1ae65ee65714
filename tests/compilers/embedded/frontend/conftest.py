"""Compiles Modelica text and evaluates the model by variable names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from fmident.compilers.embedded.backend.derivatives import total_jacobian
from fmident.compilers.embedded.frontend import load_model
from fmident.compilers.embedded.model import OdeModel
from fmident.errors import Diagnostic


@dataclass(frozen=True)
class Point:
    """All values of a model at one point, by name."""

    model: OdeModel
    t: float
    x: np.ndarray
    u: np.ndarray
    p: np.ndarray
    c: np.ndarray

    def _column(self, function: str) -> np.ndarray:
        value = getattr(self.model, function)(self.t, self.x, self.u, self.p, self.c)
        return np.array(value, dtype=float)

    @property
    def rates(self) -> dict[str, float]:
        return dict(
            zip([s.name for s in self.model.states], self._column("rhs").ravel(), strict=True)
        )

    @property
    def outputs(self) -> dict[str, float]:
        names = [v.name for v in self.model.outputs]
        return dict(zip(names, self._column("output_values").ravel(), strict=True))

    @property
    def locals(self) -> dict[str, float]:
        names = [v.name for v in self.model.locals]
        return dict(zip(names, self._column("local_values").ravel(), strict=True))

    @property
    def values(self) -> dict[str, float]:
        return self.locals | self.outputs

    @property
    def calculated(self) -> dict[str, float]:
        return {v.name: float(c) for v, c in zip(self.model.calculated, self.c, strict=True)}

    @property
    def asserts(self) -> list[bool]:
        return [bool(a > 0) for a in self._column("assert_values").ravel()]

    @property
    def jacobian(self) -> np.ndarray:
        arguments = self.model.rhs.sx_in()
        matrix = total_jacobian(self.model, ca.vec(self.model.rhs(*arguments)), arguments)
        values = ca.Function("jacobian", arguments, [ca.densify(matrix)])
        return np.array(values(self.t, self.x, self.u, self.p, self.c))


@dataclass(frozen=True)
class Compiled:
    """A model with its diagnostics."""

    model: OdeModel
    diagnostics: tuple[Diagnostic, ...]

    def at(
        self,
        x: Mapping[str, float] | None = None,
        u: Mapping[str, float] | None = None,
        p: Mapping[str, float] | None = None,
        t: float = 0.0,
    ) -> Point:
        """Evaluate; what is not given keeps its start value."""
        model = self.model

        def filled(variables: tuple, given: Mapping[str, float] | None) -> np.ndarray:
            names = [v.name for v in variables]
            assert set(given or {}) <= set(names), (given, names)
            return np.array([(given or {}).get(v.name, v.start or 0.0) for v in variables])

        parameters = filled(model.parameters, p)
        inputs = filled(model.inputs, u)
        calculated = np.array(model.calculated_parameters(parameters)).ravel()
        start = np.array(model.initial_states(t, inputs, parameters, calculated)).ravel()
        for i, state in enumerate(model.states):
            if x and state.name in x:
                start[i] = x[state.name]
        return Point(model, t, start, inputs, parameters, calculated)


Compile = Callable[..., Compiled]


@pytest.fixture
def compile_text(tmp_path: Path) -> Compile:
    """Return a function that compiles Modelica text; the class is ``M`` unless it is named."""

    def compile_(text: str, name: str = "M") -> Compiled:
        file = tmp_path / "M.mo"
        file.write_text(text, encoding="utf-8")
        return Compiled(*load_model(name, [file]))

    return compile_
