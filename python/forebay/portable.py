"""Mathematics with the same bits on every machine, for disciplines whose results others are to repeat.

Python's `math` calls the platform's library, which rounds the last bit of these functions in its own way.

    >>> from forebay import portable
    >>> portable.power(2.0, 0.5) == 2.0**0.5
    True
"""

from ._core import exponential, logarithm, power

__all__ = ["exponential", "logarithm", "power"]
