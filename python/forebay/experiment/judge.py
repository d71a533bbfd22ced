"""Claims and their verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from .coordinates import BASE, Coordinates
from .errors import NotRunError

if TYPE_CHECKING:
    from forebay.runs.statistics import Estimate

    from .metrics import Value
    from .runs import Runs
    from .schema import Check, Claim

Verdict = Literal["reproduced", "not reproduced", "undecided", "not judged"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All verdicts, in the order in which they are counted."""


@dataclass(frozen=True)
class Finding:
    """One value of a check, compared with the band."""

    label: str
    estimate: Estimate
    holds: bool
    """Whether the mean is in the band."""
    margin: float
    """Distance from the mean to the nearest edge of the band; negative outside the band."""
    width: float = math.inf
    """Distance between the two edges of the band; infinite if it has only one."""
    exact: bool = False
    """Whether the band is a single number."""
    lone: bool = False
    """Whether the value comes from one seed, although the experiment file asks for more."""

    @property
    def undecided(self) -> bool:
        """Whether the seeds are too few for a verdict.

        The confidence interval is wider than the band and overlaps it. One lone seed has an unbounded interval. A band
        with one edge has no width, so its verdict always follows the mean.
        """
        if math.isnan(self.margin) or math.isinf(self.width):
            return False
        if self.exact and not self.holds:
            # At least one seed missed the number, whatever the interval is.
            return False
        if self.lone:
            return True
        ci95 = self.estimate.ci95
        return ci95 is not None and 2.0 * ci95 > self.width and self.margin > -ci95

    @property
    def is_near_edge(self) -> bool:
        """Whether an edge of the band is within the confidence interval: other seeds might fall on its other side."""
        ci95 = self.estimate.ci95
        return ci95 is not None and ci95 > 0.0 and math.isfinite(self.margin) and abs(self.margin) <= ci95

    @property
    def seeds_to_tell(self) -> int | None:
        """Return about how many seeds would decide; None if thousands would not.

        For an undecided value: until the interval is narrower than the band. For others: until it excludes the edge.
        """
        return self.estimate.samples_to_tell(self.width / 2.0 if self.undecided else abs(self.margin))


@dataclass(frozen=True)
class CheckResult:
    """All values of a check."""

    check: Check
    unit: str
    findings: list[Finding]

    @property
    def worst(self) -> Finding:
        """The value least inside, or farthest outside, the band."""
        return min(self.findings, key=lambda finding: -math.inf if math.isnan(finding.margin) else finding.margin)

    @property
    def holds(self) -> bool:
        """Whether every value is in the band."""
        return all(finding.holds for finding in self.findings)

    @property
    def fails(self) -> bool:
        """Whether a value is outside the band and its interval is narrow enough to say so."""
        return any(not finding.holds and not finding.undecided for finding in self.findings)

    @property
    def undecided(self) -> list[Finding]:
        """The values for which the seeds are too few."""
        return [finding for finding in self.findings if finding.undecided]


