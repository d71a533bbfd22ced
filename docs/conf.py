"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from pathlib import Path
from typing import Any, get_args

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import forebay

sys.path.insert(0, str(Path(__file__).parent))

project = "Forebay"
author = "The Forebay authors"
copyright = "2026, The Forebay authors"  # noqa: A001 - Sphinx wants this name

extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "run_here",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
nb_execution_mode = "off"  # tests run the notebooks, and compare with what is stored in them
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
html_static_path = ["_static"]
html_css_files = ["notebooks.css"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "Forebay"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

# A link into the repository, outside docs/, is right on the forge and has no page here.
suppress_warnings = ["myst.xref_missing"]

# The Python reference: docstrings with Google's sections, in which a name between backticks links to what it names.
default_role = "py:obj"
autosummary_generate = False
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_type_aliases = {"NDArray": "NDArray", "Array": "NDArray"}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
napoleon_numpy_docstring = False
napoleon_use_rtype = False

# Dataclasses that a user builds; all others are results, whose constructor is of no use to a reader.
BUILT_BY_USERS = {"RoutedFlow", "FluidModel", "EcmParameters", "Source", "State"}


def short_signature(
    _app: Sphinx, kind: str, _name: str, thing: object, _options: object, _signature: str, _returns: str
) -> tuple[str, None] | None:
    """Hide constructors that users do not call."""
    if kind == "class" and isinstance(thing, type) and not is_built_by_users(thing):
        return "", None
    return None


def is_built_by_users(of: type) -> bool:
    """Return whether the class has a constructor that a reader wants to see."""
    if dataclasses.is_dataclass(of):
        return of.__name__ in BUILT_BY_USERS
    return of.__name__ in {"Scenario", "QueueEnv", "MarkingProbability"}


def leading_line(_app: Sphinx, kind: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """Keep napoleon from taking the words before a colon in an attribute's docstring for its type."""
    if kind in ("attribute", "data", "property"):
        # An empty comment.
        lines[:0] = ["..", ""]


def return_type_with_value(_app: Sphinx, domain: str, _kind: str, content: addnodes.desc_content) -> None:
    """Put the type that a function returns after what it returns, before the errors."""
    for fields in content.findall(nodes.field_list):
        by_name = {field[0].astext(): field for field in fields}
        if domain == "py" and "returns" in by_name and "rtype" in by_name:
            fields.remove(by_name["rtype"])
            fields.insert(fields.index(by_name["returns"]) + 1, by_name["rtype"])


class TypesTable(SphinxDirective):
    """`forebay.types` as tables: its classes with their fields, grouped by the part of a scenario, and its choices."""

    GROUPS = (
        ("Scenario", ["Scenario"], 1),
        ("Queue disciplines", ["QueueSpec"], 0),
        ("Switches and Ethernets", ["SwitchTopologyModel", "CioqNodeKind", "InputQueuedNodeKind", "Ethernet"], 0),
        ("Topologies", ["Topology"], 0),
        ("Flows, probes and traces", ["FlowGroup", "Probes", "Trace"], 0),
    )

    def run(self) -> list[nodes.Node]:
        """Return the tables."""
        lines: list[str] = []
        for title, rows in self.groups():
            lines += [f".. rubric:: {title}", "", ".. list-table::", "   :header-rows: 1", "   :widths: 22 43 35", ""]
            lines += self.row("Class", "Fields", "Description")
            lines += [cell for name in rows for cell in self.row_of(name)]
            lines.append("")
        lines += [".. rubric:: Choices", "", ".. list-table::", "   :header-rows: 1", "   :widths: 25 75", ""]
        lines += self.row("Name", "Values")
        for name, values in self.choices().items():
            lines += self.row(f"``{name}``", ", ".join(f"``{value!r}``" for value in values))
        return self.parse_text_to_nodes("\n".join([*lines, ""]))

    def groups(self) -> list[tuple[str, list[str]]]:
        """Return the names of the classes by group; one that several parts use belongs to the first."""
        left = dict.fromkeys(name for name, it in vars(forebay.types).items() if hasattr(it, "model_fields"))
        left.pop("BaseModel")
        found = []
        for title, roots, depth in self.GROUPS:
            reached = roots if depth else self.reach(roots)
            names = [name for name in left if name in reached]
            found.append((title, names))
            left = {name: None for name in left if name not in reached}
        found[1:] = [(title, sorted(names)) for title, names in found[1:]]
        return found if not left else [*found, ("Others", list(left))]

    @staticmethod
    def reach(roots: list[str]) -> set[str]:
        """Return the names of all types that these are made of."""
        found: set[str] = set()
        ahead = list(roots)
        while ahead:
            name = ahead.pop()
            if name in found:
                continue
            found.add(name)
            ahead += named_in(vars(forebay.types)[name])
        return found

    def row_of(self, name: str) -> list[str]:
        """Return the row of a class: required fields are bold."""
        of = vars(forebay.types)[name]
        fields = [
            f"**{field.alias or key}**" if field.is_required() else f"{field.alias or key}"
            for key, field in of.model_fields.items()
        ]
        summary = inspect.cleandoc(of.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        return self.row(f"``{name}``", ", ".join(fields), summary.replace("*", r"\*").replace("|", r"\|"))

    @staticmethod
    def choices() -> dict[str, list[str]]:
        """Return the names of choices among texts, with the texts."""
        found = {}
        for name, it in vars(forebay.types).items():
            if hasattr(it, "__value__"):
                values = [value for value in get_args(it.__value__) if isinstance(value, str)]
                found |= {name: values} if values else {}
        return dict(sorted(found.items()))

    @staticmethod
    def row(*cells: str) -> list[str]:
        """Return a row of a list-table."""
        first, *others = cells
        return [f"   * - {first}", *(f"     - {cell}" for cell in others)]


def named_in(of: Any) -> list[str]:
    """Return the names of the types of `forebay.types` that a type mentions."""
    if hasattr(of, "model_fields"):
        parts = [field.annotation for field in of.model_fields.values()]
    elif hasattr(of, "__value__"):
        parts = [of.__value__]
    else:
        parts = list(get_args(of))
    names = []
    for part in parts:
        name = getattr(part, "__name__", "")
        is_named = not get_args(part) and vars(forebay.types).get(name) is part
        names += [name] if is_named else named_in(part) if part is not of else []
    return names


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.add_directive("forebay-types", TypesTable)
    app.connect("autodoc-process-signature", short_signature)
    app.connect("autodoc-process-docstring", leading_line, priority=400)
    app.connect("object-description-transform", return_type_with_value, priority=900)
