"""Front end of the embedded compiler: Modelica source to :class:`OdeModel`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fmident.compilers.embedded.model import ExperimentDefaults, OdeModel
from fmident.errors import CompilationError, Diagnostic, Location

from .assemble import assemble
from .bridge import flatten
from .flat_reader import UnknownNodeError, read_flat
from .refusal import Refusal, Refusals
from .sources import SourceMap, SourceTree, annotation_numbers, choose_tree, read_tree

__all__ = ["load_model"]


def load_model(class_name: str, sources: Sequence[Path]) -> tuple[OdeModel, tuple[Diagnostic, ...]]:
    """Compile a Modelica class to explicit differential equations.

    Parameters
    ----------
    class_name
        Full Modelica name.
    sources
        Files, or folders with ``package.mo``. The first one that holds the class is
        compiled; the others can be used by it.

    Returns
    -------
    tuple
        The model, and warnings and notes.

    Raises
    ------
    fmident.errors.CompilationError
        When the class is missing or wrong, or needs what the subset does not contain; its
        diagnostics carry file, line, column, rule and what to do.
    """
    trees = [read_tree(Path(path)) for path in sources]
    tree = choose_tree(class_name, trees)
    flattened = flatten(class_name, tree, trees)
    try:
        flat = read_flat(flattened.flat, class_name)
        result = assemble(flat, _experiment(tree, class_name), _version(tree, class_name))
    except UnknownNodeError as error:
        raise _error(
            class_name, [Refusal("unsupported", error.what, error.span)], flattened.sources, tree
        ) from None
    except Refusal as refusal:
        raise _error(class_name, [refusal], flattened.sources, tree) from None
    except Refusals as refusals:
        raise _error(class_name, refusals.refusals, flattened.sources, tree) from None
    notes = tuple(
        Diagnostic(
            "warning" if rule == "start-not-fixed" else "note",
            text,
            flattened.sources.location(span) or tree.location(class_name),
            None,
            rule,
        )
        for rule, text, span in result.warnings
    )
    return result.model, notes


def _error(
    class_name: str, refusals: Sequence[Refusal], sources: SourceMap, tree: SourceTree
) -> CompilationError:
    place = tree.location(class_name) or Location(str(tree.entry))
    diagnostics = [
        Diagnostic("error", r.message, sources.location(r.span) or place, r.hint or None, r.rule)
        for r in refusals
    ]
    count = f" ({len(diagnostics)} errors)" if len(diagnostics) > 1 else ""
    return CompilationError(f"{class_name} cannot be compiled{count}", diagnostics=diagnostics)


def _experiment(tree: SourceTree, class_name: str) -> ExperimentDefaults:
    numbers = annotation_numbers(tree.classes[class_name], "experiment")
    return ExperimentDefaults(
        start_time=numbers.get("StartTime", 0.0),
        stop_time=numbers.get("StopTime"),
        tolerance=numbers.get("Tolerance"),
        interval=numbers.get("Interval"),
    )


def _version(tree: SourceTree, class_name: str) -> str:
    package = tree.classes.get(class_name.split(".")[0])
    if package is None:
        return ""
    from .scanner import annotation_arguments

    arguments = annotation_arguments(package.tokens, "version") or {}
    return arguments.get("version", "").strip('"')
