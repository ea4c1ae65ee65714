from __future__ import annotations

import importlib
from dataclasses import dataclass

import pytest

from fmident.errors import Code, PluginError
from fmident.plugins import Origin, Registry, load_plugins

from ..refused import refused

FIRST = Origin("first", "first.module", "first-dist", "1.0")
SECOND = Origin("second", "second.module", "second-dist", "2.0")


class Thing:
    """A thing.

    With more to say.
    """


class Summarised:
    summary = "in one line"


def test_remembers_where_an_item_came_from() -> None:
    registry: Registry[type] = Registry("estimator", FIRST)
    registry.add("thing", Thing)
    registration = registry.registrations["thing"]
    assert registry.get("thing") is Thing
    assert registration.origin is FIRST
    assert registration.summary == "A thing"


def test_summary_comes_from_argument_attribute_or_docstring() -> None:
    registry: Registry[type] = Registry("estimator", FIRST)
    registry.add("a", Summarised)
    registry.add("b", Summarised, summary="given")
    assert [r.summary for r in registry] == ["in one line", "given"]


def test_name_twice_is_an_error_that_names_both_plugins() -> None:
    common: Registry[type] = Registry("estimator")
    common.of(FIRST).add("thing", Thing)
    with pytest.raises(PluginError) as caught:
        common.of(SECOND).add("thing", Thing)
    text = str(caught.value)
    assert "estimator 'thing'" in text
    assert "'first' of first-dist 1.0" in text
    assert "'second' of second-dist 2.0" in text
    assert common.registrations["thing"].origin is FIRST


def test_what_a_plugin_has_registered_can_be_removed() -> None:
    common: Registry[type] = Registry("estimator")
    common.of(FIRST).add("first", Thing)
    common.of(SECOND).add("second", Thing)
    common.remove([SECOND])
    assert common.names() == ("first",)


def test_unknown_name_lists_the_nearest() -> None:
    registry: Registry[type] = Registry("estimator", FIRST)
    registry.add("least-squares", Thing)
    registry.add("random-search", Thing)
    with refused(Code.UNKNOWN_NAME, PluginError, match="'leastsquares'") as caught:
        registry.get("leastsquares")
    assert "'least-squares'" in str(caught.value)


@pytest.mark.parametrize("name", ["", "two words", " padded"])
def test_refuses_names_that_are_not_one_word(name: str) -> None:
    registry: Registry[type] = Registry("estimator", FIRST)
    with refused(Code.PLUGIN_FAILED, PluginError, match="one word"):
        registry.add(name, Thing)


@dataclass(frozen=True)
class Undocumented:
    width: float = 1.0


def test_the_signature_of_a_dataclass_is_not_a_summary() -> None:
    registry: Registry[type] = Registry("cost", FIRST)
    registry.add("plain", Undocumented)
    assert registry.registrations["plain"].summary == ""


def test_what_is_announced_is_imported_when_it_is_used() -> None:
    registry: Registry[object] = Registry("estimator", Origin("mine", "mine"))
    registry.add_when_used("cma-es", "fmident_estimators.cma_es.estimator:CmaEs")
    registry.add_when_used("gone", "fmident_estimators.gone:Gone")
    assert registry.names() == ("cma-es", "gone")
    assert "gone" in registry
    assert "gone" in registry.by_name
    assert registry.imported == ()
    found = registry.registration("cma-es")
    assert found.item is importlib.import_module("fmident_estimators.cma_es.estimator").CmaEs
    assert found.summary == found.item.summary
    assert registry.imported == (found,)
    with pytest.raises(PluginError, match=r"(?s)the estimator 'gone' of plugin 'mine'.*No module"):
        registry.get("gone")


def test_what_is_announced_is_checked_when_it_is_imported() -> None:
    registry: Registry[object] = Registry("estimator", Origin("mine", "mine"))
    registry.add_when_used("other", "fmident_estimators.cma_es.estimator:CmaEs")
    with refused(Code.PLUGIN_FAILED, PluginError, match="'cma-es'"):
        registry.get("other")


@pytest.mark.parametrize("home", ["module", "", "a b:C", ":C", "module:", "a..b:C"])
def test_refuses_homes_that_are_not_module_and_name(home: str) -> None:
    registry: Registry[object] = Registry("estimator", Origin("mine"))
    with refused(Code.PLUGIN_FAILED, PluginError, match="from"):
        registry.add_when_used("one", home)


def test_names_that_are_announced_are_taken() -> None:
    registry: Registry[object] = Registry("cost", Origin("mine"))
    registry.add_when_used("one", "module:One")
    with refused(Code.PLUGIN_FAILED, PluginError, match="registered twice"):
        registry.add("one", object())


def test_every_estimator_and_cost_that_comes_along_can_be_used() -> None:
    host = load_plugins()
    for registry in host.registries:
        for name, registration in registry.registrations.items():
            assert registration.name == name
            assert registration.summary
