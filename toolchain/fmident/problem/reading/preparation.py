"""Read ``[experiments.prepare]`` of a problem file."""

from __future__ import annotations

from fmident.arrays import F64
from fmident.data import Table
from fmident.data.hampel import Hampel
from fmident.data.prepare import Automatic, Edges, LowPass, Preparation, prepare
from fmident.errors import DataError, Diagnostic
from fmident.toml_file import Section


def prepared(experiment: Section, table: Table, times: F64) -> tuple[Table, tuple[Diagnostic, ...]]:
    """Return an experiment's table after its data step, and warnings.

    Parameters
    ----------
    experiment
        The experiment's table of the problem file.
    table
        Its data as read.
    times
        Its time axis, s, shape (n,).

    Raises
    ------
    fmident.errors.ProblemError
        Keys that are wrong, or a step that these data do not allow; with the line.
    """
    if not experiment.has("prepare"):
        return table, ()
    section = experiment.table("prepare")
    try:
        return prepare(table, times, read_preparation(section))
    except DataError as error:
        raise section.at_key(error) from error


def read_preparation(section: Section) -> Preparation:
    """Read the table.

    Parameters
    ----------
    section
        ``[experiments.prepare]``: ``columns`` with either ``cutoff`` (a number or ``"auto"``,
        and ``order``) or
        ``passband`` and ``stopband`` (and ``ripple``, ``attenuation``); ``padding``;
        ``derivatives``; ``hampel`` (columns, or a table with ``columns``, ``window`` or
        ``samples``, ``threshold``, ``replace``); ``exclude``.

    Raises
    ------
    fmident.errors.ProblemError
        Keys that are unknown, missing or exclude each other.
    fmident.errors.DataError
        Values out of their range.
    """
    columns = section.words("columns") or ()
    derivatives = section.table("derivatives", {})
    pairs = {new: derivatives.text(new) for new, _ in derivatives.items()}
    padding = _whole(section, "padding", None)
    by_edges = section.has("passband") or section.has("stopband")
    by_cutoff = section.has("cutoff")
    if by_edges and by_cutoff:
        raise section.error(
            f"{section.title} has both 'cutoff' and the edges of pass and stop band",
            "cutoff",
            hint="give one of them",
        )
    design: LowPass | Edges | Automatic | None = None
    if by_edges:
        design = Edges(
            section.number("passband"),
            section.number("stopband"),
            section.number("ripple", Edges.ripple),
            section.number("attenuation", Edges.attenuation),
        )
    elif by_cutoff:
        order = _whole(section, "order", LowPass.order)
        automatic = section.raw("cutoff") == "auto"
        design = (
            Automatic(order or LowPass.order, padding)
            if automatic
            else LowPass(section.number("cutoff"), order or LowPass.order, padding)
        )
    if bool(columns) != (design is not None):
        raise section.error(
            f"{section.title} has a filter but no 'columns' to apply it to"
            if design is not None
            else f"{section.title} has 'columns' to filter but no filter",
            hint="give 'columns' and 'cutoff' (Hz), or 'columns', 'passband' and 'stopband'",
        )
    hampel = _hampel(section)
    excludes = section.has("exclude")  # which samples is found out when all signals are known
    if not columns and not pairs and hampel is None and not excludes:
        raise section.error(
            f"{section.title} does nothing",
            hint="give 'columns' and 'cutoff', 'derivatives', 'hampel' or 'exclude'",
        )
    section.finish()
    return Preparation(columns, design, pairs, padding, hampel)


def _hampel(section: Section) -> Hampel | None:
    """Read ``hampel``: names of columns, or a table with them."""
    if not section.has("hampel"):
        return None
    given = section.raw("hampel")
    if not isinstance(given, dict):
        names = section.words("hampel")
        return Hampel(names or ())
    inner = section.table("hampel")
    inner.raw("columns")
    if inner.has("window") and inner.has("samples"):
        raise inner.error(
            f"{inner.title} has both 'window' (s) and 'samples'", "samples", hint="give one of them"
        )
    samples = _whole(inner, "samples", Hampel.samples)
    replace = inner.flag("replace", Hampel.replace)
    found = Hampel(
        inner.words("columns") or (),
        inner.number("window", None),
        Hampel.samples if samples is None else samples,
        inner.number("threshold", Hampel.threshold),
        replace,
    )
    inner.finish()
    return found


def _whole(section: Section, key: str, default: int | None) -> int | None:
    if not section.has(key):
        return default
    value = section.raw(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise section.wrong(key, value, "a whole number")
    return int(value)
