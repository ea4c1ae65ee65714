"""Search for SUNDIALS in FMPy's wheel (version 7) or the system's libraries (6 or 7)."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import weakref
from ctypes import c_double, c_int, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from fmident.errors import Code, FmuError
from fmident.fmu.archive import library_suffix, platform_folder

_PARTS = ("core", "nvecserial", "sunmatrixdense", "sunlinsoldense", "cvode")

# Name -> result, arguments.
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "SUNContext_Create": (c_int, (c_void_p, c_void_p)),
    "SUNContext_Free": (c_int, (c_void_p,)),
    "N_VMake_Serial": (c_void_p, (c_int64, c_void_p, c_void_p)),
    "N_VDestroy": (None, (c_void_p,)),
    "N_VGetArrayPointer": (c_void_p, (c_void_p,)),
    "SUNDenseMatrix": (c_void_p, (c_int64, c_int64, c_void_p)),
    "SUNDenseMatrix_Column": (c_void_p, (c_void_p, c_int64)),
    "SUNMatDestroy": (None, (c_void_p,)),
    "SUNLinSol_Dense": (c_void_p, (c_void_p, c_void_p, c_void_p)),
    "SUNLinSolFree": (c_int, (c_void_p,)),
    "CVodeCreate": (c_void_p, (c_int, c_void_p)),
    "CVodeInit": (c_int, (c_void_p, c_void_p, c_double, c_void_p)),
    "CVodeReInit": (c_int, (c_void_p, c_double, c_void_p)),
    "CVodeSVtolerances": (c_int, (c_void_p, c_double, c_void_p)),
    "CVodeSetUserData": (c_int, (c_void_p, c_void_p)),
    "CVodeSetLinearSolver": (c_int, (c_void_p, c_void_p, c_void_p)),
    "CVodeSetJacFn": (c_int, (c_void_p, c_void_p)),
    "CVodeSetStopTime": (c_int, (c_void_p, c_double)),
    "CVodeRootInit": (c_int, (c_void_p, c_int, c_void_p)),
    "CVodeSetNoInactiveRootWarn": (c_int, (c_void_p,)),
    "CVode": (c_int, (c_void_p, c_double, c_void_p, c_void_p, c_int)),
    "CVodeGetDky": (c_int, (c_void_p, c_double, c_int, c_void_p)),
    "CVodeGetRootInfo": (c_int, (c_void_p, c_void_p)),
    "CVodeFree": (None, (c_void_p,)),
}
_OPTIONAL: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "SUNContext_ClearErrHandlers": (c_int, (c_void_p,)),  # SUNDIALS 7
    "CVodeSetErrFile": (c_int, (c_void_p, c_void_p)),  # SUNDIALS 6
}


class Sundials:
    """Integration functions of SUNDIALS, with a separate context."""

    def __init__(self, libraries: list[ctypes.CDLL], origin: str) -> None:
        self.origin = origin
        self._functions: dict[str, Any] = {}
        for name, (result, arguments) in (_FUNCTIONS | _OPTIONAL).items():
            function = next((f for lib in libraries if (f := getattr(lib, name, None))), None)
            if function is None:
                if name in _FUNCTIONS:
                    raise LookupError(name)
                continue
            function.restype = result
            function.argtypes = arguments
            self._functions[name] = function
        context = c_void_p()
        self._functions["SUNContext_Create"](None, ctypes.byref(context))
        self.context = context.value
        # Whatever is made in the context keeps this object alive, hence the context, too.
        free = self._functions["SUNContext_Free"]
        weakref.finalize(self, free, ctypes.byref(context)).atexit = False
        if "SUNContext_ClearErrHandlers" in self._functions:
            self.call("SUNContext_ClearErrHandlers", self.context)  # messages are made here

    def has(self, name: str) -> bool:
        """Return whether this version has the function."""
        return name in self._functions

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function."""
        return self._functions[name](*arguments)

    def address(self, name: str) -> int:
        """Return the address of a function."""
        return ctypes.cast(self._functions[name], c_void_p).value or 0


def make_sundials() -> Sundials:
    """Load SUNDIALS; each simulator has its own context, so that threads are independent."""
    libraries, origin = _libraries()
    return Sundials(libraries, origin)


@cache
def _libraries() -> tuple[list[ctypes.CDLL], str]:
    tried: list[str] = []
    for names, origin in (_of_fmpy(), _of_system()):
        try:
            loaded = [ctypes.CDLL(name) for name in names]
            if loaded:
                loaded.reverse()
                Sundials(loaded, origin)
                return loaded, origin
            tried.append(f"{origin}: none")
        except (OSError, LookupError) as error:
            tried.append(f"{origin}: {error}")
    raise FmuError(
        f"Model Exchange needs the integrator SUNDIALS CVODE, which is not here ({tried})",
        hint="install it: pip install --upgrade fmpy, or apt-get install libsundials-dev;"
        " or export the FMU with Co-Simulation",
        code=Code.NOT_INSTALLED,
    )


def _of_fmpy() -> tuple[list[str], str]:
    spec = importlib.util.find_spec("fmpy")
    if spec is None or not spec.submodule_search_locations:
        return [], "FMPy"
    here = platform_folder("3.0")
    name = "aarch64-darwin" if here == "x86_64-darwin" else here  # holds both kinds of code
    folder = Path(spec.submodule_search_locations[0]) / "sundials" / name
    paths = [folder / f"sundials_{part}{library_suffix()}" for part in _PARTS]
    return [str(p) for p in paths if p.is_file()], "FMPy"


def _of_system() -> tuple[list[str], str]:
    names = (ctypes.util.find_library(f"sundials_{part}") for part in _PARTS)
    return [n for n in names if n], "the system"
