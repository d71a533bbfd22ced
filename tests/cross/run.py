"""Compares the results of Forebay's builds to the last bit: `make cross`.

The same scenarios run in a debug build, in a release build, in one that uses all that this processor has, and in one
for another processor (AArch64), which qemu-user executes. Equal digests mean equal results. `RUNS` lists the runs:
files of scenarios and experiments, each cut to the length given there; besides, all disciplines, schedulers and schemes
of congestion management. Needs Rust and, for the other processor, what `OTHER_NEEDS` lists; without it that build is
skipped.

Exit status: 0 all equal, 1 some differ, 2 a build or a run failed.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Disciplines that have no defaults: the experiments have class-based queueing.
WITHOUT_DEFAULTS = {"cbq", "htb", "python", "taprio"}


@dataclass(frozen=True)
class Run:
    """A file, the length of its runs, and what varies in them: a key, and the kind of what it can be set to."""

    file: str
    length: str
    key: str | None = None
    values: str | tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """Return it as the runner takes it."""
        values: Iterable[str] = self.values
        if isinstance(self.values, str):
            # A page for each is generated from the source.
            pages = sorted((ROOT / "docs" / "reference" / self.values).glob("*.md"))
            values = (page.stem for page in pages if page.stem not in {"index", *WITHOUT_DEFAULTS})
        vary = [] if self.key is None else ["--vary", f"{self.key}={','.join(values)}"]
        return [*vary, f"{self.file}={self.length}"]


TCP = "flows.tcp.transport.tcp"
RUNS = (
    Run("examples/first.toml", "5 s", "topology.star.bottleneck.queue", "disciplines"),
    Run("examples/switch.toml", "1 s", "topology.switch.fabric.cioq.scheduler", "schedulers"),
    Run("examples/ethernet.toml", "20 ms", "topology.ethernet.congestion_management", "schemes"),
    Run(
        "examples/first.toml", "5 s", f"{TCP}.congestion_control",
        ("reno", "newreno", "bic", "cubic", "linux_bic", "linux_2_6_cubic"),
    ),
    Run("examples/first.toml", "5 s", f"{TCP}.preset", ("rfc", "linux", "ns2", "ns2_pre2001")),
    Run("examples/backbone.toml", "1 s"),
    Run("examples/hops.toml", "10 s"),
    Run(
        "examples/web.toml", "5 s", "flows.bulk.transport.tcp.slow_start",
        ("standard", "hystart", "hystart_plus_plus"),
    ),
    Run("benches/scenarios/a.toml", "20 s"),
    Run("benches/scenarios/b.toml", "20 s"),
    Run("benches/scenarios/breathe.toml", "20 s"),
    Run("benches/scenarios/c.toml", "1 s"),
    Run("benches/scenarios/d.toml", "500 ms"),
    Run("benches/scenarios/e.toml", "20 ms"),
    Run("experiments/breathe/fig2.toml", "20 s"),
    Run("experiments/dbl/cbq.toml", "10 s"),
    Run("experiments/dbl/input-port.toml", "5 s"),
    Run("experiments/dbl/table2.toml", "10 s"),
    Run("experiments/e2cm/lossless.toml", "30 ms"),
    Run("experiments/e2cm/s1-baseline.toml", "50 ms"),
    Run("experiments/e2cm/s5-bursty.toml", "50 ms"),
    Run("experiments/linux/fq-codel.toml", "20 s"),
    Run("experiments/linux/pie.toml", "20 s"),
    Run("experiments/sfb/table1.toml", "10 s"),
    Run("experiments/tiny-buffers/fig3-3.toml", "1 s"),
)  # fmt: skip

OTHER = "aarch64"
OTHER_TARGET = "aarch64-unknown-linux-gnu"
OTHER_LINKER = "aarch64-linux-gnu-gcc"
OTHER_EMULATORS = ("qemu-aarch64", "qemu-aarch64-static")
OTHER_NEEDS = "Debian's packages qemu-user, gcc-aarch64-linux-gnu and libc6-dev-arm64-cross"

# As much of a digest as the table shows; the whole of it is compared.
SHOWN = 8


class FailedError(Exception):
    """A build or a run failed."""


@dataclass(frozen=True)
class Build:
    """How the runner is built, and what executes it."""

    name: str
    options: tuple[str, ...] = ()
    flags: str = ""
    emulator: tuple[str, ...] = ()


HERE = (
    Build("debug"),
    Build("release", ("--release",)),
    Build("native", ("--release",), "-C target-cpu=native"),
)


def call(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> str:
    """Run a command at the repository's root and return its output."""
    run = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise FailedError(f"status {run.returncode} of: {' '.join(map(str, command))}")
    return run.stdout


