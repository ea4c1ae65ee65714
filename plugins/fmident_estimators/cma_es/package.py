"""Import of the package ``cma``, which takes a second and may be interrupted."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def imported_whole(name: str) -> Any:
    """Import a package, or leave no trace of it.

    ``cma`` imports matplotlib. After Ctrl-C in the middle of that, Python forgets the package but
    keeps those of its modules that were complete, which refer to the package forgotten: the
    report of the interrupted run could then not be drawn.
    """
    before = {module.partition(".")[0] for module in sys.modules}
    try:
        return importlib.import_module(name)
    except BaseException:
        for module in list(sys.modules):
            if module.partition(".")[0] not in before:
                del sys.modules[module]
        raise