@dataclass(frozen=True)
class ClaimResult:
    """A claim with what was measured."""

    claim: Claim
    checks: list[CheckResult]
    verdict: Verdict
    reason: str = ""
    """Why it is not judged, or undecided."""

    @property
    def has_parts(self) -> bool:
        """Whether more than one value decides it, so that the failed ones must be shown."""
        return len(self.checks) > 1 or any(len(check.findings) > 1 for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Return the claim as `reproduce --json` prints it.

        `value` and `ci95` are those of the value least inside, or farthest outside, its band; with several checks they
        are lists in the order of `checks`.
        """
        values = [_finite(check.worst.estimate.mean) for check in self.checks]
        intervals = [_finite(check.worst.estimate.ci95) for check in self.checks]
        single = len(self.checks) <= 1
        return {
            "id": self.claim.id,
            "where": self.claim.where,
            "paper": self.claim.paper,
            "band": self.claim.band,
            "value": next(iter(values), None) if single else values,
            "ci95": next(iter(intervals), None) if single else intervals,
            "verdict": self.verdict,
            "reason": self.reason or None,
            "checks": [_check_json(result) for result in self.checks],
        }


def _check_json(result: CheckResult) -> dict[str, Any]:
    worst = result.worst
    return {
        "label": result.check.label,
        "value": _finite(worst.estimate.mean),
        "ci95": _finite(worst.estimate.ci95),
        "band": result.check.band.text(),
        "unit": result.unit,
        "holds": result.holds,
        "undecided": bool(result.undecided),
        "values": [_finding_json(finding) for finding in result.findings],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "label": finding.label,
        "value": _finite(finding.estimate.mean),
        "ci95": _finite(finding.estimate.ci95),
        "holds": finding.holds,
        "undecided": finding.undecided,
        "near_edge": finding.is_near_edge,
        "seeds_to_tell": finding.seeds_to_tell if finding.is_near_edge or finding.undecided else None,
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity and no NaN."""
    return value if value is not None and math.isfinite(value) else None


def judge_all(runs: Runs, setting: str = BASE) -> list[ClaimResult]:
    """Every claim of the experiment, at one setting. Only the base setting's verdicts count."""
    return [judge(runs, claim, setting) for claim in runs.experiment.claims]


def judge(runs: Runs, claim: Claim, setting: str = BASE) -> ClaimResult:
    """Measure a claim's metrics and compare their means over seeds with the bands."""
    waiting_for = runs.experiment.why_not_judged(claim)
    if waiting_for:
        return ClaimResult(claim, [], "not judged", waiting_for)
    left_out = ClaimResult(claim, [], "not judged", "needs a full run" if runs.quick else "")
    if runs.quick and not claim.quick:
        return left_out
    try:
        checks = [_measure(runs, check, setting) for check in claim.checks]
    except NotRunError:
        # A quick run, or that of a sensitivity, may leave out what a metric names.
        if not runs.quick and setting == BASE:
            raise
        return left_out
    if not all(check.findings for check in checks):
        # Or every value of the axis, or every variant, that a check names.
        return left_out
    if runs.seeds(setting) < claim.seeds:
        # The measurement is shown, but neither side of the edge is claimed.
        return ClaimResult(claim, checks, "not judged", f"needs {claim.seeds} seeds")
    return ClaimResult(claim, checks, *_verdict(checks))


def _verdict(checks: list[CheckResult]) -> tuple[Verdict, str]:
    """Return the verdict over all checks, and the reason if it is undecided.

    One check that fails decides against the claim, whatever the others are.
    """
    if any(check.fails for check in checks):
        return "not reproduced", ""
    if undecided := [finding for check in checks for finding in check.undecided]:
        return "undecided", _why_undecided(undecided)
    return "reproduced", ""


def _why_undecided(findings: list[Finding]) -> str:
    if any(finding.lone for finding in findings):
        return "one seed has no interval"
    needed = [finding.seeds_to_tell for finding in findings]
    known = [count for count in needed if count is not None]
    more = f"about {max(known)} seeds would be enough" if len(known) == len(needed) else "too many seeds are needed"
    return f"the interval is wider than the band; {more}"


def _measure(runs: Runs, check: Check, setting: str) -> CheckResult:
    values: list[Value] = []
    for at in places(runs, check, setting):
        values += runs.evaluate(check.metric, at)
    band, lone = check.band, runs.is_lone(setting) and runs.depends_on_seeds(check.metric)
    findings = []
    for value in values:
        estimate = value.estimate()
        holds, margin = band.holds(estimate.mean), band.margin(estimate.mean)
        findings.append(Finding(value.label, estimate, holds, margin, band.width, band.equals is not None, lone))
    return CheckResult(check, runs.unit(check.metric), findings)


def places(runs: Runs, check: Check, setting: str) -> list[Coordinates]:
    """Where a check is evaluated: at each of its variants and each value of the axis that it names."""
    metric = runs.experiment.resolve(check.metric)
    run = [variant.name for variant in runs.experiment.variants_run(quick=runs.quick)]
    variants = [name for name in check.variants or run[:1] if name in run]
    if (spanned := metric.spanned_variants()) is not None:
        # It goes along the variants by itself.
        variants = [name for name in spanned[:1] if name in run]
    found = []
    for variant in variants:
        xs: list[float | None] = [*runs.xs(setting, variant)]
        if runs.experiment.vary is None:
            xs = [None]
        if check.x is not None:
            xs = [x for x in xs if x in check.x]
        if check.x_from is not None:
            xs = [x for x in xs if x is not None and x >= check.x_from]
        if metric.spans_axis(runs):
            xs = xs[:1]
        found += [Coordinates(setting, variant, x) for x in xs]
    return found
