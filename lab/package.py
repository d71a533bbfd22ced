"""Puts the built page into the Python package: `make lab`. A server sends files that gzip shortens in that form.

Zopfli searches longer for a short form than zlib does, and finds one that is 4 % shorter. The same page gives the same
files: the header of a compressed file has no time.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import zopfli.gzip

# Below this, decompressing costs more than it saves.
LEAST_GAIN = 0.05


def package(built: Path, target: Path) -> None:
    """Replace the page in the package by what Vite built."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(built, target)
    for path in sorted(target.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            small = zopfli.gzip.compress(content, numiterations=3, blocksplittingmax=30)
            if len(small) < (1 - LEAST_GAIN) * len(content):
                path.with_name(path.name + ".gz").write_bytes(small)


if __name__ == "__main__":
    package(Path(sys.argv[1]), Path(sys.argv[2]))
