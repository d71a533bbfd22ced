"""`forebay lab`: Forebay in the browser."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

import forebay
from forebay import lab as page
from forebay.errors import InputError

from . import terminal


def lab(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCENARIO.toml]", help="The scenario to open. Default: the start page.", show_default=False
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", min=1, max=65535, help="The port. Default: a free one.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address, and open no browser.")] = False,
) -> None:
    """Open the lab: scenarios, sliders, charts and stories in your browser, served by this machine for itself.

    Nothing leaves the machine. Ctrl-C ends it.
    """
    fragment = "" if scenario is None else page.links.fragment(_text(scenario))
    with page.server.Server(page.site.load(), port or 0) as server:
        address = server.address + fragment
        terminal.write(address)
        opens = not no_open and page.browser.has_window()
        terminal.note("Ctrl-C ends the lab" if opens else "open this address in a browser; Ctrl-C ends the lab")
        if opens:
            page.browser.show(address)
        server.serve_forever()


def _text(path: Path) -> str:
    """Return the text of a scenario that the page can run. It has no files: the text holds the traces of links."""
    checked = forebay.Scenario.load(path)
    if checked.python_classes:
        message = f"{path} names Python code, {min(checked.python_classes)}, which the lab cannot run"
        message += "\nhint: `forebay run --allow-python` runs it"
        raise InputError(message)
    return checked.to_toml() if _has_trace_file(tomllib.loads(checked.text)) else checked.text


def _has_trace_file(value: object) -> bool:
    """Return whether a link in this part of a scenario has its rates from a file."""
    match value:
        case {"trace": {"file": _}}:
            return True
        case dict():
            return any(map(_has_trace_file, value.values()))
        case list():
            return any(map(_has_trace_file, value))
    return False
