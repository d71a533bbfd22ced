"""Mathematics with the same bits on every machine, for disciplines whose results must be repeatable.

Python's `math` calls the platform's library, which rounds the last bit of these functions in its own way.

Example:
    >>> fb.portable.power(2.0, 0.5) == 2.0**0.5
    True
    >>> fb.portable.exponential(0.0), fb.portable.logarithm(1.0)
    (1.0, 0.0)

"""

from ._core import exponential, logarithm, power

__all__ = ["exponential", "logarithm", "power"]
