"""The one door to the terminal: data on standard output; messages, hints and progress on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, Self

from forebay import cli
from forebay.errors import InputError

from . import interrupt

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

# Longer lines of prose are hard to read.
_PROSE_WIDTH = 110


def output() -> Console:
    """Return standard output, without colours in a pipe or where NO_COLOR is set."""
    return cli.console.console_of(stderr=False)


def messages() -> Console:
    """Return standard error."""
    return cli.console.console_of(stderr=True)


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
        sys.stdout.write(cli.console.rendered(output(), *renderables))


class _Printable(Protocol):
    def to_json(self) -> str: ...


def show_result(result: _Printable, tables: Callable[[int], Iterable[RenderableType]], *, as_json: bool) -> None:
    """Print a result on standard output: its tables for a width, or one JSON document."""
    if as_json:
        write(result.to_json())
    else:
        show(*tables(output().width))


def show_page(page: RenderableType) -> None:
    """Print a page of prose on standard output, in lines that can be read."""
    console = output()
    with printing():
        sys.stdout.write(cli.console.rendered(console, page, width=min(console.width, _PROSE_WIDTH)))


def note(text: str) -> None:
    """Tell what was done, on standard error."""
    with suppress(OSError):
        messages().print(text, markup=False, soft_wrap=True)


def complain(message: str) -> None:
    """Tell what is wrong, on standard error. Lines that begin with `hint:` have the remedy."""
    with suppress(OSError):
        messages().print(cli.console.complaint(message), soft_wrap=True)


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
            self._progress = cli.progress.progress_bar(counts=counts)
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


@contextmanager
def counted(stopped: Callable[[int, int], str]) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many runs of how many are done.

    The message after Ctrl-C is that of `stopped` for the same two numbers.
    """
    last = (0, 0)

    def move(done: int, runs: int) -> None:
        nonlocal last
        last = (done, runs)
        bar.move(done, runs)

    interrupt.tells(lambda: stopped(*last))
    with progress("runs", counts=True) as bar:
        yield move


def progress(description: str, *, counts: bool = False) -> Bar:
    """Return a progress bar, to be shown by `with`: of a part that is done, or of counts such as 3 of 10 runs."""
    return Bar(description, counts=counts)
