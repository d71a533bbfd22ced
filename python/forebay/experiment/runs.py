"""The outcomes of an experiment's runs, which its metrics are evaluated over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .coordinates import BASE, Coordinates
from .errors import ExperimentError, MetricError, NoSuchRunError, NotRunError
from .plan import scenario_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.runs.outcome import Outcome
    from forebay.runs.statistics import Estimate

    from .metrics import MetricRef, Value
    from .metrics.formula import NumberRef
    from .schema import Experiment


@dataclass(frozen=True)
class Runs:
    """An experiment with the outcomes of its runs, by coordinates; the list holds one outcome for each seed."""

    experiment: Experiment
    quick: bool
    outcomes: Mapping[Coordinates, list[Outcome]]

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.experiment.id

    def base(self) -> Coordinates:
        """Return the first variant at the first value of the axis."""
        first = self.experiment.variants[0]
        point = next(iter(self.experiment.points(self.quick, first)), None)
        return Coordinates(BASE, first.name, point.x if point else None)

    def seeds(self, setting: str = BASE) -> int:
        """Return how many seeds every run has at a setting; one where nothing is run."""
        return max((len(outcomes) for at, outcomes in self.outcomes.items() if at.setting == setting), default=1)

    def is_lone(self, setting: str = BASE) -> bool:
        """Return whether there is one seed where the experiment file asks for more."""
        asked = self.experiment.quick.seeds if self.quick else self.experiment.seeds
        return asked > 1 and self.seeds(setting) == 1

    def depends_on_seeds(self, metric: MetricRef) -> bool:
        """Return whether the metric reads runs, by itself or in one of its parts. A formula does not."""
        full = self.experiment.resolve(metric)
        return full.needs_runs or any(self.depends_on_seeds(part) for part in full.parts().metrics)

    def xs(self, setting: str = BASE, variant: str | None = None) -> list[float]:
        """Return the values of the axis that are run at a setting: those of a variant, or of all."""
        only = next((item.x for item in self.experiment.sensitivity if item.name == setting), None)
        one = self.experiment.variant(variant) if variant is not None else None
        if one is not None and one not in self.experiment.variants_run(quick=self.quick):
            return []
        points = self.experiment.points(self.quick, one)
        return [point.x for point in points if point is not None and (only is None or point.x in only)]

    def outcomes_at(self, at: Coordinates) -> list[Outcome]:
        """One outcome for each seed. Raises NoSuchRunError; NotRunError where it is this call that leaves them out."""
        try:
            return self.outcomes[at]
        except KeyError:
            message = f"{self.experiment.id}: there is no run at ({at.label()})"
            axis = [point.x if point else None for point in self.experiment.points(quick=False)]
            raise (NotRunError if at.x in axis else NoSuchRunError)(message) from None

    def scenario_at(self, at: Coordinates) -> str:
        """Return the scenario of the runs at `at` as TOML."""
        return scenario_at(self.experiment, at, quick=self.quick)

    def number(self, ref: NumberRef, at: Coordinates) -> float:
        """Return a number that is given, or that of a name: the axis's value, or one of the variant's."""
        if not isinstance(ref, str):
            return float(ref)
        numbers = self.experiment.variant(at.variant).numbers
        if ref == "x" and at.x is not None:
            return at.x
        if ref in numbers:
            return numbers[ref]
        message = f"there is no number `{ref}`"
        raise MetricError(message)

    def evaluate(self, metric: MetricRef, at: Coordinates) -> list[Value]:
        """Return the value or values of a metric at `at`, which the metric's own `variant` and `x` override."""
        full = self.experiment.resolve(metric)
        at = full.place(at)
        try:
            return full.evaluate(at, self)
        except MetricError as error:
            message = f"{self.experiment.id}: ({at.label()}) {error}"
            raise ExperimentError(message, full) from None
        except NoSuchRunError as error:
            # It is the outermost metric that led there.
            error.part = full
            raise
        except ExperimentError as error:
            # That of a metric within this one says so itself.
            error.part = error.part or full
            raise

    def evaluate_one(self, metric: MetricRef, at: Coordinates) -> Value:
        """Return the value of a metric that has only one."""
        values = self.evaluate(metric, at)
        if len(values) != 1 or values[0].over is not None:
            message = f"{self.experiment.id}: a metric of metrics takes single values, no ratios"
            raise ExperimentError(message)
        return values[0]

    def evaluate_one_estimate(self, metric: MetricRef, at: Coordinates) -> Estimate:
        """Return the mean over seeds of a metric that has only one value."""
        values = self.evaluate(metric, at)
        if len(values) != 1:
            message = f"{self.experiment.id}: ({at.label()}) a table or line takes metrics of one value"
            raise ExperimentError(message, self.experiment.resolve(metric))
        return values[0].estimate()

    def unit(self, metric: MetricRef) -> str:
        """Return the unit that a metric's values are in."""
        return self.experiment.resolve(metric).unit_in(self)

    def spans_axis(self, metric: MetricRef) -> bool:
        """Return whether the metric goes along the axis by itself, so that it has the same value at every x."""
        return self.experiment.resolve(metric).spans_axis(self)
