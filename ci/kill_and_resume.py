#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Kill runs at random moments, resume them, and look at what is left.

Each case starts 'fmident estimate' or 'fmident profile', ends it by SIGKILL or SIGINT after a
random share of its time, twice at most, and goes on with '--resume' (or anew, where there is
nothing to resume). It must end well, with the result of a run that was left alone, and leave
nothing but the result: no hidden folder, no lock, no process, no temporary folder. A result that
was there before is there still. Further cases take something away: the room on the disk, the right
to write, file descriptors, a worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from robustness import FMIDENT, Budget, arguments, environment, make_study, print_table

LIMIT_S = 120.0
"""After so long a command hangs."""

_FILES = {
    "estimate": {"result.json", "report.html", "parameters.csv", "fit.csv", "history.csv"},
    "profile": {"profiles.json", "profiles.html", "profiles.csv"},
}
_RESULT = {"estimate": "result.json", "profile": "profiles.json"}


@dataclass(frozen=True)
class Setting:
    """What is run."""

    name: str
    command: str
    words: Sequence[str]


SETTINGS = (
    Setting("estimate, inline", "estimate", ("--set", "evaluation.executor=inline")),
    Setting(
        "estimate, processes",
        "estimate",
        ("--set", "evaluation.executor=processes", "--set", "evaluation.workers=2"),
    ),
    Setting("estimate --force", "estimate", ("--force",)),
    Setting("profile", "profile", ("--parameters", "k")),
)


class Study:
    """A folder in which runs are killed."""

    def __init__(self, sound: Path, folder: Path) -> None:
        shutil.copytree(sound, folder)
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()

    def start(self, setting: Setting, *more: str) -> subprocess.Popen[bytes]:
        """Start the command in a process group of its own."""
        words = [
            *FMIDENT,
            setting.command,
            "problem.toml",
            "-q",
            "-o",
            "out",
            *setting.words,
            *more,
        ]
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=environment(TMPDIR=str(self.temporary)),
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "stderr.txt").open("ab"),
            start_new_session=True,
        )

    def written(self) -> str:
        """Return what went to standard error."""
        return (self.folder / "stderr.txt").read_text(errors="replace")

    def left(self) -> list[str]:
        """Return what no run should leave."""
        hidden = [p.name for p in self.folder.iterdir() if p.name.startswith(".out")]
        return sorted(hidden)

    def result(self, setting: Setting) -> dict[str, float] | None:
        """Return the parameters of the result; nothing when it is not complete."""
        folder = self.folder / "out"
        if not _FILES[setting.command] <= {p.name for p in folder.glob("*")}:
            return None
        try:
            content = json.loads((folder / _RESULT[setting.command]).read_text())
        except ValueError:
            return None
        if setting.command == "profile":
            return {n: float(p["interval"][0]) for n, p in content["profiles"].items()}
        return {n: float(p["value"]) for n, p in content["parameters"].items()}


def end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """End a run; its workers have to notice by themselves."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, how)
    process.wait(LIMIT_S)


def survivors(group: int) -> int:
    """Return how many processes of a group are still there after a while."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return 0
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    return 1


def killed(
    study: Study, setting: Setting, usual: float, expected: dict[str, float], random: Random
) -> str | None:
    """Kill and resume one run; return what is wrong."""
    earlier = study.folder / "out"
    before = random.random() < 0.5
    if before:
        process = study.start(setting)
        process.wait(LIMIT_S)
    groups = []
    for _ in range(random.choice((1, 1, 2))):
        resume = ["--resume"] if (study.folder / ".out.run" / "run.json").exists() else []
        process = study.start(setting, *resume)
        groups.append(process.pid)
        # Half of them in the last third, where the result is written.
        share = random.uniform(0.6, 1.05) if random.random() < 0.5 else random.uniform(0.1, 1.0)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(share * usual)
        how = signal.SIGKILL if random.random() < 0.7 else signal.SIGINT
        if process.poll() is None:
            end(process, how)
        if before and not any(study.folder.glob("out*/" + _RESULT[setting.command])):
            return "the earlier result is gone"
    resume = ["--resume"] if (study.folder / ".out.run" / "run.json").exists() else []
    process = study.start(setting, *resume)
    code = process.wait(LIMIT_S)
    groups.append(process.pid)
    written = study.written()
    if code != 0:
        return f"the last run ends with {code}: {written.strip().splitlines()[-1:]}"
    if "Traceback" in written or "defect of fmident" in written:
        return "a traceback"
    found = study.result(setting)
    if found is None:
        return f"the result is not complete: {[p.name for p in earlier.glob('*')]}"
    if any(abs(found[n] - v) > 1e-6 * abs(v) for n, v in expected.items()):
        return f"another result: {found}, not {expected}"
    if left := study.left():
        return f"left behind: {', '.join(left)}"
    if any(survivors(group) for group in groups):
        return "a process goes on"
    return None


# --- what is taken away -------------------------------------------------------------------------


