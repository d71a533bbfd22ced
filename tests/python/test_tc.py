"""`forebay tc`: the choice of the queue, and a real `tc` that accepts every command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import forebay as fb
from conftest import Command
from forebay.cli.tc import tc_commands

STAR = """
duration = "1 s"
[topology.star]
access = { rate = "1 Gbps", delay = "0 s" }
bottleneck = { rate = "1 Gbps", delay = "1 s", queue = "QUEUE" }
[[flows]]
name = "req"
transport.udp = { packet = "500 B", poisson = { rate = "9600 kbps" } }
"""
CHAIN = """
duration = "1 s"
[topology.chain]
hops = 20
access = { rate = "100 Mbps", delay = "1 ms" }
link = { rate = "10 Mbps", delay = "1 ms", queue = "red" }
[[flows]]
name = "tcp"
transport = "tcp"
"""
CLASSES = {
    "cbq": {
        "classes": [
            {"name": "voice", "classes": [0, 3], "rate": "2 Mbps", "queue": "drop_tail"},
            {"name": "rest", "share": 3, "priority": 1, "queue": "fq_codel"},
        ]
    },
    "htb": {
        "default_class": "rest",
        "classes": [
            {"name": "home", "rate": "20 Mbps"},
            {"name": "voice", "parent": "home", "rate": "2 Mbps", "classes": [46], "priority": 0, "quantum": "3 KB"},
            {"name": "rest", "parent": "home", "rate": "9 Mbps", "ceil": "20 Mbps", "queue": {"prio": {}}},
        ],
    },
    "taprio": {
        "classes": [{"name": "control", "classes": [7]}, {"name": "rest", "queue": "fq_codel"}],
        "schedule": [
            {"open": ["control"], "interval": "1 ms"},
            {"open": ["control", "rest"], "interval": "9 ms"},
        ],
    },
}
# Queues with others inside, and parameters that the bare name does not have.
FURTHER: list[dict[str, object]] = [
    {"prio": {"bands": [{"name": "voice", "classes": [46], "queue": {"tbf": {"rate": "2 Mbps"}}}, {"name": "rest"}]}},
    {"ets": {"strict": 1, "bands": [{"name": "control", "classes": [48]}, {"name": "rest", "queue": "fq_pie"}]}},
    {"tbf": {"rate": "9 Mbps", "peakrate": "12 Mbps", "mtu": "1600 B", "latency": "50 ms"}},
    {"cake": {"bandwidth": "19 Mbps", "link_layer": "docsis", "vlan_tags": 1, "mpu": 84, "limit": "4 MB"}},
    {"cake": {"autorate_ingress": True, "ingress": True, "overhead": -4, "framing": "ptm", "ack_filter": "on"}},
]
QUEUES = [entry["name"] for entry in fb._core.choices() if entry["kind"] == "discipline" and entry["name"] != "python"]


def scenario(queue: str | dict[str, object]) -> fb.Scenario:
    value = {queue: CLASSES[queue]} if isinstance(queue, str) and queue in CLASSES else queue
    text = STAR.replace("QUEUE", "drop_tail")
    return fb.Scenario.from_toml(text, overrides={"topology.star.bottleneck.queue": value})


def test_the_bottleneck_is_the_default_and_links_are_chosen_by_name(forebay: Command, tmp_path: Path) -> None:
    star, chain = tmp_path / "star.toml", tmp_path / "chain.toml"
    star.write_text(STAR.replace("QUEUE", "codel"), encoding="utf-8")
    chain.write_text(CHAIN, encoding="utf-8")
    done = forebay("tc", star, "--dev", "wan0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "tc qdisc replace dev wan0 root handle 1: tbf rate 1000mbit" in done.stdout
    assert "codel limit 1000 target 5ms interval 100ms noecn" in done.stdout
    assert "pfifo limit 1000000" in forebay("tc", star, "--queue", "reverse").stdout
    several = forebay("tc", chain)
    assert several.returncode == 2
    assert "20 links have a queue: choose one with --queue" in several.stderr
    assert "hop-1, hop-2" in several.stderr
    misspelt = forebay("tc", chain, "--queue", "hop_12")
    assert misspelt.returncode == 2
    assert "did you mean hop-12?" in misspelt.stderr
    assert "red limit" in forebay("tc", chain, "--queue", "hop-12").stdout


def test_a_name_that_the_shell_would_run_is_no_interface(forebay: Command, tmp_path: Path) -> None:
    star = tmp_path / "star.toml"
    star.write_text(STAR.replace("QUEUE", "codel"), encoding="utf-8")
    done = forebay("tc", star, "--dev", "eth0; reboot")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not the name of an interface" in done.stderr


def test_packets_become_bytes_of_the_size_that_is_given() -> None:
    assert "limit 1000000 min 5000 max 15000" in tc_commands(scenario("red"), packet_bytes=1000)


def test_netem_has_room_for_every_packet_in_flight() -> None:
    """The case `netem-limit`: netem's limit counts delayed packets, and 1000 of them lost 58 % of this traffic."""
    (netem,) = [line for line in tc_commands(scenario("drop_tail")).splitlines() if "root netem" in line]
    words = netem.split()
    assert int(words[words.index("limit") + 1]) > 2400
    assert "delay 1s" in netem
    run = fb.run(scenario("drop_tail"), overrides={"duration": "3 s"})
    assert run.flows["packets_dropped"].sum() == 0


