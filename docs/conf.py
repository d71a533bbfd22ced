"""How Sphinx builds the documentation: `make docs`."""

project = "Forebay"
author = "The Forebay authors"
copyright = "2026, The Forebay authors"  # noqa: A001 - Sphinx wants this name

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "Forebay"

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

# A link into the repository, outside docs/, is right on the forge and has no page here.
suppress_warnings = ["myst.xref_missing"]
