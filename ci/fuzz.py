#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Give fmident broken inputs of every kind and look at how it answers.

Each case changes sound files at random, then runs commands on them in a child process. An answer
is an exit code that the documentation knows, a message that begins with 'error:' where it is 2, no
traceback, no word of more than 300 equal letters, no file left behind, less than 3 GB of memory.
A case that takes longer than its limit is ended by Ctrl-C and has to obey it. The same seed gives
the same cases: '--only KIND --case N' repeats one and prints what was said.

Past 500 lines, since a program that runs alone holds the sound files of every kind beside their
changes.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from robustness import CODES, ROOT, Budget, arguments, environment, make_study, print_table, run

LIMIT_S = 45.0
"""After so long a case is ended by Ctrl-C."""

BASE_LIMIT_S = 300.0
"""What was not changed may take longer: it must succeed."""

GRACE_S = 20.0
"""After Ctrl-C a command ends within this time."""

MEMORY_BYTES = 3 * 10**9

_ECHO = re.compile(r"([^-\s=_])\1{300,}")
_IGNORED = re.compile(r"results(-.*|\.\d+)?$|.*\.(run|run\.\d+)$|out.*|build$|cost\.png$")

LONG = (
    "9" * 400,
    "9" * 5000,
    "-" + "1" * 4301,
    "x" * 5000,
    "0x" + "f" * 5000,
    "1e" + "9" * 300,
    "[" * 2000 + "]" * 2000,
    "(" * 3000 + ")" * 3000,
    "{a=" * 500 + "1" + "}" * 500,
    "a." * 2000 + "b",
    "1" * 131_073,
)
TOKENS = (
    "", "0", "-1", "1e400", "-1e400", "nan", "inf", "-inf", "1e-320", "true", "null", "[1]", "[]",
    "{}", "[[1]]", '""', '"x"', "''", "1979-05-27", "07:32:00", "2**64", "18446744073709551616",
    "\0", "\ufeff", "\u2028", "é", "\U0001f600", "%s", "{}", "{0.__class__}", "../../etc/passwd",
    "/dev/null", ".", "~", "-", "--", "\\", '"', "'", "#", ";", ",", "\t", "\r", "=", "]]>", "&lt;",
    "<!--", "1_000", "+5", "0b1", "1,5", "1.5.2", "1e5 ", "²", "٣", "\u00b5", "[", "]", "{", "}",
)  # fmt: skip

_LIBRARY = ROOT / "modelica" / "Mechanisms"
_CLASS = "Mechanisms.Oscillators.MassSpringDamper"

