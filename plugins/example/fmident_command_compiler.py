"""Compiles with a program of this machine that fmident does not know: the smallest compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.errors import CompilationError, Diagnostic, Location, Severity
from fmident.plugins import Registry, hookimpl

PROGRAM = "MODELICA_TO_FMU"
"""Environment variable with the program, which is called with class, FMU and sources."""

_FINDING = re.compile(r"(?P<file>[^:\n]+):(?P<line>\d+): (?P<text>.+)")


class CommandCompiler(Compiler):
    """Calls the program; its lines ``FILE:LINE: TEXT`` become findings."""

    name = "command"

    def unavailable(self) -> str | None:
        """Return what is missing."""
        if shutil.which(_program()) is None:
            return f"set {PROGRAM} to a program that is called with class, FMU and sources"
        return None

    def version(self) -> str:
        """Return what the program says with ``--version``; FMUs of another version are stale."""
        done = subprocess.run([_program(), "--version"], capture_output=True, text=True)
        return f"command {done.stdout.strip()}"

    def build(self, request: BuildRequest) -> BuildResult:
        """Compile one class beside its place; an existing FMU is replaced by a whole one only."""
        if request.options or request.tolerance is not None:
            raise CompilationError("the compiler 'command' takes neither options nor a tolerance")
        began, parent = time.monotonic(), request.output.parent
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=parent, prefix=".") as folder:
            fresh = Path(folder, request.output.name)
            words = [_program(), request.class_name, str(fresh), *map(str, request.sources)]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode or not fresh.exists():
                raise CompilationError(
                    f"'{_program()}' did not compile '{request.class_name}'",
                    diagnostics=_findings(done.stderr, "error"),
                )
            fresh.replace(request.output)
        seconds = time.monotonic() - began
        warnings = _findings(done.stderr, "warning")
        return BuildResult(request.output, self.version(), warnings, seconds)


def _program() -> str:
    return os.environ.get(PROGRAM, "")


def _findings(text: str, severity: Severity) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(severity, found["text"], Location(found["file"], int(found["line"])))
        for found in _FINDING.finditer(text)
    )


@hookimpl
def fmident_register_compilers(registry: Registry[type[Compiler]]) -> None:
    """Make the compiler known."""
    registry.add("command", CommandCompiler, summary="a program named by MODELICA_TO_FMU")
