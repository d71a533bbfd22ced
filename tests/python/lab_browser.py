"""The page of the lab in a Chromium, served as `forebay lab` serves it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from browser import NEEDS_BROWSER, Browser
from forebay.lab import links, server, site

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "lab/node_modules/axe-core/axe.min.js"
ENGINE = ROOT / "lab/src/engine/wasm"

NEEDS_PAGE = pytest.mark.skipif(
    not (site.FOLDER / site.START).is_file(), reason="the lab was not built: `make lab` needs Node 20.19 or newer"
)
NEEDS_LAB = [NEEDS_BROWSER, NEEDS_PAGE]
"""The marks of a module whose tests open the page."""


@contextmanager
def served(folder: Path | None = None) -> Iterator[str]:
    """Serves the page, or that in a folder, and yields its address."""
    with server.Server(site.load(folder)) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield running.address
        finally:
            running.shutdown()
            thread.join()


class Lab(Browser):
    """A browser for the page at an address."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.files = list(site.load())
        """The paths of the page's files."""

    def open(self, fragment: str = "", *, width: int = 1280, scheme: str = "light", is_still: bool = False) -> None:
        """Opens a page of the lab as a new visit, and waits until something is there."""
        self.show("about:blank", width=width, scheme=scheme, is_still=is_still)
        self.show(f"{self.address}{fragment}", width=width, scheme=scheme, is_still=is_still)
        self.wait("return document.querySelector('#lab > *')")

    def open_scenario(self, text: str, page: str = "lab", **how: Any) -> None:
        self.open(links.fragment(text, page), **how)

    def finished(self) -> str:
        """Waits for the end of the runs, and returns the state in words."""
        ends = "simulated in|run failed|has a fault|Cancelled"
        script = """
            const text = document.querySelector('.run-status')?.textContent ?? '';
            return new RegExp(arguments[0]).test(text) && text;
        """
        return str(self.wait(script, ends))

    def alerts(self) -> list[str]:
        found = self.run("return [...document.querySelectorAll('[role=alert]')].map((it) => it.innerText)")
        return [str(it) for it in found]

    def tables(self) -> dict[str, list[list[str]]]:
        """The cells of all tables, by their labels, captions or sections."""
        script = """
            return [...document.querySelectorAll('table')].map((table) => [
              table.getAttribute('aria-label') ?? table.caption?.textContent
                ?? table.closest('section[aria-label]')?.getAttribute('aria-label') ?? '',
              [...table.rows].map((row) => [...row.cells].map((it) => it.textContent)),
            ]);
        """
        return {str(label): rows for label, rows in self.run(script)}

    def foreign_requests(self) -> list[str]:
        """The addresses elsewhere that were requested since the last call."""
        requested = (
            event["params"]["request"]["url"]
            for event in self.events()
            if event["method"] == "Network.requestWillBeSent"
        )
        ours = ("", urlsplit(self.address).netloc)
        return [it for it in requested if urlsplit(it).netloc not in ours and not it.startswith(("data:", "blob:"))]

    def findings(self) -> list[str]:
        """The findings of axe-core that are serious or critical."""
        script = """
            const done = arguments[arguments.length - 1];
            axe.run(document, { resultTypes: ['violations'] }).then(
              (found) => done(found.violations.map((it) => [it.impact, it.id, it.nodes.map((node) => node.html)])),
              (error) => done([['critical', String(error), []]]));
        """
        self.run(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(script)
        return [
            f"{name}: {json.dumps(nodes)[:600]}" for impact, name, nodes in found if impact in ("serious", "critical")
        ]
