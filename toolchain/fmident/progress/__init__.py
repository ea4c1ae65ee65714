"""Progress display of a run: a block in a terminal or notebook, else single lines.

``state`` collects the data of a run and ``block`` formats them for a width;
``terminal`` and ``notebook`` replace the previous block, ``lines`` writes a line per
change where replacing is impossible. The observer ``watch`` selects one; its failures
never end a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.progress.watch import Watch, watching

__all__ = ["Watch", "watching"]

__getattr__, __dir__ = lazy_face(__name__, {"Watch": "watch", "watching": "watch"})
