#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Give fmident broken inputs of every kind and look at how it answers.

Each case changes sound files at random, then runs commands on them in a child process. An answer
is an exit code that the documentation knows, a message that begins with 'error:' where it is 2, no
traceback, no word of more than 300 equal letters, no file left behind, less than 3 GB of memory.
A case that takes longer than its limit is ended by Ctrl-C and has to obey it. The same seed gives
the same cases: '--only KIND --case N' repeats one and prints what was said.

What is changed and how is in ``fuzzing``.
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
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzzing.kinds import Kinds
from robustness import CODES, Budget, arguments, environment, print_table

LIMIT_S = 45.0
"""After so long a case is ended by Ctrl-C."""

BASE_LIMIT_S = 300.0
"""What was not changed may take longer: it must succeed."""

GRACE_S = 20.0
"""After Ctrl-C a command ends within this time."""

MEMORY_BYTES = 3 * 10**9

_ECHO = re.compile(r"([^-\s=_])\1{300,}")
_IGNORED = re.compile(r"results(-.*|\.\d+)?$|.*\.(run|run\.\d+)$|out.*|build$|cost\.png$")


@dataclass(frozen=True)
class Answer:
    """How a command ended.

    Parameters
    ----------
    code
        ``None`` when its process died or had to be killed.
    text
        All that was written.
    stderr
        Standard error.
    seconds, memory
        What it took.
    stopped
        Whether Ctrl-C had to end it.
    """

    code: int | None
    text: str
    stderr: str
    seconds: float
    memory: int
    stopped: bool = False


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
    shown = re.sub(r"(?s)Traceback \(most.*?(?=\nerror: |\Z)", "", answer.stderr)
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
