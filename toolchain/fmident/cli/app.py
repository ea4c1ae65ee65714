"""``fmident app``: started here, kept in a package of its own."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.metadata import entry_points

from fmident.errors import Code, PluginError

GROUP = "fmident.commands"
"""Entry points of commands that are not part of the host, by name."""


def run(arguments: argparse.Namespace) -> int:
    """Run the command of the entry point.

    Raises
    ------
    fmident.errors.PluginError
        The package is not installed.
    """
    points = entry_points(group=GROUP, name="app")
    if not points:
        raise PluginError(
            "the app is not installed",
            hint="pip install 'fmident[app]'",
            code=Code.UNKNOWN_NAME,
        )
    start: Callable[[argparse.Namespace], int] = next(iter(points)).load()
    return start(arguments)
