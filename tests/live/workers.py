"""The programs that run within a namespace: `python -m tests.live.workers NAME JSON`. Each prints JSON at its end.

All namespaces have one clock, so that times are given as its seconds: `time.monotonic()`.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.live import frames, mutate

Settings = dict[str, Any]

CHUNK = 1 << 18
CAUGHT_UP_S = 5e-3
TCP_INFO_BYTES = 104
# Python's socket module does not have it.
SO_RCVBUFFORCE = 33


def sleep_until(when_s: float) -> None:
    """Sleep until then."""
    wait_s = when_s - time.monotonic()
    if wait_s > 0:
        time.sleep(wait_s)


def tcp_receive(settings: Settings) -> Settings:
    """Take in TCP connections, and count the bytes of each within the measured time."""
    listener = socket.create_server(("", settings["port"]))
    listener.setblocking(False)
    chosen = selectors.DefaultSelector()
    chosen.register(listener, selectors.EVENT_READ)
    begin_s, end_s = settings["from_s"], settings["until_s"]
    counts: dict[str, int] = {}
    while (now := time.monotonic()) < end_s:
        for key, _ in chosen.select(min(0.1, end_s - now)):
            if key.fileobj is listener:
                connection, (_, port) = listener.accept()
                connection.setblocking(False)
                chosen.register(connection, selectors.EVENT_READ, str(port))
                counts[str(port)] = 0
                continue
            data = key.fileobj.recv(CHUNK)  # type: ignore[union-attr]
            if not data:
                chosen.unregister(key.fileobj)
            elif begin_s <= time.monotonic() < end_s:
                counts[key.data] += len(data)
    return {"bytes": counts}


def tcp_send(settings: Settings) -> Settings:
    """Send on several TCP connections as much as they take."""
    sleep_until(settings["start_s"])
    chosen = selectors.DefaultSelector()
    payload = bytes(CHUNK)
    connections = []
    for port in settings["local_ports"]:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        law = settings["congestion_control"].encode()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, law)
        connection.bind(("", port))
        connection.connect((settings["address"], settings["port"]))
        connection.setblocking(False)
        chosen.register(connection, selectors.EVENT_WRITE)
        connections.append(connection)
    while (now := time.monotonic()) < settings["until_s"]:
        for key, _ in chosen.select(min(0.1, settings["until_s"] - now)):
            try:
                key.fileobj.send(payload)  # type: ignore[union-attr]
            except ConnectionError:
                # The receiver has ended: so do we, a moment later.
                chosen.unregister(key.fileobj)
    infos = [connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES) for connection in connections]
    # Fields of struct tcp_info: see linux/tcp.h.
    fields = [struct.unpack_from("8B24I", info) for info in infos]
    return {"mss": [field[10] for field in fields], "retransmitted": [field[31] for field in fields]}


def udp_receive(settings: Settings) -> Settings:
    """Count datagrams and their bytes within the measured time."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
    receiver.bind(("", settings["port"]))
    receiver.settimeout(0.05)
    begin_s, end_s = settings["from_s"], settings["until_s"]
    count = size = 0
    while time.monotonic() < end_s:
        try:
            length = len(receiver.recv(2048))
        except TimeoutError:
            continue
        if begin_s <= time.monotonic() < end_s:
            count += 1
            size += length
    return {"packets": count, "bytes": size}


def udp_send(settings: Settings) -> Settings:
    """Send datagrams evenly; behind schedule they are sent at once, at most some milliseconds' worth."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((settings["address"], settings["port"]))
    payload = bytes(settings["payload_bytes"])
    gap_s = 1 / settings["rate_pps"]
    sleep_until(settings["start_s"])
    due_s = time.monotonic()
    sent = 0
    while (now := time.monotonic()) < settings["until_s"]:
        if due_s > now:
            time.sleep(due_s - now)
            continue
        # The receiver ends at the same moment as we do, and its kernel reports it.
        with contextlib.suppress(ConnectionRefusedError):
            sender.send(payload)
        sent += 1
        due_s = max(due_s + gap_s, now - CAUGHT_UP_S)
    return {"packets": sent}


def numbered_send(settings: Settings) -> Settings:
    """Send numbered datagrams evenly."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((settings["address"], settings["port"]))
    begin_s = time.monotonic()
    number = 0
    while time.monotonic() < settings["until_s"]:
        sleep_until(begin_s + number / settings["rate_pps"])
        # The interface may be down for a moment; the number is missing at the receiver then.
        with contextlib.suppress(OSError):
            sender.send(struct.pack("!Q", number) + bytes(settings["payload_bytes"] - 8))
        number += 1
    return {"packets": number}


def numbered_receive(settings: Settings) -> Settings:
    """Note when each numbered datagram has arrived."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
    receiver.bind(("", settings["port"]))
    receiver.settimeout(0.05)
    times: list[float] = []
    numbers: list[int] = []
    while time.monotonic() < settings["until_s"]:
        try:
            data = receiver.recv(2048)
        except TimeoutError:
            continue
        times.append(time.monotonic())
        numbers.append(struct.unpack_from("!Q", data)[0])
    return {"times_s": times, "numbers": numbers}


def generate(settings: Settings) -> Settings:
    """Send frames of one length, or of all, past the network stack."""
    if settings.get("cpu") is not None:
        os.sched_setaffinity(0, {settings["cpu"]})
    length = settings.get("frame_bytes")
    flows = settings.get("flows", 64)
    if length is None:
        made = frames.mixed_frames(1024, flows, settings.get("seed", 1))
    else:
        made = [frames.udp_frame(number % flows, length) for number in range(1024)]
    sender = frames.Sender(settings["interface"])
    signal.signal(signal.SIGTERM, lambda *_: sender.stop())
    sender.load(made)
    total = settings.get("count") or sys.maxsize
    batch = settings.get("batch", 64)
    seconds = sender.send_many(total, settings.get("rate_pps"), batch, settings.get("until_s"))
    return {"sent": sender.count, "full": sender.full, "refused": sender.refused, "seconds": seconds}


def hostile(settings: Settings) -> Settings:
    """Send mutated frames past the network stack."""
    sender = frames.Sender(settings["interface"], most_tries=20)
    kinds: dict[str, int] = {}
    batches = mutate.batches(settings["count"], settings["seed"], kinds)
    begin = time.monotonic()
    for batch in batches:
        sender.load(batch)
        sender.send(0, len(batch))
    seconds = time.monotonic() - begin
    return {"sent": sender.count, "refused": sender.refused, "kinds": kinds, "seconds": seconds}


def unfinished(settings: Settings) -> Settings:
    """Send packets that the kernel has put together, or whose checksum is left to a network card."""
    sender = frames.Sender(settings["interface"], vnet_header=True)
    sender.load([mutate.unfinished_frame(settings["kind"], number) for number in range(64)])
    while sender.count < settings["count"]:
        sender.send(0, min(64, settings["count"] - sender.count))
        time.sleep(0.001)
    return {"sent": sender.count, "refused": sender.refused}


WORKERS: dict[str, Callable[[Settings], Settings]] = {
    worker.__name__: worker
    for worker in (
        tcp_receive,
        tcp_send,
        udp_receive,
        udp_send,
        numbered_send,
        numbered_receive,
        generate,
        hostile,
        unfinished,
    )
}


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    # Those that wait for an end look at this time again and again.
    signal.signal(signal.SIGTERM, lambda *_: given.update(until_s=0.0))
    print(json.dumps(WORKERS[sys.argv[1]](given)))
