"""Results for people: quantities with units, tables for terminals and notebooks, figures."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["figure", "notebook", "summary"]

if TYPE_CHECKING:
    from . import figure, notebook, summary
else:
    __getattr__ = lazily(__name__, __all__)
