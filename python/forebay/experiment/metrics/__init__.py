"""The metrics that an experiment file can name: a short list of functions with parameters, and no expression language.

A metric is evaluated for one variant and one value of the axis, and has one value for each seed. They are those of its
own `variant` and `x`, else those of its check, table or figure. Each kind is a class in a file of its own, which
is imported here and has its place in the table of kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Discriminator, Tag

from .average import AverageMetric
from .column import ColumnMetric
from .constant import ConstantMetric
from .convergence import ConvergenceMetric
from .crossing import CrossingMetric
from .dbl_collision import DblCollision
from .dbl_collision_measured import DblCollisionMeasured
from .dbl_cost import DblCost
from .dbl_identification_bound import DblIdentificationBound
from .difference import DifferenceMetric
from .e_folding import EFoldingMetric
from .fair_share import FairShareMetric
from .metric import Metric, Value
from .outcome_metric import OutcomeMetric
from .ratio import RatioMetric
from .recovery import RecoveryMetric
from .series import SeriesMetric
from .sfb_best_levels import SfbBestLevels
from .sfb_crossing import SfbCrossing
from .sfb_misclassification import SfbMisclassification
from .sfb_misclassification_measured import SfbMisclassificationMeasured
from .spread import SpreadMetric
from .step import StepMetric
from .windows import WindowsMetric

__all__ = ["KINDS", "Metric", "MetricRef", "OutcomeMetric", "Value"]

KINDS: dict[str, type[Metric]] = {
    kind.name_of_kind(): kind
    for kind in (
        ColumnMetric,
        SeriesMetric,
        WindowsMetric,
        RecoveryMetric,
        ConvergenceMetric,
        EFoldingMetric,
        FairShareMetric,
        DifferenceMetric,
        RatioMetric,
        StepMetric,
        CrossingMetric,
        AverageMetric,
        SpreadMetric,
        ConstantMetric,
        DblIdentificationBound,
        DblCollision,
        DblCollisionMeasured,
        DblCost,
        SfbMisclassification,
        SfbMisclassificationMeasured,
        SfbBestLevels,
        SfbCrossing,
    )
}
"""The values of `kind`, in the order of messages."""


def _tag(value: Any) -> str:
    if isinstance(value, str):
        return "name"
    if isinstance(value, dict):
        return str(value.get("kind", "none"))
    return str(getattr(value, "kind", "none"))


if TYPE_CHECKING:
    from .metric import MetricRef
else:
    MetricRef = Annotated[
        Union[Annotated[str, Tag("name")], *(Annotated[kind, Tag(name)] for name, kind in KINDS.items())],
        Discriminator(
            _tag,
            custom_error_type="metric_kind",
            custom_error_message="a metric is the name of one under [metrics], or a table whose `kind` is one of "
            + ", ".join(KINDS),
        ),
    ]
"""A metric as the file gives it: in full, or the name of one under `[metrics]`."""

# Metrics of metrics refer to what is only known here.
for _kind in KINDS.values():
    _kind.model_rebuild(_types_namespace={"MetricRef": MetricRef})
