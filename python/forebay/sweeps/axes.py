"""The axes of a sweep: lists of values and ranges, as the command line and Python write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay.errors import InputError, ScenarioError

Value = str | int | float | bool
Vary = Mapping[Any, Sequence[Any] | str]
"""By the path of a key: its values, or a text as on the command line. By several paths: tuples of values, which change
together."""

MOST_VALUES = 100_000
"""Of one axis, and of a whole sweep."""

_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\s\d].*?)?\s*")
# Ranges as other programs write them.
_OTHER_RANGE = re.compile(r"([+-]?\d+(?:\.\d+)?) *(?:\.\.\.?|:|-|to) *([+-]?\d+(?:\.\d+)?)( *[^\d\s.:,][^\d.:,]*)?")
_MOST_SUGGESTED = 20
# With how many numbers it is tried which decimals a key can have, and where in a range that samples are drawn from: one
# number alone may by chance have few.
_TRIED = 4
_SOME_SHARES = (1 / 3, 1 / 7, 0.2**0.5, 1 / 11)
_SPACINGS = ("lin", "log")
_DISTRIBUTIONS = ("uniform", "loguniform")
_FORMS = "a,b,c or lin:FIRST:LAST:COUNT or log:FIRST:LAST:COUNT, or for samples uniform:LOW:HIGH or loguniform:LOW:HIGH"


@dataclass(frozen=True)
class Axis:
    """Keys that change together, with their values."""

    keys: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    """One tuple for each step, with a value for each key."""


@dataclass(frozen=True)
class Range:
    """A key whose values are drawn between two bounds."""

    key: str
    low: float
    high: float
    unit: str
    logarithmic: bool
    decimals: int
    """As many as the key can have."""

    def at(self, share: float) -> Value:
        """Return the value at that share of the way from `low` to `high`."""
        number = _between(self.low, self.high, share, logarithmic=self.logarithmic)
        return _written(round(number, self.decimals), self.unit)


@dataclass(frozen=True)
class _Ends:
    low: float
    high: float
    unit: str
    whole: bool
    """Whether both bounds are written as whole numbers."""


def parse_axes(vary: Vary, fits: Callable[[Mapping[str, Value]], object]) -> list[Axis | Range]:
    """Return the axes. `fits` raises ScenarioError for settings that the scenario cannot have.

    Raises InputError for an empty list, for what is no range, and for a key that is given twice.
    """
    axes: list[Axis | Range] = []
    for path, values in vary.items():
        keys = (path,) if isinstance(path, str) else tuple(path)
        if isinstance(values, str):
            axes.append(_from_text(_single(keys), values, fits))
        else:
            axes.append(Axis(keys, tuple(_row(keys, value) for value in values)))
        if isinstance(axis := axes[-1], Axis):
            _check_count(" and ".join(keys), len(axis.values))
    known: set[str] = set()
    for axis in axes:
        for key in axis.keys if isinstance(axis, Axis) else (axis.key,):
            if not key or key in known:
                message = f"--vary {key}: the key is {'empty' if not key else 'varied twice'}\nhint: name each key once"
                raise InputError(message)
            known.add(key)
    return axes


def number_of(value: Value) -> tuple[float, str] | None:
    """Return number and unit of a value such as `"10 Mbps"` or 3; None for any other."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    match = _QUANTITY.fullmatch(value)
    return None if match is None else (float(match[1]), match[2] or "")


def _single(keys: tuple[str, ...]) -> str:
    if len(keys) != 1:
        message = f"{' and '.join(keys)}: keys that change together take a list of tuples\nhint: [(1, 10), (2, 20)]"
        raise InputError(message)
    return keys[0]


def _row(keys: tuple[str, ...], value: Any) -> tuple[Value, ...]:
    if len(keys) == 1:
        return (_plain(value),)
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != len(keys):
        message = f"{' and '.join(keys)}: expected {len(keys)} values together, and found {value!r}"
        raise InputError(message)
    return tuple(_plain(one) for one in value)


