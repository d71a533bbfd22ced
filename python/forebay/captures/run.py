"""Replay of a capture."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from os import PathLike
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.comparison.contenders import Contender, contenders_of, disciplines, word_of
from forebay.comparison.fit import fitted_to
from forebay.errors import CaptureError, InputError
from forebay.folder import begun, sweep
from forebay.runs.seeds import check_seed
from forebay.runs.series import Series
from forebay.scenario import override_texts
from forebay.storage.frames import frame_of

from .result import ReplayResult, Warned

Progress = Callable[[float], object]


def replay(  # noqa: PLR0913 - all but the first are keywords
    capture: str | PathLike[str],
    *,
    rate: str,
    queue: str | Sequence[str] | Mapping[str, object],
    settings: Mapping[str, object] | None = None,
    destination: str | None = None,
    seed: int = 1,
    interval: str | None = None,
    out: str | PathLike[str] | None = None,
    capture_out: str | PathLike[str] | None = None,
    drops_out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> ReplayResult:
    """Replay the packets of a capture through one or several queues, each in front of a port.

    Args:
        capture: A pcap or pcapng file, or a record of `forebay live record`, which may be compressed by gzip.
        rate: The rate of each port: `"20 Mbps"`.
        queue: The name of a discipline. Several, `["dbl", "red"]` or `"dbl,red"`, see the same packets side by side. A
            name may carry a label and parameters, `"gentle=red:gentle=true"`. A mapping goes from labels to queues:
            `{"small": {"drop_tail": {"limit": "20 packets"}}}`. A limit and thresholds that are not given follow from
            the rate of the port.
        settings: Parameters of every queue that has them: `{"limit": "100 packets"}`.
        destination: Replay only packets to this address: a capture holds both directions, and a port sends one.
        seed: The seed of the disciplines' random numbers.
        interval: The interval of the time series: `"10 ms"`. Default: one that makes some hundreds of values.
        out: A folder for tables and series.
        capture_out: A pcapng file for the packets that pass, with the times at which their last bits leave, and CE
            where they were marked. With several queues, each has its own file, its label at the end.
        drops_out: A pcapng file for the packets that are dropped, each with the reason as a comment.
        progress: Called about ten times a second with the share of the capture that has been read, from 0 to 1.

    Returns:
        Tables and time series of each queue and of each flow at it.

    Raises:
        ScenarioError: If the rate, a queue or a setting is not valid.
        InputError: If the capture cannot be read or replayed, or a file cannot be written. No file is left behind.

    Example:
        >>> capture = "examples/belligerent.pcap.gz"
        >>> replayed = fb.replay(capture, rate="20 Mbps", queue="dbl,drop_tail")
        >>> replayed.queues.select("queue", "packets_dropped").rows()
        [('dbl', 6253), ('drop_tail', 6001)]

    """
    contenders = contenders_of(queue)
    check_seed(seed)
    address = _address(destination)
    _check_readable(capture)
    wanted = [_files_of(path, contenders, Path(capture)) for path in (capture_out, drops_out)]
    targets = [path for paths in wanted for path in paths if path is not None]
    if len(set(targets)) < len(targets):
        message = "two captures would be written to one file\nhint: give them different names, and give queues labels"
        raise InputError(message)
    with _appearing(targets) as partial:
        files = [[None if path is None else partial[path] for path in paths] for paths in wanted]
        parameters = _parameters(contenders, settings or {})
        fitted = [_fitted(it, rate, own) for it, own in zip(contenders, parameters, strict=True)]
        given = [override_texts(own) for own in parameters]
        parameters = [{**link, **own} for link, own in zip(fitted, parameters, strict=True)]
        queues = [
            (it.label, it.discipline, override_texts(own), delivered, dropped)
            for it, own, delivered, dropped in zip(contenders, parameters, *files, strict=True)
        ]
        raw = _replay(capture, rate, queues, address, seed, interval, progress)
        series = tuple(Series(**entry) for entry in raw.pop("series"))
        tables = {table: frame_of(raw.pop(table)) for table in ("flows", "queues", "delays")}
        warnings = tuple(Warned(text=entry["text"], remedy=entry["remedy"]) for entry in raw.pop("warnings"))
        labels = {it.label: link for it, link in zip(contenders, fitted, strict=True)}
        words = [word_of(it.label, it.discipline, dict(own)) for it, own in zip(contenders, given, strict=True)]
        command = _command(capture, {"rate": rate, "to": destination, "seed": seed, "interval": interval}, words)
        facts: dict[str, Any] = {**raw, **tables, "warnings": warnings, "fitted": labels, "command": command}
        result = ReplayResult(capture=os.fspath(capture), all_series=series, **facts)
        if out is not None:
            result.save(out)
    return result


def _command(capture: str | PathLike[str], options: Mapping[str, object], queues: Sequence[str]) -> str:
    """Return the command line of a replay, with all parameters that were given."""
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return shlex.join(["forebay", "replay", os.fspath(capture), *given, *(f"--queue={queue}" for queue in queues)])


def _replay(
    capture: str | PathLike[str],
    rate: str,
    queues: list[Any],
    address: IPv4Address | IPv6Address | None,
    seed: int,
    interval: str | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """Call the core, and make an InputError of what is wrong."""
    try:
        raw = _core.replay(capture, rate, queues, destination=address, seed=seed, interval=interval, progress=progress)
    except OSError as error:
        message = f"cannot write the captures: {error.strerror or error}\nhint: name files on a disk with enough room"
        raise InputError(message) from None
    except CaptureError as error:
        message = f"{os.fspath(capture)}: {error}"
        raise InputError(message) from None
    except _core.ScenarioError:
        raise
    except ValueError as error:
        message = f"the interval {interval}: {error}\nhint: write a number and a unit, such as 10ms"
        raise InputError(message) from None
    return dict(raw)


def _address(destination: str | None) -> IPv4Address | IPv6Address | None:
    try:
        return None if destination is None else ip_address(destination)
    except ValueError:
        message = f"{destination} is not an address\nhint: give an IPv4 or IPv6 address that occurs in the capture"
        raise InputError(message) from None


def _check_readable(capture: str | PathLike[str]) -> None:
    """Raise InputError for a capture that cannot be opened: any other error of a file is about one that is written."""
    try:
        if Path(capture).is_fifo():
            return
        Path(capture).open("rb").close()
    except OSError as error:
        message = f"cannot read {os.fspath(capture)}: {error.strerror}"
        message += "\nhint: give a pcap or pcapng file, or a record, that you may read"
        raise InputError(message) from None


def _parameters(contenders: Sequence[Contender], settings: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the parameters of each queue: its own, and those of `settings` that its discipline has."""
    known = [disciplines()[contender.discipline] for contender in contenders]
    # Other parameters go to the first, whose error names the fault.
    strange = {key for key in settings if not any(_name(key) in keys for keys in known)}
    chosen = []
    for index, (contender, keys) in enumerate(zip(contenders, known, strict=True)):
        alone = len(contenders) == 1
        shared = {
            key: value
            for key, value in settings.items()
            if alone or _name(key) in keys or (index == 0 and key in strange)
        }
        chosen.append({**shared, **contender.parameters})
    return chosen


