"""Disciplines written in Python: the base classes, and the verdicts that they return."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

from forebay._core import Component


class Verdict(IntEnum):
    """The fate of a packet, with the reason under which results count it.

    A law may also return `True` for `ENQUEUE` and `False` for `DROP_OVERFLOW`. Only an ECN-capable packet, whose `ecn`
    is not 0, can be marked. The column of a drop is named as its verdict: `DROP_EARLY` counts in `dropped_early`.

    Example:
        >>> int(fb.Verdict.ENQUEUE), fb.Verdict.DROP_OVERFLOW == False
        (1, True)

    """

    ENQUEUE = 1
    """Let the packet in."""
    MARK_EARLY = 2
    """Let it in with a mark: a probabilistic or early mark."""
    MARK_FORCED = 3
    """Let it in with a mark: the average or the delay is past the upper bound."""
    MARK_FLOW_LIMIT = 4
    """Let it in with a mark: the flow is over its own limit."""
    MARK_FAIR_SHARE = 5
    """Let it in with a mark: the flow is over its fair share."""
    DROP_OVERFLOW = 0
    """Drop it: the buffer is full."""
    DROP_EARLY = -1
    """Drop it: a probabilistic or early drop that signals congestion."""
    DROP_FORCED = -2
    """Drop it: the average or the delay is past the upper bound, so that every packet is dropped."""
    DROP_FLOW_LIMIT = -3
    """Drop it: the flow is over its own limit."""
    DROP_BELLIGERENT = -4
    """Drop it: the flow does not respond."""
    DROP_EVICTED = -5
    """Drop it: it made room for another flow's packet."""
    DROP_INPUT_PORT = -6
    """Drop it: its input port is shut or throttled."""
    DROP_RATE_LIMIT = -7
    """Drop it: the flow is held to a fixed rate."""
    DROP_FAIR_SHARE = -8
    """Drop it: the flow is over its fair share."""
    DROP_MATCH = -9
    """Drop it: it matched a packet drawn from the queue, or was drawn."""


class AdmissionLaw(Component):
    """Base class of a law in front of one FIFO queue, which decides on each packet as it arrives and never reorders.

    Derive from it and write `admit`. A method takes any of the arguments in its description, by their names; they are
    integers. Parameters of the scenario are keyword arguments of the constructor, which a
    dataclass declares. Each queue has an instance of its own, and an exception ends the run with `DisciplineError`.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Threshold(fb.AdmissionLaw):
        ...     limit_bytes: int = 30_000
        ...
        ...     def admit(self, length, queue_bytes):
        ...         return queue_bytes + length <= self.limit_bytes
        >>> Threshold(limit_bytes=1000).admit(length=600, queue_bytes=500)
        False
        >>> queue = {"topology.star.bottleneck.queue": {"python": Threshold}}
        >>> fb.run("examples/first.toml", overrides=queue).queues["discipline"].item()
        'Threshold'

    """

    name: ClassVar[str] = ""
    """The name in the results' column `discipline`. Default: the name of the class."""

    gauges: ClassVar[tuple[str, ...]] = ()
    """Names of attributes, all numbers, that become time series of the queue where the scenario has probes."""

    def __init__(self) -> None:
        """Take no parameters. A law with parameters has a constructor of its own."""

    def admit(self, *arguments: Any, **by_name: Any) -> int:
        """Decide on an arriving packet.

        A law may ask for these arguments:

        - `now`: time in picoseconds since the start of the run;
        - `packet`: number of the packet at this queue, counted from 0;
        - `flow`: twice the number of the flow's row in the results, plus 1 for its ACKs;
        - `length`: bytes on the wire;
        - `ecn`: the ECN codepoint: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE;
        - `traffic_class`: the class of the packet's flow;
        - `input_port`: the input of a switch by which the packet came;
        - `queue_packets`, `queue_bytes`: the queue before the packet is added, without the packet on the wire.

        Returns:
            A `Verdict`; or True to let the packet in, and False to drop it because the buffer is full.

        """
        raise NotImplementedError

    def release(self, *arguments: Any, **by_name: Any) -> None:
        """Note that a packet begins its transmission. Optional: called only if a law defines it.

        It may ask for `now`, `packet`, `flow`, `length`, `queue_packets` and `queue_bytes`. The queue is that without
        the packet.
        """

    def idle(self, *arguments: Any, **by_name: Any) -> None:
        """Note that the link has nothing to send. Optional: called only if a law defines it, once for each idle period.

        It may ask for `now`, the end of the last transmission in picoseconds.
        """

    def state_bytes(self) -> int:
        """Return the memory that the law's state takes, in bytes. Optional: without it, results have 0."""
        return 0


class QueueDiscipline(Component):
    """Base class of a discipline that chooses the packet to send next, and may drop queued packets.

    Derive from it and write `enqueue` and `dequeue`. The simulator keeps the packets; the discipline gets their
    numbers, which count the arrivals at this queue from 0. As in an `AdmissionLaw`, a method takes any of its
    arguments, by their names. An exception, or the number of a packet that is not queued, ends the run with
    `DisciplineError`.

    Example:
        >>> from collections import deque
        >>> class LastInFirstOut(fb.QueueDiscipline):
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

    """

    name: ClassVar[str] = ""
    """The name in the results' column `discipline`. Default: the name of the class."""

    gauges: ClassVar[tuple[str, ...]] = ()
    """Names of attributes, all numbers, that become time series of the queue where the scenario has probes."""

    def __init__(self) -> None:
        """Take no parameters. A discipline with parameters has a constructor of its own."""

    def enqueue(self, *arguments: Any, **by_name: Any) -> None:
        """Take an arriving packet, which is queued from now on unless `drop` is called for it.

        It may ask for the arguments that `AdmissionLaw.admit` may ask for.
        """
        raise NotImplementedError

    def dequeue(self, *arguments: Any, **by_name: Any) -> int | None:
        """Return the number of the packet to send next, or None if none may leave now.

        The simulator asks whenever the link is free and packets are queued. After None it asks again at the next
        arrival, or at the time that `poll_at` returns. The method may ask for `now`, `queue_packets` and `queue_bytes`.
        """
        raise NotImplementedError

    def poll_at(self, *arguments: Any, **by_name: Any) -> int | None:
        """Return when to ask again after `dequeue` returned None. Optional: a shaper needs it.

        The time is in picoseconds since the start of the run and later than now; None waits for the next arrival. The
        method may ask for `now`, `queue_packets` and `queue_bytes`.
        """

    def state_bytes(self) -> int:
        """Return the memory that the discipline's state takes, in bytes. Optional: without it, results have 0."""
        return 0

    def drop(self, packet: int, verdict: Verdict = Verdict.DROP_OVERFLOW) -> None:
        """Drop a packet, arriving or queued. The simulator does so when the method that calls this returns.

        Args:
            packet: The number of the packet.
            verdict: The reason: one of the verdicts that begin with `DROP_`.

        Raises:
            ValueError: If the verdict is not a drop.

        """
        if verdict > 0:
            message = f"{verdict!r} is not a drop"
            raise ValueError(message)
        self._order(packet, verdict)

    def mark(self, packet: int, verdict: Verdict = Verdict.MARK_EARLY) -> None:
        """Mark a packet, which must be ECN-capable. The simulator does so when the method that calls this returns.

        Args:
            packet: The number of the packet.
            verdict: The reason: one of the verdicts that begin with `MARK_`.

        Raises:
            ValueError: If the verdict is not a mark.

        """
        if verdict < 2:
            message = f"{verdict!r} is not a mark"
            raise ValueError(message)
        self._order(packet, verdict)
