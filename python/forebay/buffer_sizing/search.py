"""Finding where a verdict changes along the sizes of a buffer: doubling until it has changed, then bisection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

Side = Callable[[int], int]
"""For a size: -1 if it is surely below the boundary, 1 if surely above, 0 if uncertain."""


@dataclass(frozen=True)
class Boundary:
    """Between which sizes the verdict changes, if it changes once."""

    below: int | None
    """The largest size that is surely below; None if not even the least does."""
    above: int | None
    """The smallest size that is surely above; None if no size up to the most does."""


@dataclass(frozen=True)
class Sizes:
    """Which sizes are looked at."""

    least: int
    most: int
    precision: float = 0.0
    """Two sizes that differ by no more than this part of the larger count as equal."""
    step: int = 1
    """Nor are two that differ by no more than this."""

    def gap(self, size: int) -> int:
        """Return the difference from this size at which the search ends."""
        return max(self.step, int(size * self.precision))


def find_boundary(
    side: Side,
    sizes: Sizes,
    *,
    exhausted: Callable[[int], bool] = lambda _: False,
    expect: Callable[[int], object] = lambda _: None,
) -> Boundary:
    """Ask for the side of as few sizes as it can.

    `side` is taken to change only once. `exhausted(size)` means that no larger size would differ from this one.
    `expect` is called before each question with the number that may still follow, that one included.
    """
    known: dict[int, int] = {}

    def ask(size: int, left: int) -> int:
        expect(max(1, left))
        known[size] = side(size)
        return known[size]

    size = sizes.least
    while ask(size, _doublings(size, sizes.most) + _halvings(size, sizes)) <= 0:
        if size >= sizes.most or exhausted(size):
            break
        size = min(2 * size, sizes.most)

    def narrow(low: int, high: int, *, high_at: int) -> tuple[int, int]:
        """Halve until the two are neighbours; sizes of at least the side `high_at` are on the side of `high`."""
        while high - low > sizes.gap(high):
            middle = (low + high) // 2
            if ask(middle, _halvings(high - low, sizes)) >= high_at:
                high = middle
            else:
                low = middle
        return low, high

    above = size if known[size] > 0 else None
    if above is not None and above > sizes.least:
        _, above = narrow(max(it for it in known if it < above), above, high_at=1)
    surely_below = [it for it, found in known.items() if found < 0 and (above is None or it < above)]
    if not surely_below:
        return Boundary(None, above)
    below = max(surely_below)
    beyond = [it for it in known if it > below]
    if beyond:
        below, _ = narrow(below, min(beyond), high_at=0)
    return Boundary(below, above)


def _doublings(size: int, most: int) -> int:
    return 1 + int(log2(max(1.0, most / size)))


def _halvings(width: int, sizes: Sizes) -> int:
    return 1 + int(log2(max(1.0, width / sizes.gap(width))))
