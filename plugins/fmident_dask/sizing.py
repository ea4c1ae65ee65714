"""How many simulations go into one chunk.

Chunks must be long against the milliseconds that the cluster takes for each, and short
against the rest of the batch, so that no worker is idle at its end. So a chunk takes a part
of what is left (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers
C-36, 1987), but not longer than a fraction of a second, which keeps Ctrl-C and lost workers
cheap.
"""

from __future__ import annotations

from collections.abc import Sequence

from fmident.evaluation.tasks import SimulationTask

SECONDS = 0.2
"""Longest chunk, as expected, unless one simulation takes longer."""

_PER_SLOT = 0.01
"""Seconds per slot that a chunk may take in large clusters: this side must keep up."""

LARGEST_BYTES = 32_000_000
"""Outputs that one chunk may give."""

_NEWEST = 0.5
"""Weight of the latest measurement."""


class ChunkSizes:
    """Remembers how long simulations take and sizes chunks with that.

    Parameters
    ----------
    output_bytes
        Size of the outputs of each experiment.
    """

    def __init__(self, output_bytes: Sequence[int]) -> None:
        self._bytes = [max(1, size) for size in output_bytes]
        self._seconds: dict[int, float] = {}

    def observe(self, tasks: Sequence[SimulationTask], seconds: float) -> None:
        """Take note of the time that tasks took, one after the other."""
        expected = [self._seconds.get(task.experiment, 0.0) for task in tasks]
        total = sum(expected)
        for task, share in zip(tasks, expected, strict=True):
            # Experiments of unlike length share the time as they did before.
            measured = seconds * share / total if total > 0.0 else seconds / len(tasks)
            known = self._seconds.get(task.experiment, measured)
            self._seconds[task.experiment] = known + _NEWEST * (measured - known)

    @staticmethod
    def longest(slots: int) -> float:
        """Return how long a chunk should take at most, s."""
        return max(SECONDS, _PER_SLOT * slots)

    def take(self, tasks: Sequence[SimulationTask], begin: int, slots: int) -> int:
        """Return the end of the chunk that begins at `begin`.

        Parameters
        ----------
        tasks
            The batch.
        begin
            First task of the chunk.
        slots
            Simulations that run at once.
        """
        longest = self.longest(slots)
        most = max(1, -(-(len(tasks) - begin) // (2 * slots)))
        time, size = 0.0, 0
        for end in range(begin, min(begin + most, len(tasks))):
            seconds = self._seconds.get(tasks[end].experiment)
            if seconds is None:
                return max(end, begin + 1)  # how long it takes is found out with one
            time += seconds
            size += self._bytes[tasks[end].experiment] * (1 + len(tasks[end].sensitivities))
            if end > begin and (time > longest or size > LARGEST_BYTES):
                return end
        return min(begin + most, len(tasks))
