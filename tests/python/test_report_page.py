"""A report in a browser: drawn, answering to pointer and keys, within its width, dark where the reader wants it dark.

Runs where it finds Chromium and its driver: `apt-get install chromium chromium-driver` on Debian.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import forebay as fb
from browser import NEEDS_BROWSER, Browser
from report_folders import HOSTILE, write_folders

pytestmark = NEEDS_BROWSER

WIDTHS = (390, 1280, 1920)
PAGES = ("plain", "hostile", "sweep", "compare", "claims", "both")


class Pages(Browser):
    """A browser without a network."""

    def __init__(self) -> None:
        super().__init__()
        self.go_offline()

    def open(self, page: Path, *, width: int = 1280, scheme: str = "light") -> None:
        """Opens the page and waits until its figures are drawn."""
        self.show(page.as_uri(), width=width, scheme=scheme)
        self.wait("return document.documentElement.dataset.drawn === 'yes'")


@pytest.fixture(scope="module")
def browser() -> Iterator[Pages]:
    found = Pages()
    yield found
    found.driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = write_folders(tmp_path_factory.mktemp("finished"))
    out = tmp_path_factory.mktemp("pages")
    found = {name: fb.report(folders[name], out / f"{name}.html") for name in PAGES if name != "both"}
    found["both"] = fb.report([folders["plain"], folders["red"]], out / "both.html")
    if keep := os.environ.get("FOREBAY_KEEP_PAGES"):
        shutil.copytree(out, keep, dirs_exist_ok=True)
    return found


def chart(browser: Pages, title: str) -> Any:
    named = "(it) => it.firstElementChild.textContent === arguments[0]"
    return browser.run(f"return [...document.querySelectorAll('.chart')].find({named})", title)


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_is_drawn_and_nothing_complains(browser: Pages, pages: dict[str, Path], name: str) -> None:
    browser.complaints()
    browser.open(pages[name])
    for summary in browser.run("return [...document.querySelectorAll('details.charts')]"):
        browser.run("arguments[0].open = true", summary)
    browser.wait("return [...document.querySelectorAll('.chart .plot')].every((it) => it.dataset.drawn === 'yes')")
    # A figure that is drawn has pixels of several colours within its frame.
    for figure in browser.run("return [...document.querySelectorAll('.chart .plot')]"):
        browser.run("arguments[0].scrollIntoView({block: 'center'})", figure)
        assert len(set(browser.picture(figure).tobytes())) > 10
    assert browser.complaints() == []
    assert browser.run("return performance.getEntriesByType('resource').map((it) => it.name)") == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_overflows(browser: Pages, pages: dict[str, Path], name: str, width: int) -> None:
    browser.open(pages[name], width=width)
    assert browser.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    # Tables move sideways in a frame of their own; all else ends within the page.
    wider = """
        const edge = document.documentElement.clientWidth + 1;
        return [...document.querySelectorAll("body *")].filter((it) => !it.closest(".wide, pre") &&
          it.getBoundingClientRect().right > edge).map((it) => it.outerHTML.slice(0, 80));
    """
    assert browser.run(wider) == []
    hidden = "return [...document.querySelectorAll('th, td')].filter((it) => !it.offsetWidth).length"
    assert browser.run(hidden) == 0


def test_pointing_shows_a_value(browser: Pages, pages: dict[str, Path]) -> None:
    browser.open(pages["plain"])
    assert "packets" in tip_over(browser, chart(browser, "Queues over time"), 0.5, 0.5)
    browser.open(pages["sweep"])
    assert tip_over(browser, chart(browser, "Jain: red"), 0.4, 0.5)


def test_a_name_in_a_tip_is_no_markup(browser: Pages, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    assert HOSTILE in tip_over(browser, chart(browser, "Goodput over time"), 0.5, 0.5)
    assert browser.run("return document.querySelectorAll('img').length") == 0


TIPS = """
    const found = [];
    const search = (root) => root.querySelectorAll("*").forEach((it) => {
      if (it.matches(".tip") && it.getBoundingClientRect().width) found.push(it.textContent);
      if (it.shadowRoot) search(it.shadowRoot);
    });
    search(document);
    return found.join("|");
