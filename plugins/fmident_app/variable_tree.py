"""Variables of an FMU in a tree by the dots of their names, with tick boxes and a search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nicegui import ui

from fmident.fmu import Variable

_FILTER = """(node, filter) => (node.id + ' ' + node.about).toLowerCase()
  .includes(filter.toLowerCase())"""

_NODE = """
<div class="row no-wrap items-baseline full-width" style="gap:.6rem">
  <span>{{ props.node.label }}</span>
  <span class="mono muted">{{ props.node.value }}</span>
  <span class="muted ellipsis" :title="props.node.about">{{ props.node.about }}</span>
</div>"""


class VariableTree:
    """A tree of variables under a field for a search.

    Parameters
    ----------
    groups
        Variables by the title of their group.
    ticked
        Called with the names of all that are ticked, after a click.
    expanded
        Titles of the groups that are open at first.
    """

    def __init__(
        self,
        groups: Mapping[str, Sequence[Variable]],
        ticked: Callable[[set[str]], None],
        *,
        expanded: Iterable[str] = (),
    ) -> None:
        search = ui.input("Search names and descriptions").classes("w-full")
        search.props("clearable dense debounce=200")
        nodes = [
            {"id": f"/{title}", "label": f"{title} ({len(variables)})", "value": "", "about": "",
             "children": branches(variables)}
            for title, variables in groups.items()
            if variables
        ]  # fmt: skip
        self._tree = ui.tree(nodes, on_tick=lambda e: ticked(set(e.value)))
        self._tree.props[":filter-method"] = _FILTER
        self._tree.add_slot("default-header", _NODE)
        self._tree.classes("w-full").style("max-height: 32rem; overflow: auto")
        search.bind_value_to(self._tree, "filter", lambda text: text or "")
        self._tree.expand([f"/{title}" for title in expanded])

    def tick(self, names: Iterable[str]) -> None:
        """Tick these variables and no others."""
        self._tree.props["ticked"] = sorted(names)
        self._tree.update()


def branches(variables: Iterable[Variable]) -> list[dict[str, Any]]:
    """Return the nodes of variables, by the parts of their names; dots in brackets do not count."""
    top: list[dict[str, Any]] = []
    inner: dict[str, dict[str, Any]] = {}
    for variable in variables:
        place, path = top, ""
        *above, last = re.split(r"\.(?![^\[]*\])", variable.name)
        for part in above:
            path = f"{path}.{part}" if path else part
            if path not in inner:
                inner[path] = {"id": f"{path}.", "label": part, "value": "", "about": "",
                               "children": []}  # fmt: skip
                place.append(inner[path])
            place = inner[path]["children"]
        start = "" if variable.start is None else f"{variable.start:g}" if isinstance(
            variable.start, float) else str(variable.start)  # fmt: skip
        limits = [variable.minimum, variable.maximum]
        bounds = "" if limits == [None, None] else " in [{}, {}]".format(
            *("" if x is None else f"{x:g}" for x in limits))  # fmt: skip
        value = " ".join(filter(None, [start, variable.unit]))
        place.append(
            {"id": variable.name, "label": last, "value": value,
             "about": variable.description + bounds}
        )  # fmt: skip
    return top
