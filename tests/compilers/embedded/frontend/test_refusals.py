"""What the subset does not contain, and what is wrong: each with rule, place and advice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.errors import CompilationError

OTHER = "--compiler openmodelica"


@dataclass(frozen=True)
class Case:
    """A model that must be refused.

    The model has the input u, the output y and the state x with ``der(x) = -x + u``; `mark` is
    the text in it at which the first diagnostic must point.
    """

    rule: str
    mark: str
    equations: str = "y = x;"
    declarations: str = ""
    before: str = ""
    after: str = ""
    words: tuple[str, ...] = ()
    hint: str = ""

    @property
    def source(self) -> str:
        return (
            f"{self.before}\nmodel M\n  input Real u;\n  output Real y;\n"
            f"  Real x(start=1, fixed=true);\n  {self.declarations}\nequation\n"
            f"  der(x) = -x + u;\n  {self.equations}\n{self.after}\nend M;\n"
        )


def function(body: str, inputs: str = "input Real a;", name: str = "f") -> str:
    return f"function {name}\n  {inputs}\n  output Real b;\nalgorithm\n  {body}\nend {name};\n"


CASES = {
    # events and discrete variables
    "when": Case(
        "unsupported-when",
        "x > 0.5",
        "y = x;\n  when x > 0.5 then\n    reinit(x, 0);\n  end when;",
        hint=OTHER,
    ),
    "when in a component": Case(
        "unsupported-when",
        "time > 1",
        declarations="A a;",
        before=(
            "model A\n  discrete Real z;\nequation\n  when time > 1 then\n    z = 1;\n  end when;\n"
            "end A;"
        ),
        hint=OTHER,
    ),
    "sample": Case(
        "unsupported-when",
        "sample(0, 0.1)",
        "y = x;\n  when sample(0, 0.1) then\n    z = x;\n  end when;",
        "discrete Real z;",
        hint=OTHER,
    ),
    "pre": Case(
        "unsupported-when",
        "x > 0.7",
        "y = x;\n  when x > 0.7 then\n    z = pre(z) + 1;\n  end when;",
        "discrete Real z(start=0);",
        hint=OTHER,
    ),
    "if-equation": Case(
        "unsupported-event",
        "x > 0 then",
        "if x > 0 then\n    y = x;\n  else\n    y = 2*x;\n  end if;",
        words=("'x > 0'",),
        hint="noEvent",
    ),
    "if-expression": Case(
        "unsupported-event",
        "x > 0 then",
        "y = if x > 0 then x else 2*x;",
        words=("'x > 0'",),
        hint=OTHER,
    ),
    "if on time": Case("unsupported-event", "time > 1", "y = if time > 1 then x else 2*x;"),
    "condition of continuous functions": Case(
        "unsupported-event", "min(x, u) > 0", "y = if min(x, u) > 0 then 1 else 2;"
    ),
    "relation to a Boolean": Case(
        "unsupported-discrete",
        "Boolean b",
        "b = x > 0;\n  y = x;",
        "Boolean b;",
        words=("Boolean", "'b'"),
        hint=OTHER,
    ),
    "edge": Case(
        "unsupported-discrete",
        "Boolean b",
        "b = x > 0.5;\n  y = if edge(b) then 1 else 0;",
        "Boolean b;",
    ),
    "change": Case(
        "unsupported-discrete",
        "Boolean b",
        "b = x > 0.5;\n  y = if change(b) then 1 else 0;",
        "Boolean b;",
    ),
    "initial": Case(
        "unsupported-initial", "initial()", "y = if initial() then 1 else x;", hint=OTHER
    ),
    "terminal": Case("unsupported-terminal", "terminal()", "y = if terminal() then 1 else x;"),
    "terminate": Case(
        "unsupported-terminate", "terminate(", 'y = x;\n  terminate("end");', hint=OTHER
    ),
    "discrete Real": Case(
        "unsupported-discrete", "Real z;", "y = x;\n  z = 1;", "discrete Real z;"
    ),
    "Integer variable": Case("unsupported-discrete", "Integer i", "y = x;\n  i = 3;", "Integer i;"),
    "String variable": Case("unsupported-discrete", "String s", 'y = x;\n  s = "a";', "String s;"),
    "sign": Case("unsupported-sign", "sign(x)", "y = sign(x);", hint="tanh"),
    "floor": Case("unsupported-floor", "floor(x)", "y = floor(x);", hint=OTHER),
    "ceil": Case("unsupported-ceil", "ceil(x)", "y = ceil(x);"),
    "integer": Case("unsupported-integer", "integer(x)", "y = integer(x);"),
    "mod": Case("unsupported-mod", "mod(x, 2)", "y = mod(x, 2);"),
    "rem": Case("unsupported-rem", "rem(x, 2)", "y = rem(x, 2);"),
    "div": Case("unsupported-div", "div(x, 2)", "y = div(x, 2);"),
    "enumeration": Case(
        "unsupported-type",
        "E e = E.a",
        "y = if e == E.a then x else 0;",
        "type E = enumeration(a, b);\n  parameter E e = E.a;",
    ),
    # operators
    "delay": Case("unsupported-delay", "delay(x, 0.1)", "y = delay(x, 0.1);", hint=OTHER),
    "spatialDistribution": Case(
        "unsupported-spatialDistribution",
        "spatialDistribution(",
        "(y, q) = spatialDistribution(u, 0, x, true, {0, 1}, {0, 0});",
        "Real q;",
        hint=OTHER,
    ),
    "homotopy": Case("unsupported-homotopy", "homotopy(", "y = homotopy(x, 0);", hint=OTHER),
    "semiLinear": Case("unsupported-semiLinear", "semiLinear(", "y = semiLinear(x, 1, 2);"),
    "clock": Case(
        "unsupported-clocked",
        "Clock(",
        "y = x;\n  z = sample(x, Clock(0.1));",
        "Real z;",
        hint=OTHER,
    ),
    "state machine": Case(
        "unsupported-state-machine",
        "initialState(",
        "y = x;\n  initialState(s1);\n  transition(s1, s2, x > 1);",
        "block S\n    Real q = 1;\n  end S;\n  S s1;\n  S s2;",
        hint=OTHER,
    ),
    "stream connector": Case(
        "unsupported-stream",
        "inStream(",
        "y = inStream(s1.h);\n  connect(s1, s2);",
        "S s1, s2;",
        "connector S\n  Real p;\n  flow Real m;\n  stream Real h;\nend S;",
    ),
    "expandable connector": Case(
        "unsupported-expandable",
        "expandable",
        declarations="E e;",
        before="expandable connector E\nend E;",
    ),
    "inner and outer": Case(
        "unsupported-inner-outer",
        "inner",
        "y = a.z;",
        "inner Real g = 3;\n  A a;",
        "model A\n  outer Real g;\n  Real z = g;\nend A;",
        hint=OTHER,
    ),
    "cardinality": Case(
        "unsupported-cardinality",
        "cardinality(",
        "y = cardinality(p);",
        "P p;",
        "connector P\n  Real a;\n  flow Real b;\nend P;",
    ),
    # algorithms and functions
    "algorithm": Case("unsupported-algorithm", "y := 2*x", "algorithm\n  y := 2*x;", hint=OTHER),
    "initial algorithm": Case(
        "unsupported-algorithm", "algorithm", after="initial algorithm\n  x := 2;", hint=OTHER
    ),
    "external function": Case(
        "unsupported-external",
        "external",
        "y = f(x);",
        before='function f\n  input Real a;\n  output Real b;\n  external "C" b = g(a);\nend f;',
        hint=OTHER,
    ),
    "impure function": Case(
        "unsupported-impure", "impure", "y = f(x);", before="impure " + function("b := a;")
    ),
    "recursion": Case(
        "unsupported-recursion",
        "f(a)",
        "y = f(x);",
        before=function("b := f(a) + 1;"),
        words=("'f'",),
    ),
    "while": Case(
        "unsupported-function-body",
        "f(x)",
        "y = f(x);",
        before=function("b := a;\n  while b > 1 loop\n    b := b - 1;\n  end while;"),
        words=("'f'",),
        hint=OTHER,
    ),
    "break that depends on time": Case(
        "unsupported-function-body",
        "f(x)",
        "y = f(x);",
        before=function(
            "for i in 1:3 loop\n    if a > i then\n      break;\n    end if;\n"
            "    b := i;\n  end for;"
        ),
    ),
    "result not assigned on every path": Case(
        "unassigned",
        "Real b;",
        "y = f(x);",
        before=function("if a > 0 then\n    b := 1;\n  end if;"),
        words=("'b'", "'f'"),
    ),
    "partial derivative of a function": Case(
        "unsupported-derivative-function",
        "der(f, a)",
        "y = fd(x);",
        "function fd = der(f, a);",
        function("b := a^2;"),
    ),
    "call as an equation": Case(
        "unsupported-call-statement",
        "f(x)",
        "y = x;\n  f(x);",
        before='function f\n  input Real a;\nalgorithm\n  assert(a < 2, "a");\nend f;',
    ),
    "scalar function of an array": Case(
        "shape-mismatch",
        "f({x, u})",
        "a = f({x, u});\n  y = a[1];",
        "Real a[2];",
        function("b := a;"),
    ),
    # der
    "der of an input": Case("unsupported-der", "der(u)", "y = der(u);", hint=OTHER),
    "der of an alias of an input": Case(
        "unsupported-der-input", "z);", "z = u;\n  y = der(z);", "Real z;", words=("'u'",)
    ),
    "der of an expression": Case("unsupported-der", "der(x*u)", "y = der(x*u);", hint=OTHER),
    "second derivative": Case("unsupported-der", "der(der(x))", "y = der(der(x));"),
    # structure
    "too few equations": Case(
        "too-few-equations", "Real z;", declarations="Real z;", words=("'z'",)
    ),
    "too many equations": Case(
        "too-many-equations", "y = 2*x", "y = x;\n  y = 2*x;", words=("'y = 2*x'",)
    ),
    "connectors that do not match": Case(
        "too-few-equations",
        "Real a;",
        "y = x;\n  connect(p, q);",
        "P p;\n  Q q;",
        "connector P\n  Real a;\n  flow Real b;\nend P;\n"
        "connector Q\n  Real c;\n  flow Real b;\nend Q;",
    ),
    "pendulum in Cartesian coordinates": Case(
        "higher-index",
        "a^2 + b^2 = 1",
        "y = x;\n  der(a) = va;\n  der(b) = vb;\n  der(va) = -F*a;\n  der(vb) = -F*b - 9.81;\n"
        "  a^2 + b^2 = 1;",
        "Real a, b, va, vb, F;",
        words=("'a'", "'b'", "'a^2 + b^2 = 1'"),
        hint=OTHER,
    ),
    "derivative of a formula of an input": Case(
        "higher-index",
        "z = 2*x + u",
        "z = 2*x + u;\n  y = der(z);",
        "Real z;",
        words=("'z = 2*x + u'", "'x'", "'u'"),
    ),
    "second derivative of a state that an input drives": Case(
        "higher-index", "v = der(x)", "v = der(x);\n  y = der(v);", "Real v;", words=("'u'",)
    ),
    "nonlinear loop": Case(
        "nonlinear-loop",
        "y^2 + z",
        "y^2 + z = x;\n  z*y = 1 + x;",
        "Real z;",
        words=("'y'", "'z'", "'y^2 + z = x'"),
        hint=OTHER,
    ),
    "nonlinear equation": Case("nonlinear-loop", "y + exp(y)", "y + exp(y) = x;"),
    "singular system": Case(
        "singular-block",
        "y + z = x",
        "y + z = x;\n  2*y + 2*z = u;",
        "Real z;",
        words=("'y'", "'z'"),
    ),
    "singular for every parameter": Case(
        "singular-block",
        "y + p*z",
        "y + p*z = x;\n  p*y + p*p*z = u;",
        "Real z;\n  parameter Real p = 2;",
    ),
    "large loop": Case(
        "large-loop",
        "i in 1:14",
        "for i in 1:14 loop\n    z[i] = x + 0.1*sum(z);\n  end for;\n  y = sum(z);",
        "Real z[14];",
        words=("14",),
    ),
    # initial values
    "initial equation for a fixed state": Case(
        "initial-equation", "x = 3", after="initial equation\n  x = 3;"
    ),
    "too many initial equations": Case(
        "initial-equation",
        "z = 11",
        "y = z;\n  der(z) = x;",
        "Real z;",
        after="initial equation\n  z = 11;\n  z = 12;",
    ),
    "ambiguous initial equation": Case(
        "initial-equation",
        "z + w = 4",
        "y = z;\n  der(z) = w;\n  der(w) = -z;",
        "Real z, w;",
        after="initial equation\n  z + w = 4;",
        words=("'z'", "'w'"),
        hint="fixed=true",
    ),
    "nonlinear initial equation": Case(
        "nonlinear-loop",
        "z^2 = 4",
        "y = z;\n  der(z) = x;",
        "Real z;",
        after="initial equation\n  z^2 = 4;",
    ),
    "start that varies": Case(
        "variability", "2*x)", "y = z;\n  der(z) = x;", "Real z(start=2*x);", words=("'z'",)
    ),
    "fixed algebraic variable": Case(
        "fixed-algebraic",
        "Real z",
        "y = x;\n  z = 2*x;",
        "Real z(start=1, fixed=true);",
        words=("'z'",),
    ),
    # parameters
    "parameter without value": Case(
        "no-value", "Real p;", "y = p*x;", "parameter Real p;", hint="p = ..."
    ),
    "constant without value": Case("no-value", "Real k;", "y = k*x;", "constant Real k;"),
    "cyclic parameters": Case(
        "cyclic-parameter",
        "p = q",
        "y = p*x;",
        "parameter Real p = q;\n  parameter Real q = 2*p;",
        words=("'p'",),
    ),
    "parameter that varies": Case("variability", "p = x", "y = p*x;", "parameter Real p = x;"),
    "Integer parameter with a Real value": Case(
        "type-error", "2.5", "y = n*x;", "parameter Integer n = 2.5;"
    ),
    "parameter from an initial equation": Case(
        "unsupported-initial-parameter",
        "Real k",
        "y = k*x;",
        "parameter Real k(fixed=false, start=2);",
        after="initial equation\n  k = 3;",
        hint=OTHER,
    ),
    "input with a binding": Case(
        "unsupported-input-binding", "Real w = x", "y = w;", "input Real w = x;", words=("'w'",)
    ),
    # wrong source
    "units": Case(
        "unit-mismatch",
        "y = m + l",
        "y = m + l;",
        'parameter Real m(unit="kg") = 1;\n  parameter Real l(unit="m") = 1;',
        words=("'kg'", "'m'", "'y = m + l'"),
    ),
    "syntax": Case("syntax-error", ";\n\nend M", "y = x +;", words=("';'",), hint="expected"),
    "end of another class": Case("syntax-error", "end M;", after="end N;"),
    "keyword as a name": Case("syntax-error", "der;", declarations="Real der;"),
    "duplicate declaration": Case(
        "duplicate", "x;\nequation", declarations="Real x;", words=("'x'",)
    ),
    "unknown variable": Case(
        "unknown-variable",
        "stiffnes;",
        "y = stiffnes;",
        "parameter Real stiffness = 1;",
        words=("'stiffnes'",),
        hint="'stiffness'",
    ),
    "unknown function": Case(
        "unknown-function",
        "squared(x)",
        "y = squared(x);",
        before=function("b := a^2;", name="square"),
        hint="'square'",
    ),
    "too many arguments": Case(
        "argument-count",
        "f(x, 1, 2)",
        "y = f(x, 1, 2);",
        before=function("b := a;"),
        words=("'f'",),
    ),
    "too few arguments": Case(
        "argument-count",
        "f(x)",
        "y = f(x);",
        before=function("b := a;", "input Real a;\n  input Real c;"),
        words=("'c'",),
    ),
    "arguments of a built-in function": Case("argument-count", "sin(x, 2)", "y = sin(x, 2);"),
    "redeclaration of nothing": Case(
        "wrong-modifier",
        "B = C",
        declarations=("A a(redeclare model B = C);"),
        before="model A\n  Real z = 1;\nend A;",
        words=("'B'",),
    ),
    "modifier of nothing": Case(
        "wrong-modifier",
        "q=3",
        declarations="A a(q=3);",
        before="model A\n  parameter Real p = 1;\nend A;",
        words=("'q'",),
    ),
    "modifier of a final parameter": Case(
        "wrong-modifier",
        "p=3",
        declarations="A a(p=3);",
        before="model A\n  final parameter Real p = 1;\nend A;",
        words=("'p'", "final"),
    ),
    "partial class": Case(
        "partial-class",
        "a;\nequation",
        declarations="A a;",
        before="partial model A\n  Real z;\nend A;",
        words=("'A'",),
    ),
    "missing package": Case(
        "missing-class", "Foo.Bar b", declarations="Foo.Bar b;", words=("'Foo.Bar'",), hint="'Foo'"
    ),
    "missing import": Case("missing-class", "Foo.Bar;", declarations="import Foo.Bar;"),
    "missing base class": Case(
        "missing-class", "Nothing;", declarations="extends Nothing;", words=("'Nothing'",)
    ),
    "Modelica Standard Library, component": Case(
        "unsupported-msl",
        "Modelica.Blocks",
        "y = s.y;",
        "Modelica.Blocks.Sources.Sine s;",
        hint=OTHER,
    ),
    "Modelica Standard Library, function": Case(
        "unsupported-msl", "Modelica.Math.sin", "y = Modelica.Math.sin(x);", hint=OTHER
    ),
    "Modelica Standard Library, type": Case(
        "unsupported-msl", "Modelica.Units", "y = x;\n  m = 1;", "Modelica.Units.SI.Mass m;"
    ),
    "sizes": Case(
        "shape-mismatch", "b = a;", "y = x;\n  a = {1, 2, 3};\n  b = a;", "Real a[3];\n  Real b[2];"
    ),
    "subscript": Case("shape-mismatch", "a[4]", "y = a[4];\n  a = {1, 2, 3};", "Real a[3];"),
    "String for a Real": Case("type-error", 'y = "text"', 'y = "text";'),
    "Boolean for a Real": Case("type-error", "y = true", "y = true;"),
    "Real for a Boolean": Case("type-error", "assert(x,", 'y = x;\n  assert(x, "a");'),
    "equality of Reals": Case("real-equality", "== 0", "y = noEvent(if x == 0 then 1 else 0);"),
    "division by zero": Case("division-by-zero", "x/0", "y = x/0;"),
    "logarithm of a negative constant": Case("not-finite", "log(-1)", "y = x + log(-1);"),
    "text outside ASCII before the mistake": Case(
        "unknown-variable", "zz;", "y = zz;", 'Real z = x "Größe, 5 °";'
    ),
}


def refused(path: Path, source: str, name: str = "M") -> CompilationError:
    path.write_text(source, encoding="utf-8")
    with pytest.raises(CompilationError) as caught:
        load_model(name, [path])
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_refusal(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = tmp_path / "M.mo"
    found = refused(path, case.source).diagnostics[0]
    assert found.severity == "error"
    assert found.rule == case.rule
    assert found.location is not None
    assert found.location.file == str(path)
    line, column = found.location.line, found.location.column
    assert line is not None
    assert column is not None
    text = case.source.splitlines(keepends=True)
    rest = text[line - 1][column - 1 :] + "".join(text[line:])
    assert rest.startswith(case.mark), (line, column, rest[:40])
    for word in case.words:
        assert word in found.message.replace("`", "'")
    assert case.hint in (found.hint or "")


def test_there_are_many_kinds() -> None:
    assert len({case.rule for case in CASES.values()}) >= 50


def test_several_errors_are_told_at_once(tmp_path: Path) -> None:
    source = (
        "model M\n  Real x;\n  Real y;\nequation\n  der(x) = sign(x);\n  y = floor(x);\nend M;\n"
    )
    rules = [d.rule for d in refused(tmp_path / "M.mo", source).diagnostics]
    assert rules == ["unsupported-sign", "unsupported-floor"]


def test_missing_class_names_the_nearest(tmp_path: Path) -> None:
    source = "package L\n  model MassSpring\n    Real x = 1;\n  end MassSpring;\nend L;\n"
    found = refused(tmp_path / "L.mo", source, "L.MasSpring").diagnostics[0]
    assert found.rule == "missing-class"
    assert found.hint is not None
    assert "'L.MassSpring'" in found.hint


def test_a_broken_file_beside_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "other.mo").write_text("model M\n  this is no Modelica\nend M;\n")
    file = tmp_path / "M.mo"
    file.write_text("model M\n  output Real y = time;\nend M;\n")
    model, _ = load_model("M", [file])
    assert [v.name for v in model.outputs] == ["y"]


def test_error_in_a_package_of_folders_names_the_file(tmp_path: Path) -> None:
    package = tmp_path / "Lib"
    package.mkdir()
    (package / "package.mo").write_text("package Lib\nend Lib;\n")
    (package / "Good.mo").write_text("within Lib;\nmodel Good\n  Real x = 1;\nend Good;\n")
    (package / "Bad.mo").write_text(
        "within Lib;\nmodel Bad\n  Real x = 1;\n  output Real y = sign(x);\nend Bad;\n"
    )
    load_model("Lib.Good", [package])
    with pytest.raises(CompilationError) as caught:
        load_model("Lib.Bad", [package])
    place = caught.value.diagnostics[0].location
    assert place is not None
    assert (place.file, place.line, place.column) == (str(package / "Bad.mo"), 4, 19)


def test_model_in_a_file_uses_a_package(tmp_path: Path) -> None:
    package = tmp_path / "Lib"
    package.mkdir()
    (package / "package.mo").write_text("package Lib\nend Lib;\n")
    (package / "Lag.mo").write_text(
        "within Lib;\nmodel Lag\n  parameter Real T = 2;\n  Real x;\nequation\n  T*der(x) = -x;\n"
        "end Lag;\n"
    )
    file = tmp_path / "User.mo"
    file.write_text("model User\n  extends Lib.Lag(T=3);\n  output Real y = x;\nend User;\n")
    model, _ = load_model("User", [file, package])
    assert {v.name: v.start for v in model.parameters} == {"T": 3.0}


def test_syntax_error_that_hides_the_class(tmp_path: Path) -> None:
    source = "package L\n  model M\n    Real x = (1;\n  end M;\nend L;\n"
    found = refused(tmp_path / "L.mo", source, "L.M").diagnostics[0]
    assert found.rule == "syntax-error"
    assert found.location is not None
    assert found.location.line == 3


@pytest.mark.parametrize(
    ("line", "token", "column", "hint"),
    [
        ("  parameter Real m = 1 // mass\n  output Real x = m;", "output", 3, "line 2"),
        ("  Real x = 1  Real y = 2;", "Real", 15, "there"),
        ('  Real x = 1 "text"\n\n\n  Real y = 2;', "Real", 3, "line 2"),
    ],
)
def test_missing_semicolon(tmp_path: Path, line: str, token: str, column: int, hint: str) -> None:
    found = refused(tmp_path / "M.mo", f"model M\n{line}\nend M;\n").diagnostics[0]
    assert found.rule == "syntax-error"
    assert found.message == f"syntax error: expected ';' before '{token}'"
    assert found.location is not None
    assert found.location.column == column
    assert found.hint is not None
    assert hint in found.hint


def test_hint_of_a_syntax_error_is_short(tmp_path: Path) -> None:
    source = "model M\n  Real y;\nequation\n  y = 1 + ;\nend M;\n"
    found = refused(tmp_path / "M.mo", source).diagnostics[0]
    assert found.hint is not None
    assert "gtequ" not in found.hint
    assert len(found.hint) < 100


def test_syntax_error_inside_a_package_of_folders(tmp_path: Path) -> None:
    package = tmp_path / "Lib"
    package.mkdir()
    (package / "package.mo").write_text("package Lib\nend Lib;\n")
    (package / "Good.mo").write_text("within Lib;\nmodel Good\n  Real x = 1;\nend Good;\n")
    (package / "Bad.mo").write_text("within Lib;\nmodel Bad\n  Real x = 1\nend Bad;\n")
    with pytest.raises(CompilationError) as caught:
        load_model("Lib.Bad", [package])
    found = caught.value.diagnostics[0]
    assert found.rule == "syntax-error"
    assert found.location is not None
    assert (Path(found.location.file).name, found.location.line) == ("Bad.mo", 4)


@pytest.mark.parametrize("statement", ["SI = Modelica.Units.SI", "Modelica.Units.SI"])
def test_import_of_standard_library_units_is_told_once(tmp_path: Path, statement: str) -> None:
    source = (
        f"model M\n  import {statement};\n  parameter SI.Mass m = 1;\n  SI.Force f = 2;\nend M;\n"
    )
    (found,) = refused(tmp_path / "M.mo", source).diagnostics
    assert found.rule == "unsupported-msl"
    assert found.hint is not None
    assert "import SI = Mechanisms.Units" in found.hint


def test_consequences_of_a_missing_import_are_left_out(tmp_path: Path) -> None:
    source = "model M\n  import F = Foo.Bar;\n  F.A a;\n  Other.B b;\nend M;\n"
    found = refused(tmp_path / "M.mo", source).diagnostics
    assert [d.rule for d in found] == ["missing-class", "missing-class"]
    assert [d.location.line for d in found if d.location is not None] == [2, 4]
    assert "'Foo'" in (found[0].hint or "")


def test_library_that_no_annotation_names(tmp_path: Path) -> None:
    for name, text in (
        ("Units", 'package Units\n  type Mass = Real(unit="kg");\nend Units;\n'),
        ("Broken", "package Broken\n  this is no Modelica\nend Broken;\n"),
        ("Lib", "package Lib\nend Lib;\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "package.mo").write_text(text)
    (tmp_path / "Lib" / "M.mo").write_text(
        "within Lib;\nmodel M\n  import U = Units;\n  parameter U.Mass m = 2;\n"
        "  output Real y = m;\nend M;\n"
    )
    model, _ = load_model("Lib.M", [tmp_path / n for n in ("Lib", "Units", "Broken")])
    assert [v.unit for v in model.parameters] == ["kg"]
    (tmp_path / "Lib" / "M.mo").write_text(
        "within Lib;\nmodel M\n  parameter Units.Mass m = 2;\n  output Real y = m;\n"
        "equation\n  y = 2*m;\nend M;\n"
    )
    with pytest.raises(CompilationError) as caught:
        load_model("Lib.M", [tmp_path / n for n in ("Lib", "Units")])
    assert caught.value.diagnostics[0].rule == "too-many-equations"
