"""Captures through queues, from the package and from the command line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import threading
from pathlib import Path

import polars as pl
import pytest

import forebay as fb
from conftest import Command
from forebay.captures.table import terminal_tables

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "belligerent.pcap.gz"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, small: fb.Scenario) -> Path:
    """The trace of a simulated bottleneck: replay reads the simulator's output."""
    folder = tmp_path_factory.mktemp("capture")
    fb.run(small, out=folder)
    return folder / "bottleneck.pcapng"


def pcap(path: Path, *packets: tuple[float, bytes, int]) -> Path:
    """A pcap file of Ethernet frames: time, what was kept, original length."""
    blocks = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for time_s, kept, length in packets:
        microseconds = round(time_s * 1e6)
        blocks.append(struct.pack("<IIII", *divmod(microseconds, 1_000_000), len(kept), length) + kept)
    path.write_bytes(b"".join(blocks))
    return path


def udp_frame(source: int, destination: int) -> bytes:
    """An Ethernet frame of IPv6 and UDP with long addresses."""
    addresses = bytes.fromhex("20010db8123456789abcdef012345678") * 2
    udp = struct.pack("!HHHH", source, destination, 8 + 40, 0) + bytes(40)
    return bytes(12) + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + addresses + udp


def test_replay_gives_frames(capture: Path) -> None:
    replayed = fb.replay(capture, rate="5 Mbps", queue="drop_tail", settings={"limit": "20 packets"})
    assert replayed.rate_bps == 5_000_000
    assert replayed.queues.get_column("discipline").to_list() == ["drop_tail"]
    assert replayed.flows.get_column("packets").sum() == replayed.packets
    assert replayed.flows.get_column("packets_dropped").sum() == replayed.queues.item(0, "packets_dropped") > 0
    assert replayed.queues.item(0, "length_max_packets") <= 20


def test_replay_tells_flows_apart(capture: Path) -> None:
    flows = fb.replay(capture, rate="5 Mbps", queue="dbl").flows
    flood = flows.filter(pl.col("flow").str.starts_with("UDP"))
    assert flood.height == 1
    assert flood.item(0, "packets_dropped") > 0
    assert flows.schema["classified_at_s"] == pl.Float64


def test_several_queues_see_the_same_packets(capture: Path) -> None:
    together = fb.replay(
        capture,
        rate="5 Mbps",
        queue=["dbl", "small=drop_tail:limit=5 packets", "drop_tail"],
        settings={"limit": "30 packets"},
    )
    assert together.queues.get_column("queue").to_list() == ["dbl", "small", "drop_tail"]
    assert together.queues.get_column("packets_arrived").unique().to_list() == [together.packets]
    assert together.queues.get_column("length_max_packets").to_list()[1:] == [5, 30]
    alone = fb.replay(capture, rate="5 Mbps", queue="dbl", settings={"limit": "30 packets"})
    assert together.flows.filter(pl.col("queue") == "dbl").to_dicts() == alone.flows.to_dicts()


def test_bare_queues_are_fitted_to_the_port_and_share_a_limit(capture: Path, tmp_path: Path) -> None:
    replayed = fb.replay(capture, rate="120 Mbps", queue=["drop_tail", "fq_codel", "red"], out=tmp_path / "out")
    # 100 ms and 5 ms at 120 Mb/s are 1000 and 50 packets of 1500 B.
    assert {it["limit"] for it in replayed.fitted.values()} == {"1000 packets"}
    assert replayed.fitted["red"]["min_threshold"] == "25 packets"
    shown = "\n".join(str(line) for line in terminal_tables(replayed.to_dict(), 120))
    assert "drop_tail, fq_codel: limit 1000 packets" in shown
    assert fb.ReplayResult.load(tmp_path / "out").fitted == replayed.fitted
    given = fb.replay(
        capture, rate="120 Mbps", queue="small=red:min_threshold=2 packets", settings={"limit": "9 packets"}
    )
    assert given.fitted == {"small": {"max_threshold": "6 packets", "mean_packet_size": "1500 B"}}
    assert given.queues.item(0, "length_max_packets") <= 9


