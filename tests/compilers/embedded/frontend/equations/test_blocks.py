"""Algebraic blocks, aliases, connections and arrays of components against hand calculations."""

import numpy as np
import pytest

from fmident.compilers.embedded.model import OdeModel

from ..conftest import Compile, Compiled

MATRIX_MODEL = """model M
  input Real f[3];
  output Real a[3];
  parameter Real m = 2;
  parameter Real G[3, 3] = {{1, 2, 0}, {0.5, -1, 3}, {2, 0, 1}};
  Real x(start=0.3, fixed=true);
protected
  Real mass[3, 3];
  Real B[3, 3];
equation
  der(x) = a[1];
  for i in 1:3 loop
    B[i, :] = G[i, :]*cos(x*i);
  end for;
  mass = m*identity(3) + transpose(B)*B;
  mass*a = f;
end M;
"""


def test_linear_system_of_three_is_solved(compile_text: Compile) -> None:
    model = compile_text(MATRIX_MODEL)
    G = np.array([[1, 2, 0], [0.5, -1, 3], [2, 0, 1.0]])
    f = np.array([1.0, 2.0, -1.0])

    def a(x: float) -> np.ndarray:
        B = G * np.cos(x * np.arange(1, 4))[:, None]
        return np.linalg.solve(2 * np.eye(3) + B.T @ B, f)

    for x in (0.3, 1.7, -2.0):
        point = model.at({"x": x}, {f"f[{i + 1}]": f[i] for i in range(3)})
        assert list(point.outputs.values()) == pytest.approx(a(x), rel=1e-12)
        h = 1e-6
        slope = (a(x + h)[0] - a(x - h)[0]) / (2 * h)
        assert point.jacobian[0, 0] == pytest.approx(slope, rel=1e-7)


def test_linear_system_needs_no_pivot_at_the_diagonal(compile_text: Compile) -> None:
    """The diagonal is zero at p = 0: only an exchange of rows solves it."""
    model = compile_text(
        "model M\n  input Real u;\n  output Real y, z;\n  parameter Real p = 0;\nequation\n"
        "  p*y + sin(u)*z = 1;\n  sin(u)*y + p*z = u;\nend M;\n"
    )
    outputs = model.at(u={"u": 0.5}).outputs
    assert outputs["z"] == pytest.approx(1 / np.sin(0.5), rel=1e-14)
    assert outputs["y"] == pytest.approx(0.5 / np.sin(0.5), rel=1e-14)


ROTATIONAL = """package L
  connector Flange
    Real phi;
    flow Real tau;
  end Flange;
  model Inertia
    Flange a, b;
    parameter Real J = 1;
    Real phi(start=0);
    Real w;
  equation
    a.phi = phi;
    b.phi = phi;
    w = der(phi);
    J*der(w) = a.tau + b.tau;
  end Inertia;
  model SpringDamper
    Flange a, b;
    parameter Real c = 10;
    parameter Real d = 0.5;
  equation
    b.tau = c*(b.phi - a.phi) + d*(der(b.phi) - der(a.phi));
    a.tau = -b.tau;
  end SpringDamper;
  model Torque
    Flange b;
    input Real tau;
  equation
    b.tau = -tau;
  end Torque;
  model M
    input Real u;
    output Real y = load.phi;
    parameter Real Jmotor = 2;
    Inertia motor(J=Jmotor, phi(start=0.5, fixed=true), w(fixed=true, start=0));
    Inertia load(J=3, phi(fixed=true), w(fixed=true, start=1));
    SpringDamper shaft;
    Torque torque(tau=u);
  equation
    connect(torque.b, motor.a);
    connect(motor.b, shaft.a);
    connect(shaft.b, load.a);
  end M;
end L;
"""


def test_connections_and_derivatives_of_aliases(compile_text: Compile) -> None:
    """``der(flange.phi)`` is the derivative of the inertia's angle."""
    model = compile_text(ROTATIONAL, "L.M")
    assert {s.name for s in model.model.states} == {"motor.phi", "motor.w", "load.phi", "load.w"}
    x = {"motor.phi": 0.3, "motor.w": -2.0, "load.phi": 1.1, "load.w": 4.0}
    torque = 10 * (1.1 - 0.3) + 0.5 * (4.0 - -2.0)
    point = model.at(x, {"u": 7.0}, {"Jmotor": 2.5})
    assert point.rates == pytest.approx(
        {
            "motor.phi": -2.0,
            "motor.w": (7.0 + torque) / 2.5,
            "load.phi": 4.0,
            "load.w": -torque / 3,
        },
        rel=1e-14,
    )
    assert point.outputs["y"] == pytest.approx(1.1)
    assert point.calculated["motor.J"] == 2.5
    start = model.at()
    assert dict(zip([s.name for s in model.model.states], start.x, strict=True)) == {
        "motor.phi": 0.5,
        "motor.w": 0.0,
        "load.phi": 0.0,
        "load.w": 1.0,
    }


