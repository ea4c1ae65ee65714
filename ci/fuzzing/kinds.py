"""The kinds of input: the sound one, and how each is made unsound."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from robustness import ROOT, make_study, run

from fuzzing.changes import (
    changed_bytes,
    changed_json,
    changed_text,
    changed_toml,
    token,
)

_LIBRARY = ROOT / "modelica" / "Mechanisms"
_CLASS = "Mechanisms.FMUs.MassSpringDamper"

COMMANDS = {
    "build": ["Mechanisms.FMUs.MassSpringDamper", "--output", "--option", "--tolerance"],
    "check": ["problem.toml", "--quick", "--set", "--json"],
    "estimate": ["problem.toml", "-o", "out", "--set", "--resume", "--force", "-q", "--export"],
    "export": ["results", "--form", "-o", "out.mo"],
    "report": ["results", "results/result.json"],
    "simulate": ["oscillator.fmu", "--data", "data.csv", "--inputs", "F=force", "--set", "m=1",
                 "--stop-time", "--step", "--outputs", "x", "--tolerance", "--start-time"],
    "validate": ["oscillator.fmu", "--resets", "2", "--tube", "--timeout", "5", "--reference"],
    "profile": ["problem.toml", "--parameters", "k", "--level", "-q", "-o", "out"],
    "plot-cost": ["problem.toml", "--parameters", "m", "k", "--grid", "3", "--range"],
    "design": ["design.toml", "-o", "out.csv"],
    "plugins": [],
    "doctor": [],
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What is run where.

    Parameters
    ----------
    commands
        Arguments of fmident, one after the other.
    changed
        File that was changed, for ``--keep``.
    """

    commands: Sequence[Sequence[str]]
    changed: Path | None = None


