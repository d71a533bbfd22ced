"""The machine, the tools and the state of the source: the conditions of a figure."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
import time
from pathlib import Path

import forebay
from performance.processes import first_line

ROOT = Path(__file__).resolve().parents[2]
CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def describe() -> dict[str, str]:
    """The machine and the tools, one line each; unavailable facts are left out."""
    rust = first_line(["rustc", "--version"])
    found = {
        "processor": processor(),
        "caches": caches(),
        "cores": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} usable",
        "memory": memory(),
        "system": f"{platform.system()} {platform.release()}, {distribution()}",
        "Forebay": f"{forebay.__version__}, compiled by {rust}" if rust else forebay.__version__,
        "Python": platform.python_version(),
        "ns-2": ns2_version() if shutil.which("ns") else None,
        "ns-3": ns3_version(),
        "C++ compiler": first_line(["g++", "--version"]),
    }
    return {name: value for name, value in found.items() if value}


def processor() -> str | None:
    """The model's name, and that it is lent by a hypervisor where it is."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    if model is None:
        return platform.machine()
    lent = re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE)
    return f"{model[1]}{' in a virtual machine' if lent else ''}"


def caches() -> str | None:
    """The caches of the first core, such as `L1 data 32K`."""
    found = []
    for index in sorted(CPU_CACHES.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        found.append(f"L{level}{'' if kind == 'Unified' else f' {kind.lower()}'} {size}")
    return ", ".join(found) or None


def memory() -> str | None:
    """All there is."""
    total = re.search(r"^MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="utf-8"), re.MULTILINE)
    return f"{int(total[1]) * 1024 / 1e9:.1f} GB" if total else None


def distribution() -> str:
    """The distribution's name for itself."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "unknown distribution"


def ns2_version() -> str:
    """The name of Debian's package, or that it is none."""
    return first_line(["dpkg-query", "--show", "--showformat", "Debian package ${Version}\n", "ns2"]) or "own build"


def ns3_version() -> str | None:
    """The version in the name of ns-3's core library, such as 3.37."""
    found = (re.search(r"libns3-core\.so\.(\d+)$", path.name) for path in Path("/usr/lib").glob("**/libns3-core.so.*"))
    return next((f"3.{match[1]}" for match in found if match), None)


def now() -> str:
    """The date and the time, in UTC."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def commit() -> str:
    """The commit that is checked out, and whether the source differs from it."""
    name = first_line(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"])
    if name is None:
        return "unknown"
    # Pages do not change what is measured.
    differs = subprocess.run(
        ["git", "-C", str(ROOT), "diff", "--quiet", "HEAD", "--", ".", ":!docs"], check=False, capture_output=True
    ).returncode
    return f"{name} with changes" if differs else name


class LoadWatch:
    """The load of the machine while something is measured."""

    def __init__(self) -> None:
        self.begun_s = time.monotonic()
        self.before = processor_ticks()
        self.loads: list[float] = []
        self.note()

    def note(self) -> None:
        """Notes the load average of the last minute."""
        self.loads.append(os.getloadavg()[0])

    def summary(self) -> dict[str, float]:
        """The load averages noted, and the part of all processors' time that the host gave to others, in percent."""
        stolen, total = (after - before for after, before in zip(processor_ticks(), self.before, strict=True))
        return {
            "load_before": self.loads[0],
            "load_median": sorted(self.loads)[len(self.loads) // 2],
            "load_highest": max(self.loads),
            "stolen_percent": 100 * stolen / total if total else 0.0,
            "minutes": (time.monotonic() - self.begun_s) / 60,
        }


def processor_ticks() -> tuple[int, int]:
    """Ticks of all processors that the host gave to others, and all ticks, since the machine started."""
    first = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
    # user nice system idle iowait irq softirq steal; the time of guests is contained in the first two.
    ticks = [int(word) for word in first.split()[1:9]]
    return ticks[7], sum(ticks)
