"""The plugin system: hooks, registries and the host that loads plugins.

A plugin imports :data:`hookimpl` from here and implements hooks of
:mod:`fmident.plugins.hookspecs`.
"""

from fmident.plugins.hookspecs import Run, hookimpl
from fmident.plugins.host import Host, LoadedPlugin, load_plugins
from fmident.plugins.registry import Origin, Registration, Registry

__all__ = [
    "Host",
    "LoadedPlugin",
    "Origin",
    "Registration",
    "Registry",
    "Run",
    "hookimpl",
    "load_plugins",
]
