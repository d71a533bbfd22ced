"""Captures as tools and networks make them: headers before IP, pauses, frames of zero bytes, files that end early."""

from __future__ import annotations

import gzip
import json
import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

import forebay as fb
from conftest import Command
from forebay.display.quantity import column_scale
from forebay.reporting.folders import sections_of

Packet = tuple[float, bytes]
ADDRESSES = bytes(6) + bytes.fromhex("020000000001")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "belligerent.pcap.gz"


def ipv4(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    """An IPv4 packet with its checksum."""
    addresses = b"".join(bytes(map(int, address.split("."))) for address in (source, destination))
    header = bytearray(struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0) + addresses)
    total = sum(struct.unpack(">10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = struct.pack(">H", ~total & 0xFFFF)
    return bytes(header) + payload


def ethernet(ether_type: int, payload: bytes) -> bytes:
    return ADDRESSES + struct.pack(">H", ether_type) + payload


def udp(source: int, length: int, destination: str = "198.51.100.2") -> bytes:
    datagram = struct.pack(">HHHH", source, 53, 8 + length, 0) + bytes(length)
    return ethernet(0x800, ipv4("192.0.2.1", destination, 17, datagram))


def pcap(path: Path, packets: Sequence[Packet]) -> Path:
    blocks = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)]
    for time_s, frame in packets:
        seconds, microseconds = divmod(round(time_s * 1e6), 1_000_000)
        blocks.append(struct.pack("<IIII", seconds, microseconds, len(frame), len(frame)) + frame)
    path.write_bytes(b"".join(blocks))
    return path


WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda packet: ethernet(0x800, packet),
    "PPPoE": lambda packet: ethernet(0x8864, struct.pack(">BBHHH", 0x11, 0, 7, len(packet) + 2, 0x21) + packet),
    "MPLS": lambda packet: ethernet(0x8847, struct.pack(">I", (100 << 12) | 0x100 | 64) + packet),
    "PBB": lambda packet: ethernet(
        0x88A8, struct.pack(">HHI", 5, 0x88E7, 100) + bytes(12) + struct.pack(">H", 0x800) + packet
    ),
    "Cisco metadata": lambda packet: ethernet(0x8909, struct.pack(">HHHH", 1, 1, 5, 0x800) + packet),
    "LLC and SNAP": lambda packet: ethernet(len(packet) + 8, bytes.fromhex("aaaa030000000800") + packet),
}


def four_flows(wrap: Callable[[bytes], bytes]) -> list[Packet]:
    """A bulk flow of 22 Mb/s and three sparse ones, behind the same headers."""
    rng, time_s, packets = random.Random(1), 0.0, []
    for number in range(3000):
        time_s += 0.0005
        flow = 0 if number % 10 else 1 + number // 10 % 3
        segment = struct.pack(">HHIIHHHH", 40_000 + flow, 80, 0, 0, 0x5010, 1000, 0, 0) + bytes(200 if flow else 1400)
        packet = ipv4(f"192.0.2.{1 + flow}", "198.51.100.9", 6, segment)
        packets.append((1e9 + time_s + rng.random() * 1e-5, wrap(packet)))
    return packets


@pytest.mark.parametrize("name", WRAPPERS)
def test_sparse_flows_do_not_wait_behind_any_headers(name: str, tmp_path: Path) -> None:
    path = pcap(tmp_path / "four.pcap", four_flows(WRAPPERS[name]))
    replayed = fb.replay(path, rate="18 Mbps", queue="fq_codel")
    assert replayed.warnings == ()
    assert replayed.flows.height == 4
    sparse = replayed.flows.filter(~pl.col("flow").str.contains(":40000 "))
    assert sparse.height == 3
    assert max(sparse.get_column("delay_mean_s").to_list()) < 0.001
    assert max(replayed.flows.get_column("delay_mean_s").to_list()) > 0.01
    to = fb.replay(path, rate="18 Mbps", queue="fq_codel", destination="198.51.100.9")
    assert (to.packets, to.packets_unselected, to.packets_unaddressed) == (3000, 0, 0)


def warnings(replayed: fb.ReplayResult) -> list[str]:
    assert all(warning["remedy"] for warning in replayed.warnings)
    return [warning["text"] for warning in replayed.warnings]


def test_opaque_frames_are_no_other_destinations(forebay: Command, tmp_path: Path) -> None:
    hidden = ethernet(0x88B5, ipv4("192.0.2.1", "198.51.100.2", 17, bytes(40)))
    path = pcap(
        tmp_path / "mixed.pcap", [(1, udp(1000, 500)), (2, hidden), (3, hidden), (4, udp(1, 1, "198.51.100.3"))]
    )
    command = ("replay", path, "--rate", "1Mbps", "--queue", "drop_tail")
    shown = forebay(*command, "--to", "198.51.100.2").stdout
    assert "1 to other destinations left out; 2 without an IP header left out" in shown
    assert "warning: 2 packets are left out because no destination address is visible" in shown
    document = json.loads(forebay(*command, "--json").stdout)
    assert document["packets_opaque"] == 2
    (warning,) = document["warnings"]
    assert warning["text"].startswith("2 of 4 packets show no IP header (EtherType 0x88b5: 2)")
    assert set(warning) == {"text", "remedy"}


