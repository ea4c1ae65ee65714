"""What is kept on disk, and what is left of it after damage."""

from __future__ import annotations

import dataclasses
import errno
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from fmident.evaluation import Evaluator, SimulationFailure
from fmident.evaluation.journal.file import (
    HEADER_BYTES,
    MAGIC,
    Kind,
    Population,
    Record,
    RecordFile,
    outcome_record,
)
from fmident.evaluation.journal.journal import POPULATION, SIMULATIONS
from fmident.operating_system import write_at
from fmident.problem.model import Problem

from .conftest import Recorded, task


def fill(problem: Problem, folder: Path, count: int = 5) -> list[np.ndarray]:
    run = Recorded(problem, folder)
    found = run.executor.run([task(1.0 + k) for k in range(count)])
    run.close()
    return [f for f in found if not isinstance(f, SimulationFailure)]


def restored(problem: Problem, folder: Path, count: int = 5) -> tuple[list[object], int, Recorded]:
    run = Recorded(problem, folder)
    found = run.executor.run([task(1.0 + k) for k in range(count)])
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


def test_room_set_aside_is_given_back(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Recorded(problem, tmp_path)
    run.executor.run([task(1.0 + k) for k in range(5)])
    assert run.journal is not None
    run.journal.flush()
    killed = (tmp_path / SIMULATIONS).read_bytes()
    run.close()
    whole = (tmp_path / SIMULATIONS).read_bytes()
    assert len(whole) == run.journal.size - 16  # of the other file
    assert killed.rstrip(b"\0") == whole.rstrip(b"\0")
    if hasattr(os, "posix_fallocate"):
        assert len(killed) > len(whole)
    # A killed process leaves the zeros; they are not damage.
    (tmp_path / SIMULATIONS).write_bytes(killed)
    _, count, again = restored(problem, tmp_path)
    assert count == 5
    assert again.journal is not None
    assert again.journal.found == ()
    assert (tmp_path / SIMULATIONS).read_bytes() == whole
    # Where no room can be set aside, the records are written all the same.
    monkeypatch.setattr(os, "posix_fallocate", _refuse, raising=False)
    assert fill(problem, tmp_path / "without", 3)
    assert restored(problem, tmp_path / "without", 3)[1] == 3


def _refuse(*_: object) -> None:
    raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


@pytest.mark.parametrize(
    "change", ["bit", "page", "tail", "first", "opposite", "signs", "exchanged"]
)
def test_checksums_of_large_outputs_tell_damage(
    problem: Problem, tmp_path: Path, change: str
) -> None:
    path = tmp_path / SIMULATIONS
    outputs = np.random.default_rng(1).standard_normal((5000, 3))
    file = RecordFile(path)
    file.append(outcome_record(b"k" * 16, outputs))
    (place,) = file.places.values()
    payload = file.read(place)
    assert payload is not None
    begin = place.offset + HEADER_BYTES
    old, position, new = payload, 0, b""
    if change == "bit":
        position, new = 70_007, bytes([old[70_007] ^ 0x80])
    elif change == "page":
        position, new = 40_960, bytes(4096)
    elif change == "tail":
        position, new = place.length - 1, bytes([old[-1] ^ 1])
    elif change in ("opposite", "signs", "exchanged"):
        # What cancels where pages of 4096 bytes are only added up.
        words = np.frombuffer(bytes(old[8:]), dtype=np.uint64).copy()
        if change == "opposite":
            words[3] += np.uint64(1)
            words[3 + 512] -= np.uint64(1)
        elif change == "signs":
            words[[3, 3 + 512]] ^= np.uint64(1 << 63)
        else:
            words[:1024] = np.roll(words[:1024], 512)
        position, new = 8, words.tobytes()
    else:
        position, new = 0, bytes([old[0] ^ 1])
    with path.open("r+b") as stream:
        stream.seek(begin + position)
        stream.write(new)
    assert file.read(place) is None
    file.close()


def test_failures_come_back_but_those_that_are_not_final(problem: Problem, tmp_path: Path) -> None:
    first = Recorded(problem, tmp_path)
    told = first.executor.run([task(95.0), task(85.0)])
    first.close()
    second = Recorded(problem, tmp_path)
    again = second.executor.run([task(95.0), task(85.0)])
    second.close()
    assert again == told
    assert isinstance(again[0], SimulationFailure)
    assert again[0].log == ("first", "second")
    assert [t.values["k"] for t in second.inner.ran] == [85.0]


def test_without_a_journal_equal_simulations_run_once(problem: Problem) -> None:
    run = Recorded(problem, None)
    heard: list[int] = []
    run.executor.run([task(1.0), task(2.0)], lambda index, _: heard.append(index))
    run.executor.run([task(2.0), task(3.0)], lambda index, _: heard.append(index))
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


@pytest.mark.parametrize("cut", [1, 20, 60, 300, 440])
def test_a_torn_end_is_cut_off(problem: Problem, tmp_path: Path, cut: int) -> None:
    fill(problem, tmp_path)
    path = tmp_path / SIMULATIONS
    os.truncate(path, path.stat().st_size - cut)
    _, count, run = restored(problem, tmp_path)
    assert count == 4
    assert run.journal is not None
    assert "not completely written" in run.journal.found[0]
    # What was appended after the repair is sound.
    assert restored(problem, tmp_path)[1] == 5


def test_a_last_record_of_zeros_is_cut_off(problem: Problem, tmp_path: Path) -> None:
    fill(problem, tmp_path)
    path = tmp_path / SIMULATIONS
    with path.open("r+b") as stream:
        stream.seek(-200, os.SEEK_END)
        stream.write(bytes(200))
    assert restored(problem, tmp_path)[1] == 4


@pytest.mark.parametrize("header", [True, False])
def test_damage_in_the_middle_costs_one_record(
    problem: Problem, tmp_path: Path, header: bool
) -> None:
    before = fill(problem, tmp_path)
    path = tmp_path / SIMULATIONS
    file = RecordFile(path)
    place = sorted(file.places.values(), key=lambda p: p.offset)[2]
    file.close()
    with path.open("r+b") as stream:
        stream.seek(place.offset + (9 if header else 200))
        stream.write(b"\xff\xff")
    after, count, run = restored(problem, tmp_path)
    assert count == 4
    assert [t.values["k"] for t in run.inner.ran] == [3.0]
    assert run.journal is not None
    assert any("damaged" in note for note in (*run.journal.found, *run.journal.notes))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))  # type: ignore[attr-defined]


