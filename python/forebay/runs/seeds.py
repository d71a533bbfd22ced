"""Seeds: which there are, and how many one may ask for."""

from __future__ import annotations

from forebay.errors import InputError

LAST_SEED = 2**64 - 1
"""A seed has 64 bits."""

MOST_SEEDS = 10_000
"""The most runs of one and the same scenario in a call: more would take more memory than they tell."""


def check_seed(seed: int | None) -> None:
    """Raise InputError for a seed that there is not."""
    if seed is not None and not 0 <= seed <= LAST_SEED:
        message = f"seed: must be from 0 to {LAST_SEED}, and is {seed}\nhint: leave it out for the scenario's own"
        raise InputError(message)


def seeds_from(first: int, count: int) -> range:
    """Return the `count` seeds from `first` on. Raises InputError for more than there are, or than one may ask for."""
    if count > MOST_SEEDS:
        message = f"seeds: must be at most {MOST_SEEDS}, and is {count}\nhint: ten thousand are enough"
        raise InputError(message)
    if first + count - 1 > LAST_SEED:
        message = (
            f"seeds: {count} from {first} on go beyond {LAST_SEED}, the last\nhint: give the scenario a smaller seed"
        )
        raise InputError(message)
    return range(first, first + count)
