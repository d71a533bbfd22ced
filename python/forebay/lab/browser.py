"""The reader's browser."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser


def has_window() -> bool:
    """Return whether a browser can show a window: without one, the system would start a browser in the terminal."""
    return sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def show(address: str) -> None:
    """Open a page in the browser. Does not wait for it, as the page waits for this process."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
