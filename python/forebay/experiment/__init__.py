"""Experiments: papers as data. A TOML file holds a scenario, what varies, what is measured, and the paper's claims."""

from __future__ import annotations

from .command import reproduce
from .errors import ExperimentError
from .load import Listed, list_experiments, load_experiment
from .schema import Experiment

__all__ = ["Experiment", "ExperimentError", "Listed", "list_experiments", "load_experiment", "reproduce"]
