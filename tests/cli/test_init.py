"""``fmident init``, and what is in the wheel for it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm

from fmident.cli import main
from fmident.cli.start import REPOSITORY, STARTER, examples, files_of
from fmident.fmu.native_code.compile_loops import compiler

from ..fmu.build import Fixture, description, real

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]

NAMES = sorted(p.parent.name for p in (ROOT / "examples").glob("*/README.md"))
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
OF_THE_REPOSITORY = re.compile(r"examples/|\.\./\.\./|parents\[1\]")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_examples_of_the_repository_are_listed(capsys: Capture) -> None:
    assert main(["init", "--list"]) == 0
    shown = capsys.readouterr().out.split("\n\n")[0].splitlines()[2:]
    assert sorted(line.split()[0] for line in shown) == NAMES
    assert shown[0].split()[0] == STARTER


@pytest.mark.parametrize("name", NAMES)
def test_a_study_needs_nothing_of_the_repository(here: Path, name: str) -> None:
    assert main(["init", "--example", name, "study"]) == 0
    study = here / "study"
    for file in (p for p in study.rglob("*") if p.is_file()):
        text = re.sub(r"\]\(https?:[^)]*\)", "", file.read_text(encoding="utf-8"))
        assert not OF_THE_REPOSITORY.search(text), file.name
    for file in study.glob("*.toml"):
        for source in tomllib.loads(file.read_text())["model"].get("sources", ()):
            assert (study / source).exists()
    readme = (study / "README.md").read_text(encoding="utf-8")
    for line in "".join(BLOCK.findall(readme)).splitlines():
        for word in shlex.split(line, comments=True):
            if word.endswith((".py", ".toml")):
                assert (study / word).is_file(), line
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", readme):
        assert (study / link).exists(), link


def test_links_out_of_an_example_lead_into_the_repository(here: Path) -> None:
    assert main(["init", "--example", "lugre", "study"]) == 0
    links = set(re.findall(rf"\]\({REPOSITORY}/(?:raw|blob)/main/([^)#]+)", readme_of(here)))
    assert "docs/reference/problem-file.md" in links
    assert "examples/lugre/figures/starts.png" in links
    assert [link for link in links if not (ROOT / link).exists()] == []


def readme_of(folder: Path) -> str:
    return (folder / "study" / "README.md").read_text(encoding="utf-8")


def test_an_unknown_example_is_answered_with_the_nearest(here: Path, capsys: Capture) -> None:
    assert main(["init", "--example", "slidercrank"]) == 2
    assert "nearest example: 'slider-crank'" in capsys.readouterr().err
    assert main(["init", "--example", ""]) == 2
    assert "there is no example ''" in capsys.readouterr().err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("arguments", [["study"], ["study", "--example", "delta"]])
def test_a_folder_that_is_not_empty_is_refused(
    here: Path, capsys: Capture, arguments: list[str]
) -> None:
    (here / "study").mkdir()
    (here / "study" / "README.md").write_text("mine")
    assert main(["init", *arguments]) == 2
    assert "'study' is not empty: 'README.md' is in it" in capsys.readouterr().err
    assert [p.name for p in (here / "study").iterdir()] == ["README.md"]
    assert (here / "study" / "README.md").read_text() == "mine"


def test_a_file_is_refused_and_an_empty_folder_is_not(here: Path, capsys: Capture) -> None:
    (here / "file").touch()
    assert main(["init", "file"]) == 2
    assert "'file' is a file" in capsys.readouterr().err
    (here / "empty").mkdir()
    assert main(["init", "empty"]) == 0
    assert (here / "empty" / "problem.toml").is_file()


def test_without_a_folder_it_is_the_current_one(here: Path, capsys: Capture) -> None:
    assert main(["init"]) == 0
    assert (here / "problem.toml").is_file()
    assert main(["init"]) == 2
    assert "this folder is not empty" in capsys.readouterr().err


def test_a_list_writes_nothing(here: Path, capsys: Capture) -> None:
    assert main(["init", "--list", "study"]) == 2
    assert "--list writes nothing" in capsys.readouterr().err


def test_the_data_of_the_starter_are_its_model_with_noise(here: Path) -> None:
    """The state equations by a matrix exponential, not by the formula of generate.py."""
    assert main(["init"]) == 0
    table = pd.read_csv("measured.csv")
    m, d, k = 3.0, 5.0, 400.0
    step = table["time [s]"][1]
    # x' = A*x + B*F with a constant force F, as one linear system of [x, v, F].
    advance = expm(step * np.array([[0.0, 1.0, 0.0], [-k / m, -d / m, 1.0 / m], [0.0, 0.0, 0.0]]))
    state, exact = np.array([0.0, 0.0, 10.0]), []
    for _ in table.index:
        exact.append(1e3 * state[0])
        state = advance @ state
    noise = table["position [mm]"] - np.array(exact)
    # The variance of n normal samples has a relative standard deviation of sqrt(2/n).
    assert np.mean(noise**2) / 0.1**2 == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / len(table)))
    assert (table["force [N]"] == 10.0).all()
    made = here / "made.csv"
    command = [sys.executable, "generate.py", "--output", str(made)]
    subprocess.run(command, check=True, timeout=60)
    assert made.read_bytes() == (here / "measured.csv").read_bytes()


@pytest.mark.slow
def test_the_starter_runs_as_its_readme_says(
    here: Path, capsys: Capture, embedded_compiler: object
) -> None:
    assert main(["init"]) == 0
    assert main(["build", "--all"]) == 0
    built = (here / "fmus" / "Oscillator.fmu").stat().st_mtime_ns
    assert main(["estimate", "problem.toml"]) == 0
    shown = capsys.readouterr().out
    found = {
        name: tuple(map(float, re.search(rf"^{name} .*\[(.+), (.+)\]", shown, re.M).groups()))
        for name in ("m", "d", "k")
    }
    for name, truth in (("m", 3.0), ("d", 5.0), ("k", 400.0)):
        assert found[name][0] < truth < found[name][1]
    assert (here / "fmus" / "Oscillator.fmu").stat().st_mtime_ns == built
    assert main(["validate", "--all", "--resets", "20"]) == 0


@pytest.mark.slow
def test_the_wheel_brings_the_examples_and_stays_small(tmp_path: Path) -> None:
    """By way of the sdist, as pip builds it: there is no git then."""
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-d"]
    subprocess.run([*command, str(tmp_path), "-t", "sdist"], cwd=ROOT, check=True, timeout=120)
    (sdist,) = tmp_path.glob("*.tar.gz")
    subprocess.run(["tar", "xf", sdist.name], cwd=tmp_path, check=True, timeout=120)
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
    subprocess.run([*command, str(tmp_path), "-t", "wheel"], cwd=unpacked, check=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {n for n in archive.namelist() if n.startswith("fmident/examples/")}
        modules = {n for n in archive.namelist() if n.endswith("/__init__.py")}
        loops = [n for n in archive.namelist() if "/native_code/compiled/loops-" in n]
    wanted = {f"fmident/examples/{e.name}/{f.as_posix()}" for e in examples() for f in files_of(e)}
    assert inside == wanted
    packages = ("fmident", "fmident_estimators", "fmident_costs", "fmident_dask", "fmident_readers")
    assert {f"{name}/__init__.py" for name in packages} <= modules
    assert len(loops) == bool(compiler())
    # Code compresses to 2.5 MB; what must not come with it is data and pictures.
    assert wheel.stat().st_size < 3e6
    with zipfile.ZipFile(wheel) as archive:
        assert max(i.compress_size for i in archive.infolist()) < 2e5


@pytest.fixture
def measured(here: Path) -> Path:
    """Write an FMU and data of it."""
    variables = [
        real("F", 1, "input", start=0.0),
        real("x", 2, "output"),
        real("m", 3, "parameter", variability="fixed", start=2.0),
        real("k", 4, "parameter", variability="fixed", start=100.0),
    ]
    with zipfile.ZipFile(here / "slide.fmu", "w") as archive:
        archive.writestr(
            "modelDescription.xml", description(Fixture("", "\n".join(variables)), "slide")
        )
    pd.DataFrame({"time": [0.0, 1.0, 2.0], "f": [0.0, 1.0, 2.0], "x": 0.0}).to_csv(
        here / "run.csv", index=False
    )
    return here


def test_a_problem_file_for_a_model_and_data_of_ones_own(measured: Path, capsys: Capture) -> None:
    assert (
        main(["init", "--from", "run.csv", "--fmu", "slide.fmu", "--parameters", "k", "study"]) == 0
    )
    content = tomllib.loads((measured / "study" / "problem.toml").read_text(encoding="utf-8"))
    assert content == {
        "model": {"fmu": "../slide.fmu"},
        "parameters": {"k": {"initial": 100.0, "bounds": [10.0, 1000.0]}},
        "experiments": [{"data": "../run.csv", "inputs": {"F": "f"}, "outputs": {"x": "x"}}],
        "estimator": {"name": "least-squares"},
    }
    assert "fmident check" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--from", "run.csv"], "--from and --fmu belong together"),
        (["--fmu", "slide.fmu"], "--from and --fmu belong together"),
        (["--from", "no.csv", "--fmu", "slide.fmu"], "no.csv"),
        (
            ["--from", "run.csv", "--fmu", "slide.fmu", "--parameters", "K2"],
            "'K2' is not a parameter",
        ),
    ],
)
def test_what_such_a_file_cannot_be_made_of(
    measured: Path, capsys: Capture, arguments: list[str], told: str
) -> None:
    assert main(["init", *arguments, "study"]) == 2
    assert told in capsys.readouterr().err
    assert not (measured / "study").exists()


def test_an_earlier_problem_file_stays(measured: Path, capsys: Capture) -> None:
    (measured / "problem.toml").write_text("# mine\n", encoding="utf-8")
    assert main(["init", "--from", "run.csv", "--fmu", "slide.fmu"]) == 2
    assert "exists; nothing was written" in capsys.readouterr().err
    assert (measured / "problem.toml").read_text(encoding="utf-8") == "# mine\n"
