"""Public names are documented: each has a docstring and a place in the reference, and the examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import pydantic
import pytest
from sphinx.pycode import ModuleAnalyzer

import forebay as fb

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference/python"
DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|py:data):: (forebay[\w.]*)$", re.MULTILINE)
MODULES = {"forebay.gym", "forebay.portable", "forebay.types"}
# Only the core sees them.
INTERNAL = {"Result.from_core", "Result.to_rows", "Result.write_files", "Scenario.custom"}


def documented() -> list[str]:
    """The names that the pages of the reference describe."""
    pages = [page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md"))]
    return list(dict.fromkeys(name for page in pages for name in DIRECTIVE.findall(page)))


def found(name: str) -> object:
    """The object of a name such as `forebay.result.Deadlock`."""
    module, _, last = name.rpartition(".")
    return importlib.import_module(name) if name in MODULES else getattr(importlib.import_module(module), last)


# The names on the pages, the functions of submodules included.
NAMES = [name for name in documented() if not isinstance(found(name), str | tuple)]
CLASSES = [name for name in NAMES if isinstance(found(name), type)]


def members(of: type) -> Iterator[tuple[str, object]]:
    """The public members that users see in a class of ours, those of its bases included."""
    for base in reversed(of.__mro__):
        if base.__module__.startswith("forebay"):
            for name, member in vars(base).items():
                if not name.startswith("_") and f"{of.__name__}.{name}" not in INTERNAL:
                    yield name, member


def test_every_public_name_is_in_the_reference() -> None:
    described = set(documented())
    assert sorted(name for name in fb.__all__ if f"forebay.{name}" not in described) == []
    for module in (fb.gym, fb.portable):
        own = [name for name, it in vars(module).items() if getattr(it, "__module__", "") == module.__name__]
        public = [name for name in (*getattr(module, "__all__", ()), *own) if not name.startswith("_")]
        assert public
        # Where it is defined, which may be a submodule.
        found_there = {name.rpartition(".")[2] for name in described if name.startswith(f"{module.__name__}.")}
        assert sorted(name for name in public if name not in found_there) == []


@pytest.mark.parametrize("name", NAMES)
def test_has_a_docstring(name: str) -> None:
    thing = found(name)
    doc = inspect.getdoc(thing) or ""
    # A dataclass without one gets its own signature.
    assert doc
    assert not doc.startswith(f"{name.rpartition('.')[2]}(")
    if isinstance(thing, type):
        assert thing.__doc__, "the docstring is that of a base class"


@pytest.mark.parametrize("name", CLASSES)
def test_members_have_docstrings(name: str) -> None:
    thing = found(name)
    assert isinstance(thing, type)
    kinds = (property, cached_property, classmethod, staticmethod)
    callables = [(key, it) for key, it in members(thing) if isinstance(it, kinds) or inspect.isroutine(it)]
    assert [key for key, it in callables if not inspect.getdoc(it)] == []


@pytest.mark.parametrize("name", [name for name in CLASSES if found(name).__module__ != "forebay._core"])
def test_fields_are_described(name: str) -> None:
    thing = found(name)
    assert isinstance(thing, type)
    described = {
        key for of, key in ModuleAnalyzer.for_module(thing.__module__).find_attr_docs() if of == thing.__name__
    }
    fields = {key for key in vars(thing).get("__annotations__", {}) if not key.startswith("_") and key != "metadata"}
    assert sorted(fields - described) == []


def examples_of(thing: object) -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True, recurse=not isinstance(thing, ModuleType))
    return [test for test in finder.find(thing, "it", module=False) if test.examples]


def needs_example(name: str) -> bool:
    """Functions and classes that users call; the parts of results are in the results' own examples."""
    if not isinstance(found(name), type) and not inspect.isroutine(found(name)):
        return False
    first, *rest = name.removeprefix("forebay.").split(".")
    return first == "gym" or (first in fb.__all__ and not rest)


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("Agg")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    tests = examples_of(found(name))
    assert tests or not needs_example(name), f"{name} has no example"
    for test in tests:
        test.globs = {"fb": fb}
        runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
        said: list[str] = []
        runner.run(test, out=said.append)
        assert runner.summarize(verbose=False).failed == 0, "".join(said)


def test_portable_functions_are_in_the_example_of_their_module() -> None:
    """They are the core's own, so that no wrapper makes them slower."""
    (test,) = examples_of(fb.portable)
    used = "".join(example.source for example in test.examples)
    assert [name for name in fb.portable.__all__ if f"fb.portable.{name}(" not in used] == []


def test_types_have_descriptions() -> None:
    models = [
        it
        for it in vars(fb.types).values()
        if isinstance(it, type) and issubclass(it, pydantic.BaseModel) and it is not pydantic.BaseModel
    ]
    assert len(models) > 100
    assert [it.__name__ for it in models if not (it.__doc__ or "").strip()] == []