def _plain(value: Any) -> Any:
    """Return a number of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value


def _check_count(where: str, count: int) -> None:
    if not 1 <= count <= MOST_VALUES:
        how_many = "no value" if count == 0 else f"{count} values, and {MOST_VALUES} are the most"
        message = f"--vary {where}: there is {how_many}\nhint: write {_FORMS}"
        raise InputError(message)


def _from_text(key: str, text: str, fits: Callable[[Mapping[str, Value]], object]) -> Axis | Range:
    kind, colon, rest = text.partition(":")
    if colon and kind.strip() in _SPACINGS:
        return _spaced(key, text, kind.strip() == "log", rest, fits)
    if colon and kind.strip() in _DISTRIBUTIONS:
        ends = _ends(key, text, rest.split(":"), positive=kind.strip() == "loguniform")
        logarithmic = kind.strip() == "loguniform"
        some = [_between(ends.low, ends.high, share, logarithmic=logarithmic) for share in _SOME_SHARES]
        decimals = _decimals_that_fit(key, some, ends, fits)
        return Range(key, ends.low, ends.high, ends.unit, logarithmic, decimals)
    values = [part.strip() for part in text.split(",")]
    if hint := _as_range(values):
        message = f"--vary {key}={text}: this is not a list of values\nhint: a range is written {hint}"
        raise InputError(message)
    if not text.strip() or not all(values):
        message = f"--vary {key}={text}: there is an empty value\nhint: write {_FORMS}"
        raise InputError(message)
    return Axis((key,), tuple((_typed(value),) for value in values))


def _as_range(values: Sequence[str]) -> str | None:
    """Return the range that `1..8`, `1:8` or `1-8` means, if that is all the text there is."""
    match = _OTHER_RANGE.fullmatch(values[0]) if len(values) == 1 else None
    if match is None:
        return None
    first, last, unit = float(match[1]), float(match[2]), match[3] or ""
    steps = abs(last - first) + 1
    whole = first.is_integer() and last.is_integer() and not unit and 2 <= steps <= _MOST_SUGGESTED
    return f"lin:{match[1]}:{match[2]}{unit}:{int(steps) if whole else 5}"


def _typed(text: str) -> Value:
    """Return a number as a number, so that tables sort it as one; anything else as it is."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _spaced(key: str, text: str, logarithmic: bool, rest: str, fits: Callable[[Mapping[str, Value]], object]) -> Axis:
    *bounds, count_text = rest.split(":")
    ends = _ends(key, text, bounds, positive=logarithmic)
    try:
        count = int(count_text)
    except ValueError:
        count = -1
    if count < 2:
        message = f"--vary {key}={text}: a range needs a count of at least 2\nhint: lin:10:100:4 is 10,40,70,100"
        raise InputError(message)
    _check_count(key, count)
    numbers = [_between(ends.low, ends.high, step / (count - 1), logarithmic=logarithmic) for step in range(count)]
    decimals = _decimals_that_fit(key, numbers, ends, fits)
    values = dict.fromkeys(_written(round(number, decimals), ends.unit) for number in numbers)
    return Axis((key,), tuple((value,) for value in values))


def _decimals_that_fit(
    key: str, numbers: Sequence[float], ends: _Ends, fits: Callable[[Mapping[str, Value]], object]
) -> int:
    """Return how many decimals the key can have: none of a count of flows, six of a rate in Mb/s.

    Found by trying some of the numbers that are not whole. If none of them fits, the scenario reports the error.
    """
    most = 12
    fractions = [number for number in numbers if number != round(number)][:_TRIED]
    for decimals in (most, 6, 3, 0) if ends.whole else (most, 6, 3):
        try:
            for fraction in fractions:
                fits({key: _written(round(fraction, decimals), ends.unit)})
        except ScenarioError:
            continue
        return decimals
    return most


def _ends(key: str, text: str, bounds: list[str], *, positive: bool) -> _Ends:
    found = [_QUANTITY.fullmatch(bound) for bound in bounds]
    if len(bounds) != 2 or None in found:
        message = f"--vary {key}={text}: this is not a range\nhint: write {_FORMS}"
        raise InputError(message)
    low, high = (match for match in found if match is not None)
    units = {match[2] for match in (low, high) if match[2]}
    if len(units) > 1:
        message = f"--vary {key}={text}: the bounds have two units\nhint: write both in {high[2]}"
        raise InputError(message)
    first, last = float(low[1]), float(high[1])
    if positive and min(first, last) <= 0:
        message = f"--vary {key}={text}: a logarithmic range has positive bounds\nhint: lin and uniform may begin at 0"
        raise InputError(message)
    if first == last or not (math.isfinite(first) and math.isfinite(last)):
        message = f"--vary {key}={text}: the range is empty\nhint: its bounds must differ"
        raise InputError(message)
    whole = all(re.fullmatch(r"[+-]?\d+", match[1]) for match in (low, high))
    return _Ends(first, last, units.pop() if units else "", whole)


def _between(low: float, high: float, share: float, *, logarithmic: bool) -> float:
    """Return the number at that share of the way, of twelve digits, as text shows it; at the ends exactly the ends."""
    if share in (0.0, 1.0):
        return high if share else low
    between = low * (high / low) ** share if logarithmic else low + share * (high - low)
    return float(f"{between:.12g}")


def _written(number: float, unit: str) -> Value:
    plain: int | float = int(number) if number == round(number) else number
    return f"{plain} {unit}" if unit else plain
