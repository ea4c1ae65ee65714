"""What a run is about: enough to tell whether another run may go on from its journal."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.errors import shown
from fmident.evaluation.journal.keys import file_digest
from fmident.problem.settings_keys import deciding_what

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_SHOWN = 3


def identity_of(problem: Problem) -> dict[str, Any]:
    """Return everything that the result depends on, as JSON's own types.

    Limits of the estimator (``max_...`` and ``generations``) and who runs the simulations are left
    out: a run may well go on with others. Arrays and files are represented by a digest.
    """
    from fmident._version import __version__

    options = {k: v for k, v in problem.estimator.options.items() if not _is_limit(k)}
    # A cost may be a stranger's, with more state than its options.
    cost = problem.cost
    written = {c.name: c.written for c in problem.constraints}
    held_out = {e.name: e for e in problem.validation}
    state = cost if dataclasses.is_dataclass(cost) else None
    found: dict[str, Any] = _plain(
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
    return found


def _is_limit(option: str) -> bool:
    return option.startswith("max_") or option == "generations"


def identity_digest(problem: Problem) -> bytes:
    """Return a digest of :func:`identity_of`."""
    return hashlib.sha256(json.dumps(identity_of(problem), sort_keys=True).encode()).digest()


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words what differs between two identities; nothing if they are equal."""
    found = list(_differences(before, now, ""))
    more = f" (and {len(found) - _SHOWN} more)" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more


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
