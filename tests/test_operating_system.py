"""What only some operating systems have is used in one package, which has a branch for each."""

from __future__ import annotations

import ast
import ctypes
import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fmident import operating_system
from fmident.operating_system import TakenError, cache, windows
from fmident.operating_system.cache import cache_folder

from .test_architecture import nodes_of

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "toolchain" / "fmident" / "operating_system"
PLUGINS = ("fmident_estimators", "fmident_costs", "fmident_dask", "fmident_readers", "example")

MODULES = {
    "fcntl", "resource", "select", "grp", "pwd", "termios", "tty", "pty", "syslog", "posix",
    "_posixsubprocess", "msvcrt", "winreg", "winsound", "_winapi", "nt",
}  # fmt: skip
"""Modules that Python has on some systems only, or that do little on some."""

NAMES = {
    "os": {
        "fork", "forkpty", "killpg", "kill", "setsid", "setpgid", "getpgid", "getpgrp", "getsid",
        "nice", "sched_getaffinity", "sched_setaffinity", "memfd_create", "pread", "preadv",
        "pwrite", "pwritev", "posix_fallocate", "posix_spawn", "fdatasync", "fchdir", "fchmod",
        "fchown", "chown", "statvfs", "fstatvfs", "geteuid", "getuid", "getgid", "getegid",
        "sysconf", "uname", "set_blocking", "get_blocking", "wait", "wait3", "wait4", "waitpid",
        "mkfifo", "chroot", "ctermid", "getloadavg", "sendfile", "O_CLOEXEC", "O_NOFOLLOW",
        "O_NONBLOCK", "O_ASYNC", "O_DIRECTORY", "O_BINARY", "O_NOINHERIT", "O_TEMPORARY",
        "startfile", "set_handle_inheritable", "name",
    },
    "signal": {
        "SIGKILL", "SIGXCPU", "SIGALRM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE",
        "SIGCHLD", "SIGSTOP", "SIGCONT", "SIGBUS", "SIGIO", "CTRL_C_EVENT", "CTRL_BREAK_EVENT",
        "alarm", "pause", "setitimer", "pthread_sigmask", "pthread_kill", "sigwait", "Signals",
    },
    "ctypes": {"WinDLL", "windll", "get_last_error", "WinError", "WINFUNCTYPE"},
    "subprocess": {"STARTUPINFO", "CREATE_NEW_PROCESS_GROUP", "CREATE_NO_WINDOW"},
    "mmap": {"MAP_SHARED", "MAP_PRIVATE", "MAP_ANONYMOUS", "PROT_READ", "PROT_WRITE"},
    "time": {"pthread_getcpuclockid", "clock_gettime", "tzset"},
}  # fmt: skip
"""Names that are not in these modules on every system."""

KEYWORDS = {"pass_fds", "preexec_fn", "start_new_session", "process_group", "creationflags"}

FOLDERS = ("/proc", "/dev/", "/tmp", "/sys/")

BY_NAME = {
    "toolchain/fmident/fmu/archive.py": "the folders of binaries in an FMU",
    "toolchain/fmident/fmu/native_code/compile_loops.py": "wheels are built without fmident",
}
"""Modules that may ask for the system, and what for."""


def sources() -> Iterator[Path]:
    for folder in (ROOT / "toolchain" / "fmident", *(ROOT / "plugins" / p for p in PLUGINS)):
        yield from (p for p in sorted(folder.rglob("*.py")) if PACKAGE not in p.parents)


