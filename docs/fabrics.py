"""Runs the transports of examples/fabrics against each other, and puts the tables into fabrics.md: `make fabrics`."""

from __future__ import annotations

import functools
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

import forebay as fb
from forebay.runs.statistics import estimate_mean

HERE = Path(__file__).resolve().parent
PAGE = HERE / "fabrics.md"
EXAMPLES = HERE.parent / "examples/fabrics"
STARTS, ENDS = "<!-- generated: {} -->", "<!-- end -->"
SEEDS = range(1, 6)
TOPOLOGY = "topology.leaf_spine"
SIZES = ("<= 10 KB", "<= 100 KB", "<= 1 MB", "> 1 MB")

Figure: TypeAlias = Callable[[fb.Result], float]


def transports() -> dict[str, dict[str, Any]]:
    """Return the transports, each with its label and what it sets."""
    return tomllib.loads((EXAMPLES / "transports.toml").read_text(encoding="utf-8"))


def scenario(name: str, transport: Mapping[str, Any], changes: Mapping[str, Any]) -> fb.Scenario:
    """Return a scenario of examples/fabrics with another transport, and its switches."""
    set_ = {"flows.web.transport": transport["transport"], f"{TOPOLOGY}.host_link.queue": transport["queue"]}
    set_ |= {f"{TOPOLOGY}.{key}": transport[key] for key in ("switch", "adapter") if key in transport}
    return fb.Scenario.load(EXAMPLES / f"{name}.toml", {**set_, **changes})


def slowdown(sizes: str, column: str) -> Figure:
    """Return the figure of a column of completion times, for flows of these sizes."""
    return lambda result: float(result.completion_times.filter(pl.col("name") == f"web {sizes}")[column].item())


def dropped(result: fb.Result) -> float:
    """Return the packets that queues dropped."""
    return float(result.queues["packets_dropped"].sum())


def repeated(result: fb.Result) -> float:
    """Return the share of packets that were sent again, in percent."""
    return 100.0 * float(result.flows["packets_retransmitted"].sum()) / float(result.flows["packets_sent"].sum())


def stopped(result: fb.Result) -> float:
    """Return the time for which PAUSE stopped ports and adapters, all added up, in microseconds."""
    tables = [table for table in (result.queues, result.adapters) if "paused_s" in table.columns]
    return 1e6 * sum(float(table["paused_s"].sum()) for table in tables)


def wait(result: fb.Result) -> float:
    """Return the largest mean wait of a queue in microseconds."""
    return 1e6 * float(result.queues["wait_mean_s"].fill_nan(None).max() or 0.0)  # type: ignore[arg-type]


def completed(percentile: float) -> Figure:
    """Return the figure of a percentile of completion times, in microseconds."""

    def figure(result: fb.Result) -> float:
        found = result.flows["fct_s"].quantile(percentile, "nearest")
        return float("nan") if found is None else 1e6 * found

    return figure


COMMON: tuple[tuple[str, Figure], ...] = (
    ("dropped", dropped),
    ("sent again, %", repeated),
    ("stopped, us", stopped),
    ("longest mean wait, us", wait),
)
# For each block of the page: the scenario, what it changes, and the columns of its tables.
BLOCKS: dict[str, tuple[str, dict[str, Any], tuple[tuple[tuple[str, Figure], ...], ...]]] = {
    f"websearch-{round(100 * load)}": (
        "websearch",
        {"flows.web.pattern.open_loop.load": load},
        (
            tuple((f"{sizes}, median", slowdown(sizes, "slowdown_p50")) for sizes in SIZES),
            tuple((f"{sizes}, 99 %", slowdown(sizes, "slowdown_p99")) for sizes in SIZES),
            COMMON,
        ),
    )
    for load in (0.3, 0.6)
}
BLOCKS["incast"] = (
    "incast",
    {},
    ((("first, us", completed(0.0)), ("median, us", completed(0.5)), ("last, us", completed(1.0)), *COMMON),),
)


def cell(values: Sequence[float]) -> str:
    """Return the mean over seeds and half its confidence interval."""
    found = estimate_mean(np.array(values))
    return f"{digits(found.mean, 3)} ±{digits(found.ci95, 1)}" if found.ci95 else digits(found.mean, 3)


def digits(value: float, count: int) -> str:
    """Return a number with so many digits, and no exponent."""
    return np.format_float_positional(float(f"{value:.{count}g}"), trim="-")


def tables(block: str) -> str:
    """Return the tables of a block: a row for each transport, means over seeds with intervals."""
    name, changes, heads = BLOCKS[block]
    parts = [[["transport", *(label for label, _ in head)], ["---", *("---:" for _ in head)]] for head in heads]
    for transport in transports().values():
        chosen = scenario(name, transport, changes)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(functools.partial(run, chosen), SEEDS))
        unfinished = sum(int(result.flows["fct_s"].fill_nan(None).null_count()) for result in results)
        label = transport["label"] + (f" ({unfinished} not finished)" if unfinished else "")
        for rows, head in zip(parts, heads, strict=True):
            rows.append([label, *(cell([figure(it) for it in results]) for _, figure in head)])
    return "\n\n".join("\n".join(f"| {' | '.join(row)} |" for row in rows) for rows in parts)


def run(chosen: fb.Scenario, seed: int) -> fb.Result:
    """Run a scenario with this seed."""
    return fb.run(chosen, seed=seed)


def main() -> None:
    """Put the tables of all blocks into the page."""
    text = PAGE.read_text(encoding="utf-8")
    for block in BLOCKS:
        start = text.index(STARTS.format(block))
        end = text.index(ENDS, start)
        text = f"{text[:start]}{STARTS.format(block)}\n{tables(block)}\n{text[end:]}"
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
