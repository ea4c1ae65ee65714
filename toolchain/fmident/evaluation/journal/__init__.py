"""Journal on disk and cache, so that no simulation is lost and a run can be resumed.

A simulation is identified by a digest of the FMU, of all values set, and of what is
recorded. :class:`RecordedExecutor` wraps any executor, serves known simulations and
stores new ones.
"""

from fmident.evaluation.journal.executor import RecordedExecutor, Served, recording
from fmident.evaluation.journal.journal import Journal
from fmident.evaluation.journal.workspace import RunLock, Workspace

__all__ = ["Journal", "RecordedExecutor", "RunLock", "Served", "Workspace", "recording"]
