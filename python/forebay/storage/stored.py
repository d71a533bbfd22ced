"""Results read back from disk: their files may be damaged, foreign, or no files at all.

Every reader of a result folder opens its files here and names the errors of `UNREADABLE`. Parquet files carry a
checksum, so that a damaged value is noticed too.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from forebay.errors import InputError
from forebay.folder import SCENARIO_FILE

_MORE_THAN_AN_END = 1 << 16
"""More bytes than the end of a Parquet file has, behind its columns."""

UNREADABLE: tuple[type[BaseException], ...] = (
    OSError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
    # Polars panics on some damaged files. This class derives from BaseException.
    pl.exceptions.PanicException,
)
"""Exceptions that the content of a damaged file may cause."""

_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "table": (dict,),
    "list": (list,),
    "texts": (list,),
}
_SEAL = b"forebay checksum"
_SEAL_BYTES = len(_SEAL) + hashlib.sha256().digest_size
_TAIL_BYTES = 8
"""The length of the metadata and the letters PAR1, which end a Parquet file."""
_BLOCK_BYTES = 1 << 20


def reason_of(error: BaseException) -> str:
    """Return the first line of the error's message, or the name of its class."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]!r}" if error.args else "a key is missing"
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


@contextmanager
def reading(result: str, *, absent: str, write: str, again: str) -> Iterator[None]:
    """Make an InputError of it if a result cannot be read within the block.

    Args:
        result: The kind of result, and its place: "the sweep in out".
        absent: The message where a file is missing: "out holds no finished sweep".
        write: The hint there.
        again: The hint where a file is damaged.

    """
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError as error:
        message = f"{absent}: there is no {error.filename}\nhint: {write}"
        raise InputError(message) from None
    except UNREADABLE as error:
        message = f"cannot read {result}: {reason_of(error)}\nhint: {again}"
        raise InputError(message) from None


def open_file(path: Path) -> BufferedReader:
    """Open a regular file. Raises OSError for anything else: opening a FIFO would wait for its other end."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(number, "rb")


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8. Raises OSError and UnicodeDecodeError."""
    with open_file(path) as file:
        return file.read().decode("utf-8")


def read_document(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file. Raises one of `UNREADABLE`."""
    document = json.loads(read_text(path), parse_float=_finite, parse_constant=_finite)
    if not isinstance(document, dict):
        message = f"{path.name} holds no JSON object"
        raise TypeError(message)
    return document


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        message = f"{text} is not finite"
        raise ValueError(message)
    return value


def read_frame(path: Path) -> pl.DataFrame:
    """Return the frame in a Parquet file. Raises one of `UNREADABLE`."""
    # Polars would search for a pattern in the name of a folder.
    with open_file(path) as file:
        _check_seal(file, path.name)
        file.seek(0)
        return pl.read_parquet(file)


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as a Parquet file with a checksum."""
    try:
        frame.write_parquet(path)
    except pl.exceptions.ComputeError:
        # For the end of a file Polars does not pass on that the disk is full. More bytes show it.
        with path.open("ab") as file:
            file.write(bytes(_MORE_THAN_AN_END))
        raise
    with path.open("r+b") as file:
        _seal(file)


def sealed(content: bytes) -> bytes:
    """Return the content of a Parquet file with a checksum."""
    file = BytesIO(content)
    _seal(file)
    return file.getvalue()


def _seal(file: Any) -> None:
    """Write a checksum between data and metadata. Readers skip it, because the metadata has the places of all data."""
    place = _place_of_seal(file)
    file.seek(place)
    metadata = file.read()
    seal = _SEAL + _checksum(file, place, metadata)
    file.seek(place)
    file.write(seal + metadata)


def _place_of_seal(file: Any) -> int:
    """Return where the metadata of a Parquet file begins. Raises ValueError if this is none."""
    size = file.seek(0, os.SEEK_END)
    if size < _TAIL_BYTES:
        message = "it is too short for a Parquet file"
        raise ValueError(message)
    file.seek(size - _TAIL_BYTES)
    tail = file.read(_TAIL_BYTES)
    place: int = size - _TAIL_BYTES - int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or place < 4:
        message = "it is not a whole Parquet file"
        raise ValueError(message)
    return place


def _checksum(file: Any, length: int, metadata: bytes) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0 and (block := file.read(min(length, _BLOCK_BYTES))):
        digest.update(block)
        length -= len(block)
    digest.update(metadata)
    return digest.digest()


def _check_seal(file: BufferedReader, name: str) -> None:
    """Raise ValueError if the checksum is wrong. The files of older versions have none."""
    place = _place_of_seal(file)
    file.seek(max(0, place - _SEAL_BYTES))
    seal, metadata = file.read(min(place, _SEAL_BYTES)), file.read()
    if seal.startswith(_SEAL) and seal[len(_SEAL) :] != _checksum(file, place - _SEAL_BYTES, metadata):
        message = f"the checksum of {name} is wrong"
        raise ValueError(message)


def check_kinds(values: Mapping[str, Any], kinds: Mapping[str, str], where: str) -> None:
    """Raise TypeError unless each value is of its kind: text, number, table, list, or texts, a list of them.

    A `?` at the end allows None as well. Raises KeyError for a missing value.
    """
    for name, kind in kinds.items():
        value = values[name]
        if value is None and kind.endswith("?"):
            continue
        holds = isinstance(value, _KINDS[kind.rstrip("?")]) and not isinstance(value, bool)
        if not holds or (kind == "texts" and not all(isinstance(text, str) for text in value)):
            message = f"{where}: {name} is no {kind.rstrip('?')}"
            raise TypeError(message)


def tables_in(tables: Any, where: str) -> dict[str, dict[str, Any]]:
    """Return a table of tables. Raises TypeError for anything else."""
    check_kinds({where: tables}, {where: "table"}, where)
    check_kinds(tables, dict.fromkeys(tables, "table"), where)
    return dict(tables)


def check_columns(frame: pl.DataFrame, texts: Sequence[str], where: str) -> None:
    """Raise TypeError unless these columns are texts and all others texts, numbers or flags."""
    for name in texts:
        if frame.schema[name] != pl.String:
            message = f"{where}: the column {name} has no texts"
            raise TypeError(message)
    for name, kind in frame.schema.items():
        if kind != pl.String and not kind.is_numeric() and kind not in (pl.Boolean, pl.Null):
            message = f"{where}: the column {name} is of {kind}"
            raise TypeError(message)


def read_table(path: Path, *, has_rows: bool) -> pl.DataFrame:
    """Return a table that was written, which one without rows need not have been."""
    return read_frame(path) if has_rows or path.exists() else pl.DataFrame()


def scenario_text(folder: Path) -> str | None:
    """Return the scenario of a saved run as it was run, or None if there is none that can be read."""
    try:
        return read_text(folder / SCENARIO_FILE)
    except (OSError, UnicodeDecodeError):
        return None
