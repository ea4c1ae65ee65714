"""Which parameters can be set, which follow from others, and start values."""

import pytest

from fmident.errors import CompilationError

from .conftest import Compile

MODEL = """package L
  model Part
    parameter Real k = 4;
    parameter Real stiffness(unit="N/m", min=0, nominal=1e3) = 7 "Stiffness";
    Real z;
  equation
    z = k;
  end Part;
  model M
    constant Real pi = 3.141592653589793;
    parameter Real plain(unit="kg", min=0, max=9, displayUnit="g", quantity="Mass") = 2 "A mass";
    parameter Real fromConstant = 2*pi;
    parameter Real twice = 2*plain;
    parameter Real fourTimes = 2*twice;
    final parameter Real fixedHere = 5;
    final parameter Real fixedSum = plain + 1;
    parameter Integer n = 2;
    parameter Boolean flag = true;
    parameter Real sized = 3*n;
    parameter Real onlyStart(start=6);
    parameter Real table[:, 2] = [0, 1; plain, 3];
    Part a(k=plain);
    Part b(k=8);
    Real x(start=twice, fixed=true);
    Real y[n](start={1, 2}, each fixed=true);
    output Real sum;
  protected
    parameter Real hidden = 11;
  equation
    der(x) = if flag then fourTimes else 0;
    der(y) = fill(hidden, n);
    sum = plain + fromConstant + twice + fourTimes + fixedHere + fixedSum + sized + onlyStart
      + table[2, 1] + a.z + b.z + hidden;
  end M;
end L;
"""


def test_kinds(compile_text: Compile) -> None:
    model = compile_text(MODEL, "L.M").model
    settable = {v.name: v.start for v in model.parameters}
    assert settable == {
        "plain": 2.0,
        "fromConstant": 6.283185307179586,
        "sized": 6.0,
        "onlyStart": 6.0,
        "a.stiffness": 7.0,
        "b.k": 8.0,
        "b.stiffness": 7.0,
    }
    calculated = {v.name: v.start for v in model.calculated}
    assert calculated["pi"] == 3.141592653589793
    assert calculated["fixedHere"] == 5.0
    assert {n for n, start in calculated.items() if start is None} == {
        "twice",
        "fourTimes",
        "fixedSum",
        "a.k",
        "table[2,1]",
    }
    assert "hidden" not in {*settable, *calculated}


def test_values_follow(compile_text: Compile) -> None:
    model = compile_text(MODEL, "L.M")
    point = model.at(p={"plain": 3.0, "b.k": 1.0})
    assert point.calculated["fourTimes"] == 12.0
    assert point.calculated["table[2,1]"] == 3.0
    expected = 3 + 2 * 3.141592653589793 + 6 + 12 + 5 + 4 + 6 + 6 + 3 + 3 + 1 + 11
    assert point.outputs["sum"] == pytest.approx(expected, rel=1e-15)
    assert point.rates == {"x": 12.0, "y[1]": 11.0, "y[2]": 11.0}
    assert list(point.x) == [6.0, 1.0, 2.0]


def test_attributes(compile_text: Compile) -> None:
    model = compile_text(MODEL, "L.M").model
    plain = next(v for v in model.parameters if v.name == "plain")
    assert (plain.unit, plain.display_unit, plain.quantity) == ("kg", "g", "Mass")
    assert (plain.minimum, plain.maximum, plain.description) == (0.0, 9.0, "A mass")
    stiffness = next(v for v in model.parameters if v.name == "b.stiffness")
    assert (stiffness.unit, stiffness.nominal) == ("N/m", 1e3)
    x = next(v for v in model.states if v.name == "x")
    assert x.start is None
    assert [v.start for v in model.states if v.name != "x"] == [1.0, 2.0]


def test_parameters_fixed_at_compile_time_are_named(compile_text: Compile) -> None:
    notes = [d for d in compile_text(MODEL, "L.M").diagnostics if d.severity == "note"]
    assert len(notes) == 1
    assert "n = 2" in notes[0].message
    assert "flag = true" in notes[0].message


def test_derivative_units(compile_text: Compile) -> None:
    model = compile_text(
        'model M\n  Real a(unit="m"), b(unit="m/s"), c(unit="N.m/(rad.s)"), d(unit="1"), e;\n'
        "equation\n  der(a) = b;\n  der(b) = 0;\n  der(c) = 0;\n  der(d) = 0;\n  der(e) = 0;\n"
        "end M;\n"
    ).model
    units = {v.derivative_of: v.unit for v in model.derivatives}
    assert units == {"a": "m/s", "b": "m/s2", "c": "N.m/(rad.s2)", "d": "1/s", "e": ""}


INITIAL = {
    "start": ("Real x(start=3, fixed=true);", "", 3.0),
    "start without fixed": ("Real x(start=3);", "", 3.0),
    "no start": ("Real x;", "", 0.0),
    "parameter": ("Real x(start=2*p, fixed=true);", "", 8.0),
    "explicit equation": ("Real x;", "x = p + u;", 10.0),
    "derivative is zero": ("Real x;", "der(x) = 0;", 3.0),
    "implicit linear": ("Real x;", "2*x + p = 0;", -2.0),
    "through an algebraic variable": ("Real x(start=7);", "y = p;", 2.0),
}


