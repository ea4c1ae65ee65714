"""``documentation/``: a page on the model and its variables, and licence texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fmident.compilers.embedded.backend.description import content
from fmident.compilers.embedded.model import OdeModel, ScalarVariable

MOST_ROWS = 1000
"""Rows of a table; ``modelDescription.xml`` has the others."""

_STYLE = """
body { font-family: sans-serif; line-height: 1.45; max-width: 60em; margin: 2em auto;
  padding: 0 1em; color: #222; background: #fff; }
h1 { font-size: 1.5em; overflow-wrap: anywhere; }
table.variables { border-collapse: collapse; }
table.variables th, table.variables td { border-bottom: 1px solid #ccc;
  padding: 0.2em 0.8em 0.2em 0; text-align: left; vertical-align: top; }
td.number { text-align: right !important; font-variant-numeric: tabular-nums; }
p.note { color: #666; font-size: 0.9em; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_LICENCES = """\
Licences of what is in this FMU

The model: as its Modelica source.

The runtime of fmident, in the libraries and in the C sources: Apache License 2.0
(SPDX: Apache-2.0), https://www.apache.org/licenses/LICENSE-2.0
"""


def page(model: OdeModel) -> str:
    """Return ``documentation/index.html``, without scripts or external resources."""
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>{content(model.name)}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{content(model.name)}</h1>",
    ]
    if model.description:
        lines.append(f"<p>{content(model.description)}</p>")
    lines += _table("Parameters", model.parameters, has_values=True)
    lines += _frozen(model)
    lines += _table("Inputs", model.inputs)
    discrete = (v for v in model.events.variables if v.name in model.events.outputs)
    lines += _table("Outputs", [*model.outputs, *discrete])
    lines += _table("States", [v for v in model.states if v.kind == "state"])
    if model.library_version:
        version = f"{model.name.split('.')[0]} {model.library_version}"
        lines.append(f'<p class="note">{content(version)}</p>')
    return "\n".join([*lines, "</body>", "</html>"]) + "\n"


def _table(
    title: str, variables: Sequence[ScalarVariable], *, has_values: bool = False
) -> Iterator[str]:
    if not variables:
        return
    yield f"<h2>{title}</h2>"
    yield '<table class="variables">'
    value = "<th>Value</th>" if has_values else ""
    yield f"<tr><th>Name</th>{value}<th>Unit</th><th>Limits</th><th>Description</th></tr>"
    for v in variables[:MOST_ROWS]:
        value = f'<td class="number">{_number(v.start)}</td>' if has_values else ""
        cells = (v.unit, _limits(v), v.description)
        rest = "".join(f"<td>{content(cell)}</td>" for cell in cells)
        yield f"<tr><td><code>{content(v.name)}</code></td>{value}{rest}</tr>"
    yield "</table>"
    if len(variables) > MOST_ROWS:
        more = len(variables) - MOST_ROWS
        yield f'<p class="note">modelDescription.xml has {more} more.</p>'


def _frozen(model: OdeModel) -> Iterator[str]:
    if not model.frozen:
        return
    yield "<h2>Parameters that cannot be set</h2>"
    yield '<table class="variables">'
    yield "<tr><th>Name</th><th>Why</th></tr>"
    for name, one in list(model.frozen.items())[:MOST_ROWS]:
        yield f"<tr><td><code>{content(name)}</code></td><td>{content(one.reason)}</td></tr>"
    yield "</table>"


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value)).removesuffix(".0")


def _limits(v: ScalarVariable) -> str:
    low, high = _number(v.minimum), _number(v.maximum)
    if low and high:
        return f"{low} to {high}"
    if low:
        return f"{low} or more"
    return f"{high} or less" if high else ""


def licence_members(texts: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of ``documentation/licenses/`` (FMI 3.0.2, section 2.5.1.1.1) by name."""
    entry = _LICENCES
    if texts:
        entry += "\nLibraries that are linked in; their texts are beside this file:\n"
        entry += "".join(f"- {name}\n" for name in texts)
    files = {"license.txt": entry, **texts}
    return {f"documentation/licenses/{name}": text.encode() for name, text in files.items()}
