"""The same traffic in Forebay's own simulator."""

import statistics
from typing import Any

from tests.live.traffic import FRAMING_BYTES, PING_BYTES, PING_RATE_PPS, TCP_HEADERS_BYTES, Measured, Times

import forebay as fb

SEEDS = 5
WIRE_BYTES = 1514 + FRAMING_BYTES


def scenario(queue: dict[str, Any], rate: str, rtt_s: float, times: Times, flood: bool = True) -> fb.Scenario:
    """The network of the namespaces: the same rates, lengths and times."""
    half = f"{rtt_s / 2 * 1e6:.0f} us"
    headers = f"{TCP_HEADERS_BYTES + FRAMING_BYTES} B"
    tcp = {"preset": "linux", "segment": f"{WIRE_BYTES} B", "header": headers, "ack_size": headers}
    ping_bps = 8 * PING_BYTES * PING_RATE_PPS
    ping = {"packet": f"{PING_BYTES} B", "constant": {"rate": f"{ping_bps} bps", "jitter": 0.1, "random_phase": True}}
    udp = {"packet": f"{WIRE_BYTES} B", "constant": {"rate": "100 Mbps", "jitter": 0.1, "random_phase": True}}
    flows: list[dict[str, Any]] = [
        {"name": "tcp", "count": 5, "start": {"uniform": ["0 s", "10 ms"]}, "transport": {"tcp": tcp}},
        {"name": "ping", "transport": {"udp": ping}},
    ]
    if flood:
        flows.append({"name": "flood", "start": f"{times.flood_s:g} s", "transport": {"udp": udp}})
    access = {"rate": "10 Gbps", "delay": "1 us"}
    star = {
        "access": access,
        "bottleneck": {"rate": rate, "delay": half, "queue": queue},
        "reverse": {"rate": "10 Gbps", "delay": half},
    }
    return fb.Scenario(
        duration=f"{times.end_s:g} s", warmup=f"{times.warm_s:g} s", topology={"star": star}, flows=flows
    )


def simulate(name: str, parameters: dict[str, Any], rate: str, rtt_s: float, times: Times) -> Measured:
    """Means over several seeds."""
    made = scenario({name: parameters}, rate, rtt_s, times)
    runs = [fb.run(made, seed=seed) for seed in range(1, SEEDS + 1)]
    tables = [{row["name"]: row for row in run.flows.to_dicts()} for run in runs]
    queues = [next(row for row in run.queues.to_dicts() if row["name"] == "bottleneck") for run in runs]

    def mean(flow: str, column: str) -> float:
        return statistics.fmean(table[flow][column] for table in tables)

    reasons = [key for key in queues[0] if key.startswith("dropped_")]
    drops = {
        key.removeprefix("dropped_"): round(statistics.fmean(queue[key] or 0 for queue in queues)) for key in reasons
    }
    return Measured(
        queue=name,
        where="simulated",
        # The kernel's flows have no order either: the slowest with the slowest.
        tcp_mbps=[
            statistics.fmean(values)
            for values in zip(
                *(sorted(table[f"tcp-{i}"]["goodput_bps"] / 1e6 for i in range(5)) for table in tables), strict=True
            )
        ],
        flood_mbps=payload_share() * mean("flood", "goodput_bps") / 1e6,
        # One way here, and there and back in the namespaces.
        ping_p50_ms=1e3 * (mean("ping", "delay_p50_s") + rtt_s / 2),
        ping_p99_ms=1e3 * (mean("ping", "delay_p99_s") + rtt_s / 2),
        ping_lost=statistics.fmean(
            1 - table["ping"]["packets_delivered"] / table["ping"]["packets_sent"] for table in tables
        ),
        drops={reason: count for reason, count in drops.items() if count},
    )


def payload_share() -> float:
    """The simulator counts all of a datagram as goodput."""
    return (WIRE_BYTES - FRAMING_BYTES - 42) / WIRE_BYTES
