"""Every public name is on one page of the Python reference, and no other name is."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import fmident

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "api"
DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   :.*\n)*)", re.MULTILINE)
EXCLUDED = re.compile(r":exclude-members: (.+)")
VERSION = ".. py:data:: fmident.__version__"


def directives() -> list[tuple[str, str, set[str]]]:
    """Return kind, full name and excluded members of every directive."""
    found = []
    for page in sorted(PAGES.glob("*.md")):
        for kind, name, options in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            excluded = EXCLUDED.search(options)
            found.append((kind, name, set(excluded[1].split(", ")) if excluded else set()))
    return found


MODULES = {name: excluded for kind, name, excluded in directives() if kind == "module"}


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_every_public_name_of_the_package_is_there_once() -> None:
    listed = [n.removeprefix("fmident.") for k, n, _ in directives() if k != "module"]
    text = (PAGES / "fmident.md").read_text(encoding="utf-8")
    assert VERSION in text
    assert Counter([*listed, "__version__"]) == Counter(fmident.__all__)


def test_packages_that_are_named_in_the_guides_are_there() -> None:
    guides = [p.read_text(encoding="utf-8") for p in (PAGES.parents[1] / "how-to").glob("*.md")]
    imported = set(re.findall(r"^from (fmident\.[\w.]+) import", "\n".join(guides), re.MULTILINE))
    assert {name for name in imported if not any(inside(name, top) for top in MODULES)} == set()


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def test_what_a_page_leaves_out_is_on_another(subtests: pytest.Subtests) -> None:
    for name in sorted(MODULES):
        with subtests.test(name):
            for member in MODULES[name]:
                here = getattr(module(name), member)
                others = [module(m) for m in MODULES if m != name and member not in MODULES[m]]
                others.append(fmident)
                assert any(getattr(other, member, None) is here for other in others), member


def test_nothing_is_on_two_pages() -> None:
    members = [
        getattr(module(name), member)
        for name, excluded in MODULES.items()
        for member in getattr(module(name), "__all__", ())
        if member not in excluded
    ]
    members += [getattr(fmident, name) for name in fmident.__all__]
    objects = Counter(id(m) for m in members if isinstance(m, type) or callable(m))
    twice = {m.__qualname__ for m in members if objects[id(m)] > 1}
    assert twice == set()


def test_public_names_have_docstrings() -> None:
    bare = [n for n in fmident.__all__ if n != "__version__" and not getattr(fmident, n).__doc__]
    assert bare == []
