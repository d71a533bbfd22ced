"""The output of `forebay reproduce`: a page for each experiment, and the claims of the whole call."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from forebay import experiment as experiments
from forebay.folder import staged

from .judge import VERDICTS, ClaimResult, judge_all
from .tables import (
    format_estimate,
    format_significant,
    measured_text,
    near_edge_text,
    table_rows,
    undecided_text,
    verdict_text,
)

if TYPE_CHECKING:
    from pathlib import Path

    from .plan import Plan
    from .runs import Runs


def experiment_json(plan: Plan, claims: list[ClaimResult]) -> dict[str, Any]:
    """One object of the list `experiments` of `reproduce --json`."""
    return {
        "id": plan.experiment.id,
        "title": plan.experiment.title,
        "quick": plan.quick,
        "seeds": plan.seeds,
        "claims": [claim.to_json() for claim in claims],
        "warnings": warnings_of(plan, claims),
    }


def warnings_of(plan: Plan, claims: list[ClaimResult]) -> list[str]:
    """Return a warning for each way in which the seeds are too few for the verdicts of an experiment."""
    name, found = plan.experiment.id, []
    if undecided := [result.claim.id for result in claims if result.verdict == "undecided"]:
        found.append(f"{name}: too few seeds to decide {', '.join(undecided)}; take more with --seeds")
    judged = [result for result in claims if result.verdict in ("reproduced", "not reproduced")]
    if plan.seeds == 1 and plan.jobs and judged:
        found.append(f"{name}: one seed has no confidence interval, so other seeds may change the verdicts")
    return found


def count_line(claims: list[ClaimResult]) -> str:
    """Return how many claims hold: "31 claims: 29 reproduced, 2 not reproduced"."""
    counts = Counter[str](claim.verdict for claim in claims)
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{len(claims)} claim{'' if len(claims) == 1 else 's'}{': ' if parts else ''}{parts}"


def write_scenarios(plan: Plan, folder: Path) -> None:
    """Write each scenario to its own file, so that any single run can be repeated with `forebay run`."""
    if not plan.jobs:
        return
    with staged(folder / "scenarios") as staging:
        for job in plan.jobs:
            if job.seed == 1:
                name = re.sub(r"[^a-z0-9.]+", "-", job.key.at.label().lower()).strip("-")
                (staging / f"{name}.toml").write_text(job.text, encoding="utf-8")


def write_experiment(folder: Path, plan: Plan, runs: Runs, claims: list[ClaimResult]) -> list[Path]:
    """Draw the figures and write the page; return the files of the figures."""
    with staged(folder) as staging:
        figures = experiments.figures.draw_figures(runs, staging)
        write_page(staging / "report.md", runs, plan, claims, figures)
    return [folder / figure.name for figure in figures]


def write_page(path: Path, runs: Runs, plan: Plan, claims: list[ClaimResult], figures: list[Path]) -> None:
    """Write the experiment's own page: tables, claims, choices, sensitivity, figures."""
    experiment = plan.experiment
    lines = [f"# {experiment.id}: {experiment.title}", "", f"{experiment.where}. {_scale(plan)}", ""]
    if experiment.about:
        lines += [experiment.about.strip(), ""]
    lines += [line for warning in warnings_of(plan, claims) for line in (f"Warning: {warning}.", "")]
    for table in experiment.tables:
        rows = table_rows(runs, table)
        if not rows:
            continue
        lines += [f"## {table.title}", ""]
        lines += _row(["", "", *[f"{column.label} {column.unit}".strip() for column in table.columns]])
        lines += _row(["---"] * (len(table.columns) + 2))
        for row in rows:
            if row.paper is not None:
                lines += _row(
                    [row.label, "paper", *[cell if isinstance(cell, str) else f"{cell:g}" for cell in row.paper]]
                )
            cells = [
                format_estimate(cell, column.decimals) for cell, column in zip(row.measured, table.columns, strict=True)
            ]
            lines += _row(["" if row.paper is not None else row.label, "measured", *cells])
        lines.append("")
    lines += _claims(claims)
    lines += _sensitivity(runs, plan)
    if experiment.choices:
        lines += ["## Open points of the paper", ""]
        lines += [f"- {choice.what}: {choice.value}. {choice.why}" for choice in experiment.choices]
        lines.append("")
    lines += [f"![{figure.stem}]({figure.name})" for figure in figures if figure.suffix == ".png"]
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _scale(plan: Plan) -> str:
    seeds = f"{plan.seeds} seed{'' if plan.seeds == 1 else 's'}"
    return f"Quick run, {seeds}. {plan.experiment.quick.why}".rstrip() if plan.quick else f"Full scale, {seeds}."


def _row(cells: list[str]) -> list[str]:
    escaped = [cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells]
    return ["| " + " | ".join(escaped) + " |"]


def claims_markdown(claims: list[ClaimResult]) -> list[str]:
    """Return the claims as the lines of a Markdown table."""
    lines = _row(["claim", "paper", "band", "measured", "verdict"]) + _row(["---"] * 5)
    for result in claims:
        claim = result.claim
        lines += _row([claim.id, claim.paper, claim.band, measured_text(result), verdict_text(result)])
    return lines


def checks_markdown(claims: list[ClaimResult]) -> list[str]:
    """Every value of the claims that take several to decide, as the lines of a Markdown table; none without such."""
    lines = []
    for result in claims:
        for check in result.checks if result.has_parts else []:
            for finding in check.findings:
                label = ", ".join(part for part in (check.check.label, finding.label) if part)
                measured = format_significant(finding.estimate, check.unit)
                note = f"; {near_edge_text(finding)}" if finding.is_near_edge and not finding.undecided else ""
                holds = (
                    undecided_text([finding]) if finding.undecided else ("holds" if finding.holds else "fails") + note
                )
                lines += _row([result.claim.id, label, check.check.band.text(check.unit), measured, holds])
    head = _row(["claim", "check", "band", "measured", "in the band"]) + _row(["---"] * 5)
    return [*head, *lines] if lines else []


def _claims(claims: list[ClaimResult]) -> list[str]:
    if not claims:
        return []
    lines = ["## Claims", "", *claims_markdown(claims), ""]
    if checks := checks_markdown(claims):
        lines += ["### Their checks", "", *checks, ""]
    for result in claims:
        if result.claim.note:
            lines += [f"`{result.claim.id}`: {result.claim.note.strip()}", ""]
    return lines


def _sensitivity(runs: Runs, plan: Plan) -> list[str]:
    if plan.quick or not plan.experiment.sensitivity:
        return []
    lines = ["## Sensitivity", "", "The effect of the open choices on the measured values. Reported, not judged.", ""]
    settings = plan.experiment.sensitivity
    base = judge_all(runs)
    columns = [judge_all(runs, setting.name) for setting in settings]
    lines += _row(["claim", "as judged", *[setting.name for setting in settings]]) + _row(["---"] * (len(settings) + 2))
    for index, result in enumerate(base):
        cells = [measured_text(result), *[measured_text(column[index]) for column in columns]]
        lines += _row([result.claim.id, *cells])
    lines += ["", *[f"- {setting.name}: {setting.why}" for setting in settings], ""]
    return lines


def write_summary(folder: Path, experiments: list[dict[str, Any]], claims: list[ClaimResult]) -> None:
    """`claims.json` and `claims.md` of the whole call."""
    text = json.dumps({"experiments": experiments}, indent=2, allow_nan=False)
    (folder / "claims.json").write_text(text + "\n", encoding="utf-8")
    lines = ["# Claims", "", count_line(claims) + ".", "", *claims_markdown(claims)]
    (folder / "claims.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
