"""``fmident plugins``."""

from __future__ import annotations

import argparse

from fmident.cli.console import out, tell_all

HELP = "list plugins and what they bring along"
EXAMPLE = """\
  fmident plugins"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""


def run(arguments: argparse.Namespace) -> int:
    """Print two tables; 1 when a plugin is broken."""
    from fmident.plugins import load_plugins
    from fmident.report.terminal import table

    host = load_plugins(without=arguments.no_plugin)
    rows = [
        [
            plugin.origin.plugin,
            f"{plugin.origin.distribution} {plugin.origin.version}".strip(),
            "works" if plugin.problem is None else "LEFT OUT",
            ", ".join(hook.removeprefix("fmident_") for hook in plugin.hooks),
        ]
        for plugin in host.plugins
    ]
    out(table(["plugin", "distribution", "state", "hooks"], rows))
    items = [
        [registration.name, registry.kind, registration.origin.plugin, registration.summary]
        for registry in (host.estimators, host.costs, host.compilers, host.reporters)
        for registration in registry
    ]
    out()
    out(table(["name", "kind", "plugin", "summary"], items))
    tell_all(host.diagnostics)
    return 1 if host.diagnostics else 0
