"""The embedded Modelica compiler: rumoca, CasADi, SUNDIALS CVODE."""

from fmident.compilers.embedded.compiler import EmbeddedCompiler

__all__ = ["EmbeddedCompiler"]
