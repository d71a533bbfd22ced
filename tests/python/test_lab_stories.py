"""The stories of the lab: every step asks, can be turned, and states figures that its scenario produces."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from lab_stories import FOLDER, QUANTITY, ROOT, Check, Step, stories

STORIES = stories()
STEPS = [step for story in STORIES for step in story.steps]
CHECKS = [(step, check) for step in STEPS for check in step.checks]
SEEDS = (1, 2)

MOST_PACKET_HOPS = 1_500_000
"""Of all runs of a step together, after each move of its slider: about 60 ms natively, 100 ms in a browser."""

PANELS = {
    "goodput": "flows",
    "queue_length": "queues",
    "queue_delay": None,
    "drops": "queues",
    "marks": None,
    "gauges": "queues",
    "senders": None,
    "utilization": "links",
    "delay_cdf": None,
    "packets": None,
    "crossbar": None,
    "pause": None,
    "transfers": None,
}
"""The panels of the lab, and the series of `[probes]` that each needs."""

UNITS = {
    "": 1, "packets": 1, "bps": 1, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "us": 1e-6, "ms": 1e-3, "s": 1,
    "B": 1, "KB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1024**2,
}  # fmt: skip


def number(text: object) -> float:
    """Return the number of a quantity in its base unit."""
    match = QUANTITY.fullmatch(str(text))
    assert match, f"{text} is not a quantity"
    return float(match["number"]) * UNITS[match["unit"]]


def at_path(table: Any, path: str) -> Any:
    for key in path.split("."):
        table = next(it for it in table if it["name"] == key) if isinstance(table, list) else table[key]
    return table


def document(step: Step) -> dict[str, Any]:
    return tomllib.loads(step.load().to_toml())


def test_there_are_eight_stories_of_five_to_eight_steps() -> None:
    assert [it.keys["order"] for it in STORIES] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert {len(it.steps) for it in STORIES} <= {5, 6, 7, 8}
    for story in STORIES:
        assert set(story.keys) == {"title", "summary", "read_on", "order"}
        assert story.intro, story.name
        page = Path(ROOT / "docs" / story.keys["read_on"]).with_suffix(".md")
        assert page.is_file(), f"{story.name}: {page} does not exist"
    titles = [it.title for it in STEPS] + [it.keys["title"] for it in STORIES]
    assert len(set(titles)) == len(titles)


def test_every_scenario_belongs_to_a_step() -> None:
    assert {it.scenario for it in STEPS} == set(FOLDER.glob("*/*.toml"))


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_step_is_complete(step: Step) -> None:
    assert step.question.endswith("?")
    assert step.text
    assert step.see
    assert step.checks, "the figures have no check"
    assert step.show
    assert set(step.show) <= set(PANELS)
    assert len(set(step.show)) == len(step.show)
    known = [None, *step.compare]
    for check in step.checks:
        assert check.above > float("-inf") or check.below < float("inf"), f"{check} has no bound"
        assert check.queue in known, f"{check}: the step does not compare {check.queue}"
        assert (check.queue is None) == (not step.compare), f"{check} needs a queue"


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_what_a_step_turns_is_a_number_of_its_scenario(step: Step) -> None:
    assert set(step.turn) == {"key", "from", "to", "label"}
    first, last = number(step.turn["from"]), number(step.turn["to"])
    assert first < last
    own = at_path(document(step), step.turn["key"])
    assert not isinstance(own, bool)
    assert first <= number(own) <= last
    units = {QUANTITY.fullmatch(str(it))["unit"] for it in (own, step.turn["from"], step.turn["to"])}  # type: ignore[index]
    assert len(units) == 1, f"the slider has several units: {units}"
    for check in step.checks:
        for position in (check.at, check.per.at if check.per else None):
            assert position is None or first <= number(position) <= last, f"{check} is beyond the slider"


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_step_records_what_it_shows(step: Step) -> None:
    scenario = document(step)
    probes = scenario.get("probes", {})
    series = probes.get("series", ["queues", "flows", "links"]) if "interval" in probes else []
    for panel in step.show:
        needed = PANELS[panel]
        assert needed is None or needed in series, f"{panel} needs {needed}"
    assert "senders" not in step.show or probes.get("senders")
    assert "marks" not in step.show or "queues" in series
    assert "queue_delay" not in step.show or "queues" in series
    timed = any("transfers" in it.get("app", {}) or "ping" in str(it["transport"]) for it in scenario["flows"])
    assert "transfers" not in step.show or timed
    if step.starving:
        assert set(step.starving) == {"group", "below"}
        assert step.starving["below"].endswith(" kbps")
        assert step.starving["group"] in [it["name"] for it in scenario["flows"]]
    (topology,) = scenario["topology"]
    assert "crossbar" not in step.show or topology == "switch"
    assert "pause" not in step.show or topology == "ethernet"


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_step_answers_at_once(step: Step) -> None:
    for at in (step.turn["from"], None, step.turn["to"]):
        hops = 0
        for queue in step.compare or [None]:
            hops += step.run(at, queue, 1).engine.packet_hops
        assert hops < MOST_PACKET_HOPS, f"{hops:,} packet-hops at {at}"


@pytest.mark.parametrize(("step", "check"), CHECKS, ids=[f"{step}: {check}" for step, check in CHECKS])
def test_a_stated_figure_holds(step: Step, check: Check) -> None:
    for seed in SEEDS:
        value = step.value(check, seed)
        assert check.above < value < check.below, f"seed {seed}"


def test_text_keeps_to_the_words_that_the_page_can_show() -> None:
    for story in STORIES:
        text = (FOLDER / story.name / "story.md").read_text(encoding="utf-8")
        assert not re.search(r"<[a-z/!]", text), f"{story.name} has HTML"
