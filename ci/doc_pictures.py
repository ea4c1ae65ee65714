"""Draw the pictures of the documentation; see ``ci/doc-pictures``."""

from __future__ import annotations

import sys

import picturing.app
import picturing.guides
import picturing.machines
import picturing.models
import picturing.tree
import picturing.uncertain  # noqa: F401 - registers its pictures, as those above
from picturing.drawing import PICTURES, is_drawn, write


def main(arguments: list[str]) -> None:
    """Draw the pictures that are named, or all that are missing."""
    names = [name for name in arguments if name != "--blank"]
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are: {', '.join(PICTURES)}")
    for name in names or [name for name in PICTURES if not is_drawn(name)]:
        size = write(name, blank="--blank" in arguments)
        sys.stdout.write(f"{name} {size} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
