"""Create a study folder from an example that ships with fmident."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fmident.errors import Code, FmidentError, did_you_mean

STARTER = "oscillator"
"""The example that is written when none is named."""

REPOSITORY = "https://github.com/fmident/fmident"
"""Where links of the examples lead that point out of their folder; as in pyproject.toml."""

_TEXTS = (".c", ".csv", ".md", ".mo", ".py", ".toml")
"""What an example consists of; pictures, data that can be made and results are left out."""

_NOT_SHIPPED = ("data", "figures", "__pycache__")

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


@dataclass(frozen=True)
class Example:
    """A study that ships with fmident.

    `name` is that of its folder, and `title` the heading of its README.
    """

    name: str
    title: str
    folder: Path

    def files(self) -> tuple[Path, ...]:
        """Return its files relative to its folder, in a fixed order."""
        relative_paths = (
            path.relative_to(self.folder)
            for path in self.folder.rglob("*")
            if path.suffix in _TEXTS and path.is_file()
        )
        return tuple(
            sorted(
                file
                for file in relative_paths
                if not any(
                    part in _NOT_SHIPPED or part.startswith("results") for part in file.parts
                )
            )
        )


def examples() -> tuple[Example, ...]:
    """Return the examples that ship with fmident, the starter first, then by name.

    Raises `FmidentError` if they are not installed.
    """
    here = Path(__file__).parents[1]
    # Beside the package when installed; three levels up in a checkout.
    for place in (here / "examples", here.parents[1] / "examples"):
        if (place / STARTER / "README.md").is_file():
            available = [_example(readme) for readme in place.glob("*/README.md")]
            return tuple(sorted(available, key=lambda e: (e.name != STARTER, e.name)))
    raise FmidentError(
        f"the examples of fmident are not in '{here}'",
        hint="install fmident again: some of its files are missing",
        code=Code.UNUSABLE_FILE,
    )


def write_study(folder: str | Path, example: str | None = None) -> tuple[Path, ...]:
    """Write an example as a separate study, with paths relative to the new folder.

    Parameters
    ----------
    folder
        Created if necessary; may exist if it is empty. Nothing is ever overwritten.
    example
        Name of one of :func:`examples`; :data:`STARTER` by default.

    Returns
    -------
    tuple of Path
        The files written below `folder`.

    Raises
    ------
    fmident.errors.FmidentError
        There is no such example, or the folder is not empty or a file.
    """
    folder = Path(folder)
    known = {e.name: e for e in examples()}
    chosen = known.get(STARTER if example is None else example)
    if chosen is None:
        raise FmidentError(
            f"there is no example '{example}'",
            hint=f"{did_you_mean(str(example), known, kind='example')}; 'fmident init --list'",
            code=Code.UNKNOWN_NAME,
        )
    _refuse_used(folder, "" if example is None else f"--example {example} ")
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for file in chosen.files():
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (chosen.folder / file).read_text(encoding="utf-8")
        with target.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(_as_study(text, chosen.name, file))
        written.append(target)
    return tuple(written)


def _example(readme: Path) -> Example:
    with readme.open(encoding="utf-8") as lines:
        title = next(lines).removeprefix("#").strip()
    return Example(readme.parent.name, title, readme.parent)


def _refuse_used(folder: Path, option: str) -> None:
    """Raise if a folder is not empty."""
    hint = f"name a new folder: fmident init {option}FOLDER"
    if folder.exists() and not folder.is_dir():
        raise FmidentError(f"'{folder}' is a file", hint=hint, code=Code.UNUSABLE_FILE)
    first = min(folder.iterdir(), default=None) if folder.exists() else None
    if first is not None:
        what = "this folder" if folder == Path() else f"'{folder}'"
        raise FmidentError(
            f"{what} is not empty: '{first.name}' is in it; nothing was written",
            hint=hint,
            code=Code.UNUSABLE_FILE,
        )


def _as_study(text: str, name: str, file: Path) -> str:
    """Return a file's text with paths of the repository replaced by paths of the study."""
    text = text.replace('HERE.parents[1] / "fmus"', 'HERE / "fmus"')
    text = text.replace(f"examples/{name}/", "")
    return _LINK.sub(lambda found: _link(found, name), text) if file.suffix == ".md" else text


def _link(found: re.Match[str], name: str) -> str:
    """Return a Markdown link, pointing to the repository if the study lacks the file."""
    picture, text, target = found.groups()
    path, anchor, rest = target.partition("#")
    if "/" not in path:
        return found[0]
    parts: list[str] = ["examples", name]
    for part in path.split("/"):
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    view = "raw" if picture else "blob"
    return f"{picture}[{text}]({REPOSITORY}/{view}/main/{'/'.join(parts)}{anchor}{rest})"


__all__ = ["REPOSITORY", "STARTER", "Example", "examples", "write_study"]