COMMANDS = {
    "build": ["Mechanisms.Oscillators.MassSpringDamper", "--output", "--option", "--tolerance"],
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


@dataclass(frozen=True)
class Answer:
    """How a command ended.

    Parameters
    ----------
    code
        ``None`` when its process died or had to be killed.
    text
        All that was written.
    told
        Standard error.
    seconds, memory
        What it took.
    stopped
        Whether Ctrl-C had to end it.
    """

    code: int | None
    text: str
    told: str
    seconds: float
    memory: int
    stopped: bool = False


# --- changes ---------------------------------------------------------------------------------


def token(random: Random) -> str:
    """Return something that is seldom expected."""
    return random.choice(LONG) if random.random() < 0.3 else random.choice(TOKENS)


def changed_text(text: str, random: Random) -> str:
    """Return a text with one to three changes in places that are anywhere."""
    for _ in range(random.choice((1, 1, 2, 3))):
        lines = text.split("\n")
        at, row = random.randrange(len(text) + 1), random.randrange(len(lines))
        match random.randrange(9):
            case 0:
                text = text[:at] + token(random) + text[at:]
            case 1:
                text = text[:at] + text[at + random.choice((1, 1, 3, 30, 300)) :]
            case 2:
                text = text[:at]
            case 3:
                lines.insert(random.randrange(len(lines)), lines[row])
                text = "\n".join(lines)
            case 4:
                del lines[row]
                text = "\n".join(lines)
            case 5:
                part = text[at : at + random.choice((1, 10, 100))]
                text = text[:at] + part * random.choice((2, 50, 2000)) + text[at:]
            case 6:
                numbers = list(re.finditer(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?", text))
                if numbers:
                    one = random.choice(numbers)
                    text = text[: one.start()] + token(random) + text[one.end() :]
            case 7:
                words = list(re.finditer(r"[A-Za-z_]\w*", text))
                if words:
                    one, other = random.choice(words), random.choice(words)
                    new = other[0] if random.random() < 0.5 else token(random)
                    text = text[: one.start()] + new + text[one.end() :]
            case 8:
                text = text[:at] + chr(random.randrange(1, 256)) + text[at + 1 :]
    return text


def changed_bytes(content: bytes, random: Random) -> bytes:
    """Return bytes with some of them others, gone or twice."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 3, 20))):
        at = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0 | 1:
                data[at : at + 1] = bytes([random.randrange(256)])
            case 2:
                del data[at : at + random.choice((1, 4, 100))]
            case 3:
                data[at:at] = random.randbytes(random.choice((1, 4, 100)))
            case 4:
                field = random.choice((b"\xff" * 4, b"\0" * 4, b"\xff" * 8, b"\x7f" + b"\xff" * 7))
                data[at : at + len(field)] = field
    return bytes(data[: random.randrange(len(data) + 1)] if random.random() < 0.1 else data)


def changed_toml(text: str, pool: Sequence[str], random: Random) -> str:
    """Return a TOML text with other values, keys, tables, or lines of the documentation."""
    for _ in range(random.choice((1, 1, 2))):
        lines = text.split("\n")
        settings = [i for i, line in enumerate(lines) if "=" in line]
        headers = [i for i, line in enumerate(lines) if line.startswith("[")]
        match random.randrange(6):
            case 0 | 1 if settings:
                row = random.choice(settings)
                lines[row] = f"{lines[row].split('=')[0]}= {token(random)}"
            case 2:
                lines.insert(random.randrange(len(lines) + 1), random.choice(pool))
            case 3 if headers:
                row = random.choice(headers)
                name = lines[row].strip("[]")
                lines[row] = random.choice(
                    (f"[[{name}]]", f"[{name}]", f"{name} = {token(random)}", f"[{name}.x]", "")
                )
            case 4 if settings:
                row = random.choice(settings)
                value = lines[row].split("=", 1)[1]
                lines[row] = f'"{token(random)}" ={value}'
            case _:
                return changed_text(text, random)
        text = "\n".join(lines)
    return text


def changed_json(value: Any, random: Random) -> Any:
    """Return a JSON value with one place in it changed."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, item in pairs:
            places.append((node, key))
            if isinstance(item, dict | list):
                walk(item)

    walk(value)
    for _ in range(random.choice((1, 1, 3))):
        node, key = random.choice(places)
        odd: list[Any] = [None, True, -1, 0, 10**400, 1e308, "x", "x" * 5000, [], [1], {}, [[[]]],
                          {"a": 1}, float("nan"), float("inf"), "\ud800", [None]]  # fmt: skip
        try:
            if random.random() < 0.2:
                del node[key]
            else:
                node[key] = random.choice(odd)
        except (KeyError, IndexError):
            continue  # an earlier change took it away
    return value


# --- kinds -----------------------------------------------------------------------------------


class Kinds:
    """Sound inputs, and how each kind is made unsound.

    Parameters
    ----------
    sound
        Folder of the sound inputs; made by :meth:`prepare`.
    """

    def __init__(self, sound: Path) -> None:
        self.sound = sound
        documented = (ROOT / "docs" / "problem-file.md").read_text(encoding="utf-8")
        documented += (ROOT / "docs" / "stages.md").read_text(encoding="utf-8")
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
            ["estimate", "problem.toml", "--follow", "data.csv", "--print-every", "50"],
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
            ["estimate", "problem.toml", "--follow", "data.csv", "--print-every", "50"],
        ))  # fmt: skip
        return Case([command], path)

    def fmu(self, folder: Path, random: Random) -> Case:
        """Change the archive around the members: these hold programs, which are left alone."""
        path = folder / "oscillator.fmu"
        if random.random() < 0.6:
            content = path.read_bytes()
            # The directory and the end record stand at the end; the library is in front.
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
        names = ("run.json", "run.json", "simulations.journal", "problem.toml", "ended")
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


# --- running ---------------------------------------------------------------------------------


def work() -> None:
    """Run the commands that come in as lines of JSON; a child process."""
    resource.setrlimit(resource.RLIMIT_AS, (8 * 10**9, 8 * 10**9))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.setpriority(os.PRIO_PROCESS, 0, 5)
    from fmident.cli import main

    answers = os.fdopen(os.dup(1), "w")
    # What native code prints belongs to nobody here.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["folder"])
        out, err = io.StringIO(), io.StringIO()
        began = time.monotonic()
        code: object
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                # Arguments of a process cannot hold every letter.
                words = [base64.b64decode(w).decode("utf-8", "surrogateescape")
                         for w in request["command"]]  # fmt: skip
                code = main([*words, "--traceback"])
        except KeyboardInterrupt:
            code = 130
        except BaseException as error:
            code = f"{type(error).__name__}: {error}"[:300]
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        used = max(used, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
        answer = {"code": code, "out": out.getvalue()[-20000:], "err": err.getvalue()[-40000:],
                  "seconds": time.monotonic() - began, "memory": used}  # fmt: skip
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class Worker:
    """A child process that runs commands; made anew when it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, folder: Path, command: Sequence[str], limit: float = LIMIT_S) -> Answer:
        """Run a command; end it by Ctrl-C when it takes too long, kill it when that fails."""
        process = self._started()
        words = [base64.b64encode(w.encode("utf-8", "surrogateescape")).decode() for w in command]
        request = json.dumps({"folder": str(folder), "command": words})
        began = time.monotonic()
        assert process.stdin is not None
        process.stdin.write(request.encode() + b"\n")
        process.stdin.flush()
        line = self._line(limit)
        stopped = line is None
        if stopped:
            process.send_signal(signal.SIGINT)
            line = self._line(GRACE_S)
        seconds = time.monotonic() - began
        if not line:
            self.close()
            how = "it ignored Ctrl-C" if line is None else f"it died: {process.returncode}"
            return Answer(None, how, "", seconds, 0, stopped)
        found = json.loads(line)
        if found["memory"] > MEMORY_BYTES:
            self.close()  # the peak of a process never falls
        text = found["out"] + found["err"]
        return Answer(found["code"], text, found["err"], seconds, found["memory"], stopped)

    def close(self) -> None:
        """End the process and its children."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__, "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
                start_new_session=True,
            )
        return self._process

    def _line(self, seconds: float) -> bytes | None:
        """Return the next line, nothing when the process died, ``None`` when it is late."""
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            return None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
        return line


def finding(answer: Answer, before: set[str], folder: Path) -> str | None:
    """Return what is wrong with an answer in a few words."""
    if answer.code is None:
        return answer.text
    last = answer.text.strip().splitlines()[-1:] or [""]
    if answer.code not in CODES:
        named = [t for t in answer.text.splitlines() if t.startswith("error: ")][-1:] or last
        return f"exit code {answer.code}: {named[0][:150]}"
    if answer.code == 2 and "error: " not in answer.text and "usage" not in answer.text:
        return f"exit code 2 without a message: {last[0][:100]}"
    shown = re.sub(r"(?s)Traceback \(most.*?(?=\nerror: |\Z)", "", answer.told)
    if (echo := _ECHO.search(shown)) is not None:
        start = shown[: echo.start()].splitlines()[-1:] or [""]
        return f"a value of {len(echo[0])} letters is echoed: {start[0][-80:]}"
    if answer.memory > MEMORY_BYTES:
        return f"{answer.memory / 1e9:.1f} GB of memory"
    left = [n for n in {p.name for p in folder.iterdir()} - before if not _IGNORED.match(n)]
    if left:
        return f"left behind: {', '.join(left)[:100]}"
    return None


def cases(kinds: Sequence[str], budget: Budget, only: int | None) -> Iterator[tuple[str, int]]:
    """Yield kind and number of the cases, the kinds in turn."""
    number = 0 if only is None else only
    while True:
        for kind in kinds:
            if not budget.left():
                return
            yield kind, number
        if only is not None:
            return
        number += 1


def main() -> int:
    """Run the cases and print the table; 1 when there are findings."""
    if sys.argv[1:] == ["--worker"]:
        work()
        return 0
    parser = arguments(__doc__, seconds=300.0, count=1_000_000)
    parser.add_argument("--only", nargs="+", metavar="KIND", help="kinds of input (all)")
    parser.add_argument("--case", type=int, metavar="N", help="this case of each kind")
    parser.add_argument("--verbose", action="store_true", help="print what is said to each case")
    given = parser.parse_args()
    began = time.monotonic()
    findings: list[tuple[str, int, str]] = []
    codes: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="fmident-fuzz-") as name:
        kinds = Kinds(Path(name) / "sound")
        unknown = set(given.only or ()) - kinds.makers.keys()
        if unknown:
            parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(kinds.makers)}")
        kinds.prepare()
        budget = Budget(given.seconds, given.count)
        worker = Worker()
        chosen = given.only or list(kinds.makers)
        folder = Path(name) / "case"
        for kind in chosen if given.case is None else ():
            shutil.copytree(kinds.sound, folder)
            for command in kinds.bases(kind, folder):
                answer = worker.run(folder, command, BASE_LIMIT_S)
                if answer.code != 0:
                    last = answer.text.strip().splitlines()[-3:]
                    findings.append((kind, -1, f"unchanged: {' '.join(command)}: {last}"))
                    print(f"finding: {findings[-1]}", file=sys.stderr, flush=True)
            shutil.rmtree(folder)
        for kind, number in cases(chosen, budget, given.case):
            shutil.copytree(kinds.sound, folder)
            case = kinds.makers[kind](folder, Random(f"{given.seed} {kind} {number}"))
            before = {p.name for p in folder.iterdir()}
            for command in case.commands:
                answer = worker.run(folder, command)
                shown = "stopped" if answer.stopped and answer.code == 130 else str(answer.code)
                codes.setdefault(kind, Counter())[shown] += 1
                if given.case is not None or given.verbose:
                    print(f"{kind} {number}: {' '.join(command)[:300]} -> {shown}")
                    print("\n".join(t[:500] for t in answer.text.splitlines()[-60:]))
                wrong = finding(answer, before, folder)
                if wrong is not None:
                    findings.append((kind, number, wrong))
                    print(f"finding: {kind} {number}: {wrong}", file=sys.stderr, flush=True)
                    if given.keep is not None:
                        target = given.keep / f"{kind}-{number}"
                        shutil.rmtree(target, ignore_errors=True)
                        shutil.copytree(folder, target, ignore_dangling_symlinks=True)
                        (target / "command.txt").write_text(
                            " ".join(command), errors="surrogateescape"
                        )
            shutil.rmtree(folder, ignore_errors=True)
        worker.close()
    header = ("kind", "cases", "0", "1", "2", "stopped", "other", "findings")
    rows = []
    for kind, counted in codes.items():
        known = [counted[c] for c in ("0", "1", "2", "stopped")]
        wrong_ones = sum(k == kind for k, _, _ in findings)
        rows.append((kind, counted.total(), *known, counted.total() - sum(known), wrong_ones))
    print_table(header, rows)
    for kind, number, wrong in findings:
        print(f"{kind} {number} (seed {given.seed}): {wrong}")
    total = sum(c.total() for c in codes.values())
    print(f"{total} cases in {time.monotonic() - began:.0f} s, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