def findings(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and what is there, of all that only some systems have."""
    for node in nodes:
        found: Iterator[str] = iter(())
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = imported(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = named(node.value.id, node.attr)
        elif isinstance(node, ast.Call):
            found = called(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = iter([node.value] if node.value.startswith(FOLDERS) else [])
        yield from ((getattr(node, "lineno", 0), what) for what in found)


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"import {a.name}" for a in node.names if a.name.split(".")[0] in MODULES)
    elif node.module and not node.level:
        for alias in node.names:
            if node.module.split(".")[0] in MODULES or alias.name in NAMES.get(node.module, ()):
                yield f"from {node.module} import {alias.name}"


def named(module: str, name: str) -> Iterator[str]:
    if name in NAMES.get(module, ()) or (module, name) == ("sys", "platform"):
        yield f"{module}.{name}"


def called(node: ast.Call) -> Iterator[str]:
    yield from (f"{k.arg}=" for k in node.keywords if k.arg in KEYWORDS)
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name.endswith("CDLL") and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and first.value is None:
            yield "CDLL(None)"


@pytest.mark.parametrize(
    "code",
    [
        "import fcntl",
        "def f():\n    import resource",
        "from os import fork",
        "os.killpg(3, 9)",
        "signal.SIGKILL",
        "Popen([], pass_fds=(3,))",
        "ctypes.CDLL(None)",
        "open('/proc/self/statm')",
        "if sys.platform == 'win32': pass",
    ],
)
def test_each_kind_is_found(code: str) -> None:
    assert [found for _, found in findings(ast.walk(ast.parse(code)))]


def test_only_one_package_uses_what_only_some_systems_have() -> None:
    wrong = []
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        for line, found in findings(nodes_of(path)):
            if found == "sys.platform" and name in BY_NAME:
                continue
            wrong.append(f"{name}:{line}: {found}")
    assert wrong == []


def windows_name(name: str) -> Any:
    return getattr(windows, name)


def test_text_files_have_the_same_encoding_everywhere() -> None:
    """The default is another one on Windows."""
    wrong = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
        for path in [*sources(), *sorted(PACKAGE.glob("*.py"))]
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("read_text", "write_text")
        and "encoding" not in {k.arg for k in node.keywords}
        and "importlib.metadata" not in ast.unparse(node.func)  # always UTF-8
    ]
    assert wrong == []


@pytest.mark.skipif(sys.platform == "win32", reason="there is no POSIX to compare with")
def test_both_branches_offer_the_same() -> None:
    posix: Any = importlib.import_module("fmident.operating_system.posix")
    shared = {"TakenError", "CRASHES", "come_back"}
    for name in {*operating_system.__all__} - shared:
        ours, theirs = getattr(posix, name), windows_name(name)
        assert type(ours) is type(theirs), name
        if inspect.isfunction(ours):
            assert inspect.signature(ours) == inspect.signature(theirs), name
        elif inspect.isclass(ours):
            members = {m for m in vars(ours) if not m.startswith("_") or m == "__call__"}
            assert members == {m for m in vars(theirs) if not m.startswith("_") or m == "__call__"}


PRETENDED = """
import importlib, os, pkgutil, signal, sys, types
missing = {missing!r}
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
import numpy, scipy, pandas, numba, casadi, psutil, subprocess, tempfile
import matplotlib, jinja2, fmpy, pluggy, rumoca, cma, OMPython, scipy.optimize
import asyncio, multiprocessing, logging, concurrent.futures, zipfile, shutil, socket
for name in [n for n in sys.modules if n.split(".")[0] == "fmident"]:
    del sys.modules[name]
for name in missing:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Nothing())
for module, names in {names!r}.items():
    for name in names:
        if hasattr(sys.modules.get(module, types.ModuleType("")), name) and name != "name":
            delattr(sys.modules[module], name)
sys.platform = {platform!r}
import fmident
for found in pkgutil.walk_packages(fmident.__path__, "fmident."):
    end = found.name.rpartition(".")[2]
    if found.name == "fmident.operating_system.posix":
        continue
    if end not in ("__main__", "rumoca_worker"):
        importlib.import_module(found.name)
assert "fmident.operating_system.posix" not in sys.modules
print(sum(name.startswith("fmident.") for name in sys.modules))
"""


COPY = """
import errno, os, signal, sys
from fmident.operating_system import end_child, start_copy

{before}
inner, outer = os.pipe()
printed = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
copy = start_copy(lambda: {work}, (inner, printed), {{}})
{after}
"""


def in_a_new_process(folder: Path, before: str, work: str, after: str) -> str:
    """Copy a process that has one thread, and return what it prints."""
    program = COPY.format(before=before, work=work, after=after)
    command = [sys.executable, "-c", program, str(folder / "printed.txt")]
    return subprocess.run(command, capture_output=True, check=True, timeout=60, text=True).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has copies")
@pytest.mark.parametrize("number", ["ENOSYS", "EPERM"])
def test_no_copy_where_the_system_refuses_what_it_is_waited_for_by(
    number: str, tmp_path: Path
) -> None:
    """Linux before 5.3, and containers that forbid the call: nothing is started, nor left over."""
    refuse = f"""
