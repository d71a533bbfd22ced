"""Distributions of delays, from the histograms that the engine keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def share(keys: Sequence[str]) -> pl.Expr:
    """Return the part of the packets with no more than the delay of a row, among rows with the same keys.

    Args:
        keys: Columns of a histogram, a row for each step in the order of `delay_s`, with a count of `packets`.

    """
    packets = pl.col("packets")
    return (packets.cum_sum().over(*keys) / packets.sum().over(*keys)).alias("share")


def draw(axes: Axes, distribution: pl.DataFrame, by: str) -> None:
    """Draw the distributions of delays, a line for each value of the column `by`.

    Args:
        axes: Where to draw.
        distribution: Columns `by`, `delay_s` and `share`.
        by: The column that names the lines.

    """
    # Imported here: results need no figures, and matplotlib takes long to load.
    from matplotlib.ticker import FuncFormatter, NullFormatter

    from .figure import is_wide, line_styles, literal
    from .quantity import label, scale

    delays_s = distribution.get_column("delay_s").to_numpy()
    unit = scale("delay_s", float(delays_s.max()))
    parts = distribution.group_by(by, maintain_order=True)
    for ((name,), part), look in zip(parts, line_styles(), strict=False):
        delay_s, shares = (part.get_column(column).to_numpy() for column in ("delay_s", "share"))
        x, y = np.append(delay_s[0], delay_s) / unit.divisor, 100 * np.append(0.0, shares)
        axes.plot(x, y, label=literal(str(name)), drawstyle="steps-post", **look)
    if is_wide(delays_s):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label("delay_s", unit))
    axes.set_ylabel("Packets with no more (%)")
    axes.set_ylim(0, 101)
