"""`forebay lab`: its server, which answers the browsers of this machine only, and what the command prints."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import SMALL, Command
from forebay.errors import InputError
from forebay.lab import links, server, site

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "export const start = 1;\n" * 100
PAGE = "<!doctype html><title>lab</title>"
# The command with the page in another folder: that of the package may be missing.
WITH_SITE = """
import sys
from pathlib import Path
from forebay.lab import site
site.FOLDER = Path(sys.argv.pop(1))
from forebay.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outside = tmp_path_factory.mktemp("lab")
    (outside / "secret.txt").write_text("secret")
    found = outside / "site"
    (found / "assets").mkdir(parents=True)
    (found / "index.html").write_text(PAGE)
    (found / "assets" / "start.js").write_text(SCRIPT)
    (found / "assets" / "start.js.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    (found / "assets" / "engine.wasm").write_bytes(b"\0asm")
    (found / "assets" / "style.css").write_text("body { color: red }")
    return found


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """Requests as bytes, so that nothing is made valid on the way."""

    def __init__(self, running: server.Server) -> None:
        self.port = running.server_port

    def get(self, path: str = "/", method: str = "GET", **headers: str) -> Answer:
        named = {"Host": f"127.0.0.1:{self.port}", **{name.replace("_", "-"): it for name, it in headers.items()}}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {it}" for name, it in named.items()), "Connection: close"]
        return self.ask("\r\n".join([*lines, "", ""]).encode(), method)

    def ask(self, request: bytes, method: str = "GET") -> Answer:
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection, method=method)
            answer.begin()
            return Answer(answer.status, {name.lower(): it for name, it in answer.getheaders()}, answer.read())


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with server.Server(site.load(folder)) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield Client(running)
        running.shutdown()
        thread.join()


def test_the_page_and_its_files_are_served(client: Client) -> None:
    assert client.get("/").body.decode() == PAGE
    assert client.get("/index.html?x=1").body.decode() == PAGE
    assert client.get("/assets/start.js").body.decode() == SCRIPT
    assert client.get("/assets/%73tart.js").body.decode() == SCRIPT


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/assets/start.js", "text/javascript; charset=utf-8"),
        ("/assets/engine.wasm", "application/wasm"),
        ("/assets/style.css", "text/css; charset=utf-8"),
    ],
)
def test_a_file_has_its_type_whatever_the_system_says(client: Client, path: str, kind: str) -> None:
    answer = client.get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)


@pytest.mark.parametrize("path", ["/", "/assets/engine.wasm", "/absent", "/assets"])
def test_every_answer_has_the_headers_of_a_guarded_page(client: Client, path: str) -> None:
    for answer in (client.get(path), client.get(path, "POST"), client.get(path, Host="elsewhere.example")):
        policy = answer.headers["content-security-policy"]
        parts = {name: values for name, *values in (part.split() for part in policy.split(";"))}
        assert parts["default-src"] == ["'none'"]
        assert parts["script-src"] == ["'self'", "'wasm-unsafe-eval'"]
        assert parts["frame-ancestors"] == ["'self'"]
        assert "unsafe-inline" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["server"] == "forebay"


def test_another_name_of_this_machine_is_refused(client: Client) -> None:
    """A site whose name means 127.0.0.1 for a moment may not read the page (DNS rebinding)."""
    for host in (f"evil.example:{client.port}", "evil.example", "127.0.0.1", f"127.0.0.1:{client.port + 1}", ""):
        answer = client.get("/", Host=host)
        assert (answer.status, PAGE in answer.body.decode()) == (421, False), host
    for host in (f"127.0.0.1:{client.port}", f"localhost:{client.port}", f"LocalHost:{client.port}"):
        assert client.get("/", Host=host).status == 200
    ours = f"Host: 127.0.0.1:{client.port}\r\n"
    assert client.ask(b"GET / HTTP/1.1\r\n\r\n").status == 421
    assert client.ask(f"GET / HTTP/1.1\r\n{ours}Host: evil.example\r\n\r\n".encode()).status == 421


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/..%5csecret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/assets",
        "/assets/",
        "/assets/start.js.gz",
        "/assets/start.js%00",
        "/index.html/",
        "/%ff",
        "/%",
        "http://evil.example/secret.txt",
        "http://[/",
    ],
)
def test_nothing_but_the_files_of_the_page_is_served(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status == 404
    assert b"secret" not in answer.body
    assert answer.body.decode() == "no such file\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "<script>"])
def test_only_reading_is_allowed(client: Client, method: str) -> None:
    answer = client.get("/", method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert method not in answer.body.decode()


def test_the_body_of_a_refused_request_is_not_taken_for_a_request(client: Client) -> None:
    inner = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n\r\n"
    outer = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: {len(inner)}\r\n\r\n{inner}"
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        connection.sendall(outer.encode())
        received = b""
        while part := connection.recv(65536):
            received += part
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.startswith(b"HTTP/1.1 405 ")


def test_head_has_the_headers_of_get(client: Client) -> None:
    got, head = client.get("/assets/start.js"), client.get("/assets/start.js", "HEAD")
    assert head.body == b""
    assert {**head.headers, "date": ""} == {**got.headers, "date": ""}


@pytest.mark.parametrize(
    ("accepted", "compressed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("", False), ("br", False), ("gzip;q=0", False)],
)
def test_gzip_is_for_those_who_take_it(client: Client, accepted: str, compressed: bool) -> None:
    answer = client.get("/assets/start.js", Accept_Encoding=accepted)
    assert answer.headers["vary"] == "Accept-Encoding"
    assert ("content-encoding" in answer.headers) == compressed
    body = gzip.decompress(answer.body) if compressed else answer.body
    assert body.decode() == SCRIPT
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert "content-encoding" not in client.get("/", Accept_Encoding=accepted).headers


def test_an_unchanged_file_is_not_sent_again(client: Client) -> None:
    plain = client.get("/assets/start.js")
    small = client.get("/assets/start.js", Accept_Encoding="gzip")
    assert plain.headers["etag"] != small.headers["etag"]
    again = client.get("/assets/start.js", If_None_Match=f'"other", {plain.headers["etag"]}')
    assert (again.status, again.body) == (304, b"")
    assert client.get("/assets/start.js", If_None_Match=small.headers["etag"]).status == 200


@pytest.mark.parametrize("request_", [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 70000])
def test_a_damaged_request_ends_its_connection_only(client: Client, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        connection.sendall(request_)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    assert client.get("/").status == 200


def test_it_listens_on_the_loopback_interface_only(folder: Path) -> None:
    with server.Server(site.load(folder)) as running:
        assert running.socket.getsockname() == ("127.0.0.1", running.server_port)


def test_two_servers_have_two_ports_and_a_taken_one_is_an_error(folder: Path) -> None:
    files = site.load(folder)
    with server.Server(files) as first, server.Server(files) as second:
        assert first.server_port != second.server_port
        with pytest.raises(InputError, match=rf"port {first.server_port} is in use\nhint: name another with --port"):
            server.Server(files, first.server_port)


def test_a_page_that_was_not_built_says_how(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`make lab` builds it"):
        site.load(ROOT / "python/forebay/lab/absent")
    with pytest.raises(InputError, match="comes without the lab"):
        site.load(tmp_path / "lib/forebay/lab/site")


def test_the_page_has_the_policy_of_the_header_for_servers_without_it() -> None:
    written = (ROOT / "lab/vite.config.ts").read_text(encoding="utf-8")
    assert "; ".join(re.findall(r'^  "(\S+-(?:src|uri|action) .*)",$', written, re.MULTILINE)) == server.POLICY


def test_a_link_that_is_too_long_is_refused() -> None:
    with pytest.raises(InputError, match="too long for a link"):
        links.fragment("".join(f"# {n * 7919 % 104729:x}{n * 104729 % 7919:x}\n" for n in range(60_000)))


class Running:
    """The command `forebay lab`, until Ctrl-C."""

    def __init__(self, folder: Path, cwd: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WITH_SITE, folder, "lab", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={name: it for name, it in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")},
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def stop(self) -> tuple[int, str, str]:
        self.process.send_signal(signal.SIGINT)
        stdout, stderr = self.process.communicate(timeout=30)
        return self.process.returncode, stdout, stderr


def test_the_command_serves_until_ctrl_c(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    running = Running(folder, tmp_path, "small.toml")
    start, _, fragment = running.address.partition("#")
    assert fragment == links.fragment(SMALL).removeprefix("#")
    connection = http.client.HTTPConnection(start.removeprefix("http://").strip("/"), timeout=20)
    connection.request("GET", "/")
    assert connection.getresponse().read().decode() == PAGE
    connection.close()
    status, stdout, stderr = running.stop()
    assert (status, stdout) == (130, "")
    assert stderr == "open this address in a browser; Ctrl-C ends the lab\nstopped\n"


def test_the_browser_opens_the_address(folder: Path, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    # A browser to Python is a command with the address in place of %s.
    words = [sys.executable, "-c", WITH_SITE, str(folder), "lab"]
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    program.chmod(0o755)
    environment = {**os.environ, "BROWSER": f"{program} %s"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        wait_for(opened)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert opened.read_text() == address


def wait_for(path: Path) -> None:
    event = threading.Event()
    for _ in range(600):
        if path.exists():
            return
        event.wait(0.05)
    raise AssertionError(path)


def test_faults_end_the_command_with_status_2(forebay: Command, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(SMALL.replace("10 Mbps", "10 Mbbps"))
    done = forebay("lab", "wrong.toml", "--no-open")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Mbbps" in done.stderr
    done = forebay("lab", "absent.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no file absent.toml" in done.stderr
    (tmp_path / "python.toml").write_text(SMALL.replace("queue.dbl = {}", 'queue.python = "mine:Law"'))
    done = forebay("lab", "python.toml")
    assert done.returncode == 2
    assert "names Python code, mine:Law, which the lab cannot run" in done.stderr
    assert forebay("lab", "--port", "70000").returncode == 2


def test_traces_of_links_are_in_the_link(folder: Path, tmp_path: Path) -> None:
    running = Running(folder, tmp_path, str(ROOT / "examples/cellular.toml"), "--no-open")
    assert len(running.address) > 1000
    assert running.stop()[0] == 130
