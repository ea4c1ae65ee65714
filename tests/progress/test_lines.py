from __future__ import annotations

import dataclasses
import io

import pytest

from fmident.evaluation.activity import BATCH, DERIVATIVES
from fmident.profiles import ProfileProgress
from fmident.progress.watch import Watch

from .screens import Clock, iteration


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def watch(stream: io.StringIO, clock: Clock) -> Watch:
    return Watch(stream, clock=clock)


def test_a_line_per_iteration(watch: Watch, stream: io.StringIO) -> None:
    for number in range(3):
        watch.iteration(iteration(number))
    watch.finish()
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["iteration", "cost", "simulations", "time"]
    assert lines[3].split() == ["2", "3.33333", "20", "1", "s"]
    assert not {"\r", "\x1b"} & set(stream.getvalue())


def test_no_line_is_repeated_that_tells_nothing_new(watch: Watch, stream: io.StringIO) -> None:
    for number in range(300):
        start = 1.0 + number % 3  # searches side by side take turns
        state = iteration(number, start=start, starts=3.0, local_cost=7.0)
        watch.iteration(dataclasses.replace(state, cost=1.0))
    watch.finish()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("start 1 of 3, its cost 7")
    assert lines[-1].split()[0] == "299"


def test_long_work_between_iterations(watch: Watch, stream: io.StringIO, clock: Clock) -> None:
    for done in range(21):
        watch.activity("measuring the noise", done, 20)
        clock.now += 2.0
    lines = stream.getvalue().splitlines()
    assert lines[0] == "measuring the noise: 1 of 20 simulations"
    assert 5 <= len(lines) <= 10
    for text, pause in (("again, but quick", 0.01), (BATCH, 2.0), (DERIVATIVES, 2.0)):
        stream.truncate(0)
        for done in range(21):
            watch.activity(text, done, 20)
            clock.now += pause
        assert stream.getvalue().strip("\0") == ""


def test_a_stage_is_named_once(watch: Watch, stream: io.StringIO) -> None:
    for number, stage in enumerate(["a", "a", "b"]):
        watch.iteration(iteration(number, stage))
    watch.finish()
    lines = stream.getvalue().splitlines()
    assert [line for line in lines if line.startswith("stage")] == ["stage 'a'", "stage 'b'"]
    assert lines[-1].split()[:2] == ["2", "3.33333"]


def test_profiles(watch: Watch, stream: io.StringIO, clock: Clock) -> None:
    for points in range(12):
        watch.profiles(ProfileProgress(6, points // 4, points, 9 * points, 1.0 * points))
        clock.now += 1.0
    watch.finish()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "profiles: 0 of 6 ends found, 0 points, 0 simulations, 0 ms"
    assert lines[-1] == "profiles: 2 of 6 ends found, 11 points, 99 simulations, 11 s"
    assert len(lines) == 4  # each five seconds, and the last


def test_nothing_is_written_of_nothing(watch: Watch, stream: io.StringIO) -> None:
    watch.finish()
    assert stream.getvalue() == ""


def test_a_terminal_that_can_replace_nothing_gets_lines(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from .screens import Screen

    monkeypatch.setenv("TERM", "dumb")
    screen = Screen()
    watch = Watch(screen, clock=clock)
    watch.iteration(iteration(0))
    assert "\x1b" not in screen.getvalue()
    assert len(screen.shown) == 2
