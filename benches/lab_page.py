"""The lab in a Chromium without a window, for the benchmarks of the lab."""

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from forebay.lab import server, site


@contextmanager
def opened() -> Iterator[tuple[Any, str]]:
    """The start page in a browser, and its address. Ends the program if browser or lab are missing."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None or not (site.FOLDER / site.START).is_file():
        sys.exit("needs Chromium with its driver (apt-get install chromium chromium-driver), and the lab: make lab")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    # A container has neither a sandbox of its own nor much shared memory.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    with server.Server(site.load()) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        page = webdriver.Chrome(options=options, service=Service(driver))
        try:
            page.set_script_timeout(300)
            page.get(running.address)
            yield page, running.address
        finally:
            page.quit()
            running.shutdown()
