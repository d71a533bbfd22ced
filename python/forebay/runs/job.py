"""One run of many."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Job(Generic[Key]):
    """One run: the text of a complete scenario file, and a seed."""

    key: Key
    """The purpose of the run, in the words of the caller, who finds its outcome by this and the seed."""
    name: str
    """The scenario's name in messages, in place of its file."""
    seed: int
    text: str
    code: str = ""
    """Names the Python code that the scenario runs; empty if it runs none."""

    def digest(self, version: str) -> str:
        """Return the name of the outcome on disk: equal scenario, seed and version of Forebay make equal outcomes."""
        digest = hashlib.sha256()
        for part in (version, str(self.seed), self.text, *filter(None, [self.code])):
            digest.update(part.encode())
            digest.update(b"\0")
        return digest.hexdigest()[:24]