def test_series_are_the_queue_over_time(capture: Path) -> None:
    replayed = fb.replay(capture, rate="5 Mbps", queue="red,drop_tail", interval="100 ms")
    lengths = replayed.series("red", "length_mean_packets")
    assert lengths.get_column("time_s").to_list()[:3] == [0.0, 0.1, 0.2]
    dropped = replayed.series("red", "packets_dropped").get_column("value").sum()
    assert dropped == replayed.queues.item(0, "packets_dropped")
    # A gauge of one discipline is no series of another.
    assert replayed.series("red", "avg").height == lengths.height
    with pytest.raises(fb.InputError, match="avg"):
        replayed.series("drop_tail", "avg")


def test_a_saved_replay_is_loaded_and_drawn(forebay: Command, capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "replayed"
    done = forebay("replay", capture, "--rate", "5Mbps", "--queue", "dbl,red", "--out", folder)
    assert done.returncode == 0, done.stderr
    assert f"forebay plot {folder}" in done.stderr.replace("\n", "")
    loaded = fb.ReplayResult.load(folder)
    replayed = fb.replay(capture, rate="5Mbps", queue=["dbl", "red"])
    assert loaded.to_dict(series=True) == replayed.to_dict(series=True)
    assert loaded.delay_distribution().equals(replayed.delay_distribution())
    drawn = forebay("plot", folder)
    assert drawn.returncode == 0, drawn.stderr
    names = {Path(line).name for line in drawn.stdout.split()}
    stems = ("queues", "flows", "delay-distribution")
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}
    assert all((folder / name).stat().st_size > 1000 for name in names)
    with pytest.raises(fb.InputError, match="holds a replay"):
        fb.load(folder)


def test_the_distribution_of_delays_is_that_of_the_packets(capture: Path) -> None:
    replayed = fb.replay(capture, rate="5 Mbps", queue="dbl,drop_tail")
    for queue in replayed.queues.iter_rows(named=True):
        name = queue["queue"]
        delays = replayed.delays.filter(queue=name)
        assert delays.get_column("packets").sum() == queue["packets_delivered"]
        assert delays.get_column("delay_s").max() == queue["delay_max_s"]
        shares = replayed.delay_distribution().filter(queue=name)
        for quantile, column in ((0.5, "delay_p50_s"), (0.99, "delay_p99_s")):
            step = shares.filter(pl.col("share") >= quantile).item(0, "delay_s")
            assert step == pytest.approx(queue[column], rel=0.03)


def test_a_replay_of_an_older_version_has_no_distribution(capture: Path, tmp_path: Path) -> None:
    fb.replay(capture, rate="5 Mbps", queue="dbl", out=tmp_path)
    (tmp_path / "delays.parquet").unlink()
    loaded = fb.ReplayResult.load(tmp_path)
    assert loaded.delay_distribution().is_empty()
    with pytest.raises(fb.InputError, match="no histogram of delays"):
        loaded.plot.delay_distribution()


@pytest.mark.parametrize("columns", [{"other": [1]}, {"queue": ["dbl"], "delay_s": ["1"], "packets": [1]}])
def test_foreign_delays_of_a_replay_are_refused(
    capture: Path, tmp_path: Path, columns: dict[str, list[object]]
) -> None:
    fb.replay(capture, rate="5 Mbps", queue="dbl", out=tmp_path)
    pl.DataFrame(columns).write_parquet(tmp_path / "delays.parquet")
    with pytest.raises(fb.InputError, match=r"cannot read the replay .*\n?hint: replay the capture again"):
        fb.ReplayResult.load(tmp_path)


