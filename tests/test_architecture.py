"""Rules that hold for the whole code base, checked by reading its imports."""

from __future__ import annotations

import ast
import functools
import importlib
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from fmident import views

ROOT = Path(__file__).parents[1]
HOST = ROOT / "toolchain" / "fmident"
ESTIMATORS = ROOT / "plugins" / "fmident_estimators"
COSTS = ROOT / "plugins" / "fmident_costs"
DASK = ROOT / "plugins" / "fmident_dask"
READERS = ROOT / "plugins" / "fmident_readers"
APP = ROOT / "plugins" / "fmident_app"
PLUGINS = ("fmident_estimators", "fmident_costs", "fmident_dask", "fmident_readers", "fmident_app")
EXAMPLE = ROOT / "plugins" / "example"

LAYERS = (
    "_version", "words", "_lazy", "views", "_child", "_compiling", "operating_system", "arrays",
    "context_managers", "_json", "errors", "findings", "files", "_fmu_suggestions",
    "plugin_code", "options", "units", "toml_file", "fmu", "compilers", "data", "catalog",
    "problem", "evaluation", "statistics", "estimation", "designing", "prediction",
    "profiles", "resampling",
    "cross_validation", "report", "progress",
    "checking", "plugins", "testing", "validation",
)  # fmt: skip
"""From the bottom up: a package may import only what stands before it."""

COMPOSITION = {"__init__", "__main__", "api", "cli"}
"""These wire the layers together and may import all of them."""

ROOMS = Path(__file__).parent / "rooms.json"
"""Lines of code of each package."""

SLACK = 100
"""Lines by which a package may be smaller than written down."""

SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


_FOR_TYPES = ast.dump(ast.Name("TYPE_CHECKING", ast.Load()))


