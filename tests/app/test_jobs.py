"""Commands that run beside the page."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from fmident_app.jobs import Job, Jobs

pytestmark = pytest.mark.slow  # they start processes


def ended(jobs: Jobs, job: Job, limit: float = 60.0) -> str:
    """Return the state in which a job ends."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        jobs.advance()
        if job.state not in ("queued", "running", "paused"):
            break
        time.sleep(0.05)
    return job.state


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


def test_a_command_ends_with_what_it_printed(jobs: Jobs) -> None:
    job = jobs.add(["--version"], "version")
    assert ended(jobs, job) == "done"
    assert job.output().startswith("fmident ")
    assert job.command == "fmident --version"


def test_a_failure_keeps_its_message(jobs: Jobs) -> None:
    job = jobs.add(["check", "nowhere.toml"], "check")
    assert ended(jobs, job) == "failed"
    assert job.code == 2
    assert "there is no problem file 'nowhere.toml'" in job.output()


def test_one_runs_and_the_others_wait_in_their_order(jobs: Jobs) -> None:
    first, second, third = (jobs.add(["--version"], str(n), resumable=True) for n in range(3))
    assert [second.state, third.state] == ["queued", "queued"]
    assert ended(jobs, first) == "done"
    assert third.state == "queued"
    assert ended(jobs, third) == "done"


def test_a_short_one_need_not_wait(jobs: Jobs) -> None:
    waiting = [jobs.add(["--version"], str(n), resumable=True) for n in range(2)]
    short = jobs.add(["--version"], "short", at_once=True)
    assert [short.state, waiting[1].state] == ["running", "queued"]
    assert ended(jobs, waiting[1]) == "done"


def test_one_that_failed_is_resumed_in_the_queue(jobs: Jobs) -> None:
    job = jobs.add(["estimate", "nowhere.toml"], "run-1", resumable=True)
    assert ended(jobs, job) == "failed"
    jobs.resume(job)
    assert job.resumed
    assert ended(jobs, job) == "failed"
    jobs.resume(jobs.add(["--version"], "version"))
    assert not jobs.jobs[-1].resumed


def test_jobs_are_found_again(jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.add(["--version"], "version", result="results/run-1", resumable=True)
    assert ended(jobs, job) == "done"
    (again,) = Jobs(tmp_path).jobs
    assert (again.title, again.state, again.words) == ("version", "done", ("--version",))
    assert (again.result, again.resumable, again.number) == ("results/run-1", True, 1)


def test_one_that_ended_unwatched_was_interrupted_unless_it_wrote_its_end(tmp_path: Path) -> None:
    place = tmp_path / ".fmident-app" / "0001"
    place.mkdir(parents=True)
    kept = {"words": ["estimate", "p.toml"], "title": "run-1", "pid": 2**22 + 5, "started": 1.0}
    (place / "job.json").write_text(json.dumps(kept), encoding="utf-8")
    (job,) = Jobs(tmp_path).jobs
    assert job.state == "interrupted"
    (place / "events.jsonl").write_text('{"event": "end", "status": "converged"}\n', "utf-8")
    assert job.state == "done"


def test_one_that_was_interrupted_unwatched_says_so(tmp_path: Path) -> None:
    job = Job(tmp_path, ("estimate", "p.toml"), "run-1", pid=2**22 + 5, started=1.0)
    (tmp_path / "events.jsonl").write_text('{"event": "end", "status": "interrupted"}\n', "utf-8")
    assert job.state == "interrupted"


def test_half_a_line_is_read_when_it_is_whole(jobs: Jobs, tmp_path: Path) -> None:
    job = Job(tmp_path / "0001", ("estimate",), "run")
    job.folder.mkdir()
    file = job.folder / "events.jsonl"
    file.write_text('{"event": "start"}\n{"event": "iter', encoding="utf-8")
    assert job.events == [{"event": "start"}]
    with file.open("a", encoding="utf-8") as stream:
        stream.write('ation"}\n')
    assert [e["event"] for e in job.events] == ["start", "iteration"]


def test_what_is_no_job_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / ".fmident-app" / "0001"
    place.mkdir(parents=True)
    (place / "job.json").write_text("{", encoding="utf-8")
    jobs = Jobs(tmp_path)
    assert jobs.jobs == []
    assert jobs.add(["--version"], "version").number == 2


def test_a_job_that_waits_is_removed_with_its_files(jobs: Jobs) -> None:
    first, second = (jobs.add(["--version"], str(n), resumable=True) for n in range(2))
    jobs.remove(second)
    assert jobs.jobs == [first]
    assert not second.folder.exists()
    jobs.remove(first)  # it runs
    assert jobs.jobs == [first]
    assert ended(jobs, first) == "done"


def test_all_hear_of_an_end_once(jobs: Jobs) -> None:
    heard: list[list[str]] = [[], []]
    for one in heard:
        jobs.changed.subscribe(lambda ended, one=one: one.extend(job.title for job in ended))
    job = jobs.add(["--version"], "version", at_once=True)
    assert heard == [[], []]
    ended(jobs, job)
    jobs.advance()
    assert heard == [["version"], ["version"]]


def test_a_forecast_is_found_again(jobs: Jobs, tmp_path: Path) -> None:
    jobs.add(["--version"], "version", forecast={"simulations": 12})
    assert Jobs(tmp_path).jobs[0].forecast == {"simulations": 12}


def test_of_a_long_output_the_end_is_read(tmp_path: Path) -> None:
    job = Job(tmp_path, ("estimate",), "run")
    assert job.output() == ""
    (tmp_path / "output.txt").write_text("é" * 30_000 + "the end", encoding="utf-8")
    assert len(job.output(20)) <= 20
    assert job.output(20).endswith("the end")
