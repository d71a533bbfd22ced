"""The result of the measured sizes: the answer, its certainty, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .targets import DROP_RATE, Interval, Metric, Target, Verdict, value_text

if TYPE_CHECKING:
    from .measure import Point
    from .place import Place
    from .rules import Rules
    from .search import Sizes

# A difference of less than this part of the value does not matter, however sure it is.
_NOTICEABLE = 0.01


@dataclass
class Answer:
    """See the fields of `BufferSize`."""

    smallest: int | None = None
    largest: int | None = None
    buffer: int | None = None
    range: tuple[int, int] | None = None
    confident: bool = False
    monotone: bool = True
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Evidence:
    """The basis of an answer."""

    points: Sequence[Point]
    """The smallest size first; at least one."""
    targets: tuple[Target, ...]
    sizes: Sizes
    place: Place
    rules: Rules | None
    enough: int | None = None
    """The smallest size that the search found to surely reach the targets of utilisation and drop rate."""
    short: int | None = None
    """The largest that it found to surely keep the targets of delay."""

    def targets_of(self, *, more_buffer_helps: bool) -> list[Target]:
        """Those that a larger buffer helps, or the others."""
        return [target for target in self.targets if target.metric.more_buffer_helps is more_buffer_helps]

    def text(self, size: int) -> str:
        """Return a size with its unit."""
        return size_text(size, self.place.unit)


def size_text(size: float, unit: str) -> str:
    """Return a size with its unit: "1 packet", "24 packets", "24,000 bytes"."""
    return f"{size:,.0f} {unit[:-1] if round(size) == 1 else unit}"


def answer_of(evidence: Evidence) -> Answer:
    """Return the answer to the targets together."""
    answer = Answer()
    _check_monotone(evidence, answer)
    wants_floor = bool(evidence.targets_of(more_buffer_helps=True))
    wants_ceiling = bool(evidence.targets_of(more_buffer_helps=False))
    if wants_ceiling:
        _find_largest(evidence, answer)
        answer.buffer = answer.largest
    if wants_floor:
        ceiling_notes, answer.notes = answer.notes, []
        _find_smallest(evidence, answer)
        answer.buffer = answer.smallest
        answer.notes += ceiling_notes
        if wants_ceiling and answer.smallest is not None:
            _reconcile(evidence, answer)
    return answer


def _find_smallest(evidence: Evidence, answer: Answer) -> None:
    """Find the smallest size that reaches the targets of utilisation and drop rate, and above which none fails."""
    sides = {point.buffer: point.side(more_buffer_helps=True) for point in evidence.points}
    worst = max((size for size, side in sides.items() if side < 0), default=None)
    # Smaller ones may have been taken for reached after a few seeds that happened to agree.
    enough = [] if evidence.enough is None else [size for size in sides if size >= evidence.enough]
    reached = [size for size in enough if sides[size] > 0 and (worst is None or size > worst)]
    if not reached:
        answer.range, answer.confident = None, False
        answer.notes += _why_not(evidence)
        return
    answer.smallest = smallest = min(reached)
    first = evidence.sizes.least if worst is None else worst + 1
    answer.range = (first, smallest)
    answer.confident = smallest - first < evidence.sizes.gap(smallest)
    if not answer.confident:
        answer.notes.append(_undecided(evidence, first, smallest - 1))
    elif smallest == evidence.sizes.least > evidence.sizes.step:
        answer.notes.append("The smallest size tried is large enough: a smaller --min may find a smaller one.")


def _find_largest(evidence: Evidence, answer: Answer) -> None:
    """Find the largest size that keeps the targets of delay, and below which none breaks them."""
    sides = {point.buffer: point.side(more_buffer_helps=False) for point in evidence.points}
    broken = min((size for size, side in sides.items() if side > 0), default=None)
    short = [] if evidence.short is None else [size for size in sides if size <= evidence.short]
    kept = [size for size in short if sides[size] < 0 and (broken is None or size < broken)]
    goals = _goals(evidence, more_buffer_helps=False)
    if not kept:
        least = evidence.points[0]
        answer.notes.append(f"No size keeps the {goals}: {_found(evidence, least, more_buffer_helps=False)}.")
        if broken is None or least.side(more_buffer_helps=False) == 0:
            answer.notes.append(_undecided(evidence, least.buffer, (broken or max(sides) + 1) - 1))
        else:
            answer.notes.append("The delay that is left is propagation and transmission, here and at other links.")
        return
    answer.largest = largest = max(kept)
    last = max(sides) if broken is None else broken - 1
    answer.range = (largest, last)
    if broken is None and largest == last:
        answer.confident = True
        answer.notes.append(f"Every size up to {evidence.text(last)} keeps the {goals}.")
        return
    answer.confident = broken is not None and broken - largest <= evidence.sizes.gap(broken)
    if not answer.confident:
        answer.notes.append(_undecided(evidence, largest + 1, last))


def _reconcile(evidence: Evidence, answer: Answer) -> None:
    """Whether the size that is large enough is small enough too."""
    smallest = answer.smallest
    point = next(point for point in evidence.points if point.buffer == smallest)
    goals, found = _goals(evidence, more_buffer_helps=False), _found(evidence, point, more_buffer_helps=False)
    side = point.side(more_buffer_helps=False)
    if side < 0:
        if answer.largest is not None:
            answer.notes.append(f"The {goals} is kept up to {evidence.text(answer.largest)}.")
        return
    answer.buffer = None
    answer.range = None
    if side > 0:
        conflict = "the targets exclude each other"
        answer.notes.insert(0, f"At {evidence.text(point.buffer)}, {found}, more than the {goals}: {conflict}.")
    else:
        answer.confident = False
        answer.notes.insert(0, f"At {evidence.text(point.buffer)}, {found}: too near to the {goals} for a verdict.")


def _goals(evidence: Evidence, *, more_buffer_helps: bool) -> str:
    return " and the ".join(target.text for target in evidence.targets_of(more_buffer_helps=more_buffer_helps))


def _found(evidence: Evidence, point: Point, *, more_buffer_helps: bool) -> str:
    """Return the metrics of a size in words: "the delay p99 is 23.1 ms"."""
    parts = []
    for target in evidence.targets_of(more_buffer_helps=more_buffer_helps):
        mean = point.intervals[target.metric.name].mean
        parts.append(f"the {target.metric.title} is {value_text(target.metric.name, mean)}")
    return " and ".join(parts)


def _undecided(evidence: Evidence, first: int, last: int) -> str:
    seeds = max(len(point.runs) for point in evidence.points)
    sizes = f"At {evidence.text(first)}" if first == last else f"From {first:,} to {evidence.text(last)}"
    return f"{sizes}, {seeds} seeds do not decide: longer runs or a larger --max-seeds would."


def _why_not(evidence: Evidence) -> list[str]:
    """Return why no size reaches the targets of utilisation and drop rate, if the runs show it."""
    last = evidence.points[-1]
    notes = []
    for target in evidence.targets_of(more_buffer_helps=True):
        if any(point.verdicts[target] is Verdict.REACHED for point in evidence.points):
            continue
        best = _best(evidence.points, target.metric)
        mean = value_text(target.metric.name, best.intervals[target.metric.name].mean)
        notes.append(
            f"No size up to {evidence.text(last.buffer)} reaches the {target.text}; "
            f"the best was {mean} at {evidence.text(best.buffer)}."
        )
        notes.append(_what_holds_it_back(evidence, target, last))
    if not notes:
        largest = max(point.buffer for point in evidence.points if point.side(more_buffer_helps=True) < 0)
        some = (
            "Each target is reached by some size"
            if len(evidence.targets_of(more_buffer_helps=True)) > 1
            else "Some sizes do"
        )
        notes.append(f"{some}, but no size measured above {evidence.text(largest)}, which does not.")
    undecided = [point.buffer for point in evidence.points if point.side(more_buffer_helps=True) == 0]
    if undecided:
        notes.append(_undecided(evidence, min(undecided), max(undecided)))
    return notes


def _best(points: Sequence[Point], metric: Metric) -> Point:
    sign = 1.0 if metric.at_least else -1.0
    return max(points, key=lambda point: sign * point.intervals[metric.name].mean)


def _what_holds_it_back(evidence: Evidence, target: Target, last: Point) -> str:
    at_last = evidence.text(last.buffer)
    if last.drops:
        return (
            f"A buffer of {at_last} still overflows: a larger --max may find a size, if the senders respond to drops."
        )
    if target.metric is DROP_RATE:
        packets = sum(run.packets_arrived for run in last.runs)
        return (
            f"With {at_last} nothing is dropped, but {packets:,} packets only show a rate below "
            f"{value_text(DROP_RATE.name, 3 / packets if packets else 1.0)}: longer runs show more."
        )
    rules = evidence.rules
    held = "The traffic needs no more, or something else limits it."
    if rules is not None and rules.window_load < target.value:
        held = (
            f"The windows of the {rules.flows:,.4g} flows, {rules.window_packets:,.4g} segments each, let them send "
            f"{100 * rules.window_load:.3g} % of the link's rate at most."
        )
    return f"With {at_last} nothing is dropped: a larger buffer changes nothing. {held}"


def _check_monotone(evidence: Evidence, answer: Answer) -> None:
    """Look for sizes that surely do worse than smaller ones where they should do better, or the other way."""
    for target in evidence.targets:
        name = target.metric.name
        reversal = _reversal(evidence.points, name, rises=target.metric is not DROP_RATE)
        if reversal is None:
            continue
        small, large = reversal
        answer.monotone = False
        answer.notes.append(
            f"The {target.metric.title} does not move in one direction with the buffer: it is "
            f"{value_text(name, small.intervals[name].mean)} at {evidence.text(small.buffer)} and "
            f"{value_text(name, large.intervals[name].mean)} at {evidence.text(large.buffer)}. "
            "Sizes between those measured may behave otherwise than the search assumes."
        )


def _reversal(points: Sequence[Point], metric: str, *, rises: bool) -> tuple[Point, Point] | None:
    """Return the two sizes, the smaller first, whose intervals lie furthest apart in the unexpected order."""

    def fall(one: Interval, other: Interval) -> float:
        """Return the certain distance of `other` below `one`, as a part; 0 if that is uncertain or not noticeable."""
        sure = other.high < one.low and one.mean - other.mean > _NOTICEABLE * abs(one.mean)
        return (one.mean - other.mean) / abs(one.mean) if sure and one.mean else 0.0

    worst, found = 0.0, None
    for index, small in enumerate(points):
        for large in points[index + 1 :]:
            one, other = small.intervals[metric], large.intervals[metric]
            size = fall(one, other) if rises else fall(other, one)
            if size > worst:
                worst, found = size, (small, large)
    return found