class Kinds:
    """Sound inputs, and how each kind is made unsound.

    Parameters
    ----------
    sound
        Folder of the sound inputs; made by :meth:`prepare`.
    """

    def __init__(self, sound: Path) -> None:
        self.sound = sound
        documented = (ROOT / "docs" / "reference" / "problem-file.md").read_text(encoding="utf-8")
        documented += (ROOT / "docs" / "how-to" / "stages.md").read_text(encoding="utf-8")
        blocks = re.findall(r"```toml\n(.*?)```", documented, re.DOTALL)
        self.pool = [line for block in blocks for line in block.splitlines() if line.strip()]
        sources = sorted(_LIBRARY.glob("**/*.mo"))
        self.sources = [p for p in sources if re.search(r"^\s+experiment\(", p.read_text(), re.M)]
        self.makers: dict[str, Callable[[Path, Random], Case]] = {
            "problem": self.problem,
            "design": self.design,
            "csv": self.csv,
            "fmu": self.fmu,
            "xml": self.xml,
            "catalog": self.catalog,
            "result": self.result,
            "journal": self.journal,
            "modelica": self.modelica,
            "command": self.command,
        }

    def prepare(self) -> None:
        """Write the sound inputs: a study, its result, one unfinished run."""
        make_study(self.sound)
        fmident = [sys.executable, "-m", "fmident", "estimate", "problem.toml", "-q"]
        run([*fmident, "-o", "results"], self.sound)
        # A run that a limit has ended can be resumed.
        run([*fmident, "-o", "out", "--set", "estimator.max_iterations=1"], self.sound)
        (self.sound / "design.toml").write_text(_DESIGN)
        shutil.copyfile(self.sound / "oscillator.fmu", self.sound / f"{_CLASS}.fmu")

    def problem(self, folder: Path, random: Random) -> Case:
        """Change the problem file."""
        path = folder / "problem.toml"
        text = changed_toml(path.read_text(), self.pool, random)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        command = random.choice((
            ["check", "problem.toml", "--quick"],
            ["estimate", "problem.toml", "-q"],
            ["follow", "problem.toml", "data.csv", "--print-every", "50"],
            ["plot-cost", "problem.toml", "--parameters", "m", "k", "--grid", "3"],
        ))  # fmt: skip
        return Case([command], path)

    def design(self, folder: Path, random: Random) -> Case:
        """Change the file of a design of an experiment."""
        path = folder / "design.toml"
        text = changed_toml(path.read_text(), self.pool, random)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return Case([["design", "design.toml", "-o", "out.csv"]], path)

    def csv(self, folder: Path, random: Random) -> Case:
        """Change the data."""
        path = folder / "data.csv"
        if random.random() < 0.2:
            path.write_bytes(changed_bytes(path.read_bytes(), random))
        else:
            text = changed_text(path.read_text(), random)
            path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        command = random.choice((
            ["check", "problem.toml", "--quick"],
            ["simulate", "oscillator.fmu", "--data", "data.csv", "--inputs", "F=force"],
            ["follow", "problem.toml", "data.csv", "--print-every", "50"],
        ))  # fmt: skip
        return Case([command], path)

    def fmu(self, folder: Path, random: Random) -> Case:
        """Change the archive around the members: these hold programs, which are left alone."""
        path = folder / "oscillator.fmu"
        if random.random() < 0.6:
            content = path.read_bytes()
            # The directory and the end record are at the end; the library is in front.
            tail = random.choice((22, 400, 1200))
            path.write_bytes(content[:-tail] + changed_bytes(content[-tail:], random))
        else:
            _odd_members(path, random)
        return Case([["simulate", path.name, "--stop-time", "0.1", "-o", "out.csv"]], path)

    def xml(self, folder: Path, random: Random) -> Case:
        """Change the model description."""
        path = folder / "oscillator.fmu"
        with zipfile.ZipFile(path) as file:
            members = {name: file.read(name) for name in file.namelist()}
        text = members["modelDescription.xml"].decode()
        attributes = list(re.finditer(r'(\w+)="([^"]*)"', text))
        if random.random() < 0.7:
            one = random.choice(attributes)
            # What names the library in the archive would only be refused.
            value = token(random).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
            name = one[1] if random.random() < 0.9 else random.choice(attributes)[1]
            text = f'{text[: one.start()]}{name}="{value}"{text[one.end() :]}'
        else:
            text = changed_text(text, random)
        members["modelDescription.xml"] = text.encode("utf-8", "surrogatepass")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in members.items():
                file.writestr(name, content)
        (folder / "modelDescription.xml").write_bytes(members["modelDescription.xml"])
        commands = (
            ["simulate", path.name, "--stop-time", "0.1", "-o", "out.csv"],
            ["check", "problem.toml", "--quick"],
            ["validate", path.name, "--resets", "2", "--timeout", "5"],
        )
        return Case([random.choice(commands)], folder / "modelDescription.xml")

    def catalog(self, folder: Path, random: Random) -> Case:
        """Change the catalogue."""
        path = folder / "catalog.toml"
        whole, text = self._catalog()
        text = changed_toml(text, [line for line in whole.splitlines() if line.strip()], random)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return Case([["validate", "--all", "--catalog", path.name, "--resets", "2"]], path)

    def result(self, folder: Path, random: Random) -> Case:
        """Change a result."""
        path = folder / "results" / "result.json"
        if random.random() < 0.6:
            content = changed_json(json.loads(path.read_text()), random)
            path.write_text(json.dumps(content))
        else:
            text = changed_text(path.read_text(), random)
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
        command = random.choice((
            ["report", "results"],
            ["export", "results", "--form", random.choice(("modifier", "record", "ssv"))],
            ["profile", "problem.toml", "--result", "results", "--parameters", "k", "-q"],
            ["plot-cost", "problem.toml", "--parameters", "m", "k", "--grid", "3", "--result",
             "results"],
            ["estimate", "problem.toml", "-q", "-o", "results", "--force"],
        ))  # fmt: skip
        return Case([command], path)

    def journal(self, folder: Path, random: Random) -> Case:
        """Change what an unfinished run has left."""
        names = ("run.json", "run.json", "simulations.sqlite", "problem.toml", "ended")
        path = folder / ".out.run" / random.choice(names)
        content = path.read_bytes() if path.exists() else b"limit\n"
        if path.name == "run.json" and random.random() < 0.6:
            path.write_text(json.dumps(changed_json(json.loads(content), random)))
        elif random.random() < 0.1:
            path.unlink(missing_ok=True)
            path.mkdir()
        else:
            path.write_bytes(changed_bytes(content, random))
        resume = ["--resume"] if random.random() < 0.8 else []
        return Case([["estimate", "problem.toml", "-q", "-o", "out", *resume]], path)

    def modelica(self, folder: Path, random: Random) -> Case:
        """Change a class of the library, or one that has everything in it."""
        source, name, text = "Fuzzed.mo", "Fuzz.Circuit", _MODEL
        path = folder / source
        if random.random() < 0.3:
            source = _LIBRARY.name
            name, path = self._class(folder, random)
            text = path.read_text()
        for _ in range(random.choice((1, 1, 2))):
            match random.randrange(4):
                case 0:
                    values = list(re.finditer(r"(?<==\s)[^;,()]+(?=[;,)])", text))
                    if not values:
                        continue
                    one = random.choice(values)
                    text = text[: one.start()] + _expression(random) + text[one.end() :]
                case 1:
                    rows = text.split("\n")
                    rows.insert(random.randrange(1, len(rows)), random.choice(_LINES))
                    text = "\n".join(rows)
                case _:
                    text = changed_text(text, random)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return Case([["build", source, "--class", name, "-o", "out.fmu"]], path)

    def bases(self, kind: str, folder: Path) -> list[list[str]]:
        """Return commands that must succeed on inputs that nobody has changed."""
        random = Random(0)
        (folder / "catalog.toml").write_text(self._catalog()[1])
        name, _ = self._class(folder, random)
        (folder / "Everything.mo").write_text(_MODEL)
        problem, fmu = "problem.toml", "oscillator.fmu"
        check = ["check", problem, "--quick"]
        grid = ["plot-cost", problem, "--parameters", "m", "k", "--grid", "3"]
        build = ["build", "--output"]
        commands: dict[str, list[list[str]]] = {
            "problem": [check, ["estimate", problem, "-q"]],
            "design": [["design", "design.toml", "-o", "d.csv"]],
            "csv": [check, ["simulate", fmu, "--data", "data.csv", "--inputs", "F=force"]],
            "fmu": [["simulate", fmu, "--stop-time", "0.1", "-o", "out.csv"]],
            "xml": [check, ["validate", fmu, "--resets", "2", "--timeout", "20"]],
            "catalog": [["validate", "--all", "--catalog", "catalog.toml", "--resets", "2"]],
            "result": [["report", "results"], [*grid, "--result", "results"]],
            "journal": [["estimate", problem, "-q", "-o", "out", "--resume"]],
            "modelica": [
                [*build, "a.fmu", "Everything.mo", "--class", "Fuzz.Circuit"],
                [*build, "b.fmu", _LIBRARY.name, "--class", name],
            ],
        }
        return commands.get(kind, [])

    def _catalog(self) -> tuple[str, str]:
        """Return the catalogue, and the same with the entry of our FMU only."""
        text = (ROOT / "fmus" / "catalog.toml").read_text().replace("../", f"{ROOT}/")
        head, *entries = text.split("\n[[fmus]]")
        return text, "\n[[fmus]]".join([head, next(e for e in entries if f'"{_CLASS}"' in e)])

    def _class(self, folder: Path, random: Random) -> tuple[str, Path]:
        """Copy the library; return name and file of one of its classes."""
        shutil.copytree(_LIBRARY, folder / _LIBRARY.name)
        path = random.choice(self.sources).relative_to(_LIBRARY.parent)
        return ".".join(path.with_suffix("").parts), folder / path

    def command(self, folder: Path, random: Random) -> Case:
        """Put a command line together at random."""
        name = random.choice(list(COMMANDS))
        words = [w for w in COMMANDS[name] if random.random() < 0.85]
        for _ in range(random.choice((0, 1, 2))):
            odd = token(random).replace("\0", "")
            words.insert(random.randrange(len(words) + 1), odd)
        if random.random() < 0.4:
            keys = ("estimator.starts", "evaluation", "parameters.k.initial", "a.b.c", "m", "")
            setting = f"{random.choice(keys)}={token(random)}".replace("\0", "")
            words += ["--set", setting]
        if random.random() < 0.05:
            name = token(random).replace("\0", "") or "x"
        return Case([[name, *words]])


