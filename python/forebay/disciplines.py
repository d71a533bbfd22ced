"""Disciplines of your own: the classes to derive from, and what they answer with."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

from ._core import Component


class Verdict(IntEnum):
    """What is to become of a packet, with the reason that the results count it under.

    `True` does for ENQUEUE and `False` for DROP_OVERFLOW. Only packets that are ECN-capable (`ecn` is not 0) can be
    marked. The names after DROP_ are those of the columns `dropped_…` of the results.

        >>> int(Verdict.ENQUEUE), Verdict.DROP_OVERFLOW == False
        (1, True)
    """

    ENQUEUE = 1
    """Let it in."""
    MARK_EARLY = 2
    """Let it in, marked: a probabilistic or early mark."""
    MARK_FORCED = 3
    """Let it in, marked: the average or the delay is past the upper bound."""
    MARK_FLOW_LIMIT = 4
    """Let it in, marked: the flow is over its own limit."""
    MARK_FAIR_SHARE = 5
    """Let it in, marked: the flow is over its fair share."""
    DROP_OVERFLOW = 0
    """The buffer is full."""
    DROP_EARLY = -1
    """A probabilistic or early drop that signals congestion."""
    DROP_FORCED = -2
    """The average or the delay is past the upper bound, so that every packet goes."""
    DROP_FLOW_LIMIT = -3
    """The flow is over its own limit."""
    DROP_BELLIGERENT = -4
    """The flow does not respond."""
    DROP_EVICTED = -5
    """It made room for another flow's packet."""
    DROP_INPUT_PORT = -6
    """Its input port is shut or throttled."""
    DROP_RATE_LIMIT = -7
    """The flow is held to a fixed rate."""
    DROP_FAIR_SHARE = -8
    """The flow is over its fair share."""
    DROP_MATCH = -9
    """It matched a packet drawn from the queue, or was drawn."""


class AdmissionLaw(Component):
    """A law in front of one FIFO queue: decides about each packet on arrival, and never reorders.

    Derive from it and write `admit`. A method names the arguments that it wants, of those listed there, and gets these
    as integers. Parameters of the scenario are keyword arguments of the constructor; a dataclass declares them:

        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Threshold(AdmissionLaw):
        ...     limit_bytes: int = 30_000
        ...
        ...     def admit(self, length, queue_bytes):
        ...         return queue_bytes + length <= self.limit_bytes
        >>> Threshold(limit_bytes=1000).admit(length=600, queue_bytes=500)
        False

    `self.random()` draws from the law's own stream, `self.link_rate_bps` is the rate of its link. Each queue has an
    instance of its own. An exception ends the run with DisciplineError.
    """

    name: ClassVar[str] = ""
    """What results call it in their column `discipline`; by default the name of the class."""

    gauges: ClassVar[tuple[str, ...]] = ()
    """Names of attributes, all numbers, that become time series of the queue where the scenario has probes."""

    def __init__(self) -> None:
        """Takes no parameters: a law with parameters has a constructor of its own."""

    def admit(self, *arguments: Any, **by_name: Any) -> int:
        """Decides about an arriving packet: a `Verdict`, or True to let it in and False to drop it for want of room.

        It can ask for `now` (picoseconds since the start), `packet` (its number at this queue, from 0), `flow` (twice
        the number of the flow's row in the results, plus 1 for its ACKs), `length` (bytes on the wire), `ecn` (the
        codepoint: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE), `traffic_class`, `input_port` (of a switch),
        `queue_packets` and `queue_bytes` (what waits before the packet is added; the one on the wire is not counted).
        """
        raise NotImplementedError

    def release(self, *arguments: Any, **by_name: Any) -> None:
        """Is told that a packet begins its transmission, if a law defines it.

        It can ask for `now`, `packet`, `flow`, `length`, `queue_packets` and `queue_bytes` (without the packet).
        """

    def idle(self, *arguments: Any, **by_name: Any) -> None:
        """Is told once for each idle period that the link has nothing to send, if a law defines it.

        It can ask for `now`: the end of the last transmission, in picoseconds.
        """

    def state_bytes(self) -> int:
        """Tells what the law's state takes of memory in bytes, if a law defines it; else the results have 0."""
        return 0


class QueueDiscipline(Component):
    """A discipline that says which packet leaves next, and may drop packets that are queued.

    Derive from it and write `enqueue` and `dequeue`. Packets stay with the simulator: the discipline has their numbers,
    which count the arrivals at this queue from 0. As in an `AdmissionLaw`, a method names the arguments that it wants.

        >>> from collections import deque
        >>> class LastInFirstOut(QueueDiscipline):
        ...     def __init__(self, limit_packets: int = 100) -> None:
        ...         self.limit_packets = limit_packets
        ...         self.stack: deque[int] = deque()
        ...
        ...     def enqueue(self, packet, queue_packets):
        ...         self.stack.append(packet)
        ...         if queue_packets == self.limit_packets:
        ...             self.drop(self.stack.popleft())
        ...
        ...     def dequeue(self):
        ...         return self.stack.pop() if self.stack else None
        >>> lifo = LastInFirstOut()
        >>> lifo.enqueue(packet=0, queue_packets=0); lifo.enqueue(packet=1, queue_packets=1)
        >>> lifo.dequeue()
        1

    The number of a packet that is not queued ends the run with DisciplineError, as an exception does.
    """

    name: ClassVar[str] = ""
    """What results call it in their column `discipline`; by default the name of the class."""

    gauges: ClassVar[tuple[str, ...]] = ()
    """Names of attributes, all numbers, that become time series of the queue where the scenario has probes."""

    def __init__(self) -> None:
        """Takes no parameters: a discipline with parameters has a constructor of its own."""

    def enqueue(self, *arguments: Any, **by_name: Any) -> None:
        """Takes an arriving packet, which is queued from now on unless `drop` is called for it.

        It can ask for what `AdmissionLaw.admit` can ask for.
        """
        raise NotImplementedError

    def dequeue(self, *arguments: Any, **by_name: Any) -> int | None:
        """Gives the number of the packet to send next, or None if none may go now.

        It is asked whenever the link is free and packets are queued, and can ask for `now`, `queue_packets` and
        `queue_bytes`. After None it is asked again at the next arrival, or when `poll_at` says.
        """
        raise NotImplementedError

    def poll_at(self, *arguments: Any, **by_name: Any) -> int | None:
        """Tells when to ask again after `dequeue` gave None, if a discipline defines it: a shaper does.

        In picoseconds since the start, later than now; None to wait for the next arrival. It can ask for what
        `dequeue` can ask for.
        """

    def state_bytes(self) -> int:
        """Tells what the state takes of memory in bytes, if a discipline defines it; else the results have 0."""
        return 0

    def drop(self, packet: int, verdict: Verdict = Verdict.DROP_OVERFLOW) -> None:
        """Drops the packet of that number, arriving or queued, for the reason of a DROP_ verdict.

        Raises ValueError for a verdict that is no drop. Carried out when the method that calls it returns.
        """
        if verdict > 0:
            message = f"{verdict!r} is no drop"
            raise ValueError(message)
        self._order(packet, verdict)

    def mark(self, packet: int, verdict: Verdict = Verdict.MARK_EARLY) -> None:
        """Marks the packet of that number, which has to be ECN-capable, for the reason of a MARK_ verdict.

        Raises ValueError for a verdict that is no mark. Carried out when the method that calls it returns.
        """
        if verdict < 2:
            message = f"{verdict!r} is no mark"
            raise ValueError(message)
        self._order(packet, verdict)
