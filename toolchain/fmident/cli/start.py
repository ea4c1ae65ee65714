"""Commands to start with: ``fmident init``, ``doctor`` and ``plugins``."""

from __future__ import annotations

import argparse
import contextlib
import platform
import posixpath
import re
import textwrap
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fmident._version import __version__
from fmident.api.problems import PROBLEM
from fmident.api.proposals import propose
from fmident.cli.console import out, out_table, say, tell, width
from fmident.cli.usage import UsageError
from fmident.errors import Code, FmidentError, PluginError, did_you_mean, unknown_name
from fmident.evaluation import ExecutorKind
from fmident.plugins import load_plugins
from fmident.plugins.host import Host
from fmident.report.terminal import narrow_table
from fmident.toml_file.options import option_rows

STARTER = "oscillator"
"""The example that is written when none is named."""

REPOSITORY = "https://github.com/fmident/fmident"
"""Target of links in examples that point out of their folder; as in pyproject.toml."""

_TEXTS = (".c", ".csv", ".md", ".mo", ".py", ".toml")
"""Files of an example; pictures, data that can be made and results are left out."""

_NOT_SHIPPED = ("data", "figures", "__pycache__")

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


def examples() -> tuple[Path, ...]:
    """Return the folders of the examples, the starter first, then by name.

    Raises `FmidentError` if they are not installed.
    """
    here = Path(__file__).parents[1]
    # Beside the package when installed; three levels up in a checkout.
    for place in (here / "examples", here.parents[1] / "examples"):
        if (place / STARTER / "README.md").is_file():
            folders = (readme.parent for readme in place.glob("*/README.md"))
            return tuple(sorted(folders, key=lambda f: (f.name != STARTER, f.name)))
    raise FmidentError(
        f"the examples of fmident are not in '{here}'",
        hint="install fmident again: some of its files are missing",
        code=Code.UNUSABLE_FILE,
    )


def files_of(example: Path) -> list[Path]:
    """Return the files of an example relative to its folder, in a fixed order."""
    paths = (p for p in example.rglob("*") if p.suffix in _TEXTS and p.is_file())
    files = sorted(path.relative_to(example) for path in paths)
    return [
        file
        for file in files
        if not any(part in _NOT_SHIPPED or part.startswith("results") for part in file.parts)
    ]


def write_study(folder: Path, example: str | None = None) -> list[Path]:
    """Write an example as a separate study; return the new files.

    `folder` is made if necessary, and paths are relative to it. `example` is the name of one of
    :func:`examples`, by default the starter's. Raises `FmidentError` if there is no such example,
    or the folder is not empty or a file.
    """
    known = {path.name: path for path in examples()}
    chosen = known.get(STARTER if example is None else example)
    if chosen is None:
        raise FmidentError(
            f"there is no example '{example}'",
            hint=f"{did_you_mean(str(example), known, kind='example')}; 'fmident init --list'",
            code=Code.UNKNOWN_NAME,
        )
    _refuse_used(folder, "" if example is None else f"--example {example} ")
    written = []
    for file in files_of(chosen):
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (chosen / file).read_text(encoding="utf-8")
        with target.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(_as_study(text, chosen.name, file))
        written.append(target)
    return written


def _refuse_used(folder: Path, option: str) -> None:
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
    path, *anchor = target.partition("#")
    if "/" not in path:
        return found[0]
    place = posixpath.normpath(f"examples/{name}/{path}")
    view = "raw" if picture else "blob"
    return f"{picture}[{text}]({REPOSITORY}/{view}/main/{place}{''.join(anchor)})"


def run_init(arguments: argparse.Namespace) -> int:
    """Write the files, and say what to do with them."""
    if arguments.list:
        if arguments.example is not None or arguments.folder is not None:
            raise UsageError("--list writes nothing: it takes no folder and no --example")
        readmes = [(f.name, (f / "README.md").read_text(encoding="utf-8")) for f in examples()]
        rows = [[name, text.partition("\n")[0].removeprefix("# ")] for name, text in readmes]
        out_table(["example", "what it is"], rows)
        out(f"\n'{STARTER}' is written when no example is named")
        return 0
    folder = arguments.folder or Path()
    if arguments.data or arguments.fmu is not None:
        return _init_from(arguments, folder)
    files = write_study(folder, arguments.example)
    say(f"{len(files)} files written to '{folder.resolve()}':")
    for file in files:
        say(f"  {file.relative_to(folder)}")
    step = "" if folder == Path() else f"cd {folder} and "
    say(f"next: {step}read README.md; it begins with the commands to run")
    return 0


def _init_from(arguments: argparse.Namespace, folder: Path) -> int:
    """Write a problem file for a model and data."""
    if arguments.fmu is None or not arguments.data:
        raise UsageError("--from and --fmu belong together: measured data, and a model of them")
    target = folder / PROBLEM
    if target.exists():
        raise FmidentError(
            f"'{target}' exists; nothing was written",
            hint="name another folder, or remove the file",
            code=Code.UNUSABLE_FILE,
        )
    text = propose(
        arguments.fmu, *arguments.data, parameters=arguments.parameters, folder=folder,
        host=load_plugins(without=arguments.no_plugin),
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="\n")
    say(f"'{target}' written")
    say("next: look through its comments, then: fmident check " + str(target))
    return 0


