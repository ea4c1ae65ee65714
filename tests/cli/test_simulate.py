"""``fmident simulate`` on FMUs as other tools make them."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fmident.cli import main
from fmident.data import read_table

from ..fmu.build import Fixture, build, compiler, real, scalar
from ..fmu.exchange import Exchange, Signal, build_exchange, build_twin, states
from ..fmu.slave3 import GRID, GRID_TYPES, Slave3, build_slave3

Capture = pytest.CaptureFixture[str]
END = 17
FAULTY = Exchange("faulty.c", (*states("x"), Signal("rate", 2, "parameter", 1.0)), 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if compiler() is None:
        pytest.skip("no C compiler")
    return tmp_path_factory.mktemp("fmus")


@pytest.mark.slow
def test_texts_among_the_outputs_are_left_out(folder: Path, capsys: Capture) -> None:
    place = GRID.index('name="text"')
    variables = GRID[:place] + GRID[place:].replace("parameter", "output", 1)
    path = build_slave3(Slave3("grid.c", variables, extra=GRID_TYPES), folder)
    assert main(["simulate", str(path), "--stop-time", "1"]) == 0
    said = capsys.readouterr()
    assert "text" not in said.out
    assert "texts are not recorded: text[1], text[2]" in said.err
    assert main(["simulate", str(path), "--stop-time", "1", "--outputs", "text[1]"]) == 2
    assert "cannot be recorded" in capsys.readouterr().err


def test_time_is_one_column_even_if_it_is_asked_for(folder: Path) -> None:
    variables = real("time", 1, "independent") + real("x", 1, "output")
    path = build(Fixture("trouble.c", variables), folder, "timed")
    csv = folder / "time.csv"
    run = ["simulate", str(path), "--stop-time", "1", "--step", "0.5", "-o", str(csv)]
    assert main([*run, "--outputs", "time", "--outputs", "x"]) == 0
    table = read_table(csv).frame
    assert list(table.columns) == ["time", "x"]
    assert table["time"].tolist() == [0.0, 0.5, 1.0]


def test_a_column_in_millivolts_for_an_input_without_a_unit(folder: Path, capsys: Capture) -> None:
    variables = "\n".join([real("u", 0, "input", start=0), real("y", 3, "output")])
    path = build(Fixture("feedthrough.c", variables), folder, "unitless")
    data = folder / "volts.csv"
    for head, said in (("u (mV)", True), ("u (V)", False)):
        data.write_text(f"t,{head}\n0,0\n0.1,1\n")
        assert main(["simulate", str(path), "--data", str(data)]) == 0
        note = "column 'u' is in mV, but the FMU's input has no unit"
        assert (note in capsys.readouterr().err) == said


def test_an_fmu_that_ends_the_simulation_itself(folder: Path, capsys: Capture) -> None:
    variables = "\n".join(
        [
            real("a", 0, "parameter", start=1),
            real("x", 1, "output"),
            real("at", 2, "parameter", start=1),
            scalar("Integer", "kind", 0, "parameter", start=0),
        ]
    )
    path = build(Fixture("trouble.c", variables), folder)
    csv = folder / "end.csv"
    run = ["simulate", str(path), "--step", "0.1", "-o", str(csv), "--stop-time", "2", "--set"]
    assert main([*run, f"kind={END}"]) == 0
    said = capsys.readouterr()
    assert "the FMU itself ends the simulation at t = 1.1 s: 12 of 21 instants" in said.err
    assert "12 rows" in said.out
    assert read_table(csv).frame["time"].iloc[-1] == pytest.approx(1.1)
    assert main([*run, f"kind={END}", "--set", "at=1.9"]) == 0  # it ends where the run does
    assert "ends the simulation" not in capsys.readouterr().err
    assert main([*run, "kind=2"]) == 2
    assert "singular matrix" in capsys.readouterr().err


@pytest.mark.slow
def test_code_of_the_fmu_that_crashes_at_exit_costs_nothing(folder: Path) -> None:
    """As those of pythonfmu 0.7 do now and then."""
    variables = real("a", 0, "parameter", start=1) + real("x", 1, "output")
    path = build(Fixture("trouble.c", variables, defines=("CRASH_AT_EXIT",)), folder)
    csv = folder / "exit.csv"
    code = (
        "import sys; from fmident.cli import main;"
        f"sys.argv[1:] = ['simulate', {str(path)!r}, '--stop-time', '1', '-o', {str(csv)!r}];"
        "sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "11 rows" in done.stdout
    crashing = f"from fmident.fmu import open_fmu; open_fmu({str(path)!r}).simulator()"
    bare = subprocess.run([sys.executable, "-c", crashing], capture_output=True, check=False)
    assert bare.returncode == -signal.SIGSEGV, "the fixture does not crash"


def test_the_interface_can_be_chosen(folder: Path, capsys: Capture) -> None:
    path = build_twin(folder)
    run = ["simulate", str(path), "--stop-time", "1", "--outputs", "x", "--inputs", "u=1"]
    ends = set()
    for interface in ("auto", "co-simulation", "model-exchange"):
        assert main([*run, "--interface", interface]) == 0
        ends.add(capsys.readouterr().out.splitlines()[2])
    assert len(ends) == 2
    assert main([*run, "--interface", "scheduled-execution"]) == 2
    assert "invalid choice" in capsys.readouterr().err


TROUBLE = "\n".join(
    [
        real("a", 0, "parameter", start=1),
        real("x", 1, "output"),
        real("at", 2, "parameter", start=1),
        scalar("Integer", "kind", 0, "parameter", start=0),
    ]
)
NAN, LOCAL = 4, TROUBLE.replace('causality="output"', 'causality="local"')


def test_what_was_computed_before_a_failure_is_kept(folder: Path, capsys: Capture) -> None:
    path = build(Fixture("trouble.c", TROUBLE), folder)
    csv = folder / "nan.csv"
    run = ["simulate", str(path), "--step", "0.1", "--stop-time", "2", "-o", str(csv), "--set"]
    for kind, words in ((NAN, "output 'x' is nan at t = 1.1"), (2, "singular matrix at 1")):
        assert main([*run, f"kind={kind}"]) == 2
        said = capsys.readouterr().err
        assert words in said
        assert "11 of 21 instants were computed before the simulation failed" in said
        assert "up to t = 1.0 s" in said
        table = read_table(csv).frame
        assert table["time"].tolist() == pytest.approx([0.1 * k for k in range(11)])
        assert table["x"].tolist() == pytest.approx([0.1 * k for k in range(11)])
        csv.unlink()
    assert main([*run, "kind=14"]) == 2  # at the start
    assert not csv.exists()


def test_local_variables_stand_in_for_outputs(folder: Path, capsys: Capture) -> None:
    path = build(Fixture("trouble.c", LOCAL), folder, "local")
    csv = folder / "local.csv"
    assert main(["simulate", str(path), "--stop-time", "1", "-o", str(csv)]) == 0
    assert "no outputs: its 1 local variables are recorded" in capsys.readouterr().err
    assert list(read_table(csv).frame.columns) == ["time", "x"]
    without = "\n".join(line for line in TROUBLE.splitlines() if '"x"' not in line)
    path = build(Fixture("trouble.c", without), folder, "nothing")
    assert main(["simulate", str(path), "--stop-time", "1"]) == 0
    assert "there is nothing to record" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("define", ["CRASH_ON_FREE", "HANG_ON_FREE"])
def test_results_outlive_a_failure_to_free(
    folder: Path, capsys: Capture, define: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fmident.fmu.processes import guard

    watch = guard._watch
    monkeypatch.setattr(guard, "_watch", lambda child, _: watch(child, 2.0))
    path = build(Fixture("trouble.c", TROUBLE, defines=(define,)), folder)
    csv = folder / "free.csv"
    assert main(["simulate", str(path), "--stop-time", "1", "-o", str(csv)]) == 0
    assert "while it was being freed; the results are complete" in capsys.readouterr().err
    assert len(read_table(csv).frame) == 11


def test_what_the_own_tolerance_of_the_fmu_leaves_is_told(folder: Path, capsys: Capture) -> None:
    coarse = replace(FAULTY, extra='<DefaultExperiment tolerance="1e-2"/>')
    run = ["simulate", str(build_exchange(coarse, 2, folder)), "--stop-time", "5", "--step", "0.5"]
    assert main(run) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "with the FMU's own tolerance 0.01 'x' is off by up to" in said
    assert "give --tolerance, such as 0.0001" in said
    assert main([*run, "--tolerance", "1e-6"]) == 0
    assert "is off by" not in capsys.readouterr().err
    fine = replace(FAULTY, extra='<DefaultExperiment tolerance="1e-8"/>')
    run[1] = str(build_exchange(fine, 2, folder))
    assert main(run) == 0
    assert "is off by" not in capsys.readouterr().err
