"""The control socket of a data plane that runs: one JSON object a line."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, Self

from forebay.errors import InputError

DEFAULT_SOCKET = Path("/run/forebay/live.sock")
"""Where the socket is unless the configuration says otherwise."""

_PATIENCE_S = 10.0


class Connection:
    """A connection to the control socket. Raises InputError if nobody answers there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_PATIENCE_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            hint = (
                "ask as root, or as a member of the socket's group"
                if isinstance(error, PermissionError)
                else "is forebay-live running? --socket names the path in its [control] table"
            )
            message = f"control socket {path}: {error.strerror or error}\nhint: {hint}"
            raise InputError(message) from None
        self._replies = self._socket.makefile("r", encoding="utf-8")

    def ask(self, command: str, **keys: object) -> Any:
        """Return the result of a command. Raises InputError if it is refused, or the other side ends."""
        try:
            self._socket.sendall(json.dumps({"command": command, **keys}).encode() + b"\n")
            line = self._replies.readline()
        except OSError as error:
            message = f"control socket {self._path}: {error.strerror or error}"
            raise InputError(message) from None
        if not line:
            message = f"control socket {self._path}: forebay-live has ended"
            raise InputError(message)
        reply = json.loads(line)
        if not reply["ok"]:
            raise InputError(reply["error"])
        return reply["result"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._replies.close()
        self._socket.close()
