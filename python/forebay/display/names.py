"""Hints about names: the one that may have been meant, and those that there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from forebay import _core

_MOST = 12


def remedy_for(written: str, names: Iterable[str]) -> str:
    """Return a hint for an unknown name: the counterpart of another system's name, the nearest one, or all names."""
    known = list(names)
    remedy = _core.remedy_for_name(written, known)
    if remedy is None:
        return f"there are {listed(known, written)}"
    # Names of files, metrics and keys are shown as they are written.
    return remedy.replace("`", "") if remedy.startswith("did you mean") else remedy


def nearest_first(names: Iterable[str], wanted: str) -> list[str]:
    """Return the names, those that contain `wanted` first, then those that look like it."""
    known = list(names)
    alike = [name for name in known if wanted and wanted.lower() in name.lower()]
    alike += difflib.get_close_matches(wanted, known, n=_MOST, cutoff=0.5) if wanted else []
    return list(dict.fromkeys([*alike, *known]))


def listed(names: Iterable[str], wanted: str = "", most: int = _MOST) -> str:
    """Return the names, those like `wanted` first. Of very many, return a few and count the others."""
    known = list(names)
    # Naming one more takes no more room than counting it.
    if len(known) <= most + 1:
        return ", ".join(known)
    shown = nearest_first(known, wanted)[:most]
    return f"{', '.join(shown)} and {len(known) - most} more"