_PACKAGES = (
    "numpy", "scipy", "pandas", "numba", "casadi", "rumoca", "fmpy", "cma",
    "pluggy", "matplotlib", "jinja2", "OMPython", "psutil",
)  # fmt: skip


_OPTIONAL = {"distributed": "executor = \"dask\": pip install 'fmident[dask]'"}
"""Purpose of each optional package, and how to install it."""


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print versions and the state of the compilers; 1 when no compiler can run."""
    host = load_plugins(without=arguments.no_plugin)
    rows = [
        ["fmident", __version__],
        ["Python", platform.python_version()],
        ["platform", f"{platform.system()} {platform.machine()}"],
        *([name, _version(name) or "missing, but needed"] for name in _PACKAGES),
        *([name, _version(name) or f"not installed ({why})"] for name, why in _OPTIONAL.items()),
    ]
    out_table(["component", "version"], rows)
    out()
    states, reasons = [], []
    tools: dict[str, str] = {}
    for registration in host.compilers:
        state, reason = _state(host, registration.name)
        if reason is None:
            with contextlib.suppress(PluginError):  # versions matter more
                tools |= host.compiler(registration.name).tools()
        states.append([registration.name, state])
        if reason is not None:
            reasons.append(textwrap.indent(f"{registration.name}: {reason}", "  "))
    out_table(["compiler", "state"], states)
    if tools:
        out()
        out("\n".join(f"{name}: {found}" for name, found in tools.items()), wrap=True)
    for reason in reasons:
        out()
        out(reason, wrap=True)
    tell(host.diagnostics)
    return 0 if len(reasons) < len(states) else 1


def _state(host: Host, name: str) -> tuple[str, str | None]:
    """Return the version of a compiler, or why it cannot run."""
    try:
        compiler = host.compiler(name)
        reason = compiler.unavailable()
        return (compiler.version() if reason is None else "cannot run"), reason
    except PluginError as error:
        return "broken", str(error)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def run_plugins(arguments: argparse.Namespace) -> int:
    """Print three tables, or the options of one item; 1 when a plugin is broken."""
    host = load_plugins(without=arguments.no_plugin)
    if arguments.name is not None:
        return _options(host, arguments.name)
    rows = [
        [
            plugin.origin.plugin,
            f"{plugin.origin.distribution} {plugin.origin.version}".strip(),
            "works" if plugin.problem is None else "LEFT OUT",
            ", ".join(hook.removeprefix("fmident_") for hook in plugin.hooks),
        ]
        for plugin in host.plugins
    ]
    out_table(["plugin", "distribution", "state", "hooks"], rows)
    items = [
        [registration.name, registry.kind, registration.origin.plugin, registration.summary]
        for registry in host.registries
        for registration in registry
    ]
    out()
    out_table(["name", "kind", "plugin", "summary"], items)
    out()
    out_table(["executor", "can", "keys of its own"], _executors(host.executors.by_name))
    tell(host.diagnostics)
    return 1 if host.diagnostics else 0


def _options(host: Host, name: str) -> int:
    """Print the options of an estimator, a cost or an executor."""
    kinds: dict[str, tuple[str, str, type[Any]]] = {
        r.name: ("estimator", r.summary, r.item.options_type) for r in host.estimators
    }
    kinds |= {r.name: ("cost", r.summary, r.item) for r in host.costs if r.name not in kinds}
    kinds |= {
        r.name: ("evaluation", r.summary, r.item.options_type)
        for r in host.executors
        if r.name not in kinds
    }
    if name not in kinds:
        raise UsageError(
            f"there is no estimator, cost or executor '{name}'", **unknown_name(name, kinds)
        )
    section, summary, kind = kinds[name]
    out(f"{name}: {summary}", wrap=True)
    out()
    out(f"[{section}]")
    out(f'{"executor" if section == "evaluation" else "name"} = "{name}"')
    rows = [[row.name, row.default, row.values, row.meaning] for row in option_rows(kind)]
    if rows:
        out()
        header = ["option", "default", "values", "meaning"]
        out(narrow_table(header, rows, ["<"] * len(header), width()))
    return 0


def _executors(kinds: Mapping[str, ExecutorKind]) -> list[list[str]]:
    rows = []
    for name, kind in kinds.items():
        abilities = {
            "survive crashes": bool(kind.isolated),
            "limit memory": kind.limits_memory,
            "renew workers": kind.renews,
            "use several machines": kind.several_machines,
        }
        can = ", ".join(ability for ability, holds in abilities.items() if holds)
        rows.append([name, can, ", ".join(kind.options)])
    return rows