def test_a_discipline_that_linux_does_not_have_is_named() -> None:
    commands = tc_commands(scenario("breathe"))
    assert "# breathe: Linux has no such discipline. A FIFO with the same limit takes its place." in commands


SHAPED = "tc qdisc add dev eth0 root tbf rate 20mbit burst 1600 limit 75kb"
SHOWN = """\
qdisc noqueue 0: dev lo root refcnt 2
qdisc codel 8001: dev eth0 root refcnt 2 limit 1000p target 5ms interval 100ms
qdisc pie 8002: dev wan0 root refcnt 2 limit 1000p target 15ms tupdate 15ms alpha 2 beta 20
"""


def test_commands_become_the_keys_of_a_link(forebay: Command, tmp_path: Path) -> None:
    given = forebay("scenario", "--from-tc", SHAPED)
    assert (given.returncode, given.stderr) == (0, "")
    assert 'rate = "20 Mbps"' in given.stdout
    assert 'queue.drop_tail = { limit = "75 KiB" }' in given.stdout
    file = tmp_path / "commands of tc"
    file.write_text(SHAPED, encoding="utf-8")
    assert forebay("scenario", "--from-tc", file).stdout == given.stdout
    piped = subprocess.run(
        [sys.executable, "-m", "forebay", "scenario", "--from-tc", "-"],
        input=SHAPED,
        capture_output=True,
        text=True,
        check=True,
    )
    assert piped.stdout == given.stdout


def test_an_interface_is_chosen_by_name(forebay: Command, tmp_path: Path) -> None:
    shown = tmp_path / "shown.txt"
    shown.write_text(SHOWN, encoding="utf-8")
    several = forebay("scenario", "--from-tc", shown)
    assert (several.returncode, several.stdout) == (2, "")
    assert "choose one with --dev: there are lo, eth0, wan0" in several.stderr
    assert "queue.pie" in forebay("scenario", "--from-tc", shown, "--dev", "wan0").stdout


def test_unknown_words_are_shown_with_their_place(forebay: Command, tmp_path: Path) -> None:
    misspelt = forebay("scenario", "--from-tc", "tc qdisc add dev eth0 root fq_kodel")
    assert (misspelt.returncode, misspelt.stdout) == (2, "")
    assert "there is no counterpart of the qdisc `fq_kodel`" in misspelt.stderr
    assert "did you mean `fq_codel`?" in misspelt.stderr
    missing = forebay("scenario", "--from-tc", tmp_path / "missing")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "No such file" in missing.stderr
    assert "hint: give tc commands" in missing.stderr
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    assert "is not a text in UTF-8" in forebay("scenario", "--from-tc", binary).stderr


