"""Tables of options and of error codes, from their declarations."""

from __future__ import annotations

import functools
import re
from typing import Any

from sphinx.application import Sphinx

from fmident.errors import Code
from fmident.plugins import load_plugins
from fmident.toml_file.options import option_rows

ALL = "<!-- options -->"
CODES = "<!-- error codes -->"
ONE = re.compile(r"<!-- options of (\S+) -->")


def setup(app: Sphinx) -> dict[str, Any]:
    """Fill in the tables when a page is read."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = with_tables(source[0])


def with_tables(text: str) -> str:
    """Put tables in the place of the marks: of all options, of one estimator or cost, of codes."""
    text = text.replace(CODES, codes())
    if ALL in text:
        text = text.replace(ALL, tables())
    return ONE.sub(lambda mark: _table(_items()[mark.group(1)][1]), text)


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
