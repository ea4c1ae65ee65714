"""The library of charts: packed into each page."""

from __future__ import annotations

import base64
import zlib

from fmident.report.figures.browser import scripts


def test_the_library_is_packed() -> None:
    assert b"Bokeh" in zlib.decompress(base64.b64decode(scripts().packed))
