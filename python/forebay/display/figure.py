"""How Forebay's figures look: fit for print, told apart without colour vision, equal for equal results."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from os import PathLike
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.figure
import numpy as np
import polars as pl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from forebay.folder import staged, staged_beside_runs
from forebay.storage.frames import write_csv

from .quantity import label, scale

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito, which readers with colour-blindness tell apart."""
LINES = ("-", "--", "-.", ":")
"""Line styles: after all colours are used, they begin again in the next style."""

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": cycler(linestyle=LINES) * cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.dpi": 110,
    "figure.figsize": (6.4, 3.8),
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "forebay",  # equal figures are equal files
}


_SPREAD = 20.0
"""Values that differ by more than this factor are drawn on a logarithmic axis."""


def is_wide(values: NDArray[np.float64]) -> bool:
    """Return whether a logarithmic axis shows more: a zero has no place on one. NaN counts as no value."""
    known = values[np.isfinite(values)]
    return bool(known.size and known.min() > 0 and known.max() > _SPREAD * known.min())


class Figure(matplotlib.figure.Figure):
    """A figure that belongs to no window; a notebook shows it by itself."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        with style():
            self.savefig(picture, format="png", dpi=self.dpi)
        return picture.getvalue()


@contextmanager
def style() -> Iterator[None]:
    """Draw within this, and save within this."""
    with mpl.rc_context(STYLE):
        yield


def new_figure(**options: Any) -> Figure:
    """Return an empty figure whose parts make room for each other. Call it within `style`."""
    return Figure(layout="constrained", **options)


def save_figure(figure: Figure, folder: Path, stem: str, suffixes: Sequence[str] = (".png", ".svg")) -> list[str]:
    """Write the figure in these formats and return the names of the files. Equal figures are equal files."""
    names = [f"{stem}{suffix}" for suffix in suffixes]
    with style():
        for name in names:
            figure.savefig(folder / name, metadata={"Date": None} if name.endswith(".svg") else None)
    return names


def save_figures(figures: Mapping[str, Figure], folder: Path, suffixes: Sequence[str] = (".png", ".svg")) -> list[Path]:
    """Write all figures, or none, under their names, and return the paths. Raises InputError if it cannot."""
    with staged(folder) as staging:
        names = [name for stem, figure in figures.items() for name in save_figure(figure, staging, stem, suffixes)]
    return [folder / name for name in names]


def save_study(folder: str | PathLike[str], stem: str, table: pl.DataFrame, document: str, figure: Figure) -> None:
    """Write a table as CSV, all of a result as JSON, and its figure. Raises InputError if the folder cannot be written.

    Either all files appear or none.
    """
    with staged_beside_runs(folder) as staging:
        write_csv(table, staging / f"{stem}.csv")
        (staging / f"{stem}.json").write_text(document + "\n", encoding="utf-8")
        save_figure(figure, staging, stem)


def literal(text: str) -> str:
    """Return a name as matplotlib is to show it: a `$` in it begins no formula."""
    return text.replace("$", r"\$")


def line_styles() -> Iterator[dict[str, Any]]:
    """Yield a look for each of many lines: all colours in one line style, then all in the next, over and over."""
    return cycle({"color": colour, "linestyle": line} for line in LINES for colour in COLOURS)


def write_plainly(axis: Axis) -> None:
    """Write the numbers of a logarithmic axis in full, in place of powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_delays(axes: Axes, distribution: pl.DataFrame, by: str) -> None:
    """Draw the distributions of delays, a line for each value of the column `by`.

    Args:
        axes: Where to draw.
        distribution: Columns `by`, `delay_s` and `share`.
        by: The column that names the lines.

    """
    delays_s = distribution.get_column("delay_s").to_numpy()
    unit = scale("delay_s", float(delays_s.max()))
    parts = distribution.group_by(by, maintain_order=True)
    for ((name,), part), look in zip(parts, line_styles(), strict=False):
        delay_s, shares = (part.get_column(column).to_numpy() for column in ("delay_s", "share"))
        x, y = np.append(delay_s[0], delay_s) / unit.divisor, 100 * np.append(0.0, shares)
        axes.plot(x, y, label=literal(str(name)), drawstyle="steps-post", **look)
    if is_wide(delays_s):
        axes.set_xscale("log")
        write_plainly(axes.xaxis)
    axes.set_xlabel(label("delay_s", unit))
    axes.set_ylabel("Packets with no more (%)")
    axes.set_ylim(0, 101)