def refused(pid):
    raise OSError(errno.{number}, "refused")
os.pidfd_open = refused
"""
    count = """
try:
    os.waitpid(-1, os.WNOHANG)
    left = "a child"
except ChildProcessError:
    left = "no child"
print(copy, left)
"""
    assert in_a_new_process(tmp_path, refuse, "None", count).split("\n")[0] == "None no child"
    assert not (tmp_path / "printed.txt").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has copies")
def test_a_copy_is_waited_for_where_the_parent_ignores_its_end(tmp_path: Path) -> None:
    """As what has started this process may have told it to."""
    ignore = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    work, after = "print('done', flush=True)", "print(copy.wait(30.0), copy.poll())"
    assert in_a_new_process(tmp_path, ignore, work, after).split() == ["0", "0"]
    assert (tmp_path / "printed.txt").read_text() == "done\n"
    after = "print(copy.poll()); end_child(copy); copy.wait(30.0)"
    assert in_a_new_process(tmp_path, ignore, "signal.pause()", after).split() == ["None"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="what is pretended is so")
def test_everything_is_imported_where_posix_is_not() -> None:
    """With Windows' name, and without the modules and names that it lacks."""
    posix_only = MODULES - {"msvcrt", "winreg", "winsound", "_winapi", "nt", "select", "posix"}
    names = {module: sorted(found) for module, found in NAMES.items() if module in ("os", "signal")}
    names["signal"].remove("Signals")
    code = PRETENDED.format(missing=sorted(posix_only), names=names, platform="win32")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 300


class FakeKernel32:
    """What Windows says it does with named objects, pipes and jobs."""

    def __init__(self) -> None:
        self.error = self.last = 0
        self.named: dict[str, int] = {}
        self.handles: dict[int, str] = {}
        self.pipes: dict[int, int | None] = {}
        self.jobs: dict[int, dict[str, Any]] = {}

    def CreateMutexW(self, _: None, owned: int, name: str) -> int:
        assert not owned
        assert len(name) < 260
        assert name.startswith("Local\\")
        assert "\\" not in name[6:]
        self.error = windows.ALREADY_EXISTS if name in self.named else 0
        self.named[name] = self.named.get(name, 0) + 1
        self.last += 4
        handle = self.last
        self.handles[handle] = name
        return handle

    def CloseHandle(self, handle: int) -> int:
        if handle in self.jobs:
            self.jobs[handle]["closed"] = True
            return 1
        name = self.handles.pop(handle)
        self.named[name] -= 1
        if not self.named[name]:
            del self.named[name]
        return 1

    def PeekNamedPipe(self, handle: int, *arguments: Any) -> int:
        held = self.pipes[handle]
        if held is None:
            self.error = windows.BROKEN_PIPE
            return 0
        arguments[3]._obj.value = held
        return 1

    def CreateJobObjectW(self, *_: None) -> int:
        handle = 1000 + len(self.jobs)
        self.jobs[handle] = {"processes": [], "ended": None, "closed": False}
        return handle

    def SetInformationJobObject(self, handle: int, kind: int, limits: Any, size: int) -> int:
        assert kind == 9  # JobObjectExtendedLimitInformation
        self.jobs[handle]["limits"] = bytes(ctypes.string_at(ctypes.addressof(limits._obj), size))
        return 1

    def AssignProcessToJobObject(self, handle: int, process: int) -> int:
        self.jobs[handle]["processes"].append(process)
        return 1

    def TerminateJobObject(self, handle: int, code: int) -> int:
        self.jobs[handle]["ended"] = code
        return 1

    def GetCurrentProcess(self) -> int:
        return -1


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeKernel32:
    found = FakeKernel32()
    for module in (windows, windows, windows):
        monkeypatch.setattr(module, "kernel32", lambda: found)
    monkeypatch.setattr(windows, "last_error", lambda: found.error)
    monkeypatch.setattr(windows, "handle_of", lambda descriptor: descriptor + 100)
    return found


def test_a_lock_is_held_until_it_is_given_back(fake: FakeKernel32, tmp_path: Path) -> None:
    lock = windows.lock_path(tmp_path)
    with pytest.raises(TakenError):
        windows.lock_path(tmp_path / ".")
    other = windows.lock_path(tmp_path / "other")
    windows.unlock(lock)
    again = windows.lock_path(tmp_path)
    windows.unlock(again)
    windows.unlock(other)
    windows.unlock(-1)
    assert fake.named == {}


