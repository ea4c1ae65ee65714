"""Names of platforms, and what is said of others."""

from __future__ import annotations

import pytest

from fmident.compilers import platforms
from fmident.compilers.openmodelica import compiler
from fmident.compilers.openmodelica.compiler import omc_platforms
from fmident.compilers.platforms import PLATFORMS, platform_names, read_platforms, this_platform
from fmident.errors import Code, CompilationError

from ..refused import refused


def test_names_of_both_standards_mean_the_same() -> None:
    assert platform_names(["x86_64-windows", "linux64"]) == ("linux64", "win64")
    assert platform_names(["win64", "x86_64-windows"]) == ("win64",)


def test_all_are_all_and_none_is_this_machine() -> None:
    assert read_platforms(["all"]) == PLATFORMS
    assert read_platforms([]) == (this_platform(),)
    assert platform_names([]) == ()


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(CompilationError, match="no platform 'win46'") as caught:
        read_platforms(["win46"])
    assert "win64" in (caught.value.hint or "")
    assert caught.value.code == Code.UNKNOWN_NAME


def test_an_unknown_machine_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "platform_folder", lambda _: "riscv64-linux")
    with pytest.raises(CompilationError, match="'riscv64-linux'") as caught:
        read_platforms([])
    assert "linux64" in (caught.value.hint or "")
    assert read_platforms(["win64"])[0].name == "win64"


@pytest.fixture
def on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "platform_folder", lambda _: "x86_64-linux")


@pytest.mark.usefixtures("on_linux")
def test_openmodelica_compiles_for_others_in_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert omc_platforms([], ("static",)) == ("static",)
    assert omc_platforms(["linux64", "win64"], ("static",)) == (
        "static",
        "x86_64-w64-mingw32 docker run --pull=never multiarch/crossbuild",
    )


@pytest.mark.usefixtures("on_linux")
def test_openmodelica_says_what_it_cannot_compile_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    with refused(Code.NOT_INSTALLED, CompilationError, match="no 'docker' on the path") as caught:
        omc_platforms(["win64"], ("static",))
    assert "docker pull" in (caught.value.hint or "")
    with refused(
        Code.COMPILATION_FAILED, CompilationError, match="cannot compile for 'darwin-aarch64'"
    ):
        omc_platforms(["darwin-aarch64"], ("static",))
