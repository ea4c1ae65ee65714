"""The journal gives back what it was given, or nothing, whatever happens to its files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fmident.errors import Code
from fmident.evaluation import SimulationFailure
from fmident.evaluation.journal import Journal
from fmident.evaluation.journal.journal import SIMULATIONS
from fmident.evaluation.tasks import Simulated

from ...properties import examples, texts

outputs = arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)))
failures = st.builds(
    SimulationFailure,
    message=texts,
    time=st.none() | st.floats(allow_nan=False),
    parameters=st.dictionaries(texts, st.floats(allow_nan=False), max_size=2),
    log=st.lists(texts, max_size=2).map(tuple),
    experiment=texts,
    hint=st.none() | texts,
    says_time=st.booleans(),
    code=st.sampled_from(list(Code)),
)
keys = st.binary(min_size=16, max_size=16)
contents = st.dictionaries(keys, outputs | failures, min_size=1, max_size=5)


def write(folder: Path, content: dict[bytes, Simulated]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    journal = Journal(folder)
    for key, outcome in content.items():
        journal.keep(key, outcome)
    journal.close()


def same(a: Simulated, b: Simulated) -> bool:
    if isinstance(a, SimulationFailure) or isinstance(b, SimulationFailure):
        return a == b
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def found(folder: Path, content: dict[bytes, Simulated]) -> int:
    """Return how many records are there; each that is there is right."""
    journal = Journal(folder)
    try:
        count = 0
        for key, outcome in content.items():
            kept = journal.find(key, [getattr(outcome, "shape", (0, 0))])
            if kept is not None:
                assert same(kept[0], outcome)
                assert kept[1]
                count += 1
        return count
    finally:
        journal.close()


@given(contents)
@examples(40)
def test_what_is_kept_is_found(tmp_path: Path, content: dict[bytes, Simulated]) -> None:
    write(tmp_path / "j", content)
    assert found(tmp_path / "j", content) == len(content)


@given(contents, st.data())
@examples(60)
def test_a_flipped_bit_or_a_lost_end_gives_no_wrong_outcome(
    tmp_path: Path, content: dict[bytes, Simulated], data: st.DataObject
) -> None:
    write(tmp_path / "j", content)
    file = tmp_path / "j" / SIMULATIONS
    raw = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans()):
        raw[place] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del raw[place:]
    file.write_bytes(raw)
    found(tmp_path / "j", content)
    # What is kept after the damage is found as well.
    journal = Journal(tmp_path / "j")
    journal.keep(b"after the damage", np.ones((2, 1)))
    journal.close()
    assert found(tmp_path / "j", {b"after the damage": np.ones((2, 1))}) == 1
