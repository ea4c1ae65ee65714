"""JavaScript for drawing charts: that of Bokeh, and fmident's own.

Bokeh's Python package contains its JavaScript; the package is not imported, which would
take longer than a small estimation. Compressed in a page, the library is a third of its
size.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.util
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code, FmidentError

_FILES = ("bokeh.min.js", "bokeh-api.min.js")
_LEVEL = 4


_SHORT = 64
"""Of more samples, values are kept with seven digits: enough for any screen."""

_REGULAR = 1e-6
"""A time axis whose samples are off a regular one by less than this part of a step is regular."""


Indices = npt.NDArray[np.intp]

LARGEST_GAP = 20
"""More missing samples than this in a row leave a gap in a line, in ``report.js``, too."""

_GAP_SHARE = 0.01
"""So many gaps are seen, the longest, for each sample that is kept."""

_SEEN = 1e-5
"""A line that is off by less than this share of the range of its signal is right."""


@dataclass(frozen=True)
class Scripts:
    """The scripts of a page with charts.

    `packed` is the zlib-compressed library in Base64, `own` the script of fmident that
    unpacks it, and `hashes` are the script sources for the page's content security policy.
    """

    packed: str
    own: str
    hashes: tuple[str, ...]


@functools.cache
def scripts() -> Scripts:
    """Return the scripts, which are cached.

    Raises `FmidentError` if Bokeh is not installed or lacks its JavaScript.
    """
    folder = _folder()
    try:
        # A browser reads line ends as "\n", and the hash is of what it reads.
        parts = [_text((folder / name).read_bytes()) for name in _FILES]
    except OSError as error:
        raise FmidentError(
            f"the JavaScript of Bokeh, which draws the report, cannot be read: {error}",
            hint="install bokeh again: pip install --force-reinstall bokeh",
            code=Code.UNUSABLE_FILE,
        ) from error
    library = ";\n".join(parts).encode("utf-8")
    own = _text(resources.files("fmident.report").joinpath("templates/report.js").read_bytes())
    packed = base64.b64encode(zlib.compress(library, _LEVEL)).decode("ascii")
    return Scripts(packed, own, (_source(own.encode("utf-8")), _source(library)))


def _text(content: bytes) -> str:
    return content.decode("utf-8").replace("\r\n", "\n")


def _folder() -> Path:
    spec = importlib.util.find_spec("bokeh")
    if spec is None or spec.origin is None:
        raise FmidentError(
            "Bokeh, whose JavaScript draws the report, is not installed",
            hint="pip install bokeh",
            code=Code.UNUSABLE_FILE,
        )
    return Path(spec.origin).parent / "server" / "static" / "js"


def _source(script: bytes) -> str:
    digest = hashlib.sha256(script).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def column_json(values: F64, *, is_place: bool = False) -> Any:
    """Return one column, shape (n,); NaN and infinity are missing.

    With `is_place` the values are ascending positions: a regular grid is stored as such,
    another one with all digits.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size <= _SHORT:
        return [v if np.isfinite(v) else None for v in values.tolist()]
    if is_place:
        return regular_grid(values) or {"f8": _base64(values, "<f8")}
    offset = _offset(values)
    with np.errstate(over="ignore"):  # what single precision cannot hold is far outside of any plot
        return {"f4": _base64(values - offset, "<f4"), "offset": offset}


def regular_grid(values: F64) -> dict[str, float] | None:
    """Return start, step and count of equidistant positions; ``None`` for others."""
    if values.size < 2:
        return None
    step = (values[-1] - values[0]) / (values.size - 1)
    regular = values[0] + step * np.arange(values.size)
    if not (step > 0.0 and np.all(np.abs(values - regular) <= _REGULAR * step)):
        return None
    return {"start": float(values[0]), "step": float(step), "count": int(values.size)}


def _offset(values: F64) -> float:
    """Return the offset to subtract from a signal that varies little about a large value."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return 0.0
    low, high = float(finite.min()), float(finite.max())
    middle = low + 0.5 * (high - low)
    return middle if abs(middle) > 10.0 * (high - low) else 0.0


def _base64(values: F64, kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")


def extremes(signals: Sequence[F64], most: int) -> Indices:
    """Return ascending indices, shape (k,), of samples that show long signals at any zoom.

    Three quarters are the first and the last sample, and the minimum and maximum of strips
    of equal numbers of samples. The others are where a line through these would deviate
    most, such as beside a single peak. Several signals, shape (n,) each with NaN or
    infinity for missing samples, share the indices of all. The longest gaps are kept
    visible. At most `most` samples are selected beyond both ends and the extremes of each;
    shorter signals are kept whole.
    """
    count = signals[0].size
    if count <= most:
        return np.arange(count)
    held = [np.where(np.isfinite(signal), signal, np.nan) for signal in signals]
    gaps = _gaps(held, int(_GAP_SHARE * most))
    most -= gaps.size
    indices = _envelope(held, most - most // 4)
    off = np.zeros(count)
    for signal in held:
        there = indices[np.isfinite(signal[indices])]
        if there.size and (size := np.ptp(signal[there])) > 0.0:
            line = np.interp(np.arange(count), there, signal[there])
            np.fmax(off, np.abs(signal - line) / size, out=off)
    room = max(most - indices.size, 0)
    more = np.argpartition(off, count - 1 - room)[count - room :]
    return np.unique(np.concatenate([indices, more[off[more] > _SEEN], gaps]))


def _envelope(signals: Sequence[F64], most: int) -> Indices:
    """Return the first, the last and the extremes of strips as short as `most` allows."""
    count = signals[0].size
    size = 2 * count // most
    while True:
        mask = np.zeros(count, dtype=bool)
        mask[[0, -1]] = True
        whole = count - count % size
        for signal in signals:
            for sign in (1.0, -1.0):
                filled = np.where(np.isnan(signal), np.inf, sign * signal)
                inside = np.argmin(filled[:whole].reshape(-1, size), axis=1)
                mask[inside + np.arange(0, whole, size)] = True
                if whole < count:
                    mask[whole + np.argmin(filled[whole:])] = True
        indices = np.flatnonzero(mask)
        if indices.size <= most or size >= count:
            return indices
        size = max(size * indices.size // most, size + 1)


def _gaps(signals: Sequence[F64], most: int) -> Indices:
    """Return the first samples of the longest gaps, one more than lines would bridge."""
    begins, lengths = [], []
    for signal in signals:
        there = np.flatnonzero(np.isfinite(signal))
        steps = np.diff(there)
        begins.append(there[:-1][steps > LARGEST_GAP + 1])
        lengths.append(steps[steps > LARGEST_GAP + 1])
    first, which = np.unique(np.concatenate(begins), return_index=True)
    longest = np.argsort(-np.concatenate(lengths)[which], kind="stable")[:most]
    return (first[longest, np.newaxis] + np.arange(1, LARGEST_GAP + 2)).ravel()
