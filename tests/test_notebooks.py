"""The notebooks run from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials" / "notebooks").glob("*.py"))

pytestmark = pytest.mark.slow  # each starts a kernel and estimates


def test_there_is_one_for_each_tutorial() -> None:
    assert {p.stem for p in NOTEBOOKS} == {"first_identification", "from_python"}


@pytest.mark.each_time("first_identification")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_runs_and_shows(path: Path, tmp_path: Path) -> None:
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = jupytext.read(path)
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    kinds = {kind for o in outputs for kind in o.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
    assert not [o["text"] for o in outputs if o.get("name") == "stderr"]
