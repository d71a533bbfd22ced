"""The output of `forebay reproduce` as a section: claims with their verdicts, every value behind them, figures."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from forebay.errors import InputError
from forebay.storage.stored import UNREADABLE, open_file, read_document, reason_of

from .parts import Cell, Head, Part, Picture, Section, Table
from .tables import NONE, name_cell, number_text

CLAIMS_FILE = "claims.json"
_TONES: dict[str, Any] = {
    "reproduced": "good",
    "not reproduced": "bad",
    "undecided": "open",
    "not judged": "open",
}
_TONES_OF_VALUES: dict[str, Any] = {"holds": "good", "fails": "bad", "undecided": "open"}
_MOST_PICTURES = 3_000_000
"""Bytes of all figures of a folder."""


def claims_section(folder: Path, heading: str) -> Section:
    """Raise InputError if the folder's claims cannot be read."""
    path = folder / CLAIMS_FILE
    try:
        return _section(folder, heading, read_document(path)["experiments"])
    except UNREADABLE as error:
        message = f"cannot read {path}: {reason_of(error)}\nhint: `forebay reproduce --out {folder}` writes it again"
        raise InputError(message) from None


def _section(folder: Path, heading: str, experiments: list[dict[str, Any]]) -> Section:
    claims = [(experiment, claim) for experiment in experiments for claim in experiment["claims"]]
    parts: list[Part] = [_claims(claims), *_values(claims)]
    counts = Counter(claim["verdict"] for _, claim in claims)
    pictures, left_out = _pictures(folder, [experiment["id"] for experiment in experiments])
    notes = []
    if any(experiment["quick"] for experiment in experiments):
        notes.append("Quick runs: fewer seeds, and shorter if the experiment sets so.")
    notes += [f"Warning: {warning}." for experiment in experiments for warning in experiment.get("warnings", [])]
    if left_out:
        notes.append(f"{left_out} of the figures are in the folder only: they would make the page too large.")
    return Section(
        heading,
        facts=[
            ("Experiments", str(len(experiments))),
            ("Claims", str(len(claims))),
            *((verdict.capitalize(), str(counts[verdict])) for verdict in _TONES if counts[verdict]),
        ],
        about=notes,
        repeat=_repeat(experiments),
        parts=[*parts, *pictures],
    )


def _repeat(experiments: list[dict[str, Any]]) -> str:
    """Return a command for each scale at which experiments were run."""
    together: dict[tuple[bool, int], list[str]] = {}
    for experiment in experiments:
        together.setdefault((experiment["quick"], experiment["seeds"]), []).append(experiment["id"])
    lines = []
    for (quick, seeds), ids in together.items():
        words = ["forebay", "reproduce", *ids, "--seeds", str(seeds), *(["--quick"] if quick else [])]
        lines.append(shlex.join(words))
    return "\n".join(lines)


def _claims(claims: list[tuple[dict[str, Any], dict[str, Any]]]) -> Table:
    names = ("Claim", "Experiment", "Where", "Paper", "Band", "Measured", "Verdict")
    rows = []
    for experiment, claim in claims:
        measured = "; ".join(_check_text(check) for check in claim["checks"]) or "-"
        verdict = claim["verdict"] + (f": {claim['reason']}" if claim["reason"] else "")
        cells = [claim["id"], experiment["id"], claim["where"], claim["paper"], claim["band"], measured]
        tone = _TONES.get(claim["verdict"], "")
        rows.append([*(name_cell(str(text)) for text in cells), Cell(verdict, verdict, tone=tone)])
    return Table("Claims", [Head(name, is_text=True) for name in names], rows)


def _check_text(check: dict[str, Any]) -> str:
    label = f"{check['label']}: " if check["label"] else ""
    return label + _measured(check["value"], check["ci95"], check["unit"])


def _measured(value: float | None, half: float | None, unit: str) -> str:
    if value is None:
        return "-"
    interval = "" if half is None else f" ± {number_text(half, 2)}"
    return f"{number_text(value)}{interval} {unit}".strip()


def _values(claims: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[Table]:
    """Every value that decides a claim, with the distance that other seeds may make."""
    heads = [Head(name, is_text=True) for name in ("Claim", "Check", "Place", "Band")]
    heads += [Head("Measured"), Head("Unit", is_text=True), Head("In the band", is_text=True), Head("Seeds to tell")]
    rows = []
    for _, claim in claims:
        for check in claim["checks"]:
            for value in check["values"]:
                # Claims that an older version wrote have no such entry.
                undecided = value.get("undecided", False)
                holds = "undecided" if undecided else "holds" if value["holds"] else "fails"
                near = ", near its edge" if value["near_edge"] and not undecided else ""
                known = value["value"] is not None
                interval = "" if value["ci95"] is None else number_text(value["ci95"], 2)
                seeds = value["seeds_to_tell"]
                rows.append(
                    [
                        *(name_cell(text) for text in (claim["id"], check["label"], value["label"], check["band"])),
                        Cell(number_text(value["value"]), value["value"], interval) if known else NONE,
                        name_cell(check["unit"]),
                        Cell(holds + near, holds + near, tone=_TONES_OF_VALUES[holds]),
                        NONE if seeds is None else Cell(f"{seeds:,}", seeds),
                    ]
                )
    return [Table("Values behind the claims", heads, rows)] if rows else []


def _pictures(folder: Path, ids: list[str]) -> tuple[list[Picture], int]:
    """Return the figures of the experiments, as many as fit, and how many do not."""
    pictures, left_out, size = [], 0, 0
    for name in ids:
        # An experiment's name has no more than its paper and its own.
        inside = folder / name if re.fullmatch(r"[\w.-]+(/[\w.-]+)*", name) and ".." not in name else folder
        for path in sorted(inside.glob("*.svg")):
            with open_file(path) as file:
                svg = file.read()
            if size + len(svg) > _MOST_PICTURES:
                left_out += 1
                continue
            size += len(svg)
            pictures.append(Picture(f"{name}: {path.stem}", svg))
    return pictures, left_out
