"""Variables under der() that follow from states, against formulas differentiated by hand."""

from math import cos, sin

import pytest

from fmident.errors import CompilationError

from ..conftest import Compile

LIBRARY = """package L
  connector Flange
    Real phi;
    flow Real tau;
  end Flange;
  model Inertia
    Flange a, b;
    parameter Real J = 1;
    Real phi, w, acceleration;
  equation
    a.phi = phi;
    b.phi = phi;
    w = der(phi);
    acceleration = der(w);
    J*acceleration = a.tau + b.tau;
  end Inertia;
  model SpringDamper
    Flange a, b;
    parameter Real c = 10;
    parameter Real d = 0.5;
    Real phi_rel, w_rel, tau;
  equation
    phi_rel = b.phi - a.phi;
    w_rel = der(phi_rel);
    tau = c*phi_rel + d*w_rel;
    b.tau = tau;
    a.tau = -tau;
  end SpringDamper;
  model Gear
    Flange a, b;
    parameter Real n = 5;
  equation
    a.phi = n*b.phi;
    0 = n*a.tau + b.tau;
  end Gear;
  model Torque
    Flange b;
    input Real tau;
  equation
    b.tau = -tau;
  end Torque;
  model Elastic
    input Real u;
    Inertia i1(J=2), i2(J=3);
    SpringDamper shaft;
    Torque torque(tau=u);
  equation
    connect(torque.b, i1.a);
    connect(i1.b, shaft.a);
    connect(shaft.b, i2.a);
  end Elastic;
  model Rigid
    input Real u;
    Inertia i1(J=2), i2(J=3);
    Torque torque(tau=u);
  equation
    connect(torque.b, i1.a);
    connect(i1.b, i2.a);
  end Rigid;
  model Geared
    input Real u;
    Inertia i1(J=2), i2(J=3);
    Gear gear;
    Torque torque(tau=u);
  equation
    connect(torque.b, i1.a);
    connect(i1.b, gear.a);
    connect(gear.b, i2.a);
  end Geared;
  model Kinematics
    input Real u;
    Real phi(start=0.4, fixed=true), w(start=2, fixed=true);
    parameter Real r = 2;
    output Real p[2], v[2], a[2];
  equation
    der(phi) = w;
    der(w) = u;
    p = r*{cos(phi), sin(phi)};
    v = der(p);
    a = der(v);
  end Kinematics;
  model Prescribed
    Real x, v;
    output Real a;
  equation
    x = sin(3*time);
    v = der(x);
    a = der(v);
  end Prescribed;
  model Preferred
    Real x(stateSelect=StateSelect.prefer), y(stateSelect=StateSelect.prefer);
  equation
    y = 2*x;
    der(x) + der(y) = -3*x;
  end Preferred;
  model Chosen
    Real x(stateSelect=StateSelect.avoid), y(start=1, fixed=true);
  equation
    y = 2*x;
    der(x) + der(y) = -3*x;
  end Chosen;
end L;
"""


def test_relative_angle(compile_text: Compile) -> None:
    compiled = compile_text(LIBRARY, "L.Elastic")
    assert {s.name for s in compiled.model.states} == {"i1.phi", "i1.w", "i2.phi", "i2.w"}
    x = {"i1.phi": 0.3, "i1.w": -2.0, "i2.phi": 1.1, "i2.w": 4.0}
    tau = 10 * 0.8 + 0.5 * 6.0
    point = compiled.at(x, {"u": 7.0})
    assert point.rates == pytest.approx(
        {"i1.phi": -2.0, "i1.w": (7 + tau) / 2, "i2.phi": 4.0, "i2.w": -tau / 3}
    )
    assert point.locals["shaft.w_rel"] == pytest.approx(6.0)
    assert [d for d in compiled.diagnostics if d.rule == "state-demoted"] == []


def test_a_demoted_state_that_was_preferred_is_a_note(compile_text: Compile) -> None:
    compiled = compile_text(LIBRARY, "L.Preferred")
    (state,) = compiled.model.states
    (note,) = [d for d in compiled.diagnostics if d.rule == "state-demoted"]
    assert note.severity == "note"
    assert f"'{({'x', 'y'} - {state.name}).pop()}'" in note.message


def test_rigid_coupling(compile_text: Compile) -> None:
    point = compile_text(LIBRARY, "L.Rigid").at(u={"u": 5.0})
    assert len(point.model.states) == 2
    assert point.locals["i1.acceleration"] == pytest.approx(5 / (2 + 3))
    assert point.locals["i2.a.tau"] == pytest.approx(3 * 5 / (2 + 3))


def test_gear(compile_text: Compile) -> None:
    point = compile_text(LIBRARY, "L.Geared").at(u={"u": 5.0})
    assert len(point.model.states) == 2
    assert point.locals["i1.acceleration"] == pytest.approx(5 / (2 + 3 / 25))
    assert point.locals["i2.acceleration"] == pytest.approx(1 / (2 + 3 / 25))


@pytest.mark.parametrize(("phi", "w", "u", "r"), [(0.4, 2.0, 0.7, 2.0), (-1.9, -3.0, 4.0, 0.5)])
def test_kinematics(compile_text: Compile, phi: float, w: float, u: float, r: float) -> None:
    compiled = compile_text(LIBRARY, "L.Kinematics")
    y = compiled.at({"phi": phi, "w": w}, {"u": u}, {"r": r}).outputs
    assert y["v[1]"] == pytest.approx(-r * sin(phi) * w, rel=1e-14)
    assert y["v[2]"] == pytest.approx(r * cos(phi) * w, rel=1e-14)
    assert y["a[1]"] == pytest.approx(-r * cos(phi) * w**2 - r * sin(phi) * u, rel=1e-14)
    assert y["a[2]"] == pytest.approx(-r * sin(phi) * w**2 + r * cos(phi) * u, rel=1e-14)


def test_prescribed_motion(compile_text: Compile) -> None:
    compiled = compile_text(LIBRARY, "L.Prescribed")
    assert compiled.model.states == ()
    assert compiled.at(t=0.7).outputs["a"] == pytest.approx(-9 * sin(2.1), rel=1e-14)


def test_state_select_decides(compile_text: Compile) -> None:
    """y = 2 x and x' + y' = -3 x give y' = -y."""
    compiled = compile_text(LIBRARY, "L.Chosen")
    assert [s.name for s in compiled.model.states] == ["y"]
    assert compiled.at({"y": 4.0}).rates["y"] == pytest.approx(-4.0)


def test_two_fixed_starts_for_one_state_are_refused(compile_text: Compile) -> None:
    with pytest.raises(CompilationError) as caught:
        compile_text(
            "model M\n  Real x(start=1, fixed=true), y(start=1, fixed=true);\nequation\n"
            "  y = 2*x;\n  der(x) + der(y) = -3*x;\nend M;\n"
        )
    (found,) = caught.value.diagnostics
    assert found.rule == "fixed-algebraic"
    assert "'y = 2*x'" in found.message