def _fitted(contender: Contender, rate: str, given: Mapping[str, object]) -> dict[str, str | float]:
    """Return the parameters that follow from the port's rate; none where the core is going to refuse what was given."""
    try:
        return fitted_to(contender.discipline, rate, None, {_name(key): value for key, value in given.items()})
    except ValueError:
        return {}


def _name(key: str) -> str:
    return key.partition(".")[0]


def _files_of(path: str | PathLike[str] | None, contenders: Sequence[Contender], capture: Path) -> list[Path | None]:
    """Return a file for each queue: the one that was named, or for several queues each its own."""
    if path is None:
        return [None] * len(contenders)
    target = Path(path)
    files = [target]
    if len(contenders) > 1:
        files = [target.with_stem(f"{target.stem}-{_file_part(it.label)}") for it in contenders]
    for file in files:
        if file.is_dir():
            message = f"{file} is a folder, not a file\nhint: name the capture to write"
            raise InputError(message)
        if file.exists() and capture.exists() and file.samefile(capture):
            message = f"{file} is the capture to be replayed\nhint: name another file to write"
            raise InputError(message)
    return list(files)


def _file_part(label: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in label)


@contextmanager
def _appearing(targets: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    """Yield a file to write into for each target, which takes the target's place at the end.

    If the block raises, nothing is left behind. Other than an ordinary file, such as a pipe, it is written to directly.
    Raises InputError for a file that cannot be written.
    """
    with ExitStack() as stack:
        partial = {}
        for target in targets:
            if target.exists() and not target.is_file():
                partial[target] = target
                continue
            try:
                sweep(target.parent)
                partial[target] = stack.enter_context(begun(target.parent, Path.touch))
            except OSError as error:
                message = (
                    f"cannot write {target}: {os.strerror(error.errno or 0)}\nhint: name a file that you may write"
                )
                raise InputError(message) from None
        yield partial
        for target, path in partial.items():
            if path != target:
                path.replace(target)
