"""Laws that Numba compiles decide as the interpreter does, and faults in them stop the run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

import forebay as fb
from forebay import Verdict
from test_python_disciplines import QUEUE, SCENARIO, queue_row, run


@pytest.fixture(scope="module")
def scenario() -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO)


@dataclass
class Coin(fb.CompiledLaw):
    """Uses random numbers, marks, gauges and all arguments."""

    gauges = ("avg", "seen", "released_bytes", "idle_since")
    heads: float = 0.02
    limit: int = 40
    marks: bool = True
    avg: float = 0.0
    seen: int = 0
    released_bytes: int = 0
    idle_since: int = 0

    def admit(self, now: int, packet: int, length: int, ecn: int, queue_packets: int, queue_bytes: int) -> Verdict:
        self.seen += 1
        self.avg += 0.01 * (queue_bytes - self.avg)
        if queue_packets >= self.limit:
            return Verdict.DROP_OVERFLOW
        if fb.draw(self) < self.heads:
            return Verdict.MARK_EARLY if ecn != 0 and self.marks else Verdict.DROP_EARLY
        return Verdict.ENQUEUE

    def release(self, now: int, length: int) -> None:
        self.released_bytes += length

    def idle(self, now: int) -> None:
        self.idle_since = now


class Interpreted(Coin):
    name = "Coin"
    compiled = False


def test_compiled_and_interpreted_give_the_same_digest(scenario: fb.Scenario) -> None:
    compiled, interpreted = run(scenario, {"python": Coin}), run(scenario, {"python": Interpreted})
    row = queue_row(compiled)
    assert row["packets_marked"] != 0
    assert row["dropped_early"] != 0
    assert compiled.series("queue", "bottleneck", "idle_since")["value"].max() != 0
    assert compiled.digest == interpreted.digest


def test_parameters_reach_the_compiled_state(scenario: fb.Scenario) -> None:
    parameters = {"limit": 5, "heads": 0.0, "marks": False}
    row = queue_row(run(scenario, {"python": {"class": Coin, "parameters": parameters}}))
    assert (row["length_max_packets"], row["packets_marked"], row["dropped_early"]) == (5, 0, 0)


def test_runs_on_several_threads_do_not_share_dice(scenario: fb.Scenario) -> None:
    with_coin = scenario.override({QUEUE: {"python": Coin}})
    alone = [fb.run(with_coin, seed=seed).digest for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: fb.run(with_coin, seed=seed).digest, range(4)))
    assert together == alone
    assert len(set(alone)) == 4


class Raising(fb.CompiledLaw):
    seen: int

    def __init__(self) -> None:
        self.seen = 0

    def admit(self, packet: int) -> bool:
        self.seen += 1
        if packet == 7:
            raise ValueError
        return True


class Wrong(fb.CompiledLaw):
    def admit(self) -> int:
        return 99


class Marking(fb.CompiledLaw):
    def admit(self) -> int:
        return Verdict.MARK_EARLY


@pytest.mark.parametrize(
    ("law", "expected"),
    [(Raising, "it raised an exception"), (Wrong, "returned 99"), (Marking, "not ECN-capable")],
)
def test_faults_stop_the_run(scenario: fb.Scenario, law: type, expected: str) -> None:
    with pytest.raises(fb.DisciplineError, match=expected) as caught:
        run(scenario, {"python": law})
    assert caught.value.packet == (7 if law is Raising else caught.value.packet)
    assert caught.value.flow is not None


class Texts(fb.CompiledLaw):
    label: str = ""

    def admit(self) -> bool:
        return True


class Uncompilable(fb.CompiledLaw):
    def admit(self, packet: int) -> bool:
        return open(str(packet)) is not None  # noqa: PTH123


class Unknown(fb.CompiledLaw):
    def admit(self, queue_packets: int) -> bool:
        return queue_packets < self.limit  # type: ignore[attr-defined, no-any-return]


@dataclass
class HidesTheRate(fb.CompiledLaw):
    link_rate_bps: int = 0

    def admit(self, queue_packets: int) -> bool:
        return queue_packets < self.link_rate_bps


class Salted(fb.CompiledLaw):
    salt: int

    def admit(self, queue_packets: int) -> bool:
        return queue_packets < self.salt


class Misspelt(fb.CompiledLaw):
    limit: integer  # type: ignore[name-defined]  # noqa: F821

    def admit(self, queue_packets: int) -> bool:
        return queue_packets < self.limit  # type: ignore[no-any-return]


class Paced(fb.CompiledLaw):
    """Keeps half a millisecond's worth of packets of 1500 bytes."""

    def admit(self, queue_packets: int) -> bool:
        return queue_packets * 12_000 < self.link_rate_bps * 0.005


class PacedInTheInterpreter(Paced):
    name = "Paced"
    compiled = False


class PacedByAField(fb.CompiledLaw):
    name = "Paced"
    link_rate_bps: int

    def admit(self, queue_packets: int) -> bool:
        return queue_packets * 12_000 < self.link_rate_bps * 0.005


def test_a_compiled_law_has_the_rate_of_its_link(scenario: fb.Scenario) -> None:
    laws = (Paced, PacedInTheInterpreter, PacedByAField)
    runs = [fb.run(scenario.override({QUEUE: {"python": law}})) for law in laws]
    assert len({run.digest for run in runs}) == 1
    assert runs[0].queues["packets_dropped"].item(0) > 0
    faster = scenario.override({QUEUE.replace("queue", "rate"): "20 Mbps"})
    twice = [fb.run(faster.override({QUEUE: {"python": law}})) for law in laws]
    assert len({run.digest for run in twice}) == 1
    assert twice[0].queues["length_max_packets"].item(0) > runs[0].queues["length_max_packets"].item(0)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (Texts, "must be an int"),
        (Uncompilable, "Numba cannot compile"),
        (Unknown, "the law has no field `limit`"),
        (HidesTheRate, "would hide the rate"),
        (Salted, "has no `salt`"),
        (Misspelt, "cannot be read: NameError"),
    ],
)
def test_what_cannot_be_compiled_is_refused_before_the_run(scenario: fb.Scenario, law: type, expected: str) -> None:
    with pytest.raises(fb.InputError, match=expected):
        run(scenario, {"python": law})


class Forged:
    """Claims to be a compiled function."""

    address = 12345
    _sig = "int64()"


def test_the_core_takes_no_number_for_a_pointer(scenario: fb.Scenario) -> None:
    import ctypes

    import numba
    from numba import types

    @numba.cfunc(types.int64())
    def other() -> Any:
        return 1

    for function in (Forged(), ctypes.CFUNCTYPE(ctypes.c_int64)(lambda: 1), other):
        custom = dict(scenario.override({QUEUE: {"python": Wrong}}).custom())
        (plan,) = custom.values()
        assert plan.compiled is not None
        original = plan.compiled.functions
        object.__setattr__(plan.compiled, "functions", {"admit": function})
        try:
            with pytest.raises(fb.DisciplineError, match=r"not a function compiled by numba\.cfunc|signature"):
                run(scenario, {"python": Wrong})
        finally:
            object.__setattr__(plan.compiled, "functions", original)
