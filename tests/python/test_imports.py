"""The imports of the package: at the top of each file, without cycles, and none that a start does not need.

A package loads most of its modules at their first use (`python/forebay/lazy.py`). Such a use counts as an import
here: if `python/forebay/comparison/result.py` calls `reporting.page.html_of`, it imports `forebay.reporting.page`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import forebay

ROOT = Path(forebay.__file__).parent
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# The first loads modules of packages, the second the classes that a scenario names.
LOADERS = {"forebay.lazy", "forebay.disciplines.custom"}
SLOW = {"bokeh", "distributed", "matplotlib", "numba", "numpy", "polars", "pydantic", "rich", "scipy"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def is_for_annotations(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def nodes(node: ast.AST, *, annotations: bool) -> Iterator[ast.AST]:
    """The nodes below this one; without those under `if TYPE_CHECKING` unless asked for."""
    below: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If) and is_for_annotations(node) and not annotations:
        below = list(node.orelse)
    for child in below:
        yield child
        yield from nodes(child, annotations=annotations)


def origin(module: str, node: ast.ImportFrom) -> str:
    """The absolute name of the module that a statement imports from."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    package = parts[: len(parts) - node.level + (module in PACKAGES)]
    return ".".join([*package, *filter(None, [node.module])])


def bound(module: str, found: Iterator[ast.AST]) -> dict[str, str]:
    """The names that imports bind to parts of Forebay, each with what it is."""
    names: dict[str, str] = {}
    for node in found:
        if isinstance(node, ast.ImportFrom):
            names |= {it.asname or it.name: f"{origin(module, node)}.{it.name}" for it in node.names}
        elif isinstance(node, ast.Import):
            # Without `as`, a statement binds the first part of the name.
            names |= {it.asname or it.name.partition(".")[0]: it.asname or it.name for it in node.names}
    return {name: target for name, target in names.items() if target.partition(".")[0] == "forebay"}


@cache
def is_lazy(package: str) -> bool:
    return any(isinstance(it, ast.ImportFrom) and origin(package, it) == "forebay.lazy" for it in tree_of(package).body)


@cache
def lazy_names(package: str) -> Mapping[str, str]:
    """The names that a package loads at their first use, each with its place."""
    blocks = (node for node in tree_of(package).body if is_for_annotations(node))
    return bound(package, (child for block in blocks for child in nodes(block, annotations=True)))


def home(target: str) -> str | None:
    """The module that a dotted name loads."""
    place = ""
    for part in target.split("."):
        further = f"{place}.{part}".lstrip(".")
        if further in MODULES:
            place = further
        elif place in PACKAGES and is_lazy(place) and part in lazy_names(place):
            return home(lazy_names(place)[part])
        else:
            break
    return place or None


def dotted(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def uses(found: list[ast.AST], names: Mapping[str, str]) -> set[str]:
    """The dotted names that begin with a name that an import binds."""
    words = (dotted(node).partition(".") for node in found)
    return {f"{names[first]}.{rest}" for first, _, rest in words if rest and first in names}


def imports(module: str, *, annotations: bool = False) -> set[str]:
    """The modules that one loads, at once or at the first use of a name."""
    # A module that a package loads at the first use of a name counts where that name is used.
    found = list(nodes(tree_of(module), annotations=annotations and not is_lazy(module)))
    names = bound(module, iter(found))
    targets = {*names.values(), *uses(found, names)}
    homes = {place for target in targets if (place := home(target)) is not None}
    # Importing a module runs the packages around it first.
    around = {place.rsplit(".", depth)[0] for place in homes for depth in range(1, place.count(".") + 1)}
    return {place for place in homes | around if place != module and not f"{module}.".startswith(f"{place}.")}


def cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach each other (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(edges[module]):
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            place = stack.index(module)
            found.append(sorted(stack[place:]))
            del stack[place:]

    for module in edges:
        if module not in index:
            visit(module)
    return [component for component in found if len(component) > 1]


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert cycles({module: imports(module) for module in MODULES}) == []


def test_annotations_tie_no_more_than_three_modules() -> None:
    """Imports for annotations never run. A result, its table and its figure may name each other."""
    found = cycles({module: imports(module, annotations=True) for module in MODULES})
    assert [component for component in found if len(component) > 3] == []


def test_a_cycle_through_the_first_use_of_a_name_is_found() -> None:
    used = imports("forebay.comparison.result")
    assert {"forebay.reporting.page", "forebay.comparison.figure", "forebay.folder"} <= used
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


@pytest.mark.parametrize("module", MODULES)
def test_imports_are_at_the_top_of_a_file(module: str) -> None:
    inside = [
        node.lineno
        for function in ast.walk(tree_of(module))
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert inside == []
    loads = {"__import__", "import_module"} & {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    assert bool(loads) == (module in LOADERS)


@pytest.mark.parametrize("package", sorted(filter(is_lazy, PACKAGES)))
def test_a_package_loads_the_names_that_it_declares(package: str) -> None:
    loaded = import_module(package)
    for name, target in lazy_names(package).items():
        place, _, attribute = target.rpartition(".")
        there = import_module(target) if target in MODULES else getattr(import_module(place), attribute)
        assert getattr(loaded, name) is there
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        loaded.nothing  # noqa: B018


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_used_only_through_a_package_that_loads_it(module: str) -> None:
    found = list(nodes(tree_of(module), annotations=False))
    through = {name: target for name, target in bound(module, iter(found)).items() if target in PACKAGES}
    for use in uses(found, through):
        package = max((it for it in through.values() if use.startswith(f"{it}.")), key=len)
        name = use.removeprefix(f"{package}.").partition(".")[0]
        modules = {place.rpartition(".")[0] for place in lazy_names(package).values()}
        assert not is_lazy(package) or name in lazy_names(package) or f"{package}.{name}" in modules, use


def test_a_package_declares_no_more_than_is_used_through_it() -> None:
    used = set()
    for module in MODULES:
        found = list(nodes(tree_of(module), annotations=False))
        used |= uses(found, {name: target for name, target in bound(module, iter(found)).items() if target in PACKAGES})
    # The names of these two are for users.
    for package in filter(is_lazy, PACKAGES - {"forebay", "forebay.fluid_model"}):
        declared = {f"{package}.{name}" for name in lazy_names(package)}
        assert {name for name in declared if not any(f"{use}.".startswith(f"{name}.") for use in used)} == set()


def test_a_start_loads_no_slow_library() -> None:
    program = "import sys, forebay.cli.entry; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not SLOW & set(loaded)


def test_a_run_loads_no_library_but_that_of_its_tables(tmp_path: Path) -> None:
    """Each library adds to the start and to the memory of a run."""
    program = (
        "import sys; from forebay.cli.entry import run_command; status = run_command();"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr); sys.exit(status)"
    )
    scenario = ROOT.parents[1] / "examples/home.toml"
    command = [sys.executable, "-c", program, "run", str(scenario), "--set", "duration=4 s", "--set", "warmup=2 s"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "packet-hops" in done.stdout
    assert SLOW & set(done.stderr.splitlines()[-1].split()) == {"rich"}
