"""Frames, and a sender that hands over many of them in one system call."""

import ctypes
import errno
import os
import random
import socket
import struct
import sys
import time
from collections.abc import Sequence

SOL_PACKET = 263
PACKET_VNET_HDR = 15
PACKET_QDISC_BYPASS = 20

# Not the server's: its kernel counts such a frame and answers nothing.
NOBODY = bytes.fromhex("02fb000000fe")
SENDER = bytes.fromhex("02fb00000001")

SMALLEST_BYTES = 60
LARGEST_BYTES = 1514


def checksum(data: bytes) -> int:
    """The Internet checksum."""
    padded = data + b"\0" if len(data) % 2 else data
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    folded: int = ~total & 0xFFFF
    return folded


def ipv4(payload: bytes, protocol: int, source: int, fragment: int = 0, ecn: int = 0) -> bytes:
    """An IPv4 packet to the server from host number `source` of the client's network."""
    head = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + len(payload), source, fragment, 64, protocol, 0)
    head += bytes([10, 77, source >> 8 & 0xFF, source & 0xFF, 10, 77, 0, 2])
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def udp(flow: int, payload_bytes: int) -> bytes:
    """A UDP datagram of one of many flows, without checksum."""
    return struct.pack("!HHHH", 1024 + flow % 60000, 9, 8 + payload_bytes, 0) + bytes(payload_bytes)


def udp_frame(flow: int, frame_bytes: int) -> bytes:
    """A frame of that length of one of many flows."""
    datagram = udp(flow, frame_bytes - 42)
    return NOBODY + SENDER + b"\x08\x00" + ipv4(datagram, 17, 256 + flow % 60000)


def mixed_frames(count: int, flows: int, seed: int) -> list[bytes]:
    """Frames of all lengths from many flows."""
    rng = random.Random(seed)
    return [udp_frame(rng.randrange(flows), rng.randint(SMALLEST_BYTES, LARGEST_BYTES)) for _ in range(count)]


class IoVec(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = (("base", ctypes.c_void_p), ("len", ctypes.c_size_t))


class MessageHeader(ctypes.Structure):
    """`struct mmsghdr`."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_len", ctypes.c_uint32),
        ("vectors", ctypes.POINTER(IoVec)),
        ("vectors_len", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_len", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("sent", ctypes.c_uint),
    )


class Sender:
    """Sends frames on an interface by `sendmmsg`."""

    def __init__(self, interface: str, vnet_header: bool = False, most_tries: int = sys.maxsize) -> None:
        # A full ring has room again a little later; a frame that the other end never takes fails in the same way.
        self.most_tries = most_tries
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        if vnet_header:
            self.socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        self.socket.bind((interface, 0))
        self.sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg
        self.count = 0
        self.refused = 0
        self.full = 0
        self.stopped = False

    def stop(self) -> None:
        """Let `send_many` end."""
        self.stopped = True

    def load(self, frames: Sequence[bytes]) -> None:
        """Lay frames out for the kernel."""
        self.memory = ctypes.create_string_buffer(b"".join(frames))
        self.vectors = (IoVec * len(frames))()
        self.headers = (MessageHeader * len(frames))()
        place = ctypes.addressof(self.memory)
        for index, frame in enumerate(frames):
            self.vectors[index].base = place
            self.vectors[index].len = len(frame)
            self.headers[index].vectors = ctypes.pointer(self.vectors[index])
            self.headers[index].vectors_len = 1
            place += len(frame)
        self.loaded = len(frames)

    def send(self, first: int, count: int) -> int:
        """Send loaded frames in order; returns how many the kernel has taken."""
        taken = tries = 0
        at, end = first, first + count
        while at < end:
            place = ctypes.byref(self.headers, at * ctypes.sizeof(MessageHeader))
            sent = self.sendmmsg(self.socket.fileno(), place, end - at, 0)
            if sent > 0:
                at += sent
                tries = 0
                taken += sent
                continue
            number = ctypes.get_errno()
            if number in {errno.ENOBUFS, errno.EAGAIN}:
                self.full += 1
                tries += 1
                if tries < self.most_tries:
                    continue
            elif number not in {errno.EINVAL, errno.EMSGSIZE}:
                raise OSError(number, os.strerror(number))
            self.refused += 1
            at += 1
            tries = 0
        self.count += taken
        return taken

    def send_many(self, total: int, rate_pps: float | None, batch: int, until_s: float | None = None) -> float:
        """Send loaded frames again and again, at a rate if one is given; returns the time that it took, in seconds."""
        begin = time.monotonic()
        at = 0
        while not self.stopped and self.count < total and (until_s is None or time.monotonic() < until_s):
            if rate_pps is not None:
                wait_s = begin + self.count / rate_pps - time.monotonic()
                if wait_s > 0:
                    time.sleep(wait_s)
            count = min(batch, self.loaded - at, total - self.count)
            self.send(at, count)
            at = (at + count) % self.loaded
        return time.monotonic() - begin
