"""Commands to start with: an example, what works here, which plugins there are."""

from __future__ import annotations

import argparse
import contextlib
import platform
import textwrap
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import out, out_table, say, tell
from fmident.cli.usage import Command, UsageError
from fmident.errors import PluginError

if TYPE_CHECKING:
    from fmident.plugins import Host


from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fmident.cli.console import width
from fmident.errors import Code, did_you_mean

if TYPE_CHECKING:
    from fmident.evaluation import ExecutorKind
    from fmident.plugins.host import Host


_INIT_EXAMPLE = """\
  fmident init study
  fmident init --example delta my-robot
  fmident init --list

Without --example: a small Modelica model, measured data, a problem file and a catalogue.
A folder that is not empty is refused; nothing is overwritten."""


def configure_init(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="where to write it (the current folder); is made if it does not exist",
    )
    parser.add_argument("--example", metavar="NAME", help="an example instead; --list shows them")
    parser.add_argument("--list", action="store_true", help="list the examples, write nothing")


def run_init(arguments: argparse.Namespace) -> int:
    """Write the files, and say what to do with them."""
    from fmident.api.studies import STARTER, examples, write_study

    if arguments.list:
        if arguments.example is not None or arguments.folder is not None:
            raise UsageError("--list writes nothing: it takes no folder and no --example")
        rows = [[e.name, e.title] for e in examples()]
        out_table(["example", "what it is"], rows)
        out(f"\n'{STARTER}' is written when no example is named")
        return 0
    folder = arguments.folder or Path()
    files = write_study(folder, arguments.example)
    say(f"{len(files)} files written to '{folder.resolve()}':")
    for file in files:
        say(f"  {file.relative_to(folder)}")
    step = "" if folder == Path() else f"cd {folder} and "
    say(f"next: {step}read README.md; it begins with the commands to run")
    return 0


_DOCTOR_EXAMPLE = """\
  fmident doctor"""

_PACKAGES = (
    "numpy", "scipy", "pandas", "numba", "casadi", "rumoca", "fmpy", "pyceres", "cma",
    "pluggy", "matplotlib", "jinja2", "OMPython", "psutil",
)  # fmt: skip


_OPTIONAL = {"distributed": "executor = \"dask\": pip install 'fmident[dask]'"}
"""What each package is for that need not be there, and how to get it."""


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""


def run_doctor(arguments: argparse.Namespace) -> int:
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
        out("\n".join(f"{name}: {found}" for name, found in tools.items()), wrap=True)
    for reason in reasons:
        out()
        out(reason, wrap=True)
    tell(host.diagnostics)
    return 0 if len(reasons) < len(states) else 1


def _state(host: Host, name: str) -> tuple[str, str | None]:
    """Return the version of a compiler, or why it cannot run."""
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


_PLUGINS_EXAMPLE = """\
  fmident plugins
  fmident plugins least-squares"""


def configure_plugins(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "name", nargs="?", help="an estimator, a cost or an executor, whose options are listed"
    )


def run_plugins(arguments: argparse.Namespace) -> int:
    """Print three tables, or the options of one item; 1 when a plugin is broken."""
    from fmident.plugins import load_plugins

    host = load_plugins(without=arguments.no_plugin)
    if arguments.name is not None:
        return _options(host, arguments.name)
    rows = [
        [
            plugin.origin.plugin,
            f"{plugin.origin.distribution} {plugin.origin.version}".strip(),
            "works" if plugin.problem is None else "LEFT OUT",
            ", ".join(hook.removeprefix("fmident_") for hook in plugin.hooks),
        ]
        for plugin in host.plugins
    ]
    out_table(["plugin", "distribution", "state", "hooks"], rows)
    items = [
        [registration.name, registry.kind, registration.origin.plugin, registration.summary]
        for registry in host.registries
        for registration in registry
    ]
    out()
    out_table(["name", "kind", "plugin", "summary"], items)
    out()
    out_table(["executor", "can", "keys of its own"], _executors(host.executors.by_name))
    tell(host.diagnostics)
    return 1 if host.diagnostics else 0


def _options(host: Host, name: str) -> int:
    """Print the options of an estimator, a cost or an executor."""
    from fmident.report.terminal import narrow_table
    from fmident.toml_file.options import option_rows

    kinds: dict[str, tuple[str, str, type[Any]]] = {
        r.name: ("estimator", r.summary, r.item.options_type) for r in host.estimators
    }
    kinds |= {r.name: ("cost", r.summary, r.item) for r in host.costs if r.name not in kinds}
    kinds |= {
        r.name: ("evaluation", r.summary, r.item.options_type)
        for r in host.executors
        if r.name not in kinds
    }
    if name not in kinds:
        raise UsageError(
            f"there is no estimator, cost or executor '{name}'",
            hint=did_you_mean(name, kinds),
            code=Code.UNKNOWN_NAME,
        )
    section, summary, kind = kinds[name]
    out(f"{name}: {summary}", wrap=True)
    out()
    out(f"[{section}]")
    out(f'{"executor" if section == "evaluation" else "name"} = "{name}"')
    rows = [[row.name, row.default, row.values, row.meaning] for row in option_rows(kind)]
    if rows:
        out()
        header = ["option", "default", "values", "meaning"]
        out(narrow_table(header, rows, ["<"] * len(header), width()))
    return 0


def _executors(kinds: Mapping[str, ExecutorKind]) -> list[list[str]]:
    """Return the capabilities of each executor."""
    rows = []
    for name, kind in kinds.items():
        abilities = {
            "survive crashes": bool(kind.isolated),
            "limit memory": kind.limits_memory,
            "renew workers": kind.renews,
            "use several machines": kind.several_machines,
        }
        can = ", ".join(ability for ability, holds in abilities.items() if holds)
        rows.append([name, can, ", ".join(kind.options)])
    return rows


COMMANDS = {
    "init": Command(_INIT_EXAMPLE, configure_init, run_init),
    "doctor": Command(_DOCTOR_EXAMPLE, configure_doctor, run_doctor),
    "plugins": Command(_PLUGINS_EXAMPLE, configure_plugins, run_plugins),
}
