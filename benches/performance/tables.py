"""Tables that a terminal and a page show alike, with goals that are reached or missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import rich.table


@dataclass(frozen=True)
class Cell:
    """A value, with its goal if there is one."""

    text: str
    goal: str = ""
    """Such as `at least 55`; empty where nothing is asked."""
    reached: bool = True


@dataclass
class Table:
    """Rows under columns; the first `left` columns hold names, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: list[list[Cell]] = field(default_factory=list)
    note: str = ""
    left: int = 1

    def add(self, *cells: Cell | str) -> None:
        """A row."""
        self.rows.append([Cell(cell) if isinstance(cell, str) else cell for cell in cells])


def judged(value: float, digits: int, goal: float | None, *, at_least: bool = True, unit: str = "") -> Cell:
    """A value next to its goal."""
    text = f"{value:,.{digits}f}{unit}"
    if goal is None:
        return Cell(text)
    sign = "≥" if at_least else "≤"
    return Cell(text, f"{sign} {goal:,g}", value >= goal if at_least else value <= goal)


def missed(tables: Sequence[Table]) -> tuple[int, int]:
    """How many goals are missed, of how many."""
    goals = [cell for table in tables for row in table.rows for cell in row if cell.goal]
    return sum(not cell.reached for cell in goals), len(goals)


def for_page(table: Table) -> str:
    """Markdown, without its note; a miss is set in bold."""
    lines = [f"| {' | '.join(table.columns)} |"]
    lines.append(f"|{'|'.join('---' if column < table.left else '---:' for column in range(len(table.columns)))}|")
    lines += [f"| {' | '.join(map(page_cell, row))} |" for row in table.rows]
    return "\n".join(lines)


def page_cell(cell: Cell) -> str:
    """A cell in Markdown."""
    if not cell.goal:
        return cell.text
    return f"{cell.text} ({cell.goal})" if cell.reached else f"**{cell.text} (missed: {cell.goal})**"


def for_terminal(table: Table) -> rich.table.Table:
    """The same for a terminal, in colour."""
    shown = rich.table.Table(title=table.title, title_justify="left", caption=table.note or None)
    shown.caption_justify = "left"
    for number, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if number < table.left else "right", no_wrap=True)
    for row in table.rows:
        shown.add_row(*map(terminal_cell, row))
    return shown


def terminal_cell(cell: Cell) -> str:
    """A cell in rich's markup."""
    if not cell.goal:
        return cell.text
    colour, word = ("green", "") if cell.reached else ("red", "missed: ")
    return f"{cell.text} [{colour}]({word}{cell.goal})[/]"
