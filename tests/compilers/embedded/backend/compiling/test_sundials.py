"""Sources of SUNDIALS: the right ones from wherever, others refused."""

from __future__ import annotations

import http.client
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fmident.compilers.embedded.backend import sundials
from fmident.compilers.embedded.backend.sundials import PACKED, checksum, licences, pack
from fmident.errors import Code, CompilationError

ROOT = f"sundials-{sundials.VERSION}"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing is remembered, kept or downloaded."""
    sundials._files.cache_clear()
    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sundials, "_download", lambda: pytest.fail("nothing is to be downloaded"))
    yield
    sundials._files.cache_clear()


@pytest.fixture
def files() -> dict[str, str]:
    """Return the files as they are packed."""
    if not PACKED.is_file():
        pytest.skip("the sources of SUNDIALS are not here: bash ci/sundials")
    with zipfile.ZipFile(PACKED) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def tar(files: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"{ROOT}/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return stream.getvalue()


def test_the_packed_ones_are_complete(files: Mapping[str, str]) -> None:
    assert checksum(files) == sundials.SHA256
    names = sundials.sources()
    assert "cvode.c" in names  # no folder, so that one include path serves
    assert "cvode/cvode.h" in names
    assert '#define SUNDIALS_VERSION "6.4.1"' in names["sundials/sundials_config.h"]
    assert "BSD 3-Clause" in licences()["SUNDIALS-LICENSE.txt"]


@pytest.mark.parametrize("kind", ["folder", "tar", "zip"])
def test_named_sources_are_taken(
    kind: str, files: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "sources"
    if kind == "folder":
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    elif kind == "tar":
        place.write_bytes(tar({**files, "doc/more.h": "", "src/other.c": ""}))
    else:
        pack(files, place)
    monkeypatch.setenv(sundials.VARIABLE, str(place))
    monkeypatch.setattr(sundials, "PACKED", tmp_path / "absent.zip")
    assert len(sundials.sources()) == len(files)


def test_other_content_is_refused(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files["src/cvode/cvode.c"] += "\n"
    place = tmp_path / "changed.tar.gz"
    place.write_bytes(tar(files))
    monkeypatch.setenv(sundials.VARIABLE, str(place))
    with pytest.raises(CompilationError, match="the content of its files differs") as caught:
        sundials.sources()
    assert sundials.RELEASE in (caught.value.hint or "")


def damaged_xz() -> bytes:
    noise = random.Random(1).randbytes(100_000)
    content = bytearray(lzma.compress(tar({"README.md": noise.hex()})))
    content[20_000:20_100] = bytes(100)
    return bytes(content)


NO_ARCHIVES = [
    b"",
    b"no archive",
    tar({"README.md": "x"}),
    tar({"README.md": "x"})[:-20],
    damaged_xz(),
]


@pytest.mark.parametrize("content", NO_ARCHIVES, ids=range(len(NO_ARCHIVES)))
def test_what_is_no_archive_of_them_is_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_bytes(content)
    monkeypatch.setenv(sundials.VARIABLE, str(tmp_path / "x"))
    with pytest.raises(CompilationError, match="cannot be read as the sources of SUNDIALS") as e:
        sundials.sources()
    assert e.value.code == Code.UNUSABLE_FILE


@pytest.mark.parametrize("content", NO_ARCHIVES, ids=range(len(NO_ARCHIVES)))
def test_a_download_that_is_no_archive_of_them_is_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sundials, "PACKED", tmp_path / "absent.zip")
    monkeypatch.setattr(sundials, "_download", lambda: content)
    with pytest.raises(CompilationError, match="what was downloaded is not that archive") as e:
        sundials.sources()
    assert "FMIDENT_SUNDIALS" in (e.value.hint or "")
    assert not list((tmp_path / "cache").rglob("*.zip"))


def test_a_download_is_kept(
    files: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads = []

    def download() -> bytes:
        downloads.append(1)
        return tar(files)

    monkeypatch.setattr(sundials, "PACKED", tmp_path / "absent.zip")
    monkeypatch.setattr(sundials, "_download", download)
    for _ in range(2):
        sundials._files.cache_clear()
        assert len(sundials.licences()) == 2
    assert len(downloads) == 1
    (kept,) = (tmp_path / "cache" / "sundials").iterdir()
    kept.write_bytes(kept.read_bytes()[:-100])  # damaged: downloaded again
    sundials._files.cache_clear()
    assert len(sundials.licences()) == 2
    assert len(downloads) == 2


@pytest.mark.parametrize("error", [OSError, http.client.HTTPException])
def test_without_them_the_message_names_the_ways_out(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise error("no route to host")

    monkeypatch.undo()
    monkeypatch.setenv("FMIDENT_CACHE", "")
    monkeypatch.setattr(sundials, "PACKED", tmp_path / "absent.zip")
    monkeypatch.setattr(sundials.urllib.request, "urlopen", refused)
    with pytest.raises(CompilationError, match="no route to host") as caught:
        sundials.sources()
    assert "FMIDENT_SUNDIALS" in (caught.value.hint or "")
    assert "integrator=rosenbrock" in (caught.value.hint or "")
