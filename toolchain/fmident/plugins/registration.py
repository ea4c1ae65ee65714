"""What a plugin may register: what could not be used later is refused at once."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from fmident.errors import PluginError
from fmident.plugins.registry import Registry

_BASES = {
    "estimator": ("fmident.estimation.contract", "Estimator"),
    "cost": ("fmident.problem.cost", "Cost"),
    "executor": ("fmident.evaluation.executors.kind", "ExecutorKind"),
    "compiler": ("fmident.compilers.base", "Compiler"),
    "reporter": ("fmident.report.contract", "Reporter"),
}
"""What plugins register by ``fmident_register_...s``: the base class of each kind, or the class of
its descriptions; imported only when a plugin brings such a thing."""


def check_items(registry: Registry[Any]) -> None:
    """Refuse what the host could not use later.

    Raises
    ------
    fmident.errors.PluginError
        An item is not a class, not of the base class of its kind, or lacks methods; an executor
        is not described.
    """
    module, name = _BASES[registry.kind]
    for registration in registry:
        item, what = registration.item, f"the {registry.kind} '{registration.name}'"
        base = getattr(importlib.import_module(module), name)
        if registry.kind == "executor":
            if not isinstance(item, base):
                raise PluginError(f"{what} is {item!r}", hint=f"register an {module}.{name}")
            continue
        if not isinstance(item, type):
            raise PluginError(f"{what} is {item!r}", hint="register the class, not an instance")
        if not issubclass(item, base):
            raise PluginError(
                f"{what} is not a subclass of {module}.{name}", hint="derive it from that"
            )
        lacking = sorted(getattr(item, "__abstractmethods__", ()))
        if lacking:
            methods = ", ".join(f"'{method}'" for method in lacking)
            raise PluginError(f"{what} lacks {methods}", hint=f"see {module}.{name}")
        if registry.kind in ("estimator", "cost"):
            _check_name(registration.name, item, what, alike=registry.kind == "estimator")
        if registry.kind == "estimator":
            _check_options(item, what)


def _check_name(name: str, item: type[Any], what: str, *, alike: bool) -> None:
    """Refuse a class without a name, or with another one where results would contain it.

    Raises
    ------
    fmident.errors.PluginError
        There is no name, or it is not that of the registration.
    """
    own = getattr(item, "name", None)
    if not isinstance(own, str) or not own or (alike and own != name):
        raise PluginError(
            f"{what}: its class {item.__name__} "
            + ("has no name" if own is None else f"is called {own!r}"),
            hint=f'write name = "{name}" into the class',
        )


def _check_options(item: type[Any], what: str) -> None:
    """Refuse an estimator whose options cannot be read from a table.

    Raises
    ------
    fmident.errors.PluginError
        They are not a dataclass.
    """
    options = getattr(item, "options_type", None)
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        raise PluginError(
            f"{what}: its class {item.__name__} has no dataclass as options_type",
            hint="make it a frozen dataclass: its fields are the keys of the [estimator] table",
        )
