"""The classes that a scenario names: found, looked into, and handed to the core."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import marshal
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import disciplines
from forebay.errors import InputError

from .classes import AdmissionLaw, QueueDiscipline
from .compiled import Compiled, CompiledLaw
from .controllers import CongestionController

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class DisciplinePlan:
    """A class of disciplines as the core takes it."""

    discipline: type[AdmissionLaw | QueueDiscipline]
    is_law: bool
    methods: Mapping[str, tuple[str, ...]]
    """The arguments that each of its methods asks for."""
    name: str
    """Its name in results."""
    compiled: Compiled | None
    """The compiled law that runs in its place, if any."""
    gauges: tuple[str, ...]

    @property
    def custom(self) -> type:
        """The class."""
        return self.discipline


@dataclass(frozen=True)
class ControllerPlan:
    """A class of congestion controllers as the core takes it."""

    controller: type[CongestionController]
    methods: Mapping[str, tuple[str, ...]]
    """The arguments that each of its methods asks for."""
    needs: tuple[str, ...]
    is_paced: bool
    compiled: None = None

    @property
    def custom(self) -> type:
        """The class."""
        return self.controller


Plan = DisciplinePlan | ControllerPlan


class CustomClasses(dict[str, Plan]):
    """Plans by the names that a scenario has for their classes. Another process looks them up again."""

    def __init__(self, plans: Mapping[str, Plan], given: Mapping[str, type], folders: frozenset[Path | None]) -> None:
        super().__init__(plans)
        self._given = {name: given[name] for name in plans if name in given}
        self._folders = folders

    @classmethod
    def together(cls, parts: Iterable[CustomClasses]) -> CustomClasses:
        """Those of several scenarios."""
        found = cls({}, {}, frozenset())
        for part in parts:
            given = {**found._given, **part._given}
            found = cls({**found, **part}, given, found._folders | part._folders)
        return found

    @property
    def take_turns(self) -> bool:
        """Whether runs with them hold the interpreter's lock, so that threads do not help."""
        return any(plan.compiled is None for plan in self.values())

    @property
    def can_move(self) -> bool:
        """Whether another process finds them: a class that Python code has given may be one of a notebook."""
        return not self._given and len(self._folders) <= 1

    def __reduce__(self) -> tuple[object, ...]:
        return plans_of, (tuple(self), self._given, next(iter(self._folders), None))


# Which arguments a method can ask for.
_OF_A_CALL = ("now", "queue_packets", "queue_bytes")
OF_A_DEPARTURE = (*_OF_A_CALL, "packet", "flow", "length")
OF_AN_ARRIVAL = (*OF_A_DEPARTURE, "ecn", "traffic_class", "input_port")
OF_AN_ACK = (
    *("now", "acked", "newly_delivered", "snd_una", "snd_nxt", "window_used"),
    *("echoes_mark", "in_recovery", "after_timeout"),
)
# The measurements of an ACK, by the need that they belong to.
MEASURED = {
    "round_trips": ("round_trip_s", "smoothed_round_trip_s", "round_trip_deviation_s", "shortest_round_trip_s"),
    "delivery": (
        *("delivery_rate", "application_limited", "delivered", "lost"),
        *("newly_lost", "in_flight_before", "in_flight"),
    ),
    "marks": ("newly_marked",),
    "recovery": (),
}
_OF_A_LOSS = ("now", "used", "snd_una", "snd_nxt")
_METHODS: dict[type, dict[str, tuple[str, ...]]] = {
    AdmissionLaw: {"admit": OF_AN_ARRIVAL, "release": OF_A_DEPARTURE, "idle": ("now",), "state_bytes": ()},
    QueueDiscipline: {"enqueue": OF_AN_ARRIVAL, "dequeue": _OF_A_CALL, "poll_at": _OF_A_CALL, "state_bytes": ()},
    CongestionController: {
        "on_ack": OF_AN_ACK,
        "on_loss": _OF_A_LOSS,
        "on_ecn": _OF_A_LOSS,
        "on_timeout": (*_OF_A_LOSS, "keeps_threshold"),
        "undo": (),
        "restart": (),
    },
}
_NEEDED = {"admit", "enqueue", "dequeue", "on_ack", "on_loss"}


def name_of(custom: type) -> str:
    """Return the name of a class in a scenario: `"module:Class"`."""
    return f"{custom.__module__}:{custom.__qualname__}".replace("<locals>.", "")


def plans_of(names: Sequence[str], given: Mapping[str, type], folder: Path | None) -> CustomClasses:
    """Find the classes of these names, of which some are `given`; modules in `folder` come before others.

    Raises InputError for a class that is not there or is no discipline.
    """
    plans = {name: _plan(name, given[name] if name in given else _imported(name, folder)) for name in names}
    return CustomClasses(plans, given, frozenset({folder}) if plans else frozenset())


