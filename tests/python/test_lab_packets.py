"""The views of packets, crossbars and PAUSE on the page of the lab: their text, their keys, and their pictures."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Keys

from lab_browser import NEEDS_LAB, Lab, served
from lab_stories import stories

pytestmark = NEEDS_LAB

FLOOD = """
description = "A flood and a polite sender"
duration = "2 s"
warmup = "1 s"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "1 ms", queue.drop_tail = { limit = "30 packets" } }

[[flows]]
name = "polite"
transport.udp = { packet = "500 B", constant = { rate = "1 Mbps" } }

[[flows]]
name = "flood"
transport.udp = { packet = "1000 B", constant = { rate = "20 Mbps" } }
"""
VIEWS = {"packets": FLOOD, "crossbar": "switch", "PAUSE": "ethernet"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with served() as address:
        found = Lab(address)
        yield found
        found.driver.quit()


def open_view(lab: Lab, view: str = "packets", **how: Any) -> None:
    """Opens the lab with the records of a run."""
    if "\n" in VIEWS[view]:
        lab.open_scenario(VIEWS[view], **how)
    else:
        lab.open(f"#/lab?example={VIEWS[view]}", **how)
    lab.finished()
    lab.run("document.querySelector('details.watch > summary').click()")
    lab.wait("return document.querySelector('.pk .pk-clock')")


def focus(lab: Lab, selector: str = "section.pk") -> None:
    lab.run("document.querySelector(arguments[0]).focus()", selector)


def press(lab: Lab, key: str, *, shift: bool = False) -> None:
    actions = ActionChains(lab.driver)
    if shift:
        actions.key_down(Keys.SHIFT)
    actions.send_keys(key)
    if shift:
        actions.key_up(Keys.SHIFT)
    actions.perform()


def state(lab: Lab, place: int = 0) -> str:
    return str(lab.run("return document.querySelectorAll('.pk-state')[arguments[0]].textContent", place))


def wait_for(lab: Lab, text: str) -> str:
    script = "const it = document.querySelector('.pk-state').textContent; return it.includes(arguments[0]) && it"
    return str(lab.wait(script, text))


def seconds(text: str) -> float:
    found = re.match(r"t = ([\d.]+) (\w+):", text)
    assert found is not None, text
    return float(found[1]) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[found[2]]


def test_keys_step_from_drop_to_drop(lab: Lab) -> None:
    open_view(lab)
    focus(lab)
    times = []
    for drops in ("1 packet dropped", "2 packets dropped", "3 packets dropped"):
        press(lab, Keys.ARROW_RIGHT, shift=True)
        text = wait_for(lab, drops)
        assert "is dropped on arrival" in text
        assert "30 packets queued" in text
        times.append(seconds(text))
    assert times == sorted(set(times))
    # 11 Mb/s more than the link carries fill 30 packets.
    assert 0.015 < times[0] < 0.03
    press(lab, Keys.ARROW_LEFT, shift=True)
    assert seconds(wait_for(lab, "2 packets dropped")) == times[1]
    press(lab, Keys.HOME)
    assert lab.wait("return !document.querySelector('.pk-state').textContent.includes('dropped')")


def test_a_reader_without_sight_gets_each_step(lab: Lab) -> None:
    open_view(lab)
    focus(lab)
    press(lab, Keys.ARROW_RIGHT, shift=True)
    script = "return document.querySelector('.pk [aria-live]').textContent.includes('1 packet dropped')"
    assert lab.wait(script)


def test_the_next_events_are_a_table(lab: Lab) -> None:
    open_view(lab)
    lab.run("document.querySelector('.pk-events > summary').click()")
    lab.wait("return document.querySelector('.pk-events table')")
    rows = next(rows for label, rows in lab.tables().items() if "next" in label and "events of" in label)
    assert rows[0][2:5] == ["Event", "Flow", "Size"]
    assert {row[3] for row in rows[1:]} <= {"polite", "flood"}
    assert {row[4] for row in rows[1:]} <= {"500 B", "1000 B"}


def test_time_passes_as_slowly_as_it_is_set(lab: Lab) -> None:
    open_view(lab)
    focus(lab)
    before = seconds(state(lab))
    speed = str(lab.run("return document.querySelector('.pk-slow input').getAttribute('aria-valuetext')"))
    slowness = float(speed.removeprefix("1 to ").partition(":")[0])
    press(lab, " ")
    began = time.monotonic()
    time.sleep(1.5)
    passed = (seconds(state(lab)) - before) * slowness
    # A busy machine draws fewer frames, and time then passes less.
    assert 0.1 < passed <= time.monotonic() - began + 0.1
    press(lab, " ")
    assert lab.wait("return document.querySelector('.pk-play').textContent === 'Play'")
    stopped = state(lab)
    time.sleep(0.5)
    assert state(lab) == stopped


def test_packets_have_the_colours_of_the_legend(lab: Lab) -> None:
    open_view(lab)
    focus(lab)
    press(lab, Keys.ARROW_RIGHT, shift=True)
    wait_for(lab, "1 packet dropped")
    script = """
        const canvas = document.querySelector('.pk-scene canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const counts = {};
        for (let at = 0; at < data.length; at += 4) {
          const colour = '#' + [...data.slice(at, at + 3)].map((it) => it.toString(16).padStart(2, '0')).join('');
          if (data[at + 3] === 255) counts[colour] = (counts[colour] ?? 0) + 1;
        }
        return [...document.querySelectorAll('.pk-legend button')].map((it) =>
          [it.textContent.trim(), counts[it.querySelector('rect').getAttribute('fill')] ?? 0]);
    """
    pixels = dict(lab.wait(f"const found = (() => {{ {script} }})(); return found.every((it) => it[1] > 0) && found"))
    assert set(pixels) == {"polite", "flood"}
    assert pixels["flood"] > 10 * pixels["polite"] > 100


def test_nothing_plays_where_motion_is_unwanted(lab: Lab) -> None:
    features = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    open_view(lab)
    lab.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    assert lab.wait("return document.querySelector('.pk-play') === null")
    focus(lab)
    before = state(lab)
    press(lab, " ")
    assert lab.wait("return document.querySelector('.pk-state').textContent !== arguments[0]", before)
    stepped = state(lab)
    time.sleep(0.5)
    assert state(lab) == stepped


def test_compared_queues_have_one_clock(lab: Lab) -> None:
    step = next(it for story in stories() for it in story.steps if it.compare and "packets" in it.show)
    lab.open(f"#/story/{step.story}/{step.number}")
    lab.finished()
    lab.wait("return document.querySelectorAll('.pk-state').length === arguments[0]", len(step.compare))
    labels = lab.run("return [...document.querySelectorAll('.pk-label')].map((it) => it.textContent)")
    assert labels == list(step.compare)
    clocks = "return [...document.querySelectorAll('.pk-clock')].map((it) => it.textContent)"
    before = lab.run(clocks)
    focus(lab)
    press(lab, Keys.END)
    lab.wait(f"return (() => {{ {clocks} }})()[0] !== arguments[0]", before[0])
    assert len(set(lab.run(clocks))) == 1


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_view_has_no_serious_finding_of_axe_and_complains_of_nothing(lab: Lab, view: str, scheme: str) -> None:
    lab.complaints()
    open_view(lab, view, scheme=scheme)
    lab.run("document.querySelectorAll('.pk-events > summary').forEach((it) => it.click())")
    lab.wait("return document.querySelector('.pk-events table')")
    assert lab.findings() == []
    assert lab.complaints() == []


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_view_is_wider_than_the_window(lab: Lab, view: str, width: int) -> None:
    open_view(lab, view, width=width)
    lab.run("document.querySelectorAll('.pk-events > summary').forEach((it) => it.click())")
    lab.wait("return document.querySelector('.pk-events table')")
    assert lab.run("return document.documentElement.scrollWidth <= innerWidth")
