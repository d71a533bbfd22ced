"""The fair rates of the flows of a scenario with `topology.ethernet`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import polars as pl

from forebay.scenario import Scenario, scenario_of

from .ethernet import EthernetLoad


def fair_shares(
    scenario: Scenario | str | PathLike[str],
    *,
    at_s: float = 0.0,
    overrides: Mapping[str, object] | None = None,
) -> pl.DataFrame:
    """Return the fair rates of the flows of a scenario with `topology.ethernet` at one time.

    Args:
        scenario: A scenario, or the path of a scenario file.
        at_s: The time, in seconds from the start of the run. It decides which flows send and at which rate ports and
            nodes serve. Flows that do not send then have no demand.
        overrides: Values of the scenario to replace, by the path of their key.

    Returns:
        One row per flow: `name`, `group`, `demand_bps`, `max_min_bps`, `proportional_bps`. Rates are in bit/s on the
        wire.

    Raises:
        InputError: If the scenario has another topology.
        ScenarioError: If the scenario is not valid.

    Example:
        >>> shares = fb.fair_shares("examples/ethernet.toml")
        >>> shares.select("name", "max_min_bps").row(-1)
        ('victim', 5000000000.0)

    """
    load = EthernetLoad.from_toml(scenario_of(scenario, overrides).to_toml())
    return pl.DataFrame(
        {
            "name": [source.name for source in load.sources],
            "group": [source.group for source in load.sources],
            "demand_bps": [source.demand_bps_at(at_s) for source in load.sources],
            "max_min_bps": load.fair_shares_at(at_s, "max_min"),
            "proportional_bps": load.fair_shares_at(at_s, "proportional"),
        }
    )
