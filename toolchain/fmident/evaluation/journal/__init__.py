"""Nothing that was simulated is lost: a journal on disk, a cache, and how a run goes on from them.

A simulation is known by its key (``keys``): a digest of the FMU, of everything that is set, and
of what is recorded. :class:`RecordedExecutor` (``executor``) is in front of any executor, serves
what is known and keeps what is new. ``records`` is the format on disk, ``file`` one file of
records, ``writer`` the threads that write them, ``journal`` what is kept where. ``workspace`` is
the hidden folder of a run that has not ended, ``lock`` keeps a second run out of it, and
``identity`` says whether it belongs to the same problem.
"""

from fmident.evaluation.journal.executor import RecordedExecutor, Served, recording
from fmident.evaluation.journal.journal import Journal
from fmident.evaluation.journal.workspace import RunLock, Workspace

__all__ = ["Journal", "RecordedExecutor", "RunLock", "Served", "Workspace", "recording"]
