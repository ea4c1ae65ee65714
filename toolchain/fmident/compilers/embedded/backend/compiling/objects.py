"""Object files, which are kept from one build to the next.

Most of the runtime is the same for all models, so that a machine compiles it once. An object is
kept under a hash of everything that it is made from: the compiler, its options, the source, and all
headers that the source may read. What was kept and what is compiled anew are the same bytes.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fmident.operating_system import processors
from fmident.operating_system.kept import kept_folder

MOST_KEPT = 400
"""Objects that are kept; older ones are removed."""

_DIGEST = hashlib.sha256().digest_size
_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """What one call of the C compiler makes an object of.

    Parameters
    ----------
    source
        Name of the C file in the folder of the build.
    options
        Options of the C compiler for this file, such as ``-O2``.
    kept
        Whether the object is worth keeping: it may serve another build.
    not_read
        Headers that are named in what it includes but not read with these options.
    """

    source: str
    options: tuple[str, ...]
    kept: bool = True
    not_read: tuple[str, ...] = ()

    @property
    def object(self) -> str:
        """Return the name of the object."""
        return f"{Path(self.source).stem}.o"


def make_objects(
    units: Sequence[Unit], folder: Path, identity: bytes, make_object: Callable[[Unit], None]
) -> None:
    """Make the objects of all units in `folder`, side by side as far as there are processors.

    Parameters
    ----------
    units
        What to compile.
    folder
        Where the sources and their own headers are.
    identity
        What the objects depend on besides: the compiler, its common options, foreign headers.
    make_object
        Compiles a unit in `folder`; raises if there is no object then.
    """
    cache = kept_folder("objects")
    keys = {unit: _key(unit, folder, identity) for unit in units if unit.kept}
    missing = [
        u for u in units if not (cache and u in keys and _fetch(cache, keys[u], folder / u.object))
    ]

    with ThreadPoolExecutor(max(1, min(len(missing), processors()))) as pool:
        for _ in pool.map(make_object, missing):
            pass
    if cache:
        for unit in missing:
            if unit in keys:
                _keep(cache, keys[unit], (folder / unit.object).read_bytes())


def _key(unit: Unit, folder: Path, identity: bytes) -> str:
    digest = hashlib.sha256(identity)
    names = _reads(unit, folder)
    for text in (*unit.options, *names):
        digest.update(text.encode() + b"\0")
    for name in names:
        digest.update(hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()[:40]


def _reads(unit: Unit, folder: Path) -> list[str]:
    """Return the files of the folder that a source may read, itself the first."""
    found = [unit.source]
    for name in found:
        text = (folder / name).read_text(encoding="utf-8")
        more = (n for n in _included(text) if n not in found and n not in unit.not_read)
        found += [n for n in more if (folder / n).is_file()]
    return found


def _included(text: str) -> Iterable[str]:
    return dict.fromkeys(_INCLUDE.findall(text))


def _fetch(cache: Path, key: str, target: Path) -> bool:
    """Write an object that was kept; one that is damaged counts as not kept."""
    try:
        content = (cache / key).read_bytes()
    except OSError:
        return False
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        return False
    target.write_bytes(content[_DIGEST:])
    return True


def _keep(cache: Path, key: str, content: bytes) -> None:
    """Keep an object; without room for it, it is not kept."""
    try:
        with tempfile.NamedTemporaryFile(dir=cache, prefix="unfinished-", delete=False) as file:
            unfinished = Path(file.name)
            try:
                file.write(hashlib.sha256(content).digest() + content)
            except OSError:
                unfinished.unlink(missing_ok=True)
                return
        unfinished.replace(cache / key)
        _remove_old(cache)
    except OSError:
        return


def _remove_old(cache: Path) -> None:
    files = sorted(cache.iterdir(), key=lambda file: file.stat().st_mtime)
    for file in files[: max(0, len(files) - MOST_KEPT)]:
        file.unlink(missing_ok=True)
