"""``fmident doctor``."""

from __future__ import annotations

import argparse
import contextlib
import platform
import textwrap
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from fmident.cli.console import out, out_broken, out_table, tell_all
from fmident.errors import PluginError

if TYPE_CHECKING:
    from fmident.plugins import Host

HELP = "show versions and what works on this machine"
EXAMPLE = """\
  fmident doctor"""

_PACKAGES = (
    "numpy", "scipy", "pandas", "numba", "casadi", "rumoca", "fmpy", "pyceres", "cma",
    "pluggy", "matplotlib", "jinja2", "OMPython", "psutil",
)  # fmt: skip


_OPTIONAL = {"distributed": "executor = \"dask\": pip install 'fmident[dask]'"}
"""What each package is for that need not be there, and how to get it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""


def run(arguments: argparse.Namespace) -> int:
    """Print versions and the state of the compilers; 1 when no compiler can run."""
    from fmident._version import __version__
    from fmident.plugins import load_plugins

    host = load_plugins(without=arguments.no_plugin)
    rows = [
        ["fmident", __version__],
        ["Python", platform.python_version()],
        ["platform", f"{platform.system()} {platform.machine()}"],
        *([name, _version(name) or "missing, but needed"] for name in _PACKAGES),
        *([name, _version(name) or f"not installed ({why})"] for name, why in _OPTIONAL.items()),
    ]
    out_table(["component", "version"], rows)
    out()
    states, reasons = [], []
    tools: dict[str, str] = {}
    for registration in host.compilers:
        state, reason = _state(host, registration.name)
        if reason is None:
            with contextlib.suppress(PluginError):  # versions matter more
                tools |= host.compiler(registration.name).tools()
        states.append([registration.name, state])
        if reason is not None:
            reasons.append(textwrap.indent(f"{registration.name}: {reason}", "  "))
    out_table(["compiler", "state"], states)
    if tools:
        out()
        out_broken("\n".join(f"{name}: {found}" for name, found in tools.items()))
    for reason in reasons:
        out()
        out_broken(reason)
    tell_all(host.diagnostics)
    return 0 if len(reasons) < len(states) else 1


def _state(host: Host, name: str) -> tuple[str, str | None]:
    """Return the version of a compiler, or that it cannot run and why."""
    try:
        compiler = host.compiler(name)
        reason = compiler.unavailable()
        return (compiler.version() if reason is None else "cannot run"), reason
    except PluginError as error:
        return "broken", str(error)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