def sound(kind: Kind, payload: bytes) -> Record:
    """Return a record with sound checksums, whatever it holds."""
    return Record(kind, b"", (payload[:8], payload[8:]))


@pytest.mark.parametrize(
    "record",
    [
        outcome_record(b"", np.zeros((1, 50))),
        outcome_record(b"", np.zeros((50, 2))),
        outcome_record(b"", np.zeros((0, 0))),
        sound(Kind.OUTPUTS, struct.pack("<II", 50, 1)),
        sound(Kind.OUTPUTS, struct.pack("<II", 2**32 - 1, 2**32 - 1) + bytes(16)),
        sound(Kind.FAILURE, b"[1, 2, 3, 4]    "),
        sound(Kind.FAILURE, b'{"message": 1}  '),
        sound(Kind.FAILURE, b"\xff" * 16),
        sound(Kind.FAILURE, b"[" * 8000),
    ],
)  # fmt: skip
def test_a_record_of_the_wrong_shape_is_damage(
    problem: Problem, tmp_path: Path, record: Record
) -> None:
    assert fill(problem, tmp_path, 1)[0].shape == (50, 1)
    path = tmp_path / SIMULATIONS
    file = RecordFile(path)
    ((_, key),) = file.places
    file.empty()
    file.append(dataclasses.replace(record, key=key))
    file.close()
    _, count, run = restored(problem, tmp_path, 1)
    assert count == 0
    assert len(run.inner.ran) == 1
    assert run.journal is not None
    assert "damaged" in run.journal.notes[0]
    assert restored(problem, tmp_path, 1)[1] == 1


