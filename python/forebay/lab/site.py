"""The files of the page: read once, so that a request can name nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from forebay.errors import InputError

FOLDER = Path(__file__).with_name("site")
"""Where `make lab` puts the page."""

COMPRESSED = ".gz"
"""The ending of a file that holds another one, compressed."""

START = "index.html"

# The system's table of types differs between machines, and a browser runs no module of another type.
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".toml": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class File:
    """A file of the page."""

    name: str
    """Its path below the folder, with `/`."""
    content: bytes
    compressed: bytes | None
    """The same with gzip, if that is shorter."""

    @property
    def media_type(self) -> str:
        """The type for the header `Content-Type`."""
        return _TYPES.get(Path(self.name).suffix, "application/octet-stream")

    @cached_property
    def tag(self) -> str:
        """A name for this content."""
        return hashlib.sha256(self.content).hexdigest()[:32]


def load(folder: Path | None = None) -> Mapping[str, File]:
    """Return the files of the page by their paths. Raises InputError if the page was not built."""
    folder = FOLDER if folder is None else folder
    if not (folder / START).is_file():
        raise InputError(_not_built(folder))
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != COMPRESSED:
            name = path.relative_to(folder).as_posix()
            small = path.with_name(path.name + COMPRESSED)
            found[name] = File(name, path.read_bytes(), small.read_bytes() if small.is_file() else None)
    return found


def _not_built(folder: Path) -> str:
    # In a checkout the package is in `python/forebay`, and the source of the page in `lab`.
    if (folder.parents[3] / "lab" / "package.json").is_file():
        return "the page of the lab was not built\nhint: `make lab` builds it, and needs Node 20.19 or newer"
    return (
        "this installation of Forebay comes without the lab"
        "\nhint: install a wheel that `make wheel` built on a machine with Node 20.19 or newer"
    )
