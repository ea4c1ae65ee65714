"""What became of the equations of a model, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fmident.compilers.embedded.frontend.equations.blocks import SolvedBlock
from fmident.compilers.embedded.frontend.equations.causalize import Solution
from fmident.compilers.embedded.frontend.equations.discrete import DiscreteSolution
from fmident.compilers.embedded.frontend.equations.tearing import TornLoop
from fmident.compilers.embedded.frontend.initial import InitialStates
from fmident.compilers.embedded.frontend.lowering.events import Events
from fmident.compilers.embedded.model import OdeModel


def listing(
    model: OdeModel,
    solution: Solution,
    start: InitialStates,
    events: Events,
    at_events: DiscreteSolution,
) -> tuple[str, ...]:
    """Return the lines of ``fmident build --print equations``.

    Parameters
    ----------
    model
        The model, for its names.
    solution
        States, aliases, formulas and loops.
    start
        How the states begin.
    events, at_events
        What is held between events, and what happens at one.
    """
    sections = {
        "inputs": [v.name for v in model.inputs],
        "states": list(solution.states),
        "equations, in the order in which they are solved": _blocks(solution.blocks),
        "equal to another variable": [
            f"{name} = {'-' if alias.sign < 0 else ''}{alias.representative}"
            for name, alias in solution.aliases.items()
        ],
        "under der(), but no states": [f"{d.name}, from: {d.text}" for d in solution.demotions],
        "constraints of the states, kept after each step": [c.text for c in solution.constraints],
        "iterated at the start": _iterated(start.loops),
        "relations that switch at events": [h.text for h in events.held],
        "variables that change at events": list(events.discretes),
        "reinitialised at events": list(at_events.reinits),
    }
    lines = [model.name]
    for title, content in sections.items():
        if content:
            lines += ["", title, *(f"  {line}" for line in content)]
    return tuple(lines)


def _blocks(blocks: Sequence[SolvedBlock]) -> list[str]:
    return [line for block in blocks for line in _block(block)]


def _block(block: SolvedBlock) -> Iterator[str]:
    names = ", ".join(block.names)
    if len(block.names) == 1 and not block.iterated:
        yield f"{names}, from: {block.equations[0]}"
        return
    count = len(block.names)
    what = f"{count} linear equations, by formulas"
    if block.iterated:
        of = "" if len(block.iterated) == count else f" of {count} unknowns"
        what = f"by iteration of {', '.join(block.iterated)}{of}"
    yield f"{names}: {what}"
    yield from (f"  {text}" for text in _once(block.equations))


def _iterated(loops: Iterable[TornLoop]) -> list[str]:
    lines = []
    for loop in loops:
        lines.append(", ".join(loop.names))
        lines += [f"  {text}" for text in _once(q.text for q in loop.equations)]
    return lines


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
