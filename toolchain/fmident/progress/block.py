"""Format the progress of a run for any width; items that do not fit are omitted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.evaluation.activity import BATCH
from fmident.words import counted, duration, plain

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.progress.state import RunState

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "_.-=+*%#"
"""Characters where the encoding has no blocks."""

_BAR, _SHORTEST_BAR = 24, 10
_SPARK = 20
_MOST = 128
"""Iterations of which a sparkline is made."""

_VALUE = 12
_GAP = "  "


@dataclass(frozen=True)
class Letters:
    """Characters for drawing: of a bar (`full`, `empty`) and of a sparkline (`blocks`)."""

    full: str = "━"
    empty: str = "─"
    blocks: str = BLOCKS

    @property
    def all(self) -> str:
        """All of the characters."""
        return self.full + self.empty + self.blocks


PLAIN = Letters("#", "-", PLAIN_BLOCKS)
"""Characters where the encoding has no others."""


def block(state: RunState, width: int, height: int, letters: Letters) -> list[str]:
    """Return the lines that show a run, at most `width` columns and `height` lines.

    Parameters that do not fit are counted; `letters` are supported by the terminal.
    """
    lines = [
        _fitted(_head(state), width),
        *_whole(state, width, letters),
        *_searches(state, width, letters),
        *_inside(state, width, letters),
        *_generation(state, width),
    ]
    room = max(height - len(lines), 0)
    return [line for line in (*lines[:height], *_courses(state, width, room, letters)) if line]


def closing_line(state: RunState) -> str:
    """Return the line left after a search when the block is removed, or ""."""
    last = state.last
    if state.profiles is not None:
        return ", ".join(profile_text(state))
    first = state.first
    if first is None or last is None:
        return ""
    cost = plain(last.cost)
    if first.cost != last.cost:
        cost = f"{plain(first.cost)} -> {cost}"
    items = [
        counted(last.number - first.number, "iteration"),
        counted(state.of_this_search, "simulation"),
        duration(state.seconds_of_search),
    ]
    stage = f"stage '{last.stage}': " if last.stage else ""
    return f"{stage}{', '.join(items)}; cost {cost}"


def details_of(state: Iteration) -> str:
    """Return the details of an iteration: its start, what was restored."""
    details, text = state.details, ""
    if "starts" in details:
        text = (
            f"   start {details['start']:.0f} of {details['starts']:.0f}, "
            f"its cost {details['local_cost']:.6g}"
        )
    if restored := details.get("restored"):
        text += f"   {counted(round(restored), 'simulation')} restored"
    return text


def profile_text(state: RunState) -> list[str]:
    """Return the progress of the profiles, as items."""
    progress = state.profiles
    if progress is None:
        return []
    return [
        f"profiles: {progress.ended} of {progress.walks} ends found",
        counted(progress.points, "point"),
        counted(progress.simulations, "simulation"),
        duration(progress.seconds),
    ]


def _head(state: RunState) -> list[str]:
    if state.profiles is not None:
        return profile_text(state)
    if state.work is not None:
        return [state.work[0], duration(state.seconds)]
    items, last, plan = [], state.last, state.plan
    if plan is not None:
        if plan.stage:
            items.append(f"stage '{plan.stage}' ({plan.number} of {plan.stages})")
        items.append(plan.estimator)
    if last is not None:
        items.append(f"iteration {last.number}")
    items.append(counted(state.simulations, "simulation"))
    rate = state.rate()
    if rate is not None:
        items.append(f"{rate:.3g}/s")
    items.append(duration(state.seconds))
    return items


def _whole(state: RunState, width: int, letters: Letters) -> list[str]:
    profiles = state.profiles
    if profiles is not None:
        items = [f"{100 * profiles.ended // max(profiles.walks, 1)} %"]
        items += _left(profiles.seconds, profiles.ended, profiles.walks)
        return [_with_bar("", profiles.ended, profiles.walks, items, width, letters)]
    if state.work is not None:
        _, ended, count = state.work
        items = [f"{ended} of {count}", *_left(state.seconds, ended, count)]
        return [_with_bar("", ended, count, items, width, letters)]
    plan, done = state.plan, state.of_this_search
    if plan is None or not plan.simulations or done > plan.simulations:
        return []
    items = [
        f"{100 * done // plan.simulations} %",
        f"{done} of about {counted(plan.simulations, 'simulation')}",
    ]
    rate = state.rate()
    if rate is not None:
        items.append(f"about {duration((plan.simulations - done) / rate)} left")
    return [_with_bar("", done, plan.simulations, items, width, letters)]


def _left(seconds: float, done: int, expected: int) -> list[str]:
    """Return the remaining time, assuming equal duration of all parts."""
    if not 0 < done < expected:
        return []
    return [f"about {duration(seconds * (expected - done) / done)} left"]


def _searches(state: RunState, width: int, letters: Letters) -> list[str]:
    """Return how many of several searches have ended, and how many of these agree."""
    starts = 0 if state.last is None else round(state.last.details.get("starts", 0))
    ended, items = len(state.ends), []
    if ended:
        items = [f"{state.agreeing} in the best minimum"]
    if starts < 2:
        return [_fitted([f"searches: {ended} ended", *items], width)] if ended else []
    items += _left(state.seconds_of_search, ended, starts)
    count = f"{ended} of {starts} ended"
    return [_with_bar("starts", ended, starts, [count, *items], width, letters)]


def _inside(state: RunState, width: int, letters: Letters) -> list[str]:
    """Return the progress within a generation, a Jacobian or another series of simulations."""
    if state.doing is None:
        return []
    text, done, expected = state.doing
    if text == BATCH and state.generation is not None:
        text = "generation"
    if expected < 2 or done > expected:
        return [_fitted([text, counted(done, "simulation")] if expected > 1 else [text], width)]
    count = f"{done} of {expected}" + ("" if text == BATCH else " simulations")
    return [_with_bar(text, done, expected, [count], width, letters)]


def _generation(state: RunState, width: int) -> list[str]:
    if state.generation is None:
        return []
    size, near = state.generation
    items = [f"{near} of {counted(size, 'vector')} near the best", "(1 % of the bounds)"]
    return [_fitted(items, width)]


def _courses(state: RunState, width: int, room: int, letters: Letters) -> list[str]:
    if state.last is None or state.profiles is not None or room < 1:
        return []
    # Of many iterations some are enough, and the last one.
    shown = [*state.iterations[: -1 : len(state.iterations) // _MOST + 1], state.last]
    names = () if state.plan is None else state.plan.parameters
    if len(names) != state.last.parameters.size:
        names = ()
    count = len(names) if 1 + len(names) <= room else max(room - 2, 0)
    widest = min(max(map(len, ("best cost", *names[:count]))), max(width - _VALUE - 2, 9))
    costs, values = [i.cost for i in shown], [i.parameters.tolist() for i in shown]
    first = None if state.first is None else state.first.cost
    rows = [("best cost", costs[-1], falling(costs), first)]
    initial = [] if state.plan is None else state.plan.initial.tolist()
    rows += [(names[k], values[-1][k], [v[k] for v in values], initial[k]) for k in range(count)]
    lines = [_row(*row, widest, width, letters) for row in rows]
    if count < len(names) and room > 1:
        lines.append(_fitted([f"and {len(names) - count} more parameters"], width))
    return lines


def _row(
    name: str,
    value: float,
    values: Sequence[float],
    first: float | None,
    widest: int,
    width: int,
    letters: Letters,
) -> str:
    course = spark(values, min(_SPARK, width - widest - _VALUE - 2 * len(_GAP)), letters.blocks)
    items = [f"{_short(name, widest):{widest}}", f"{plain(value):{_VALUE}}"]
    items.append(f"{course:{_SPARK}}" if width > widest + _VALUE + _SPARK + 4 else course)
    if first is not None:
        items.append(f"from {plain(first)}")
    return _fitted(items, width).rstrip()


def _with_bar(
    name: str, done: int, expected: int, items: Sequence[str], width: int, letters: Letters
) -> str:
    """Return a line with a bar between name and figures; without the bar if it is too narrow."""
    before = [name] if name else []
    room = width - len(_GAP.join([*before, "", *items]))
    count = min(max(room, _SHORTEST_BAR), _BAR, width // 3)
    full = 0 if expected < 1 else min(count * done // expected, count)
    bar = letters.full * full + letters.empty * (count - full)
    line = _fitted([*before, bar, *items], width)
    return line if items[0] in line else _fitted([*before, *items], width)


def _fitted(items: Sequence[str], width: int) -> str:
    """Return the leading items that fit; at least a part of the first."""
    line = items[0]
    if len(line) > width:
        words = line.split(" ")
        while len(words) > 1 and len(" ".join(words)) > width:
            words.pop()
        return " ".join(words)[: max(width, 0)]
    for item in items[1:]:
        if len(line) + len(_GAP) + len(item.rstrip()) > width:
            break
        line += _GAP + item
    return line[: max(width, 0)]


def _short(name: str, width: int) -> str:
    """Return a name, or its end, since components of the same part share a prefix."""
    return name if len(name) <= width else ".." + name[len(name) - width + 2 :]


def spark(values: Sequence[float], width: int, blocks: str = BLOCKS) -> str:
    """Return a sparkline of values, at most `width` characters.

    Non-finite values are omitted. If there are more values than characters, each character
    shows the last value of its part. `blocks` are ordered from low to high.
    """
    finite = [v for v in values if math.isfinite(v)]
    if len(finite) > width > 0:
        step = len(finite) / width
        finite = [finite[max(math.ceil((k + 1) * step) - 1, 0)] for k in range(width)]
    if not finite or width <= 0:
        return ""
    low, high = min(finite), max(finite)
    top = len(blocks) - 1
    if not high > low:
        return blocks[0] * len(finite)
    half = high / 2 - low / 2  # the difference itself may overflow
    return "".join(blocks[min(round((v / 2 - low / 2) / half * top), top)] for v in finite)


def falling(values: Sequence[float]) -> list[float]:
    """Return costs on a scale that shows their decrease: log scale if all are positive."""
    if all(v > 0.0 for v in values):
        return [math.log(v) if math.isfinite(v) else v for v in values]
    return list(values)