ARRAYS = """package L
  model Friction
    input Real v;
    output Real f;
    parameter Real c = 1;
  equation
    f = c*v;
  end Friction;
  model LagFriction
    extends Friction;
    parameter Real rate = 2;
    Real z(start=0.1, fixed=true);
  equation
    der(z) = rate*(v - z);
  end LagFriction;
  model M
    input Real u[2];
    output Real y[2, 2];
    parameter Real c[3] = {1, 2, 3};
    parameter Real A[2, 2] = [1, 2; 3, 4];
    parameter Real B[2, 2] = A*A;
    Friction joints[3](c=c);
    Real q[3](each start=1, each fixed=true);
    Real qd[3](start={1, 2, 3}, each fixed=true);
    replaceable Friction guide constrainedby Friction;
  equation
    der(q) = qd;
    for i in 1:3 loop
      joints[i].v = qd[i];
      der(qd[i]) = -joints[i].f;
    end for;
    guide.v = q[1];
    y = B*u[1] + identity(2)*u[2];
  end M;
  model Redeclared
    extends M(redeclare LagFriction guide(c=5), c={4, 5, 6});
  end Redeclared;
end L;
"""


def test_arrays_of_components_and_matrices(compile_text: Compile) -> None:
    point = compile_text(ARRAYS, "L.M").at(u={"u[1]": 1.0, "u[2]": 2.0}, p={"A[2,1]": 5.0})
    assert point.rates == {
        **{f"q[{i}]": float(i) for i in (1, 2, 3)},
        **{f"qd[{i}]": -float(i) * i for i in (1, 2, 3)},
    }
    B = np.array([[1, 2], [5, 4]]) @ np.array([[1, 2], [5, 4]])
    y = B * 1.0 + np.eye(2) * 2.0
    assert list(point.outputs.values()) == pytest.approx(list(y.ravel()))
    assert list(point.outputs) == ["y[1,1]", "y[1,2]", "y[2,1]", "y[2,2]"]


def test_redeclaration_and_modifiers(compile_text: Compile) -> None:
    model = compile_text(ARRAYS, "L.Redeclared")
    point = model.at()
    assert point.rates["guide.z"] == pytest.approx(2 * (1 - 0.1))
    assert [point.rates[f"qd[{i}]"] for i in (1, 2, 3)] == [-4.0, -10.0, -18.0]
    settable = {v.name: v.start for v in model.model.parameters}
    assert settable["guide.c"] == 5.0
    assert settable["c[2]"] == 5.0


