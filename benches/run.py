"""Speed and memory of Forebay compared with ns-2 and ns-3, and the growth of its cost: `make bench`; `make profile`.

The quantities and methods are described in `performance/__init__.py`. A call that measures everything writes the page
`docs/performance.md`; all others print their tables, and write a page to the folder of `--docs`.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from performance import instructions, machine, page, results
from performance.parts import PARTS, measured_by
from performance.processes import ProcessFailedError
from performance.results import Bench, NoResultsError
from performance.samples import Samples
from performance.scaling import CURVES, measure_curve
from performance.simulators import Simulator, SimulatorMissingError, bare_python_mb, forebays, ns2, ns3
from performance.suite import SCENARIOS, measure_suite
from performance.tables import Table, for_terminal

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "target" / "profile" / "release" / "lib_core.so"
PROFILE = "profile"
NAMES = [*(scenario.name for scenario in SCENARIOS), *(curve.name for curve in CURVES), *PARTS]
BAD_INPUT = 2


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Speed and memory of Forebay compared with ns-2 and ns-3 where installed."
    )
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help=f"{', '.join(NAMES)} or {PROFILE}; default: all but the last"
    )
    parser.add_argument("--repeats", type=int, help="runs of each, of which the median counts (default 3; quick 1)")
    parser.add_argument("--peers", default="ns2,ns3", help="ns2,ns3 (default), one of them, or nothing")
    parser.add_argument("--no-forebay", action="store_true", help="measure the peers alone")
    parser.add_argument("--quick", action="store_true", help="short runs and small sizes, to test the benchmark itself")
    parser.add_argument(
        "--json", action="store_true", help="one JSON document on standard output instead of the tables"
    )
    parser.add_argument("--page", action="store_true", help="measure nothing: draw the page from stored results")
    parser.add_argument(
        "--docs", type=Path, help="write the page into this folder (default: docs, after a full measurement)"
    )
    parser.add_argument("--core", type=Path, default=CORE, help=argparse.SUPPRESS)
    options = parser.parse_args()
    strange = [name for name in options.what if name not in (*NAMES, PROFILE)]
    if strange:
        parser.error(f"there is no benchmark `{strange[0]}`; there are {', '.join([*NAMES, PROFILE])}")
    if options.repeats is not None and options.repeats < 1:
        parser.error("--repeats must be at least 1")
    unknown = set(options.peers.split(",")) - {"ns2", "ns3", ""}
    if unknown:
        parser.error(f"there is no peer `{min(unknown)}`; there are ns2 and ns3")
    return options


class Bencher:
    """Measures what the command line asks for."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.quick: bool = options.quick
        self.repeats: int = options.repeats or (1 if options.quick else 3)
        self.wanted: list[str] = options.what or NAMES
        self.folder = folder
        self.console = Console(stderr=True)
        self.watch = machine.LoadWatch()
        self.skipped: list[str] = []
        self.forebays = [] if options.no_forebay else forebays()
        self.peers = self.found_peers(options.peers.split(","))

    def say(self, line: str) -> None:
        """A line about what is measured now."""
        self.console.print(line, highlight=False, soft_wrap=True)

    def found_peers(self, wanted: Sequence[str]) -> list[Simulator]:
        """The peers that are wanted and can be run; the others are listed with the reason."""
        found: list[Simulator] = []
        makers = {"ns2": ("ns-2", ns2), "ns3": ("ns-3", lambda: ns3(self.folder))}
        if not any(scenario.name in self.wanted for scenario in SCENARIOS):
            return found
        for key, (name, maker) in makers.items():
            if key in wanted:
                try:
                    found.append(maker())
                except SimulatorMissingError as missing:
                    self.skipped.append(f"{name}: {missing}")
        return found

    def measure(self) -> dict[str, Any]:
        """The document of all that was measured."""
        suite, failed = measure_suite(
            [scenario for scenario in SCENARIOS if scenario.name in self.wanted],
            [*self.forebays, *self.peers],
            self.repeats,
            quick=self.quick,
            watch=self.watch,
            say=self.say,
        )
        self.skipped += failed
        curves = self.measure_curves() if self.forebays else {}
        parts = self.measure_parts() if self.forebays else {}
        return {
            "date": machine.now(),
            "commit": machine.commit(),
            "quick": self.quick,
            "repeats": self.repeats,
            "machine": machine.describe(),
            "bare_python_mb": bare_python_mb(3),
            "suite": results.documents(suite),
            "scaling": {name: results.documents(measured) for name, measured in curves.items()},
            "parts": parts,
            "skipped": self.skipped,
            "load": self.watch.summary(),
        }

    def measure_curves(self) -> dict[str, list[Samples]]:
        """How the cost grows."""
        curves = {}
        for curve in CURVES:
            if curve.name in self.wanted:
                curves[curve.name], failed = measure_curve(
                    curve,
                    self.forebays,
                    self.repeats,
                    self.folder,
                    quick=self.quick,
                    watch=self.watch,
                    say=self.say,
                )
                self.skipped += failed
        return curves

    def measure_parts(self) -> dict[str, list[dict[str, Any]]]:
        """Measurements of separate programs; one that fails is listed with the reason."""
        parts = {}
        for name, part in PARTS.items():
            if name in self.wanted:
                self.say(f"[bold]{name}[/]: {part.description}")
                self.watch.note()
                try:
                    parts[name] = measured_by(part, name, quick=self.quick)
                except ProcessFailedError as failure:
                    self.skipped.append(str(failure))
        return parts


def show(tables: Sequence[Table], skipped: Sequence[str]) -> None:
    """Prints what was measured."""
    output = Console()
    if not output.is_terminal:
        output.width = 160
    for table in tables:
        output.print(for_terminal(table))
    for line in skipped:
        output.print(f"skipped: {line}", style="yellow", highlight=False)


def bench(options: argparse.Namespace) -> Path | None:
    """Measures and prints. Returns the folder of the page, if one must be written."""
    with tempfile.TemporaryDirectory() as folder:
        document = Bencher(options, Path(folder)).measure()
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        show(Bench(document).tables(), document["skipped"])
    everything = not (options.what or options.quick or options.no_forebay)
    docs: Path | None = options.docs or (ROOT / "docs" if everything else None)
    if docs is not None:
        results.store(docs, "bench", document)
    return docs


def profile(options: argparse.Namespace) -> Path | None:
    """Counts instructions and prints. Returns the folder of the page, if one must be written."""
    reason = instructions.missing(options.core)
    if reason is not None:
        show([], [f"{PROFILE}: {reason}"])
        return None
    chosen = [scenario for scenario in SCENARIOS if scenario.name in options.what]
    console = Console(stderr=True)
    document = instructions.profile_suite(
        chosen or SCENARIOS, options.core, lambda line: console.print(line, highlight=False, soft_wrap=True)
    )
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        show([instructions.profile_table(document), instructions.module_table(document)], [])
    docs: Path | None = options.docs or (None if chosen else ROOT / "docs")
    if docs is None or "bench" not in results.store(docs, PROFILE, document):
        return None
    return docs


def main() -> int:
    """Measures, prints, and answers 0: a goal that is missed is shown, not an error."""
    options = arguments()
    try:
        if options.page:
            docs = options.docs or ROOT / "docs"
        else:
            docs = profile(options) if PROFILE in options.what else bench(options)
        if docs is not None:
            print(page.write(docs), file=sys.stderr)
    except NoResultsError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
