"""The examples of the reference pages run, each in the scenario in which its page runs it in the lab."""

import io
from pathlib import Path

import pytest
from docs.run_here import scenario_of
from rich.console import Console

import forebay as fb
from forebay.cli.catalogue import Kind, entries
from forebay.cli.lists import list_table
from test_docs import ROOT, Block, blocks_of

KINDS = ("disciplines", "schedulers", "schemes", "buffers", "transports", "topologies")
PAGES = [page for kind in KINDS for page in sorted(ROOT.glob(f"docs/reference/{kind}/*.md")) if page.stem != "index"]


def example_of(page: Path) -> tuple[str, list[Block]]:
    """The example of a page, and the files that go with it. Diagrams are text."""
    example, *files = (block for block in blocks_of(page) if block.language != "text")
    assert example.language == "toml"
    return example.body, files


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_example_runs(page: Path, tmp_path: Path) -> None:
    kind = page.parent.name
    example, files = example_of(page)
    for file in files:
        (tmp_path / file.tag).write_text(file.body, encoding="utf-8")
    path = tmp_path / "example.toml"
    path.write_text(scenario_of(kind, example), encoding="utf-8")
    short = {"duration": "1 ms" if page.stem == "ethernet" else "400 ms", "warmup": "0 s"}
    result = fb.run(path, overrides=short if kind == "topologies" else {}, allow_python=bool(files))
    assert result.flows["packets_delivered"].sum() > 0
    if kind == "disciplines":
        (queue,) = [row for row in result.queues.rows(named=True) if row["name"] == "bottleneck"]
        # A discipline written in Python goes by the name of its class.
        assert queue["discipline"] == page.stem or files
        assert queue["packets_arrived"] > queue["packets_dropped"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_example_fits_a_terminal(page: Path) -> None:
    example, files = example_of(page)
    # `forebay explain` indents by two columns, and a terminal has eighty.
    assert max(len(line) for text in (example, *(file.body for file in files)) for line in text.splitlines()) <= 76
    # The pages of what an RDMA transport takes have its name, too.
    name = page.stem.removeprefix("roce_").removeprefix("uec_")
    assert page.parent.name == "topologies" or name in example


def test_the_list_says_when_to_use_each_discipline_in_eighty_columns() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(list_table(Kind.disciplines))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    unwrapped = " ".join(text.split())
    for entry in entries(Kind.disciplines):
        line = entry["when_to_use"].replace("`", "")
        assert line.endswith(".")
        assert line in unwrapped
