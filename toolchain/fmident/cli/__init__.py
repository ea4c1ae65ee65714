"""The command line.

:func:`main` is the console script; :mod:`fmident.cli.commands` has the commands, and names the
module that runs each.
"""

from fmident.cli.main import main

__all__ = ["main"]
