"""The notebooks run from top to bottom in Jupyter's kernel, and show what is stored in them.

Their outputs are stored, so that they can be read where nothing runs: on a forge and in the documentation. Values that
depend on the machine are masked before outputs are compared: times, memory, and pictures of cells with the tag
`varies`.

After a change that is meant, `FOREBAY_GOLDEN_UPDATE=1 pytest tests/python/test_notebooks.py` runs the notebooks and
stores the outputs that have changed. Clear an output in the notebook to have it stored again in any case.
"""

from __future__ import annotations

import base64
import difflib
import importlib
import io
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from PIL import Image, PngImagePlugin

from test_docs import LINK

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
UPDATE = "FOREBAY_GOLDEN_UPDATE" in os.environ
REMEDY = "if the change is meant: FOREBAY_GOLDEN_UPDATE=1 pytest tests/python/test_notebooks.py"
PICTURE = "image/png"
# Figures have few colours. With a palette they take a third of the room.
COLOURS = 64
CPU_TIME = re.compile(r"[\d.e-]+ s of CPU time(: [\d.]+ million a second; \d+ MB)?")
LAST_CELL = re.compile(r">[^<>]*</td>\n</tr>")


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@pytest.fixture
def kernel_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a kernel runs without the user's settings, but with the cache of fonts, which takes seconds to build."""
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.delenv("MPLBACKEND", raising=False)
    # Built here, so that no kernel prints that it builds it.
    importlib.import_module("matplotlib.font_manager")
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def executed(path: Path, folder: Path) -> Any:
    """The notebook with new outputs. Raises CellExecutionError, which shows the cell, if one raises."""
    notebook = read(path)
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, coalesce_streams=True, resources=place).execute()
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        if PICTURE in output.get("data", {}):
            output.data[PICTURE] = with_palette(output.data[PICTURE])
    return notebook


def with_palette(picture: str) -> str:
    image = decoded(picture)
    software = PngImagePlugin.PngInfo()
    software.add_text("Software", image.info.get("Software", ""))
    small = io.BytesIO()
    few = image.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(small, "png", optimize=True, pnginfo=software)
    return base64.b64encode(small.getvalue()).decode() + "\n"


def decoded(picture: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(picture)))


def stored_form(notebook: Any) -> str:
    """The text of the file: nothing of the machine, of the editor or of earlier runs is in it."""
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata.tags} if "tags" in cell.metadata else {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return str(nbformat.writes(notebook, version=4)).rstrip("\n") + "\n"


def shown(cell: Any) -> list[dict[str, str]]:
    """The outputs of a cell as texts by their kind, without what the machine decides and without pictures."""
    found = []
    for output in cell.outputs:
        texts = {output.name: output.text} if output.output_type == "stream" else dict(output.data)
        if "text/html" in texts:
            # Where there is no HTML: the same in few words.
            texts.pop("text/plain", None)
        texts[PICTURE] = str(PICTURE in texts)
        found.append({kind: masked(text) for kind, text in texts.items()})
    return found


def masked(text: str) -> str:
    parts = CPU_TIME.sub("# s of CPU time", text).split("<table")
    return "<table".join(LAST_CELL.sub(">#</td>\n</tr>", part) if ">CPU<" in part else part for part in parts)


def pictures(cell: Any) -> list[Image.Image]:
    return [decoded(output.data[PICTURE]) for output in cell.outputs if PICTURE in output.get("data", {})]


def change(stored: Any, fresh: Any) -> str:
    """The changes in the outputs of a cell; nothing if they equal the stored ones."""
    if shown(stored) != shown(fresh):
        before, now = (str(shown(cell)).replace("\\n", "\n").splitlines() for cell in (stored, fresh))
        return "\n".join(difflib.unified_diff(before, now, "stored", "now", n=0, lineterm=""))
    if "varies" in fresh.metadata.get("tags", ()):
        return ""
    return "" if all(map(alike, pictures(stored), pictures(fresh))) else "another picture"


def alike(one: Image.Image, other: Image.Image) -> bool:
    """Whether two pictures show the same, if the same matplotlib drew them; others have other letters."""
    if one.info.get("Software") != other.info.get("Software"):
        return True
    if one.size != other.size:
        return False
    distance = np.abs(np.asarray(one.convert("RGB"), np.int16) - np.asarray(other.convert("RGB"), np.int16))
    return float((distance.max(axis=2) > 64).mean()) < 0.001


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_stored_in_it(path: Path, kernel_home: Path) -> None:
    fresh = executed(path, kernel_home)
    code = [cell for cell in fresh.cells if cell.cell_type == "code"]
    # A warning would be a stream; an output that comes twice is a defect of a display.
    assert [cell.id for cell in code if any(output.get("name") == "stderr" for output in cell.outputs)] == []
    assert [cell.id for cell in code if len(cell.outputs) > 1] == []
    stored = {cell.id: cell for cell in read(path).cells if cell.cell_type == "code"}
    changes = {cell.id: change(stored[cell.id], cell) for cell in code}
    if UPDATE:
        # Times and the like of this machine are no reason for a difference in the file.
        for cell in code:
            cell.outputs = cell.outputs if changes[cell.id] else stored[cell.id].outputs
        path.write_text(stored_form(fresh), encoding="utf-8")
        return
    new = [f"cell `{name}`: {text}" for name, text in changes.items() if text]
    assert not new, "\n".join([*new, REMEDY])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_in_its_form(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert path.read_text(encoding="utf-8") == stored_form(notebook), REMEDY
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), REMEDY


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    targets = {match["target"] for match in LINK.finditer(text) if "://" not in match["target"]}
    assert targets
    assert [target for target in sorted(targets) if not (path.parent / target).exists()] == []


def test_masks_leave_results_alone() -> None:
    line = "180 packet-hops in 0.006 s of CPU time: 30.9 million a second; 97 MB; digest ad0b"
    assert masked(line) == "180 packet-hops in # s of CPU time; digest ad0b"
    row = "<tr>\n<td>12.5</td>\n<td>31.9</td>\n</tr>"
    assert masked(f"<table><th>used</th>{row}") == f"<table><th>used</th>{row}"
    assert masked(f"<table><th>CPU<br>ns</th>{row}") == f"<table><th>CPU<br>ns</th>{row.replace('31.9', '#')}"


def test_pictures_differ_by_a_line() -> None:
    white = Image.new("RGB", (600, 400), "white")
    crossed = white.copy()
    crossed.paste((0, 0, 0), (0, 200, 600, 201))
    assert alike(white, white.copy())
    assert not alike(white, crossed)
