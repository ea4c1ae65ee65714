"""Sessions: time, death, root, containers; and that OMPython is as it is taken to be."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from fmident.compilers.base import BuildResult
from fmident.compilers.openmodelica import availability
from fmident.compilers.openmodelica.availability import choose_way, docker_arguments, find_omc
from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler
from fmident.compilers.openmodelica.messages import Message, parse_raised, to_diagnostics
from fmident.compilers.openmodelica.sessions import (
    Deadline,
    OmcStoppedError,
    OMPythonSession,
    ScriptSession,
    end_process,
    make_script,
    read_answer,
    read_answers,
    start_docker,
    start_local,
)
from fmident.errors import Code, CompilationError, Location

from ...refused import refused

pytestmark = pytest.mark.slow  # builds or starts processes throughout

Build = Callable[..., BuildResult]


@pytest.fixture(params=["local", "script"])
def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("os.geteuid", lambda: 1000 if request.param == "local" else 0)
    return request.param


def children() -> list[str]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may just have ended
            found.append(" ".join(process.cmdline()))
    return [command for command in found if "fake_omc" in command]


def test_time_out_says_what_ran_how_long(
    build: Build, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = time.monotonic()
    build("Good", session=session)
    # Enough for what comes before, however slow this machine is.
    limit = max(1.5, round(4.0 * (time.monotonic() - begin), 1))
    monkeypatch.setenv("FAKE_OMC_SLEEP", "buildModelFMU:600")
    with pytest.raises(OmcStoppedError) as caught:
        build("Good", session=session, timeout=limit)
    assert time.monotonic() - begin < 300
    assert f"took longer than {limit:g} s; 'buildModelFMU(Good," in caught.value.message
    assert "raise the option 'timeout'" in (caught.value.hint or "")
    assert children() == []


def test_omc_that_crashes(build: Build, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_OMC_DIE", "buildModelFMU")
    with pytest.raises(OmcStoppedError, match="Segmentation fault") as caught:
        build("Good", session=session)
    assert "buildModelFMU(Good" in caught.value.message


def test_omc_that_does_not_start(
    build: Build, fake_omc: Path, as_user: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_omc.write_text("#!/bin/sh\necho cannot load libOpenModelica >&2\nexit 1\n")
    monkeypatch.setattr("fmident.compilers.openmodelica.sessions.START_SECONDS", 1.0)
    with pytest.raises(CompilationError, match="did not start as a server") as caught:
        build("Good", session="local")
    assert 'session = "script"' in (caught.value.hint or "")
    with pytest.raises(CompilationError, match="cannot load libOpenModelica"):
        build("Good", session="script")


def test_root_gets_scripts_or_is_told_at_once(
    fake_omc: Path, build: Build, as_root: None, omc_log: Path
) -> None:
    assert choose_way("auto") == "script"
    with pytest.raises(CompilationError, match="does not work for root") as caught:
        build("Good", session="local")
    assert 'session = "script"' in (caught.value.hint or "")
    assert not omc_log.exists()  # nothing was started that could have been waited for


def test_an_ordinary_user_gets_a_session(fake_omc: Path, as_user: None) -> None:
    assert choose_way("auto") == "local"
    assert choose_way("script") == "script"


def test_omc_outside_of_a_bin_folder_gets_scripts(
    fake_omc: Path, tmp_path: Path, as_user: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "tools"
    other.mkdir()
    (other / "omc").symlink_to(fake_omc)
    monkeypatch.setenv("PATH", str(other))
    assert choose_way("auto") == "script"


def test_openmodelicahome_comes_first(
    fake_omc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_omc() is None
    monkeypatch.setenv("OPENMODELICAHOME", str(fake_omc.parents[1]))
    assert find_omc() == str(fake_omc)


def test_without_openmodelica(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recorded) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("OPENMODELICAHOME", raising=False)
    why = OpenModelicaCompiler().unavailable()
    assert why is not None
    for word in ("no 'omc' on the path", "apt-get install omc", "Windows", "macOS", "container"):
        assert word in why
    assert "(not found)" in OpenModelicaCompiler().version()
    with refused(Code.NOT_INSTALLED, CompilationError, match="'omc'"):
        choose_way("auto")
    with refused(Code.NOT_INSTALLED, CompilationError, match="'docker'"):
        choose_way("docker")


def test_with_openmodelica(fake_omc: Path) -> None:
    assert OpenModelicaCompiler().unavailable() is None
    assert OpenModelicaCompiler().version().startswith("OpenModelica 1.26.9~recorded, fmident ")


FAKE_DOCKER = """#!{python}
import os, subprocess, sys
with open({log!r}, "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
command = sys.argv[1]
if command == "run":
    arguments = sys.argv[2:]
    if "--cidfile" in arguments:
        with open(arguments[arguments.index("--cidfile") + 1], "w") as file:
            file.write("c0ffee")
    if "-w" in arguments:
        os.chdir(arguments[arguments.index("-w") + 1])
    os.execv({omc!r}, ["omc", *arguments[arguments.index("omc") + 1 :]])
elif command == "top":
    import psutil
    for process in psutil.process_iter(["pid", "cmdline"]):
        print("user", process.info["pid"], *(process.info["cmdline"] or []))
elif command == "exec":
    os.execvp(sys.argv[3], sys.argv[3:])
"""


@pytest.fixture
def fake_docker(fake_omc: Path, tmp_path: Path) -> Path:
    """Put a program in docker's place that runs the command here."""
    log = tmp_path / "docker.txt"
    docker = fake_omc.parent / "docker"
    docker.write_text(FAKE_DOCKER.format(python=sys.executable, log=str(log), omc=str(fake_omc)))
    docker.chmod(0o755)
    return log


def test_docker_session(build: Build, fake_docker: Path, as_user: None, recorded) -> None:
    result = build("Good", session="docker", image="some/image:1")
    assert result.fmu.is_file()
    command = fake_docker.read_text().splitlines()[0]
    assert command.startswith("run --cidfile ")
    assert f"-v {recorded.MODELS}:{recorded.MODELS}:ro" in command
    assert " some/image:1 omc " in command


def test_docker_for_root_runs_scripts(
    build: Build, fake_docker: Path, as_root: None, recorded
) -> None:
    assert build("Good", session="docker").fmu.is_file()
    runs = fake_docker.read_text().splitlines()
    assert len(runs) >= 2
    assert all(run.startswith("run --rm ") and run.endswith(".mos") for run in runs)
    assert f"-v {recorded.MODELS}:{recorded.MODELS}:ro" in runs[0]


def test_docker_sees_libraries_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    monkeypatch.setenv("MODELICAPATH", str(libraries))
    arguments = docker_arguments(tmp_path / "work", [])
    assert f"{libraries}:{libraries}:ro" in arguments
    assert f"MODELICAPATH={libraries}" in arguments
    assert f"HOME={tmp_path / 'work'}" in arguments


def open_local(omc: Path, folder: Path) -> OMPythonSession:
    return OMPythonSession(start_local(str(omc)), ["--fmiFlags=s:cvode"], folder, Deadline(60))


def test_ompython_gives_values_and_raises_as_recorded(
    fake_omc: Path, tmp_path: Path, recorded
) -> None:
    """Every recorded call, through OMPython's own code."""
    calls = [
        r for r in recorded.ompython()
        if r.function in ("loadFile", "checkModel", "loadModel", "getClassNames")
    ]  # fmt: skip
    assert len(calls) > 20
    with open_local(fake_omc, tmp_path) as session:
        for call in calls:
            expression = recorded.placed(call.expression, str(tmp_path))
            reply = session.send(expression.replace('"models/', f'"{recorded.MODELS}/'))
            if call.raised is None:
                assert reply.value == call.value
                assert reply.errors == ()
            else:
                assert reply.value is None
                raised = recorded.placed(call.raised, str(tmp_path))
                assert reply.messages == parse_raised(raised)
                assert not reply.succeeded


def test_ompythons_log_is_not_printed(
    fake_omc: Path, tmp_path: Path, recorded, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its messages come with their places instead; afterwards the log speaks again."""
    logger = logging.getLogger("OMPython.om_session_omc")
    with open_local(fake_omc, tmp_path) as session, open_local(fake_omc, tmp_path):
        session.send(f'loadFile("{recorded.MODELS}/WrongUnit.mo")')
        messages = session.send("checkModel(WrongUnit)").messages
    assert [m.level for m in messages] == ["warning"] * 4
    assert messages[0].text.startswith("The following equation is INCONSISTENT")
    assert messages[0].location is not None
    assert capfd.readouterr() == ("", "")
    assert logger.filters == []


def test_unknown_ompython_is_told(tmp_path: Path) -> None:
    class Other:
        pass

    with refused(Code.COMPILATION_FAILED, CompilationError, match="OMPython"):
        OMPythonSession(lambda _: Other(), [], tmp_path, Deadline(1))


def test_ompythons_docker_session_takes_our_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    import OMPython

    given = {}
    monkeypatch.setattr(OMPython, "OMCSessionDocker", lambda **kw: given.update(kw))
    start_docker("image", ["-v", "a:a"])(7.0)
    assert given == {"timeout": 7.0, "docker": "image", "dockerExtraArgs": ["-v", "a:a"]}


def test_scripts_load_again_what_was_loaded(
    fake_omc: Path, tmp_path: Path, recorded, omc_log: Path
) -> None:
    session = ScriptSession([str(fake_omc)], ["-d=x"], tmp_path, Deadline(60))
    good = f'loadFile("{recorded.MODELS}/Good.mo")'
    first = session.run(good, "checkModel(Good)")
    (second,) = session.run("checkModel(Good)")
    assert first[1] == second
    assert second.succeeded
    asked = [line for line in omc_log.read_text().splitlines() if not line.startswith("omc")]
    assert asked == [good, "checkModel(Good)", good, "checkModel(Good)"]


def test_answers_of_the_recorded_scripts(recorded) -> None:
    """The recorded output itself, with our markers in the place of theirs."""
    for (function, name), text in recorded.scripts().items():
        output = f"fmident answer 0: \n{text}\nfmident answer 1: \n"
        (reply,) = read_answers(output, [f"{function}({name})"])
        call = next(r for r in recorded.ompython() if (r.function, r.subject) == (function, name))
        if call.raised is None:
            assert reply.value == call.value
            continue
        assert not reply.succeeded
        expected = [(m.level, m.text, m.location) for m in parse_raised(call.raised)]
        if reply.messages:  # a failed buildModelFMU may say nothing in a script
            assert [(m.level, m.text, m.location) for m in reply.messages] == expected


def test_text_of_a_script() -> None:
    assert make_script(["loadModel(Modelica)"]) == (
        'print("fmident answer 0: "); loadModel(Modelica);'
        ' print("fmident messages: "); getErrorString();\n'
        'print("fmident answer 1: ");\n'
    )


@pytest.mark.parametrize(
    "said",
    [
        "Failed to download package index https://libraries.openmodelica.org/index.json to file x.",
        "Curl error for URL https://libraries.openmodelica.org: Couldn't resolve host name",
    ],
)
def test_an_index_that_cannot_be_downloaded_is_not_an_error(said: str) -> None:
    answer = f'true\nfmident messages: \n"Error: {said}\n"\n'
    reply = read_answer("loadModel(Modelica)", answer)
    assert reply.messages[0].text == said
    assert reply.succeeded
    assert to_diagnostics(reply.messages) == []


def test_messages_that_omc_quotes() -> None:
    text = 'fmident messages: \n"[/a b.mo:2:11-2:17:writable] Error: y is \\"odd\\".\n"\n'
    reply = read_answer("buildModelFMU(M)", text)
    assert reply.value is None
    assert reply.messages == (Message("error", 'y is "odd".', Location("/a b.mo", 2, 11)),)


def test_output_that_ends_early() -> None:
    with pytest.raises(OmcStoppedError, match=r"at 'b\(\)'") as caught:
        read_answers("fmident answer 0: \ntrue\n\nfmident answer 1: \noops\n", ["a()", "b()"])
    assert "oops" in caught.value.message


def test_end_process_ends_children(tmp_path: Path) -> None:
    sleep = "import time; time.sleep(60)"
    script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}]); {sleep}"
    parent = psutil.Popen([sys.executable, "-c", script])
    while not parent.children():
        assert parent.is_running()
        time.sleep(0.02)
    (child,) = parent.children()
    end_process(parent.pid)
    parent.wait(60)
    # Killed and without a parent: gone as soon as the kernel and init come to it.
    _, alive = psutil.wait_procs([child], timeout=60)
    assert alive == [] or child.status() == psutil.STATUS_ZOMBIE
    end_process(parent.pid)  # a second time does no harm


@pytest.mark.parametrize("root", [True, False])
def test_ways_depend_on_who_runs_them(monkeypatch: pytest.MonkeyPatch, root: bool) -> None:
    monkeypatch.setattr(availability, "is_administrator", lambda: root)
    monkeypatch.setattr(availability, "find_omc", lambda: "/usr/bin/omc")
    assert availability.choose_way("auto") == ("script" if root else "local")
