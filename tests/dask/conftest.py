"""The FMU with faults, as for the executors of this machine."""

from ..evaluation.executors.conftest import faulty, fmu

__all__ = ["faulty", "fmu"]
