"""``fmident plugins``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fmident.cli.console import out, out_broken, out_table, tell_all, width
from fmident.cli.usage import UsageError
from fmident.errors import Code, did_you_mean

if TYPE_CHECKING:
    from fmident.evaluation import ExecutorKind
    from fmident.plugins.host import Host

HELP = "list plugins and what they bring along, or the options of one estimator, cost or executor"
EXAMPLE = """\
  fmident plugins
  fmident plugins least-squares"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "name", nargs="?", help="an estimator, a cost or an executor, whose options are listed"
    )


def run(arguments: argparse.Namespace) -> int:
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
    tell_all(host.diagnostics)
    return 1 if host.diagnostics else 0


def _options(host: Host, name: str) -> int:
    """Print the options of an estimator, a cost or an executor."""
    from fmident.report.terminal import narrow_table
    from fmident.toml_file.option_table import option_rows

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
    out_broken(f"{name}: {summary}")
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
    """Return what each executor can do."""
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
