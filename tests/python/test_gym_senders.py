"""The environments of senders are runs of the scenario: the seed decides everything, and nothing hangs."""

from __future__ import annotations

import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import VectorEnv

import forebay as fb
from forebay.gym import SENDER_QUANTITIES, Observation, SenderEnv, SingleSenderEnv

SCENARIO = """
duration = "2 s"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "10 ms", queue = { drop_tail = { limit = "50 packets" } } }

[[flows]]
name = "agent"
transport = "tcp"

[[flows]]
name = "udp"
transport.udp = { packet = "1000 B", poisson = { rate = "2 Mbps" } }
"""
INDEX = {name: index for index, name in enumerate(SENDER_QUANTITIES)}


def _delivered(seen: Observation) -> float:
    return seen["delivered"]


def environment(scenario: fb.Scenario | None = None, **options: Any) -> SenderEnv:
    given = {"interval_s": 0.1, "reward": _delivered, "num_envs": 2, **options}
    return SenderEnv(scenario or fb.Scenario.from_toml(SCENARIO), **given)


def episode(env: SenderEnv, seed: int, action: float) -> np.ndarray:
    seen, _ = env.reset(seed=seed)
    all_seen = [seen]
    truncated = np.zeros(env.num_envs, dtype=bool)
    while not truncated.any():
        seen, _, _, truncated, _ = env.step(np.full((env.num_envs, 1), action))
        all_seen.append(seen)
    return np.array(all_seen)


def test_it_is_a_vector_environment_and_rewards_are_of_the_function() -> None:
    env = environment()
    assert isinstance(env, VectorEnv)
    seen, infos = env.reset(seed=1)
    assert seen.shape == (2, len(SENDER_QUANTITIES))
    assert env.observation_space.contains(seen)
    assert infos == {}
    seen, rewards, terminated, truncated, _ = env.step(np.full((2, 1), 20.0))
    assert rewards.tolist() == seen[:, INDEX["delivered"]].tolist()
    assert not terminated.any()
    assert not truncated.any()
    env.close()


def test_the_seed_decides_everything() -> None:
    env = environment()
    first, again, other = episode(env, 7, 40.0), episode(env, 7, 40.0), episode(env, 8, 40.0)
    env.close()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.array_equal(first[:, 1], other[:, 0])


def test_the_window_is_the_agent_s() -> None:
    env = environment(num_envs=1)
    small, large, too_large = (episode(env, 1, window)[3:-1, 0] for window in (5.0, 40.0, 90.0))
    env.close()
    assert set(small[:, INDEX["window"]]) == {5.0}
    assert small[:, INDEX["in_flight"]].max() <= 5
    # The path takes 22 ms without a queue.
    assert small[:, INDEX["round_trip_min_s"]].min() == pytest.approx(0.0235, abs=0.0015)
    assert np.median(large[:, INDEX["round_trip_mean_s"]]) > 2 * np.median(small[:, INDEX["round_trip_mean_s"]])
    assert large[:, INDEX["delivered"]].sum() > 2 * small[:, INDEX["delivered"]].sum()
    assert small[:, INDEX["lost"]].sum() == 0 < too_large[:, INDEX["lost"]].sum()


def test_the_rate_may_be_the_agent_s() -> None:
    env = environment(num_envs=1, actions={"pacing_rate_bps": (1e5, 1e7)}, parameters={"segments": 200})
    for rate in (1e6, 4e6):
        delivered = episode(env, 1, rate)[5:-1, 0, INDEX["delivered"]]
        assert delivered.mean() * 1448 * 8 / 0.1 == pytest.approx(rate, rel=0.05)
    env.close()


class Aimd(fb.CongestionController):
    needs = ("round_trips", "delivery")

    def __init__(self, increase: float = 1.0) -> None:
        self.increase = increase

    def on_ack(self, acked: float, window_used: bool, in_recovery: bool) -> None:
        if window_used and not in_recovery:
            self.window += acked if self.window < self.threshold else self.increase * acked / self.window

    def on_loss(self, used: float) -> None:
        self.window = self.threshold = max(2.0, used / 2)


