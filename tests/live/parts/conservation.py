"""Counters at the generator, in Forebay and at the receiver add up; changes under load lose nothing."""

import random
import time
from typing import Any

from tests.live.lab import Lab, LabError, answer, end
from tests.live.outcome import Options, Outcome, Sheet
from tests.live.plane import Plane, Table, by_reason, direction, inline, packets

COLUMNS = ("", "generated", "at the port", "missed", "refused", "received", "dropped", "sent", "arrived", "adds up")

# Changes under load, one after the other at random: the discipline, its parameters, the rate.
QUEUES: tuple[Table, ...] = (
    {"drop_tail": {"limit": "200 packets"}},
    {"drop_tail": {"limit": "2000 packets"}},
    {"red": {}},
    {"red": {"min_threshold": "50 packets", "max_threshold": "150 packets"}},
    {"dbl": {}},
    {"dbl": {"limit": "3000 packets"}},
    {"fq_codel": {}},
    {"sfb": {}},
    {"afd": {}},
    {"codel": {}},
    {"breathe": {}},
    {"drr": {}},
)
# These drop only what does not fit.
PATIENT: tuple[Table, ...] = (
    {"drop_tail": {"limit": "2000 packets"}},
    {"drop_tail": {"limit": "4000 packets"}},
    {"fq_codel": {}},
    {"drr": {"limit": "4000 packets"}},
)
# Enough for all that may be replaced and still hold packets.
BUFFERS = 65536
RATES = ("300 Mbps", "500 Mbps", "1 Gbps", "2 Gbps", "5 Gbps")


def balance(lab: Lab, plane: Plane, sent: int, label: str, sheet: Sheet, cut_tags: int = 0) -> list[str]:
    """Compare all counters, and return what does not add up. The kernel itself drops frames with half a VLAN tag."""
    arrived = lab.settle("server", "s0").rx_packets
    stats = plane.drained()
    client, lan, wan = lab.counters("client", "c0"), lab.counters("forebay", "lan0"), lab.counters("forebay", "wan0")
    refused, dropped = packets(stats["refused"]), packets(stats["dropped"])
    not_sendable = stats["refused"]["not_sendable"]["packets"]
    received, left = stats["received"]["packets"], stats["sent"]["packets"]
    before_queue = refused - not_sendable
    sums = {
        f"{sent} generated, {client.tx_packets} sent by c0 and {client.tx_dropped} lost by it": sent
        == client.tx_packets,
        f"{client.tx_packets} sent by c0, {lan.rx_packets} received by lan0": client.tx_packets == lan.rx_packets,
        f"{lan.rx_packets} at lan0, {received} received, {before_queue} refused, {stats['missed_frames']} missed": (
            lan.rx_packets == received + before_queue + stats["missed_frames"] + cut_tags
        ),
        f"{received} received, {left} sent, {dropped} dropped, {not_sendable} not sendable": (
            received == left + dropped + not_sendable
        ),
        f"{left} sent, {wan.tx_packets} sent by wan0 ({wan.tx_dropped} lost)": left == wan.tx_packets,
        f"{wan.tx_packets} sent by wan0, {arrived} arrived at s0": wan.tx_packets == arrived,
    }
    wrong = [text for text, holds in sums.items() if not holds]
    missed = stats["missed_frames"]
    sheet.add(
        label, sent, lan.rx_packets, missed, refused, received, dropped, left, arrived, "yes" if not wrong else "NO"
    )
    return wrong


def counted(outcome: Outcome, sheet: Sheet, count: int, io: Table, label: str) -> None:
    """Many packets of all lengths through DBL."""
    with Lab() as lab, Plane(lab, direction("dbl", "1 Gbps"), io=io) as plane:
        worker = lab.worker("client", "generate", interface="c0", count=count, seed=1)
        made = answer(worker, 60 + count / 20_000)
        wrong = balance(lab, plane, made["sent"], label, sheet)
        outcome.claim(f"{label}: all counters add up over {count} packets", not wrong, "; ".join(wrong) or "they do")
        outcome.numbers[label] = {"generator": made, "stats": plane.stats()}


def change_under_load(
    plane: Plane, changes: int, until_s: float, rng: random.Random, queues: tuple[Table, ...]
) -> tuple[int, list[str]]:
    """Change this and that; returns how many changes took effect, and what was refused."""
    done, refused = 0, []
    while done < changes and time.monotonic() < until_s:
        settings: dict[str, Any] = {}
        kind = rng.randrange(3)
        if kind != 1:
            settings["rate"] = rng.choice(RATES)
        if kind != 0:
            settings["queue"] = inline(rng.choice(queues))
        try:
            plane.set(**settings)
        except LabError as error:
            refused.append(str(error))
            time.sleep(0.01)
            continue
        done += 1
    return done, refused


def changed(
    outcome: Outcome, sheet: Sheet, changes: int, rate_pps: float, label: str, seed: int, queues: tuple[Table, ...]
) -> Table:
    """Packets at a rate, and changes at the same time."""
    rng = random.Random(seed)
    patience_s = 30 + changes / 20
    with Lab() as lab, Plane(lab, direction(queues[0], "1 Gbps"), io={"buffers": BUFFERS}) as plane:
        until_s = time.monotonic() + patience_s
        settings = {"interface": "c0", "rate_pps": rate_pps, "until_s": until_s, "batch": 16, "flows": 256}
        worker = lab.worker("client", "generate", **settings)
        time.sleep(1)
        begin = time.monotonic()
        done, refused = change_under_load(plane, changes, until_s - 1, rng, queues)
        seconds = time.monotonic() - begin
        made = end(worker)
        wrong = balance(lab, plane, made["sent"], label, sheet)
        stats = plane.stats()
        if stats["received"]["packets"] != made["sent"]:
            wrong.append(f"refused {by_reason(stats['refused'])}, missed {stats['missed_frames']}")
        found = f"{done} changes in {seconds:.1f} s, {len(refused)} refused"
        outcome.claim(f"{label}: {changes} changes took effect", done == changes, found)
        outcome.claim(f"{label}: nothing is lost but by a discipline", not wrong, "; ".join(wrong) or "nothing is")
        if refused:
            outcome.notes.append(f"{label}: {len(refused)} changes refused, such as: {refused[0][:300]}")
        outcome.notes.append(f"{label}: dropped {by_reason(stats['dropped'])}")
        return stats


def run(options: Options) -> Outcome:
    """Count."""
    outcome = Outcome("conservation")
    count = options.count(10_000_000, 1_000_000)
    changes = options.count(1000, 100)
    sheet = outcome.sheet("Packets by where they were counted", COLUMNS)
    counted(outcome, sheet, count, {}, "packet sockets")
    if not options.quick:
        counted(outcome, sheet, count // 10, {"method": "af_xdp"}, "AF_XDP")
    changed(outcome, sheet, changes, 150_000, "changes under overload", options.seed, QUEUES)
    # 16 packets at a time never fill a queue: there is no reason to drop.
    stats = changed(outcome, sheet, changes, 20_000, "changes at a low load", options.seed + 1, PATIENT)
    lost = packets(stats["dropped"])
    outcome.claim("changes at a low load: no packet is dropped at all", lost == 0, f"{lost} dropped")
    return outcome
