"""The stand-in for the Modelica Standard Library, and the library itself."""

from __future__ import annotations

from math import asinh, sin, tau
from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.compilers.embedded.standard_library import stand_in
from fmident.compilers.libraries import search_folders, shipped_library
from fmident.operating_system.cache import cache_folder
from fmident.units import parse_unit

from .conftest import Compile

MODEL = """
model M
  extends Modelica.Icons.Example;
  import SI = Modelica.Units.SI;
  import Modelica.Units.Conversions.*;
  import Modelica.Constants.pi;
  block Gain
    extends Modelica.Blocks.Interfaces.SISO;
    parameter Real k = 1;
  equation
    y = k*u;
  end Gain;
  parameter SI.Temperature T0 = 300;
  parameter SI.Mass m = 2;
  SI.Temperature T(start=T0, fixed=true);
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput c(unit="degC") = to_degC(T);
  SI.AngularVelocity w = 2*pi*Modelica.Math.sin(1);
  Modelica.Units.NonSI.AngularVelocity_rpm n = to_rpm(w);
  Real a = Modelica.Math.asinh(3);
  Gain gain(k=2);
equation
  der(T) = gain.y;
  connect(u, gain.u);
end M;
"""


def test_the_stand_in_answers_what_nearly_every_model_names(compile_text: Compile) -> None:
    compiled = compile_text(MODEL)
    point = compiled.at(u={"u": 3.0})
    assert point.rates == {"T": 6.0}
    assert point.outputs["c"] == pytest.approx(26.85)
    assert point.locals["n"] == pytest.approx(60 * sin(1))
    assert point.locals["a"] == pytest.approx(asinh(3))
    assert point.locals["w"] == pytest.approx(tau * sin(1))
    mass = next(p for p in compiled.model.parameters if p.name == "m")
    assert (mass.unit, mass.quantity, mass.minimum) == ("kg", "Mass", 0.0)
    notes = [d for d in compiled.diagnostics if d.rule == "standard-library"]
    assert len(notes) == 1
    assert "stand-in" in notes[0].message


DRIVE = """
model Drive
  Modelica.Blocks.Interfaces.RealInput torque(unit="N.m");
  Modelica.Blocks.Interfaces.RealOutput speed(unit="rad/s");
  Modelica.Mechanics.Rotational.Components.Fixed ground;
  Modelica.Mechanics.Rotational.Components.Inertia housing(J=0.5);
  Modelica.Mechanics.Rotational.Components.SpringDamper mount(c=200, d=3);
  Modelica.Mechanics.Rotational.Sources.Torque motor(useSupport=true);
  Modelica.Mechanics.Rotational.Components.IdealGear gear(ratio=3, useSupport=true);
  Modelica.Mechanics.Rotational.Components.SpringDamper belt(c=50, d=0.1, useHeatPort=true);
  Modelica.Mechanics.Rotational.Components.Inertia rotor(J=0.001);
  Modelica.Mechanics.Rotational.Components.Inertia load(J=0.01);
  Modelica.Mechanics.Rotational.Components.IdealGearR2T rack(ratio=20);
  Modelica.Mechanics.Translational.Components.Mass slide(m=2);
  Modelica.Mechanics.Translational.Sources.ConstantForce force(f_constant=-3);
  Modelica.Mechanics.Rotational.Sensors.SpeedSensor sensor;
  Modelica.Thermal.HeatTransfer.Components.HeatCapacitor heat(C=10);
equation
  connect(ground.flange, mount.flange_a);
  connect(mount.flange_b, housing.flange_a);
  connect(motor.support, housing.flange_b);
  connect(gear.support, housing.flange_b);
  connect(torque, motor.tau);
  connect(motor.flange, rotor.flange_a);
  connect(rotor.flange_b, gear.flange_a);
  connect(gear.flange_b, belt.flange_a);
  connect(belt.flange_b, load.flange_a);
  connect(load.flange_b, rack.flangeR);
  connect(rack.flangeT, slide.flange_a);
  connect(force.flange, slide.flange_b);
  connect(belt.heatPort, heat.port);
  connect(sensor.flange, load.flange_b);
  speed = sensor.w;
end Drive;
"""


