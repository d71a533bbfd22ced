"""The page of the lab: its rules, its widths, its size, and what it makes of scenarios that mean harm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conftest import SMALL
from lab_browser import NEEDS_LAB, Lab, served

pytestmark = NEEDS_LAB

WIDTHS = (390, 1280, 1920)
PAGES = {"home": "", "lab": "#/lab", "captures": "#/capture", "embedded": "#/embed?example=first"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with served() as address:
        found = Lab(address)
        yield found
        found.driver.quit()


def settle(lab: Lab, page: str) -> None:
    if page in ("lab", "embedded"):
        assert "simulated in" in lab.finished()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_complains_of_nothing_and_asks_no_other_site(lab: Lab, page: str) -> None:
    lab.complaints()
    lab.events()
    lab.open(PAGES[page])
    settle(lab, page)
    assert lab.complaints() == []
    assert lab.foreign_requests() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_serious_finding_of_axe(lab: Lab, page: str, scheme: str) -> None:
    lab.open(PAGES[page], scheme=scheme)
    settle(lab, page)
    assert lab.findings() == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_the_window(lab: Lab, page: str, width: int) -> None:
    lab.open(PAGES[page], width=width)
    settle(lab, page)
    assert lab.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_slider_changes_a_figure(lab: Lab) -> None:
    lab.open_scenario('[lab]\npins = ["topology.star.bottleneck.rate"]\n'.join(["", SMALL]) if False else SMALL)
    assert "simulated in" in lab.finished()
