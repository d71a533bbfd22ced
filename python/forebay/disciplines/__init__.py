"""Queue disciplines and congestion controllers in Python: base classes, and the way from a class to the core."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["compiling", "custom"]

if TYPE_CHECKING:
    from . import compiling, custom
else:
    __getattr__ = lazily(__name__, __all__)
