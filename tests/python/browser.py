"""A Chromium without a window, for tests of pages.

Tests run where there is Chromium and its driver: `apt-get install chromium chromium-driver` on Debian.
"""

from __future__ import annotations

import io
import json
import shutil
import time
from typing import Any

import pytest
from PIL import Image

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
DRIVER = shutil.which("chromedriver")

NEEDS_BROWSER = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="there is no Chromium with its driver here: apt-get install chromium chromium-driver",
)


class Browser:
    """A Chromium without a window."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = str(BROWSER)
        # A container has neither a sandbox of its own nor much shared memory.
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver: Any = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.driver.execute_cdp_cmd("Network.enable", {})

    def go_offline(self) -> None:
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)

    def show(self, address: str, *, width: int = 1280, scheme: str = "light", is_still: bool = False) -> None:
        """Opens a page with this width and colour scheme, for a reader who may want no motion."""
        self.scheme(scheme, is_still=is_still)
        self.resize(width)
        self.driver.get(address)

    def resize(self, width: int) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def scheme(self, scheme: str, *, is_still: bool = False) -> None:
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if is_still else "no-preference"}
        features = [{"name": "prefers-color-scheme", "value": scheme}, motion]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: object) -> Any:
        """Waits until the script returns something."""
        end = time.monotonic() + 60
        while not (found := self.run(script, *arguments)):
            assert time.monotonic() < end, script
            time.sleep(0.05)
        return found

    def complaints(self) -> list[str]:
        """The errors and warnings on the console since the last call."""
        return [str(it["message"]) for it in self.driver.get_log("browser") if it["level"] in ("SEVERE", "WARNING")]

    def events(self) -> list[dict[str, Any]]:
        """The events of the network since the last call."""
        return [json.loads(it["message"])["message"] for it in self.driver.get_log("performance")]

    def picture(self, element: Any = None) -> Image.Image:
        source = self.driver if element is None else element
        data = source.get_screenshot_as_png() if element is None else source.screenshot_as_png
        return Image.open(io.BytesIO(data)).convert("L")

    def point(self, element: Any, right: float, down: float) -> None:
        """Moves the pointer to that part of the element's width and height."""
        box = self.run(
            "arguments[0].scrollIntoView({block: 'center'}); const b = arguments[0].getBoundingClientRect();"
            "return [b.left, b.top, b.width, b.height]",
            element,
        )
        place = {"type": "mouseMoved", "x": box[0] + right * box[2], "y": box[1] + down * box[3]}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", place)
