"""The tables of an experiment: paper and measured values side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.text import Text

from forebay.display import folding
from forebay.runs.statistics import Estimate

from .coordinates import BASE, Coordinates
from .errors import NotRunError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .judge import CheckResult, ClaimResult, Finding
    from .plan import Plan
    from .runs import Runs
    from .schema import Table, TableColumn


@dataclass(frozen=True)
class Row:
    """One row: the paper's cells as the file has them, and the measured ones."""

    label: str
    paper: list[float | str] | None
    measured: list[Estimate]


def table_rows(runs: Runs, table: Table, setting: str = BASE) -> list[Row]:
    """Measure every cell of a table; leave out rows of which nothing is run."""
    base = replace(runs.base(), setting=setting)
    rows: list[tuple[str, str, Coordinates]]
    match table.rows:
        case "variants":
            rows = [
                (variant.label or variant.name, variant.name, replace(base, variant=variant.name))
                for variant in runs.experiment.variants_run(quick=runs.quick)
                if table.only is None or variant.name in table.only
            ]
        case "x":
            rows = [(f"{x:g}", f"{x:g}", replace(base, x=x)) for x in runs.xs()]
        case "once":
            rows = [("", "paper", base)]
    measured = []
    for label, key, at in rows:
        cells = [_cell(runs, column, at) for column in table.columns]
        # A row without runs is left out.
        if any(cell is not None for cell in cells):
            measured.append(Row(label, table.paper.get(key), [cell or Estimate(math.nan, None) for cell in cells]))
    return measured


def _cell(runs: Runs, column: TableColumn, at: Coordinates) -> Estimate | None:
    """Return the value of a cell; None where the column's variant is not run at the row's x, or not in a quick run."""
    try:
        return runs.evaluate_one_estimate(column.metric, replace(at, variant=column.variant or at.variant))
    except NotRunError:
        return None


def render_experiment(plan: Plan, runs: Runs, claims: list[ClaimResult], width: int) -> list[RenderableType]:
    """Describe the experiment, its tables and its claims, for lines of that width."""
    experiment = plan.experiment
    parts: list[RenderableType] = [Text.assemble((experiment.id, "bold"), f"  {experiment.title} ({experiment.where})")]
    if plan.quick:
        parts.append(Text(f"quick: {plan.seeds} seed{'' if plan.seeds == 1 else 's'}. {experiment.quick.why}".rstrip()))
    for table in experiment.tables:
        # A quick run may leave out every row.
        if rows := table_rows(runs, table):
            parts += render_table(table, rows, width)
    return parts + (render_claims(claims, "Claims", width) if claims else [])


def render_table(table: Table, rows: list[Row], width: int) -> list[RenderableType]:
    """Return the table for a terminal of that width: under each row of the paper, ours with the 95 % interval."""
    names: list[str] = []
    lines: list[list[str]] = []
    for row in rows:
        if row.paper is not None:
            names.append(f"{row.label} paper".strip())
            lines.append([cell if isinstance(cell, str) else f"{cell:g}" for cell in row.paper])
        names.append(f"{row.label} measured".strip())
        cells = zip(row.measured, table.columns, strict=True)
        lines.append([format_estimate(estimate, column.decimals) for estimate, column in cells])
    columns = [
        folding.Column(f"{column.label}\n{column.unit}".rstrip(), [line[index] for line in lines])
        for index, column in enumerate(table.columns)
    ]
    return folding.folded("", names, columns, width, title=table.title)


def format_estimate(estimate: Estimate, decimals: int) -> str:
    """Return the mean with its interval, "19.4 ± 0.3", or "19.4" where there is none."""
    if math.isnan(estimate.mean):
        return "-"
    text = f"{estimate.mean:.{decimals}f}"
    return text if estimate.ci95 is None else f"{text} ± {estimate.ci95:.{decimals}f}"


def format_significant(estimate: Estimate, unit: str = "") -> str:
    """Return the mean with its interval to about three significant digits of the mean."""
    if math.isnan(estimate.mean):
        return "none"
    suffix = f" {unit}" if unit else ""
    if math.isinf(estimate.mean):
        return f"unbounded{suffix}"
    size = max(abs(estimate.mean), estimate.ci95 or 0.0)
    decimals = 0 if size == 0.0 else max(0, 2 - math.floor(math.log10(size)))
    return format_estimate(estimate, min(decimals, 6)) + suffix


STYLES: dict[str, str] = {
    "reproduced": "green",
    "not reproduced": "bold red",
    "undecided": "yellow",
    "not judged": "yellow",
}


def render_claims(results: list[ClaimResult], title: str, width: int) -> list[RenderableType]:
    """Return the claims with their bands, measured values and verdicts; of several checks those that fail in red."""

    def measured(result: ClaimResult) -> Text:
        return Text("\n").join(
            Text(measured_line(check), style="red" if check.fails and result.verdict != "not judged" else "")
            for check in result.checks
        )

    verdicts = [Text(verdict_text(result), style=STYLES[result.verdict]) for result in results]
    columns = [
        folding.Column("paper", [result.claim.paper for result in results], is_text=True),
        folding.Column("band", [result.claim.band for result in results], is_text=True),
        folding.Column("measured", [measured(result) for result in results], is_text=True),
        folding.Column("verdict", verdicts, is_text=True),
    ]
    return folding.folded("claim", [result.claim.id for result in results], columns, width, title=title, leading=1)


def verdict_text(result: ClaimResult) -> str:
    """Return the verdict, and why it is none: "not judged: needs 10 seeds"."""
    return f"{result.verdict}: {result.reason}" if result.reason else result.verdict


def measured_text(result: ClaimResult) -> str:
    """Return what was measured, one line for each check."""
    return "\n".join(measured_line(check) for check in result.checks)


def measured_line(check: CheckResult) -> str:
    """Return the value of a check; of several the worst with its place, what fails, and what seeds do not decide."""
    worst = check.worst
    text = format_significant(worst.estimate, check.unit)
    if check.check.label:
        text = f"{check.check.label}: {text}"
    if len(check.findings) > 1:
        text += f" (worst of {len(check.findings)}: {worst.label})"
    if check.fails:
        text += f", fails {check.check.band.text()}"
    if check.undecided:
        text += f"; {undecided_text(check.undecided)}"
    elif worst.is_near_edge:
        text += f"; {near_edge_text(worst)}"
    return text


def undecided_text(findings: list[Finding]) -> str:
    """Return that the interval of these values is wider than their band, and the largest of them."""
    if any(finding.lone for finding in findings):
        return "undecided: one seed has no interval"
    widest = max(findings, key=lambda finding: finding.estimate.ci95 or 0.0)
    place = f", {widest.label}" if len(findings) > 1 else ""
    return (
        f"undecided: the interval is {2.0 * (widest.estimate.ci95 or 0.0):.3g} wide, the band {widest.width:g}{place}"
    )


def near_edge_text(finding: Finding) -> str:
    """Return that the band's edge is within the interval, and how many seeds would make it narrow enough."""
    needed = finding.seeds_to_tell
    would = f"about {needed} would" if needed is not None else "nor would thousands"
    return f"near the edge: {finding.estimate.count} seeds do not decide, {would}"
