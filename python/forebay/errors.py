"""Exceptions. Their messages are written for people: the fault, its place, and the remedy."""

from ._core import CaptureError, ControllerError, DisciplineError, InternalError, ScenarioError


class InputError(ValueError):
    """A file, a folder, a name or an argument cannot be used as asked.

    The message has the reason, and a line that begins with `hint:` has the remedy. The command line ends with status 2.

    Example:
        >>> fb.Scenario.load("nowhere.toml")
        Traceback (most recent call last):
            ...
        forebay.errors.InputError: there is no file nowhere.toml
        hint: give the path of a scenario file, such as examples/first.toml

    """


# The core raises these, and their classes are its own.
ScenarioError.__doc__ = """A scenario, a rate, a discipline or one of its parameters is not valid.

The message shows the place in the file, what was expected, and the nearest valid name. The attribute `coloured` holds
the same message with colours for a terminal. The command line ends with status 2.

Example:
    >>> try:
    ...     fb.Scenario.load("examples/first.toml", {"flows.tcp.count": -1})
    ... except fb.ScenarioError as error:
    ...     print("-1" in str(error))
    True

"""
DisciplineError.__doc__ = """A discipline written in Python failed, and its run was stopped.

The message names class, queue, packet, flow and time. The attributes hold the same: `queue`, the name of the queue;
`packet`, the number of the packet there, or None; `flow`, the name of its flow, or None; and `time_s`, the simulated
time in seconds. An exception that the discipline raised is the error's `__cause__`.

Example:
    >>> class Faulty(fb.AdmissionLaw):
    ...     def admit(self, packet):
    ...         return 1 // (100 - packet)
    >>> queue = {"topology.star.bottleneck.queue": {"python": Faulty}}
    >>> try:
    ...     fb.run("examples/first.toml", overrides=queue)
    ... except fb.DisciplineError as error:
    ...     print(error.queue, error.packet)
    bottleneck 100

"""
ControllerError.__doc__ = """A congestion controller written in Python failed, and its run was stopped.

The message names class, flow, ACK and time. The attributes hold the same: `flow`, the name of the flow; `acknowledged`,
the first byte that is not yet acknowledged, or None; and `time_s`, the simulated time in seconds. An exception that the
controller raised is the error's `__cause__`.

Example:
    >>> class Faulty(fb.CongestionController):
    ...     def on_ack(self, acked):
    ...         self.window = 0.5
    ...
    ...     def on_loss(self):
    ...         pass
    >>> faulty = {"flows.tcp.transport": {"tcp": {"congestion_control": {"python": Faulty}}}}
    >>> try:
    ...     fb.run("examples/first.toml", overrides=faulty)
    ... except fb.ControllerError as error:
    ...     print(error.__cause__)
    window must be a finite number of segments, at least 1, and is 0.5

"""
CaptureError.__doc__ = """A capture cannot be replayed. `forebay.replay` raises it as an InputError that names the file.

Example:
    >>> issubclass(fb.CaptureError, ValueError)
    True

"""
InternalError.__doc__ = """The simulator contradicts itself: a fault in Forebay. Please report it.

The command line ends with status 3.

Example:
    >>> issubclass(fb.InternalError, RuntimeError)
    True

"""


class DamagedFileWarning(UserWarning):
    """The file of a finished run cannot be read, so the run is repeated. The message names the file.

    Example:
        >>> issubclass(fb.DamagedFileWarning, UserWarning)
        True

    """


__all__ = [
    "CaptureError",
    "ControllerError",
    "DamagedFileWarning",
    "DisciplineError",
    "InputError",
    "InternalError",
    "ScenarioError",
]