def digest_of(custom: Mapping[str, Plan]) -> str:
    """Return a digest of the code of these classes: of their methods and modules. Empty without any."""
    digest = hashlib.sha256()
    for name in sorted(custom):
        digest.update(name.encode())
        for part in custom[name].custom.__mro__:
            for function in filter(inspect.isfunction, vars(part).values()):
                digest.update(marshal.dumps(function.__code__))
            # A class of a notebook is in no file.
            with suppress(OSError, TypeError, KeyError):
                digest.update(inspect.getsource(sys.modules[part.__module__]).encode())
    return digest.hexdigest() if custom else ""


def _imported(name: str, folder: Path | None) -> type:
    module_name, _, path = name.partition(":")
    try:
        with _first_on_the_path(folder):
            found: object = importlib.import_module(module_name)
    except Exception as error:
        where = "where Python looks for modules" if folder is None else f"in {folder} and where Python looks"
        message = f"{name}: cannot import {module_name}: {type(error).__name__}: {error}"
        message += f"\nhint: Forebay looks for modules {where}"
        raise InputError(message) from error
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        message = f"{name}: the module {module_name} has no class {path}\nhint: write the class as module:Class"
        raise InputError(message)
    return found


@contextmanager
def _first_on_the_path(folder: Path | None) -> Iterator[None]:
    if folder is None:
        yield
        return
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(entry)


def _plan(name: str, custom: type) -> Plan:
    if issubclass(custom, CongestionController):
        methods = methods_of(custom, name)
        return ControllerPlan(custom, methods, tuple(custom.needs), bool(custom.pacing))
    if not issubclass(custom, AdmissionLaw | QueueDiscipline):
        message = f"{name} is neither a discipline nor a congestion controller"
        bases = "forebay.AdmissionLaw, forebay.QueueDiscipline or forebay.CongestionController"
        raise InputError(f"{message}\nhint: derive it from {bases}")
    methods = methods_of(custom, name)
    compiled = None
    if issubclass(custom, CompiledLaw) and custom.compiled:
        try:
            compiled = disciplines.compiling.compiled_form(custom, name, methods)
        except ImportError:
            message = f"{name} is a compiled law, and Numba is not installed\nhint: pip install 'forebay[numba]'"
            raise InputError(message) from None
    return DisciplinePlan(
        custom,
        issubclass(custom, AdmissionLaw),
        methods,
        custom.name or custom.__name__,
        compiled,
        tuple(custom.gauges),
    )


def methods_of(
    custom: type[AdmissionLaw | QueueDiscipline | CongestionController], name: str
) -> dict[str, tuple[str, ...]]:
    """Return the methods that a class has of those that the core calls, each with the arguments that it asks for.

    Raises InputError for an argument that there is not, and if the class lacks a method that it needs.
    """
    base = next(base for base in _METHODS if issubclass(custom, base))
    page = "python"
    measured: dict[str, str] = {}
    if issubclass(custom, CongestionController):
        page = "python_controller"
        measured = _measured(custom, name)
    methods = {}
    for method, known in _METHODS[base].items():
        defined = getattr(custom, method)
        if defined is not getattr(base, method):
            methods[method] = _arguments(f"{name}.{method}", defined, known, measured if method == "on_ack" else {})
        elif method in _NEEDED:
            message = f"{name} has no method `{method}`\nhint: `forebay explain {page}` lists the required methods"
            raise InputError(message)
    return methods


def _measured(custom: type[CongestionController], name: str) -> dict[str, str]:
    """Return the measurements that an ACK could have, with the need of each that the class does not declare or ""."""
    needs: object = custom.needs
    if not isinstance(needs, tuple):
        message = f"{name}.needs is {needs!r}, which is no tuple of texts"
        raise InputError(f'{message}\nhint: write it as ("round_trips",)')
    if strangers := [need for need in needs if need not in MEASURED]:
        message = f"{name}.needs: there is no {strangers[0]!r}\nhint: a controller can need {', '.join(MEASURED)}"
        raise InputError(message)
    declared = frozenset(needs)
    return {argument: "" if need in declared else need for need, those in MEASURED.items() for argument in those}


def _arguments(method: str, defined: object, known: tuple[str, ...], measured: Mapping[str, str]) -> tuple[str, ...]:
    if not callable(defined):
        message = f"{method} is not a method\nhint: define it with `def`"
        raise InputError(message)
    parameters = list(inspect.signature(defined).parameters.values())[1:]
    for parameter in parameters:
        is_plain = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if is_plain and (parameter.name in known or measured.get(parameter.name) == ""):
            continue
        if is_plain and (need := measured.get(parameter.name)):
            message = f"{method} asks for `{parameter.name}`, which is measured only if the class needs it"
            raise InputError(f'{message}\nhint: add "{need}" to its `needs`')
        possible = (*known, *measured)
        remedy = f"it can ask for {', '.join(possible)}" if possible else "it takes no arguments"
        message = f"{method}: there is no argument `{parameter}`\nhint: {remedy}"
        raise InputError(message)
    return tuple(parameter.name for parameter in parameters)
