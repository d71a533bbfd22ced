"""Three network namespaces in a row, made for one measurement and deleted after it.

client (c0) -- (lan0) forebay (wan0) -- (s0) server. Only what is inside of them is ever touched.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

ROOT = Path(__file__).resolve().parents[2]

Place = Literal["client", "forebay", "server"]
PLACES: tuple[Place, ...] = ("client", "forebay", "server")

CLIENT_ADDRESS = "10.77.0.1"
SERVER_ADDRESS = "10.77.0.2"
CLIENT_MAC = "02:fb:00:00:00:01"
LAN_MAC = "02:fb:00:00:00:11"
WAN_MAC = "02:fb:00:00:00:12"
SERVER_MAC = "02:fb:00:00:00:02"

ENDS: tuple[tuple[Place, str], ...] = (("client", "c0"), ("server", "s0"), ("forebay", "lan0"), ("forebay", "wan0"))

PACKAGES = {"ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping"}

# A network card would do the same for its driver; between namespaces it would hand over packets of 64 KB.
OFFLOADS_OFF = ("tso", "off", "gso", "off", "gro", "off", "tx", "off")


class LabError(Exception):
    """The namespaces could not be made, or a command in them failed."""


class SkippedError(Exception):
    """This machine lacks what a part needs."""


@dataclass(frozen=True)
class Counters:
    """The counters of the kernel at an interface."""

    rx_packets: int
    rx_bytes: int
    rx_dropped: int
    tx_packets: int
    tx_bytes: int
    tx_dropped: int


def call(command: Sequence[str]) -> str:
    """Run a command and return its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"status {done.returncode} of `{' '.join(command)}`: {done.stderr.strip()}")
    return done.stdout


