"""The compiled loops: their library, and the structures that they share with Python.

A loop calls the functions of an FMU many thousand times per second, without the interpreter. It is
written in C, in ``c/``: a wheel brings it compiled; elsewhere the first use compiles it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from ctypes import c_double, c_int, c_int64, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from fmident.errors import Code, FmuError
from fmident.fmu.native_code.compile_loops import (
    compile_loops,
    compiler,
    library_name,
    this_platform,
)
from fmident.fmu.native_code.program import Program
from fmident.operating_system import library_hint
from fmident.operating_system.cache import cache_folder

_KEPT = 3
"""Compiled loops that are kept, the newest ones: other versions of fmident may use them."""

_FLOATING: dict[str, tuple[Any, ...]] = {
    "floating_point": (c_uint64,),
    "standard_floating_point": (c_uint64,),
    "set_floating_point": (None, c_uint64),
    "restore_floating_point": (None,),
}
"""Result and arguments of what is called with the interpreter's lock held, which costs less."""

_LONG_RUNNING: dict[str, tuple[Any, ...]] = {
    "rings": (c_int64,),
    "open_ring": (None, c_int64, c_void_p),
    "logger": (c_void_p, c_int64),
    "text_logger": (c_void_p, c_int64),
    "settle_co_simulation": (c_int, c_void_p),
    "run_co_simulation": (c_int, c_void_p, c_void_p, c_int64, c_int64),
    "settle_model_exchange": (c_int, c_void_p),
    "run_model_exchange": (c_int, c_void_p, c_void_p, c_int64, c_int64),
    "handle_event": (c_int, c_void_p, c_void_p, c_int64, c_int64),
    "place": (c_int, c_void_p, c_double, c_void_p),
    "slopes": (c_int, c_void_p, c_int64, c_double, c_void_p, c_void_p),
    "indicators_of": (c_int, c_void_p, c_int64, c_double, c_void_p, c_void_p),
    "doubt": (c_double, c_void_p, c_double, c_int64),
    "record_sensitivities": (c_int, c_void_p, c_double, c_int64),
}


class Loops:
    """Functions of the library by name, without the prefix ``fmident_``."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._holding = ctypes.PyDLL(str(path))
        for library, table in ((self._holding, _FLOATING), (self._library, _LONG_RUNNING)):
            for name, (result, *arguments) in table.items():
                function = getattr(library, f"fmident_{name}")
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(name)

    def address(self, name: str) -> int:
        """Return the address of a function that an FMU or SUNDIALS calls."""
        return ctypes.cast(getattr(self._library, f"fmident_{name}"), c_void_p).value or 0


@functools.cache
def loops() -> Loops:
    """Return the loops, loaded by the first call; raise `FmuError` if they cannot be compiled."""
    name = library_name(this_platform())
    package, cache = Path(__file__).parent, cache_folder("loops")
    folders = [package / "compiled", *([] if cache is None else [cache])]
    for folder in folders:
        if (folder / name).is_file():
            return _load(folder / name)
    if not os.access(package, os.W_OK):
        folders = folders[1:]
    with contextlib.ExitStack() as until_loaded:
        if not folders:
            scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            folders = [Path(until_loaded.enter_context(scratch))]
        _compile(folders[0] / name)
        return _load(folders[0] / name)


def _load(library: Path) -> Loops:
    try:
        return Loops(library)
    except OSError as error:
        raise FmuError(
            f"the loops of fmident cannot be loaded: {error}",
            hint=library_hint(str(error)) or f"remove '{library}': it is then made anew",
            code=Code.NOT_INSTALLED,
        ) from None


def _compile(library: Path) -> None:
    command = compiler()
    if not command:
        raise FmuError(
            "this installation of fmident has no compiled loops for this platform, and there is no"
            " C compiler",
            hint="install a C compiler, or: pip install ziglang",
            code=Code.NOT_INSTALLED,
        )
    sys.stderr.write("fmident compiles its simulation loops, once for this version\n")
    try:
        compile_loops(command, library)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise FmuError(
            f"the loops of fmident cannot be compiled with {command[0]}: {said.strip()}",
            hint="let CC name a C compiler that works, or: pip install ziglang",
            code=Code.NOT_INSTALLED,
        ) from None
    others = library.parent.glob(f"{library.stem.rpartition('-')[0]}-*{library.suffix}")
    with contextlib.suppress(OSError):  # another process may do the same
        for old in sorted(others, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
            old.unlink()


def _integers(names: str) -> list[tuple[str, Any]]:
    return [(name, c_int64) for name in names.split()]


def _reals(names: str) -> list[tuple[str, Any]]:
    return [(name, c_double) for name in names.split()]


class Structure(ctypes.Structure):
    """Integers, addresses and floats, as in C; all of eight bytes."""

    @property
    def address(self) -> int:
        """The address of the structure."""
        return ctypes.addressof(self)


class ProgramPlace(ctypes.Structure):
    """Where a program is."""

    _fields_ = _integers("transfers count")

    @classmethod
    def of(cls, program: Program) -> ProgramPlace:
        """Return where a program is, which must live as long."""
        return cls(program.ctypes.data, program.size)


class RunStructure(Structure):
    """What all loops share with Python, see ``c/loops.h``."""

    _fields_ = (
        _integers("version component times last row")
        + _reals("time next_event")
        + _integers(
            "set_inputs input_references input_count input_width input_values input_work"
            " enter_event update jumps failed_function call_status warned events interval_events"
            " ended"
        )
    )


class CoSimulationRun(RunStructure):
    """A run of Co-Simulation, see ``c/co_simulation.c``."""

    _fields_ = [
        *((name, ProgramPlace) for name in ("before", "after", "jump", "record")),
        *_integers("do_step enter_step event_mode variable_step stalled early_returns"),
        *_reals("returned"),
    ]


class ModelExchangeRun(RunStructure):
    """A run of Model Exchange, see ``c/model_exchange.h``."""

    _fields_ = [
        *((name, ProgramPlace) for name in ("between", "jump", "record")),
        *_integers(
            "states indicators set_time set_states get_derivatives get_indicators get_states"
            " get_nominals enter_continuous completed directional state_references"
            " derivative_references reference_count x allowed work"
        ),
        *_reals("returned began relative"),
        *_integers(
            "memory state_vector tolerance_vector cvode reinit set_stop_time set_tolerances"
            " array_of column_of get_dense sensitivities on_event"
            " flag steps interval_steps close shrinking since_event inside restarts budget"
            " root effect late repeated"
        ),
        *_reals(
            "last_event last_gap doubted distance repeat worth late_event lateness error"
            " repeated_event"
        ),
    ]


class SensitivityRun(Structure):
    """The variational equation of a run, see ``c/sensitivities.c``."""

    _fields_ = [
        *_integers(
            "states knowns count indicators main members first offsets weights"
            " vectors columns matrices big small slopes zeros limits colours pattern dense_vector"
            " directional rates_known tracked followed looks unresolved"
            " width getter references reference_count outputs places derivatives why which"
        ),
        *_reals("next_size allowed relative at limit second_difference"),
    ]


def zero(structure: ctypes.Structure) -> None:
    """Set all of a structure to zero."""
    ctypes.memset(ctypes.addressof(structure), 0, ctypes.sizeof(structure))


def assign(structure: ctypes.Structure, other: ctypes.Structure) -> None:
    """Set all of a structure to what another of its kind has."""
    ctypes.memmove(ctypes.addressof(structure), ctypes.addressof(other), ctypes.sizeof(structure))
