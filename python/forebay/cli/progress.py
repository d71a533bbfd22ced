"""Progress bars by way of Rich."""

from __future__ import annotations

from rich import progress

from .console import console_of


def progress_bar(*, counts: bool) -> progress.Progress:
    """Return a progress bar on standard error: of a part that is done, or of counts such as 3 of 10 runs."""
    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn() if counts else progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("to go"),
        console=console_of(stderr=True),
        transient=True,
    )
