"""The page of the lab: its rules and its size, what its reader can do, and scenarios that mean harm."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import forebay as fb
from conftest import SMALL, Command
from forebay.errors import ScenarioError
from forebay.lab import links, site
from lab_browser import NEEDS_LAB, ROOT, Lab, served
from lab_stories import stories

pytestmark = NEEDS_LAB

WIDTHS = (390, 1280, 1920)
PAGES = {
    "home": "",
    "lab": "#/lab?example=first",
    "crossbar": "#/lab?example=switch",
    "PAUSE": "#/lab?example=ethernet",
    "captures": "#/capture",
    "embedded": "#/embed?example=first",
    "story": f"#/story/{stories()[0].name}/1",
}
WITHOUT_RUNS = ("home", "captures")
PINNED = SMALL.replace("[topology.star]", '[lab]\npins = ["topology.star.bottleneck.rate"]\n\n[topology.star]')
CAPTURE = ROOT / "examples/belligerent.pcap.gz"
# Names that would run a script if they became markup.
HOSTILE = "<img src=x onerror=window.harmed=1>"
ENDLESS = (
    SMALL.replace('"10 Mbps"', '"10 Gbps"').replace('"4 s"', '"90 h"').replace('"100 ms"\nseries', '"1 h"\nseries')
)
# 54 GB: validation allows no more flows.
HUGE = SMALL.replace("count = 3", "count = 16_000_000").replace('series = ["queues", "flows", "links"]', "series = []")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with served() as address:
        found = Lab(address)
        yield found
        found.driver.quit()


def settle(lab: Lab, page: str) -> None:
    if page not in WITHOUT_RUNS:
        assert "simulated in" in lab.finished()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_complains_of_nothing_and_asks_no_other_site(lab: Lab, page: str) -> None:
    lab.complaints()
    lab.events()
    lab.open(PAGES[page])
    settle(lab, page)
    assert lab.complaints() == []
    assert lab.foreign_requests() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_serious_finding_of_axe(lab: Lab, page: str, scheme: str) -> None:
    lab.open(PAGES[page], scheme=scheme, is_still=True)
    settle(lab, page)
    assert lab.findings() == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_the_window(lab: Lab, page: str, width: int) -> None:
    lab.open(PAGES[page], width=width)
    settle(lab, page)
    assert lab.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_page_is_small() -> None:
    sizes = {name: len(file.compressed or file.content) for name, file in site.load().items()}
    (engine,) = (size for name, size in sizes.items() if name.endswith(".wasm"))
    assert engine <= 1_400_000
    assert sum(sizes.values()) <= 2_200_000


def test_compressed_files_have_the_content_of_the_others() -> None:
    packed = [file for file in site.load().values() if file.compressed is not None]
    assert len(packed) > 3
    assert all(gzip.decompress(file.compressed or b"") == file.content for file in packed)


def test_a_fault_is_underlined_with_the_message_of_the_command_line(lab: Lab) -> None:
    wrong = SMALL.replace("delay = ", "delays = ", 1)
    with pytest.raises(ScenarioError) as refused:
        fb.Scenario.from_toml(wrong)
    lab.open_scenario(wrong)
    assert "has a fault" in lab.finished()
    underlined = lab.wait(f"{EDITOR} return editor.querySelector('.cm-lintRange-error')?.textContent")
    assert underlined == "delays"
    (shown,) = lab.alerts()
    message, *_ = shown.splitlines()
    assert message.partition(":")[0].lower() in str(refused.value).lower()


def test_a_slider_changes_a_figure(lab: Lab) -> None:
    lab.open_scenario(PINNED)
    assert "simulated in" in lab.finished()
    before = lab.tables()
    slider = "return document.querySelector('.sliders input[type=range]')"
    lab.run(
        f"const slider = (() => {{ {slider} }})(); slider.value = slider.max;"
        "slider.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    wait_until(lambda: lab.tables() != before and "simulated in" in lab.finished())
    assert 'rate = "10 Mbps"' not in lab.run(f"{EDITOR} return editor.textContent")


def test_a_key_moves_a_slider(lab: Lab) -> None:
    lab.open_scenario(PINNED)
    assert "simulated in" in lab.finished()
    before = lab.tables()
    slider = lab.run("return document.querySelector('.sliders input[type=range]')")
    slider.send_keys("\ue014" * 3)
    wait_until(lambda: lab.tables() != before and "simulated in" in lab.finished())


def test_a_run_without_end_can_be_cancelled(lab: Lab) -> None:
    lab.open_scenario(ENDLESS)
    cancel = "return [...document.querySelectorAll('button')].find((it) => it.textContent === 'Cancel')"
    # It moves, so the page is alive.
    lab.wait("return document.querySelector('progress.run-progress:not(.is-idle)')")
    lab.wait(cancel).click()
    assert lab.finished() == "Cancelled"
    lab.open_scenario(SMALL)
    assert "simulated in" in lab.finished()


def test_a_scenario_that_no_page_can_hold_is_refused(lab: Lab) -> None:
    lab.open_scenario(HUGE)
    wait_until(lambda: len(lab.alerts()) > 0)
    (shown,) = lab.alerts()
    assert "memory" in shown
    lab.open_scenario(SMALL)
    assert "simulated in" in lab.finished()


def test_names_with_markup_stay_text(lab: Lab) -> None:
    text = SMALL.replace('name = "bf"', f'name = "{HOSTILE}"').replace('["bf"]', f'["{HOSTILE}"]')
    lab.complaints()
    for page in ("lab", "embed"):
        lab.open_scenario(f'description = "{HOSTILE}"\n{text}', page)
        assert "simulated in" in lab.finished()
        assert lab.run("return window.harmed") is None
        assert lab.run("return document.querySelectorAll('img').length") == 0
        assert lab.run("return document.body.innerText.includes(arguments[0])", HOSTILE)
    # The names of faults come from the text as well.
    lab.open_scenario(text.replace("count = 3", f'"{HOSTILE}" = 3'))
    assert "has a fault" in lab.finished()
    assert lab.run("return window.harmed") is None
    assert lab.complaints() == []


def test_a_link_of_the_command_is_read_by_the_page(lab: Lab) -> None:
    text = SMALL + "# µ, 日本, 😀\n"
    lab.open_scenario(text)
    assert "simulated in" in lab.finished()
    assert "\n".join(lab.run(LINES)) == text


def test_a_link_of_the_page_opens_what_was_shown(lab: Lab) -> None:
    lab.open_scenario(PINNED)
    assert "simulated in" in lab.finished()
    before = lab.tables()
    lab.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    press(lab, "Share")
    press(lab, "Copy link")
    link = str(lab.wait("return window.copied"))
    assert link.startswith(f"{lab.address}#/lab?s=")
    lab.open(link.removeprefix(lab.address))
    assert "simulated in" in lab.finished()
    assert "\n".join(lab.run(LINES)) == PINNED
    assert shown_without_times(lab.tables()) == shown_without_times(before)


@pytest.mark.parametrize(
    "code", ["", "1", "9abc", "1AAAA", "1" + "A" * 500_000, "<script>", "%", "1" + links.parameter(SMALL)[1:-20]]
)
@pytest.mark.parametrize("page", ["lab", "embed"])
def test_a_damaged_link_is_one_message(lab: Lab, page: str, code: str) -> None:
    lab.complaints()
    lab.open(f"#/{page}?s={code}")
    wait_until(lambda: len(lab.alerts()) > 0)
    (shown,) = lab.alerts()
    assert "link" in shown.lower()
    assert lab.complaints() == []


def test_a_damaged_capture_is_one_message(lab: Lab, tmp_path: Path) -> None:
    lab.complaints()
    whole = gzip.decompress(CAPTURE.read_bytes())
    damaged = {
        "text.pcap": b"this is no capture\n" * 50,
        "empty.pcap": b"",
        "flipped.pcap.gz": CAPTURE.read_bytes()[:5000] + bytes(200) + CAPTURE.read_bytes()[5200:],
        "lies.pcap": whole[:24] + b"\xff" * 4000,
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        lab.open("#/capture")
        lab.wait("return document.querySelector('input[type=file]')").send_keys(str(tmp_path / name))
        wait_until(lambda: len(lab.alerts()) > 0)
        (shown,) = lab.alerts()
        assert len(shown.splitlines()) <= 4, shown
        assert "fault in Forebay" not in shown
    assert lab.complaints() == []


def test_the_end_of_a_capture_may_be_missing(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "cut.pcap.gz").write_bytes(CAPTURE.read_bytes()[:1000])
    lab.open("#/capture")
    lab.wait("return document.querySelector('input[type=file]')").send_keys(str(tmp_path / "cut.pcap.gz"))
    wait_until(lambda: lab.run("return document.body.innerText.includes('only the complete ones were replayed')"))
    assert lab.alerts() == []


def test_a_capture_is_replayed_as_on_the_command_line(lab: Lab, forebay: Command) -> None:
    lab.open("#/capture")
    lab.wait("return document.querySelector('input[type=file]')").send_keys(str(CAPTURE))
    lab.wait("return document.querySelector('.capture output')?.textContent === 'The replay is complete'")
    queues = lab.run("return [...document.querySelectorAll('.capture-form select')].map((it) => it.value)")
    names = [name for name in queues if name]
    done = forebay("replay", CAPTURE, "--rate", "20Mbps", "--queues", ",".join(names), "--json")
    (table,) = (rows for label, rows in lab.tables().items() if label == "Table of queues")
    cells = {cell.replace(",", "") for row in table for cell in row}
    dropped = {str(row["packets_dropped"]) for row in json.loads(done.stdout)["queues"]}
    assert len(dropped) > 1
    assert dropped <= cells


def shown_without_times(tables: dict[str, list[list[str]]]) -> dict[str, list[list[str]]]:
    return {label: rows for label, rows in tables.items() if "ngine" not in label}


def press(lab: Lab, name: str) -> None:
    script = """
        return [...document.querySelectorAll('button, [role=menuitem]')]
          .find((it) => it.textContent.trim().startsWith(arguments[0]) && it.offsetWidth);
    """
    lab.wait(script, name).click()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


EDITOR = """
    const host = [...document.querySelectorAll('*')].find((it) => it.shadowRoot?.querySelector('.cm-content'));
    if (!host) return null;
    const editor = host.shadowRoot.querySelector('.cm-content');
"""
LINES = EDITOR + "return [...editor.querySelectorAll('.cm-line')].map((it) => it.textContent);"
