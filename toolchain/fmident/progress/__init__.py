"""What a run shows of itself: a block of lines in a terminal or notebook, lines elsewhere.

``state`` collects what is known of a run, ``block`` makes lines of it that fit a width;
``terminal`` and ``notebook`` put them in place of the last ones, ``lines`` writes one per change
where nothing can be replaced. ``watch`` is the observer: it chooses among them, and nothing it does
ends a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.progress.watch import Watch, watching

__all__ = ["Watch", "watching"]

__getattr__, __dir__ = lazy_face(__name__, {"Watch": "watch", "watching": "watch"})
