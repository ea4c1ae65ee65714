"""Back end: turns an :class:`~fmident.compilers.embedded.model.OdeModel` into an FMU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.compilers.embedded.backend.compiling.toolchain import missing_tools
    from fmident.compilers.embedded.backend.fmu import build_fmu

__all__ = ["build_fmu", "missing_tools"]

# CasADi takes long to import, and whether tools are missing is asked more often than built.
__getattr__, __dir__ = lazy_face(
    __name__, {"build_fmu": "fmu", "missing_tools": "compiling.toolchain"}
)
