"""The base of metrics of metrics, and their iteration over the axis or the variants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from forebay.experiment.coordinates import Coordinates
from forebay.experiment.errors import NotRunError

from .metric import MetricRuns, Parts, Placed

if TYPE_CHECKING:
    from .metric import MetricRef, Samples


class Derived(Placed):
    """A metric of the metric `of`, in its unit unless the kind says otherwise."""

    needs_runs: ClassVar[bool] = False

    if TYPE_CHECKING:
        # Each kind declares the key itself: messages list keys in the order in which they are declared.
        of: MetricRef

    def parts(self) -> Parts:
        """`of`, and the variant that it is placed in."""
        return Parts([self.of], super().parts().variants)

    def unit_in(self, runs: MetricRuns) -> str:
        """Return the unit of `of`."""
        return runs.unit(self.of)

    def spans_axis(self, runs: MetricRuns) -> bool:
        """Return whether `of` does."""
        return runs.spans_axis(self.of)


class Spanning(Derived):
    """A metric of the values that another has along the axis, or in several variants."""

    if TYPE_CHECKING:
        variants: list[str] | None
        xs: list[float] | None

    def parts(self) -> Parts:
        """`of`, the variant that it is placed in, and those that it goes along."""
        parts = super().parts()
        return Parts(parts.metrics, [*parts.variants, *(self.variants or [])])

    def spans_axis(self, runs: MetricRuns) -> bool:
        """Return whether it goes along the axis, or `of` does."""
        return self.variants is None or super().spans_axis(runs)

    def spanned_variants(self) -> list[str] | None:
        """Return the variants that it goes along."""
        return self.variants

    def along(self, at: Coordinates, runs: MetricRuns) -> list[tuple[str, Samples]]:
        """Return the samples of `of` at each value of the axis, or in each of the variants, with a label."""
        if self.variants is None:
            xs = [x for x in runs.xs(at.setting, at.variant) if self.xs is None or x in self.xs]
            places = [(f"{at.variant}, {x:g}", replace(at, x=x)) for x in xs]
        else:
            suffix = "" if at.x is None or runs.spans_axis(self.of) else f", {at.x:g}"
            places = [(f"{name}{suffix}", replace(at, variant=name)) for name in self.variants]
        return [(label, runs.evaluate_one(self.of, place).samples) for label, place in places]


class Curve(Derived):
    """A metric of the curve that another makes over the whole axis."""

    def spans_axis(self, _runs: MetricRuns) -> bool:
        """Return True: it always does."""
        return True

    def curves(self, at: Coordinates, runs: MetricRuns) -> tuple[Samples, Samples]:
        """Return the values of the axis, ascending, and the samples of `of`: a row for each, a column for each seed."""
        xs = sorted(runs.xs(at.setting, at.variant))
        if not xs:
            raise not_run_along(at, runs)
        return np.array(xs), np.array([runs.evaluate_one(self.of, replace(at, x=x)).samples for x in xs])


def not_run_along(at: Coordinates, runs: MetricRuns) -> NotRunError:
    """Return the error where the axis has no value that is run."""
    return NotRunError(f"{runs.name}: there is no run along ({at.label()})")
