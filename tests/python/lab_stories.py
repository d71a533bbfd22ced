"""The stories of the lab as a test reads them: their steps, and the figures that each step states.

    python tests/python/lab_stories.py [STORY…] [--seeds N]

runs every check under N seeds (20) and prints the range of each figure with the band that the story states. Use it when
you write a step; the test runs a few seeds only.
"""

from __future__ import annotations

import argparse
import functools
import math
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import forebay as fb
from forebay.comparison.contenders import contenders_of, find_place, with_queue

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "lab/stories"

QUESTION = "Question: "
STEP = re.compile(r"^## (?P<title>[^\n]+)\n(?P<text>.*?)^```step\n(?P<keys>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
QUANTITY = re.compile(r"(?P<number>[0-9.]+) ?(?P<unit>[A-Za-z]*)")

SELECTORS = ("group", "name", "flow", "direction")
REDUCTIONS = ("sum", "mean", "min", "max", "count")


@dataclass(frozen=True)
class Check:
    """A figure of a step, and the band in which it must be."""

    queue: str | None
    """The discipline, where the step compares some."""
    at: str | None
    """The value of what the reader turns; None: that of the scenario."""
    table: str
    column: str
    where: tuple[tuple[str, str], ...]
    reduce: str
    less_than: float | None
    """`count` counts the rows with a smaller value."""
    between_s: tuple[float, float] | None
    """The time that counts, of series."""
    per: Check | None
    """A figure by which this one is divided."""
    above: float
    below: float

    @classmethod
    def of(cls, keys: Mapping[str, Any]) -> Check:
        return cls._of(dict(keys), (float(keys.get("above", -math.inf)), float(keys.get("below", math.inf))))

    @classmethod
    def _of(cls, keys: dict[str, Any], band: tuple[float, float]) -> Check:
        known = {
            "queue",
            "at",
            "table",
            "column",
            *SELECTORS,
            "reduce",
            "less_than",
            "between_s",
            "per",
            "above",
            "below",
        }
        unknown = set(keys) - known
        assert not unknown, f"a check has no key {sorted(unknown)}"
        per = keys.get("per")
        own = {key: value for key, value in keys.items() if key not in {"per", "above", "below"}}
        check = cls(
            queue=keys.get("queue"),
            at=keys.get("at"),
            table=keys["table"],
            column=keys["column"],
            where=tuple((key, keys[key]) for key in SELECTORS if key in keys),
            reduce=keys.get("reduce", "sum"),
            less_than=keys.get("less_than"),
            between_s=tuple(keys["between_s"]) if "between_s" in keys else None,
            per=None if per is None else cls._of(_other(own, per), (-math.inf, math.inf)),
            above=band[0],
            below=band[1],
        )
        assert check.reduce in REDUCTIONS, f"reduce is one of {REDUCTIONS}"
        assert check.less_than is None or check.reduce == "count", "less_than goes with reduce = count"
        return check

    def __str__(self) -> str:
        words = [it for it in (self.queue, None if self.at is None else f"at {self.at}") if it]
        words += [f"{self.reduce} of {self.table}.{self.column}", *(f"{key} {name}" for key, name in self.where)]
        if self.less_than is not None:
            words.append(f"below {self.less_than:g}")
        if self.between_s is not None:
            words.append("from {:g} to {:g} s".format(*self.between_s))
        return ", ".join(words) + (f" / ({self.per})" if self.per else "")


def _other(own: Mapping[str, Any], per: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a divisor: those of the check, with its own in their place. A selector replaces all others."""
    selects = set(per) & set(SELECTORS)
    kept = {key: value for key, value in own.items() if not (selects and key in SELECTORS)}
    return {**kept, **per}


@dataclass(frozen=True)
class Step:
    story: str
    number: int
    title: str
    text: str
    question: str
    see: str
    scenario: Path
    set: Mapping[str, object]
    compare: tuple[str, ...]
    turn: Mapping[str, str]
    show: tuple[str, ...]
    starving: Mapping[str, str]
    checks: tuple[Check, ...]

    def __str__(self) -> str:
        return f"{self.story}/{self.number}"

    def load(self, at: str | None = None, queue: str | None = None) -> fb.Scenario:
        """Return the scenario of the step at a position of its slider, with one of the disciplines it compares."""
        return _load(self.scenario, tuple((k, toml_text(v)) for k, v in self.set.items()), self.turn["key"], at, queue)

    def run(self, at: str | None, queue: str | None, seed: int) -> fb.Result:
        return _run(self.load(at, queue).to_toml(), seed)

    def value(self, check: Check, seed: int) -> float:
        """Return the figure of a check in a run with that seed."""
        own = _reduced(self.run(check.at, check.queue, seed), check)
        if check.per is None:
            return own
        other = self.value(check.per, seed)
        return own / other if other else math.nan


def toml_text(value: object) -> str:
    """Return a value as an override takes it: texts as they are."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@functools.cache
def _load(
    path: Path, changes: tuple[tuple[str, str], ...], turned: str, at: str | None, queue: str | None
) -> fb.Scenario:
    overrides = {**dict(changes), **({} if at is None else {turned: at})}
    scenario = fb.Scenario.load(path, overrides=overrides)
    if queue is None:
        return scenario
    (contender,) = contenders_of(queue)
    return with_queue(scenario, find_place(scenario, None), contender, {})


@functools.cache
def _run(text: str, seed: int) -> fb.Result:
    return fb.run(fb.Scenario.from_toml(text, "story.toml"), seed=seed)


def _table(result: fb.Result, name: str) -> pl.DataFrame:
    if name == "deadlock":
        since = [] if result.deadlock is None else [result.deadlock.since_s]
        return pl.DataFrame({"since_s": pl.Series(since, dtype=pl.Float64)})
    if name.endswith("_series"):
        return result.series(name.removesuffix("_series"))  # type: ignore[arg-type]
    table = getattr(result, name)
    assert isinstance(table, pl.DataFrame), f"a result has no table {name}"
    return table


def _reduced(result: fb.Result, check: Check) -> float:
    rows = _table(result, check.table)
    for key, name in check.where:
        rows = rows.filter(pl.col(key) == name)
    column = check.column
    if check.table.endswith("_series"):
        first, last = check.between_s or (0.0, math.inf)
        rows = rows.filter(pl.col("quantity") == column, pl.col("time_s").is_between(first, last))
        column = "value"
    assert rows.height or check.table == "deadlock", f"{check}: no such row"
    values = rows.get_column(column).cast(pl.Float64).fill_nan(None).drop_nulls()
    if check.reduce == "count":
        return float(len(values) if check.less_than is None else (values < check.less_than).sum())
    found = getattr(values, check.reduce)()
    return math.nan if found is None else float(found)


@dataclass(frozen=True)
class Story:
    name: str
    keys: Mapping[str, Any]
    intro: str
    steps: tuple[Step, ...]


def read(folder: Path) -> Story:
    text = (folder / "story.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    found = list(STEP.finditer(body))
    headings = re.findall(r"^## ", body, re.MULTILINE)
    assert len(found) == len(headings), f"{folder.name}: a step has no ```step block"
    intro = body[: found[0].start()].strip()
    steps = tuple(_step(folder, number, match) for number, match in enumerate(found, 1))
    return Story(folder.name, tomllib.loads(front), intro, steps)


def _step(folder: Path, number: int, match: re.Match[str]) -> Step:
    keys = tomllib.loads(match["keys"])
    unknown = set(keys) - {"scenario", "compare", "set", "turn", "show", "starving", "check"}
    assert not unknown, f"{folder.name}, step {number}: no such key: {sorted(unknown)}"
    paragraphs = [it.strip() for it in match["text"].split("\n\n") if it.strip()]
    questions = [it for it in paragraphs if it.startswith(QUESTION)]
    seen = [it for it in paragraphs if it.startswith(">")]
    others = [it for it in paragraphs if it not in questions and it not in seen]
    assert len(questions) == 1, f"{folder.name}, step {number}: {len(questions)} questions"
    assert seen, f"{folder.name}, step {number}: nothing to see"
    return Step(
        story=folder.name,
        number=number,
        title=match["title"].strip(),
        text="\n\n".join(others),
        question=" ".join(questions[0].removeprefix(QUESTION).split()),
        see=" ".join(line.removeprefix(">").strip() for it in seen for line in it.splitlines()),
        scenario=folder / keys.get("scenario", "scenario.toml"),
        set=keys.get("set", {}),
        compare=tuple(keys.get("compare", ())),
        turn=keys["turn"],
        show=tuple(keys["show"]),
        starving=keys.get("starving", {}),
        checks=tuple(Check.of(it) for it in keys.get("check", ())),
    )


def stories() -> list[Story]:
    folders = sorted(it.parent for it in FOLDER.glob("*/story.md"))
    return sorted((read(it) for it in folders), key=lambda story: int(story.keys["order"]))


def figures(names: Sequence[str], seeds: int) -> Iterator[tuple[Step, Check, list[float]]]:
    for story in stories():
        if names and story.name not in names:
            continue
        for step in story.steps:
            for check in step.checks:
                yield step, check, [step.value(check, seed) for seed in range(1, seeds + 1)]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Run the checks of the lab's stories under many seeds.")
    parser.add_argument("story", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args(arguments)
    outside = 0
    last = None
    for step, check, values in figures(given.story, given.seeds):
        if step is not last:
            print(f"\n{step} {step.title}")
            last = step
        holds = all(check.above < it < check.below for it in values)
        outside += not holds
        mean = sum(values) / len(values)
        spread = f"{min(values):.6g} .. {mean:.6g} .. {max(values):.6g}"
        print(f"  {'ok ' if holds else 'OUT'} {check}: {spread}, band {check.above:g} to {check.below:g}", flush=True)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
