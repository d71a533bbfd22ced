"""Packages that load a module at the first use of a name, so that a command starts without what it does not need.

A module that a command may not need is used through its package: `from forebay import sweeps` at the top of a file,
`sweeps.table.terminal_tables(…)` below. No import is inside a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

_NONE: Mapping[str, tuple[str, ...]] = {}


def lazily(
    package: str, modules: Iterable[str], names: Mapping[str, tuple[str, ...]] = _NONE
) -> Callable[[str], object]:
    """Return the `__getattr__` of a package.

    Args:
        package: Its name.
        modules: The modules that are used through it.
        names: More of them, with the names that the package has from each.

    """
    home_of = {name: module for module, found in names.items() for name in found}

    def load(name: str) -> object:
        if name in home_of:
            return getattr(import_module(f"{package}.{home_of[name]}"), name)
        if name in modules or name in names:
            return import_module(f"{package}.{name}")
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message)

    return load
