"""Links to reports of examples, where ``ci/docs --reports`` has made them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

MARK = re.compile(r"<!-- report of (\S+) -->")


def setup(app: Sphinx) -> dict[str, Any]:
    """Fill in the links when a page is read."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    folders = [Path(folder) for folder in app.config.html_extra_path]

    def link(mark: re.Match[str]) -> str:
        file = f"reports/{mark[1]}.html"
        there = any((folder / file).exists() for folder in folders)
        return f'· <a href="{file}">report</a>' if there else ""

    source[0] = MARK.sub(link, source[0])
