"""The buttons of the documentation that run its scenarios: in a Chromium, on the pages that `make docs` has written."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from docs.run_here import LAB, scenario_of

import forebay as fb
from forebay.lab import site
from lab_browser import NEEDS_LAB, ROOT, Lab

PAGES = ROOT / "docs/_build/html"

pytestmark = [
    *NEEDS_LAB,
    pytest.mark.skipif(
        not (PAGES / LAB / site.START).is_file(), reason="the pages were written without the lab: `make docs`"
    ),
]


class Quiet(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        # The pages have no icon, for which a browser asks, and complains.
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
        """Prints nothing."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(PAGES))) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        found = Lab(f"http://127.0.0.1:{running.server_port}/")
        yield found
        found.driver.quit()
        running.shutdown()
        thread.join()


def open_page(lab: Lab, page: str) -> None:
    lab.show(f"{lab.address}{page}.html")
    lab.wait("return document.querySelector('.run-here:not([hidden])')")


@pytest.mark.parametrize("page", ["guide/first-run", "reference/disciplines/codel", "reference/schemes/qcn"])
def test_an_example_runs_within_its_page(lab: Lab, page: str) -> None:
    lab.complaints()
    lab.events()
    open_page(lab, page)
    button = lab.run("return document.querySelector('.run-here button')")
    assert button.get_attribute("aria-expanded") == "false"
    # As with a keyboard.
    button.send_keys("\ue007")
    frame = lab.wait("return document.querySelector('.run-here iframe')")
    assert frame.get_attribute("title").startswith("The lab with")
    assert button.get_attribute("aria-expanded") == "true"
    lab.driver.switch_to.frame(frame)
    assert "simulated in" in lab.finished()
    lab.driver.switch_to.default_content()
    # All of it is visible: the page around it scrolls.
    lab.wait(
        "const f = arguments[0]; const page = f.contentDocument.documentElement;"
        "return page.scrollHeight <= f.clientHeight + 1 && page.scrollWidth <= f.clientWidth",
        frame,
    )
    button.click()
    assert lab.run("return document.querySelectorAll('iframe').length") == 0
    assert lab.foreign_requests() == []
    assert lab.complaints() == []


def test_a_page_loads_no_lab_before_it_is_asked(lab: Lab) -> None:
    lab.events()
    open_page(lab, "guide/write-a-scenario")
    requested = [it["params"]["request"]["url"] for it in lab.events() if it["method"] == "Network.requestWillBeSent"]
    assert requested
    assert not any(LAB in address for address in requested)


def test_the_example_of_a_reference_page_is_in_the_middle_of_a_scenario() -> None:
    text = scenario_of("disciplines", 'queue.codel = { target = "5 ms" }\n')
    assert fb.run(fb.Scenario.from_toml(text)).queues["discipline"].to_list() == ["codel"]