@pytest.mark.parametrize("queue", [*QUEUES, *FURTHER])
def test_the_keys_of_each_queue_are_those_of_a_scenario(queue: str | dict[str, object]) -> None:
    lines = tc_commands(scenario(queue)).splitlines()
    commands = "\n".join(line for line in lines if line.startswith("tc "))
    keys = fb._core.link_from_tc(commands, "tc", None)
    link = "\n".join(line for line in keys.splitlines() if not line.startswith(("rate = ", "delay = ")))
    overrides = {"topology.star.bottleneck.queue": tomllib.loads(link)["queue"]}
    assert fb.Scenario.from_toml(STAR.replace("QUEUE", "drop_tail"), overrides=overrides).links


def _in_namespace(script: str) -> subprocess.CompletedProcess[str]:
    """Run the script where `eth0` is one end of a veth pair."""
    setup = "ip link add eth0 type veth peer name peer && ip link set eth0 up && ip link set peer up || exit 77\n"
    return subprocess.run(["unshare", "-n", "sh", "-c", setup + script], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def namespace() -> None:
    if os.geteuid() != 0 or not all(map(shutil.which, ("tc", "ip", "unshare"))):
        pytest.skip("needs root, tc, ip and unshare")
    if _in_namespace("true").returncode != 0:
        pytest.skip("this machine makes no network namespaces with veth interfaces")


# A kernel without a module refuses the qdisc; `tc` has read the whole command by then.
NOT_BUILT_IN = (
    "kind is unknown",
    "TC classifier not found",
    "Parent Qdisc doesn't exists",
    "Failed to find specified qdisc",
)
# A `tc` of before 2025 does not read the parameters of this one.
TOO_NEW = 'Unknown qdisc "dualpi2"'
HARMLESS = (
    "We have an error talking to the kernel",
    "RTNETLINK answers",
    "RED: WARNING. Burst",
    # It bounds the quantum that follows from the rate, as the discipline here does.
    "Warning: sch_htb: quantum",
)


def _refused(commands: list[str]) -> list[str]:
    """Return what `tc` finds wrong with the commands."""
    complaints = _in_namespace("\n".join(commands)).stderr.splitlines()
    harmless = (*HARMLESS, TOO_NEW)
    return [line for line in complaints if not line.startswith(harmless) and not any(it in line for it in NOT_BUILT_IN)]


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("queue", [*QUEUES, *FURTHER])
def test_a_real_tc_accepts_every_command(queue: str | dict[str, object]) -> None:
    lines = tc_commands(scenario(queue)).splitlines()
    commands = [line for line in lines if line.startswith("tc ")]
    # Those for the machine at the other end are comments.
    elsewhere = [line.removeprefix("#   ") for line in lines if line.startswith("#   tc ")]
    assert len(commands) >= 2
    assert len(elsewhere) == 3
    assert _refused(commands) == []
    assert _refused([line.replace("ifb0", "peer") for line in elsewhere]) == []


@pytest.mark.usefixtures("namespace")
def test_the_check_finds_what_tc_does_not_take() -> None:
    assert _refused(["tc qdisc add dev eth0 root codel target 5parsecs"]) != []
    assert _refused(["tc qdisc add dev eth0 root tbf rate 1mbit limit 1600"]) != []


def test_commands_may_be_longer_than_the_name_of_a_file(forebay: Command) -> None:
    classes = [f"tc class add dev eth0 parent 1: classid 1:{number} htb rate 1mbit" for number in range(10, 30)]
    done = forebay(
        "scenario", "--from-tc", "\n".join(["tc qdisc add dev eth0 root handle 1: htb default 10", *classes])
    )
    assert done.returncode == 0, done.stderr
    assert "queue.htb" in done.stdout