LOOPS = {
    "one dimension": (
        "Real q[4](start={1, 2, 3, 4});\nequation\n  for i in 1:4 loop\n    der(q[i]) = -i*q[i];\n"
        "  end for;",
        lambda q: -np.arange(1, 5) * q,
    ),
    "two dimensions": (
        "Real q[3, 3](start={{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});\nequation\n  for i in 1:3 loop\n"
        "    for j in 1:3 loop\n      der(q[i, j]) = if i == j then -2*q[i, j] else q[j, i];\n"
        "    end for;\n  end for;",
        lambda q: np.where(np.eye(3) > 0, -2 * q.reshape(3, 3), q.reshape(3, 3).T).ravel(),
    ),
    "steps": (
        "Real q[5](start={1, 2, 3, 4, 5});\nequation\n  for i in 1:2:5 loop\n"
        "    der(q[i]) = 2*q[i];\n  end for;\n  for i in 1:2 loop\n"
        "    der(q[2*i]) = q[2*i - 1]^i;\n  end for;",
        lambda q: np.array([2 * q[0], q[0], 2 * q[2], q[2] ** 2, 2 * q[4]]),
    ),
    "neighbours": (
        "Real q[5](start={1, 4, 9, 16, 25});\n  parameter Integer n = 5;\nequation\n"
        "  der(q[1]) = 0;\n  for i in 2:n - 1 loop\n"
        "    der(q[i]) = q[i - 1] - 2*q[i] + q[i + 1];\n  end for;\n  der(q[n]) = 0;",
        lambda q: np.array([0, *np.diff(q, 2), 0]),
    ),
    "downwards": (
        "Real q[4](each start=1);\nequation\n  for i in 4:-1:1 loop\n    der(q[i]) = i;\n"
        "  end for;",
        lambda q: np.arange(1.0, 5.0),
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_for_equations(compile_text: Compile, name: str) -> None:
    """rumoca keeps such families as a template with placeholders; see ``structured``."""
    body, formula = LOOPS[name]
    point = compile_text(f"model M\n  {body}\nend M;\n").at()
    assert list(point.rates.values()) == pytest.approx(list(formula(point.x)))


def test_jacobian_is_the_derivative_of_the_right_side(compile_text: Compile) -> None:
    model = compile_text(
        """model M
  input Real u;
  parameter Real sigma0 = 1e3, Fc = 1, Fs = 1.5, vs = 0.01;
  Real x, v(start=0.01), z;
protected
  Real g, zd;
equation
  der(x) = v;
  g = (Fc + (Fs - Fc)*exp(-(v/vs)^2))/sigma0;
  zd = v - abs(v)/g*z;
  der(z) = zd;
  der(v) = u - sigma0*z - 3*zd - 0.4*v + noEvent(if x > 0 then -x^2 else 0);
end M;
"""
    )
    x0 = {"x": 0.2, "v": 0.013, "z": 4e-4}
    point = model.at(x0, {"u": 0.7})
    for j, name in enumerate(s.name for s in model.model.states):
        h = 1e-6 * max(abs(x0[name]), 1e-3)
        above = model.at({**x0, name: x0[name] + h}, {"u": 0.7}).rates
        below = model.at({**x0, name: x0[name] - h}, {"u": 0.7}).rates
        slope = [(above[k] - below[k]) / (2 * h) for k in above]
        assert list(point.jacobian[:, j]) == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_jacobian_is_finite_beside_a_branch_that_is_left_out(compile_text: Compile) -> None:
    model = compile_text(
        "model M\n  Real x(start=-0.5);\nequation\n"
        "  der(x) = noEvent(if x > 0 then sqrt(x) else 3*x);\nend M;\n"
    )
    assert model.at().jacobian[0, 0] == 3.0


def test_dependencies(compile_text: Compile) -> None:
    model: OdeModel = compile_text(
        "model M\n  input Real u, w;\n  output Real y, z;\n  Real x;\nequation\n  der(x) = u;\n"
        "  y = 2*x;\n  z = w + time;\nend M;\n"
    ).model
    assert model.output_dependencies == (("x",), ("w",))
    assert model.derivative_dependencies == (("u",),)


def test_output_that_is_a_state(compile_text: Compile) -> None:
    compiled: Compiled = compile_text(
        "model M\n  output Real x(start=2, fixed=true);\nequation\n  der(x) = -x;\nend M;\n"
    )
    assert [s.name for s in compiled.model.states] == ["x"]
    assert [s.name for s in compiled.model.outputs] == ["x"]
    assert compiled.model.locals == ()
    assert compiled.at().outputs == {"x": 2.0}


ASSERTS = """package L
  function check
    input Real a;
    input Integer i;
    output Real b;
  algorithm
    assert(a > 0, "arm " + String(i) + " out of reach, a = " + String(a));
    b := sqrt(a);
  end check;
  model Sub
    input Real q;
  equation
    assert(q < 10, "sub too large", AssertionLevel.warning);
  end Sub;
  model M
    input Real u[2];
    output Real y[2];
    parameter Boolean on = true;
    parameter Boolean off = false;
    Sub sub(q=u[1]);
  equation
    for i in 1:2 loop
      y[i] = check(u[i] + 2, i);
    end for;
    if on then
      assert(u[2] <= 7, "on");
    end if;
    if off then
      assert(u[2] <= -7, "off");
    end if;
    assert(u[1] <= 5, "main");
  end M;
end L;
"""


def test_asserts_of_functions_components_and_branches(compile_text: Compile) -> None:
    model = compile_text(ASSERTS, "L.M")
    texts = [a.message for a in model.model.asserts]
    assert texts[:2] == ["arm 1 out of reach, a = <a>", "arm 2 out of reach, a = <a>"]
    assert set(texts[2:]) == {"sub too large", "on", "main"}
    warning = [a.level for a in model.model.asserts if a.message == "sub too large"]
    assert warning == ["warning"]

    def violated(u1: float, u2: float) -> set[str]:
        holds = model.at(u={"u[1]": u1, "u[2]": u2}).asserts
        return {t for t, ok in zip(texts, holds, strict=True) if not ok}

    assert violated(0, 0) == set()
    assert violated(5, 7) == set()
    assert violated(-2, 0) == {texts[0]}
    assert violated(0, -2.5) == {texts[1]}
    assert violated(11, 8) == {"sub too large", "main", "on"}


def test_assert_in_a_branch_that_is_left_out_holds(compile_text: Compile) -> None:
    model = compile_text(
        """function root
  input Real a;
  output Real b;
algorithm
  assert(a > 0, "negative");
  b := sqrt(a);
end root;
model M
  input Real u;
  output Real y;
equation
  y = noEvent(if u > 0 then root(u) else 0);
end M;
"""
    )
    assert model.at(u={"u": -1.0}).asserts == [True]
    assert model.at(u={"u": -1.0}).outputs == {"y": 0.0}
    assert model.at(u={"u": 4.0}).outputs == {"y": 2.0}
