"""The command line, with one module per command.

:func:`main` is the console script. A command's module has ``HELP``, ``EXAMPLE``,
``configure(parser)`` and ``run(arguments)``; it imports what it needs inside ``run``,
so that ``fmident --help`` responds quickly.
"""

from fmident.cli.main import main

__all__ = ["main"]
