"""The library that draws charts is kept compressed; what is kept is looked at before it is used."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import pytest

from fmident.report.charts import library


def test_what_is_kept_is_used_only_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path))
    first = library.scripts.__wrapped__()
    assert library.scripts.__wrapped__() == first
    (kept,) = (tmp_path / "scripts").iterdir()
    content = kept.read_bytes()
    for wrong in (b"", content[:-1], content.replace(b"A", b"B", 1), b"\xff"):
        kept.write_bytes(wrong)
        assert library.scripts.__wrapped__() == first
        assert kept.read_bytes() == content
    assert b"Bokeh" in zlib.decompress(base64.b64decode(first.packed))


@pytest.mark.parametrize("folder", ["", "file"])
def test_without_a_folder_it_is_packed_each_time(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FMIDENT_CACHE", folder and str(tmp_path / folder))
    assert library.scripts.__wrapped__().packed