def _odd_members(path: Path, random: Random) -> None:
    """Add a member with an odd name, or give one an odd size."""
    names = (
        "a/" * 1000 + "x", "resources/" + "b/" * 1000 + "x", "resources/" + "n" * 300,
        "resources/" + "n/" * 3000, "/etc/x", "..", "resources/..", "resources", "binaries",
        "binaries/linux64/x.so/y", "modelDescription.xml/x", "resources/\udcff",
        "resources/\u202e", "c:/x", "resources/con", "resources/a\nb", "", "/", "resources//x",
    )  # fmt: skip
    with zipfile.ZipFile(path, "a") as file:
        info = zipfile.ZipInfo(random.choice(names))
        info.external_attr = random.choice((0, 0o120777 << 16, 0o040755 << 16, 0o020666 << 16))
        with contextlib.suppress(UnicodeEncodeError, ValueError):
            file.writestr(info, b"x" * random.choice((0, 10, 10_000_000)))


_DESIGN = """
[model]
fmu = "oscillator.fmu"
[parameters.k]
initial = 300.0
[parameters.d]
initial = 0.5
[outputs]
x = 1e-3
[design]
duration = 2.0
rate = 100.0
[sine]
input = "F"
amplitude = 10.0
omega = [1.0, 35.0]
"""

