"""How Sphinx builds the documentation: `make docs`."""

project = "Forebay"
author = "The Forebay authors"
copyright = "2026, The Forebay authors"  # noqa: A001 - Sphinx wants this name

extensions = ["myst_nb", "sphinx_copybutton"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
nb_execution_mode = "off"  # tests run the notebooks, and compare with what is stored in them
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
html_static_path = ["_static"]
html_css_files = ["notebooks.css"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "Forebay"

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

# A link into the repository, outside docs/, is right on the forge and has no page here.
suppress_warnings = ["myst.xref_missing"]
