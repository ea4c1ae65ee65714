"""Print the changelog of one version; refuse a tag that version, changelog or citation contradict.

python ci/release_notes.py v0.2.0
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(tag: str, root: Path = ROOT) -> str:
    """Return what the changelog says of the version of a tag.

    Raises
    ------
    ValueError
        The tag is not that of the version that the files give, the changelog lacks it, or it still
        has entries that belong to no version.
    """
    version = tag.removeprefix("v")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = (root / "toolchain" / "fmident" / "_version.py").read_text(encoding="utf-8")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    given = {
        "pyproject.toml": project["version"],
        "toolchain/fmident/_version.py": _only(r'^__version__ = "(.+)"$', module),
        "CITATION.cff": _only(r"^version: (.+)$", citation),
    }
    wrong = [f"{file} says {found}" for file, found in given.items() if found != version]
    if wrong or tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, but {', '.join(wrong) or 'tags begin with v'}")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if re.search(r"^- ", _section("Unreleased", changelog), re.MULTILINE):
        raise ValueError(
            f"CHANGELOG.md has entries under '## Unreleased': move them to '## {version}'"
        )
    text = _section(version, changelog)
    if not text:
        raise ValueError(f"CHANGELOG.md has nothing under '## {version}'")
    return text + "\n"


def _section(name: str, changelog: str) -> str:
    pattern = rf"^## {re.escape(name)}\b[^\n]*\n(.*?)(?=^## |\Z)"
    found = re.search(pattern, changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def _only(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.MULTILINE)
    return str(found[0]) if len(found) == 1 else "nothing"


if __name__ == "__main__":
    try:
        sys.stdout.write(notes(*sys.argv[1:2]))
    except (TypeError, ValueError) as error:
        sys.exit(f"ci/release_notes.py: {error}")
