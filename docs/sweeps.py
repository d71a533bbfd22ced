"""Puts the tables and figures of the experiments that sweep an open choice into the papers' pages: `make sweeps`."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"<!-- generated: (?P<id>[a-z]+/sweep-[a-z-]+) -->\n.*?<!-- end -->", re.DOTALL)


def main() -> int:
    """Take the folder that `forebay reproduce` wrote to; return 0, or 2 if an experiment is missing there."""
    folder = Path(sys.argv[1])
    for page in sorted((HERE / "papers").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            report = folder / block["id"] / "report.md"
            if not report.exists():
                print(f"{report} is missing: run `make sweeps`", file=sys.stderr)
                return 2
            body = excerpt(block["id"], report)
            text = text.replace(block[0], f"<!-- generated: {block['id']} -->\n{body}\n<!-- end -->")
        page.write_text(text, encoding="utf-8")
    return 0


def excerpt(experiment: str, report: Path) -> str:
    """Return the scale, the figures and the tables of a report."""
    text = report.read_text(encoding="utf-8")
    # "Table I, section III-B. Full scale, 5 seeds."
    scale = text.splitlines()[2].partition(". ")[2]
    parts = [f"`{experiment}`. {scale}"]
    for name in re.findall(r"^!\[[\w-]+\]\(([\w-]+)\.png\)$", text, re.MULTILINE):
        picture = f"{experiment.replace('/', '-')}-{name}.svg"
        shutil.copyfile(report.with_name(f"{name}.svg"), HERE / "images" / picture)
        parts.append(f"![{experiment}: {name}](../images/{picture})")
    for title, table in re.findall(r"^## (.+)\n\n((?:\|.*\n)+)", text, re.MULTILINE):
        # The second column tells the paper's rows from ours; here all are ours.
        rows = [re.sub(r"^(\|[^|]*\|)[^|]*\|", r"\1", row) for row in table.splitlines()]
        parts += [f"{title}:", "\n".join(rows)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
