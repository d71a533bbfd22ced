"""The program `forebay-live`: where it is, and how it is started."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from forebay.errors import InputError

PROGRAM = "forebay-live"

# What the program does besides forwarding.
COMMANDS = (
    "check",
    "show",
    "stats",
    "set",
    "reload",
    "confirm",
    "rollback",
    "bypass",
    "capture",
    "record",
    "teardown",
    "ping",
    "run",
)


def found() -> str:
    """Return the path of the program. Raises InputError if it is not installed."""
    beside = Path(sys.executable).parent / PROGRAM
    path = str(beside) if os.access(beside, os.X_OK) else shutil.which(PROGRAM)
    if path is None:
        message = (
            f"the program {PROGRAM} is not installed\n"
            "hint: it comes with Forebay's packages for Linux; from a checkout, `make build` installs it"
        )
        raise InputError(message)
    return path


def start(arguments: Sequence[str]) -> NoReturn:
    """Become the program. The name of a file stands for `run FILE`."""
    words = [word for word in arguments if not word.startswith("-")]
    asked = words[0] if words else ""
    # A file beside the command's name of the same kind: `forebay live lan.toml`.
    if asked and asked not in COMMANDS and (asked.endswith(".toml") or Path(asked).exists()):
        arguments = ["run", *arguments]
    path = found()
    os.execv(path, [PROGRAM, *arguments])  # noqa: S606 - the arguments are the user's own
