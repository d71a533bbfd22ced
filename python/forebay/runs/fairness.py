"""How fairly shares are distributed. Imports no library, so that a run on the command line starts at once."""

import math
from collections.abc import Iterable


def jain(shares: Iterable[float]) -> float:
    """Jain's fairness index (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything.

    NaN when none has anything.
    """
    values = [float(share) for share in shares]
    squares = math.fsum(value * value for value in values)
    return math.nan if squares == 0.0 else math.fsum(values) ** 2 / (len(values) * squares)
