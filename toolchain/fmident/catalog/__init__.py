"""The catalogue of FMUs: which class becomes which FMU, and what must hold for it.

``file`` reads ``fmus/catalog.toml``, ``entry`` is what comes out.
"""

from fmident.catalog.file import (
    BuildSettings,
    Catalog,
    CatalogError,
    Entry,
    Interface,
    ReferenceExperiment,
    Signal,
    SmokeExperiment,
    find_catalog,
    read_catalog,
)

__all__ = [
    "BuildSettings",
    "Catalog",
    "CatalogError",
    "Entry",
    "Interface",
    "ReferenceExperiment",
    "Signal",
    "SmokeExperiment",
    "find_catalog",
    "read_catalog",
]
