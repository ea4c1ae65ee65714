from __future__ import annotations

import errno
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

import fmident
from fmident.profiles import ProfileProgress
from fmident.progress import watch as watch_module
from fmident.progress.watch import Watch

from ..study import Study
from .screens import Clock, Screen, iteration, plan, run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def size(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment says of terminals counts for none of these."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


def test_the_block_stands_on_the_screen_and_goes(clock: Clock) -> None:
    screen = Screen()
    screen.write("before\n")
    watch = Watch(screen, clock=clock)
    run(watch, clock)
    first, head, bar, within, near, cost, *parameters = screen.shown
    assert first == "before"
    assert head.startswith("cma-es  iteration ")
    assert "of about 400 simulations" in bar
    assert within.startswith("generation  ━")
    assert near.endswith("of 10 vectors near the best  (1 % of the bounds)")
    assert cost.startswith("best cost")
    assert [line.split()[0] for line in parameters] == ["lowerArmMass", "gear.ratio", "k"]
    assert not screen.hides_cursor
    watch.finish()
    assert screen.shown == [
        "before",
        "11 iterations, 110 simulations, 14.5 s; cost 10 -> 0.833333",
    ]
    assert screen.column == 0
    watch.iteration(iteration(99))
    assert len(screen.shown) == 2  # nothing is shown after the end


def test_what_others_write_stays_above_the_block(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    watch = Watch(clock=clock)
    run(watch, clock, 4)
    sys.stderr.write("warning: mind the gap\n")
    watch.iteration(iteration(5))
    assert screen.shown[0] == "warning: mind the gap"
    assert screen.shown[1].startswith("cma-es")
    watch.finish()
    assert sys.stderr is screen
    assert screen.shown[0] == "warning: mind the gap"
    assert len(screen.shown) == 2


def test_each_stage_leaves_its_line(clock: Clock) -> None:
    screen = Screen()
    watch = Watch(screen, clock=clock)
    for number, stage in enumerate(("coarse", "fine"), 1):
        watch.planned(plan(stage=stage, number=number, stages=2))
        for k in range(3):
            clock.now += 2.0
            watch.iteration(iteration(3 * number + k, stage))
    assert screen.shown[0].startswith("stage 'coarse': 2 iterations")
    assert screen.shown[1].startswith("stage 'fine' (2 of 2)  cma-es")
    watch.finish()
    assert [line.split(":")[0] for line in screen.shown] == ["stage 'coarse'", "stage 'fine'"]


def test_profiles_have_a_bar(clock: Clock) -> None:
    screen = Screen()
    watch = Watch(screen, clock=clock)
    watch.planned(plan())
    watch.iteration(iteration(0))
    clock.now += 5.0
    watch.profiles(ProfileProgress(8, 2, 30, 200, 4.0))
    assert screen.shown[1].startswith("profiles: 2 of 8 ends found")
    assert screen.shown[2].endswith("25 %  about 12 s left")
    watch.finish()
    assert screen.shown[1] == "profiles: 2 of 8 ends found, 30 points, 200 simulations, 4 s"


def test_a_short_run_shows_no_block(clock: Clock) -> None:
    screen = Screen()
    watch = Watch(screen, clock=clock)
    for number in range(400):
        clock.now += 0.001
        watch.iteration(iteration(number))
    watch.finish()
    assert "\x1b" not in screen.getvalue()
    assert len(screen.shown) == 1


class Slow:
    """Takes its time to be drawn."""

    pause = 0.1

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.count = 0
        self.clock = clock
        self.seconds = seconds

    def show(self, draw: Callable[..., list[str]]) -> None:
        self.count += 1
        self.clock.now += self.seconds

    def close(self, text: str = "") -> None:
        pass


@pytest.mark.parametrize("seconds", [0.0, 0.0005, 0.003, 0.5])
def test_drawing_takes_less_than_a_hundredth_of_the_run(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    slow = Slow(clock, seconds)
    monkeypatch.setattr(Watch, "_terminal", lambda self: slow)
    watch = Watch(Screen(), clock=clock)
    began = clock.now
    while clock.now - began < 1000.0:
        clock.now += 0.01
        watch.activity("simulations", 1, 10)
    assert 5 <= slow.count <= 10_000  # ten a second
    assert slow.count * seconds < 0.01 * 1000.0


def test_ctrl_c_while_it_is_drawn_ends_the_run_and_leaves_the_terminal_clean(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, before = Screen(), sys.stderr
    watch = Watch(screen, clock=clock)
    run(watch, clock, 4)
    assert sys.stderr is not before  # what others write goes above the block

    def interrupted(*_: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch_module, "block", interrupted)
    clock.now += 10.0
    with pytest.raises(KeyboardInterrupt):
        watch.iteration(iteration(5))
    watch.finish()
    assert sys.stderr is before
    assert len(screen.shown) == 1
    assert screen.shown[0].startswith("5 iterations")
    assert screen.column == 0
    assert not screen.hides_cursor


# ------------------------------------------------------- nothing that it does can end a run


class Failing(Screen):
    """A terminal that takes nothing any more."""

    def __init__(self, error: Exception, good: int = 0) -> None:
        super().__init__()
        self.error = error
        self.good = good

    def write(self, text: str, /) -> int:
        self.good -= 1
        if self.good < 0:
            raise self.error
        return super().write(text)


ERRORS = [
    OSError(errno.EIO, "gone"),
    BrokenPipeError(errno.EPIPE, "nobody reads"),
    ValueError("I/O operation on closed file"),
    RuntimeError("anything"),
]


@pytest.mark.parametrize("good", [0, 1, 3])
@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_a_terminal_that_is_lost(clock: Clock, error: Exception, good: int) -> None:
    before = sys.stderr
    watch = Watch(Failing(error, good), clock=clock)
    run(watch, clock)
    watch.finish()
    assert watch.broken
    assert sys.stderr is before


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_a_file_that_is_lost(clock: Clock, error: Exception) -> None:
    stream = Failing(error)
    stream.isatty = lambda: False  # type: ignore[method-assign]
    watch = Watch(stream, clock=clock)
    run(watch, clock)
    watch.finish()
    assert watch.broken


def test_a_pipe_whose_reader_has_gone(clock: Clock) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1) as stream:
        watch = Watch(stream, clock=clock)
        run(watch, clock)
        watch.finish()
        with Path(os.devnull).open("w") as nowhere:  # what is left in the buffer
            os.dup2(nowhere.fileno(), stream.fileno())


def test_no_standard_error(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    watch = Watch(clock=clock)
    run(watch, clock)
    watch.finish()


@pytest.mark.parametrize("columns", [1, 10, 33])
def test_a_narrow_window(clock: Clock, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen(columns)
    watch = Watch(screen, clock=clock)
    run(watch, clock)
    assert len(screen.shown) == 8  # each line in one
    assert not watch.broken


def test_an_encoding_without_blocks(clock: Clock) -> None:
    screen = Screen()
    screen.encoding = "ascii"  # type: ignore[misc]
    watch = Watch(screen, clock=clock)
    run(watch, clock)
    watch.finish()
    assert screen.getvalue().isascii()
    assert "####" in screen.getvalue()
    assert not watch.broken


@pytest.mark.parametrize("missing", ["rich", "block"])
def test_an_error_inside_the_display(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "rich":
        monkeypatch.setitem(sys.modules, "fmident.progress.terminal", None)
    else:
        monkeypatch.setattr(watch_module, "block", lambda *_: 1 / 0)
    screen = Screen()
    watch = Watch(screen, clock=clock)
    run(watch, clock)
    watch.finish()
    assert watch.broken
    assert screen.shown == []


# ------------------------------------------------------------------------------ in notebooks


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a cell of a notebook shows, with IPython's interface."""
    shown: list[str] = []

    class Handle:
        def update(self, page: str) -> None:
            shown[-1] = page

    def display(page: str, display_id: bool) -> Handle:
        shown.append(page)
        return Handle()

    kernel = types.ModuleType("IPython")
    kernel.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    outputs = types.ModuleType("IPython.display")
    outputs.HTML = lambda text: text  # type: ignore[attr-defined]
    outputs.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", outputs)
    return shown


def test_a_notebook_shows_one_output(cell: list[str], clock: Clock) -> None:
    shown = cell
    watch = Watch(notebook=True, clock=clock)
    watch.planned(plan())
    for number in range(5):
        clock.now += 1.0
        watch.iteration(iteration(number))
    assert len(shown) == 1
    assert "cma-es  iteration 4" in shown[0]
    watch.finish()
    assert "4 iterations, 40 simulations" in shown[0]
    assert "cma-es" not in shown[0]


# --------------------------------------------------------------------------------- in Python


def test_python_shows_nothing_unless_asked(study: Study, capsys: Capture) -> None:
    problem = fmident.load_problem(study.problem)
    capsys.readouterr()
    quiet = fmident.estimate(problem)
    assert capsys.readouterr() == ("", "")
    loud = fmident.estimate(problem, progress=True)
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines()[0].split() == ["iteration", "cost", "simulations", "time"]
    assert quiet.values == loud.values
    assert quiet.simulations == loud.simulations
    fmident.check(problem, quick=True, progress=True)


@pytest.mark.slow
def test_profiles_in_python_are_shown_and_heard(study: Study, capsys: Capture) -> None:
    problem = fmident.load_problem(study.problem)
    heard: list[ProfileProgress] = []
    fmident.profile(problem, parameters=["m"], listener=heard.append, progress=True)
    assert capsys.readouterr().err.splitlines()[-1].startswith("profiles: 2 of 2 ends found")
    assert heard[-1].ended == 2


class Told:
    """Writes down what an observer that shows runs is told."""

    def __init__(self) -> None:
        self.plans: list[object] = []
        self.ends: list[float] = []
        self.generations: list[tuple[int, int]] = []
        self.texts: dict[str, int] = {}

    def iteration(self, state: object) -> None:
        pass

    def planned(self, plan: object) -> None:
        self.plans.append(plan)

    def search_ended(self, cost: float) -> None:
        self.ends.append(cost)

    def generation(self, size: int, near: int) -> None:
        self.generations.append((size, near))

    def activity(self, text: str, done: int, expected: int) -> None:
        assert done >= 0
        self.texts[text] = max(self.texts.get(text, 0), done)


def test_a_jacobian_and_each_start_are_told(study: Study) -> None:
    told = Told()
    changed = {"estimator.starts": 3, "evaluation.difference": "forward"}
    problem = fmident.load_problem(study.problem, overrides=changed)
    result = fmident.estimate(problem, observers=[told])
    assert len(told.ends) == 3
    assert min(told.ends) == pytest.approx(result.cost_final, rel=1e-6)
    assert told.texts["3 searches side by side"] >= 3
    single = Told()
    problem = fmident.load_problem(study.problem, overrides={"evaluation.difference": "forward"})
    fmident.estimate(problem, observers=[single])
    assert single.texts["derivatives"] == 3  # a simulation for each parameter
    assert single.ends == []
    (known,) = single.plans
    assert known.parameters == ("m", "d", "k")  # type: ignore[attr-defined]
    assert known.simulations is None  # type: ignore[attr-defined]  # of a descent nobody knows


def test_a_generation_is_told_and_agrees_more_and_more(study: Study) -> None:
    told = Told()
    changed = {"estimator.name": "differential-evolution", "estimator.generations": 60}
    problem = fmident.load_problem(study.problem, overrides=changed)
    fmident.estimate(problem, observers=[told])
    size = max(size for size, _ in told.generations)
    assert told.texts["simulations"] == size
    shares = [near / count for count, near in told.generations if count == size]
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert shares[-1] > shares[0]
    assert told.plans[0].simulations >= 60 * size  # type: ignore[attr-defined]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_an_estimation_ends_well_whatever_happens_to_the_display(
    study: Study, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    problem = fmident.load_problem(study.problem)
    monkeypatch.setattr(watch_module, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Failing(error, 2))
    assert fmident.estimate(problem, progress=True).status == "converged"


def test_nothing_is_imported_before_there_is_something_to_show() -> None:
    code = (
        "import io, sys; from fmident.progress.watch import Watch; Watch(io.StringIO()).finish(); "
        "sys.exit(str({'rich', 'IPython'} & set(sys.modules) or '') or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