def need(*tools: str) -> None:
    """Skip unless these tools are installed."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        packages = " ".join(dict.fromkeys(PACKAGES.get(tool, tool) for tool in missing))
        raise SkippedError(f"{', '.join(missing)} not installed: apt-get install {packages}")


def need_namespaces() -> None:
    """Skip unless namespaces can be made here."""
    if os.geteuid() != 0:
        raise SkippedError("network namespaces need root: sudo make live-test")
    need("ip", "ethtool")
    name = f"fb-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SkippedError(f"no network namespaces here: {made.stderr.strip()}")
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


class Lab:
    """The namespaces, the processes in them, and their end."""

    made = 0

    def __init__(self) -> None:
        Lab.made += 1
        self.tag = f"{os.getpid()}-{Lab.made}"
        self.processes: list[subprocess.Popen[str]] = []

    def name(self, place: Place) -> str:
        """The name of a namespace."""
        return f"fb-{place}-{self.tag}"

    def __enter__(self) -> Self:
        try:
            self.make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def make(self) -> None:
        """Make the namespaces and what joins them."""
        for place in PLACES:
            call(["ip", "netns", "add", self.name(place)])
            for scope in ("all", "default"):
                self.run(place, "sysctl", "-qw", f"net.ipv6.conf.{scope}.disable_ipv6=1")
        client, forebay, server = map(self.name, PLACES)
        pairs = (("c0", client, CLIENT_MAC, "lan0", LAN_MAC), ("s0", server, SERVER_MAC, "wan0", WAN_MAC))
        for end, namespace, mac, port, port_mac in pairs:
            # One queue: AF_XDP sees one only.
            queues = ["numrxqueues", "1", "numtxqueues", "1"]
            link = ["ip", "link", "add", end, "netns", namespace, "address", mac, *queues]
            call([*link, "type", "veth", "peer", "name", port, "netns", forebay, "address", port_mac, *queues])
        for place, interface, address in (
            ("client", "c0", CLIENT_ADDRESS),
            ("server", "s0", SERVER_ADDRESS),
            ("forebay", "lan0", None),
            ("forebay", "wan0", None),
        ):
            self.ip(place, "link", "set", interface, "up")
            self.run(place, "ethtool", "-K", interface, *OFFLOADS_OFF)
            if address is not None:
                self.ip(place, "address", "add", f"{address}/24", "dev", interface)
                self.ip(place, "link", "set", "lo", "up")
        self.wait_for_carrier()
        # No frame but those that a test sends: neighbours are known, and TCP learns nothing from earlier connections.
        self.ip("client", "neigh", "add", SERVER_ADDRESS, "lladdr", SERVER_MAC, "dev", "c0")
        self.ip("server", "neigh", "add", CLIENT_ADDRESS, "lladdr", CLIENT_MAC, "dev", "s0")

    def wait_for_carrier(self) -> None:
        """The kernel notices a moment later that both ends are up."""
        until = time.monotonic() + 5
        for place, interface in ENDS:
            while json.loads(self.ip(place, "-j", "link", "show", interface))[0]["operstate"] != "UP":
                if time.monotonic() > until:
                    raise LabError(f"{interface} of the {place} does not come up")
                time.sleep(0.01)

    def close(self) -> None:
        """End what was started, and delete the namespaces."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.processes.clear()
        for place in PLACES:
            subprocess.run(["ip", "netns", "delete", self.name(place)], capture_output=True, check=False)

    def within(self, place: Place, *command: str) -> list[str]:
        """A command as it runs in a namespace."""
        return ["ip", "netns", "exec", self.name(place), *command]

    def run(self, place: Place, *command: str) -> str:
        """Run a command in a namespace and return its output."""
        return call(self.within(place, *command))

    def ip(self, place: Place, *arguments: str) -> str:
        """Run `ip` for a namespace and return its output."""
        return call(["ip", "-n", self.name(place), *arguments])

    def start(self, place: Place, *command: str, stderr: Any = None) -> subprocess.Popen[str]:
        """Start a command in a namespace; it ends with the namespaces at the latest."""
        # Before what else this machine does: a sender that waits for a core is another sender.
        ahead = ["nice", "-n", "-10", *self.within(place, *command)]
        process = subprocess.Popen(ahead, cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, text=True)
        self.processes.append(process)
        return process

    def worker(self, place: Place, name: str, **settings: Any) -> subprocess.Popen[str]:
        """Start one of the programs of `workers.py`."""
        return self.start(place, sys.executable, "-m", "tests.live.workers", name, json.dumps(settings))

    def counters(self, place: Place, interface: str) -> Counters:
        """The counters of the kernel at an interface."""
        [link] = json.loads(self.ip(place, "-s", "-j", "link", "show", "dev", interface))
        received, sent = link["stats64"]["rx"], link["stats64"]["tx"]
        return Counters(
            rx_packets=received["packets"],
            rx_bytes=received["bytes"],
            rx_dropped=received["dropped"],
            tx_packets=sent["packets"],
            tx_bytes=sent["bytes"],
            tx_dropped=sent["dropped"],
        )

    def settle(self, place: Place, interface: str, patience_s: float = 10) -> Counters:
        """Wait until an interface has received nothing for a while, and return its counters."""
        until = time.monotonic() + patience_s
        before = self.counters(place, interface)
        while time.monotonic() < until:
            time.sleep(0.3)
            now = self.counters(place, interface)
            if now.rx_packets == before.rx_packets:
                return now
            before = now
        raise LabError(f"{interface} of the {place} still receives after {patience_s:g} s")

    def network(self, place: Place) -> str:
        """All that one can see of a namespace's interfaces and addresses, without what changes by itself."""
        shown = [json.loads(self.ip(place, "-d", "-j", kind, "show")) for kind in ("link", "address", "route")]
        offloads = [self.run(place, "ethtool", "-k", item["ifname"]) for item in shown[0]]
        for item in (*shown[0], *shown[1]):
            item.pop("stats64", None)
            details = item.get("linkinfo", {})
            for data in (details.get("info_data"), details.get("info_slave_data")):
                for timer in [key for key in data or {} if key.endswith("_timer")]:
                    data.pop(timer)
        return json.dumps(shown, sort_keys=True, indent=1) + "\n".join(offloads)


def answer(worker: subprocess.Popen[str], patience_s: float) -> dict[str, Any]:
    """The output of a worker at its end."""
    try:
        output, _ = worker.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired as error:
        worker.kill()
        worker.communicate()
        raise LabError(f"a worker did not end within {patience_s:.0f} s: {worker.args!r}") from error
    if worker.returncode != 0:
        raise LabError(f"status {worker.returncode} of a worker: {worker.args!r}")
    found: dict[str, Any] = json.loads(output)
    return found


def end(worker: subprocess.Popen[str], patience_s: float = 5) -> dict[str, Any]:
    """Let a worker that waits for it end, and return what it prints."""
    worker.send_signal(signal.SIGTERM)
    return answer(worker, patience_s)


def end_on_signals() -> None:
    """Let signals end this program as an exception does, so that namespaces are deleted."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
