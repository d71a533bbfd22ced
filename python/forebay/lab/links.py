"""Links to a scenario: its text, compressed, in the fragment of an address, which a browser sends to no server.

`lab/src/share/link.ts` describes the form, and reads it.
"""

from __future__ import annotations

import base64
import zlib

from forebay.errors import InputError

VERSION = "1"

# Nothing but the scenario: no disciplines to compare, no seed, no overrides.
_HEAD = b"{}\n"

_MOST_BYTES = 256 * 1024
"""The longest scenario that the page reads from a link."""

_MOST_CHARACTERS = 100_000
"""Linux has no longer arguments than 131,072 bytes, and the browser gets the address as one."""


def parameter(text: str) -> str:
    """Return the value of `s` in a link to the scenario with this text. Raises InputError if it is too long."""
    body = text.encode()
    plain = _HEAD + body
    packer = zlib.compressobj(level=9, wbits=-15)
    packed = zlib.crc32(plain).to_bytes(4) + packer.compress(plain) + packer.flush()
    code = VERSION + base64.urlsafe_b64encode(packed).rstrip(b"=").decode()
    if len(body) > _MOST_BYTES or len(code) > _MOST_CHARACTERS:
        message = "the scenario is too long for a link\nhint: start `forebay lab` without it, and paste its text"
        raise InputError(message)
    return code


def fragment(text: str, page: str = "lab") -> str:
    """Return the fragment of a page, `lab` or `embed`, that opens with the scenario of this text."""
    return f"#/{page}?s={parameter(text)}"
