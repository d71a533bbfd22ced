"""Links to a scenario: its text, compressed, in the fragment of an address, which a browser sends to no server."""

from __future__ import annotations

import base64
import zlib

from forebay.errors import InputError

VERSION = "1"
"""The form of the rest: base64url without padding of a raw deflate stream of UTF-8."""

# Programs and systems refuse longer arguments and addresses. This is a scenario of some hundred kilobytes.
_LONGEST = 100_000


def parameter(text: str) -> str:
    """Return the value of `s` in a link to the scenario with this text. Raises InputError if it is too long."""
    packer = zlib.compressobj(level=9, wbits=-15)
    packed = packer.compress(text.encode()) + packer.flush()
    found = VERSION + base64.urlsafe_b64encode(packed).rstrip(b"=").decode()
    if len(found) > _LONGEST:
        message = "the scenario is too long for a link\nhint: start `forebay lab` without it, and paste its text"
        raise InputError(message)
    return found


def fragment(text: str, page: str = "lab") -> str:
    """Return the fragment of a page, `lab` or `embed`, that opens with the scenario of this text."""
    return f"#/{page}?s={parameter(text)}"