def test_a_drive_of_the_stand_in_moves_as_lagrange_says(compile_text: Compile) -> None:
    """In the angles h of the housing, g behind the gear, l of the load; the slide is at l/20.

    The gear stands on the housing: the rotor is at r = 3*g - 2*h, and the motor's torque between
    both does the work torque*(r - h).
    """
    compiled = compile_text(DRIVE, "Drive")
    (h, dh), (g, dg), (load, dl), torque = (0.02, 0.3), (0.1, -0.4), (0.05, 0.7), 1.5
    point = compiled.at(
        x={
            s.name: {
                "housing.phi": h,
                "housing.w": dh,
                "mount.phi_rel": h,
                "mount.w_rel": dh,
                "rotor.phi": 3 * g - 2 * h,
                "rotor.w": 3 * dg - 2 * dh,
                "belt.phi_rel": load - g,
                "belt.w_rel": dl - dg,
                "load.phi": load,
                "load.w": dl,
                "slide.s": load / 20,
                "slide.v": dl / 20,
                "heat.T": 300.0,
            }[s.name]
            for s in compiled.model.states
        },
        u={"torque": torque},
    )
    belt = 50 * (load - g) + 0.1 * (dl - dg)
    rotor = (belt + 3 * torque) / (3 * 0.001)
    values = point.values
    assert values["rotor.a"] == pytest.approx(rotor)
    assert values["housing.a"] == pytest.approx(
        (-3 * torque + 2 * 0.001 * rotor - 200 * h - 3 * dh) / 0.5
    )
    assert values["load.a"] == pytest.approx((-belt - 3 / 20) / (0.01 + 2 / 20**2))
    assert values["heat.der_T"] == pytest.approx(0.1 * (dl - dg) ** 2 / 10)
    assert values["speed"] == pytest.approx(dl)


PRESCRIBED = """
model Prescribed
  input Real q;
  input Real qd;
  input Real qdd;
  output Real torque = -move.flange.tau;
  output Real force;
  Modelica.Mechanics.Rotational.Sources.Move move(u={q, qd, qdd});
  Modelica.Mechanics.Rotational.Components.Inertia motor(J=2);
  Modelica.Mechanics.Rotational.Components.Damper bearing(d=0.5);
  Modelica.Mechanics.Rotational.Components.Fixed housing;
  Modelica.Mechanics.Rotational.Components.IdealGear gear(ratio=10);
  Modelica.Mechanics.Rotational.Components.Inertia arm(J=30);
equation
  connect(move.flange, motor.flange_a);
  connect(motor.flange_b, bearing.flange_a);
  connect(bearing.flange_b, housing.flange);
  connect(motor.flange_b, gear.flange_a);
  connect(gear.flange_b, arm.flange_a);
  force = 4*arm.w^2*sin(arm.phi);
end Prescribed;
"""


def test_a_prescribed_motion_is_differentiated_as_its_function_declares(
    compile_text: Compile,
) -> None:
    """The speed is the input `qd`, not a difference of `q`: inverse dynamics without states."""
    compiled = compile_text(PRESCRIBED, "Prescribed")
    assert compiled.model.states == ()
    point = compiled.at(u={"q": 3.0, "qd": -0.7, "qdd": 5.0})
    assert point.outputs["torque"] == pytest.approx((2 + 30 / 10**2) * 5.0 - 0.5 * 0.7)
    assert point.outputs["force"] == pytest.approx(4 * 0.07**2 * sin(0.3))


GEARED = """
model Geared
  input Real q;
  input Real qd;
  input Real qdd;
  output Real torque = -move.flange.tau;
  Modelica.Blocks.Math.Gain speed(k=gearRatio);
  Modelica.Mechanics.Rotational.Sources.Move move;
  Modelica.Mechanics.Rotational.Components.Inertia motor(J=2);
  Modelica.Mechanics.Rotational.Components.Damper bearing(d=0.5);
  Modelica.Mechanics.Rotational.Components.Fixed housing;
  parameter Real gearRatio = 10;
equation
  speed.u = qd;
  move.u = {gearRatio*q, speed.y, gearRatio*qdd};
  connect(move.flange, motor.flange_a);
  connect(motor.flange_b, bearing.flange_a);
  connect(bearing.flange_b, housing.flange);
end Geared;
"""


