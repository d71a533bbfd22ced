"""The examples in the docstrings of what users derive from and call run."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("module", ["compiled", "disciplines", "gym", "portable"])
def test_examples_run(module: str) -> None:
    tried = doctest.testmod(import_module(f"forebay.{module}"))
    assert tried.failed == 0
    assert tried.attempted > 0