_MODEL = """\
package Fuzz
  function f
    input Real x;
    input Integer n;
    output Real y;
  algorithm
    y := 0;
    for i in 1:n loop
      y := y + x^i/i;
    end for;
  end f;
  connector Pin
    Real v(unit = "V");
    flow Real i(unit = "A");
  end Pin;
  partial model Two
    Pin p;
    Pin n;
  equation
    p.i + n.i = 0;
  end Two;
  model Resistor
    extends Two;
    parameter Real R(unit = "Ohm", min = 0) = 10;
  equation
    p.v - n.v = R*p.i;
  end Resistor;
  model Source
    extends Two;
    input Real u(unit = "V");
  equation
    p.v - n.v = u;
  end Source;
  model Ground
    Pin p;
  equation
    p.v = 0;
  end Ground;
  model Circuit "Everything"
    parameter Integer n = 3;
    parameter Real a[n] = {1.0, 2.0, 3.0};
    parameter Real k = 2*sum(a);
    parameter Boolean damped = true;
    input Real u(unit = "V");
    output Real y;
    Source source(u = u);
    Ground ground;
    Resistor r1(R = 5);
    Resistor r2;
    Real x[n](start = zeros(n), each fixed = true);
    Real z(start = 0.1, fixed = true);
  equation
    connect(source.p, r1.p);
    connect(r1.n, r2.p);
    connect(r2.n, source.n);
    connect(ground.p, source.n);
    for i in 1:n loop
      der(x[i]) = -a[i]*x[i] + (if i > 1 then x[i - 1] else r2.p.v);
    end for;
    der(z) = if damped then -f(z, 3) else k*sin(3*time);
    y = x[n] + z;
    annotation(experiment(StopTime = 1, Tolerance = 1e-6));
  end Circuit;
end Fuzz;
"""
_LINES = (
    "  Real big[100000000];",
    "  parameter Real table[3000, 3000] = fill(0.0, 3000, 3000);",
    "  Real m[1000000000](each start = 0);",
    "  parameter Integer n = 2147483647;",
    "  parameter Integer n = -1;",
    "  import Modelica.Constants.*;",
    "  extends Circuit;",
    "  extends Fuzz;",
    "  Circuit c[100];",
    "  Circuit inside;",
    "  outer Real g;",
    "  equation",
    "  algorithm",
    "  for i in 1:1000000000 loop der(x[i]) = 1; end for;",
    "  y = sum(i for i in 1:100000000);",
    "  when time > 0.5 then reinit(z, 1); end when;",
    "  assert(k > 0, \"k\");",
    "  initial equation z = 0;",
    "  end Circuit;",
    "  constant Real c = c + 1;",
    "  parameter Real c1 = c2; parameter Real c2 = c1;",
    "  redeclare model Two = Two;",
    "  function g = f;",
    "  external \"C\" y = sin(x);",
    "  type E = enumeration(a, b);",
)  # fmt: skip


def _expression(random: Random) -> str:
    return random.choice((
        "(" * 2000 + "1" + ")" * 2000, "+".join(["1"] * 5000), "-" * 3000 + "1", "1e400", "0/0",
        "{" * 30 + "1" + "}" * 30, "fill(1.0, 1000000000)", "1:1000000000", "ones(100000, 100000)",
        "f(f(f(1, 1000000000), 2), 3)", "sin(", "if true then 1", '"text"', "true", "time",
        "x", "der(z)", "n", "a[n + 1]", "a[0]", "a[:]", "size(a, 5)", "undefined", "9" * 400,
        "9" * 5000, "1" + "0" * 30, "-1", "0", "sqrt(-1)", "f()", "Circuit()", "E.a", "1.5",
        "2^1024", "10^(-400)",
    ))  # fmt: skip
