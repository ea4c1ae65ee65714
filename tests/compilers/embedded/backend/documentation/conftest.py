"""What a Modelica text says of one of its classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from fmident.compilers.embedded.frontend.presentation.reader import read_presentation
from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.sources import read_tree
from fmident.compilers.embedded.presentation import Presentation
from fmident.errors import Diagnostic

Read: TypeAlias = Callable[..., tuple[Presentation, tuple[Diagnostic, ...]]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that reads the presentation of a class of a text."""

    def reading(text: str, name: str = "T.M") -> tuple[Presentation, tuple[Diagnostic, ...]]:
        file = tmp_path / "T.mo"
        file.write_text(text, encoding="utf-8")
        return read_presentation(name, Names([read_tree(file)]))

    return reading
