"""Library of charts and templates are kept; what is kept is looked at before it is used."""

from __future__ import annotations

import base64
import errno
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from fmident.report import kept
from fmident.report.figures import browser as library
from fmident.report.sections import html


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


def test_templates_are_kept_and_made_anew_where_they_are_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path))
    page = html._environment.__wrapped__().get_template("page.html")
    (file,) = tmp_path.rglob("templates-*/*")
    content = file.read_bytes()
    for wrong in (b"", content[:90], content[:110] + bytes(2000), content[:-9]):
        file.write_bytes(wrong)
        again = html._environment.__wrapped__().get_template("page.html")
        assert again.root_render_func.__code__ == page.root_render_func.__code__
        assert file.read_bytes() == content


def test_a_full_disk_does_not_keep_a_page_from_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def full(_: Path) -> Iterator[BinaryIO]:
        raise OSError(errno.ENOSPC, "No space left on device")
        yield

    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path))
    monkeypatch.setattr(kept, "whole_file", full)
    assert html._environment.__wrapped__().get_template("page.html")
    assert library.scripts.__wrapped__().packed
    assert not [f for f in tmp_path.rglob("*") if f.is_file()]
