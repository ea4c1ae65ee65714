"""Objects that are kept between builds: the same bytes with and without, and after damage."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from fmident import files
from fmident.compilers.embedded.backend import compiling
from fmident.compilers.embedded.backend.compiling import Unit, make_objects, missing_tools
from fmident.compilers.embedded.backend.fmu import build_fmu
from fmident.errors import CompilationError

from ..conftest import oscillator

UNIT = Unit("a.c", ("-O2",))
needs_tools = pytest.mark.skipif(missing_tools() is not None, reason="no C compiler or SUNDIALS")


class Compiler:
    """Counts what it compiles; an object is the source with the options before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.compiled: list[str] = []

    def __call__(self, unit: Unit) -> None:
        self.compiled.append(unit.source)
        text = (self.folder / unit.source).read_text()
        (self.folder / unit.object).write_text(" ".join(unit.options) + text)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / "objects"


def compiled(folder: Path, *units: Unit, identity: bytes = b"cc 1", **sources: str) -> list[str]:
    """Return what had to be compiled in a new folder; objects must be right in any case."""
    folder.mkdir(exist_ok=True)
    for name, text in sources.items():
        (folder / name.replace("_", ".")).write_text(text)
    compiler = Compiler(folder)
    make_objects(units, folder, identity, compiler)
    for unit in units:
        expected = " ".join(unit.options) + (folder / unit.source).read_text()
        assert (folder / unit.object).read_text() == expected
    return compiler.compiled


def test_what_was_compiled_once_is_kept(tmp_path: Path, cache: Path) -> None:
    assert compiled(tmp_path / "1", UNIT, a_c="int a;") == ["a.c"]
    assert compiled(tmp_path / "2", UNIT, a_c="int a;") == []
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize(
    "change", ["source", "header", "header of a header", "options", "compiler"]
)
@pytest.mark.usefixtures("cache")
def test_anything_that_an_object_depends_on_makes_another(tmp_path: Path, change: str) -> None:
    files = {"a_c": '#include "b.h"\n', "b_h": '#  include "c.h"\n', "c_h": "int c;\n"}
    compiled(tmp_path / "1", UNIT, **files)
    unit, identity = UNIT, b"cc 1"
    if change == "source":
        files["a_c"] += "int a;"
    elif change == "header":
        files["b_h"] += "int b;"
    elif change == "header of a header":
        files["c_h"] = "long c;\n"
    elif change == "options":
        unit = replace(UNIT, options=("-O1",))
    else:
        identity = b"cc 2"
    assert compiled(tmp_path / "2", unit, identity=identity, **files) == ["a.c"]
    assert compiled(tmp_path / "3", unit, identity=identity, **files) == []


@pytest.mark.usefixtures("cache")
def test_what_a_source_does_not_read_does_not_matter(tmp_path: Path) -> None:
    compiled(tmp_path / "1", UNIT, a_c="int a;", b_h="int b;")
    assert compiled(tmp_path / "2", UNIT, a_c="int a;", b_h="long b;") == []


@pytest.mark.parametrize("left", [b"", b"short", None])
def test_a_damaged_object_is_compiled_again(
    tmp_path: Path, cache: Path, left: bytes | None
) -> None:
    compiled(tmp_path / "1", UNIT, a_c="int a;")
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-1] if left is None else left)
    assert compiled(tmp_path / "2", UNIT, a_c="int a;") == ["a.c"]
    assert compiled(tmp_path / "3", UNIT, a_c="int a;") == []


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FMIDENT_CACHE", "")
    for name in ("1", "2"):
        assert compiled(tmp_path / name, UNIT, a_c="int a;") == ["a.c"]


def test_a_folder_that_cannot_be_written_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path / "file"))
    assert compiled(tmp_path / "1", UNIT, a_c="int a;") == ["a.c"]


def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.tempfile, "mkstemp", full)
    assert compiled(tmp_path / "1", UNIT, a_c="int a;") == ["a.c"]
    assert list(cache.iterdir()) == []


def test_units_of_one_model_only_are_not_kept(tmp_path: Path, cache: Path) -> None:
    compiled(tmp_path / "1", replace(UNIT, cached=False), a_c="int a;")
    assert list(cache.iterdir()) == []


def test_the_oldest_objects_go(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "MOST_CACHED", 3)
    for k in range(5):
        compiled(tmp_path / str(k), UNIT, a_c=f"int a{k};")
        newest = max(cache.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        assert newest.read_bytes().endswith(f"int a{k};".encode())
    assert len(list(cache.iterdir())) == 3


def test_a_failed_compilation_keeps_nothing(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "a.c").write_text("int a;")

    def fails(_: Unit) -> None:
        raise CompilationError("no", hint="none")

    with pytest.raises(CompilationError):
        make_objects([UNIT], tmp_path, b"", fails)
    assert list(cache.iterdir()) == []


@needs_tools
@pytest.mark.slow
def test_an_fmu_has_the_same_bytes_with_and_without(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(name: str) -> bytes:
        build_fmu(oscillator(), tmp_path / name, generation_tool="test")
        return (tmp_path / name).read_bytes()

    with ThreadPoolExecutor(2) as pool:  # two that begin with nothing, at the same time
        first, second = pool.map(build, ["a.fmu", "b.fmu"])
    assert list(cache.iterdir())
    third = build("c.fmu")
    monkeypatch.setenv("FMIDENT_CACHE", "")
    assert first == second == third == build("d.fmu")
