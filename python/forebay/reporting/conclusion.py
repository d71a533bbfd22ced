"""The conclusions of runs and replays: a few sentences built from the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from forebay.captures.result import ReplayResult
from forebay.display.quantity import text_with_unit
from forebay.result import Result
from forebay.runs.congestion import congested

_STARVES_BELOW = 0.1
"""A share of an even share of the link."""
_WORDS = {"goodput_bps": "goodput per flow", "delay_s": "mean delay"}
_MOST_NAMED = 4
_BUSY = 0.9
_LITTLE_LOSS = 0.0005


def of_run(result: Result) -> list[str]:
    """Return the sentences: the busiest queue, the flows that starve there, the cost, and the certainty."""
    hot = _hot_queue(result)
    if hot is None:
        return []
    flows = _flows_at(result, hot.name)
    sentences = [_about(hot)]
    if hot.is_congested and flows.height > 1:
        sentences += _shares(flows, hot)
    sentences += [text for text in (_losses(flows), _waiting(flows, hot), _pause(result)) if text]
    return [*sentences, "This is one run: `forebay run --seeds 10` shows how far its numbers scatter."]


def of_runs(results: Mapping[str, Result]) -> list[str]:
    """Return, for each group, the runs with the most goodput and the least delay."""
    if len(results) < 2:
        return []
    sentences = []
    for group in dict.fromkeys(name for result in results.values() for name in result.flows.get_column("group")):
        goodput, delay = {}, {}
        for run, result in results.items():
            flows = result.flows.filter(pl.col("group") == group)
            delivered = flows.filter(pl.col("delay_mean_s").is_not_null())
            if flows.height:
                goodput[run] = float(flows.get_column("goodput_bps").to_numpy().mean())
            if delivered.height:
                weights = delivered.get_column("packets_delivered").to_numpy()
                delay[run] = float(np.average(delivered.get_column("delay_mean_s").to_numpy(), weights=weights))
        parts = [_extremes(name, values) for name, values in (("goodput_bps", goodput), ("delay_s", delay))]
        if known := [part for part in parts if part]:
            sentences.append(f"{group}: {'; '.join(known)}.")
    chance = (
        "Each is one run, so a difference may be chance: `forebay compare` and `forebay run --seeds` give intervals."
    )
    return [*sentences[:_MOST_NAMED], chance]


def of_replay(replay: ReplayResult) -> list[str]:
    """Return, for each queue, its losses and delays, and how it treats the largest flow compared with all others."""
    if not replay.packets:
        return []
    sentences = [_of_queue(row) for row in replay.queues.head(_MOST_NAMED).iter_rows(named=True)]
    first = replay.queues.item(0, "queue")
    sizes = replay.flows.filter(pl.col("queue") == first).sort("packets", descending=True, maintain_order=True)
    if sizes.height > 1:
        largest = sizes.item(0, "flow")
        sent = _percent(sizes.item(0, "packets") / sizes.get_column("packets").sum())
        losses = [_loss_of(replay.flows, queue, largest) for queue in replay.queues.head(_MOST_NAMED)["queue"]]
        sentences.append(f"The largest flow, {largest}, sends {sent} of the packets. {' '.join(losses)}")
    return [*sentences, "The senders in a capture do not react to these queues."]


def _of_queue(row: Mapping[str, Any]) -> str:
    lost = f"{row['queue']} drops {_percent(row['packets_dropped'] / row['packets_arrived'])} of the packets"
    if row["delay_p99_s"] is None:
        return f"{lost}."
    mean, tail = _text("delay_s", row["delay_mean_s"]), _text("delay_s", row["delay_p99_s"])
    return f"{lost}. The others wait {mean} on average, and 99 % of them at most {tail}."


def _loss_of(flows: pl.DataFrame, queue: str, largest: str) -> str:
    there, is_largest = flows.filter(pl.col("queue") == queue), pl.col("flow") == largest
    loss = pl.col("packets_dropped").sum() / pl.col("packets").sum()
    of_largest, of_others = (there.filter(which).select(loss).item() for which in (is_largest, ~is_largest))
    return f"{queue} drops {_percent(of_largest)} of them, and {_percent(of_others)} of all others."


def _extremes(quantity: str, values: Mapping[str, float]) -> str:
    if len(values) < 2:
        return ""
    least, most = min(values, key=lambda run: values[run]), max(values, key=lambda run: values[run])
    if values[least] == values[most]:
        return f"equal {_WORDS[quantity]} in all runs"
    low, high = (f"{_text(quantity, values[run])} ({run})" for run in (least, most))
    return f"{_WORDS[quantity]} from {low} to {high}"


@dataclass(frozen=True)
class _Hot:
    """The most congested queue with its link."""

    name: str
    discipline: str
    rate_bps: float
    utilization: float
    length_packets: float
    loss: float
    wait_s: float
    others: int

    @property
    def is_congested(self) -> bool:
        return self.utilization >= _BUSY or self.loss > 0.0


def _hot_queue(result: Result) -> _Hot | None:
    names = [name for name in congested(result) if name in set(result.links.get_column("name"))]
    if not names:
        return None
    queue = result.queues.row(by_predicate=pl.col("name") == names[0], named=True)
    link = result.links.row(by_predicate=pl.col("name") == names[0], named=True)
    arrived = queue["packets_arrived"]
    return _Hot(
        name=names[0],
        discipline=queue["discipline"],
        rate_bps=link["rate_bps"],
        utilization=link["utilization"],
        length_packets=queue["length_mean_packets"],
        loss=queue["packets_dropped"] / arrived if arrived else 0.0,
        wait_s=queue["wait_mean_s"] or 0.0,
        others=len(names) - 1,
    )


def _flows_at(result: Result, queue: str) -> pl.DataFrame:
    """Return the flows whose data passed the queue, with their waiting time there as `wait_s`."""
    there = result.queue_flows.filter((pl.col("queue") == queue) & (pl.col("direction") == "data"))
    waits = there.select(pl.col("flow").alias("name"), pl.col("wait_mean_s").alias("wait_s"))
    return result.flows.join(waits, on="name", how="inner", maintain_order="left")


def _about(hot: _Hot) -> str:
    sends = f"its link sends {_percent(hot.utilization)} of the time"
    queue = f"{hot.name} ({hot.discipline})"
    if not hot.is_congested:
        return f"No queue is congested: the longest one is {queue}, {sends} and no packet is dropped."
    first = f"The most congested queue is {queue}" if hot.others else f"The queue {queue} is congested"
    lost = f"{_percent(hot.loss)} of the packets are dropped" if hot.loss else "no packet is dropped"
    wait = f"{hot.length_packets:.3g} packets wait there on average, for {_text('wait_s', hot.wait_s)} each"
    return f"{first}: {sends}, {lost}, and {wait}."


def _shares(flows: pl.DataFrame, hot: _Hot) -> Iterator[str]:
    even_bps = hot.rate_bps / flows.height
    starving = flows.filter(_wants_more() & (pl.col("goodput_bps") < _STARVES_BELOW * even_bps))
    totals = flows.group_by("group", maintain_order=True).agg(pl.col("goodput_bps").sum(), pl.len())
    if starving.is_empty():
        yield f"No flow starves: none that has more to send gets less than a tenth of an even share, {_rate(even_bps)}."
        return
    for group, members in list(starving.group_by("group", maintain_order=True))[:_MOST_NAMED]:
        every = flows.filter(pl.col("group") == group[0]).height
        mean_bps = float(members.get_column("goodput_bps").to_numpy().mean())
        share = f"{_rate(mean_bps)}, {_percent(mean_bps / even_bps)} of an even share of {_rate(even_bps)}"
        if every == 1:
            yield f"{group[0]} starves: it gets {share}."
        elif members.height == every:
            yield f"{group[0]} starves: each of its {every:,} flows gets {share}, on average."
        else:
            one = "starves: it gets" if members.height == 1 else "starve: each gets, on average,"
            yield f"{members.height:,} of the {every:,} flows of {group[0]} {one} {share}."
    most = totals.sort("goodput_bps", descending=True, maintain_order=True).row(0, named=True)
    yield f"{most['group']} takes {_percent(most['goodput_bps'] / hot.rate_bps)} of the link."


def _wants_more() -> pl.Expr:
    """Flows that would send more: TCP that was held back and has data left, others that lose half of their packets."""
    held_back = (pl.col("packets_dropped") > 0) | (pl.col("timeouts") > 0) | (pl.col("packets_delivered") == 0)
    is_tcp = pl.col("kind") == "tcp"
    unfinished = is_tcp & pl.col("finished_s").is_null() & held_back
    return unfinished | (~is_tcp & (pl.col("offered_bps") > 2.0 * pl.col("goodput_bps")))


def _losses(flows: pl.DataFrame) -> str:
    dropped, ended = pl.col("packets_dropped").sum(), (pl.col("packets_dropped") + pl.col("packets_delivered")).sum()
    groups = flows.group_by("group", maintain_order=True).agg((dropped / ended).alias("loss"))
    lossy = groups.filter(pl.col("loss") >= _LITTLE_LOSS).sort("loss", descending=True, maintain_order=True)
    if lossy.is_empty() or groups.height < 2:
        return ""
    parts = [f"{group} {_percent(loss)}" for group, loss in lossy.head(_MOST_NAMED).rows()]
    return f"Losses: {_listed(parts)} of their packets."


def _waiting(flows: pl.DataFrame, hot: _Hot) -> str:
    """Return how much of each group's delay is waiting at the queue."""
    delivered = pl.col("packets_delivered")
    known = flows.filter(pl.col("delay_mean_s").is_not_null() & pl.col("wait_s").is_not_null() & (delivered > 0))
    means = [((pl.col(name) * delivered).sum() / delivered.sum()).alias(name) for name in ("wait_s", "delay_mean_s")]
    rows = known.group_by("group", maintain_order=True).agg(means).sort("wait_s", descending=True, maintain_order=True)
    # The two are averages over different packets: some that waited are still on their way.
    found = [(group, wait_s, delay_s) for group, wait_s, delay_s in rows.rows() if 0.0 < wait_s <= delay_s]
    parts = [f"{_text('s_s', wait)} for {group} (of {_text('s_s', delay)})" for group, wait, delay in found]
    if not parts:
        return ""
    return f"The queue {hot.name} adds to the mean delay {_listed(parts[:_MOST_NAMED])}."


def _pause(result: Result) -> str:
    frames = ((result.queues, "{}"), (result.adapters, "the adapter of {}"))
    ports = [
        frame.select(pl.format(words, "name").alias("name"), "paused_s")
        for frame, words in frames
        if "paused_s" in frame.columns
    ]
    if not ports:
        return ""
    stopped = pl.concat(ports).filter(pl.col("paused_s") > 0)
    if stopped.is_empty():
        return "No port is stopped by PAUSE."
    name, paused_s = stopped.sort("paused_s", descending=True, maintain_order=True).row(0)
    share = _percent(paused_s / (result.duration_s - result.warmup_s))
    count = f"{stopped.height:,} port{' is' if stopped.height == 1 else 's are'} stopped by PAUSE"
    return f"{count}, {name} for {share} of the time."


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _rate(bps: float) -> str:
    return _text("rate_bps", bps)


def _text(quantity: str, value: float) -> str:
    return text_with_unit(quantity, value, 3)
