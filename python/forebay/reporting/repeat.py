"""Commands that repeat results."""

from __future__ import annotations

from forebay.errors import ScenarioError
from forebay.scenario import Scenario


def options_of(text: str) -> list[str] | None:
    """Return the options that a scenario needs on the command line; None if this version does not read the scenario."""
    try:
        scenario = Scenario.from_toml(text)
    except ScenarioError:
        return None
    return ["--allow-python"] if scenario.python_classes else []
