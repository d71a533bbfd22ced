"""The environments are runs of the scenario: the seed decides everything, and nothing hangs."""

from __future__ import annotations

import math
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import VectorEnv

import forebay as fb
from forebay.gym import QUANTITIES, Observation, QueueEnv, SingleQueueEnv

SCENARIO = """
duration = "1 s"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms" }

[[flows]]
name = "tcp"
count = 3
transport.tcp = { ecn = true }

[[flows]]
name = "udp"
transport.udp = { packet = "1000 B", poisson = { rate = "4 Mbps" } }
"""


class Threshold(fb.AdmissionLaw):
    gauges = ("limit",)

    def __init__(self, limit: float = 20.0) -> None:
        self.limit = limit

    def admit(self, queue_packets: int) -> bool:
        return queue_packets < self.limit


class Share(fb.AdmissionLaw):
    gauges = ("share",)

    def __init__(self) -> None:
        self.share = 0.5

    def admit(self, queue_packets: int) -> bool:
        return queue_packets < 100 * self.share


def environment(**options: object) -> QueueEnv:
    given: dict[str, object] = {"interval_s": 0.1, "reward": _sent, "num_envs": 2, **options}
    return QueueEnv(fb.Scenario.from_toml(SCENARIO), **given)  # type: ignore[arg-type]


def _sent(seen: Observation) -> float:
    return seen["sent_bytes"] * 8 / (10e6 * 0.1)


def episode(env: QueueEnv, seed: int, probability: float) -> np.ndarray:
    seen, _ = env.reset(seed=seed)
    all_seen = [seen]
    for _ in range(25):
        seen, *_ = env.step(np.full((env.num_envs, 1), probability))
        all_seen.append(seen)
    return np.array(all_seen)


def test_it_is_a_vector_environment_and_rewards_are_of_the_function() -> None:
    env = environment()
    assert isinstance(env, VectorEnv)
    seen, infos = env.reset(seed=1)
    assert seen.shape == (2, len(QUANTITIES))
    assert env.observation_space.contains(seen)
    assert infos == {}
    seen, rewards, terminated, truncated, _ = env.step(env.action_space.sample())
    assert rewards == pytest.approx(seen[:, QUANTITIES.index("sent_bytes")] * 8 / 1e6)
    assert not terminated.any()
    assert not truncated.any()
    env.close()


def test_the_seed_decides_everything() -> None:
    env = environment()
    first, again, other = episode(env, 7, 0.01), episode(env, 7, 0.01), episode(env, 8, 0.01)
    env.close()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.array_equal(first[:9, 1], other[:9, 0])


def test_steps_add_up_to_the_run() -> None:
    """A law that is only watched decides as it does in a plain run."""
    env = environment(num_envs=1, law=Threshold, actions={"limit": (1.0, 100.0)})
    seen, _ = env.reset(seed=3)
    total, truncated = seen.copy(), np.array([False])
    while not truncated.all():
        seen, _, _, truncated, _ = env.step(np.array([[20.0]]))
        total += seen
    env.close()
    plain = fb.run(
        fb.Scenario.from_toml(SCENARIO, overrides={"topology.star.bottleneck.queue": {"python": Threshold}}), seed=3
    )
    row = plain.queues.filter(name="bottleneck").to_dicts()[0]
    assert total[0, QUANTITIES.index("arrived")] == row["packets_arrived"]
    assert total[0, QUANTITIES.index("dropped")] == row["packets_dropped"]


def test_actions_reach_the_law() -> None:
    env = environment(law=Threshold, actions={"limit": (1.0, 100.0)}, num_envs=1)
    env.reset(seed=1)
    lengths = {}
    for limit in (5.0, 50.0):
        for _ in range(4):
            seen, *_ = env.step(np.array([[limit]]))
        lengths[limit] = seen[0, 0]
        assert seen[0, -1] == limit
    env.close()
    assert lengths[5.0] <= 5 < lengths[50.0]


def test_an_episode_is_truncated_at_the_end_of_the_run_and_the_next_begins() -> None:
    env = environment(num_envs=1)
    env.reset(seed=1)
    ends = [bool(env.step(np.zeros((1, 1)))[3][0]) for _ in range(24)]
    env.close()
    assert [index for index, end in enumerate(ends) if end] == [8, 18]


@pytest.mark.parametrize("steps", [0, 3, 9, 10])
def test_reset_and_close_never_hang_and_leave_no_thread(steps: int) -> None:
    before = threading.active_count()
    env = environment()
    for _ in range(2):
        env.reset(seed=1)
        for _ in range(steps):
            env.step(np.zeros((2, 1)))
    env.close()
    assert threading.active_count() == before