"""


def tip_over(browser: Pages, figure: Any, right: float, down: float) -> str:
    plot = browser.run("return arguments[0].querySelector('.plot')", figure)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        # A pointer that was already there must move to be seen.
        for step in (0.0, 0.02):
            browser.point(plot, right + step, down)
            time.sleep(0.1)
            if found := browser.run(TIPS):
                return str(found)
    return ""


def test_a_series_is_hidden_by_its_button(browser: Pages, pages: dict[str, Path]) -> None:
    browser.open(pages["plain"])
    figure = chart(browser, "Goodput over time")
    plot = browser.run("return arguments[0].querySelector('.plot')", figure)
    browser.run("arguments[0].scrollIntoView({block: 'center'})", plot)
    before = browser.picture(plot).tobytes()
    (first, *_) = buttons = browser.run("return [...arguments[0].querySelectorAll('.legend button')]", figure)
    assert len(buttons) == 4
    first.click()
    assert first.get_attribute("aria-pressed") == "false"
    wait_until(lambda: browser.picture(plot).tobytes() != before)
    first.click()
    wait_until(lambda: browser.picture(plot).tobytes() == before)


def test_dragging_zooms(browser: Pages, pages: dict[str, Path]) -> None:
    browser.open(pages["plain"])
    plot = browser.run("return arguments[0].querySelector('.plot')", chart(browser, "Queues over time"))
    span = """
        const view = Bokeh.index.roots.find((it) => arguments[0].contains(it.el) && it.model.x_range);
        return view.model.x_range.end - view.model.x_range.start;
    """
    before = browser.run(span, plot)
    browser.point(plot, 0.4, 0.4)
    box = browser.run("const b = arguments[0].getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", plot)
    for kind, part in (("mousePressed", 0.4), ("mouseMoved", 0.5), ("mouseMoved", 0.6), ("mouseReleased", 0.6)):
        place = {"x": box[0] + part * box[2], "y": box[1] + part * box[3], "button": "left", "buttons": 1}
        browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "clickCount": 1, **place})
    wait_until(lambda: browser.run(span, plot) < 0.5 * before)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_column_sorts_both_ways_with_gaps_last(browser: Pages, pages: dict[str, Path]) -> None:
    browser.open(pages["plain"])
    cells = """
        const table = [...document.querySelectorAll("table")].find((it) => it.textContent.includes("Goodput"));
        const head = [...table.tHead.rows].at(-1).cells[arguments[0]];
        head.querySelector("button").click();
        const texts = [...table.tBodies[0].rows].map((row) => row.cells[arguments[0]].textContent);
        return [head.getAttribute("aria-sort"), texts];
    """
    assert browser.run(cells, 0) == ["ascending", ["bf", "tcp-0", "tcp-1", "tcp-2"]]
    assert browser.run(cells, 0) == ["descending", ["tcp-2", "tcp-1", "tcp-0", "bf"]]
    order, goodput = browser.run(cells, 3)
    assert (order, [float(it) for it in goodput]) == ("ascending", sorted(float(it) for it in goodput))
    finished = (
        "return [...document.querySelectorAll('thead button')].findIndex((it) => it.textContent.startsWith('Finished'))"
    )
    column = browser.run(finished)
    for _ in range(2):
        _, times = browser.run(cells, column)
        assert "-" not in times[: sum(it != "-" for it in times)]


def test_dark_is_dark_also_when_it_changes(browser: Pages, pages: dict[str, Path]) -> None:
    browser.open(pages["sweep"], scheme="light")
    assert brightness(browser) > 200
    browser.open(pages["sweep"], scheme="dark")
    assert brightness(browser) < 60
    plot = browser.run("return arguments[0].querySelector('.plot')", chart(browser, "Jain against count"))
    assert brightness(browser, plot) < 60
    browser.scheme("light")
    wait_until(lambda: brightness(browser, plot) > 200)
    assert brightness(browser) > 200
    assert browser.complaints() == []


def brightness(browser: Pages, element: Any = None) -> float:
    if element is not None:
        browser.run("arguments[0].scrollIntoView({block: 'center'})", element)
    picture = browser.picture(element)
    pixels = picture.tobytes()
    return sum(pixels) / len(pixels)
