"""The ``openmodelica`` compiler: the reference, through OMPython or through scripts.

Reading order: ``compiler`` (the steps of a build), ``session`` (how omc is asked;
``ompython_session`` and ``script_session`` do it), ``messages`` and ``advice`` (what omc
says, as diagnostics), ``wrapper`` and ``ramps`` (inputs as ramps, tolerance), ``result``
(the FMU that came out), ``interface`` (which parameters stayed settable).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler
    from fmident.compilers.openmodelica.interface import check_interface, frozen_parameters
    from fmident.compilers.openmodelica.options import OpenModelicaOptions

__all__ = [
    "OpenModelicaCompiler",
    "OpenModelicaOptions",
    "check_interface",
    "frozen_parameters",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "OpenModelicaCompiler": "compiler",
        "OpenModelicaOptions": "options",
        "check_interface": "interface",
        "frozen_parameters": "interface",
    },
)
