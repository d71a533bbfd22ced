"""Frames as no well-behaved host sends them."""

import random
import struct
from collections.abc import Callable, Iterator

from tests.live.frames import LARGEST_BYTES, NOBODY, SENDER, ipv4, udp, udp_frame

BATCH = 512
CUT_TAG = "with half a tag"

# struct virtio_net_hdr: flags, type of segmentation, header length, segment size, where the checksum begins, its place.
VNET_NEEDS_CHECKSUM = 1
VNET_TCP4 = 1


def tcp_packet(number: int, payload_bytes: int) -> bytes:
    """A TCP segment in IPv4, with a pseudo header's part of a checksum only."""
    header = struct.pack("!HHIIBBHHH", 1024 + number, 9, number, 0, 0x50, 0x10, 1024, 0, 0)
    return ipv4(header + bytes(payload_bytes), 6, 256 + number)


def unfinished_frame(kind: str, number: int) -> bytes:
    """A superpacket, or a frame whose checksum is left to a network card, with its virtio header in front."""
    superpacket = kind == "superpacket"
    frame = NOBODY + SENDER + b"\x08\x00" + tcp_packet(number, 14480 if superpacket else 1000)
    segmentation, size = (VNET_TCP4, 1448) if superpacket else (0, 0)
    return struct.pack("<BBHHHH", VNET_NEEDS_CHECKSUM, segmentation, 54, size, 34, 16) + frame


def runt(rng: random.Random) -> bytes:
    """A frame with little or nothing behind its Ethernet header."""
    return udp_frame(rng.randrange(64), 60)[: rng.randint(14, 41)]


def too_long(rng: random.Random) -> bytes:
    """A frame somewhat longer than the MTU, as one with a VLAN tag may be, or much longer."""
    return udp_frame(rng.randrange(64), rng.choice((1515, 1518, 1519, 2000, 9000)))


def tag_stack(rng: random.Random) -> bytes:
    """A frame with up to eight VLAN tags, the last of which may be cut."""
    frame = udp_frame(rng.randrange(64), rng.randint(60, 1400))
    tags = b"".join(
        struct.pack("!HH", rng.choice((0x8100, 0x88A8, 0x9100)), rng.randrange(65536)) for _ in range(rng.randint(1, 8))
    )
    tagged = frame[:12] + tags + frame[12:]
    return tagged[: rng.choice((len(tagged), rng.randint(14, 12 + len(tags))))]


def bad_checksum(rng: random.Random) -> bytes:
    """An IPv4 header with a wrong checksum."""
    frame = bytearray(udp_frame(rng.randrange(64), rng.randint(60, LARGEST_BYTES)))
    frame[24:26] = rng.randbytes(2)
    return bytes(frame)


def truncated(rng: random.Random) -> bytes:
    """A packet that ends before its headers say so, in the middle of any of them."""
    return udp_frame(rng.randrange(64), rng.randint(60, LARGEST_BYTES))[: rng.randint(14, 60)]


def lying_lengths(rng: random.Random) -> bytes:
    """Lengths of IPv4 and its header at random."""
    frame = bytearray(udp_frame(rng.randrange(64), rng.randint(60, LARGEST_BYTES)))
    frame[14] = rng.randrange(256)
    frame[16:18] = rng.randbytes(2)
    return bytes(frame)


def fragment(rng: random.Random) -> bytes:
    """A fragment, the first or a later one."""
    payload = udp(rng.randrange(64), rng.randint(8, 1400))
    where = rng.choice((0x2000, 0x2000 | rng.randrange(8192), rng.randrange(8192)))
    return NOBODY + SENDER + b"\x08\x00" + ipv4(payload, 17, rng.randrange(65536), where, rng.randrange(4))


def ipv6(rng: random.Random) -> bytes:
    """IPv6 with a chain of extension headers, which may be cut."""
    kinds = [rng.choice((0, 43, 44, 60, 51, 135, 59, 50)) for _ in range(rng.randint(0, 12))]
    chain = b""
    for here in range(len(kinds)):
        following = kinds[here + 1] if here + 1 < len(kinds) else 17
        chain += bytes([following, rng.choice((0, 0, 0, 1, 255))]) + rng.randbytes(6)
    packet = struct.pack("!IHBB", 6 << 28 | rng.getrandbits(28), rng.choice((len(chain) + 20, rng.randrange(65536))),
                         kinds[0] if kinds else 17, 64)  # fmt: skip
    packet += rng.randbytes(32) + chain + udp(rng.randrange(64), 12)
    return NOBODY + SENDER + b"\x86\xdd" + packet[: rng.choice((len(packet), rng.randint(1, len(packet))))]


def noise(rng: random.Random) -> bytes:
    """Random bytes, without an addressee."""
    return NOBODY + SENDER + rng.randbytes(rng.randint(2, 1400))


def flipped(rng: random.Random) -> bytes:
    """A good frame with some bits turned behind its addresses."""
    frame = bytearray(udp_frame(rng.randrange(64), rng.randint(60, 600)))
    for _ in range(rng.randint(1, 8)):
        place = rng.randrange(12, len(frame))
        frame[place] ^= 1 << rng.randrange(8)
    return bytes(frame)


KINDS: tuple[Callable[[random.Random], bytes], ...] = (
    runt,
    too_long,
    tag_stack,
    bad_checksum,
    truncated,
    lying_lengths,
    fragment,
    ipv6,
    noise,
    flipped,
)


def has_cut_tag(frame: bytes) -> bool:
    """Whether it ends within its first VLAN tag: a kernel drops it before any packet socket sees it."""
    return frame[12:14] in {b"\x81\x00", b"\x88\xa8"} and len(frame) < 20


def batches(count: int, seed: int, kinds: dict[str, int]) -> Iterator[list[bytes]]:
    """Batches of `count` frames together; notes in `kinds` how many of each kind."""
    rng = random.Random(seed)
    while count > 0:
        chosen = rng.choices(KINDS, k=min(BATCH, count))
        for kind in chosen:
            kinds[kind.__name__] = kinds.get(kind.__name__, 0) + 1
        count -= len(chosen)
        made = [kind(rng) for kind in chosen]
        kinds[CUT_TAG] = kinds.get(CUT_TAG, 0) + sum(map(has_cut_tag, made))
        yield made
