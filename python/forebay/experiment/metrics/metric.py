"""The base of all kinds of metrics: the runs it is evaluated over, its unit, and its references."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Protocol, get_args

from forebay.experiment.coordinates import BASE, Coordinates
from forebay.experiment.strict import Strict
from forebay.runs.statistics import Estimate, estimate_mean, estimate_ratio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forebay.runs.outcome import Outcome

    Samples = NDArray[np.float64]
    """One value for each seed, or for each point of a series."""


@dataclass(frozen=True)
class Value:
    """One value of a metric: its samples, one for each seed, and where it was taken."""

    label: str
    samples: Samples
    over: Samples | None = None
    """For a ratio, the samples of its denominator."""

    def estimate(self) -> Estimate:
        """Return the mean over seeds with its confidence interval."""
        if self.over is None:
            return estimate_mean(self.samples)
        return estimate_ratio(self.samples, self.over)


@dataclass(frozen=True)
class Parts:
    """The references of a metric."""

    metrics: list[MetricRef] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)

    def beside(self, metric: MetricRef | None, variant: str | None) -> Parts:
        """Return these, and that metric and that variant if there are any."""
        return Parts(
            self.metrics if metric is None else [*self.metrics, metric],
            self.variants if variant is None else [*self.variants, variant],
        )


class MetricRuns(Protocol):
    """The runs of an experiment, as metrics read them."""

    @property
    def name(self) -> str:
        """Name of the experiment."""

    @property
    def quick(self) -> bool:
        """Whether there are fewer and shorter runs."""

    def xs(self, setting: str = BASE, variant: str | None = None) -> list[float]:
        """Return the values of the axis that are run at a setting: those of a variant, or of all."""

    def outcomes_at(self, at: Coordinates) -> list[Outcome]:
        """Return one outcome for each seed. Raises NoSuchRunError or NotRunError if there are none."""

    def scenario_at(self, at: Coordinates) -> str:
        """Return the scenario of the runs at `at` as TOML."""

    def number(self, ref: float | str, at: Coordinates) -> float:
        """Return a number that is given, or that of a name. Raises MetricError if there is none."""

    def evaluate_one(self, metric: MetricRef, at: Coordinates) -> Value:
        """Return the value of a metric that has only one. Raises ExperimentError for any other."""

    def unit(self, metric: MetricRef) -> str:
        """Return the unit that a metric's values are in."""

    def spans_axis(self, metric: MetricRef) -> bool:
        """Return whether the metric goes along the axis by itself."""


class Metric(Strict):
    """A kind of metric: its keys in a file, and how it is evaluated.

    The literal that its key `kind` takes is the name of the kind.
    """

    needs_runs: ClassVar[bool] = True
    """Whether it reads the runs of the file's scenario by itself: a formula does not, nor does a metric of metrics."""

    @classmethod
    def name_of_kind(cls) -> str:
        """Return the value of `kind` for this class in a file."""
        name: str
        (name,) = get_args(cls.model_fields["kind"].annotation)
        return name

    def place(self, at: Coordinates) -> Coordinates:
        """Return the place of its evaluation if it is at `at`."""
        return at

    @abstractmethod
    def evaluate(self, at: Coordinates, runs: MetricRuns) -> list[Value]:
        """Its value or values at `at`, in its unit. Raises ExperimentError where it has none."""

    @abstractmethod
    def unit_in(self, runs: MetricRuns) -> str:
        """Return the unit that its values are in."""

    def parts(self) -> Parts:
        """Return the metrics and variants that it refers to."""
        return Parts()

    def spans_axis(self, _runs: MetricRuns) -> bool:
        """Return whether it goes along the axis by itself, so that it has the same value at every x."""
        return False

    def spanned_variants(self) -> list[str] | None:
        """Return the variants that it goes along by itself; None where it stays in one."""
        return None


class Placed(Metric):
    """A metric that may say where it is evaluated."""

    variant: str | None = None
    x: float | None = None

    def place(self, at: Coordinates) -> Coordinates:
        """Where it is evaluated: its own `variant` and `x` win."""
        return replace(at, variant=self.variant or at.variant, x=at.x if self.x is None else self.x)

    def parts(self) -> Parts:
        """Return the variant that it names."""
        return Parts(variants=[] if self.variant is None else [self.variant])


if TYPE_CHECKING:
    MetricRef = str | Metric
