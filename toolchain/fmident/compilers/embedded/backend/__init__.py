"""The back end: an :class:`~fmident.compilers.embedded.model.OdeModel` becomes an FMU.

``layout``
    value references, FMI attributes and dependencies of all variables
``codegen``
    C source of the model
``description``
    ``modelDescription.xml``, for each version of FMI
``compiling``
    C compilers for all platforms: find, compile, link
``archive``
    the zip file, byte for byte reproducible
"""

from fmident.compilers.embedded.backend.compiling.toolchain import missing_tools
from fmident.compilers.embedded.backend.fmu import build_fmu

__all__ = ["build_fmu", "missing_tools"]
