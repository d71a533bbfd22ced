"""The same port made of the kernel's own parts: a bridge, a shaper and one of its queue disciplines."""

import json
import subprocess

from tests.live.lab import Lab

# Framing counted in addition to each frame, as in forebay-live: preamble, frame check sequence and gap.
OVERHEAD_BYTES = 24

NO_FIREWALL = "net.bridge.bridge-nf-call-iptables=0"

PROBED = (
    "pfifo", "bfifo", "tbf", "htb", "sfb", "sfq", "red", "choke", "codel", "fq_codel", "pie", "fq_pie", "dualpi2",
    "cake", "fq", "hhf",
)  # fmt: skip

# Disciplines that both have, with the same parameters where the kernel has them.
QDISCS = {
    "drop_tail": ("pfifo", "limit", "1000"),
    "red": ("red", "limit", "1538000", "min", "30760", "max", "92280", "avpkt", "1538", "burst", "34",
            "probability", "0.1", "bandwidth", "100mbit"),
    "sfb": ("sfb", "limit", "1000"),
    "fq_codel": ("fq_codel", "limit", "10240", "noecn"),
    "fq_pie": ("fq_pie", "limit", "10240"),
    "fq": ("fq", "limit", "10000"),
    "hhf": ("hhf", "limit", "1000"),
    "dualpi2": ("dualpi2", "limit", "10000"),
}  # fmt: skip


def available(lab: Lab) -> list[str]:
    """Queue disciplines that this kernel has, of those that we look for."""
    found = []
    for name in PROBED:
        arguments = {"tbf": ["rate", "1mbit", "burst", "2000", "limit", "3000"], "red": QDISCS["red"][1:]}.get(name, [])
        command = lab.within("server", "tc", "qdisc", "replace", "dev", "lo", "root", name, *arguments)
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            found.append(name)
            lab.run("server", "tc", "qdisc", "delete", "dev", "lo", "root")
    return found


def bridge(lab: Lab, firewall: bool = True) -> None:
    """Join both ports by a bridge.

    Where the kernel's firewall sees what is bridged, frames no longer belong to their sender's socket. Otherwise a
    sender of this machine notices its packets in our queue and waits for them, as no sender elsewhere could.
    """
    if not firewall:
        subprocess.run(lab.within("forebay", "sysctl", "-qw", NO_FIREWALL), capture_output=True, check=False)
    lab.ip("forebay", "link", "add", "br0", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
    for port in ("lan0", "wan0"):
        lab.ip("forebay", "link", "set", port, "master", "br0")
    lab.ip("forebay", "link", "set", "br0", "up")


def shape(lab: Lab, qdisc: tuple[str, ...], rate: str = "100mbit") -> None:
    """Send through a shaper of that rate, with a queue discipline as its child."""
    root = ["tc", "qdisc", "replace", "dev", "wan0", "root", "handle", "1:", "stab", "overhead", str(OVERHEAD_BYTES)]
    lab.run("forebay", *root, "htb", "default", "1")
    line = ["rate", rate, "ceil", rate, "burst", "1600", "cburst", "1600"]
    lab.run("forebay", "tc", "class", "replace", "dev", "wan0", "parent", "1:", "classid", "1:1", "htb", *line)
    lab.run("forebay", "tc", "qdisc", "replace", "dev", "wan0", "parent", "1:1", "handle", "10:", *qdisc)


def dropped(lab: Lab) -> int:
    """Packets that the child has dropped."""
    found = json.loads(lab.run("forebay", "tc", "-s", "-j", "qdisc", "show", "dev", "wan0"))
    return sum(int(qdisc["drops"]) for qdisc in found if qdisc["handle"] == "10:")
