"""A replay of a capture as a section."""

from __future__ import annotations

import numpy as np

from forebay.captures.result import ReplayResult
from forebay.display.quantity import text_with_unit, title

from .conclusion import of_replay
from .delays import delay_charts, distribution_lines
from .over_time import over_time, time_text
from .parts import Chart, Charts, Part, Section
from .tables import table_of

_FIRST = ("length_mean_packets", "delay_mean_s", "delivered_bps", "packets_dropped")


def replay_section(replay: ReplayResult, heading: str) -> Section:
    """Each queue over time, and the tables of queues and flows."""
    quantities = dict.fromkeys(one.quantity for one in replay.all_series if np.nan_to_num(one.values).any())
    first = [_chart(replay, quantity) for quantity in _FIRST if quantity in quantities]
    more = [_chart(replay, quantity) for quantity in quantities if quantity not in _FIRST]
    parts: list[Part] = [Charts("Figures", first)]
    first += delay_charts(distribution_lines(replay.delay_distribution(), "queue"), "Delay")
    if more:
        parts.append(Charts("More over time", more, folded=True))
    parts += [table_of(replay.queues, "Queues"), table_of(replay.flows, "Flows", "flows.parquet")]
    facts = [
        ("Capture", replay.capture),
        ("Rate", text_with_unit("rate_bps", replay.rate_bps)),
        ("Seed", str(replay.seed)),
        ("Packets", f"{replay.packets:,}"),
        ("Until", time_text(replay.duration_s)),
    ]
    warnings = [f"{_sentence(warning['text'])} {_sentence(warning['remedy'])}" for warning in replay.warnings]
    return Section(
        heading, conclusion=of_replay(replay), facts=facts, warnings=warnings, repeat=replay.command, parts=parts
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _chart(replay: ReplayResult, quantity: str) -> Chart:
    return over_time(title(quantity), [one for one in replay.all_series if one.quantity == quantity])