def test_positions_in_files_are_independent_of_each_other(tmp_path: Path) -> None:
    descriptor = windows.open_record_file(tmp_path / "records")
    try:
        os.write(descriptor, bytes(5) + b"onetwo")
        os.lseek(descriptor, 2, os.SEEK_SET)
        assert windows.read_at(descriptor, 4, 7) == b"etwo"[:4]
        assert os.lseek(descriptor, 0, os.SEEK_CUR) == 2
        assert windows.read_at(descriptor, 3, 100) == b""
    finally:
        os.close(descriptor)


def test_pipes_tell_filled_from_empty_and_closed(fake: FakeKernel32) -> None:
    read, write = os.pipe()
    try:
        os.write(write, b"word")
        empty, closed = 10_050, 10_051  # no descriptors of this process
        fake.pipes = {read + 100: 4, empty + 100: 0, closed + 100: None}
        assert windows.read_available(read, 3) == b"wor"
        assert windows.read_available(empty, 3) is None
        assert windows.read_available(closed, 3) == b""
        assert windows.readable([empty, closed, read], 9.0) == [
            (closed, False),
            (read, True),
        ]
        assert windows.readable([empty], 0.0) == []
    finally:
        os.close(read)
        os.close(write)


def test_limits_are_where_windows_looks_for_them() -> None:
    """The offsets of a 64-bit system, from ``winnt.h``."""
    limits = bytes(windows.limits_of(1 << 30, 1.5, ends_with_owner=True))
    assert len(limits) == 144
    assert int.from_bytes(limits[0:8], "little") == 15_000_000  # PerProcessUserTimeLimit
    assert int.from_bytes(limits[16:20], "little") == 0x2 | 0x100 | 0x400 | 0x2000  # LimitFlags
    assert int.from_bytes(limits[112:120], "little") == 1 << 30  # ProcessMemoryLimit
    plain = bytes(windows.limits_of(None, None, ends_with_owner=False))
    assert int.from_bytes(plain[16:20], "little") == 0x400


class FakeProcess:
    def __init__(self, pid: int) -> None:
        self.pid, self._handle, self.code = pid, 7, None
        self.killed = False

    def poll(self) -> int | None:
        return self.code

    def kill(self) -> None:
        self.killed = True


def test_a_child_is_ended_with_all_of_its_job(
    fake: FakeKernel32, monkeypatch: pytest.MonkeyPatch
) -> None:
    process: Any = FakeProcess(12345)
    job = windows.Job()
    assert job.take(process._handle)
    monkeypatch.setitem(windows._jobs, process.pid, job)
    windows.end_child(process)
    assert process.killed
    (held,) = fake.jobs.values()
    assert windows.was_killed(held["ended"])
    assert held["processes"] == [7]
    windows.end_family(process, "folder")
    assert held["closed"]
    windows.end_family(process, "folder")  # once more, as after an interruption
    assert process.pid not in windows._jobs


def test_own_limits_last_as_long_as_the_process(fake: FakeKernel32) -> None:
    before = len(windows._own_limits)
    windows.limit_memory(1 << 20)
    windows.limit_processor_time(3)
    assert len(windows._own_limits) == before + 2
    assert [job["processes"] for job in fake.jobs.values()] == [[-1], [-1]]
    del windows._own_limits[before:]
    assert all(job["closed"] for job in fake.jobs.values())


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0, None), (1, None), (3, None),
        (0xC0000005, "SIGSEGV"), (0xC0000005 - (1 << 32), "SIGSEGV"), (0xC0000409, "SIGABRT"),
        (0xC0000135, "exception 0xC0000135"),
    ],
)  # fmt: skip
def test_exit_codes_of_windows_are_named(code: int, name: str | None) -> None:
    assert windows.kind_of_crash(code) == name
    assert not windows.was_killed(code)


@pytest.mark.skipif(os.name != "posix", reason="rights as POSIX has them")
def test_code_is_kept_in_folders_of_this_user_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path))
    folder = cache_folder("templates")
    assert folder == tmp_path / "templates"
    folder.chmod(0o777)
    assert cache_folder("templates") is None
    folder.chmod(0o755)
    monkeypatch.setattr(cache, "belongs_to_user", lambda _: False)
    assert cache_folder("templates") is None
