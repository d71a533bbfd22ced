"""Installs a wheel into a clean environment and uses it as its README says: `make wheel-test`.

Neither Rust nor the source tree is within reach of what is installed, and no optional package.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
duration = "2 s"
warmup = "500 ms"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "20 Mbps", delay = "5 ms", queue.drop_tail = { limit = "50 packets" } }

[[flows]]
name = "tcp"
count = 3
transport = "tcp"
"""
IN_PYTHON = """
import forebay as fb

result = fb.run("office.toml")
assert result.flows["goodput_bps"].sum() > 10e6, result.flows
result.plot.goodput().savefig("goodput.png")
"""
COMPILED = """
import forebay as fb


class Law(fb.CompiledLaw):
    def admit(self, now: int) -> bool:
        return True


fb.run("office.toml", overrides={"topology.star.bottleneck.queue": {"python": Law}})
"""
WORKS = (
    ["forebay", "--version"],
    ["forebay", "--help"],
    ["forebay", "list"],
    ["forebay", "explain", "dbl"],
    ["forebay", "run", "office.toml", "--out", "run"],
    ["forebay", "compare", "office.toml", "--queues", "red,dbl", "--seeds", "2", "--out", "compare"],
    ["forebay", "sweep", "office.toml", "--vary", "flows.tcp.count=1,4", "--seeds", "2", "--out", "sweep"],
    ["forebay", "report", "run", "compare", "sweep", "--out", "report"],
    ["forebay", "reproduce", "dbl/fig2", "--quick", "--out", "paper"],
    ["python", "-m", "forebay", "list", "disciplines"],
    ["forebay-live", "--version"],
    ["forebay", "live", "run", "--help"],
    ["python", "-c", IN_PYTHON],
)
REFUSED = (
    (
        ["forebay", "sweep", "office.toml", "--vary", "flows.tcp.count=1", "--dask", "tcp://127.0.0.1:1"],
        "forebay[dask]",
    ),
    (["python", "-c", "import forebay.gym"], "forebay[gym]"),
    (["python", "-c", COMPILED], "forebay[numba]"),
)
"""Commands that need an optional package, and the required message."""
LAB = "forebay/lab/site/"


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and a folder to work in."""

    programs: Path
    folder: Path

    def start(self, words: list[str]) -> subprocess.Popen[str]:
        """Starts a program of the environment where there is nothing else but the system's."""
        system = {"PATH": f"{self.programs}{os.pathsep}{os.defpath}", "HOME": str(self.folder), "MPLBACKEND": "agg"}
        return subprocess.Popen(
            [str(self.programs / words[0]), *words[1:]],
            cwd=self.folder,
            env=system,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end."""
        running = self.start(words)
        stdout, stderr = running.communicate()
        return subprocess.CompletedProcess(words, running.returncode, stdout, stderr)


def main() -> int:
    """Answers 0 where everything works."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="the wheel, or a folder of which the newest is taken")
    found: Path = parser.parse_args().wheel
    wheels = sorted(found.glob("*.whl"), key=lambda path: path.stat().st_mtime) if found.is_dir() else [found]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "environment", with_pip=True)
        environment = Environment(folder / "environment" / "bin", folder / "work")
        environment.folder.mkdir()
        (environment.folder / "office.toml").write_text(SCENARIO)
        subprocess.run(
            [
                environment.programs / "python",
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                wheels[-1],
            ],
            check=True,
        )
        print(f"{wheels[-1].name}, {wheels[-1].stat().st_size / 1e6:.1f} MB")
        with zipfile.ZipFile(wheels[-1]) as content:
            page = [name.removeprefix(LAB) for name in content.namelist() if name.startswith(LAB)]
        return 1 if faults(environment) + lab_faults(environment, page) else 0


def faults(environment: Environment) -> int:
    """Tries everything; how much of it does not work."""
    reach = shutil.which("cargo", path=os.defpath)
    count = 0
    if reach:
        print(f"note: {reach} is within reach, as on no clean machine")
    for words in WORKS:
        done = environment.call(words)
        count += told(words, done, "" if done.returncode == 0 else f"exit status {done.returncode}")
    for words, hint in REFUSED:
        done = environment.call(words)
        plain = done.returncode != 0 and hint in done.stderr
        count += told(words, done, "" if plain else f"exit status {done.returncode}, and no word of {hint}")
    where = environment.call(["python", "-c", "import forebay; print(forebay.__file__)"])
    inside = where.stdout.startswith(str(environment.programs.parent))
    return count + told(["the installed package is the one that ran"], where, "" if inside else "another one ran")


def lab_faults(environment: Environment, page: list[str]) -> int:
    """Opens the lab and loads its files; how much of it does not work. Without the page, it must print the reason."""
    words = ["forebay", "lab", "office.toml", "--no-open"]
    if not page:
        print("note: `make lab` was skipped, so the wheel comes without the page of the lab")
        done = environment.call(words)
        return told(words, done, "" if "comes without the lab" in done.stderr else "no word of the missing page")
    running = environment.start(words)
    assert running.stdout is not None
    address, _, scenario = running.stdout.readline().strip().partition("#")
    fault = "" if scenario.startswith("/lab?s=") else "no link to the scenario"
    for name in page:
        if not name.endswith(".gz"):
            try:
                with urllib.request.urlopen(address + name, timeout=20) as answer:
                    fault = fault or ("" if answer.read() else f"{name} is empty")
            except (OSError, ValueError) as error:
                fault = fault or f"{name}: {error}"
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=30)
    done = subprocess.CompletedProcess(words, running.returncode, stdout, stderr)
    fault = fault or ("" if done.returncode == 130 else f"exit status {done.returncode} after Ctrl-C")
    return told(words, done, fault or ("" if any(name.endswith(".wasm") for name in page) else "no engine"))


def told(words: list[str], done: subprocess.CompletedProcess[str], fault: str) -> bool:
    """Prints how one call ended; whether it is a fault."""
    shown = " ".join(words).strip().splitlines()[0]
    print(f"  {shown:.100}: {fault or 'as it should be'}")
    if fault:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    return bool(fault)


if __name__ == "__main__":
    sys.exit(main())
