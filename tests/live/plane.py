"""The data plane under test: its process, its configuration and its control socket."""

import json
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

import tomli_w
from tests.live.lab import ROOT, Lab, LabError, SkippedError

BINARY = ROOT / "target/release/forebay-live"
EXAMPLES = ROOT / "target/release/examples"

Table = dict[str, Any]


def need_binary() -> None:
    """Skip unless the data plane is built and can run."""
    if not BINARY.exists():
        raise SkippedError(f"{BINARY.relative_to(ROOT)} is not built: make live-test builds it")
    helped = subprocess.run([BINARY, "run", "--help"], capture_output=True, text=True, check=False)
    if helped.returncode != 0:
        raise SkippedError("forebay-live has no command `run` yet")


def direction(queue: str | Table, rate: str = "100 Mbps", **more: Any) -> Table:
    """The table of a direction."""
    return {"rate": rate, "queue": queue, **more}


class Plane:
    """forebay-live between `lan0` and `wan0`."""

    def __init__(self, lab: Lab, outbound: Table | None, **tables: Table) -> None:
        self.lab = lab
        self.folder = Path(tempfile.mkdtemp(prefix="fb-live-"))
        self.socket = self.folder / "live.sock"
        self.log = self.folder / "stderr"
        config: Table = {"interfaces": {"inside": "lan0", "outside": "wan0"}, **tables}
        if outbound is not None:
            config["outbound"] = outbound
        config["control"] = {"socket": str(self.socket), **config.get("control", {})}
        self.config = self.folder / "live.toml"
        self.config.write_text(tomli_w.dumps(config))
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> float:
        """Start it; returns how long it took until it answered, in seconds."""
        begin = time.monotonic()
        with self.log.open("a") as log:
            self.process = self.lab.start("forebay", str(BINARY), "run", str(self.config), stderr=log)
        while time.monotonic() < begin + 15:
            if self.process.poll() is not None:
                raise LabError(f"forebay-live ended with status {self.process.returncode}: {self.messages()}")
            try:
                self.ask({"command": "stats"})
            except (OSError, ValueError, LabError):
                time.sleep(0.005)
                continue
            return time.monotonic() - begin
        raise LabError(f"forebay-live does not answer: {self.messages()}")

    def messages(self) -> str:
        """Its output on standard error."""
        return self.log.read_text()[-2000:].strip()

    def kill(self) -> None:
        """Kill it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Let it end, and check that it does so well."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(15)
        except subprocess.TimeoutExpired as error:
            raise LabError("forebay-live does not end at SIGTERM") from error
        if status != 0:
            raise LabError(f"forebay-live ends with status {status} at SIGTERM: {self.messages()}")

    def ask(self, command: Table) -> Any:
        """Ask it something; returns the result, or raises what it answers."""
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(5)
            control.connect(str(self.socket))
            control.sendall(json.dumps(command).encode() + b"\n")
            line = control.makefile("r").readline()
        answered = json.loads(line)
        if not answered.get("ok"):
            raise LabError(f"{command}: {answered}")
        return answered.get("result")

    def set(self, **settings: Any) -> None:
        """Change the outbound direction."""
        self.ask({"command": "set", "direction": "outbound", "settings": settings})

    def stats(self, way: str = "outbound") -> Table:
        """The state of a direction."""
        for found in self.ask({"command": "stats"})["directions"]:
            if found["direction"] == way:
                return dict(found)
        raise LabError(f"forebay-live has no direction {way}")

    def drained(self, way: str = "outbound", patience_s: float = 20) -> Table:
        """The state of a direction, once it holds nothing any more."""
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            found = self.stats(way)
            if found["buffers_in_use"] == 0:
                return found
            time.sleep(0.1)
        raise LabError(f"{way} still holds {found['buffers_in_use']} frames after {patience_s:g} s")


def inline(queue: Table) -> str:
    """A queue as the text of a setting."""
    [(name, parameters)] = queue.items()
    keys = ", ".join(f"{key} = {json.dumps(value)}" for key, value in parameters.items())
    return f"{{ {name} = {{ {keys} }} }}"


def packets(counts: Table) -> int:
    """Packets of all reasons together."""
    return sum(count["packets"] for count in counts.values())


def by_reason(counts: Table) -> dict[str, int]:
    """Packets by reason, for the reasons that occurred."""
    return {reason: count["packets"] for reason, count in counts.items() if count["packets"]}
