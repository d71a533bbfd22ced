"""Bad inputs: one clear error each, exit status 2, and the network as it was."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w
from tests.live.lab import Lab
from tests.live.outcome import Options, Outcome, Sheet
from tests.live.plane import BINARY, Plane, direction

Table = dict[str, Any]
COLUMNS = ("input", "status", "error", "network as before")
OLD_RELEASE = "5.4.0-generic"


@dataclass(frozen=True)
class Case:
    """One bad input."""

    name: str
    # The words that the error must contain, in small letters.
    says: tuple[str, ...]
    changes: Table = field(default_factory=dict)
    prepare: Callable[[Lab], object] | None = None
    # The command that runs the program, before its own command line.
    runner: tuple[str, ...] = ()
    needs: str | None = None
    running: bool = False


def merged(base: Table, changes: Table) -> Table:
    """A table with some values replaced."""
    found = dict(base)
    for key, value in changes.items():
        found[key] = merged(found.get(key, {}), value) if isinstance(value, dict) else value
    return found


def upper_port(lab: Lab) -> None:
    """An interface on `wan0` that states the speed of its parent, 10 Gb/s."""
    lab.ip("forebay", "link", "add", "link", "wan0", "name", "wan7", "type", "macvlan")
    lab.ip("forebay", "link", "set", "wan7", "up")


def foreign_bridge(lab: Lab) -> None:
    """A bridge that is not ours."""
    lab.ip("forebay", "link", "add", "br7", "type", "bridge")
    lab.ip("forebay", "link", "set", "wan0", "master", "br7")


def cases(folder: Path) -> list[Case]:
    """All of them."""
    release = folder / "osrelease"
    release.write_text(OLD_RELEASE + "\n")
    old = f'mount --bind {release} /proc/sys/kernel/osrelease && exec "$@"'
    # Everything else stays, so that the missing capability is what is wrong.
    without = ("setpriv", "--bounding-set=-net_admin,-net_raw", "--inh-caps=-net_admin,-net_raw")
    return [
        Case("an interface that is not there", ("wan9", "no interface"), {"interfaces": {"outside": "wan9"}}),
        Case("an interface that is down", ("lan0", "down"),
             prepare=lambda lab: lab.ip("forebay", "link", "set", "lan0", "down")),
        Case("an interface that another Forebay uses", ("lan0", "forebay"), running=True),
        Case("an interface with an address", ("wan0", "10.9.9.9"),
             prepare=lambda lab: lab.ip("forebay", "address", "add", "10.9.9.9/24", "dev", "wan0")),
        Case("an interface in a foreign bridge", ("wan0", "br7"), prepare=foreign_bridge),
        Case("a rate above the link's", ("outbound.rate", "wan7"), {"interfaces": {"outside": "wan7"},
             "outbound": {"rate": "20 Gbps"}}, prepare=upper_port),
        Case("different MTUs", ("mtu",), prepare=lambda lab: lab.ip("forebay", "link", "set", "lan0", "mtu", "1400")),
        Case("no capability", ("cap_net_admin",), runner=without, needs="setpriv"),
        Case("an old kernel", ("kernel", "5.4"), {"io": {"fail_open": True}}, runner=("sh", "-c", old, "sh")),
        Case("the same interface twice", ("lan0",), {"interfaces": {"outside": "lan0"}}),
        Case("the loopback interface", ("lo",), {"interfaces": {"outside": "lo"}}),
        Case("an unknown discipline", ("dbll",), {"outbound": {"queue": "dbll"}}),
        Case("an unknown key", ("rtae",), {"outbound": {"rtae": "1 Gbps"}}),
        Case("a rate without a unit", ("rate",), {"outbound": {"rate": 100}}),
        Case("a priority that is none", ("priority",), {"outbound": {"priority": 100}}),
        Case("a core that is not there", ("cpu",), {"outbound": {"cpu": 4096}}),
        Case("metrics for the whole world", ("metrics",), {"control": {"metrics": "0.0.0.0:9779"}}),
        Case("a socket in a folder that is not there", ("socket",),
             {"control": {"socket": str(folder / "no/such.sock")}}),
        Case("a bridge that fail_open does not use", ("bridge",), {"io": {"bridge": "br0"}}),
    ]  # fmt: skip


def one_error(text: str) -> bool:
    """Whether standard error has one error and no panic."""
    small = text.lower()
    return "panicked" not in small and "backtrace" not in small and bool(small.strip()) and small.count("error:") <= 1


def attempt(lab: Lab, case: Case, folder: Path) -> tuple[int, str, bool]:
    """Run it; returns its status, its standard error, and whether the network is as before."""
    base: Table = {
        "interfaces": {"inside": "lan0", "outside": "wan0"},
        "outbound": direction("dbl"),
        "control": {"socket": str(folder / "bad.sock")},
    }
    config = folder / "bad.toml"
    config.write_text(tomli_w.dumps(merged(base, case.changes)))
    before = lab.network("forebay")
    command = lab.within("forebay", *case.runner, str(BINARY), "run", str(config))
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
        status, errors = done.returncode, done.stderr
    except subprocess.TimeoutExpired as expired:
        status, errors = -1, f"it runs: {(expired.stderr or b'').decode()}"
    # The folder is another one in each run.
    return status, errors.replace(f"{folder}/", ""), lab.network("forebay") == before


def judge(outcome: Outcome, sheet: Sheet, case: Case, found: tuple[int, str, bool]) -> None:
    """Note what came of one case."""
    status, errors, same = found
    shown = " ".join(errors.split())[:230]
    sheet.add(case.name, status, shown.replace("|", "\\|"), "yes" if same else "NO")
    missing = [word for word in case.says if word not in errors.lower()]
    wrong = [
        text
        for text, holds in (
            (f"status {status}", status == 2),
            (f"does not say {missing}", not missing),
            ("not one error", one_error(errors)),
            ("the network changed", same),
        )
        if not holds
    ]
    outcome.claim(case.name, not wrong, "; ".join(wrong) or "refused")


def run(options: Options) -> Outcome:
    """Try all of them."""
    outcome = Outcome("inputs")
    sheet = outcome.sheet("Bad inputs", COLUMNS)
    folder = Path(tempfile.mkdtemp(prefix="fb-live-inputs-"))
    folder.chmod(0o755)
    try:
        for case in cases(folder):
            if case.needs is not None and shutil.which(case.needs) is None:
                outcome.notes.append(f"skipped: {case.name}: {case.needs} is not installed")
                continue
            with Lab() as lab:
                if case.prepare is not None:
                    case.prepare(lab)
                if case.running:
                    with Plane(lab, direction("dbl")):
                        judge(outcome, sheet, case, attempt(lab, case, folder))
                else:
                    judge(outcome, sheet, case, attempt(lab, case, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome
