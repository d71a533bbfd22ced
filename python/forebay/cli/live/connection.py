"""A connection to the control socket of `forebay-live`: JSON lines."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from forebay.errors import InputError

_PATIENCE_S = 10.0


class Connection:
    """Asks one question after the other."""

    def __init__(self, path: Path) -> None:
        """Connect. Raises InputError if no process answers there, or access is denied."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_PATIENCE_S)
        try:
            self._socket.connect(str(path))
        except PermissionError:
            self._socket.close()
            message = f"{path}: permission denied\nhint: ask as root, or as a member of the socket's group"
            raise InputError(message) from None
        except OSError as error:
            self._socket.close()
            message = f"{path}: {error.strerror or error}"
            message += "\nhint: is forebay-live running? --socket PATH is the one in its table [control]"
            raise InputError(message) from None
        self._replies = self._socket.makefile("rb")

    def ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        """Return the result of a request. Raises InputError with what the other side says against it."""
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            reply = json.loads(self._replies.readline() or b"{}")
        except (OSError, ValueError) as error:
            message = f"forebay-live does not answer: {error}"
            raise InputError(message) from None
        if not reply:
            message = "forebay-live has ended the connection\nhint: it was stopped, or has too many clients"
            raise InputError(message)
        if not reply.get("ok"):
            raise InputError(str(reply.get("error", "refused without a reason")))
        result: dict[str, Any] = reply["result"]
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._replies.close()
            self._socket.close()
