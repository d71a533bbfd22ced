"""Traffic between client and server, and what became of it."""

import re
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.live.lab import SERVER_ADDRESS, Lab, answer

FRAMING_BYTES = 24
# Ethernet, IPv4, TCP with timestamps.
TCP_HEADERS_BYTES = 14 + 20 + 32
PING_BYTES = 14 + 20 + 8 + 56 + FRAMING_BYTES
PING_RATE_PPS = 50
FLOOD_PAYLOAD_BYTES = 1472
FLOOD_RATE_PPS = 100e6 / 8 / (1514 + FRAMING_BYTES)

Where = Literal["live", "simulated", "kernel"]


@dataclass(frozen=True)
class Times:
    """When things happen, in seconds from the start of the TCP flows."""

    flood_s: float
    warm_s: float
    end_s: float


FULL = Times(flood_s=1, warm_s=3, end_s=23)
QUICK = Times(flood_s=1, warm_s=2, end_s=7)


@dataclass
class Measured:
    """The effect of one queue on the flows."""

    queue: str
    where: Where
    tcp_mbps: list[float]
    flood_mbps: float
    ping_p50_ms: float
    ping_p99_ms: float
    ping_lost: float
    drops: dict[str, int] = field(default_factory=dict)
    notes: dict[str, float] = field(default_factory=dict)

    @property
    def tcp_total_mbps(self) -> float:
        """All TCP flows together."""
        return sum(self.tcp_mbps)


def congestion_control() -> str:
    """The law that the simulator has, too, if this kernel has it."""
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return next(law for law in ("cubic", "reno", *known) if law in known)


@dataclass(frozen=True)
class Pings:
    """Round trips in milliseconds, and how many were sent."""

    trips_ms: list[float]
    sent: int

    @classmethod
    def read(cls, output: str) -> "Pings":
        """From the output of `ping`."""
        trips = [float(found) for found in re.findall(r"time=([0-9.]+) ms", output)]
        sent = re.search(r"(\d+) packets transmitted", output)
        return cls(trips, int(sent.group(1)) if sent else 0)

    def quantile(self, share: float) -> float:
        """A quantile of the round trips, in milliseconds."""
        ordered = sorted(self.trips_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")

    @property
    def lost(self) -> float:
        """The share that was not answered."""
        return 1 - len(self.trips_ms) / self.sent if self.sent else float("nan")


def idle_rtt_s(lab: Lab) -> float:
    """The median round trip without other traffic, in seconds."""
    output = lab.run("client", "ping", "-q", "-c", "5", "-i", "0.01", SERVER_ADDRESS)
    output = lab.run("client", "ping", "-c", "100", "-i", "0.01", SERVER_ADDRESS)
    return statistics.median(Pings.read(output).trips_ms) / 1e3


def measure(lab: Lab, queue: str, where: Where, times: Times, flood: bool = True) -> Measured:
    """Five TCP flows, a flood and a ping from the client to the server."""
    start_s = time.monotonic() + 1.5
    window = {"from_s": start_s + times.warm_s, "until_s": start_s + times.end_s}
    local_ports = [41001 + index for index in range(5)]
    tcp_in = lab.worker("server", "tcp_receive", port=5001, **window)
    udp_in = lab.worker("server", "udp_receive", port=5002, **window)
    goal = {"address": SERVER_ADDRESS, "until_s": start_s + times.end_s}
    law = congestion_control()
    tcp_out = lab.worker(
        "client", "tcp_send", port=5001, start_s=start_s, local_ports=local_ports, congestion_control=law, **goal
    )
    sent = {"rate_pps": FLOOD_RATE_PPS, "payload_bytes": FLOOD_PAYLOAD_BYTES, "start_s": start_s + times.flood_s}
    udp_out = lab.worker("client", "udp_send", port=5002, **sent, **goal) if flood else None
    time.sleep(max(0.0, start_s + times.warm_s - time.monotonic()))
    span_s = times.end_s - times.warm_s
    count = str(int(PING_RATE_PPS * (span_s - 0.5)))
    ping = lab.start("client", "ping", "-c", count, "-i", str(1 / PING_RATE_PPS), "-W", "1", SERVER_ADDRESS)
    output, _ = ping.communicate(timeout=span_s + 20)
    pings = Pings.read(output)
    received, drained = answer(tcp_in, 20), answer(udp_in, 20)
    info = answer(tcp_out, 20)
    notes = {"mss": float(max(info["mss"])), "retransmitted": float(sum(info["retransmitted"]))}
    if udp_out is not None:
        offered = answer(udp_out, 20)["packets"] / (times.end_s - times.flood_s)
        notes["offered_mbps"] = 8 * offered * (1514 + FRAMING_BYTES) / 1e6
    rates = [8 * size / span_s / 1e6 for size in received["bytes"].values()]
    return Measured(
        queue=queue,
        where=where,
        tcp_mbps=sorted(rates + [0.0] * (5 - len(rates))),
        flood_mbps=8 * drained["bytes"] / span_s / 1e6,
        ping_p50_ms=pings.quantile(0.5),
        ping_p99_ms=pings.quantile(0.99),
        ping_lost=pings.lost,
        notes=notes,
    )
