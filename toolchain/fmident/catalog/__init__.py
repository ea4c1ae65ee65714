"""The catalogue of FMUs: the class of each FMU, and its requirements."""

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
