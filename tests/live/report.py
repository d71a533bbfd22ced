"""The page of the documentation: the text of `report.md` with the tables that were measured."""

import json
import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.live.lab import ROOT
from tests.live.outcome import Outcome

TEMPLATE = Path(__file__).with_name("report.md")
PAGE = ROOT / "docs/guide/live-comparison.md"
RESULTS = ROOT / "out/live/results.json"
# Of the short form, so that the page never has them.
SHORT_RESULTS = ROOT / "out/live/short.json"
PLACE = re.compile(r"<!-- (\w+): (\w+) -->")


def machine() -> dict[str, Any]:
    """Where and when it was measured."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "kernel": platform.release(),
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
    }


def save(outcome: Outcome, short: bool) -> None:
    """Put a part into its results file."""
    path = SHORT_RESULTS if short else RESULTS
    results = json.loads(path.read_text()) if path.exists() else {}
    results[outcome.part] = {"machine": machine(), **outcome.as_json()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))


def block(what: str, part: dict[str, Any] | None, name: str) -> str:
    """The text for a place of the template."""
    if part is None:
        return f"*Not measured yet: `make live-test PARTS={name}`.*"
    outcome, where = Outcome.read(part), part["machine"]
    if what == "tables":
        measured = (
            f"*Measured {where['date']}, Linux {where['kernel']}, {where['cores']} cores of {where['processor']}, "
        )
        measured += f"load {where['load']}.*"
        return "\n\n".join([f"**{sheet.title}**\n\n{sheet.markdown()}" for sheet in outcome.sheets] + [measured])
    if what == "claims":
        return "\n".join(
            f"- {'holds' if claim.holds else '**does not hold**'}: {claim.text} ({claim.found})"
            for claim in outcome.claims
        )
    return "\n".join(f"- {note}" for note in outcome.notes)


def write() -> Path:
    """Write the page from the results file."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    text = TEMPLATE.read_text()
    page = PLACE.sub(lambda place: block(place.group(1), results.get(place.group(2)), place.group(2)), text)
    # A part without notes leaves no gap.
    PAGE.write_text(re.sub(r"\n{3,}", "\n\n", page))
    return PAGE
