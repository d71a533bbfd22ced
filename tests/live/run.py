"""Tests the data plane with real traffic between network namespaces: `make live-test`, as root.

The parts are in `parts/`, each with what it measures. Results go into out/live/results.json, and from there into
docs/guide/live-comparison.md; those of the short form go into out/live/short.json and not into the page.

Exit status: 0 all claims hold, 1 some does not, 2 a part could not be measured or the command line is wrong.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from tests.live import report
from tests.live.lab import LabError, SkippedError, end_on_signals, need_namespaces
from tests.live.outcome import Options, Outcome
from tests.live.parts import conservation, disciplines, failover, hostile, inputs, lateness, speed
from tests.live.plane import need_binary

PARTS: dict[str, Callable[[Options], Outcome]] = {
    "inputs": inputs.run,
    "disciplines": disciplines.run,
    "conservation": conservation.run,
    "failover": failover.run,
    "speed": speed.run,
    "lateness": lateness.run,
    "hostile": hostile.run,
}


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make live-test", description=__doc__.split("\n", 1)[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="shorter, and without a page")
    parser.add_argument("--seed", type=int, default=1, help="of mutated frames and of changes (1)")
    parser.add_argument("--scale", type=float, default=1, help="of counts and rounds (1)")
    parser.add_argument("--page", action="store_true", help="only write the page anew from the results")
    found = parser.parse_args(arguments)
    unknown = [part for part in found.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}: there are {', '.join(PARTS)}")
    return found


def run_part(name: str, options: Options, console: Console) -> int:
    """Run one part and print it; returns the exit status that it asks for."""
    begin = time.monotonic()
    console.rule(name)
    try:
        outcome = PARTS[name](options)
    except SkippedError as reason:
        console.print(f"skipped: {name}: {escape(str(reason))}", soft_wrap=True)
        return 0
    except LabError as error:
        console.print(f"[red]not measured[/]: {name}: {escape(str(error))}", soft_wrap=True)
        return 2
    outcome.show(console)
    console.print(f"{time.monotonic() - begin:.0f} s")
    report.save(outcome, options.short)
    return 1 if outcome.failed else 0


def main(arguments: Sequence[str]) -> int:
    """Run the parts."""
    found = read_arguments(arguments)
    console = Console(width=None if sys.stdout.isatty() else 200)
    if found.page:
        console.print(report.write())
        return 0
    end_on_signals()
    try:
        need_namespaces()
        need_binary()
    except SkippedError as reason:
        console.print(f"skipped: {escape(str(reason))}", soft_wrap=True)
        return 0
    options = Options(quick=found.quick, seed=found.seed, scale=found.scale)
    statuses = [run_part(name, options, console) for name in found.parts or PARTS]
    if not options.short:
        console.print(report.write())
    return max(statuses)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
