"""Tables of options, of the arguments of commands and of error codes, from their declarations."""

from __future__ import annotations

import argparse
import functools
import re
from typing import Any

from sphinx.application import Sphinx

from fmident.cli.commands import COMMANDS
from fmident.cli.usage import EVERYWHERE, Option
from fmident.errors import Code
from fmident.plugins import load_plugins
from fmident.toml_file.options import option_rows

ALL = "<!-- options -->"
CODES = "<!-- error codes -->"
ONE = re.compile(r"<!-- options of (\S+) -->")
QUOTED = re.compile(r"'([^']+)'|(?<![\w-])(--[a-z][\w-]*)")
ARGUMENTS = re.compile(r"<!-- arguments of (.+?) -->")


def setup(app: Sphinx) -> dict[str, Any]:
    """Fill in the tables when a page is read."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = with_tables(source[0])


def with_tables(text: str) -> str:
    """Put tables in the place of the marks."""
    text = text.replace(CODES, codes())
    if ALL in text:
        text = text.replace(ALL, tables())
    text = ARGUMENTS.sub(lambda mark: arguments(mark.group(1)), text)
    return ONE.sub(lambda mark: _table(_items()[mark.group(1)][1]), text)


def arguments(command: str) -> str:
    """Return the table of a command's arguments, or of those of ``every command``."""
    options = EVERYWHERE if command == "every command" else COMMANDS[command].options
    text = "| argument | what it does |\n|---|---|\n"
    for option in options:
        meaning = QUOTED.sub(r"`\1\2`", option.settings["help"].replace("%%", "%"))
        text += f"| {_usage(option)} | {meaning} |\n"
    return text


def _usage(option: Option) -> str:
    """Return the names of an argument with what its value is called."""
    settings = option.settings
    value = settings.get("metavar", "")
    if "choices" in settings:
        value = "{" + ",".join(settings["choices"]) + "}"
    if not option.names[0].startswith("-"):
        return f"`{value or option.names[0]}`".replace("|", "` or `")
    optional = settings.get("nargs") == "?"
    value = f" [{value}]" if optional else f" {value}" if value else ""
    names = list(option.names)
    if settings.get("action") is argparse.BooleanOptionalAction:
        names += [name.replace("--", "--no-", 1) for name in names]
    return ", ".join(f"`{name}{value}`" for name in names)


def codes() -> str:
    """Return the table of error codes."""
    rows = (f"| `{code.value}` | {code.meaning} |\n" for code in Code)
    return "| code | meaning |\n|---|---|\n" + "".join(rows)


def tables() -> str:
    """Return one table for each estimator and cost."""
    text = ""
    for section in ("estimator", "cost"):
        text += f"\n## `[{section}]`\n"
        for name, (summary, kind, owner) in _items().items():
            if owner == section:
                text += f"\n### `{name}`\n\n{summary}\n\n{_table(kind)}"
    return text


@functools.cache
def _items() -> dict[str, tuple[str, type[Any], str]]:
    """Return summary, class and section of each estimator and cost."""
    host = load_plugins()
    found = {r.name: (r.summary, r.item.options_type, "estimator") for r in host.estimators}
    return found | {r.name: (r.summary, r.item, "cost") for r in host.costs}


def _table(kind: type[Any]) -> str:
    rows = option_rows(kind)
    if not rows:
        return "It has no options.\n"
    text = "| key | default | values | meaning |\n|---|---|---|---|\n"
    for row in rows:
        default = f"`{row.default}`" if row.default else ""
        meaning = row.meaning.replace("|", "\\|")
        text += f"| `{row.name}` | {default} | {row.values} | {meaning} |\n"
    return text
