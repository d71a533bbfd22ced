"""The catalogue: everything that a scenario can choose by name."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from forebay import _core, experiment
from forebay.display.names import remedy_for
from forebay.errors import InputError

if TYPE_CHECKING:
    from forebay._core import _Choice


class Kind(StrEnum):
    """The kinds of things that `forebay list` lists."""

    disciplines = "disciplines"
    transports = "transports"
    schedulers = "schedulers"
    schemes = "schemes"
    paths = "paths"
    buffers = "buffers"
    topologies = "topologies"
    experiments = "experiments"


_CORE_KINDS = {
    Kind.disciplines: "discipline",
    Kind.transports: "transport",
    Kind.schedulers: "scheduler",
    Kind.schemes: "scheme",
    Kind.paths: "path policy",
    Kind.buffers: "buffer policy",
    Kind.topologies: "topology",
}


def entries(kind: Kind) -> list[dict[str, Any]]:
    """Return the entries of a kind: dictionaries with at least `name` and `summary`."""
    if kind is Kind.experiments:
        return [
            {"name": it.id, "summary": it.title, "paper": it.paper, "where": it.where, "claims": it.claims}
            for it in experiment.load.list_experiments()
        ]
    wanted = _CORE_KINDS.get(kind)
    return [
        {"name": it["name"], "summary": it["summary"], "when_to_use": it["when_to_use"]}
        for it in _core.choices()
        if it["kind"] == wanted
    ]


def find(name: str) -> _Choice:
    """Return the discipline, scheduler, scheme, path policy, buffer policy, transport or topology of that name.

    Raises InputError with the nearest name if there is none.
    """
    choices = {choice["name"]: choice for choice in _core.choices()}
    found = choices.get(name.strip().lower().replace("-", "_"))
    if found is None:
        message = f"there is nothing named {name}\nhint: {remedy_for(name, choices)}"
        raise InputError(message)
    return found
