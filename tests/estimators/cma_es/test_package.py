"""Import of the package ``cma``."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """\
import sys
from fmident_estimators.cma_es.estimator import imported_whole

class Interrupting:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(Interrupting)
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting)
try:
    imported_whole("cma")
except KeyboardInterrupt:
    print("interrupted")
import io
from matplotlib.figure import Figure
Figure().savefig(io.BytesIO(), format="svg")
imported_whole("cma").CMAEvolutionStrategy([0.5, 0.5], 0.3, {"verbose": -10})
print("works")
"""


@pytest.mark.each_time("matplotlib.pyplot")
@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["matplotlib.rcsetup", "matplotlib.pyplot", "cma.transformations"]
)
def test_ctrl_c_while_it_is_imported_breaks_nothing(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, module], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["interrupted", "works"], done.stderr
