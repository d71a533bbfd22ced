"""Random trials of the hash functions, and how far what they find lies from a formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    FiveTuples = tuple[
        NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint16], NDArray[np.uint8]
    ]

Shown = Literal["share", "standard_errors"]
"""The share of trials itself, or its distance from the formula in standard errors of the formula."""

_HASHES_AT_A_TIME = 2_000_000


def share_of_trials(
    hit: Callable[[FiveTuples, int], NDArray[np.bool]], others: int, trials: int, seed: int, *, hashes_a_flow: int = 1
) -> float:
    """Return the share of trials that end in a hit.

    Every trial draws all its flows again, with random addresses and ports: the first, a TCP flow, and the others, which
        are UDP flows. `hit` takes the five-tuples of many trials and a salt for the hash, and says which trials are
        hits.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    salt = int(rng.integers(0, 2**63))
    chunk = max(1, _HASHES_AT_A_TIME // ((others + 1) * hashes_a_flow))
    hits = 0
    for done in range(0, trials, chunk):
        flows = _one_tcp_among_udp(min(chunk, trials - done), others, rng)
        hits += int(np.count_nonzero(hit(flows, salt)))
    return hits / trials


def _one_tcp_among_udp(trials: int, others: int, rng: np.random.Generator) -> FiveTuples:
    """Random five-tuples, trial after trial: the first of each is of a TCP flow, the others are of UDP flows."""
    protocol = np.full((trials, others + 1), 17, dtype=np.uint8)
    protocol[:, 0] = 6
    return (
        rng.integers(0, 2**32, protocol.size, dtype=np.uint32),
        rng.integers(0, 2**32, protocol.size, dtype=np.uint32),
        rng.integers(0, 2**16, protocol.size, dtype=np.uint16),
        rng.integers(0, 2**16, protocol.size, dtype=np.uint16),
        protocol.ravel(),
    )


def standard_error(probability: float, trials: int) -> float:
    """Return the standard error of a share of `trials` independent trials."""
    return math.sqrt(probability * (1.0 - probability) / trials)


def shown(show: Shown, share: float, expected: float, trials: int) -> float:
    """Return the share, or its excess over the expectation of a formula in standard errors."""
    return share if show == "share" else (share - expected) / standard_error(expected, trials)
