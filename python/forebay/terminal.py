"""The one door to the terminal: data on standard output; messages, hints and progress on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# A pipe has no width: wide enough that no table loses a column.
_PIPE_WIDTH = 200
# Longer lines of prose are hard to read.
_PROSE_WIDTH = 110


def output() -> Console:
    """Standard output. Without colours in a pipe or where NO_COLOR is set."""
    return _console(stderr=False)


def messages() -> Console:
    """Standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


@contextmanager
def printing() -> Iterator[None]:
    """Print on standard output within this. Raises InputError if it takes no more, as a file on a full disk."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_output()
        message = f"cannot write to standard output: {error.strerror or error}\nhint: is its disk full?"
        raise InputError(message) from None


def give_up_output() -> None:
    """Sends what is still to be printed nowhere: the interpreter would try again at its end, and complain."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def write(text: str) -> None:
    """Prints a text on standard output exactly as it is."""
    with printing():
        sys.stdout.write(text if text.endswith("\n") else text + "\n")


def show(*renderables: RenderableType) -> None:
    """Prints tables or texts for people on standard output."""
    with printing():
        output().print(*renderables, sep="\n")


def show_page(page: RenderableType) -> None:
    """Prints a page of prose on standard output, in lines that can be read."""
    console = output()
    with printing():
        console.print(page, width=min(console.width, _PROSE_WIDTH))


def note(text: str) -> None:
    """Tells what was done, on standard error."""
    with suppress(OSError):
        messages().print(text, markup=False, soft_wrap=True)


def complain(message: str) -> None:
    """Tells what is wrong, on standard error. Lines that begin with `hint:` say what to do."""
    from rich.text import Text

    first, *rest = message.splitlines() or [""]
    text = Text.assemble(("error: ", "bold red"), first)
    for line in rest:
        text.append("\n" + line, "cyan" if line.startswith("hint:") else "")
    with suppress(OSError):
        messages().print(text, soft_wrap=True)


def complain_of_source(plain: str, coloured: str) -> None:
    """Tells what is wrong with a text that the message itself shows, on standard error."""
    console = messages()
    with suppress(OSError):
        sys.stderr.write((coloured if console.is_terminal and not console.no_color else plain) + "\n")


def complain_of(error: Exception) -> None:
    """Tells what an error of bad input says, with the offending text in colours where it shows one."""
    coloured: str = getattr(error, "coloured", "")
    if coloured:
        complain_of_source(str(error), coloured)
    else:
        complain(str(error))


@contextmanager
def progress(description: str) -> Iterator[Callable[[float], None] | None]:
    """Shows a progress bar on a terminal; gives the function that moves it, or None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=messages(), transient=True) as bar:
        task = bar.add_task(description, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)
