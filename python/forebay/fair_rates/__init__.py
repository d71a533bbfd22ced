"""Fair rates of flows in a network, without running it."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

if TYPE_CHECKING:
    from . import ethernet, shares
    from .rates import RoutedFlow, link_prices, max_min_rates, proportional_rates
else:
    __getattr__ = lazily(
        __name__,
        ["ethernet", "shares"],
        {"rates": ("RoutedFlow", "link_prices", "max_min_rates", "proportional_rates")},
    )

__all__ = ["RoutedFlow", "ethernet", "link_prices", "max_min_rates", "proportional_rates", "shares"]
