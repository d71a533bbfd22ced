"""Reads what valgrind's callgrind writes: the cost of each function, by the source file of each of its lines.

The format is described in valgrind's manual, "Callgrind Format Specification".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

NAME = re.compile(r"\((?P<number>\d+)\)(?: (?P<name>.*))?$")
FILES = ("fl", "fi", "fe", "cfi", "cfl")
OBJECTS = ("ob", "cob")
OURS = re.compile(r"crates/(?P<crate>[\w-]+)/src/(?P<file>.+)\.rs$")
LIBRARY = re.compile(r"/library/(?:core|alloc|std)/src/|/hashbrown-[^/]*/src/")
DEPENDENCY = re.compile(r"/registry/src/[^/]+/(?P<name>[\w-]+?)-\d[^/]*/")

Costs = Counter[str]
"""By the name of the event, such as `Ir`."""


@dataclass
class Profile:
    """The costs of a run, without those of called functions."""

    totals: Costs = field(default_factory=Counter)
    modules: dict[str, Costs] = field(default_factory=dict)
    """By module, as `module_of` calls it."""

    def add(self, module: str, events: list[str], costs: list[str]) -> None:
        """Adds a line's costs; those that are left out at its end are zero."""
        of_module = self.modules.setdefault(module, Counter())
        for event, cost in zip(events, costs, strict=False):
            self.totals[event] += int(cost)
            of_module[event] += int(cost)

    def since(self, shorter: Profile) -> Profile:
        """The additional cost of a longer run."""
        totals = Counter(self.totals)
        totals.subtract(shorter.totals)
        modules = {name: Counter(costs) for name, costs in self.modules.items()}
        for name, costs in shorter.modules.items():
            modules.setdefault(name, Counter()).subtract(costs)
        return Profile(totals, modules)


class Names:
    """Names by the number that replaces them after their first use."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def read(self, text: str) -> str:
        """The name that the text gives or recalls."""
        match = NAME.match(text)
        if match is None:
            return text
        if match["name"] is not None:
            self.known[match["number"]] = match["name"]
        return self.known[match["number"]]


class Reader:
    """Reads the lines of an output file one after the other."""

    def __init__(self) -> None:
        self.profile = Profile()
        self.files, self.objects = Names(), Names()
        self.events: list[str] = []
        self.file_before = self.line_file = self.place = ""
        self.of_callee = False

    def read(self, line: str) -> None:
        """A line: costs, or what the costs below it belong to."""
        if line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            # The line after `calls=` holds what the called function cost, which has lines of its own.
            if not self.of_callee:
                module = module_of(self.line_file, self.file_before, self.place)
                self.profile.add(module, self.events, line.split()[1:])
            self.of_callee = False
        elif line.startswith("events:"):
            self.events = line.split()[1:]
        elif line.startswith("calls="):
            self.of_callee = True
        else:
            self.read_name(*line.rstrip("\n").partition("=")[::2])

    def read_name(self, key: str, value: str) -> None:
        """A file or an object, perhaps that of a called function; other lines say nothing here."""
        if key in FILES:
            name = self.files.read(value)
            if key in ("fl", "fi", "fe"):
                self.line_file = name
            if key == "fl" or (key in ("fi", "fe") and not LIBRARY.search(name)):
                self.file_before = name
        elif key in OBJECTS:
            name = self.objects.read(value)
            if key == "ob":
                self.place = name


def read_profile(lines: Iterable[str]) -> Profile:
    """Reads an output file of callgrind."""
    reader = Reader()
    for line in lines:
        reader.read(line)
    if not reader.events:
        message = "this is no output of callgrind: it names no events"
        raise ValueError(message)
    return reader.profile


@cache
def module_of(line_file: str, file_before: str, place: str) -> str:
    """The module that a line belongs to.

    A line of Rust's library that was inlined belongs to the code before it in the function. Callgrind writes the lines
    in the order of their addresses, without the caller among several functions inlined into each other.
    """
    for file in (line_file, file_before) if LIBRARY.search(line_file) else (line_file,):
        if ours := OURS.search(file):
            return f"{ours['crate']}/{ours['file']}"
        if dependency := DEPENDENCY.search(file):
            return f"{dependency['name']} (dependency)"
    if LIBRARY.search(line_file):
        return "Rust's library"
    return "C library" if re.search(r"/libc[.-]|/libm[.-]|/ld-linux", place) else "Python and others"
