"""Real packets: a capture replayed through a queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from os import PathLike
from typing import Any

import polars as pl

from . import _core
from .document import Document, json_text
from .errors import CaptureError, InputError
from .frames import frame_of, single_row
from .scenario import override_texts


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """What became of a capture's packets at the port. Times count from the capture's first packet."""

    capture: str
    discipline: str
    rate_bps: int
    seed: int
    duration_s: float
    """When the last bit of the last packet had left."""
    packets: int
    """Packets replayed."""
    bytes: int
    packets_unselected: int
    """Packets left out because they go to other destinations."""
    packets_out_of_order: int
    """Packets stamped earlier than the one before them; they were brought into order."""
    flows: pl.DataFrame = field(repr=False)
    """One row a flow, in the order of first arrival: drops by reason, delays, `classified_at_s`, …"""
    queue: pl.DataFrame = field(repr=False)
    """One row: the queue, with the discipline's gauges at the end."""

    def to_dict(self) -> Document:
        """The whole result as plain values; what has no value is None."""
        names = ("capture", "discipline", "rate_bps", "seed", "duration_s", "packets", "bytes")
        document = {name: getattr(self, name) for name in (*names, "packets_unselected", "packets_out_of_order")}
        return document | {"flows": self.flows.to_dicts(), "queue": single_row(self.queue)}

    def to_json(self) -> str:
        """The whole result as one JSON document: what `forebay replay --json` prints."""
        return json_text(self.to_dict())


def replay(
    capture: str | PathLike[str],
    *,
    rate: str,
    queue: str,
    settings: Mapping[str, object] | None = None,
    destination: str | None = None,
    seed: int = 1,
) -> ReplayResult:
    """Runs the packets of a pcap or pcapng file, gzip too, through a queue in front of a port.

    `rate` is the port's, `queue` the name of a discipline, `settings` its parameters: `{"dbl_max_cells": 512}`. With
    `destination` only packets to that address are replayed: captures hold both directions, a port sends one.

    Raises ScenarioError for rate, queue and settings, and InputError for a capture that cannot be replayed.
    """
    try:
        address = None if destination is None else ip_address(destination)
    except ValueError:
        message = f"{destination} is no address\nhint: give an IPv4 or IPv6 address that stands in the capture"
        raise InputError(message) from None
    try:
        raw = _core.replay(capture, rate, queue, override_texts(settings or {}), destination=address, seed=seed)
    except OSError as error:
        message = f"cannot read {capture}: {error.strerror}\nhint: give a pcap or pcapng file that you may read"
        raise InputError(message) from None
    except CaptureError as error:
        message = f"{capture}: {error}"
        raise InputError(message) from None
    facts: dict[str, Any] = {name: value for name, value in raw.items() if name not in ("flows", "queue")}
    return ReplayResult(capture=str(capture), flows=frame_of(raw["flows"]), queue=frame_of(raw["queue"]), **facts)
