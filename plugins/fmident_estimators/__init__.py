"""The estimators that come with fmident."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from fmident.estimation.contract import Estimator
from fmident.plugins.hookspecs import hookimpl
from fmident.plugins.registry import Registry

_Estimators: TypeAlias = Registry[type[Estimator[Any]]]


def registers(name: str, home: str) -> Callable[[_Estimators], None]:
    """Return the hook that registers an estimator, which is imported when it is used.

    `home` is its module in this package, and its class.
    """

    @hookimpl
    def fmident_register_estimators(registry: _Estimators) -> None:
        registry.add_when_used(name, f"{__name__}.{home}")

    return fmident_register_estimators