def test_a_prescribed_motion_may_pass_through_a_gain(compile_text: Compile) -> None:
    compiled = compile_text(GEARED, "Geared")
    assert compiled.model.states == ()
    point = compiled.at(u={"q": 0.3, "qd": -0.7, "qdd": 5.0})
    assert point.outputs["torque"] == pytest.approx(2 * 50 - 0.5 * 7)


def test_a_model_without_it_has_no_note(compile_text: Compile) -> None:
    compiled = compile_text("model M\n  output Real y = 2*time;\nend M;\n")
    assert [d.rule for d in compiled.diagnostics] == []


def test_the_stand_in_is_no_news_of_a_class_that_comes_with_fmident(tmp_path: Path) -> None:
    library = shipped_library()
    assert library is not None
    file = tmp_path / "Own.mo"

    def rules(text: str) -> set[str]:
        file.write_text(text)
        _, notes = load_model("Own", [file, library / "Mechanisms"])
        return {d.rule for d in notes}

    law = "extends Mechanisms.FMUs.TranslationalCoulombViscous;"
    assert "standard-library" not in rules(f"model Own {law} end Own;")
    mass = "Modelica.Units.SI.Mass m = 2;"
    assert "standard-library" in rules(f"model Own {law} parameter {mass} end Own;")
    imported = "import Modelica.Units.SI; parameter SI.Mass m = 2;"
    assert "standard-library" in rules(f"model Own {imported} {law} end Own;")


def test_a_library_that_is_there_is_taken_and_named(tmp_path: Path) -> None:
    library = tmp_path / "Modelica 9.0.0"
    library.mkdir()
    (library / "package.mo").write_text(
        "package Modelica\n  constant Real only = 7;\n"
        '  annotation(version="9.0.0");\nend Modelica;\n'
    )
    file = tmp_path / "M.mo"
    file.write_text("model M\n  output Real y = Modelica.only*time;\nend M;\n")
    _, notes = load_model("M", [file, library])
    (found,) = [d for d in notes if d.rule == "standard-library"]
    assert "9.0.0" in found.message
    assert str(library) in found.message


def test_units_of_the_stand_in_can_be_read() -> None:
    """But for photometric ones and levels, and the few that the library itself misspells."""
    tree = stand_in()
    units = set()
    for name, item in tree.classes.items():
        words = [t.text for t in item.tokens]
        if name.startswith("Modelica.Units.SI.") and "unit" in words:
            units.add(words[words.index("unit") + 2].strip('"'))
    unreadable = set()
    for unit in units:
        try:
            parse_unit(unit)
        except Exception:
            unreadable.add(unit)
    assert len(units) > 150
    assert len(unreadable) < 0.2 * len(units), sorted(unreadable)


def test_folders_of_other_tools_are_searched(tmp_path: Path) -> None:
    dymola, roaming = tmp_path / "dymola", tmp_path / "roaming"
    places = (dymola / "Modelica" / "Library", roaming / ".openmodelica" / "libraries")
    for place in places:
        place.mkdir(parents=True)
    found = search_folders(None, {"DYMOLA": str(dymola), "APPDATA": str(roaming)})
    assert set(places) <= set(found)


def test_parsed_files_are_kept_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "Lib"
    library.mkdir()
    (library / "package.mo").write_text("package Lib\n  constant Real k = 2;\nend Lib;\n")
    file = tmp_path / "M.mo"
    file.write_text("model M\n  output Real y = Lib.k*time;\nend M;\n")
    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path / "kept"))
    load_model("M", [file, library])
    kept = {p.name for p in (tmp_path / "kept").rglob("*.bin")}
    assert kept
    load_model("M", [file, library])
    assert {p.name for p in (tmp_path / "kept").rglob("*.bin")} == kept
    (library / "package.mo").write_text("package Lib\n  constant Real k = 3;\nend Lib;\n")
    for damaged in (tmp_path / "kept").rglob("*.bin"):
        damaged.write_bytes(damaged.read_bytes()[:50])
    model, _ = load_model("M", [file, library])
    assert float(model.output_values(1, [], [], [], model.calculated_parameters([]))) == 3.0
    monkeypatch.setenv("FMIDENT_CACHE", "")
    assert cache_folder("anything") is None