@pytest.mark.parametrize("name", INITIAL)
def test_initial_values(compile_text: Compile, name: str) -> None:
    declaration, equation, expected = INITIAL[name]
    section = f"initial equation\n  {equation}\n" if equation else ""
    text = (
        f"model M\n  input Real u;\n  parameter Real p = 1;\n  Real y;\n  {declaration}\n"
        f"equation\n  der(x) = -2*x + u;\n  y = 2*x;\n{section}end M;\n"
    )
    assert compile_text(text).at(u={"u": 6.0}, p={"p": 4.0}).x[0] == pytest.approx(expected)


def test_initial_equation_between_a_free_and_a_fixed_state(compile_text: Compile) -> None:
    text = (
        "model M\n  Real x(start=2, fixed=true), v;\nequation\n  der(x) = v;\n"
        "  der(v) = -x;\ninitial equation\n  v = 3*x;\nend M;\n"
    )
    assert list(compile_text(text).at().x) == [2.0, 6.0]


def test_state_without_fixed_is_reported(compile_text: Compile) -> None:
    found = compile_text("model M\n  Real x(start=1);\nequation\n  der(x) = 1;\nend M;\n")
    (diagnostic,) = found.diagnostics
    assert (diagnostic.severity, diagnostic.rule) == ("warning", "start-not-fixed")
    assert diagnostic.location is not None
    assert (diagnostic.location.line, diagnostic.location.column) == (2, 3)


def test_evaluate_annotation_fixes_a_parameter(compile_text: Compile) -> None:
    model = compile_text(
        "model M\n  parameter Real k = 3 annotation(Evaluate=true);\n  output Real y = k;\nend M;\n"
    ).model
    assert model.parameters == ()
    assert [v.name for v in model.calculated] == ["k"]


def test_experiment_and_version(compile_text: Compile) -> None:
    model = compile_text(
        "package L\n  model M\n    Real x;\n  equation\n    der(x) = 1;\n"
        '    annotation(Documentation(info="experiment(StopTime=99)"),\n'
        "      experiment(StartTime=0.5, StopTime=2, Tolerance=1e-8, Interval=1e-3));\n"
        '  end M;\n  annotation(version="1.2.3");\nend L;\n',
        "L.M",
    ).model
    experiment = model.experiment
    assert (experiment.start_time, experiment.stop_time) == (0.5, 2.0)
    assert (experiment.tolerance, experiment.interval) == (1e-8, 1e-3)
    assert model.library_version == "1.2.3"


def test_structural_parameter_that_depends_on_a_settable_one_is_refused(
    compile_text: Compile,
) -> None:
    with pytest.raises(CompilationError) as caught:
        compile_text(
            "model M\n  parameter Real k = 3;\n  parameter Boolean high = k > 2;\n"
            "  output Real y = if high then 1 else 2;\nend M;\n"
        )
    assert caught.value.diagnostics[0].rule == "structural-parameter"


STRUCTURAL = {
    "condition of a component": (
        "model Part\n  output Real y = 5;\nend Part;\n"
        "model M\n  parameter Real k = 1;\n  parameter Real free = 2;\n  Part part if k > 0;\n"
        "  output Real z = free;\nend M;\n"
    ),
    "connection in a branch": (
        "connector C\n  Real p;\n  flow Real f;\nend C;\nmodel S\n  C a;\n"
        "  parameter Real free = 2;\nequation\n  a.f = free*a.p - 1;\nend S;\n"
        "model M\n  parameter Real k = 1;\n  S s, t;\n"
        "equation\n  if k > 0 then\n    connect(s.a, t.a);\n  end if;\nend M;\n"
    ),
}


@pytest.mark.parametrize("name", STRUCTURAL)
def test_real_parameter_that_decides_on_equations_cannot_be_set(
    compile_text: Compile, name: str
) -> None:
    compiled = compile_text(STRUCTURAL[name])
    assert "k" not in {v.name for v in compiled.model.parameters}
    assert any(v.name.endswith("free") for v in compiled.model.parameters)
    (note,) = [d for d in compiled.diagnostics if d.rule == "structural-parameter"]
    assert "k = 1" in note.message


def test_why_parameters_cannot_be_set(compile_text: Compile) -> None:
    compiled = compile_text(
        "model M\n  final parameter Real k = 2;\n"
        "  parameter Real a = 3 annotation (Evaluate=true);\n"
        "  parameter Integer n = 4;\n  parameter Boolean on = true;\n"
        "  parameter Real free = 5;\n  final parameter Real twice = 2*free;\n"
        "protected\n  parameter Real hidden = 6;\n"
        "public\n  output Real y = k + a + n + free + twice + hidden;\nend M;\n"
    )
    reasons = {name: f.reason for name, f in compiled.model.frozen.items()}
    assert [n for n, f in compiled.model.frozen.items() if "only Real" in f.advice] == ["n", "on"]
    assert set(reasons) == {"k", "a", "n", "on", "hidden"}
    assert "'final'" in reasons["k"]
    assert "Evaluate=true" in reasons["a"]
    assert "Integer" in reasons["n"]
    assert "Boolean" in reasons["on"]
    assert "protected" in reasons["hidden"]
    (note,) = [d for d in compiled.diagnostics if d.rule == "structural-parameter"]
    listed = "k = 2 (final); a = 3 (Evaluate=true); n = 4; on = true"
    assert note.message.endswith(f"cannot be set: {listed}")


