"""The lab, Forebay in the browser: its files, served on the loopback interface, and links that hold a scenario."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["browser", "links", "server", "site"]

if TYPE_CHECKING:
    from . import browser, links, server, site
else:
    __getattr__ = lazily(__name__, __all__)
