"""Wrapper for a plugin's compiler that checks what it returns and raises."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from types import UnionType
from typing import Any

from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.compilers.platforms import RECORD_PATH, encode_record, make_record, read_record
from fmident.errors import Diagnostic, PluginError
from fmident.files import whole_file
from fmident.plugin_code import PLUGIN_BUG, code_of_plugin, defined_at


class CheckedCompiler(Compiler):
    """Calls a plugin's compiler and reports faults as the plugin's.

    An FMU without a build record gets one, so that it is rebuilt only when its sources have
    changed. `what` describes the compiler in messages. Raises `PluginError` if the class
    `kind` cannot be instantiated without arguments.
    """

    def __init__(self, kind: type[Compiler], what: str) -> None:
        self._what = what
        self._module = kind.__module__
        with code_of_plugin(f"making {what}", self._module, kind):
            self._inner = kind()
        self.name = kind.name

    def unavailable(self) -> str | None:
        """Return the answer of the plugin's compiler."""
        reason: str | None = self._answer("unavailable", str | None, "a text or None")
        return reason

    def version(self) -> str:
        """Return the answer of the plugin's compiler."""
        version: str = self._answer("version", str, "a text")
        return version

    def tools(self) -> dict[str, str]:
        """Return the tools of the plugin's compiler."""
        tools: dict[str, str] = self._answer("tools", dict, "a dictionary")
        return tools

    def _answer(self, method: str, kind: type[object] | UnionType, wanted: str) -> Any:
        with code_of_plugin(f"'{method}' of {self._what}", self._module):
            answer = getattr(self._inner, method)()
        self._expect(answer, kind, method, wanted)
        return answer

    def build(self, request: BuildRequest) -> BuildResult:
        """Compile one class; add a build record if the FMU has none.

        Raises `PluginError` if the compiler fails with anything but a `CompilationError` or
        does not write an FMU, and `OSError` if the FMU cannot be written.
        """
        before = _state(request.output)
        with code_of_plugin(
            f"'build' of {self._what}",
            self._module,
            passes=lambda error: is_about_output(error, request.output),
        ):
            result = self._inner.build(request)
        self._expect(result, BuildResult, "build", "a BuildResult")
        self._expect_fields(result)
        self._expect_fmu(request.output, before)
        if read_record(request.output) is None:
            _add_record(request.output, encode_record(make_record(request, self)))
        return result

    def _expect_fields(self, result: BuildResult) -> None:
        diagnostics: object = result.diagnostics
        if not isinstance(diagnostics, list | tuple) or not all(
            isinstance(d, Diagnostic) for d in diagnostics
        ):
            raise self._error("build", f"returned diagnostics={diagnostics!r}, not Diagnostics")
        self._expect(result.compiler, str, "build", "a text as 'compiler'")
        self._expect(result.seconds, float | int, "build", "a number as 'seconds'")

    def _expect_fmu(self, output: Path, before: tuple[int, ...] | None) -> None:
        after = _state(output)
        if after is None or after == before:
            left = "" if after is None else "; the file that is there is an older one"
            raise self._error("build", f"returned, but did not write '{output}'{left}")
        try:
            with zipfile.ZipFile(output) as archive:
                complete = "modelDescription.xml" in archive.namelist()
        except zipfile.BadZipFile:
            complete = False
        if not complete:
            output.unlink()  # else it is taken for an FMU that is there
            raise self._error("build", f"wrote '{output.name}', which is not an FMU")

    def _expect(
        self, value: object, kind: type[object] | UnionType, method: str, wanted: str
    ) -> None:
        if not isinstance(value, kind):
            raise self._error(method, f"returned {value!r}, not {wanted}")

    def _error(self, method: str, message: str) -> PluginError:
        return PluginError(
            f"'{method}' of {self._what} ({self._module}) {message}",
            location=defined_at(getattr(self._inner, method)),
            hint=PLUGIN_BUG,
        )


def is_about_output(error: BaseException, output: Path) -> bool:
    """Return whether an error means that the FMU, or a file beside it, cannot be written."""
    if not isinstance(error, OSError) or error.filename is None:
        return False
    return Path(str(error.filename)).parent == output.parent


def _state(file: Path) -> tuple[int, ...] | None:
    """Return the attributes of a file that a write changes; ``None`` if it does not exist."""
    try:
        known = file.stat()
    except OSError:
        return None
    return known.st_ino, known.st_mtime_ns, known.st_size


def _add_record(fmu: Path, content: bytes) -> None:
    """Add the build record to an FMU; the file is complete at all times."""
    with zipfile.ZipFile(fmu) as archive:
        if RECORD_PATH in archive.namelist():
            return  # one that cannot be read: a member cannot be replaced
    with fmu.open("rb") as source, whole_file(fmu) as stream:
        shutil.copyfileobj(source, stream)
        with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(RECORD_PATH, content)