def test_a_queue_that_no_packet_reaches_ends_its_episode() -> None:
    scenario = fb.Scenario.from_toml(SCENARIO, overrides={"flows.tcp.start": "900 ms", "flows.udp.start": "900 ms"})
    env = QueueEnv(scenario, interval_s=0.1, reward=_sent)
    seen, _ = env.reset(seed=1)
    assert not seen.any()
    truncated = np.array([False])
    for _ in range(12):
        if truncated.all():
            break
        truncated = env.step(np.zeros((1, 1)))[3]
    env.close()
    assert truncated.all()


def test_an_exception_of_the_law_is_raised_by_step() -> None:
    class Faulty(fb.AdmissionLaw):
        limit = 1.0

        def admit(self, packet: int) -> bool:
            return bool(1 // (50 - packet))

    env = environment(law=Faulty, actions={"limit": (0.0, 1.0)}, num_envs=1)
    with pytest.raises(fb.DisciplineError, match="packet 50"):  # noqa: PT012
        env.reset(seed=1)
        for _ in range(10):
            env.step(np.zeros((1, 1)))
    env.close()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        *(({"interval_s": value}, "interval_s") for value in (0.0, -1.0, math.inf, -math.inf, math.nan, 1e-13)),
        ({"num_envs": 0}, "num_envs"),
        ({"at": "topology.star.x.queue"}, "no such"),
        ({"actions": {"probability": (0.0, math.inf)}}, "is no range"),
        ({"actions": {"probability": (1.0, 0.0)}}, "is no range"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], expected: str) -> None:
    with pytest.raises(fb.InputError, match=expected):
        environment(**options)


def test_step_wants_a_reset_first() -> None:
    with pytest.raises(fb.InputError, match="before reset"):
        environment().step(np.zeros((2, 1)))


def single(**options: object) -> SingleQueueEnv:
    given: dict[str, object] = {"interval_s": 0.1, "reward": _sent, **options}
    return SingleQueueEnv(fb.Scenario.from_toml(SCENARIO), **given)  # type: ignore[arg-type]


def test_the_single_environment_passes_gymnasium_s_checks() -> None:
    scenario = fb.Scenario.from_toml(SCENARIO)
    gauge: dict[str, Any] = {"law": Share, "actions": {"share": (0.0, 1.0)}, "bounds": {"share": (0.0, 1.0)}}
    for options in ({}, gauge):
        env = gymnasium.make("forebay/Queue-v0", scenario=scenario, interval_s=0.1, reward=_sent, **options)
        # Warnings are errors here.
        check_env(env.unwrapped)
        env.close()


def test_the_single_environment_is_the_vector_of_one() -> None:
    vector, env = environment(num_envs=1), single()
    first, _ = vector.reset(seed=5)
    seen, _ = env.reset(seed=5)
    assert np.array_equal(first[0], seen)
    truncated = False
    for _ in range(30):
        if truncated:
            break
        action = np.array([0.01])
        expected, rewards, _, ended, _ = vector.step(action[np.newaxis])
        seen, reward, terminated, truncated, infos = env.step(action)
        assert np.array_equal(expected[0], seen)
        assert env.observation_space.contains(seen)
        assert (reward, terminated, truncated, infos) == (rewards[0], False, ended[0], {})
    assert truncated
    with pytest.raises(fb.InputError, match="call reset"):
        env.step(np.array([0.0]))
    vector.close()
    env.close()


def test_observations_of_the_single_environment_are_clipped_to_finite_bounds() -> None:
    env = single(bounds={"queue_packets": (0.0, 3.0)})
    assert isinstance(env.observation_space, gymnasium.spaces.Box)
    assert env.observation_space.is_bounded()
    env.reset(seed=1)
    seen = np.array([env.step(np.array([0.0]))[0] for _ in range(5)])
    env.close()
    assert seen[:, 0].max() == 3.0
    # In bytes there is more.
    assert seen[:, 1].max() > 4000


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"interval_s": math.inf}, "interval_s"),
        ({"bounds": {"queue": (0.0, 1.0)}}, "no column queue"),
        ({"bounds": {"sent": (0.0, math.inf)}}, "finite"),
        ({"render_mode": "human"}, "render_mode"),
    ],
)
def test_what_cannot_be_is_refused_by_the_single_environment_too(options: dict[str, object], expected: str) -> None:
    with pytest.raises(fb.InputError, match=expected):
        single(**options)
