"""The output on a page below a command: comparison with the command's output, and updates.

`...` alone on a line matches one or more lines; within a line it matches any text, with the blanks around it.
"""

from __future__ import annotations

import difflib
import math
import re

WILD = "..."

# Scores of the alignment in `updated`: for keeping two lines side by side, and for losing one.
_BLANK_PAIR = 0.2
_LEAST_LIKENESS = 0.5
_LOST = -0.4
_ELIDED = -0.01


def lines_of(text: str) -> list[str]:
    """The lines without blanks at their ends, and without the empty lines at both ends of the text."""
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether the page shows what was printed. A page that elides everything shows nothing, and does not match."""
    if not any(_says_something(line) for line in shown):
        return not shown and not printed
    pattern = "".join(r"(?:.*\n)+?" if _is_gap(line) else _pattern(line) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def difference(shown: list[str], printed: list[str]) -> str:
    """How the page would change, for the message of a test that failed."""
    return "\n".join(difflib.unified_diff(shown, updated(shown, printed), "shown", "printed", lineterm=""))


def updated(shown: list[str], printed: list[str]) -> list[str]:
    """The printed text, without the parts that the page elides, where they can be found again."""
    if matches(shown, printed):
        return shown
    lines: list[str] = []
    for here, there in _aligned(shown, printed):
        if here is None:
            lines.append(there)
        elif not _is_gap(here):
            lines.append(here if _same(here, there) else _with_wild(here, there))
        elif not (lines and _is_gap(lines[-1])):
            lines.append(here)
    return lines if any(_says_something(line) for line in lines) else printed


def _is_gap(line: str) -> bool:
    return line.strip() == WILD


def _says_something(line: str) -> bool:
    return bool(line.replace(WILD, "").strip())


def _pattern(line: str) -> str:
    """The wildcard takes the blanks around it, because the width of the elided text varies."""
    return ".*?".join(re.escape(part) for part in re.split(rf" *{re.escape(WILD)} *", line))


def _same(shown: str, printed: str) -> bool:
    return re.fullmatch(_pattern(shown), printed) is not None


def _likeness(shown: str, printed: str) -> float:
    if _same(shown, printed):
        return 1.0 if shown else _BLANK_PAIR
    return difflib.SequenceMatcher(None, shown, printed, autojunk=False).ratio()


def _aligned(shown: list[str], printed: list[str]) -> list[tuple[str | None, str]]:
    """Each printed line with the shown line that it takes the place of: None for a new one, a gap for one elided."""
    steps = _steps(shown, printed)
    pairs: list[tuple[str | None, str]] = []
    i = j = 0
    while (i, j) != (len(shown), len(printed)):
        step = steps[i][j]
        if step != "lose":
            pairs.append((None if step == "new" else shown[i], printed[j]))
            j += 1
        if step in ("lose", "pair"):
            i += 1
    return pairs


def _steps(shown: list[str], printed: list[str]) -> list[list[str]]:
    """For each i and j, the first step of the best alignment of the shown lines from i with the printed ones from j."""
    rows, columns = len(shown), len(printed)
    worth = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    steps = [[""] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows, -1, -1):
        for j in range(columns, -1, -1):
            choices = []
            if i < rows:
                choices.append((worth[i + 1][j] + (0.0 if _is_gap(shown[i]) else _LOST), "lose"))
            if j < columns:
                choices.append((worth[i][j + 1] + _LOST, "new"))
            if i < rows and j < columns:
                gained, step = _beside(shown[i], printed[j])
                choices.append((worth[i + (step == "pair")][j + 1] + gained, step))
            worth[i][j], steps[i][j] = max(choices, default=(0.0, ""))
    return steps


def _beside(shown: str, printed: str) -> tuple[float, str]:
    """The score of putting the two lines side by side."""
    if _is_gap(shown):
        return _ELIDED, "elide"
    likeness = _likeness(shown, printed)
    return (likeness if likeness >= _LEAST_LIKENESS or not shown + printed else -math.inf), "pair"


def _with_wild(shown: str, printed: str) -> str:
    """The printed line, with a wildcard for each word that had one; as it is where the words cannot be paired."""
    old, new = list(re.finditer(r"\S+", shown)), list(re.finditer(r"\S+", printed))
    if WILD not in shown or len(old) != len(new):
        return printed
    line = printed
    for word, match in reversed(list(zip(old, new, strict=True))):
        if WILD in word[0] and _same(word[0], match[0]):
            in_table = shown[: word.start()].endswith("  ")
            wild = word[0].rjust(len(match[0])) if in_table else word[0]
            line = line[: match.start()] + wild + line[match.end() :]
    return line
