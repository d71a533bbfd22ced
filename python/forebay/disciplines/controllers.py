"""Congestion controllers written in Python: the base class."""

from __future__ import annotations

from typing import Any, ClassVar

from forebay._core import Connection


class CongestionController(Connection):
    """Base class of a congestion controller: it sets the window of a sender in answer to ACKs and signs of congestion.

    Derive from it and write `on_ack` and `on_loss`. They set `self.window`, in segments, and `self.threshold`, below
    which a sender is in slow start. A method takes any of the arguments in its description, by their names. Parameters
    of the scenario are keyword arguments of the constructor, which a dataclass declares. At first the window is the
    sender's initial one, and the constructor may change it. Each connection has an instance of its own, and an
    exception ends the run with `ControllerError`.

    Example:
        >>> class Aimd(fb.CongestionController):
        ...     def on_ack(self, acked, window_used):
        ...         if window_used:
        ...             self.window += acked if self.window < self.threshold else acked / self.window
        ...
        ...     def on_loss(self, used):
        ...         self.window = self.threshold = max(2.0, used / 2)
        >>> controller = Aimd()
        >>> controller.on_ack(acked=1.0, window_used=True)
        >>> controller.window
        11.0
        >>> aimd = {"flows.tcp.transport": {"tcp": {"congestion_control": {"python": Aimd}}}}
        >>> fb.run("examples/first.toml", overrides=aimd).flows["packets_delivered"].sum() > 0
        True

    """

    needs: ClassVar[tuple[str, ...]] = ()
    """Groups of measurements and tasks that the controller asks for:

    - `"round_trips"`: round trips of each ACK, and their estimates;
    - `"delivery"`: the delivery rate, and the segments delivered, lost and in flight;
    - `"marks"`: the number of marked segments; `on_ack` answers them if there is no method `on_ecn`;
    - `"recovery"`: the controller sets the window during a recovery, too.

    With `"delivery"` or `"marks"`, `on_ack` is also called for ACKs without new data and during a recovery, in which
    the window does not grow. `"delivery"` and `"recovery"` need `rack` or the recovery `"quic"`.
    """

    pacing: ClassVar[bool] = False
    """Whether segments are paced. It needs `rack` or the recovery `"quic"`."""

    def __init__(self) -> None:
        """Take no parameters. A controller with parameters has a constructor of its own."""

    def on_ack(self, *arguments: Any, **by_name: Any) -> None:
        """Note an ACK, and set the window.

        A controller may ask for these arguments:

        - `now`: time in picoseconds since the start of the run;
        - `acked`: segments newly acknowledged, as far as they may open the window (`byte_counting_limit`);
        - `newly_delivered`: segments newly reported as delivered;
        - `snd_una`, `snd_nxt`: the first byte that is not acknowledged, and the next byte to send;
        - `window_used`: whether the window was the limit of sending; otherwise it must not grow;
        - `echoes_mark`: whether the ACK echoes an ECN mark;
        - `in_recovery`, `after_timeout`: whether a loss or the data before a timeout is being recovered.

        With `"round_trips"` in `needs`, in seconds or None: `round_trip_s` of this ACK, `smoothed_round_trip_s`,
        `round_trip_deviation_s` and `shortest_round_trip_s`. With `"delivery"`: `delivery_rate` in segments per second
        or None, `application_limited` for whether the application limited that rate, `delivered` and `lost` since the
        start, `newly_lost`, and `in_flight_before` and `in_flight` before and after the ACK. With `"marks"`:
        `newly_marked`. All of these count segments.
        """
        raise NotImplementedError

    def on_loss(self, *arguments: Any, **by_name: Any) -> None:
        """Reduce the window after a loss, once in a window of data.

        It may ask for `now`, `used`, `snd_una` and `snd_nxt`. `used` are the segments in flight: the window with its
        fraction where that was the limit, otherwise less.
        """
        raise NotImplementedError

    def on_ecn(self, *arguments: Any, **by_name: Any) -> None:
        """Reduce the window after a mark, once in a window of data. Optional: without it, `on_loss` is called.

        It may ask for the arguments of `on_loss`.
        """

    def on_timeout(self, *arguments: Any, **by_name: Any) -> None:
        """Reduce the window after a timeout. Optional: without it, `on_loss` is called and the window becomes one.

        It may ask for the arguments of `on_loss`, and for `keeps_threshold`: whether the threshold stays, because the
        window has been reduced for this window of data. `on_loss` is not called then.
        """

    def undo(self) -> None:
        """Note that the last answer to a loss is undone. Optional: the sender itself restores window and threshold."""

    def restart(self) -> None:
        """Note that the window starts over after an idle time. Optional: the sender itself reduces the window."""