def other_build() -> Build | str:
    """Return the build for the other processor, or why there is none."""
    if platform.machine() in {OTHER, "arm64"}:
        return f"this processor is itself an {OTHER}"
    emulator = next(filter(None, map(shutil.which, OTHER_EMULATORS)), None)
    if emulator is None:
        return f"{OTHER_EMULATORS[0]} is not installed; needs {OTHER_NEEDS}"
    if shutil.which(OTHER_LINKER) is None:
        return f"{OTHER_LINKER} is not installed; needs {OTHER_NEEDS}"
    # The compiler answers with the bare name where it does not have the file.
    if not Path(call([OTHER_LINKER, "-print-file-name=libc.a"]).strip()).is_absolute():
        return f"{OTHER_LINKER} has no C library; needs {OTHER_NEEDS}"
    if not has_standard_library():
        return f"there is no Rust standard library for {OTHER_TARGET}; needs rustup, and the network once"
    # Linked statically, the program needs no libraries of its own processor on this machine.
    return Build(OTHER, ("--release", "--target", OTHER_TARGET), "-C target-feature=+crt-static", (emulator,))


def has_standard_library() -> bool:
    """Whether Rust's standard library for the other processor is there, or could be installed."""
    sysroot = Path(call(["rustc", "--print", "sysroot"]).strip())
    if (sysroot / "lib/rustlib" / OTHER_TARGET).is_dir():
        return True
    if shutil.which("rustup") is None:
        return False
    return subprocess.run(["rustup", "target", "add", OTHER_TARGET], cwd=ROOT, check=False).returncode == 0


def digests(build: Build) -> dict[str, str]:
    """Build the runner, run everything, and return the digest of each run by its name."""
    linker = f"CARGO_TARGET_{OTHER_TARGET.upper().replace('-', '_')}_LINKER"
    # Without debugging information a release build compiles faster.
    env = {**os.environ, "RUSTFLAGS": build.flags, "CARGO_PROFILE_RELEASE_DEBUG": "0", linker: OTHER_LINKER}
    cargo = ["cargo", "build", "--locked", "--quiet", "--message-format=json-render-diagnostics"]
    messages = call([*cargo, "--package", "forebay-scenario", "--example", "digests", *build.options], env)
    built = [message["executable"] for message in map(json.loads, messages.splitlines()) if message.get("executable")]
    if not built:
        raise FailedError("cargo names no program that it has built")
    arguments = [argument for run in RUNS for argument in run.arguments()]
    lines = call([*build.emulator, built[-1], *arguments]).splitlines()
    return {run["name"]: run["digest"] for run in map(json.loads, lines)}


def table(results: Mapping[str, Mapping[str, str]]) -> tuple[list[str], int]:
    """Return a line for each run with its digest in every build, and how many runs differ."""
    names = list(dict.fromkeys(name for digests in results.values() for name in digests))
    lines = ["".join(f"{build:<{SHOWN + 2}}" for build in results) + "run"]
    differing = 0
    for name in names:
        found = [digests.get(name, "none") for digests in results.values()]
        equal = len(set(found)) == 1
        differing += not equal
        cells = "".join(f"{digest[:SHOWN]:<{SHOWN + 2}}" for digest in found)
        lines.append(f"{cells}{name}{'' if equal else ' DIFFERS'}")
    return lines, differing


def main() -> int:
    """Run everything in every build, and print the table."""
    other = other_build()
    builds = HERE if isinstance(other, str) else (*HERE, other)
    results = {}
    for build in builds:
        print(f"running the {build.name} build", file=sys.stderr, flush=True)
        results[build.name] = digests(build)
    lines, differing = table(results)
    print("\n".join(lines))
    print(f"{len(lines) - 1} runs in {len(builds)} builds: " + (f"{differing} differ" if differing else "all equal"))
    if isinstance(other, str):
        print(f"skipped: the comparison with another processor: {other}")
    return 1 if differing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (FailedError, OSError) as error:
        print(f"make cross: {error}", file=sys.stderr)
        sys.exit(2)
