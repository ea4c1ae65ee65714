"""What README and guides tell the user to type is accepted by the command line."""

from __future__ import annotations

import contextlib
import os
import pydoc
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fmident.cli.commands import COMMANDS
from fmident.cli.main import build_parser, main
from fmident.cli.usage import UsageError

from .study import OSCILLATOR, PROBLEM

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS += sorted((ROOT / "examples").glob("*/README.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (str(document.relative_to(ROOT)), text)
        for document in DOCUMENTS
        for found, text in BLOCK.findall(document.read_text(encoding="utf-8"))
        if found == language
    ]


def commands() -> list[tuple[str, list[str]]]:
    """Return every call of fmident, with the document it stands in."""
    return [
        (name, words[1:])
        for name, text in blocks("sh")
        for line in text.splitlines()
        if (words := shlex.split(line, comments=True)) and Path(words[0]).name == "fmident"
    ]


def test_command_is_accepted(subtests: pytest.Subtests) -> None:
    parser, _ = build_parser()
    for document, words in commands():
        with subtests.test(f"{document}/{words}"):
            try:
                parser.parse_args(words)
            except UsageError as error:
                pytest.fail(f"{document}: fmident {shlex.join(words)}: {error}")


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 15


def test_toml_is_toml(subtests: pytest.Subtests) -> None:
    for document, text in blocks("toml"):
        with subtests.test(f"{document}/{text}"):
            assert tomllib.loads(text)


def anchors(document: Path) -> set[str]:
    """Return what a link into the document may name."""
    text = re.sub(BLOCK, "", document.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_links_between_files_lead_somewhere(subtests: pytest.Subtests) -> None:
    scripts = (ROOT / "ci" / "picturing").glob("*.py")
    drawn = {n for s in scripts for n in re.findall(r'^@picture\("([\w-]+)"', s.read_text(), re.M)}
    for document in DOCUMENTS:
        with subtests.test(str(document)):
            text = document.read_text(encoding="utf-8")
            for name, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
                target = document.parent / name if name else document
                if target.resolve().parent == ROOT / "docs" / "pictures":
                    assert target.stem in drawn, name
                    continue
                assert target.exists(), name
                assert not anchor or anchor in anchors(target), f"{name}#{anchor}"


def described() -> dict[str, str]:
    """Return the sections of the page of commands by command, and the page's head as ``""``."""
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    head, *sections = re.split(r"^## fmident (?=\S)", page, flags=re.MULTILINE)
    return {"": head} | dict(section.split("\n", 1) for section in sections)


def test_every_command_has_a_section() -> None:
    _, parsers = build_parser()
    assert set(described()) - {""} == set(parsers)


def test_every_command_has_the_table_of_its_arguments(subtests: pytest.Subtests) -> None:
    pages = described()
    assert "<!-- arguments of every command -->" in pages[""]
    for name, command in COMMANDS.items():
        with subtests.test(name):
            marks = re.findall(r"<!-- arguments of (.+) -->", pages[name])
            assert marks == ([name] if command.options else [])


def test_scripts_that_are_named_exist(subtests: pytest.Subtests) -> None:
    for document in DOCUMENTS:
        with subtests.test(str(document)):
            text = document.read_text(encoding="utf-8")
            for script in re.findall(r"\b((?:ci|examples|benchmarks|tests)/[\w./-]+\.py)\b", text):
                assert (ROOT / script).exists(), script
            for script in re.findall(r"\bbash (ci/[\w-]+)", text):
                assert (ROOT / script).exists(), script


def references() -> set[str]:
    """Return the full names of fmident's that docstrings refer to."""
    role = re.compile(r":(?:func|class|meth|mod|data|attr):`~?\s*(fmident[\w.]*)`")
    files = (p for top in ("toolchain", "plugins") for p in (ROOT / top).rglob("*.py"))
    return {name for path in files for name in role.findall(path.read_text(encoding="utf-8"))}


def test_references_of_docstrings_resolve(subtests: pytest.Subtests) -> None:
    for name in sorted(references()):
        with subtests.test(str(name)):
            assert pydoc.locate(name) is not None


# ------------------------------------------------------------ every command runs, made small

SMALLER = (
    (r"(?<= )results(?= |$)", "results/problem"),
    (r"(?<=fmident follow )problem.toml", "follow.toml"),
    (r" --resume\b", ""),  # there is no unfinished run
    (r"^(fmident check examples/delta/)", r"python examples/delta/generate.py >&2; \1"),
    (r"run.csv (?=--set decimal)", "logger.txt "),
    (r"^(fmident (?:estimate|profile|bootstrap|cross-validate)\b.*)", r"\1 -q"),
    (r"^(fmident profile problem.toml(?!.*--pa).*)", r"\1 --parameters k"),
    (r"^(fmident validate\b.*)", r"\1 --resets 20 --jobs 1"),
    (r"^(fmident bootstrap (?!.* -n ).*)", r"\1 -n 20"),
    (r" -n 2000\b", " -n 20"),
    (r"--patience 60\b", "--patience 0.1"),
    (r"--grid 41\b", "--grid 3"),
    (r"(fmident check .*--global-method .*)", r"\1 --samples 8"),
    (r"^(fmident plot-cost (?!.*--grid).*)", r"\1 --grid 3"),
    (r"^(python examples/(?:delta|slider-crank)/monte_carlo.py.*)", r"\1 --draws 2"),
    (r"^(python examples/slider-crank/designs.py)", r"\1 --iterations 1"),
    (r"^(python examples/across-events/coverage.py.*)", r"\1 --draws 2 --machine tank"),
    (r"^(python examples/lugre/noise.py.*)", r"\1 --draws 2"),
    (r"^(python examples/lugre/study.py (?:starts|genetic)).*", r"\1 --seeds 1 --generations 2"),
    (r"^(python examples/msd-online/study.py)$", r"\1 --quick --draws 1"),
    (r"^(python examples/pt2/study.py) --seeds 2 --figures", r"\1 --seeds 1 --grid 3"),
    (r"^(python examples/pt2/minima.py.*) --figures", r"\1 --grid 3 --seeds 0"),
    (r"^(python examples/tripod/study.py.*) --runs \d+( --figures)?", r"\1 --runs 1"),
    (
        r"^(python examples/test-functions/study.py)( --runs 20)?$",
        r"\1 --runs 1 --functions sphere",
    ),
    (r"12\.42", "1.5"),  # the record is shorter here
    (
        r"^(fmident estimate examples/positioning-axis/closed.*)",
        r"\1 --set estimator.max_iterations=1",
    ),
)
"""Patterns in commands of documents, and what makes them small; all that match count, in order."""

ELSEWHERE = {
    r"^(python3 -m venv|\. |pip install|python -m pip|bash ci/setup)": "ci/setup installs the same",
    r"^(git clone|docker|bash ci/(test|main-job))|^cd fmident$": "what CI does",
    r"^dask |scheduler=tcp:": "tests/dask has a cluster",
    r"--compiler openmodelica|--platforms|ci/reference-fmus": "markers omc and cross have tests",
    r"^fmident build Modelica\.|^export MODELICAPATH": "needs the Modelica Standard Library",
    r"grid.fmu|FMIDENT_REFERENCE": "tests/fmu has FMUs of FMI 3.0 and the Reference FMUs",
    r"export .*--set mass2": "tests/report/export chooses members of base parameters",
    r"lugre/study.py profile": "tests/examples/test_lugre.py walks the profiles",
    r"executor=pool|--open$": "needs the plugin of that page; opens a browser",
}
"""Patterns of commands that are not run here, and why."""

MODELS = """\
within ;
package NAME
  model MODEL
    parameter Real m(unit = "kg") = 3;
    parameter Real k(unit = "N.s/m") = 400;
    input Real F(unit = "N");
    output Real x(unit = "m/s", start = 0, fixed = true);
  equation
    m*der(x) = F - k*x;
  end MODEL;
end NAME;
"""


def names(document: object) -> str:
    return str(Path(str(document)).relative_to(ROOT))


def is_elsewhere(command: str) -> bool:
    return any(re.search(pattern, command) for pattern in ELSEWHERE)


def small_commands(document: Path) -> list[list[str]]:
    """Return the commands of each block as they are run; pieces around ``&&`` are one each."""
    found = []
    for language, text in BLOCK.findall(document.read_text(encoding="utf-8")):
        lines = text.splitlines() if language == "sh" else []
        block = [piece for line in lines for piece in re.sub(r"(^|\s)#.*", "", line).split(" && ")]
        for pattern, replacement in SMALLER:
            block = [re.sub(pattern, replacement, command.strip()) for command in block]
        found.append([command for command in block if command and not is_elsewhere(command)])
    return [block for block in found if block]


@pytest.fixture(scope="module")
def clone(
    tmp_path_factory: pytest.TempPathFactory, build_fmu: Callable[[str], Path], measure: Any
) -> Path:
    """Return a folder like the repository, with the files that documents speak of."""
    root = tmp_path_factory.mktemp("clone")
    ignored = shutil.ignore_patterns("data", "results*", "*.fmu", "figures", "genetic.csv")
    shutil.copytree(ROOT / "examples", root / "examples", ignore=ignored)
    (root / "modelica").symlink_to(ROOT / "modelica")
    (root / "fmus").mkdir()
    for file in root.glob("examples/*/*.toml"):
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(r"(?m)^(generations|max_iterations) = \d+", r"\1 = 2", text))
        model = tomllib.loads(text).get("model", {})
        if "class" in model and "sources" not in model:
            shutil.copy(build_fmu(model["class"]), root / "fmus" / f"{model['class']}.fmu")
    shutil.copy(root / "examples/oscillator/fmus/catalog.toml", root / "fmus/catalog.toml")
    shutil.copy(root / "examples/oscillator/Oscillator.mo", root / "Oscillator.mo")
    shutil.copy(root / "examples/msd-online/design.toml", root / "design.toml")
    for name in ("oscillator", "mymodel", "pump"):
        shutil.copy(build_fmu(OSCILLATOR), root / f"{name}.fmu")
    axis = "Mechanisms.FMUs.PositioningAxisClosedLoop"
    shutil.copy(build_fmu(axis), root / "axis.fmu")
    for folder, package in (
        ("MyLib/package.mo", "MyLib.MyModel"),
        ("Pumps.mo", "Pumps.Centrifugal"),
    ):
        file = root / "path" / "to" / folder
        file.parent.mkdir(parents=True, exist_ok=True)
        name, model = package.split(".")
        file.write_text(MODELS.replace("NAME", name).replace("MODEL", model))
    emps = ROOT.parent / "shared" / "data" / "emps" / "identification.csv"
    if (measured := Path(os.environ.get("FMIDENT_EMPS_DATA", emps))).exists():
        begin = pd.read_csv(measured, nrows=3000)
        begin.to_csv(root / "path" / "to" / "identification.csv", index=False)
    asammdf = pytest.importorskip("asammdf")
    table = measure(101)
    for name in ("data", "run", "new", "growing"):
        table.to_csv(root / f"{name}.csv", index=False)
    table.to_csv(root / "logger.txt", index=False, sep=";", decimal=",")
    text = (root / "logger.txt").read_text()
    signals = [asammdf.Signal(table[c], table["time"], name=c) for c in ("force", "position")]
    with asammdf.MDF() as record:
        record.append(signals)
        record.save(root / "run.mf4")
    table.assign(x=table["position"], q_ref=1e-3 * table["position"]).to_csv(
        root / "measured.csv", index=False
    )
    (root / "logger.txt").write_text("made by a logger\n" * 12 + text)
    sweep = PROBLEM[PROBLEM.index("[[experiments]]") : PROBLEM.index("[estimator]")]
    both = PROBLEM.replace("[estimator]", sweep.replace("push", "sweep") + "[estimator]")
    for name in ("problem", "coulomb", "stribeck", "lugre"):
        (root / f"{name}.toml").write_text(both)
    states = '"extended-kalman"\nstates = { x_start = "x", v_start = "v" }'
    (root / "follow.toml").write_text(PROBLEM.replace('"least-squares"', states))
    with contextlib.chdir(root):
        assert main(["build", "--all"]) == 0
    folder = root / "results" / "problem"
    assert main(["estimate", str(root / "problem.toml"), "-o", str(folder), "-q"]) == 0
    words = ["--result", str(folder), "-n", "20", "-q"]
    assert main(["bootstrap", str(root / "problem.toml"), *words]) == 0
    for name in ("results/problem.1", "results/linear", "results/quadratic", "linear", "quadratic"):
        shutil.copytree(root / "results" / "problem", root / name)
    return root


EACH_TIME = {"README.md", "docs/tutorials/first-identification.md"}
"""Documents whose commands run with each change; those of all others run in ``ci/nightly``."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "document",
    [
        pytest.param(d, marks=() if names(d) in EACH_TIME else pytest.mark.nightly, id=names(d))
        for d in DOCUMENTS
        if small_commands(d)
    ],
)
def test_every_command_runs(
    document: Path,
    clone: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    empty_plots: None,
    tried_once: None,
) -> None:
    for block in small_commands(document):
        place = clone
        for command in block:
            words = shlex.split(command)
            if words[0] == "cd":
                place = place / words[1]
            elif (place, command) not in DONE:
                monkeypatch.chdir(place)
                run(words, command, capfd)
                DONE.add((place, command))


def run(words: list[str], command: str, capfd: pytest.CaptureFixture[str]) -> None:
    began = time.perf_counter()
    if words[0] == "fmident" and not set("|*") & set(command):
        code = main(words[1:])
    else:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        shell = f"logger() {{ cat data.csv; }}\n{command}"
        environment = {**os.environ, "PATH": path}
        code = subprocess.run(["bash", "-c", shell], env=environment, timeout=300).returncode
    shown = capfd.readouterr()
    print(f"{time.perf_counter() - began:6.1f} s {code} {command}", file=sys.__stderr__)
    # 1: a search that was made small has not converged, or there is a finding.
    assert code in (0, 1), f"{command}\n{shown.out}\n{shown.err}"
    assert "Traceback" not in shown.err, f"{command}\n{shown.err}"


DONE: set[tuple[Path, str]] = set()
"""Commands that another document has, too, run once."""
