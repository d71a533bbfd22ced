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

# Shapers that both have, with the commands behind `tc`. Frames count with their framing: CAKE takes off the header of
# 14 bytes first.
_STAB = f"stab overhead {OVERHEAD_BYTES}"
SHAPERS = {
    "tbf": [f"qdisc replace dev wan0 root handle 10: {_STAB} tbf rate 100mbit burst 15380 limit 1538000"],
    "htb": [
        f"qdisc replace dev wan0 root handle 1: {_STAB} htb default 10",
        "class replace dev wan0 parent 1: classid 1:1 htb rate 100mbit ceil 100mbit",
        "class replace dev wan0 parent 1:1 classid 1:10 htb rate 50mbit ceil 100mbit",
        "qdisc replace dev wan0 parent 1:10 handle 10: pfifo limit 1000",
    ],
    "cake": [f"qdisc replace dev wan0 root handle 10: cake bandwidth 100mbit overhead {14 + OVERHEAD_BYTES}"],
}


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


def send_through(lab: Lab, name: str) -> bool:
    """Send through the kernel's discipline of that name, shaped to 100 Mb/s; returns whether it has one."""
    shaper = SHAPERS.get(name)
    kind = name if shaper else QDISCS.get(name, (name,))[0]
    if kind not in available(lab) or not (shaper or name in QDISCS):
        return False
    bridge(lab)
    if shaper:
        for command in shaper:
            lab.run("forebay", "tc", *command.split())
    else:
        shape(lab, QDISCS[name])
    return True


def dropped(lab: Lab) -> int:
    """Packets that the child has dropped."""
    found = json.loads(lab.run("forebay", "tc", "-s", "-j", "qdisc", "show", "dev", "wan0"))
    return sum(int(qdisc["drops"]) for qdisc in found if qdisc["handle"] == "10:")
