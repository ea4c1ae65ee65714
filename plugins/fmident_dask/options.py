"""Options of the Dask executor."""

from __future__ import annotations

from dataclasses import dataclass

from fmident.options import Options


@dataclass(frozen=True)
class DaskOptions(Options):
    """Keys of ``[evaluation]`` that only this executor has.

    Parameters
    ----------
    scheduler
        Address of a Dask scheduler; ``None`` starts one on this machine.
    """

    scheduler: str | None = None
