"""Process that runs rumoca; started by ``rumoca``, imports little of fmident.

rumoca can panic or overflow its stack on unexpected source and then prints to the
console. A separate process turns that into an error message.

Standard input: JSON with ``entry`` (path), ``text`` (source to load in place of the
entry, or null), ``class_name``, ``roots`` (paths), ``check`` (paths of the files whose
findings are wanted on failure, the entry first). Standard output: JSON with either
``flat`` and ``files`` or ``error`` and ``diagnostics``, and ``version``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from fmident.operating_system import hide_core_files, limit_memory, limit_processor_time

_TOO_LARGE, _NOT_INSTALLED, _MOST_LETTERS = 75, 76, 400_000_000

try:
    import rumoca
except ModuleNotFoundError as error:
    if error.name != "rumoca":
        raise
    sys.exit(_NOT_INSTALLED)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    answer: dict[str, Any] = {"version": str(rumoca.version())}
    entry, class_name, roots = request["entry"], request["class_name"], request["roots"]
    session = rumoca.Session(roots=roots) if roots else rumoca.Session()
    try:
        if request["text"] is None:
            model = session.load(entry, model=class_name)
        else:
            model = session.loads(request["text"], model=class_name, filename=entry)
        answer["flat"] = model.to_dict(stage="flat")
        answer["files"] = used_files(
            answer["flat"], model.to_dict(stage="dae")["source_map"]["files"]
        )
    except BaseException as error:  # a panic of rumoca is not an Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        answer.pop("flat", None)
        answer["error"] = str(error)
        answer["panic"] = not isinstance(error, Exception)
        # Later phases name the place themselves, and reading a large library again takes long.
        later = "unresolved" in str(error) or " failed in " in str(error)
        answer["diagnostics"] = [] if later else diagnostics(request)
    return answer


def used_files(flat: dict[str, Any], files: list[list[Any]]) -> list[list[Any]]:
    """Return those of the files read that the flat model refers to."""
    used = set(re.findall(r'"source": (\d+)', json.dumps(flat)))
    return [file for file in files if str(file[0]) in used]


def diagnostics(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rumoca's findings for the entry, or for the first file that cannot be parsed."""
    if not request["check"]:
        return []
    entry, *inside = request["check"]
    findings = rumoca.validate(entry, model=request["class_name"])
    for file in inside:
        if any(item.rule == "syntax-error" for item in findings):
            break
        wrong = [item for item in rumoca.validate(file) if item.rule == "syntax-error"]
        findings = wrong or findings
    keys = ("rule", "level", "message", "file", "line", "column")
    return [{key: getattr(item, key) for key in keys} for item in findings]


def main() -> int:
    """Answer the request on standard input, within its limits of memory and CPU time."""
    root = str(Path(__file__).parents[5])
    if root not in sys.path:
        sys.path.insert(0, root)
    request = json.load(sys.stdin)
    hide_core_files()
    limit_memory(request["memory"])
    limit_processor_time(request["seconds"])
    try:
        answer = json.dumps(run(request))
    except MemoryError:
        answer = ""
    if not answer or len(answer) > _MOST_LETTERS:
        print("the flat model does not fit into memory", file=sys.stderr)  # noqa: T201
        return _TOO_LARGE
    sys.stdout.write(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