def limited(limits: dict[int, int]) -> Callable[[], None]:
    """Return what sets limits in a child."""

    def set_them() -> None:
        for kind, most in limits.items():
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))

    return set_them


def run_in(
    study: Study, *words: str, prepare: Callable[[], None] | None = None, **variables: str
) -> tuple[int, str]:
    """Run an estimation; return exit code and what it said."""
    done = subprocess.run(
        [*FMIDENT, "estimate", "problem.toml", "-q", *words],
        cwd=study.folder,
        env=environment(TMPDIR=str(study.temporary), **variables),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=prepare,
        timeout=LIMIT_S,
    )
    return done.returncode, done.stdout + done.stderr


def answered(code: int, said: str, *fragments: str) -> str | None:
    """Return what is wrong with an answer that should be exit code 2 and a message."""
    if "Traceback" in said or code == 70:
        return f"exit code {code}: {said.strip().splitlines()[-3:]}"
    if code == 2 and not any(f in said for f in fragments):
        return f"the message does not say why: {said.strip().splitlines()[-2:]}"
    return None if code in (0, 2) else f"exit code {code}: {said.strip().splitlines()[-1:]}"


def resumed(study: Study, place: str = "out") -> str | None:
    """Go on after something was taken away; return what is wrong."""
    run_folder = study.folder / place
    unfinished = run_folder.with_name(f".{run_folder.name}.run") / "run.json"
    code, said = run_in(study, "-o", place, *(["--resume"] if unfinished.exists() else []))
    if code != 0:
        return f"it does not go on: {said.strip().splitlines()[-2:]}"
    hidden = [p.name for p in run_folder.parent.iterdir() if p.name.startswith(".out")]
    return f"left behind: {hidden}" if hidden else None


def full_disk(study: Study) -> str | None:
    """Run on a file system of 60 kB, then with more room."""
    return _full(study, "60k", lambda _: None)


def disk_fills(study: Study) -> str | None:
    """Fill the file system once the run has begun."""

    def fill(disk: Path) -> None:
        with contextlib.suppress(OSError), (disk / "filler").open("wb") as file:
            while file.write(bytes(100_000)):
                pass

    return _full(study, "5m", fill)


def _full(study: Study, size: str, fill: Callable[[Path], None]) -> str | None:
    disk = study.folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        return "left out: no right to mount"
    try:
        process = study.start(Setting("", "estimate", ("-o", "disk/out")))
        while process.poll() is None and not (disk / ".out.run").exists():
            time.sleep(0.01)
        fill(disk)
        code, said = process.wait(LIMIT_S), study.written()
        wrong = answered(code, said, "No space left", "MB left")
        if wrong is None and code == 0:
            wrong = "it fits in"
        if any(disk.glob("out")):
            wrong = wrong or "half a result"
        if not [p for p in study.temporary.glob("*/out/result.json") if str(p.parent) in said]:
            wrong = wrong or "the result is not kept elsewhere"
        (disk / "filler").unlink(missing_ok=True)
        remount = ["mount", "-o", "remount,size=100m", str(disk)]
        subprocess.run(remount, check=True)
        return wrong or resumed(study, "disk/out")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def full_standard_output(study: Study) -> str | None:
    """Write to /dev/full."""
    words = " ".join([*FMIDENT, "estimate", "problem.toml", "-o", "out", ">/dev/full", "2>&1"])
    done = subprocess.run(words, shell=True, cwd=study.folder, check=False, env=environment())
    there = (study.folder / "out" / "result.json").exists()
    return None if there and done.returncode == 0 else f"exit code {done.returncode}"


def closed_pipe(study: Study) -> str | None:
    """Read one line only."""
    words = " ".join([*FMIDENT, "estimate", "problem.toml", "-o", "out", "2>&1", "|", "head", "-1"])
    subprocess.run(words, shell=True, cwd=study.folder, check=False, env=environment(),
                   stdout=subprocess.DEVNULL)  # fmt: skip
    return None if (study.folder / "out" / "result.json").exists() else "no result"


def small_files(study: Study) -> str | None:
    """Allow files of 20 kB."""
    code, said = run_in(study, "-o", "out", prepare=limited({resource.RLIMIT_FSIZE: 20_000}))
    return answered(code, said, "File too large") or resumed(study)


def few_descriptors(study: Study) -> str | None:
    """Allow 24 open files."""
    prepare = limited({resource.RLIMIT_NOFILE: 24})
    for executor in ("inline", "processes"):
        code, said = run_in(
            study, "-o", f"out-{executor}", "--set", f"evaluation.executor={executor}",
            "--set", "evaluation.workers=8", prepare=prepare,
        )  # fmt: skip
        wrong = answered(code, said, "Too many open files", "ulimit")
        if wrong is not None:
            return f"{executor}: {wrong}"
    return None


def read_only(study: Study) -> str | None:
    """Write into a folder that may not be written to."""
    return _locked(study, before=True)


def becomes_read_only(study: Study) -> str | None:
    """Write into a folder that may not be written to any longer when the run has begun."""
    return _locked(study, before=False)


