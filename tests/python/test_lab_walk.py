"""A reader goes through the stories in a Chromium: every step runs, and its slider changes what is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from lab_browser import NEEDS_LAB, Lab, served
from lab_stories import Story, stories

pytestmark = NEEDS_LAB

# Moves the slider to the end that is farther away, and returns whether it can move.
TURN = """
    const slider = document.querySelector('.sliders input[type=range]');
    const isHigh = slider.value - slider.min > slider.max - slider.value;
    slider.value = isHigh ? slider.min : slider.max;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    return slider.min !== slider.max;
"""
# The legends of charts have the mean of each line.
SHOWN = "return [...document.querySelectorAll('.story-lab [aria-label=Results] figure')].map((it) => it.innerText)"
ANSWER = "return document.querySelector('.story-see [aria-expanded=true] + #story-answer')?.textContent"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with served() as address:
        found = Lab(address)
        yield found
        found.driver.quit()


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.name)
def test_every_step_of_a_story_answers(lab: Lab, story: Story) -> None:
    lab.complaints()
    lab.events()
    lab.open(f"#/story/{story.name}/1", is_still=True)
    for number, step in enumerate(story.steps, 1):
        lab.wait("return document.querySelector('.story h2')?.textContent === arguments[0]", step.title)
        assert "simulated in" in lab.finished(), str(step)
        before = lab.run(SHOWN)
        assert before, str(step)
        # A distribution has no means.
        empty = [text for text in before if not re.search(r"\d", text) and not text.startswith("Delay of packets")]
        assert empty == [], str(step)
        assert not lab.run(ANSWER), f"{step}: the answer is open before the question"
        assert lab.run(TURN), str(step)
        assert lab.wait(ANSWER), str(step)
        assert "simulated in" in lab.finished(), str(step)
        assert lab.run(SHOWN) != before, f"{step}: the slider changes nothing"
        assert lab.alerts() == [], str(step)
        assert lab.run("return document.documentElement.scrollWidth <= innerWidth"), str(step)
        links = lab.driver.find_elements("css selector", ".story-links [rel=next]")
        assert len(links) == (number < len(story.steps)), str(step)
        for link in links:
            lab.run("arguments[0].click()", link)
    assert lab.complaints() == []
    assert lab.foreign_requests() == []
