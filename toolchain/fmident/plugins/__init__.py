"""The plugin system: hooks, registries and the host that loads plugins.

A plugin imports :data:`hookimpl` from here and implements hooks of
:mod:`fmident.plugins.hookspecs`.
"""

from fmident.plugins.hookspecs import Run, hookimpl
from fmident.plugins.host import Host, LoadedPlugin, load_plugins
from fmident.plugins.registry import Origin, Registration, Registry
from fmident.toml_file.options import OptionRow, option_rows

__all__ = [
    "Host",
    "LoadedPlugin",
    "OptionRow",
    "Origin",
    "Registration",
    "Registry",
    "Run",
    "hookimpl",
    "load_plugins",
    "option_rows",
]