def _locked(study: Study, *, before: bool) -> str | None:
    place = study.folder / "place"
    place.mkdir()
    words = [*FMIDENT, "estimate", "problem.toml", "-q", "-o", "place/out"]
    if os.geteuid() == 0:  # whom rights do not bind, unless this capability is gone
        if shutil.which("setpriv") is None:
            return "left out: setpriv is missing"
        words = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", *words]
    if before:
        place.chmod(0o555)
    process = subprocess.Popen(
        words, cwd=study.folder, env=environment(TMPDIR=str(study.temporary)),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    # The journal is there: the run has begun.
    while process.poll() is None and not (place / ".out.run" / "run.json").exists():
        time.sleep(0.01)
    place.chmod(0o555)
    said, _ = process.communicate(timeout=LIMIT_S)
    place.chmod(0o755)
    if process.returncode == 0:
        return "it was written all the same"
    wrong = answered(process.returncode, said, "Permission denied", "may not be written")
    return wrong or resumed(study, "place/out")


def busy_worker(study: Study) -> str | None:
    """Kill workers of a run while they simulate."""
    setting = SETTINGS[1]
    process = study.start(setting, "--set", "evaluation.difference=forward")  # two at once
    kills = 0
    while process.poll() is None:
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True,
            check=False,
        ).stdout.split()  # fmt: skip
        if kills < 3 and len(children) > 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(children[-1]), signal.SIGKILL)
                kills += 1
        time.sleep(0.03)
    if kills == 0:
        return "no worker was seen"
    if process.returncode not in (0, 2) or "Traceback" in study.written():
        return f"exit code {process.returncode}: {study.written().strip().splitlines()[-2:]}"
    return None if process.returncode == 0 else resumed(study)


TAKEN = {
    "full disk": full_disk,
    "disk fills up": disk_fills,
    "full standard output": full_standard_output,
    "closed pipe": closed_pipe,
    "files of 20 kB at most": small_files,
    "24 descriptors": few_descriptors,
    "read-only folder": read_only,
    "folder becomes read-only": becomes_read_only,
    "busy workers are killed": busy_worker,
}


def main() -> int:
    """Run the cases and print the table; 1 when there are findings."""
    parser = arguments(__doc__, seconds=100.0, count=96)
    parser.add_argument("--skip-kills", action="store_true", help="only what is taken away")
    given = parser.parse_args()
    rows: list[tuple[object, ...]] = []
    findings: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fmident-kill-") as name:
        sound = Path(name) / "sound"
        make_study(sound)
        text = (sound / "problem.toml").read_text()
        (sound / "problem.toml").write_text(text.replace("max_iterations = 2\n", ""))
        # Half of the time for each part.
        half = given.seconds / (1.0 if given.skip_kills else 2.0)
        budget = Budget(half, len(TAKEN))
        # Where the time does not suffice for all, another seed begins with another case.
        first = given.seed % len(TAKEN)
        for title, check in [*TAKEN.items()][first:] + [*TAKEN.items()][:first]:
            if not budget.left():
                rows.append((title, "-", "-"))
                continue
            study = Study(sound, Path(name) / "taken")
            try:
                wrong = check(study)
            except subprocess.TimeoutExpired:
                wrong = "it does not end"
            shutil.rmtree(study.folder, ignore_errors=True)
            left_out = (wrong or "").startswith("left out")
            rows.append((title, 1, 0 if wrong is None or left_out else 1))
            if wrong is not None:
                print(f"{title}: {wrong}", file=sys.stderr, flush=True)
                findings += [] if left_out else [f"{title}: {wrong}"]
        usual: dict[str, float] = {}
        expected: dict[str, dict[str, float]] = {}
        counts = {s.name: [0, 0] for s in SETTINGS}
        budget = Budget(half, 0 if given.skip_kills else given.count)
        number = 0
        while budget.left():
            setting = SETTINGS[number % len(SETTINGS)]
            study = Study(sound, Path(name) / "case")
            if setting.name not in expected:
                began = time.monotonic()
                study.start(setting).wait(LIMIT_S)
                usual[setting.name] = time.monotonic() - began
                expected[setting.name] = study.result(setting) or {}
                shutil.rmtree(study.folder)
                study = Study(sound, Path(name) / "case")
            random = Random(f"{given.seed} {number}")
            wrong = killed(study, setting, usual[setting.name], expected[setting.name], random)
            counts[setting.name][0] += 1
            if wrong is not None:
                counts[setting.name][1] += 1
                findings.append(f"{setting.name}, case {number}: {wrong}")
                print(findings[-1], file=sys.stderr, flush=True)
                if given.keep is not None:
                    shutil.copytree(study.folder, given.keep / str(number), dirs_exist_ok=True)
            shutil.rmtree(study.folder, ignore_errors=True)
            number += 1
    rows += [(f"killed: {title}", *count) for title, count in counts.items()]
    print_table(("case", "runs", "findings"), rows)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
