"""Admission laws that Numba compiles: the same class, some fifty times faster. Needs the extra `forebay[numba]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .classes import AdmissionLaw


class CompiledLaw(AdmissionLaw):
    """Base class of an admission law whose methods Numba compiles. Needs Numba: `pip install "forebay[numba]"`.

    It is written like an `AdmissionLaw`, with two differences. Its state consists of the attributes that the class
    annotates as `int` (64 bits), `float` or `bool`. `self` has these and `link_rate_bps`, no others, and no methods;
    call functions under `numba.njit` instead. And `draw(self)` takes the place of `self.random()`. The constructor and
    `state_bytes` are ordinary Python; `admit`, `release` and `idle` are compiled once per class. A run whose
    disciplines in Python are all compiled does not hold the interpreter's lock.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Coin(fb.CompiledLaw):
        ...     limit_packets: int = 100
        ...     heads: float = 0.01
        ...
        ...     def admit(self, queue_packets):
        ...         if queue_packets >= self.limit_packets:
        ...             return fb.Verdict.DROP_OVERFLOW
        ...         return fb.draw(self) >= self.heads
        >>> Coin().admit(queue_packets=100)
        <Verdict.DROP_OVERFLOW: 0>

    """

    _none: ClassVar[int] = 0

    compiled: ClassVar[bool] = True
    """Whether Numba compiles the law. False runs the same methods in the interpreter, to see the exceptions that they
    raise."""


def draw(law: AdmissionLaw) -> float:
    """Return the next number of the law's own random stream, uniform in [0, 1).

    It works in compiled methods and in others. The seed of the run and the place of the queue decide all numbers of the
    stream.

    Args:
        law: The law: `self`.

    Example:
        >>> 0.0 <= fb.draw(fb.CompiledLaw()) < 1.0
        True

    """
    return law.random()


@dataclass(frozen=True)
class Compiled:
    """A compiled law as the core needs it."""

    fields: list[tuple[str, bool]]
    """The fields of its state, each with its name and whether it is a float."""
    functions: Mapping[str, Any]
    """Numba's functions by the name of the method."""
