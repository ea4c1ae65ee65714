"""Bring the compiled loops of ``fmident.fmu`` into a wheel: those of this machine.

With ``FMIDENT_WHEEL=all``, for a wheel that is published, those of all platforms in ``TARGETS``.
Where a wheel has none, the first use compiles them.
"""

from __future__ import annotations

import os
import runpy
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOM = "toolchain/fmident/fmu/native_code"
FOR_ALL = os.environ.get("FMIDENT_WHEEL") == "all"


class CompiledLoops(BuildHookInterface[Any]):
    """The build hook, which hatchling calls before it packs a wheel."""

    def dependencies(self) -> list[str]:
        """Return what pip installs for the build."""
        return ["ziglang>=0.13"] if FOR_ALL else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the loops, and add them to the wheel."""
        loops = runpy.run_path(str(Path(self.root) / ROOM / "compile_loops.py"))
        command = loops["compiler"]()
        commands = {loops["this_platform"](): command} if command else {}
        if FOR_ALL:
            commands |= {t: [*loops["ZIG"], "-target", n] for t, n in loops["TARGETS"].items()}
        folder = Path(self.root) / ROOM / "compiled"
        for target, command in commands.items():
            library = folder / loops["library_name"](target)
            if FOR_ALL:
                loops["compile_loops"](command, library)
            elif not library.is_file():
                try:
                    loops["compile_loops"](command, library)
                except (OSError, subprocess.CalledProcessError):
                    continue  # the first use says what is wrong
            if version != "editable":
                packed = f"fmident/fmu/native_code/compiled/{library.name}"
                build_data["force_include"][str(library)] = packed
