"""Puts the program `forebay-live` into a wheel, so that pip installs it next to `forebay`: part of `make wheel`.

A wheel holds an extension module or programs, as far as maturin goes. Files in its `*.data/scripts` are programs to pip
(packaging.python.org, "Binary distribution format").
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import sys
import zipfile
from pathlib import Path


def add_program(wheel: Path, program: Path) -> None:
    """Add the program to the wheel and to its record. Replaces the file when all is written."""
    name, version, *_ = wheel.name.split("-")
    place = f"{name}-{version}.data/scripts/{program.name}"
    record = f"{name}-{version}.dist-info/RECORD"
    content = program.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    written = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        if place in old.namelist():
            message = f"{wheel} has {place} already"
            raise SystemExit(message)
        for entry in old.infolist():
            if entry.filename != record:
                new.writestr(entry, old.read(entry))
        entry = zipfile.ZipInfo(place)
        # A regular file that all may run.
        entry.external_attr = 0o100755 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        new.writestr(entry, content)
        new.writestr(old.getinfo(record), old.read(record).decode() + f"{place},sha256={digest},{len(content)}\n")
    shutil.move(written, wheel)


if __name__ == "__main__":
    add_program(Path(sys.argv[1]), Path(sys.argv[2]))
