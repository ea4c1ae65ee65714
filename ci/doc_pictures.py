"""Draw the pictures of the documentation; see ``ci/doc-pictures``."""

from __future__ import annotations

import sys

import picturing.guides
import picturing.machines
import picturing.models
import picturing.tree
import picturing.uncertain  # noqa: F401 - registers its pictures, as those above
from picturing.drawing import PICTURES, write


def main(names: list[str]) -> None:
    """Draw those that are named, or all."""
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are: {', '.join(PICTURES)}")
    for name in names or PICTURES:
        size = write(name)
        sys.stdout.write(f"{name} {size} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
