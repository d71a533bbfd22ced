"""The lab's server: the files of the page for the browsers of this machine, and nothing else."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from urllib.parse import unquote, urlsplit

from forebay.errors import InputError

from .site import START, File

LOOPBACK = "127.0.0.1"

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'; "
    "connect-src 'self'; img-src 'self' data: blob:; font-src 'self'; base-uri 'none'; form-action 'none'"
)
"""The Content-Security-Policy of the page. Its `index.html` has the same, for servers that send no such header."""

_HEADERS = {
    # A page of another origin may not show this one in a frame. Only the header can say so.
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Another version of the page may have the same address tomorrow.
    "Cache-Control": "no-cache",
}

_METHODS = ("GET", "HEAD")


class Server(ThreadingHTTPServer):
    """Serves the files of a page on the loopback interface."""

    def __init__(self, files: Mapping[str, File], port: int = 0) -> None:
        """Listen at `port`; at a free one without it. Raises InputError if that is not possible."""
        self.files = files
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise InputError(_refused(port, error)) from None

    def server_bind(self) -> None:
        """Bind without a question about the name of this machine, which may wait for a network."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.socket.getsockname()[1]

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def is_named(self, host: str | None) -> bool:
        """Return whether a request with this header `Host` is for this server.

        A page of any site can let its own name mean 127.0.0.1, and then read what is there. Its requests have its name.
        """
        allowed = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}
        return host is not None and host.strip().lower() in allowed

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a browser that has closed its connection."""


def _refused(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use\nhint: name another with --port, or leave it out for a free one"
    reason = os.strerror(error.errno) if error.errno is not None else str(error)
    return f"cannot listen at port {port}: {reason}\nhint: leave out --port for a free one"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # A connection without a request is closed after these seconds.
    timeout = 60

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        if len(self.headers.get_all("Host", [])) != 1 or not self.server.is_named(self.headers["Host"]):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, f"this is {self.server.address}")
            return
        file = self._file()
        if file is None:
            self.send_error(HTTPStatus.NOT_FOUND, "no such file")
            return
        compressed = file.compressed if _takes_gzip(self.headers.get("Accept-Encoding", "")) else None
        tag = f'"{file.tag}"' if compressed is None else f'"{file.tag}-gzip"'
        if tag in (one.strip() for one in self.headers.get("If-None-Match", "").split(",")):
            self._start(HTTPStatus.NOT_MODIFIED, {"ETag": tag, "Vary": "Accept-Encoding"})
            return
        content = file.content if compressed is None else compressed
        headers = {"Content-Type": file.media_type, "Content-Length": str(len(content)), "ETag": tag}
        if compressed is not None:
            headers["Content-Encoding"] = "gzip"
        self._start(HTTPStatus.OK, {**headers, "Vary": "Accept-Encoding"})
        self._write(content)

    def _file(self) -> File | None:
        try:
            path = unquote(urlsplit(self.path).path, errors="strict")
        except ValueError:
            return None
        return self.server.files.get(START if path == "/" else path.removeprefix("/"))

    def _start(self, status: HTTPStatus, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()

    def _write(self, content: bytes) -> None:
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer with the reason as plain text, and end the connection: the next bytes may be the body of a request."""
        # The library does not know methods, and this server has no others.
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        is_method = status == HTTPStatus.METHOD_NOT_ALLOWED
        text = f"the lab answers only {' and '.join(_METHODS)}" if is_method else message or status.phrase
        content = f"{text}\n".encode()
        headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(content))}
        if is_method:
            headers["Allow"] = ", ".join(_METHODS)
        self.close_connection = True
        self._start(status, {**headers, "Connection": "close"})
        self._write(content)

    def version_string(self) -> str:
        """Return the name of the server, without the version of Python."""
        return "forebay"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Print nothing: standard error is for messages to the user."""


def _takes_gzip(accepted: str) -> bool:
    """Return whether the header `Accept-Encoding` names gzip with a weight above 0."""
    for one in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        if name in ("gzip", "*"):
            return not any(part.startswith("q=") and not part[2:].strip("0.") for part in parameters)
    return False
