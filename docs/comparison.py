"""Puts the tables and figures of `forebay compare` into comparison.md: `make comparison`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "comparison.md"
STARTS, ENDS = "<!-- generated: {} -->", "<!-- end -->"


def main() -> int:
    """Take the folder that holds a folder for each comparison; return 0, or 2 if one is missing."""
    folder = Path(sys.argv[1])
    text = PAGE.read_text(encoding="utf-8")
    for name in ("dbl-table2", "sfb-table1-45", "sfb-table1-2", "breathe-fig2"):
        source = folder / name
        if not (source / "compare.md").exists():
            print(f"{source} holds no comparison: run `make comparison`", file=sys.stderr)
            return 2
        picture = f"images/comparison-{name}.svg"
        shutil.copyfile(source / "compare.svg", HERE / picture)
        table = (source / "compare.md").read_text(encoding="utf-8").strip()
        start = text.index(STARTS.format(name))
        end = text.index(ENDS, start)
        text = f"{text[:start]}{STARTS.format(name)}\n![{name}]({picture})\n\n{table}\n{text[end:]}"
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
