"""How long a reader of the lab waits, in Chromium: for the first chart, and for a new result while a slider is dragged.

The scenario is `examples/first.toml`, that of the README. Prints a JSON document.
"""

import json
import statistics
import sys
from typing import Any

import lab_page

LOADS = 5
MOVES = 24
"""Of a slider."""

# From the start of the page until there are a slider, a chart and a table.
LOADED = """
    const done = arguments[0];
    const look = () => {
      const has = (what) => document.querySelector(what);
      if (has('.sliders input[type=range]') && has('canvas') && has('table')) done(performance.now());
      else setTimeout(look, 5);
    };
    look();
"""

# From each move of the slider until another table has been painted.
DRAGGED = """
    const [moves, done] = arguments;
    const slider = document.querySelector('.sliders input[type=range]');
    const tables = () => [...document.querySelectorAll('table')].map((it) => it.textContent).join();
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
    const times = [];
    const move = () => {
      if (times.length === moves) return done({ times });
      const before = tables();
      const place = (times.length * 7 % moves + 0.5) / moves;
      const start = performance.now();
      set.call(slider, String(Math.round(+slider.min + place * (slider.max - slider.min))));
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      const look = () => {
        if (performance.now() - start > 5000) return done({ fault: 'a move of the slider changed no table' });
        if (tables() === before) return requestAnimationFrame(look);
        requestAnimationFrame(() => {
          times.push(performance.now() - start);
          setTimeout(move, 100);
        });
      };
      look();
    };
    move();
"""


def entry(what: str, times: list[float]) -> dict[str, Any]:
    """The median and the longest, in milliseconds."""
    return {"what": what, "median_ms": statistics.median(times), "longest_ms": max(times)}


def main() -> None:
    """Loads the page some times, then drags."""
    with lab_page.opened() as (page, address):
        loads = []
        for _ in range(LOADS):
            page.get("about:blank")
            page.get(f"{address}#/lab?example=first")
            loads.append(page.execute_async_script(LOADED))
        page.execute_async_script(DRAGGED, MOVES)
        answer = page.execute_async_script(DRAGGED, MOVES)
        if "fault" in answer:
            sys.exit(answer["fault"])
        print(json.dumps({"delays": [entry("first chart", loads), entry("result while dragging", answer["times"])]}))


if __name__ == "__main__":
    main()
