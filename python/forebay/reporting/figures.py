"""From charts to Bokeh figures: zoom, hover, and series that hide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from bokeh.embed import json_item
from bokeh.models import (
    BasicTickFormatter,
    BoxZoomTool,
    ColumnDataSource,
    FixedTicker,
    HBar,
    HoverTool,
    LinearColorMapper,
    LogTicker,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    Rect,
    ResetTool,
    SaveTool,
    Scatter,
    Segment,
    VArea,
    VStrip,
    WheelZoomTool,
)
from bokeh.models import Line as LineGlyph
from bokeh.models.annotations import BoxAnnotation, ColorBar, Span
from bokeh.palettes import Cividis256
from bokeh.plotting import figure

from forebay.display.figure import COLOURS

from .parts import Band, Chart, Heat, Line, Lines, Mark, Rows, Values

INK = COLOURS[-1]
"""Black of the palette: the page draws it as its own ink, which on a dark page is light."""
_DASHES = ("solid", "dashed", "dotted", "dashdot")
_MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "x")
_HEIGHT = 300
_ROW_HEIGHT = 26
_NUMBER = "%.4g"


@dataclass(frozen=True)
class Swatch:
    """A series as the legend shows it."""

    name: str
    colour: str
    dash: str
    marker: str
    """Empty for a line without marks."""
    tags: Sequence[str]
    """By these the page finds what it hides with the series, and what it draws in its own ink."""


@dataclass(frozen=True)
class Drawing:
    """A chart as the page holds it."""

    title: str
    item: object
    """The document that BokehJS draws."""
    swatches: Sequence[Swatch]
    note: str
    height: int


def draw(chart: Chart) -> Drawing:
    """Return the figure of a chart, with its legend."""
    match chart:
        case Lines():
            plot, swatches = _draw_lines(chart)
        case Rows():
            plot, swatches = _draw_rows(chart)
        case Heat():
            plot, swatches = _draw_heat(chart), []
    # Every series can be hidden by its button; of one alone there is nothing to tell.
    shown = swatches if len(swatches) > 1 else []
    return Drawing(chart.title, json_item(plot), shown, chart.note, int(plot.height or _HEIGHT))


def _figure(height: int, **options: Any) -> Any:
    zoom = BoxZoomTool()
    tools = [zoom, PanTool(), WheelZoomTool(), ResetTool(), SaveTool()]
    plot = figure(height=height, sizing_mode="stretch_width", tools=tools, toolbar_location="above", **options)
    plot.toolbar.logo = None
    plot.toolbar.active_drag = zoom
    plot.toolbar.active_scroll = None
    plot.min_border_right = 12
    for axis in plot.axis:
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = None
    return plot


def _draw_lines(chart: Lines) -> tuple[Any, list[Swatch]]:
    plot = _figure(
        _HEIGHT,
        x_axis_type="log" if chart.x_log else "linear",
        y_axis_type="log" if chart.y_log else "linear",
        x_axis_label=chart.x_label,
        y_axis_label=chart.y_label,
    )
    bands = [_draw_band(plot, band, len(chart.lines) + index) for index, band in enumerate(chart.bands)]
    x_spec = "@x_name" if chart.x_names else f"@x{{{_NUMBER}}}"
    lines = [
        _swatch(one.name, index, marked=chart.shape in ("marked", "points")) for index, one in enumerate(chart.lines)
    ]
    for line, swatch in zip(chart.lines, lines, strict=True):
        _draw_line(plot, chart, line, swatch)
    if chart.shade_to > 0:
        plot.add_layout(BoxAnnotation(right=chart.shade_to, fill_color="#888888", fill_alpha=0.15, line_color=None))
    if chart.y_from_zero and not chart.y_log:
        # A line along zero is seen above the frame.
        least, greatest = _ends(chart.lines)
        plot.y_range.start = min(0.0, least) - 0.02 * (greatest - min(0.0, least))
    if chart.x_names:
        _name_axis(plot.xaxis[0], chart.x_names)
        plot.x_range.range_padding = 0.08
    elif chart.x_ticks is not None:
        plot.xaxis[0].ticker = FixedTicker(ticks=list(chart.x_ticks))
    # The values of all lines at one place, in one box.
    value, where = f"$name: @y{{{_NUMBER}}} {_unit(chart.y_label)}", f"{x_spec} {_unit(chart.x_label)}"
    _add_hover(plot, value, where, mode="mouse" if chart.shape == "points" else "vline")
    for axis in plot.axis:
        _format_axis(axis)
    return plot, [*lines, *bands]


def _draw_band(plot: Any, band: Band, index: int) -> Swatch:
    swatch = Swatch(band.name, band.colour, "solid", "band", [f"series {index}"])
    source = ColumnDataSource({"x0": _small(band.starts), "x1": _small(band.ends)})
    strips = VStrip(x0="x0", x1="x1", fill_color=band.colour, fill_alpha=0.28, line_color=band.colour, line_alpha=0.28)
    plot.add_glyph(source, strips, name=swatch.name, tags=swatch.tags, level="underlay")
    return swatch


def _draw_line(plot: Any, chart: Lines, line: Line, swatch: Swatch) -> None:
    data: dict[str, Any] = {"x": _small(line.x), "y": _small(line.y)}
    if line.low is not None and line.high is not None:
        data |= {"low": _small(line.low), "high": _small(line.high)}
    if chart.x_names:
        data["x_name"] = [chart.x_names[int(at)] for at in line.x]
    source = ColumnDataSource(data)
    looks: dict[str, Any] = {"name": swatch.name, "tags": swatch.tags}
    if "low" in data and chart.shape == "band":
        area = VArea(x="x", y1="low", y2="high", fill_color=swatch.colour, fill_alpha=0.25)
        plot.add_glyph(source, area, **looks)
    if chart.shape != "points":
        width = 1.2 if chart.shape == "line" else 1.6
        line_look: dict[str, Any] = {"line_color": swatch.colour, "line_dash": swatch.dash, "line_width": width}
        plot.add_glyph(source, LineGlyph(x="x", y="y", **line_look), **looks)
    if "low" in data and chart.shape != "band":
        ends = Segment(x0="x", y0="low", x1="x", y1="high", line_color=swatch.colour, line_width=1.4)
        plot.add_glyph(source, ends, **looks)
    if swatch.marker:
        plot.add_glyph(source, _marks(swatch.marker, "x", swatch.colour), **looks)


def _marks(marker: str, x: str, colour: str, **more: Any) -> Scatter:
    return Scatter(x=x, y="y", marker=marker, size=8, fill_color=colour, line_color=colour, **more)


def _draw_rows(chart: Rows) -> tuple[Any, list[Swatch]]:
    count = len(chart.names)
    plot = _figure(
        110 + _ROW_HEIGHT * count,
        x_axis_type="log" if chart.x_log else "linear",
        x_axis_label=chart.x_label,
        y_range=Range1d(start=count - 0.4, end=-0.6),
    )
    if chart.most is not None and not chart.x_log:
        plot.x_range = Range1d(start=-0.02 * chart.most, end=1.04 * chart.most)
    elif not chart.x_log:
        plot.x_range.start = 0
    swatches = []
    offsets = np.linspace(-0.24, 0.24, len(chart.marks)) if len(chart.marks) > 1 else np.zeros(1)
    for index, (mark, offset) in enumerate(zip(chart.marks, offsets, strict=True)):
        swatch = _swatch(mark.name, index, marked=True, dashed=False)
        swatches.append(swatch)
        _draw_mark(plot, chart, mark, swatch, np.arange(count) + offset)
    if chart.level is not None:
        plot.add_layout(Span(location=chart.level[1], dimension="height", line_color="#888888", line_dash="dotted"))
    plot.ygrid.grid_line_color = None
    _name_axis(plot.yaxis[0], chart.names)
    _format_axis(plot.xaxis[0])
    unit = _unit(chart.x_label)
    interval = " @interval" if chart.shape != "spans" else f" to @high{{{_NUMBER}}}"
    name = "$name: " if len(chart.marks) > 1 else ""
    _add_hover(plot, f"{name}@x{{{_NUMBER}}}{interval} {unit}", "@row", mode="mouse")
    return plot, swatches


def _draw_mark(plot: Any, chart: Rows, mark: Mark, swatch: Swatch, positions: Values) -> None:
    low = mark.values if mark.low is None else mark.low
    high = mark.values if mark.high is None else mark.high
    halves = (high - low) / 2
    data = {
        "x": mark.values,
        "y": positions,
        "low": low,
        "high": high,
        "row": list(chart.names),
        "interval": [f"±{half:.2g}" if half > 0 else "" for half in np.nan_to_num(halves)],
    }
    source = ColumnDataSource(data)
    looks: dict[str, Any] = {"name": swatch.name, "tags": swatch.tags}
    if chart.shape == "bars":
        # Light enough for the interval to be seen upon it.
        plot.add_glyph(source, HBar(y="y", right="x", height=0.62, fill_color=COLOURS[5], line_color=None), **looks)
        interval = Segment(x0="low", y0="y", x1="high", y1="y", line_color=INK)
        plot.add_glyph(source, interval, name=swatch.name, tags=[*swatch.tags, "ink"])
        return
    start = "x" if chart.shape == "spans" else "low"
    span = Segment(x0=start, y0="y", x1="high", y1="y", line_color=swatch.colour, line_width=1.6)
    plot.add_glyph(source, span, **looks)
    plot.add_glyph(source, _marks(swatch.marker, "x", swatch.colour), **looks)
    if chart.shape == "spans":
        plot.add_glyph(source, _marks("dash", "high", swatch.colour, angle=np.pi / 2), **looks)


def _draw_heat(chart: Heat) -> Any:
    rows, columns = chart.values.shape
    plot = _figure(
        max(220, 120 + 34 * rows),
        x_axis_label=chart.x_label,
        y_axis_label=chart.y_label,
        x_range=Range1d(start=-0.5, end=columns - 0.5),
        y_range=Range1d(start=-0.5, end=rows - 0.5),
    )
    y, x = (places.ravel() for places in np.indices(chart.values.shape))
    known = np.isfinite(chart.values.ravel())
    every, halves = chart.values.ravel()[known], chart.halves.ravel()[known]
    data = {
        "x": x[known],
        "y": y[known],
        "value": every,
        "interval": [f" ±{half:.2g}" if np.isfinite(half) else "" for half in halves],
        "x_name": [chart.x_names[at] for at in x[known]],
        "y_name": [chart.y_names[at] for at in y[known]],
    }
    low, high = chart.span
    mapper = LinearColorMapper(palette=Cividis256, low=low, high=high if high > low else low + 1.0)
    colour: Any = {"field": "value", "transform": mapper}
    cells = Rect(x="x", y="y", width=1, height=1, fill_color=colour, line_color=colour)
    plot.add_glyph(ColumnDataSource(data), cells)
    plot.grid.grid_line_color = None
    _name_axis(plot.xaxis[0], chart.x_names)
    _name_axis(plot.yaxis[0], chart.y_names)
    bar = ColorBar(color_mapper=mapper, width=10, padding=4, title=chart.unit or None)
    bar.background_fill_alpha = 0.0
    plot.add_layout(bar, "right")
    text = f"@value{{{_NUMBER}}}@interval {_plain(chart.unit)}"
    _add_hover(plot, text, f"{_plain(chart.x_label)} @x_name, {_plain(chart.y_label)} @y_name", mode="mouse")
    return plot


def _add_hover(plot: Any, value: str, where: str, *, mode: Literal["mouse", "vline"]) -> None:
    """Add a box with the value at the pointer. Bokeh escapes what it puts in place of `@` and `$` names."""
    tooltip = f'<div class="tip"><b>{value}</b><br><span>{where}</span></div>'
    formatters: Any = dict.fromkeys(("@x", "@y", "@high", "@value"), "printf")
    drawn = [it for it in plot.renderers if type(it.glyph).__name__ in ("Line", "Scatter", "HBar", "Rect")]
    # A line with marks would say everything twice.
    marked = [it for it in drawn if type(it.glyph).__name__ != "Line"]
    hover = HoverTool(
        tooltips=tooltip,
        formatters=formatters,
        mode=mode,
        renderers=marked or drawn,
        point_policy="follow_mouse",
        line_policy="nearest",
    )
    plot.add_tools(hover)


def _swatch(name: str, index: int, *, marked: bool, dashed: bool = True) -> Swatch:
    """Return the look of a series: its colour, its marks and, after all colours, dashes."""
    dash = _DASHES[index // len(COLOURS) % len(_DASHES)] if dashed else "solid"
    colour = COLOURS[index % len(COLOURS)]
    tags = [f"series {index}", *(["ink"] if colour == INK else [])]
    return Swatch(name, colour, dash, _MARKERS[index % len(_MARKERS)] if marked else "", tags)


def _name_axis(axis: Any, names: Sequence[str]) -> None:
    axis.ticker = FixedTicker(ticks=list(range(len(names))))
    axis.major_label_overrides = dict(enumerate(names))
    if axis.dimension == 0 and sum(map(len, names)) > 30:
        axis.major_label_orientation = 0.7


def _format_axis(axis: Any) -> None:
    """Plain numbers in place of powers of ten."""
    if axis.major_label_overrides:
        return
    if type(axis).__name__ == "LogAxis":
        axis.formatter = BasicTickFormatter(use_scientific=False)
        if isinstance(axis.ticker, LogTicker):
            axis.ticker.desired_num_ticks = 4
    else:
        axis.formatter = NumeralTickFormatter(format="0,0.[0000]")


def _ends(lines: Sequence[Line]) -> tuple[float, float]:
    """Return the least and the greatest value of all lines; zeros where there is none."""
    every = np.concatenate([line.y for line in lines])
    known = every[np.isfinite(every)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)


def _small(values: Values) -> Any:
    """Half the bytes; seven digits are more than a screen shows."""
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float32)


def _unit(label: str) -> str:
    """Return the unit of an axis: "Mb/s" of "Goodput (Mb/s)"."""
    _, opens, unit = label.rpartition(" (")
    return _plain(unit.removesuffix(")")) if opens else ""


def _plain(text: str) -> str:
    """Return a text in which Bokeh and HTML find no marks of theirs."""
    return escape(text).replace("@", "&#64;").replace("$", "&#36;").replace("{", "&#123;").replace("}", "&#125;")