def test_costs_of_another_number_of_points_are_damage(problem: Problem, tmp_path: Path) -> None:
    points = np.array([[1.0], [2.0]])
    for costs in (np.zeros(3), np.zeros(2)):
        run = Recorded(problem, tmp_path)
        assert run.executor.find_population(b"scope", points) is None
        run.executor.keep_population(b"scope", points, Population(costs))
        run.close()
    assert Recorded(problem, tmp_path).executor.find_population(b"scope", points) is not None


@pytest.mark.parametrize("position", range(len(MAGIC)))
def test_a_wrong_bit_in_the_first_bytes_costs_nothing(
    problem: Problem, tmp_path: Path, position: int
) -> None:
    fill(problem, tmp_path)
    path = tmp_path / SIMULATIONS
    with path.open("r+b") as stream:
        stream.seek(position)
        stream.write(bytes([MAGIC[position] ^ 1]))
    _, count, run = restored(problem, tmp_path)
    assert count == 5
    assert run.journal is not None
    assert "were damaged; the simulations in it are not" in run.journal.found[0]
    assert path.read_bytes().startswith(MAGIC)


def test_something_else_is_begun_anew(problem: Problem, tmp_path: Path) -> None:
    (tmp_path / SIMULATIONS).write_bytes(b"no journal at all, but long enough to be looked at")
    _, count, run = restored(problem, tmp_path)
    assert count == 0
    assert run.journal is not None
    assert "begun anew" in run.journal.found[0]
    assert restored(problem, tmp_path)[1] == 5


def test_at_its_limit_the_journal_ends_and_the_run_goes_on(
    problem: Problem, tmp_path: Path
) -> None:
    run = Recorded(problem, tmp_path, limit=1500)
    found = run.executor.run([task(1.0 + k) for k in range(20)])
    run.close()
    assert len(found) == 20
    assert (tmp_path / SIMULATIONS).stat().st_size <= 1500
    assert [n for n in run.executor.report().notes if "limit" in n] == list(
        run.executor.report().notes
    )
    assert len(run.executor.report().notes) == 1
    assert restored(problem, tmp_path, 20)[1] == 3


def test_a_disk_with_little_room_is_left_alone(problem: Problem, tmp_path: Path) -> None:
    run = Recorded(problem, tmp_path, free=1 << 60)
    run.executor.run([task(1.0), task(2.0)])
    run.close()
    assert "left" in run.executor.report().notes[0]
    assert (tmp_path / SIMULATIONS).stat().st_size == 16


@pytest.mark.parametrize("fault", ["write", "sync"])
def test_a_full_disk_costs_the_journal_only(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    run = Recorded(problem, tmp_path)
    run.executor.run([task(1.0)])

    def full(descriptor: int, pieces: list[memoryview], offset: int) -> int:
        if offset == 16:  # the first record, which may only be on its way
            return write_at(descriptor, pieces, offset)
        # As a disk does that runs full: a part is written first, and nothing of the rest.
        first = len(pieces) > 1
        return write_at(descriptor, [b"".join(pieces)[:100]], offset) if first else 0

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    if fault == "write":
        monkeypatch.setattr("fmident.evaluation.journal.file.write_at", full)
    else:
        monkeypatch.setattr("fmident.evaluation.journal.file.synchronise", fail)
    found = run.executor.run([task(2.0), task(3.0), task(4.0)])
    run.close()
    monkeypatch.undo()
    assert len(found) == 3
    assert len(run.executor.report().notes) == 1
    assert "cannot be written" in run.executor.report().notes[0]
    # What was written before is whole.
    if fault == "write":
        assert restored(problem, tmp_path)[1] == 1


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
    sizes = [(tmp_path / "one" / name).stat().st_size for name in (SIMULATIONS, POPULATION)]
    per_simulation = 8 * 50 + 48
    assert sizes[0] < 16 * per_simulation < expected[0] * per_simulation  # type: ignore[operator]
    assert sizes[1] == 16

    again, run = population(problem, tmp_path / "one", 6)
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