def modules(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.py") if "__pycache__" not in p.parts)


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


def is_for_types(node: ast.AST) -> TypeGuard[ast.If]:
    """Return whether only a type checker reads the body."""
    return isinstance(node, ast.If) and ast.dump(node.test) == _FOR_TYPES


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the full names imported at run time; imports for the type checker are left out."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    skipped: set[int] = set()
    for node in nodes_of(path):
        if is_for_types(node):
            skipped |= {id(inner) for child in node.body for inner in ast.walk(child)}
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parents = path.relative_to(HOST.parent).parts[: -node.level]
                module = ".".join([*parents, module]).rstrip(".")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def package_of(path: Path) -> str:
    return path.relative_to(HOST).parts[0].removesuffix(".py")


def targets(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the package of the host and the full name, for each import of the host."""
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "fmident":
            inside = len(parts) > 1 and (
                (HOST / parts[1]).exists() or (HOST / f"{parts[1]}.py").exists()
            )
            yield (parts[1] if inside else "fmident"), name


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_package_has_its_place() -> None:
    found = {p.stem if p.suffix == ".py" else p.name for p in HOST.iterdir()}
    found -= {"__pycache__", "py.typed", "modelica", "examples"}
    assert found - {"units"} == ({*LAYERS} | COMPOSITION) - {"units"}


def test_packages_import_only_what_stands_below() -> None:
    wrong = []
    for path in modules(HOST):
        package = package_of(path)
        if package in COMPOSITION:
            continue
        allowed = {*LAYERS[: LAYERS.index(package) + 1]}
        for target, name in targets(path):
            if target not in allowed:
                wrong.append(f"{name_of(path)} imports {name}")
    assert wrong == []


def test_estimators_never_touch_an_fmu() -> None:
    allowed = {
        "words", "_lazy", "_compiling", "arrays", "errors", "options", "units", "problem", "data",
        "evaluation",
        "estimation", "plugins", "statistics",
    }  # fmt: skip
    wrong = [
        f"{name_of(path)} imports {name}"
        for path in [*modules(ESTIMATORS), *modules(COSTS), *modules(EXAMPLE)]
        for target, name in targets(path)
        # The example has a compiler and a section of the report, too.
        if not (path.parent == EXAMPLE and target in {"compilers", "report"})
        # A plugin's own tests may run the conformance suite; nothing else needs it.
        if target not in (allowed | {"testing"} if path.stem.startswith("test_") else allowed)
    ]
    assert wrong == []


def test_a_report_shows_what_others_have_computed() -> None:
    wrong = [
        f"{name_of(path)} imports {name}"
        for path in modules(HOST / "report")
        for target, name in targets(path)
        if target in {"compilers", "evaluation"}
    ]
    assert wrong == []


def test_an_executor_of_a_plugin_knows_simulations_and_nothing_of_estimation() -> None:
    allowed = {
        "_lazy", "fmident", "operating_system", "errors", "options", "toml_file", "fmu", "data",
        "problem", "evaluation", "plugins",
    }  # fmt: skip
    wrong = [
        f"{name_of(path)} imports {name}"
        for path in modules(DASK)
        for target, name in targets(path)
        if target not in allowed or (target == "fmident" and name != "fmident.__version__")
    ]
    assert wrong == []


def test_the_app_uses_the_public_interface_only() -> None:
    public = {
        "fmident", "fmident.data", "fmident.errors", "fmident.evaluation", "fmident.fmu",
        "fmident.plugins", "fmident.plugins.hookspecs", "fmident.problem", "fmident.units",
        "fmident.words",
    }  # fmt: skip
    wrong = [
        f"{name_of(path)} imports {name}"
        for path in modules(APP)
        for _, name in targets(path)
        if name not in public and name.rpartition(".")[0] not in public
    ]
    assert wrong == []


def test_the_host_never_imports_a_plugin() -> None:
    wrong = [
        f"{name_of(path)} imports {name}"
        for path in modules(HOST)
        for name in imports(path)
        if name.startswith((*PLUGINS, "distributed"))
    ]
    assert wrong == []


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that reach each other."""
    reached = {}
    for start in graph:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = graph[todo.pop()] - seen
            seen |= new
            todo += new
        reached[start] = seen
    mutual = {m: frozenset(n for n in reached[m] if m in reached[n]) for m in graph}
    return {found for found in mutual.values() if found}


def module_graph(*, typing: bool) -> dict[str, set[str]]:
    """Return which modules each one imports, wherever in it, or needs for its types as well."""
    paths = {
        ".".join(p.relative_to(HOST.parent).with_suffix("").parts).removesuffix(".__init__"): p
        for p in modules(HOST)
    }

    def found(node: ast.AST, with_types: bool) -> Iterator[str]:
        if is_for_types(node):
            if with_types:
                yield from (name for child in node.body for name in found(child, with_types))
            return
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in paths else str(node.module)
        for child in ast.iter_child_nodes(node):
            yield from found(child, with_types)

    return {
        # The names that a package offers are no need of its own.
        name: {*found(tree_of(p), typing and p.stem != "__init__")} & {*paths} - {name}
        for name, p in paths.items()
    }


def test_no_modules_import_each_other() -> None:
    """Not within functions either."""
    assert circles(module_graph(typing=False)) == set()


def test_no_types_need_each_other() -> None:
    assert circles(module_graph(typing=True)) == set()


def test_a_circle_is_found_wherever_its_imports_are() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}


def test_a_name_that_says_little_is_not_given_often() -> None:
    """Who looks for ``run.py`` should not have to open five of them."""
    for name in ("run.py", "model.py", "plan.py", "driver.py"):
        found = [name_of(p) for p in modules(HOST) if p.name == name]
        assert len(found) <= 2, found


def lines_of_code(path: Path) -> int:
    """Return the number of lines that hold code, without comments and strings that stand alone."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in nodes_of(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def test_no_room_grows_without_a_reason() -> None:
    """A change that lowers the lines of a room, or has a reason to raise them, writes them down."""
    rooms = {path.name: path for path in HOST.iterdir() if path.is_dir() and modules(path)}
    rooms |= {path.name: path for path in (ESTIMATORS, COSTS, DASK, READERS, APP)}
    counts = {name: sum(map(lines_of_code, modules(path))) for name, path in rooms.items()}
    counts["fmident"] = sum(map(lines_of_code, HOST.glob("*.py")))
    recorded = json.loads(ROOMS.read_text(encoding="utf-8"))
    assert counts.keys() == recorded.keys()
    grown = {name: count for name, count in counts.items() if count > recorded[name]}
    assert grown == {}
    shrunk = {name: n for name, n in counts.items() if n < recorded[name] - SLACK}
    assert shrunk == {}


@pytest.mark.parametrize(
    "package",
    [
        "fmident",
        "fmident.data",
        "fmident.estimation",
        "fmident.evaluation",
        "fmident.problem",
        "fmident_costs",
    ],
)
def test_a_lazy_face_has_all_its_names(package: str) -> None:
    module = importlib.import_module(package)
    assert all(hasattr(module, name) for name in module.__all__)
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'absent'"):
        _ = module.absent


def test_no_public_name_is_defined_in_a_private_module() -> None:
    """Who meets one in a message or a pickle can find it in the documentation."""
    module, private = importlib.import_module("fmident"), {}
    for name in {*module.__all__} - {"__version__"}:  # a text
        home = getattr(module, name).__module__
        if any(part.startswith("_") for part in home.split(".")):
            private[name] = home
    assert private == {}


def test_functions_of_the_front_door_do_not_share_names_with_packages() -> None:
    """An import of the package would put it into the place of the function."""
    module = importlib.import_module("fmident")
    packages = {p.stem for p in HOST.iterdir()}
    assert {n for n in module.__all__ if n in packages} == set()


def test_no_package_is_put_into_the_place_of_another() -> None:
    """Faces are lazy instead: see `fmident._lazy`."""
    wrong = [
        name_of(path)
        for folder in (HOST, ESTIMATORS, COSTS, EXAMPLE)
        for path in modules(folder)
        if re.search(r"sys\.modules\[[^]]*\] *=[^=]", path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


def test_what_a_worker_serves_with_is_imported_quickly() -> None:
    """Many workers start at once, and each FMU is first tried in a child process."""
    code = (
        "import sys, fmident.evaluation.executors.processes.server, "
        "fmident.fmu.processes.guard\n"
        "dear = ('pandas', 'scipy', 'numba', 'pluggy', 'jinja2', 'matplotlib')\n"
        "print([name for name in dear if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_dear_to_import_waits_until_it_is_needed() -> None:
    """Each command starts a Python; SciPy and pandas may be imported where they are used."""
    dear = ["matplotlib", "numba", "jinja2"]
    code = (
        "import sys, fmident.evaluation.executors.registry, fmident.estimation.run, "
        "fmident.plugins\nfmident.plugins.load_plugins()\n"
        f"print([name for name in {dear} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_results_show_themselves_with_exists() -> None:
    assert views.homes
    for name, home in views.homes.items():
        assert callable(getattr(importlib.import_module(home), name)) or name.isupper()
