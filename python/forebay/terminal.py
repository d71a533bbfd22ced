"""The one door to the terminal: data on standard output; messages, hints and progress on standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from .errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

# The width of a pipe without COLUMNS; no table loses a column.
_PIPE_WIDTH = 200
_NARROWEST = 20
# Longer lines of prose are hard to read.
_PROSE_WIDTH = 110
_TRAILING = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)


def output() -> Console:
    """Return standard output, without colours in a pipe or where NO_COLOR is set."""
    return _console(stderr=False)


def messages() -> Console:
    """Return standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False, emoji=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = _pipe_width()
    return console


def _pipe_width() -> int:
    """Return the width that COLUMNS asks for, or a default if it is no number."""
    columns = os.environ.get("COLUMNS", "")
    return max(int(columns), _NARROWEST) if columns.isascii() and columns.isdigit() else _PIPE_WIDTH


def _without_trailing_blanks(text: str) -> str:
    """Return the text without blanks at the ends of lines. Colours may end between or after them."""
    return _TRAILING.sub(lambda found: found[0].replace(" ", ""), text)


def _print(console: Console, *renderables: RenderableType, width: int | None = None) -> None:
    with console.capture() as captured:
        console.print(*renderables, sep="\n", width=width)
    sys.stdout.write(_without_trailing_blanks(captured.get()))


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
    """Discard what is still to be printed: the interpreter would try again at its end, and complain."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def write(text: str) -> None:
    """Print a text on standard output exactly as it is."""
    write_parts([text.removesuffix("\n")])


def write_parts(parts: Iterable[str]) -> None:
    """Print a line on standard output that comes in parts, exactly as they are."""
    with printing():
        for part in parts:
            sys.stdout.write(part)
        sys.stdout.write("\n")


def show(*renderables: RenderableType) -> None:
    """Print tables or texts for people on standard output."""
    with printing():
        _print(output(), *renderables)


def show_page(page: RenderableType) -> None:
    """Print a page of prose on standard output, in lines that can be read."""
    console = output()
    with printing():
        _print(console, page, width=min(console.width, _PROSE_WIDTH))


def note(text: str) -> None:
    """Tell what was done, on standard error."""
    with suppress(OSError):
        messages().print(text, markup=False, soft_wrap=True)


def complain(message: str) -> None:
    """Tell what is wrong, on standard error. Lines that begin with `hint:` have the remedy."""
    from rich.text import Text

    first, *rest = message.splitlines() or [""]
    text = Text.assemble(("error: ", "bold red"), first)
    for line in rest:
        text.append("\n" + line, "cyan" if line.startswith("hint:") else "")
    with suppress(OSError):
        messages().print(text, soft_wrap=True)


def complain_of_source(plain: str, coloured: str) -> None:
    """Tell what is wrong with a text that the message itself shows, on standard error."""
    console = messages()
    with suppress(OSError):
        colours = console.is_terminal and console.color_system is not None and not console.no_color
        sys.stderr.write((coloured if colours else plain) + "\n")


def complain_of(error: Exception) -> None:
    """Tell what an error of bad input says, with the offending text in colours where it shows one."""
    coloured: str = getattr(error, "coloured", "")
    if coloured:
        complain_of_source(str(error), coloured)
    else:
        complain(str(error))


class Bar:
    """A progress bar on standard error; nothing where that is no terminal."""

    def __init__(self, description: str, *, counts: bool) -> None:
        self._progress: Progress | None = None
        if sys.stderr.isatty():
            from rich import progress

            self._progress = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn() if counts else progress.TaskProgressColumn(),
                progress.TimeRemainingColumn(),
                progress.TextColumn("to go"),
                console=messages(),
                transient=True,
            )
            # Before anything is done there is nothing to show.
            self._task = self._progress.add_task(description, visible=False)

    @property
    def mover(self) -> Callable[[float], None] | None:
        """The function that moves it to a finished part; None without a terminal, so that a run need not call it."""
        return None if self._progress is None else self.move

    def move(self, done: float, total: float = 1.0, description: str | None = None) -> None:
        """Show that `done` of `total` is done; a description replaces the one before."""
        if self._progress is not None:
            self._progress.update(self._task, completed=done, total=total, description=description, visible=True)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Out of the way of what is printed meanwhile: a live bar and a table on one terminal overwrite each other."""
        if self._progress is not None:
            self._progress.stop()
        yield
        if self._progress is not None:
            self._progress.start()

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()


def progress(description: str, *, counts: bool = False) -> Bar:
    """Return a progress bar, to be shown by `with`: of a part that is done, or of counts such as 3 of 10 runs."""
    return Bar(description, counts=counts)
