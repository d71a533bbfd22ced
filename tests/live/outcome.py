"""The result of a part: tables, numbers and the checked claims."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    quick: bool
    seed: int
    # Factor on counts and rounds; the tests of a change use less than one.
    scale: float = 1

    @property
    def short(self) -> bool:
        """Whether less is measured than the documentation is to show."""
        return self.quick or self.scale < 1

    def count(self, full: int, quick: int) -> int:
        """How many."""
        return max(1, round(self.scale * (quick if self.quick else full)))


@dataclass
class Claim:
    """A condition that must hold."""

    text: str
    holds: bool
    found: str


@dataclass
class Sheet:
    """A table as it is shown."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """Add a row."""
        self.rows.append([str(cell) for cell in cells])

    def markdown(self) -> str:
        """As a page has it."""
        head = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        return "\n".join(head + ["| " + " | ".join(row) + " |" for row in self.rows])


@dataclass
class Outcome:
    """All of a part."""

    part: str
    sheets: list[Sheet] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    def sheet(self, title: str, columns: Sequence[str]) -> Sheet:
        """A new table."""
        made = Sheet(title, list(columns))
        self.sheets.append(made)
        return made

    def claim(self, text: str, holds: bool, found: str) -> None:
        """Note whether something holds."""
        self.claims.append(Claim(text, bool(holds), found))

    @property
    def failed(self) -> int:
        """Claims that do not hold."""
        return sum(not claim.holds for claim in self.claims)

    def show(self, console: Console) -> None:
        """Print it."""
        for sheet in self.sheets:
            table = Table(title=escape(sheet.title), title_justify="left")
            for column in sheet.columns:
                table.add_column(escape(column))
            for row in sheet.rows:
                table.add_row(*map(escape, row))
            console.print(table)
        for note in self.notes:
            console.print(f"note: {escape(note)}", soft_wrap=True)
        for claim in self.claims:
            word = "[green]holds[/]" if claim.holds else "[red bold]FAILS[/]"
            console.print(f"{word}: {escape(claim.text)}: {escape(claim.found)}", soft_wrap=True)

    def as_json(self) -> dict[str, Any]:
        """For the results file."""
        return asdict(self)

    @classmethod
    def read(cls, found: dict[str, Any]) -> "Outcome":
        """From the results file."""
        return cls(
            part=found["part"],
            sheets=[Sheet(**sheet) for sheet in found["sheets"]],
            claims=[Claim(**claim) for claim in found["claims"]],
            notes=found["notes"],
            numbers=found["numbers"],
        )
