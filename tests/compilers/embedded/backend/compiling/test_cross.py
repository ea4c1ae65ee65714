"""Binaries for all platforms from this machine: their formats, what they export and need."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from fmident.compilers.embedded.backend import compiling
from fmident.compilers.embedded.backend.compiling import (
    compiler_for,
    find_zig,
    platform_of,
    universal_binary,
    without_link_time,
)
from fmident.compilers.embedded.backend.fmu import build_fmu
from fmident.compilers.platforms import PLATFORMS, this_platform
from fmident.errors import Code, CompilationError

from ..conftest import oscillator

needs_zig = pytest.mark.skipif(find_zig() is None, reason='pip install "fmident[cross]"')
OTHER = next(p for p in PLATFORMS if p != this_platform())


def test_without_the_cross_compiler_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "find_zig", lambda: None)
    with pytest.raises(CompilationError, match=f"'{OTHER.name}' needs a compiler") as caught:
        compiler_for(OTHER, tmp_path)
    assert caught.value.hint == 'pip install "fmident[cross]"'
    assert caught.value.code == Code.NOT_INSTALLED


def test_zig_named_by_cc_makes_code_for_any_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "find_compiler", lambda *_: ("/opt/zig", "cc"))
    assert compiler_for(this_platform(), tmp_path).command[2:] == (
        "-mcpu=baseline",
        "-fno-sanitize=all",
    )
    monkeypatch.setattr(compiling, "find_compiler", lambda *_: ("gcc", "-m64"))
    assert compiler_for(this_platform(), tmp_path).command == ("gcc", "-m64")


def test_the_first_time_of_a_platform_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FMIDENT_CACHE", str(tmp_path))
    assert compiling.is_first_time(OTHER)
    compiling.has_compiled(OTHER)
    assert not compiling.is_first_time(OTHER)
    assert not compiling.is_first_time(this_platform())
    monkeypatch.setenv("FMIDENT_CACHE", "")
    assert not compiling.is_first_time(OTHER)


def test_a_universal_binary_holds_whole_files() -> None:
    intel = struct.pack("<III", 0xFEEDFACF, 0x01000007, 3) + b"intel"
    arm = struct.pack("<III", 0xFEEDFACF, 0x0100000C, 0) + b"arm"
    both = universal_binary([intel, arm])
    assert struct.unpack_from(">II", both) == (0xCAFEBABE, 2)
    for k, library in enumerate((intel, arm)):
        entry = struct.unpack_from(">IIIII", both, 8 + 20 * k)
        processor, kind, position, size, alignment = entry
        assert (processor, kind) == struct.unpack_from("<4xII", library)
        assert position % (1 << alignment) == 0
        assert both[position : position + size] == library


def test_what_is_no_library_of_macos_is_refused() -> None:
    with pytest.raises(ValueError, match="not a Mach-O file"):
        universal_binary([b"\x7fELF" + bytes(100)])


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"MZ" + bytes(100), b"text" * 30])
def test_what_is_no_library_has_no_platform(content: bytes) -> None:
    assert platform_of(content) is None


@pytest.mark.nightly
@needs_zig
def test_a_compiler_for_another_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ``CC`` names may be a cross compiler; its library was taken for this machine's."""
    target = "aarch64" if this_platform().tuple != "aarch64-linux" else "x86_64"
    script = tmp_path / "cross-cc"
    script.write_text(
        f'#!/bin/sh\nexec "{find_zig()}" cc -target {target}-linux-gnu.2.17 "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    kept = compiler_for(OTHER, tmp_path).environment
    monkeypatch.setenv("CC", str(script))
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    output = tmp_path / "a.fmu"
    with pytest.raises(CompilationError, match=f"a library for '{target}-linux'") as caught:
        build_fmu(oscillator(), output, generation_tool="test")
    assert "CC" in (caught.value.hint or "")
    assert not output.exists()
    assert not list(tmp_path.glob("fmident-scratch-*"))  # nothing is left that nobody knows of


def test_a_compiler_that_writes_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "silent-cc"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(CompilationError, match="silent-cc' succeeded without writing") as caught:
        build_fmu(oscillator(), tmp_path / "a.fmu", generation_tool="test")
    assert "CC" in (caught.value.hint or "")


def test_what_is_no_library_of_windows_is_refused() -> None:
    for content in (b"\x7fELF" + bytes(100), b"MZ" + bytes(100)):
        with pytest.raises(ValueError, match="not a library of Windows"):
            without_link_time(content)


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an FMU for all platforms, unpacked."""
    folder = tmp_path_factory.mktemp("everywhere")
    for name in ("a.fmu", "b.fmu"):
        build_fmu(oscillator(), folder / name, generation_tool="test", platforms=PLATFORMS)
    with zipfile.ZipFile(folder / "a.fmu") as archive:
        archive.extractall(folder / "fmu")
    return folder


def output(*command: object) -> str:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    return done.stdout


def binary(everywhere: Path, folder: str) -> Path:
    (found,) = (everywhere / "fmu" / "binaries" / folder).iterdir()
    return found


@needs_zig
@pytest.mark.nightly
def test_the_same_bytes_each_time(everywhere: Path) -> None:
    assert (everywhere / "a.fmu").read_bytes() == (everywhere / "b.fmu").read_bytes()


@needs_zig
@pytest.mark.nightly
def test_each_platform_has_its_format(everywhere: Path) -> None:
    heads = {
        folder: binary(everywhere, folder).read_bytes()[:20]
        for folder in ("linux64", "aarch64-linux", "win64", "darwin64")
    }
    assert heads["linux64"][:5] == heads["aarch64-linux"][:5] == b"\x7fELF\x02"
    machines = [struct.unpack_from("<18xH", heads[f])[0] for f in ("linux64", "aarch64-linux")]
    assert machines == [62, 183]  # EM_X86_64, EM_AARCH64
    assert heads["win64"][:2] == b"MZ"
    assert struct.unpack(">II", heads["darwin64"][:8]) == (0xCAFEBABE, 2)


@needs_zig
@pytest.mark.nightly
@pytest.mark.parametrize("folder", ["linux64", "aarch64-linux"])
def test_old_systems_can_load_it(everywhere: Path, folder: str) -> None:
    said = output("readelf", "--version-info", "--wide", binary(everywhere, folder))
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", said)}
    assert versions
    assert max(versions) <= tuple(map(int, compiling.GLIBC.split(".")))


@needs_zig
@pytest.mark.nightly
def test_windows_finds_all_it_needs(everywhere: Path) -> None:
    said = output("objdump", "-p", binary(everywhere, "win64"))
    needed = {name.lower() for name in re.findall(r"DLL Name: (\S+)", said)}
    assert needed
    assert all(n.startswith("api-ms-win-crt-") or n == "kernel32.dll" for n in needed)
    _, _, exported = said.partition("[Ordinal/Name Pointer] Table")
    names = re.findall(r"^\t\[ *\d+\] (\S+)$", exported, re.MULTILINE)
    assert "fmi2DoStep" in names
    assert all(n.startswith(("fmi2", "fmident")) for n in names)


@needs_zig
@pytest.mark.nightly
@pytest.mark.parametrize("processor", ["x86_64", "arm64"])
def test_macos_finds_all_it_needs(everywhere: Path, processor: str) -> None:
    library = binary(everywhere, "darwin64")
    said = output("llvm-objdump", "--macho", f"--arch={processor}", "--dylibs-used", library)
    needed = [line.split()[0] for line in said.splitlines() if line.startswith("\t")]
    assert needed == ["@rpath/model.dylib", "/usr/lib/libSystem.B.dylib"]
    said = output("llvm-nm", f"--arch={processor}", "-gj", "--defined-only", library)
    names = {n for n in said.split() if not n.endswith(("dso_handle", "dylib_header", ":"))}
    assert "_fmi2DoStep" in names
    assert all(n.startswith(("_fmi2", "_fmident")) for n in names if n.startswith("_f"))


@needs_zig
@pytest.mark.nightly
def test_licences_of_all_that_is_inside_are_there(everywhere: Path) -> None:
    texts = {p.name: p.read_text() for p in (everywhere / "fmu/documentation/licenses").iterdir()}
    expected = {"fmident-LICENSE.txt", "zig-LICENSE.txt", "mingw-w64-COPYING.txt"}
    assert set(texts) == {"license.txt", *expected}
    assert "Apache License" in texts["fmident-LICENSE.txt"]


@needs_zig
@pytest.mark.nightly
def test_the_sources_inside_make_the_same_library(everywhere: Path, tmp_path: Path) -> None:
    """As anyone would: all files that the description lists, one include path."""
    text = (everywhere / "fmu" / "modelDescription.xml").read_text()
    # Once for each interface:
    sources = dict.fromkeys(re.findall(r'<File name="([^"]+)"', text))
    assert sources
    command = compiling.find_compiler()
    if command is None:
        pytest.skip("no C compiler")
    folder = everywhere / "fmu" / "sources"
    library = tmp_path / "model.so"
    subprocess.run(
        [*command, "-shared", "-fPIC", "-O1", "-I.", *sources, "-o", str(library), "-lm"],
        cwd=folder,
        check=True,
    )
    said = output("nm", "-D", "--defined-only", library)
    assert " fmi2DoStep" in said
