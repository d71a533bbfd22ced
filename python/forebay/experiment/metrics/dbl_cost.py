"""`dbl_cost`: the memory that a flow costs (DBL sections 3 and 5.1)."""

from __future__ import annotations

import math
from typing import Literal

from forebay.experiment.coordinates import Coordinates

from .formula import Formula
from .metric import MetricRuns


class DblCost(Formula):
    """DBL sections 3 and 5.1: the memory that a flow costs, step by step."""

    kind: Literal["dbl_cost"]
    quantity: Literal[
        "dbl_bits_per_flow",
        "dbl_flows",
        "pointer_bits",
        "list_bits",
        "length_bits",
        "per_flow_total_bits",
        "per_flow_bits_per_flow",
        "per_flow_over_dbl",
        "exact_match_over_dbl",
        "exact_match_flows",
    ]
    rounding: Literal["exact", "paper"] = "exact"
    """`paper` rounds as the paper's own arithmetic does.

    18 Mbit and 4.5 Mbit count a K as 1024, 6.6 Mbit counts it as 1000 and is cut after one decimal, and 29.1 Mbit is
    divided by 128 000 flows: this is how the paper's 227 bits come about. The exact value is 232 bits.
    """
    table_entries: int = 512 * 1024
    entry_bits: int = 18
    utilization: float = 0.25
    queue_entries: int = 256 * 1024
    address_bits: int = 18
    length_field_bits: int = 13
    exact_match_entry_bits: int = 121
    dbl_state_bits: int = 17

    def compute(self, _at: Coordinates, _runs: MetricRuns) -> float:
        """Return the quantity: bits, flows or a ratio."""
        flows = self.table_entries * self.utilization
        dbl_bits = self.entry_bits / self.utilization
        pointer_bits = float(self.table_entries * 2 * self.address_bits)
        list_bits = float(self.queue_entries * self.address_bits)
        length_bits = float(self.table_entries * self.length_field_bits)
        if self.rounding == "paper":
            flows = flows / 1024 * 1000
            pointer_bits = pointer_bits / 2**20 * 1e6
            list_bits = list_bits / 2**20 * 1e6
            length_bits = math.floor(length_bits / 1024 * 1000 / 1e5) * 1e5
        total_bits = pointer_bits + list_bits + length_bits
        exact_match = self.exact_match_entry_bits / self.dbl_state_bits
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
        return steps[self.quantity]
