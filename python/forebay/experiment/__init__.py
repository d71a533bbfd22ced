"""Experiments: papers as data. A TOML file holds a scenario, what varies, what is measured, and the paper's claims."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["figures", "load"]

if TYPE_CHECKING:
    from . import figures, load
else:
    __getattr__ = lazily(__name__, __all__)
