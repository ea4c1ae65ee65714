"""What is kept on disk, and what is left of it after damage."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.evaluation import Evaluator, SimulationFailure
from fmident.evaluation.journal.journal import (
    SIMULATIONS,
    Journal,
    Population,
    Record,
    holds_records,
)
from fmident.problem.model import Problem

from ...outcomes import run_heard
from .conftest import Recorded, task

PAGE_BYTES = 4096  # of SQLite
ABOUT = "SELECT about FROM records"


def rows(folder: Path, query: str = "SELECT * FROM records") -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(folder / SIMULATIONS)) as connection:
        return connection.execute(query).fetchall()


def change(folder: Path, statement: str, *values: object) -> None:
    with contextlib.closing(sqlite3.connect(folder / SIMULATIONS)) as connection:
        connection.execute(statement, values)
        connection.commit()


def fill(problem: Problem, folder: Path, count: int = 5, step: float = 1.0) -> list[np.ndarray]:
    run = Recorded(problem, folder)
    found = run.executor.run_all([task(1.0 + step * k) for k in range(count)])
    run.close()
    return [f for f in found if not isinstance(f, SimulationFailure)]


def restored(
    problem: Problem, folder: Path, count: int = 5, step: float = 1.0
) -> tuple[list[object], int, Recorded]:
    run = Recorded(problem, folder)
    found = run.executor.run_all([task(1.0 + step * k) for k in range(count)])
    run.close()
    return list(found), run.executor.served.restored, run


def test_outcomes_come_back_to_the_last_bit(problem: Problem, tmp_path: Path) -> None:
    before = fill(problem, tmp_path)
    after, count, run = restored(problem, tmp_path)
    assert count == 5
    assert run.inner.ran == []
    for one, two in zip(before, after, strict=True):
        assert isinstance(two, np.ndarray)
        assert one.tobytes() == two.tobytes()
        assert one.shape == two.shape
        # They may be served again, and the first ones still wait to be written.
        assert not one.flags.writeable
        assert not two.flags.writeable


def test_more_come_back_at_once_than_files_may_be_open(problem: Problem, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    fill(problem, tmp_path, 75)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 20, limits[1]))
    try:
        assert restored(problem, tmp_path, 75)[1] == 75
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_failures_come_back_but_those_that_are_not_final(problem: Problem, tmp_path: Path) -> None:
    first = Recorded(problem, tmp_path)
    told = first.executor.run_all([task(95.0), task(85.0)])
    first.close()
    second = Recorded(problem, tmp_path)
    again = second.executor.run_all([task(95.0), task(85.0)])
    second.close()
    assert again == told
    assert isinstance(again[0], SimulationFailure)
    assert again[0].log == ("first", "second")
    assert [t.values["k"] for t in second.inner.ran] == [85.0]


def test_without_a_journal_equal_simulations_run_once(problem: Problem) -> None:
    run = Recorded(problem, None)
    heard: list[int] = []
    run_heard(run.executor, [task(1.0), task(2.0)], lambda index, _: heard.append(index))
    run_heard(run.executor, [task(2.0), task(3.0)], lambda index, _: heard.append(index))
    assert [t.values["k"] for t in run.inner.ran] == [1.0, 2.0, 3.0]
    assert heard == [0, 1, 0, 1]
    assert dataclasses.astuple(run.executor.served) == (3, 0, 1)


def test_other_experiments_are_kept_too(problem: Problem, tmp_path: Path) -> None:
    experiment = problem.experiments[0]
    values = [{"k": 1.0, "a": float(a)} for a in range(7)]
    for expected in (0, 7):
        run = Recorded(problem, tmp_path)
        found = run.executor.run_other(experiment, ["y"], values)
        run.close()
        assert run.executor.served.restored == expected
        assert [f[0, 0] for f in found if isinstance(f, np.ndarray)] == list(range(7))


@pytest.mark.parametrize(
    "damage",
    [
        "numbers = substr(numbers, 1, 200) || x'ffff' || substr(numbers, 203)",
        "numbers = substr(numbers, 1, 392)",
        "about = '{\"shape\": [25, 2]}'",
        "about = 'no JSON'",
        "check_sum = check_sum + 1",
    ],
)
def test_a_damaged_record_is_run_again(problem: Problem, tmp_path: Path, damage: str) -> None:
    before = fill(problem, tmp_path)
    ((key,),) = rows(tmp_path, "SELECT key FROM records ORDER BY rowid LIMIT 1 OFFSET 2")
    change(tmp_path, f"UPDATE records SET {damage} WHERE key = ?", key)
    after, count, run = restored(problem, tmp_path)
    assert count == 4
    assert [t.values["k"] for t in run.inner.ran] == [3.0]
    assert run.journal is not None
    assert len(run.journal.notes) == 1
    assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))  # type: ignore[attr-defined]
    assert restored(problem, tmp_path)[1] == 5


@pytest.mark.parametrize(
    "about", ['{"shape": [1, 50]}', '{"shape": [0, 0]}', "[]", '{"failure": 1}']
)
def test_a_sound_record_of_something_else_is_run_again(
    problem: Problem, tmp_path: Path, about: str
) -> None:
    fill(problem, tmp_path, 1)
    ((key, numbers),) = rows(tmp_path, "SELECT key, numbers FROM records")
    assert isinstance(key, bytes)
    assert isinstance(numbers, bytes)
    change(
        tmp_path,
        "UPDATE records SET about = ?, check_sum = ?",
        about,
        Record(key, about, numbers).check_sum,
    )
    assert restored(problem, tmp_path, 1)[1] == 0
    assert restored(problem, tmp_path, 1)[1] == 1


def test_costs_of_another_number_of_points_are_damage(tmp_path: Path) -> None:
    for costs in (np.zeros(3), np.zeros(2)):
        journal = Journal(tmp_path)
        assert journal.find_population(b"points", 2) is None
        journal.keep_population(b"points", Population(costs))
        journal.close()
    assert Journal(tmp_path).find_population(b"points", 2) is not None


def test_something_else_is_begun_anew(problem: Problem, tmp_path: Path) -> None:
    (tmp_path / SIMULATIONS).write_bytes(b"no journal at all, but long enough to be looked at")
    _, count, run = restored(problem, tmp_path)
    assert count == 0
    assert run.journal is not None
    assert len(run.journal.damage) == 1
    assert restored(problem, tmp_path)[1] == 5


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_of_a_file_that_was_cut_the_records_before_remain(
    problem: Problem, tmp_path: Path, share: float
) -> None:
    before = fill(problem, tmp_path, 300, 0.25)
    size = (tmp_path / SIMULATIONS).stat().st_size
    os.truncate(tmp_path / SIMULATIONS, int(share * size))
    after, count, run = restored(problem, tmp_path, 300, 0.25)
    assert count > 300 * (share - 0.25)
    assert len(run.inner.ran) == 300 - count
    assert run.journal is not None
    assert f"{count} records are sound" in run.journal.damage[0]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))  # type: ignore[attr-defined]
    assert restored(problem, tmp_path, 300, 0.25)[1] == 300


@pytest.mark.parametrize("number", range(3, 8))  # page 2 leads to the others
def test_a_page_that_was_overwritten_costs_its_records_only(
    problem: Problem, tmp_path: Path, number: int
) -> None:
    before = fill(problem, tmp_path, 300, 0.25)
    with (tmp_path / SIMULATIONS).open("r+b") as stream:
        stream.seek((number - 1) * PAGE_BYTES)
        stream.write(b"\xa5" * PAGE_BYTES)
    after, count, run = restored(problem, tmp_path, 300, 0.25)
    assert count > 220
    assert len(run.inner.ran) == 300 - count
    assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))  # type: ignore[attr-defined]
    assert restored(problem, tmp_path, 300, 0.25)[1] == 300


def test_a_note_says_that_there_is_no_write_ahead_log(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class WithoutLog(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            return super().execute(statement.replace("= WAL", "= DELETE"), *values)

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **more: connect(path, factory=WithoutLog, **more)
    )
    fill(problem, tmp_path)
    _, count, run = restored(problem, tmp_path)
    assert count == 5
    assert run.journal is not None
    assert ["no write-ahead log" in note for note in run.journal.notes] == [True]


def test_at_its_limit_the_journal_ends_and_the_run_goes_on(
    problem: Problem, tmp_path: Path
) -> None:
    run = Recorded(problem, tmp_path, limit=1500)
    found = run.executor.run_all([task(1.0 + k) for k in range(20)])
    run.close()
    assert len(found) == 20
    assert [n for n in run.executor.report().notes if "limit" in n] == list(
        run.executor.report().notes
    )
    assert len(run.executor.report().notes) == 1
    assert restored(problem, tmp_path, 20)[1] == 3


def test_a_disk_with_little_room_is_left_alone(problem: Problem, tmp_path: Path) -> None:
    run = Recorded(problem, tmp_path, free=1 << 60)
    run.executor.run_all([task(1.0), task(2.0)])
    run.close()
    assert "left" in run.executor.report().notes[0]
    assert not holds_records(tmp_path)


def test_a_full_disk_costs_the_journal_only(problem: Problem, tmp_path: Path) -> None:
    run = Recorded(problem, tmp_path)
    run.executor.run_all([task(1.0)])
    assert run.journal is not None
    run.journal.flush()
    run.journal._connection.execute("PRAGMA max_page_count = 1")
    run.executor.run_all([task(50.0 + k) for k in range(100)])
    run.close()
    assert len(run.executor.report().notes) == 1
    assert "cannot be written" in run.executor.report().notes[0]
    # What was written before is whole.
    assert restored(problem, tmp_path)[1] == 1


def test_what_a_killed_process_wrote_is_there(problem: Problem, tmp_path: Path) -> None:
    run = Recorded(problem, tmp_path / "running")
    run.executor.run_all([task(1.0 + k) for k in range(5)])
    assert run.journal is not None
    run.journal.flush()
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in (tmp_path / "running").iterdir():
        (killed / file.name).write_bytes(file.read_bytes())
    run.close()
    assert restored(problem, killed)[1] == 5
    # A write-ahead log that was torn costs the transaction at its end.
    for file in killed.iterdir():
        file.unlink()
    run = Recorded(problem, tmp_path / "running")
    for k in range(3):
        run.executor.run_all([task(11.0 + k)])
        run.journal.flush()  # type: ignore[union-attr]
    for file in (tmp_path / "running").iterdir():
        (killed / file.name).write_bytes(file.read_bytes())
    run.close()
    log = killed / f"{SIMULATIONS}-wal"
    os.truncate(log, log.stat().st_size - 100)
    again = Journal(killed)
    assert again.simulations == 7
    assert again.damage == ()
    again.close()


def population(problem: Problem, folder: Path, generations: int) -> tuple[Evaluator, Recorded]:
    """Run a population method of sorts, with a journal that is thrifty from the start."""
    run = Recorded(problem, folder, thrifty=0)
    evaluator = Evaluator(problem, run.executor)
    rng = np.random.default_rng(3)
    try:
        evaluator.cost(problem.initial)
        for _ in range(generations):
            points = rng.uniform([0.1, 0.1], [100.0, 10.0], (8, 2))
            points[5] = points[2]
            costs = evaluator.costs(points)
            evaluator.residuals(points[np.argmin(costs)])
    except KeyboardInterrupt:
        run.close()
        raise
    return evaluator, run


def state(evaluator: Evaluator) -> tuple[object, ...]:
    best = evaluator.best
    assert best is not None
    return (
        evaluator.simulations,
        evaluator.failures,
        str(evaluator.last_failure),
        best[0].tobytes(),
        best[1],
        evaluator.residuals(best[0]).tobytes(),
    )


def test_of_a_population_the_costs_are_kept_not_the_outputs(
    problem: Problem, tmp_path: Path
) -> None:
    whole, run = population(problem, tmp_path / "one", 6)
    expected = state(whole)
    run.close()
    stored = [json.loads(str(text)) for (text,) in rows(tmp_path / "one", ABOUT)]
    assert sum("failures" in about for about in stored) == 6
    assert sum("shape" in about for about in stored) < 10
    assert rows(tmp_path / "one", "SELECT key FROM records WHERE passing") == []

    again, run = population(problem, tmp_path / "one", 6)
    assert run.journal is not None
    assert run.journal.simulations == sum("shape" in about for about in stored)
    assert state(again) == expected
    run.close()
    # The best of each generation is kept where it was the best so far.
    assert run.executor.served.simulated <= 6
    assert run.executor.served.restored >= 40


def test_a_population_that_was_interrupted_keeps_what_was_done(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = state(population(problem, tmp_path / "whole", 4)[0])
    count = 0
    real = Recorded(problem, None).inner.__class__._run_one

    def interrupted(self: object, *arguments: object) -> object:
        nonlocal count
        count += 1
        if count == 22:
            raise KeyboardInterrupt
        return real(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("fmident.evaluation.python_model.PythonExecutor._run_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        population(problem, tmp_path / "part", 4)
    monkeypatch.undo()
    again, run = population(problem, tmp_path / "part", 4)
    assert state(again) == expected
    assert run.executor.served.simulated + 21 <= expected[0] + 6  # type: ignore[operator]
