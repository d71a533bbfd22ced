"""The page that compares transports: its scenarios run with each of them, and their tables have a place."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import forebay as fb

ROOT = Path(__file__).resolve().parents[2]


def page() -> Any:
    """Return the script that writes the page, as a module."""
    spec = importlib.util.spec_from_file_location("fabrics_page", ROOT / "docs/fabrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["dctcp", "dcqcn", "swift", "nscc", "rccc", "ndp"])
def test_each_transport_runs_and_has_all_figures(name: str) -> None:
    script = page()
    assert name in script.transports()
    for block, (scenario, changes, heads) in script.BLOCKS.items():
        brief = {"duration": "4 ms"} if scenario == "incast" else {"duration": "4 ms", "flows.web.stop": "300 us"}
        run = fb.run(script.scenario(scenario, script.transports()[name], {**changes, **brief}))
        figures = [label for head in heads for label, figure in head if figure(run) < 0]
        assert figures == [], block
        assert run.flows["packets_delivered"].sum() > 0


def test_the_page_has_a_row_for_each_transport_in_each_table() -> None:
    script = page()
    text = script.PAGE.read_text(encoding="utf-8")
    for block, (_, _, heads) in script.BLOCKS.items():
        start = text.index(script.STARTS.format(block))
        shown = text[start : text.index(script.ENDS, start)]
        for transport in script.transports().values():
            assert shown.count(f"\n| {transport['label']}") == len(heads), (block, transport["label"])