def test_what_comes_out_is_a_capture(capture: Path, tmp_path: Path) -> None:
    through, dropped = tmp_path / "through.pcapng", tmp_path / "dropped.pcapng"
    first = fb.replay(capture, rate="5 Mbps", queue="drop_tail", capture_out=through, drops_out=dropped)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dropped.pcapng", "through.pcapng"]
    counts = dict(first.queues.select("packets_delivered", "packets_dropped").row(0, named=True))
    # A port of the same rate has nothing left to queue.
    second = fb.replay(through, rate="5 Mbps", queue="drop_tail")
    assert second.packets == counts["packets_delivered"]
    assert second.queues.item(0, "length_max_packets") <= 1
    assert fb.replay(dropped, rate="5 Mbps", queue="drop_tail").packets == counts["packets_dropped"] > 0


def test_each_queue_has_captures_of_its_own(capture: Path, tmp_path: Path) -> None:
    fb.replay(
        capture, rate="5 Mbps", queue=["dbl", "a b=red:limit=30 packets"], capture_out=tmp_path / "through.pcapng"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["through-a-b.pcapng", "through-dbl.pcapng"]


def test_nothing_is_left_of_what_failed(capture: Path, tmp_path: Path) -> None:
    out = tmp_path / "through.pcapng"
    out.write_text("old", encoding="utf-8")
    damaged = tmp_path / "damaged.pcapng"
    of_no_interface = struct.pack("<8I", 6, 32, 9, 0, 0, 0, 0, 32)
    damaged.write_bytes(capture.read_bytes() + of_no_interface)
    with pytest.raises(fb.InputError, match="interface 9 is not described"):
        fb.replay(damaged, rate="5 Mbps", queue="dbl", capture_out=out, out=tmp_path / "results")
    assert out.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.pcapng", "through.pcapng"]


def test_an_exception_of_the_progress_ends_it(tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def progress(fraction: float) -> None:
        assert fraction == 0  # the length of a pipe is not known
        raise StopError

    endless = tmp_path / "endless.pcap"
    os.mkfifo(endless)
    packets = pcap(tmp_path / "one.pcap", *[(0.0, udp_frame(i % 200, 9), 1000) for i in range(1000)]).read_bytes()

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), endless.open("wb") as pipe:
            pipe.write(packets)
            while True:
                pipe.write(packets[24:])

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(StopError):
        fb.replay(endless, rate="1 Mbps", queue="fq_codel", progress=progress, capture_out=tmp_path / "through.pcapng")
    writer.join()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["endless.pcap", "one.pcap"]


def test_cut_headers_and_disorder_are_told(forebay: Command, tmp_path: Path) -> None:
    a, b = udp_frame(1, 2), udp_frame(3, 4)
    path = pcap(tmp_path / "odd.pcap", (2.0, a[:54], 94), (1.0, b[:54], 94), (3.0, b, 94))
    replayed = fb.replay(path, rate="1 Mbps", queue="drop_tail")
    assert (replayed.packets_cut, replayed.packets_out_of_order) == (2, 1)
    assert replayed.flows.get_column("packets").to_list() == [2, 1]
    text = forebay("replay", path, "--rate", "1Mbps", "--queue", "drop_tail").stdout
    assert "2 packets were captured without the headers that identify their flow" in text
    assert "put in order of time" in text
    clean = forebay("replay", EXAMPLE, "--rate", "20Mbps", "--queue", "drop_tail").stdout
    assert "headers" not in clean
    assert "order of time" not in clean


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("queue", ["dbl", "dbl,red", "a_label_that_is_long=dbl,red,drop_tail", "all"])
def test_tables_fit_and_lose_no_name(width: int, queue: str, tmp_path: Path) -> None:
    from rich.console import Console

    ports = range(50_001, 50_010)
    packets = [(i * 1e-4, udp_frame(port, 443), 1000) for i in range(20) for port in ports]
    path = pcap(tmp_path / "six.pcap", *packets)
    document = fb.replay(path, rate="10 Mbps", queue=queue).to_dict()
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(*terminal_tables(document, width), sep="\n")
    text = captured.get()
    assert max(map(len, text.splitlines())) <= width
    # Names are whole, or lose the middle of an address where that still tells the flows apart.
    assert width < 120 or "…" not in text
    plain = re.sub(r"\s", "", text)
    for row in document["queues"]:
        assert row["queue"] in plain
    if queue != "all":
        for port in ports:
            assert f"]:{port}" in plain


def test_the_command_prints_tables_or_one_document(forebay: Command, capture: Path) -> None:
    words = ("replay", capture, "--rate", "5Mbps", "--queue", "dbl", "--set", "dbl_max_cells=512")
    table = forebay(*words)
    assert (table.returncode, table.stderr) == (0, "")
    assert "UDP 10.0.0." in table.stdout
    assert "5 Mb/s" in table.stdout
    document = json.loads(forebay(*words, "--json").stdout)
    assert document == fb.replay(capture, rate="5Mbps", queue="dbl", settings={"dbl_max_cells": 512}).to_dict()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--rate", "5Mbit", "--queue", "dbl"], "5Mbit"),
        (["--rate", "5Mbps", "--queue", "dlb"], "dbl"),
        (["--rate", "5Mbps", "--queue", "dbl", "--set", "dbl_max_cels=3"], "dbl_max_cells"),
        (["--rate", "5Mbps", "--queue", "dbl,red", "--set", "dbl_max_cels=3"], "dbl_max_cells"),
        (["--rate", "5Mbps", "--queue", "dbl", "--queue", "red:limit=0 packets"], "limit"),
        (["--rate", "5Mbps", "--queue", "dbl,a=red:limit=9 packets"], "an option of its own"),
        (["--rate", "5Mbps", "--queue", "dbl", "--to", "nowhere"], "nowhere"),
        (["--rate", "5Mbps", "--queue", "dbl", "--to", "192.0.2.99"], "no packet to replay"),
        (["--rate", "5Mbps", "--queue", "dbl", "--interval", "5"], "interval 5"),
        (["--rate", "5Mbps", "--queue", "dbl", "--interval", "0 s"], "longer than 0 s"),
        (["--rate", "5Mbps", "--queue", "dbl", "--interval", "1 ps"], "longer interval"),
        (["--rate", "5Mbps", "--queue", "dbl", "--seed", str(2**64)], "seed"),
        (["--rate", "5Mbps", "--queue", "dbl", "--capture-out", "nowhere/x.pcapng"], "nowhere/x.pcapng"),
        (["--rate", "5Mbps", "--queue", "dbl", "--capture-out", "."], "folder"),
        (["--rate", "5Mbps", "--queue", "dbl", "--capture-out", "x", "--drops-out", "x"], "one file"),
        (["--rate", "5Mbps"], "--queue"),
    ],
)
def test_bad_input(forebay: Command, capture: Path, tmp_path: Path, arguments: list[str], named: str) -> None:
    done = forebay("replay", capture, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_capture_itself_is_not_written_over(forebay: Command, capture: Path) -> None:
    before = capture.read_bytes()
    done = forebay("replay", capture, "--rate", "5Mbps", "--queue", "dbl", "--capture-out", capture)
    assert (done.returncode, done.stdout) == (2, "")
    assert capture.read_bytes() == before


def test_what_is_no_capture(forebay: Command, small_file: Path, tmp_path: Path) -> None:
    for path, remark in (
        (small_file, "neither pcap"),
        (tmp_path / "missing.pcap", "No such file"),
        (tmp_path, "director"),
    ):
        done = forebay("replay", path, "--rate", "5Mbps", "--queue", "dbl")
        assert (done.returncode, done.stdout) == (2, "")
        assert path.name in done.stderr
        assert remark in done.stderr
        assert "None" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_a_full_disk_is_bad_input(forebay: Command, capture: Path) -> None:
    done = forebay("replay", capture, "--rate", "5Mbps", "--queue", "dbl", "--capture-out", "/dev/full")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No space left" in done.stderr