def test_a_controller_that_is_only_watched_decides_as_in_a_plain_run() -> None:
    env = environment(num_envs=1, controller=Aimd, actions={"increase": (0.1, 10.0)})
    seen = episode(env, 3, 1.0)
    env.close()
    control = {"flows.agent.transport": {"tcp": {"congestion_control": {"python": Aimd}}}}
    plain = fb.run(fb.Scenario.from_toml(SCENARIO, overrides=control), seed=3)
    delivered = plain.flows["packets_delivered"][0]
    # Segments of the last round trip are not acknowledged.
    assert seen[:, 0, INDEX["delivered"]].sum() == pytest.approx(delivered, abs=60)
    assert seen[:, 0, INDEX["lost"]].sum() == pytest.approx(plain.flows["packets_retransmitted"][0], abs=5)


@pytest.mark.parametrize("steps", [0, 3, 25])
def test_reset_and_close_never_hang_and_leave_no_thread(steps: int) -> None:
    before = threading.active_count()
    env = environment()
    for _ in range(2):
        env.reset(seed=1)
        for _ in range(steps):
            env.step(np.full((2, 1), 10.0))
    env.close()
    assert threading.active_count() == before


def test_a_flow_without_acks_ends_its_episode() -> None:
    env = environment(fb.Scenario.from_toml(SCENARIO, overrides={"flows.agent.start": "1999 ms"}), num_envs=1)
    seen, _ = env.reset(seed=1)
    assert not seen.any()
    assert env.step(np.array([[10.0]]))[3].all()
    env.close()


def test_an_exception_of_the_controller_is_raised_by_step() -> None:
    class Faulty(fb.CongestionController):
        limit = 1.0

        def on_ack(self, now: int) -> None:
            assert now < 500_000_000_000

        def on_loss(self) -> None:
            """Change nothing."""

    env = environment(controller=Faulty, actions={"limit": (0.0, 1.0)}, num_envs=1)
    with pytest.raises(fb.ControllerError, match="flow agent"):  # noqa: PT012
        env.reset(seed=1)
        for _ in range(10):
            env.step(np.zeros((1, 1)))
    env.close()


@pytest.mark.parametrize(
    ("overrides", "options", "expected"),
    [
        ({}, {"flow": "udp"}, "there is no group udp of TCP flows"),
        ({}, {"flow": "nobody"}, "hint: .*agent"),
        ({"flows.agent.count": 2}, {}, "agent has 2 flows"),
        ({"flows.udp.transport": "tcp"}, {}, "not exactly one group"),
        ({}, {"interval_s": 0.0}, "interval_s"),
        ({}, {"num_envs": 0}, "num_envs"),
        ({}, {"actions": {"segments": (10.0, 1.0)}}, "is no range"),
    ],
)
def test_what_cannot_be_is_refused(overrides: dict[str, object], options: dict[str, object], expected: str) -> None:
    with pytest.raises(fb.InputError, match=expected):
        environment(fb.Scenario.from_toml(SCENARIO, overrides=overrides), **options)


def test_a_flow_of_several_senders_is_refused() -> None:
    app = {"transfers": {"size": "10 KB", "gap": "50 ms"}}
    env = environment(fb.Scenario.from_toml(SCENARIO, overrides={"flows.agent.app": app}), num_envs=1)
    with pytest.raises(fb.ControllerError, match="has several senders"):  # noqa: PT012
        env.reset(seed=1)
        for _ in range(10):
            env.step(np.array([[10.0]]))
    env.close()


# Gymnasium recommends actions from 0 to 1, which its wrapper RescaleAction makes of others.
@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space")
def test_the_single_environment_passes_gymnasium_s_checks() -> None:
    env = gymnasium.make(
        "forebay/Sender-v0", scenario=fb.Scenario.from_toml(SCENARIO), interval_s=0.1, reward=_delivered
    )
    # Warnings are errors here.
    check_env(env.unwrapped)
    env.close()


def test_the_single_environment_is_the_vector_of_one() -> None:
    vector = environment(num_envs=1)
    env = SingleSenderEnv(fb.Scenario.from_toml(SCENARIO), interval_s=0.1, reward=_delivered)
    first, _ = vector.reset(seed=5)
    seen, _ = env.reset(seed=5)
    assert np.array_equal(first[0], seen)
    truncated = False
    while not truncated:
        expected, rewards, _, ended, _ = vector.step(np.array([[30.0]]))
        seen, reward, terminated, truncated, _ = env.step(np.array([30.0]))
        assert np.array_equal(expected[0], seen)
        assert env.observation_space.contains(seen)
        assert (reward, terminated, truncated) == (rewards[0], False, ended[0])
    vector.close()
    env.close()
