"""Environments for training queue management and congestion control: a scenario that an agent steers, step by step.

Needs the extra `forebay[gym]`. Each environment runs the scenario on a thread of its own, which waits at the end of
each interval for the next action. So the simulation is the one of `forebay.run`, and every step ends: with an
observation, with the end of the run, or with its error.
"""

try:
    import gymnasium
except ModuleNotFoundError as absent:
    message = "forebay.gym needs Gymnasium, which is not installed\nhint: pip install 'forebay[gym]'"
    raise ModuleNotFoundError(message, name=absent.name) from absent

from .episodes import Observation
from .queues import QUANTITIES, MarkingProbability, QueueEnv, SingleQueueEnv
from .senders import SENDER_QUANTITIES, SenderEnv, SingleSenderEnv, SteeredSender

gymnasium.register(id="forebay/Queue-v0", entry_point="forebay.gym:SingleQueueEnv")
gymnasium.register(id="forebay/Sender-v0", entry_point="forebay.gym:SingleSenderEnv")

__all__ = [
    "QUANTITIES",
    "SENDER_QUANTITIES",
    "MarkingProbability",
    "Observation",
    "QueueEnv",
    "SenderEnv",
    "SingleQueueEnv",
    "SingleSenderEnv",
    "SteeredSender",
]
