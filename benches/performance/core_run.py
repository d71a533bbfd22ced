"""Runs a scenario in an extension module that is not installed, for `make profile` under valgrind.

    python -S core_run.py lib_core.so SCENARIO.toml "10 s"

Nothing of Forebay's Python is loaded, since valgrind would simulate that as well. Prints the JSON object `engine`.
"""

import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path


def main() -> None:
    """Runs it."""
    library, scenario, duration = sys.argv[1:]
    loader = importlib.machinery.ExtensionFileLoader("_core", library)
    spec = importlib.util.spec_from_file_location("_core", library, loader=loader)
    assert spec is not None  # noqa: S101 - it is given a loader
    core = importlib.util.module_from_spec(spec)
    loader.exec_module(core)
    text = Path(scenario).read_text(encoding="utf-8")
    result = core.run(text, scenario, [("duration", duration)], arrays=False)
    print(json.dumps(result.engine))


if __name__ == "__main__":
    main()
