"""Frames that no well-behaved host sends, through a running port."""

import time

from tests.live.lab import Lab, answer
from tests.live.mutate import CUT_TAG
from tests.live.outcome import Options, Outcome
from tests.live.parts.conservation import COLUMNS, balance
from tests.live.plane import Plane, Table, by_reason, direction

# The sender's interface takes frames that the port's does not.
SENDER_MTU = "9000"


def mutated(outcome: Outcome, count: int, seed: int, io: Table, label: str) -> None:
    """Mutated frames, then good ones that must still pass."""
    sheet = outcome.sheet(f"{label}: frames by where they were counted", COLUMNS)
    with Lab() as lab:
        lab.ip("client", "link", "set", "c0", "mtu", SENDER_MTU)
        with Plane(lab, direction("dbl", "500 Mbps"), io=io) as plane:
            made = answer(lab.worker("client", "hostile", interface="c0", count=count, seed=seed), 60 + count / 2000)
            # Frames above the port's MTU are lost on the way to it, by the veth pair, as a network card would do.
            stats = plane.drained()
            # XDP sees them before that.
            cut = 0 if io.get("method") == "af_xdp" else made["kinds"][CUT_TAG]
            wrong = balance(lab, plane, lab.counters("client", "c0").tx_packets, label, sheet, cut)
            outcome.claim(f"{label}: counters add up over {count} frames", not wrong, "; ".join(wrong) or "they do")
            held = stats["buffers_in_use"]
            outcome.claim(f"{label}: no buffer is leaked", held == 0, f"{held} in use")
            before = lab.counters("server", "s0").rx_packets
            good = answer(lab.worker("client", "generate", interface="c0", count=1000, rate_pps=5000, batch=1), 30)
            after = lab.settle("server", "s0").rx_packets
            outcome.claim(
                f"{label}: good frames pass after them",
                after - before == good["sent"],
                f"{after - before} of {good['sent']}",
            )
            kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(made["kinds"].items()))
            outcome.notes.append(f"{label}: {kinds}; {made['refused']} were refused by the sender's kernel")
            outcome.notes.append(
                f"{label}: refused {by_reason(stats['refused'])}, dropped {by_reason(stats['dropped'])}"
            )
            outcome.numbers[label] = {"generator": made, "refused": stats["refused"], "dropped": stats["dropped"]}


def superpackets(outcome: Outcome, kind: str, reasons: tuple[str, ...], count: int) -> None:
    """Frames of a host with offloads: refused and counted, never queued."""
    with Lab() as lab:
        lab.run("client", "ethtool", "-K", "c0", "tx", "on", "sg", "on", "tso", "on", "gso", "on")
        with Plane(lab, direction("dbl")) as plane:
            made = answer(lab.worker("client", "unfinished", interface="c0", kind=kind, count=count), 30)
            time.sleep(0.3)
            stats = plane.drained()
    refused = by_reason(stats["refused"])
    counted = sum(refused.get(reason, 0) for reason in reasons)
    found = f"{made['sent']} sent, refused {refused}, received {stats['received']['packets']}"
    holds = counted == made["sent"] and stats["received"]["packets"] == 0
    outcome.claim(f"{kind}: each is refused as {' or '.join(reasons)}", holds, found)


def run(options: Options) -> Outcome:
    """Send them."""
    outcome = Outcome("hostile")
    count = options.count(1_000_000, 100_000)
    mutated(outcome, count, options.seed, {}, "packet sockets")
    if not options.quick:
        mutated(outcome, count // 10, options.seed + 1, {"method": "af_xdp"}, "AF_XDP")
    superpackets(outcome, "superpacket", ("too_long", "unfinished_checksum"), 200)
    superpackets(outcome, "unfinished checksum", ("unfinished_checksum",), 200)
    return outcome
