"""A button below each scenario of the documentation: it runs the scenario in the lab, within the page.

A block of TOML gets one if it is a valid scenario. The example of a reference page is a part of a scenario: the button
runs it in the smallest scenario for it. Without a built lab (`make lab`) there are no buttons.
"""

from __future__ import annotations

import shutil
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

import forebay
from forebay.errors import ScenarioError
from forebay.lab import links, site

LAB = "_static/lab"
"""Place of the page among the pages of the documentation."""

FLOOD = 'transport.udp = { packet = "1000 B", constant = { rate = "5 Mbps", jitter = 0.5 } }'
CELLS = 'transport.cells = { size = "64 B", load = 0.8 }'
FRAMES = 'transport.frames = { rate = "8 Gbps" }'


class RunHere(nodes.General, nodes.Element):  # type: ignore[misc]
    """A button: `scenario` is the text, `title` the name of what it runs."""


def scenario_of(kind: str, example: str) -> str:
    """Return the smallest scenario that has this example in its place.

    Args:
        kind: The folder of the page below `reference`.
        example: The block of TOML. That of a topology is a scenario itself.

    """
    match kind:
        case "disciplines":
            return star(example, FLOOD)
        case "schedulers":
            return switch(example, CELLS)
        case "schemes" | "buffers":
            return ethernet(example, FRAMES)
        case "transports" if "transport.cells" in example:
            return switch("", example)
        case "transports" if "transport.frames" in example:
            return ethernet("", example)
        case "transports":
            return fabric(example) if "hpcc" in example else star('queue = "drop_tail"\n', example)
    return example


def fabric(transport: str) -> str:
    """Return two long flows to one host of a leaf switch at 100 Gb/s, a rate that telemetry has a code for."""
    return f"""duration = "2 ms"

[topology.leaf_spine]
leaves = 1
spines = 1
hosts = 3
host_link = {{ rate = "100 Gbps", delay = "1 us", queue = "drop_tail" }}

[[flows]]
name = "other"
count = 2
from = ["host1", "host2"]
to = "host0"
{transport}
"""


def star(queue: str, transport: str) -> str:
    """Return three TCP flows and another one through a port with this queue."""
    return f"""duration = "5 s"

[topology.star]
access = {{ rate = "100 Mbps", delay = "1 ms" }}

[topology.star.bottleneck]
rate = "10 Mbps"
delay = "2 ms"
{queue}
[[flows]]
name = "tcp"
count = 3
class = 1
transport = "tcp"

[[flows]]
name = "other"
{transport}
"""


def switch(fabric: str, transport: str) -> str:
    """Return a switch of four ports with this fabric."""
    return f"""duration = "2 ms"

[topology.switch]
ports = 4
input = {{ rate = "1 Gbps", delay = "1 us" }}
output = {{ rate = "1 Gbps", delay = "1 us" }}
{fabric}
[[flows]]
name = "cells"
{transport}
"""


def ethernet(management: str, transport: str) -> str:
    """Return an Ethernet in which two nodes send to a third."""
    return f"""duration = "10 ms"

[topology.ethernet]
link = {{ rate = "10 Gbps", delay = "500 ns" }}
switches = [{{ name = "SW", nodes = ["1", "2", "3"] }}]
{management}
[[flows]]
name = "frames"
from = ["1", "2"]
to = "3"
{transport}
"""


@cache
def is_runnable(text: str) -> bool:
    """Return whether the lab can run this scenario."""
    try:
        return not forebay.Scenario.from_toml(text).python_classes
    except ScenarioError:
        return False


def add_buttons(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a button below each block that can run."""
    if app.builder.format != "html" or not app.config.forebay_has_lab:
        return
    folder, _, page = docname.rpartition("/")
    kind = folder.removeprefix("reference/")
    for block in list(doctree.findall(nodes.literal_block)):
        # A block with a caption or a name is in a container of its own.
        if block.get("language") != "toml":
            continue
        text = block.astext() + "\n"
        completed = text if is_runnable(text) else scenario_of(kind, text)
        if is_runnable(completed):
            block.parent.insert(block.parent.index(block) + 1, RunHere(scenario=completed, title=page))


def visit(self: Any, node: RunHere) -> None:
    """Write the button. A script shows it, as it does nothing without one."""
    here = self.builder.get_target_uri(self.builder.current_docname)
    page = relative_uri(here, f"{LAB}/index.html")
    embedded, whole = (escape(page + links.fragment(node["scenario"], kind)) for kind in ("embed", "lab"))
    title = escape(f"The lab with the scenario of {node['title']}")
    self.body.append(
        f'<div class="run-here" data-frame="{embedded}" data-title="{title}" hidden>'
        '<button type="button" aria-expanded="false">Run it here</button>'
        f'<a href="{whole}" target="_blank">Open it in the lab</a></div>'
    )
    raise nodes.SkipNode


def skip(_self: Any, _node: RunHere) -> None:
    """Leave it out where nothing can run."""
    raise nodes.SkipNode


def copy_page(app: Sphinx, failure: Exception | None) -> None:
    """Put the lab where the buttons look for it."""
    if failure is None and app.builder.format == "html" and app.config.forebay_has_lab:
        target = Path(app.outdir) / LAB
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(site.FOLDER, target, ignore=shutil.ignore_patterns(f"*{site.COMPRESSED}"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the above."""
    has_lab = (site.FOLDER / site.START).is_file()
    if has_lab:
        app.add_js_file("run-here.js", loading_method="defer")
        app.add_css_file("run-here.css")
    else:
        print("skipped: the lab was not built, so the examples have no button to run them; `make lab` builds it")
    # A change of this value writes all pages again.
    app.add_config_value("forebay_has_lab", has_lab, "html", types=[bool])
    app.add_node(RunHere, html=(visit, None), latex=(skip, None), text=(skip, None), man=(skip, None))
    app.connect("doctree-resolved", add_buttons)
    app.connect("build-finished", copy_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
