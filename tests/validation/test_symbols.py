"""What a shared library exports, read from its file."""

from __future__ import annotations

import random

import pytest

from fmident.validation.checks.libraries import Library, UnreadableError, read_library

from .libraries import dll, dylib, elf, universal

NAMES = ("fmi2DoStep", "fmi2Instantiate")
BOTH = frozenset(NAMES)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (elf(NAMES, missing=("malloc",)), Library("linux", ("x86_64",), BOTH)),
        (elf(NAMES, machine=183), Library("linux", ("aarch64",), BOTH)),
        (elf(NAMES, machine=243), Library("linux", ("",), BOTH)),
        (dll(NAMES), Library("windows", ("x86_64",), BOTH)),
        (dylib(NAMES), Library("darwin", ("x86_64",), BOTH)),
        (
            universal(dylib(NAMES), dylib(NAMES[:1], machine=0x100000C)),
            Library("darwin", ("x86_64", "aarch64"), frozenset(NAMES[:1])),
        ),
    ],
)
def test_exports(data: bytes, expected: Library) -> None:
    assert read_library(data) == expected


@pytest.mark.parametrize(
    ("data", "fragment"),
    [
        (b"", "neither"),
        (b"#!/bin/sh\n", "neither"),
        (elf(NAMES, kind=2), "no shared library"),
        (dll(NAMES, flags=0x22), "no DLL"),
        (dylib(NAMES, kind=2), "no library"),
        (elf(NAMES)[:80], "damaged"),
        (dll(NAMES)[:0x210], "damaged"),
        (dylib(NAMES)[:60], "damaged"),
    ],
)
def test_what_is_no_library(data: bytes, fragment: str) -> None:
    with pytest.raises(UnreadableError, match=fragment):
        read_library(data)


@pytest.mark.parametrize("data", [elf(NAMES), dll(NAMES), universal(dylib(NAMES), dylib(NAMES))])
def test_damage_is_never_more_than_unreadable(data: bytes) -> None:
    chance = random.Random(3)
    for _ in range(1000):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            broken[chance.randrange(len(broken))] = chance.choice((0, 1, 0x7F, 0xFF))
        try:
            library = read_library(bytes(broken[: chance.choice((len(broken), 200, 400))]))
        except UnreadableError:
            continue
        assert library.system
