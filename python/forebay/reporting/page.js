"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)");
  const plots = new Map(); // by the element that holds it

  // A click on a column's head sorts by it, a second one turns the order round; cells without a value come last.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
    return cell.textContent === "-" ? null : cell.textContent.toLowerCase();
  };
  const compare = (a, b) => {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  };
  const sort = (head) => {
    const column = head.cellIndex, body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") === "ascending";
    const keyed = [...body.rows].map((row) => [keyOf(row, column), row]);
    keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : compare(a, b) * (down ? -1 : 1)));
    body.append(...keyed.map(([, row]) => row));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  };
  for (const button of document.querySelectorAll("thead button")) {
    button.addEventListener("click", () => sort(button.parentNode));
  }

  // What is not data takes its colours from the style sheet; black data are drawn in the page's ink.
  const dress = (view) => {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim();
    for (const renderer of view.model.renderers) {
      if (!renderer.tags.includes("ink")) continue;
      for (const key of ["line_color", "fill_color"]) {
        if (key in renderer.glyph && renderer.glyph[key].value !== undefined && renderer.glyph[key].value !== null) {
          renderer.glyph[key] = { value: ink };
        }
      }
    }
    for (const bar of view.model.right.filter((it) => it.type === "ColorBar")) {
      bar.title_text_color = bar.major_label_text_color = style.getPropertyValue("--soft").trim();
    }
    view.request_repaint();
  };
  dark.addEventListener("change", () => plots.forEach((view) => view && dress(view)));

  const drawIn = async (figure) => {
    const place = figure.querySelector(".plot");
    if (plots.has(place)) return;
    plots.set(place, null);
    const item = JSON.parse(figure.querySelector("script").textContent);
    await Bokeh.embed.embed_item(item, place);
    const view = Bokeh.index.get_by_id(item.root_id);
    plots.set(place, view);
    // A finger on a figure moves the page, until a tool is chosen.
    if (touch.matches) view.model.toolbar.tools.forEach((tool) => { if (tool.type === "BoxZoomTool") tool.active = false; });
    figure.querySelectorAll(".legend button").forEach((button, index) => {
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        for (const renderer of view.model.renderers) {
          if (renderer.tags.includes(`series ${index}`)) renderer.visible = shown;
        }
      });
    });
    dress(view);
    place.dataset.drawn = "yes";
  };

  // One after the other, so that a long page can be read and moved meanwhile.
  const drawAll = async (within) => {
    for (const figure of within.querySelectorAll(".chart")) {
      const folded = figure.closest("details:not([open])");
      if (folded) continue;
      await drawIn(figure);
      await new Promise((done) => setTimeout(done));
    }
  };
  for (const details of document.querySelectorAll("details.charts")) {
    details.addEventListener("toggle", () => details.open && drawAll(details));
  }
  drawAll(document).then(() => { document.documentElement.dataset.drawn = "yes"; });
})();
