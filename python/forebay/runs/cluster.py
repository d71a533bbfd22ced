"""Dask clusters, whose workers need the same version of Forebay. Only this module imports `distributed`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from distributed import Client

from forebay import _core
from forebay.errors import InputError

from .faults import absent_forebay

# How long to look for a scheduler.
_FIND_S = 10.0
_ADDRESS = re.compile(r"(\w+://)?[^\s:/]+:\d+|(\w+://)?\[[0-9a-fA-F:.]+\]:\d+")


@contextmanager
def executor_at(address: str) -> Iterator[tuple[Executor, int]]:
    """Yield the executor of the cluster with this scheduler, and the number of its threads.

    Raises InputError if there is none, or if its workers have another version of Forebay.
    """
    if not _ADDRESS.fullmatch(address):
        message = (
            f"--dask {address}: this is not the address of a scheduler\nhint: write host and port: tcp://host:8786"
        )
        raise InputError(message)
    try:
        client = Client(address, timeout=_FIND_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        message = f"there is no Dask scheduler at {address}: {error}\nhint: start one with `dask scheduler`"
        raise InputError(message) from None
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            message = f"the Dask scheduler at {address} has no workers\nhint: start some with `dask worker {address}`"
            raise InputError(message)
        _check_versions(_versions(client, address))
        yield client.get_executor(pure=False), threads


def _versions(client: Any, address: str) -> dict[str, str]:
    """Return the version of Forebay on each worker. Raises InputError if one has none."""
    try:
        return client.run(_version)  # type: ignore[no-any-return]
    except Exception as error:
        # An error that the worker raised, or could not even pickle: any class.
        if missing := absent_forebay(error):
            message = f"the workers of {address} cannot import Forebay: {missing}\n"
            raise InputError(message + f"hint: install Forebay {_version()} with its dependencies there") from error
        message = f"the workers of {address} do not answer: {str(error) or type(error).__name__}\n"
        raise InputError(message + "hint: look into their logs") from error


def _version() -> str:
    return _core.__version__


def _check_versions(versions: dict[str, str]) -> None:
    ours = _version()
    for worker, theirs in versions.items():
        if theirs != ours:
            message = f"the worker {worker} has Forebay {theirs}, and this is {ours}\nhint: install the same on both"
            raise InputError(message)