def test_switches_of_components_are_no_note(compile_text: Compile) -> None:
    compiled = compile_text(
        "model C\n  parameter Boolean on = false;\n  parameter Integer n = 2;\n  Real y;\n"
        "equation\n  if on then\n    y = n;\n  else\n    y = -n;\n  end if;\nend C;\n"
        "model M\n  C c;\n  output Real y = c.y;\nend M;\n"
    )
    assert set(compiled.model.frozen) == {"c.on", "c.n"}
    assert [d for d in compiled.diagnostics if d.rule == "structural-parameter"] == []


def test_real_parameter_that_selects_a_value_can_be_set(compile_text: Compile) -> None:
    model = compile_text(
        "model M\n  parameter Real k = 1;\n  output Real y;\nequation\n  if k > 0 then\n"
        "    y = 1;\n  else\n    y = 2;\n  end if;\nend M;\n"
    )
    assert model.at().outputs == {"y": 1.0}
    assert model.at(p={"k": -1.0}).outputs == {"y": 2.0}


def test_condition_in_a_binding_leaves_the_parameter_settable(compile_text: Compile) -> None:
    model = compile_text(
        "model M\n  parameter Real k = 1;\n  parameter Real m(min=if true then 0 else 1) = 2;\n"
        "  output Real y = if k > m then k else m;\nend M;\n"
    )
    assert {v.name for v in model.model.parameters} == {"k", "m"}
    assert model.at(p={"k": 3.0}).outputs == {"y": 3.0}


def test_attributes_of_arrays_and_types(compile_text: Compile) -> None:
    compiled = compile_text(
        'model M\n  type Length = Real(unit="m", nominal=1e-3, min=-1);\n'
        "  parameter Real q = 3;\n"
        "  Real x[3](start={1, 2, q}, fixed={true, false, true}, nominal={1e-6, 1, 10},\n"
        '    min={-1, -2, -3}, each unit="m", each max=2*q);\n  Length y[2](each start=4);\n'
        "equation\n  der(x) = zeros(3);\n  der(y) = zeros(2);\nend M;\n"
    )
    states = {v.name: v for v in compiled.model.states}
    assert [states[f"x[{i}]"].start for i in (1, 2, 3)] == [1.0, 2.0, None]
    assert [states[f"x[{i}]"].nominal for i in (1, 2, 3)] == [1e-6, 1.0, 10.0]
    assert [states[f"x[{i}]"].minimum for i in (1, 2, 3)] == [-1.0, -2.0, -3.0]
    assert states["x[1]"].maximum is None
    assert (states["y[2]"].unit, states["y[2]"].nominal, states["y[2]"].start) == ("m", 1e-3, 4.0)
    assert list(compiled.at(p={"q": 7.0}).x) == [1.0, 2.0, 7.0, 4.0, 4.0]
    free = [d.message for d in compiled.diagnostics if d.rule == "start-not-fixed"]
    assert [m.split("'")[1] for m in free] == ["x[2]", "y[1]", "y[2]"]


def test_final_modifiers(compile_text: Compile) -> None:
    model = compile_text(
        "package L\n  model A\n    parameter Real p = 1;\n    output Real y = p;\n  end A;\n"
        "  model M\n    parameter Real q = 2;\n    A a(final p=3), b(p=4), c(final p=q);\n"
        "  end M;\nend L;\n",
        "L.M",
    )
    assert {v.name: v.start for v in model.model.parameters} == {"q": 2.0, "b.p": 4.0}
    assert model.at(p={"q": 5.0}).calculated == {"a.p": 3.0, "c.p": 5.0}


@pytest.mark.parametrize("value", ["3", "-3", "q", "2*(q + 1)", "-(q + 1)"])
def test_final_modifiers_of_redeclared_components(compile_text: Compile, value: str) -> None:
    model = compile_text(
        "package L\n  model A\n    parameter Real p = 1;\n    parameter Real r = 1;\n"
        "    output Real y = p + r;\n  end A;\n"
        "  model Base\n    parameter Real q = 2;\n    replaceable A a;\n  end Base;\n"
        f"  model M\n    extends Base(redeclare A a(final p={value}, r=5));\n"
        f"    replaceable A b(final p = 4) constrainedby A;\n  end M;\nend L;\n",
        "L.M",
    )
    assert {v.name for v in model.model.parameters} == {"q", "a.r", "b.r"}
    assert {*model.at(p={"q": 5.0}).calculated} == {"a.p", "b.p"}