def test_warnings_are_saved_loaded_and_reported(tmp_path: Path) -> None:
    path = pcap(tmp_path / "merged.pcap", [(1, udp(1000, 40_000)), (2, udp(1000, 1000))])
    replayed = fb.replay(path, rate="1 Mbps", queue="drop_tail", out=tmp_path / "out")
    assert warnings(replayed)[0].startswith("1 packet is longer than an Ethernet frame, up to 40,042 B")
    loaded = fb.ReplayResult.load(tmp_path / "out")
    assert loaded.warnings == replayed.warnings
    (section,) = sections_of([tmp_path / "out"])
    assert len(section.warnings) == 1
    assert "offloads off" in section.warnings[0]


def test_a_result_without_warnings_is_still_loaded(tmp_path: Path) -> None:
    path = pcap(tmp_path / "one.pcap", [(1, udp(1000, 500))])
    fb.replay(path, rate="1 Mbps", queue="drop_tail", out=tmp_path / "out")
    result = tmp_path / "out" / "result.json"
    document = json.loads(result.read_text(encoding="utf-8"))
    for later in ("warnings", "packets_opaque", "packets_unaddressed", "packets_missed"):
        del document[later]
    result.write_text(json.dumps(document), encoding="utf-8")
    loaded = fb.ReplayResult.load(tmp_path / "out")
    assert (loaded.warnings, loaded.packets_opaque) == ((), 0)


DAY_S = 86_400


def test_a_pause_of_300_days_is_named_and_shortened(tmp_path: Path) -> None:
    after = 1e9 + 300 * DAY_S
    packets = [
        (1e9, udp(1000, 500)),
        (1e9 + 0.01, udp(1000, 500)),
        (after, udp(1001, 500)),
        (after + 0.02, udp(1001, 500)),
    ]
    replayed = fb.replay(pcap(tmp_path / "gap.pcap", packets), rate="10 Mbps", queue="fq_codel")
    assert replayed.packets == 4
    assert warnings(replayed) == [
        "packet 3 comes 300.0 days after the packet before it: the replay shortens this pause to 1 day"
    ]
    assert replayed.duration_s == pytest.approx(DAY_S + 0.03, abs=0.01)


def test_a_first_packet_without_a_time_is_named(tmp_path: Path) -> None:
    packets = [(0.0, udp(1000, 500)), (1.7e9, udp(1000, 500)), (1.7e9 + 0.01, udp(1001, 500))]
    replayed = fb.replay(pcap(tmp_path / "first.pcap", packets), rate="10 Mbps", queue="fq_codel")
    assert replayed.packets == 3
    assert warnings(replayed)[0].startswith("packet 2 comes 19675.9 days after")


def test_a_capture_that_ends_early_is_replayed_up_to_there(forebay: Command, tmp_path: Path) -> None:
    half = tmp_path / "half.pcap.gz"
    half.write_bytes(EXAMPLE.read_bytes()[: EXAMPLE.stat().st_size // 2])
    done = forebay("replay", half, "--rate", "20Mbps", "--queue", "drop_tail")
    assert done.returncode == 0, done.stderr
    assert "warning: the file ends within the packet after packet 1" in done.stdout
    plain = tmp_path / "cut.pcap"
    plain.write_bytes(gzip.decompress(EXAMPLE.read_bytes())[:-5])
    replayed = fb.replay(plain, rate="20 Mbps", queue="drop_tail")
    assert replayed.packets == 27_776
    assert len(replayed.warnings) == 1


def test_frames_of_zero_bytes_are_skipped(tmp_path: Path) -> None:
    path = pcap(tmp_path / "zero.pcap", [(1, udp(1000, 500)), (2, b""), (3, udp(1000, 500))])
    replayed = fb.replay(path, rate="10 Mbps", queue="drop_tail")
    assert (replayed.packets, warnings(replayed)) == (2, ["1 frame of zero bytes was skipped"])


@pytest.mark.parametrize("interval", [None, "1 ms", "7 ms", "100 ms"])
def test_no_sample_shows_more_than_the_port_carries(interval: str | None) -> None:
    replayed = fb.replay(EXAMPLE, rate="20 Mbps", queue=["drop_tail", "dbl"], interval=interval)
    for series in replayed.find_series(None, "delivered_bps"):
        assert series.values.max() <= 20e6 * (1 + 1e-9)
        # The port is busy until the end.
        assert series.values[-2] > 19e6 or series.name == "dbl"


def test_small_delays_are_shown_in_a_unit_that_fits(forebay: Command, tmp_path: Path) -> None:
    path = pcap(tmp_path / "fast.pcap", [(number * 1e-3, udp(1000, 958)) for number in range(20)])
    fast = forebay("replay", path, "--rate", "100Gbps", "--queue", "drop_tail").stdout
    assert "ns" in fast
    assert "80" in fast
    slow = forebay("replay", path, "--rate", "1Mbps", "--queue", "drop_tail").stdout
    assert "ms" in slow


def test_the_unit_of_a_column_fits_its_smallest_and_its_largest_value() -> None:
    def unit(*delays_s: float | None) -> str:
        return column_scale("delay_mean_s", delays_s).unit

    assert unit(0.01266, 0.8807, 4.295) == "ms"
    assert unit(0.00043, 0.129) == "ms"
    assert unit(0.00043, 0.0029) == "µs"
    assert unit(80e-9, None, float("nan")) == "ns"
    assert unit(2.0, 40_000.0) == "s"
    assert unit() == unit(0.0) == "s"
