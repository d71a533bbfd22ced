"""The live data plane from the command line: `forebay live` starts the program `forebay-live`, and watches it."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["connection", "top"]

if TYPE_CHECKING:
    from . import connection, top
else:
    __getattr__ = lazily(__name__, __all__)
