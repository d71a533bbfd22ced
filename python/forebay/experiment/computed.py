"""The papers' formulae, and the hashing experiments that they are checked with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from forebay import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .metrics import DblCost, DblIdentificationBound

    FiveTuples = tuple[
        NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint16], NDArray[np.uint8]
    ]


def identification_bound_s(metric: DblIdentificationBound, input_rate_bps: float, ratio: float) -> float:
    """DBL section 2.3: the longest time until a belligerent flow is identified, by the paper's formula."""
    credits_to_lose = metric.max_credits - metric.bf_credit_limit
    after_dbl_bytes = credits_to_lose * (1.0 / metric.mark_probability - 1.0) * metric.packet_bytes
    return ratio * 8.0 * (metric.dbl_max_bytes + after_dbl_bytes) / ((ratio - 1.0) * input_rate_bps)


def collision_probability(buckets: int, belligerents: int) -> float:
    """DBL section 5: 1 - (1 - 1/b)^n, without the cancellation that the formula as written suffers for large b."""
    return -math.expm1(belligerents * math.log1p(-1.0 / buckets))


def collision_share(buckets: int, belligerents: int, trials: int, seed: int) -> float:
    """The share of trials in which a flow falls into the entry of one of `belligerents` others.

    Every trial draws all its flows anew: random addresses and ports, TCP for the victim and UDP for the others, hashed
    to an entry by the function that the flow table itself uses.
    """
    dice = np.random.Generator(np.random.PCG64(seed))
    salt = int(dice.integers(0, 2**63))
    chunk = max(1, 2_000_000 // (belligerents + 1))
    hit = 0
    for done in range(0, trials, chunk):
        flows = _one_tcp_among_udp(min(chunk, trials - done), belligerents, dice)
        entries = _core.flow_table_entries(*flows, salt, buckets).reshape(-1, belligerents + 1)
        hit += int(np.count_nonzero((entries[:, 1:] == entries[:, :1]).any(axis=1)))
    return hit / trials


def _one_tcp_among_udp(trials: int, others: int, dice: np.random.Generator) -> FiveTuples:
    """Random five-tuples, trial after trial: the first of each is of a TCP flow, the others are of UDP flows."""
    protocol = np.full((trials, others + 1), 17, dtype=np.uint8)
    protocol[:, 0] = 6
    return (
        dice.integers(0, 2**32, protocol.size, dtype=np.uint32),
        dice.integers(0, 2**32, protocol.size, dtype=np.uint32),
        dice.integers(0, 2**16, protocol.size, dtype=np.uint16),
        dice.integers(0, 2**16, protocol.size, dtype=np.uint16),
        protocol.ravel(),
    )


def misclassification_probability(levels: int, bins: int, offenders: int) -> float:
    """SFB equation 1: the probability that each of a flow's bins, one a level, is also that of an offender."""
    return collision_probability(bins, offenders) ** levels if bins > 1 else float(offenders > 0)


def misclassified_share(levels: int, bins: int, offenders: int, trials: int, seed: int) -> float:
    """The share of trials in which each of a TCP flow's bins is also that of one of the offenders.

    Every trial draws all its flows anew and hashes them by the functions that SFB itself uses.
    """
    dice = np.random.Generator(np.random.PCG64(seed))
    salt = int(dice.integers(0, 2**63))
    chunk = max(1, 2_000_000 // ((offenders + 1) * levels))
    polluted = 0
    for done in range(0, trials, chunk):
        flows = _one_tcp_among_udp(min(chunk, trials - done), offenders, dice)
        bin_of = _core.sfb_bins(*flows, salt, levels, bins).reshape(-1, offenders + 1, levels)
        shared = (bin_of[:, 1:] == bin_of[:, :1]).any(axis=1)
        polluted += int(np.count_nonzero(shared.all(axis=1)))
    return polluted / trials


def level_counts(total_bins: int) -> list[int]:
    """The ways to cut this many bins into equal levels of at least two bins."""
    return [levels for levels in range(1, total_bins // 2 + 1) if total_bins % levels == 0]


def best_levels(total_bins: int, offenders: int) -> int:
    """SFB Figure 4: the number of levels that misclassifies least; of equals the smallest."""
    return min(
        level_counts(total_bins),
        key=lambda levels: misclassification_probability(levels, total_bins // levels, offenders),
    )


def single_level_from(total_bins: int) -> int:
    """SFB Figure 4: the least number of offenders at which no other number of levels beats one level."""
    return next(offenders for offenders in range(1, 2 * total_bins) if best_levels(total_bins, offenders) == 1)


def standard_error(probability: float, trials: int) -> float:
    """The standard error of a share of `trials` independent trials."""
    return math.sqrt(probability * (1.0 - probability) / trials)


def cost(metric: DblCost) -> float:
    """The cost model of DBL sections 3 and 5.1.

    With `rounding = "paper"`, 18 Mbit and 4.5 Mbit count a K as 1024, 6.6 Mbit counts it as 1000 and is cut after one
    decimal, and 29.1 Mbit is divided by 128 000 flows: this is how the paper's 227 bits come about. The exact value is
    232 bits.
    """
    paper = metric.rounding == "paper"
    flows = metric.table_entries * metric.utilization
    dbl_bits = metric.entry_bits / metric.utilization
    pointer_bits = float(metric.table_entries * 2 * metric.address_bits)
    list_bits = float(metric.queue_entries * metric.address_bits)
    length_bits = float(metric.table_entries * metric.length_field_bits)
    if paper:
        flows = flows / 1024 * 1000
        pointer_bits = pointer_bits / 2**20 * 1e6
        list_bits = list_bits / 2**20 * 1e6
        length_bits = math.floor(length_bits / 1024 * 1000 / 1e5) * 1e5
    total_bits = pointer_bits + list_bits + length_bits
    exact_match = metric.exact_match_entry_bits / metric.dbl_state_bits
    steps = {
        "dbl_bits_per_flow": dbl_bits,
        "dbl_flows": flows,
        "pointer_bits": pointer_bits,
        "list_bits": list_bits,
        "length_bits": length_bits,
        "per_flow_total_bits": total_bits,
        "per_flow_bits_per_flow": total_bits / flows,
        "per_flow_over_dbl": total_bits / flows / dbl_bits,
        "exact_match_over_dbl": exact_match,
        "exact_match_flows": flows / exact_match,
    }
    return steps[metric.quantity]
