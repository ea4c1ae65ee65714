"""Keys that identify simulations."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident._version import __version__
from fmident.errors import shown
from fmident.evaluation.setups import NumberedSetup, SetupTable
from fmident.problem.settings_keys import deciding_what

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.evaluation.tasks import SimulationTask
    from fmident.problem.model import Problem


KEY_BYTES = 16


_SHOWN = 3


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


class SimulationKeys:
    """Gives equal keys to simulations with equal outcome, and different ones to all others.

    A key covers the FMU and its interface, the setup, the version of fmident, the initial
    parameters (at which executors determine how the FMU takes its inputs), and names and
    bits of the parameter values. `fmu` is a digest, arbitrary for keys used in this process
    only.
    """

    def __init__(self, problem: Problem, fmu: bytes = b"") -> None:
        interface = problem.evaluation.interface
        self._fmu = fmu if interface == "auto" else fmu + interface.encode()
        self._table = SetupTable(problem)
        self._begun: dict[tuple[int, tuple[str, ...]], Any] = {}
        self._setups: dict[int, bytes] = {}

    def of(self, tasks: Sequence[SimulationTask]) -> list[bytes]:
        """Return the key of each simulation."""
        return [self._key(self._table.of(task), task.values) for task in tasks]

    def shapes(self, task: SimulationTask) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the shapes that the outputs may have; some executors omit sensitivities."""
        setup = self._table.of(task).setup
        rows, columns = setup.times.size, len(setup.output_names)
        return (rows, columns), (rows, columns * (1 + len(setup.sensitivities)))

    def _key(self, prepared: NumberedSetup, values: Mapping[str, float]) -> bytes:
        names = tuple(values)
        begun = self._begun.get((prepared.number, names))
        if begun is None:
            begun = hashlib.blake2b(self._setup(prepared), digest_size=KEY_BYTES)
            begun.update(repr(names).encode())
            if len(self._begun) > 1000:
                self._begun.clear()
                self._setups.clear()
            self._begun[prepared.number, names] = begun
        digest = begun.copy()
        try:
            digest.update(struct.pack(f"<{len(names)}d", *values.values()))
        except struct.error:  # a value that is not a number
            digest.update(repr(tuple(values.values())).encode())
        key: bytes = digest.digest()
        return key

    def _setup(self, prepared: NumberedSetup) -> bytes:
        """Return the digest of everything but the parameter values."""
        content = self._setups.get(prepared.number)
        if content is None:
            setup = prepared.setup
            digest = hashlib.sha256(self._fmu)
            plain: tuple[object, ...] = (
                __version__,
                setup.input_names,
                setup.output_names,
                sorted(setup.start_values.items()),
                sorted(prepared.values.items()),
                setup.tolerance,
                setup.interpolation,
                setup.times.shape,
            )
            if setup.sensitivities:
                plain = (*plain, setup.sensitivities)
            if setup.substeps != 1:
                plain = (*plain, "substeps", setup.substeps)
            if setup.input_interpolation:
                plain = (*plain, sorted(setup.input_interpolation.items()))
            digest.update(repr(plain).encode())
            digest.update(setup.times.tobytes())
            if setup.inputs is not None:
                digest.update(setup.inputs.tobytes())
            content = self._setups[prepared.number] = digest.digest()
        return content


def population_key(scope: bytes, points: F64) -> bytes:
    """Return the key of the costs at points, shape (k, n); `scope` is the digest of the rest."""
    digest = hashlib.blake2b(scope, digest_size=KEY_BYTES)
    digest.update(repr(points.shape).encode())
    digest.update(points.tobytes())
    return digest.digest()


def identity_of(problem: Problem) -> dict[str, Any]:
    """Return everything that the result depends on, as JSON types.

    Limits of the estimator (``max_...`` and ``generations``) and the executor may differ on
    resume and are excluded. Arrays and files are represented by digests.
    """
    options = {k: v for k, v in problem.estimator.options.items() if not _is_limit(k)}
    # A cost may be a stranger's, with more state than its options.
    cost = problem.cost
    written = {c.name: c.written for c in problem.constraints}
    held_out = {e.name: e for e in problem.validation}
    state = cost if dataclasses.is_dataclass(cost) else None
    identity: dict[str, Any] = _plain(
        {
            "fmident": __version__,
            "model": {"content": file_digest(problem.fmu).hex()},
            "parameters": {p.name: p for p in problem.parameters},
            "experiments": {e.name: e for e in problem.experiments},
            "estimator": {"name": problem.estimator.name, **options},
            "cost": {"name": cost.name, "options": cost.options(), "state": state},
            "start": problem.start_values,
            "evaluation": deciding_what(problem.evaluation),
            **({"constraints": written} if written else {}),
            **({"validation": held_out} if held_out else {}),
            "stages": {s.name: identity_of(s.problem) for s in problem.stages},
        }
    )
    return identity


def _is_limit(option: str) -> bool:
    return option.startswith("max_") or option == "generations"


def identity_digest(problem: Problem) -> bytes:
    """Return a digest of :func:`identity_of`."""
    return hashlib.sha256(json.dumps(identity_of(problem), sort_keys=True).encode()).digest()


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return a text of the differences between two identities; empty if they are equal."""
    texts = list(_differences(before, now, ""))
    more = f" (and {len(texts) - _SHOWN} more)" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more


def _differences(before: Any, now: Any, path: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            inside = f"{path}.{key}" if path else str(key)
            if key not in before:
                yield f"{inside} is new"
            elif key not in now:
                yield f"{inside} is gone"
            else:
                yield from _differences(before[key], now[key], inside)
    elif before != now:
        digests = any(str(v).startswith(_DIGEST) for v in (before, now))
        if path == "model.content":
            yield "the FMU is another one"
        elif digests:
            yield f"the numbers of {path} differ"
        else:
            yield f"{path} was {_shown(before)} and is {_shown(now)}"


_DIGEST = "digest "


def _shown(value: Any) -> str:
    return shown(repr(value) if isinstance(value, str) else value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        content = np.ascontiguousarray(value)
        digest = hashlib.sha256(repr((content.shape, content.dtype.str)).encode())
        digest.update(content.tobytes())
        return _DIGEST + digest.hexdigest()[:32]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _plain(getattr(value, f.name))
            for f in dataclasses.fields(value)
            if f.name not in ("source", "notes", "exclusions")  # values say what counts
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        if items and all(isinstance(i, dict) and "name" in i for i in items):
            return {str(item["name"]): item for item in items}
        return items
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        # JSON knows no infinity, and this keeps all bits.
        return repr(value)
    if isinstance(value, Path):
        return value.name
    return repr(value)
