"""A scenario: loaded from a file, or built from typed objects."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import tomli_w

from . import _core, disciplines, display
from .display.quantity import text_with_unit
from .errors import InputError
from .folder import check_utf8

if TYPE_CHECKING:
    from .disciplines.custom import CustomClasses
    from .types import Scenario as TypedScenario


class Scenario:
    """A network, its traffic, and what is recorded. A scenario that exists is valid.

    The constructor takes the keys of a scenario file, with plain values or the objects of `forebay.types`. A class
    derived from `AdmissionLaw` or `QueueDiscipline` may stand where a file names one: `queue={"python": MyLaw}`, or
    `{"python": {"class": MyLaw, "parameters": {"limit_bytes": 20_000}}}`. `Scenario.load` reads a file,
    `Scenario.from_toml` a text.

    Raises:
        ScenarioError: If the scenario is not valid. The message shows the place and what was expected.

    Example:
        >>> access = {"rate": "100 Mbps", "delay": "1 ms"}
        >>> bottleneck = {"rate": "10 Mbps", "delay": "5 ms", "queue": "red"}
        >>> scenario = fb.Scenario(
        ...     duration="2 s",
        ...     topology={"star": {"access": access, "bottleneck": bottleneck}},
        ...     flows=[{"name": "tcp", "count": 2, "transport": "tcp"}],
        ... )
        >>> scenario.flows
        ['tcp-0', 'tcp-1']
        >>> fb.run(scenario, seed=7).seed
        7

    """

    name: str
    """Name of the scenario; by default that of its file without the ending."""
    description: str | None
    """Description of the scenario, if its file has one."""
    duration_s: float
    """Simulated time in seconds."""
    warmup_s: float
    """Seconds at the start that result tables leave out."""
    seed: int
    """The seed of a run that asks for no other."""
    text: str
    """Text of the scenario file, before any override."""
    file_name: str
    """Name of the file, for messages."""
    overrides: tuple[tuple[str, str], ...]
    """The overrides in their order: the path of a key, and the text that replaces its value."""
    python_classes: list[str]
    """The classes written in Python that the scenario names, as `"module:Class"`."""

    def __init__(self, **keys: object) -> None:
        self._code = _Code(allowed=True, given=dict(_classes_in(keys)))
        self._set(tomli_w.dumps(_plain(keys)), "scenario.toml", ())

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        overrides: Mapping[str, object] | None = None,
        *,
        allow_python: bool = False,
    ) -> Self:
        """Read a scenario file.

        Args:
            path: The file.
            overrides: Values to replace, by the path of their key: `{"flows.tcp.count": 10}`.
            allow_python: Import and run the Python classes that the file names. Modules next to the file are found
                first.

        Raises:
            ScenarioError: If the scenario is not valid.
            InputError: If the file cannot be read.

        """
        check_utf8(path, "the scenario file")
        code = _Code(allowed=allow_python, folder=Path(path).parent)
        return cls._from_text(_read(Path(path)), str(path), overrides, code)

    @classmethod
    def from_toml(
        cls,
        text: str,
        file_name: str = "scenario.toml",
        overrides: Mapping[str, object] | None = None,
        *,
        allow_python: bool = False,
    ) -> Self:
        """Take the text of a scenario file.

        Args:
            text: The text.
            file_name: The name that messages show. Without its ending, it is the scenario's name unless the text has
                one.
            overrides: Values to replace, by the path of their key.
            allow_python: Import and run the Python classes that the text names.

        Raises:
            ScenarioError: If the scenario is not valid.

        """
        return cls._from_text(text, file_name, overrides, _Code(allowed=allow_python))

    @classmethod
    def _from_text(cls, text: str, file_name: str, overrides: Mapping[str, object] | None, code: _Code) -> Self:
        scenario = cls.__new__(cls)
        scenario._code = code.with_given(overrides)
        scenario._set(text, file_name, override_texts(overrides or {}))
        return scenario

    @classmethod
    def from_types(cls, typed: TypedScenario) -> Self:
        """Take a scenario built from the objects of `forebay.types`. Raises ScenarioError if it is not valid."""
        return cls.from_toml(tomli_w.dumps(_plain(typed)), allow_python=True)

    def override(self, values: Mapping[str, object]) -> Self:
        """Return the same scenario with other values.

        Args:
            values: The new values, each by the path of its key: `{"flows.tcp.count": 10}`. An element of a list goes by
                its name or its index.

        Raises:
            ScenarioError: If the result is not valid.

        """
        scenario = self.__class__.__new__(self.__class__)
        scenario._code = self._code.with_given(values)
        scenario._set(self.text, self.file_name, (*self.overrides, *override_texts(values)))
        return scenario

    def _set(self, text: str, file_name: str, overrides: tuple[tuple[str, str], ...]) -> None:
        facts = _core.check(text, file_name, overrides)
        self.text = text
        self.file_name = file_name
        self.overrides = overrides
        self.name = facts["name"]
        self.description = facts["description"]
        self.duration_s = facts["duration_s"]
        self.warmup_s = facts["warmup_s"]
        self.seed = facts["seed"]
        self.python_classes = facts["python_classes"]
        self._counts = facts["flow_count"], facts["link_count"]
        self._toml = facts["toml"]

    @property
    def flows(self) -> list[str]:
        """Names of the flows."""
        return self._names[0]

    @property
    def links(self) -> list[str]:
        """Names of the links. The queue in front of a link has the same name."""
        return self._names[1]

    @property
    def trace_files(self) -> list[str]:
        """Names of the files of packet traces."""
        return [trace["file"] for trace in tomllib.loads(self._toml).get("traces", [])]

    @cached_property
    def _names(self) -> tuple[list[str], list[str]]:
        # A run does not need them, and of a million flows they take hundreds of megabytes.
        return _core.flow_and_link_names(self.text, self.file_name, self.overrides)

    def custom(self) -> CustomClasses:
        """Return the classes written in Python that the scenario names, as the core takes them.

        Raises InputError for a class that does not exist or is not a discipline, and if a scenario file names one
        without leave.
        """
        given = self._code.given
        strangers = [name for name in self.python_classes if name not in given]
        if strangers and not self._code.allowed:
            message = f"{self.file_name} names Python code, {strangers[0]}, which does not run without permission"
            message += "\nhint: if you trust that code, add --allow-python, or allow_python=True in Python"
            raise InputError(message)
        return disciplines.custom.plans_of(self.python_classes, given, self._code.folder)

    def to_toml(self, *, expanded: bool = False) -> str:
        """Return the scenario as TOML, with its overrides applied.

        Args:
            expanded: Write out what the scenario abbreviates: a group in both directions as two groups, and hosts with
                a `count` one by one.

        """
        return _core.expanded_toml(self.text, self.file_name, self.overrides) if expanded else self._toml

    def _repr_html_(self) -> str:
        return display.notebook.scenario_html(self.name, self._size(), self.description, self.to_toml())

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}: {self._size()}>"

    def _size(self) -> str:
        flows, links = self._counts
        return f"{flows} flows, {links} links, {text_with_unit('time_s', self.duration_s)}"


def scenario_of(
    given: Scenario | str | PathLike[str], overrides: Mapping[str, object] | None = None, *, allow_python: bool = False
) -> Scenario:
    """Return a scenario, or that of a file, with these overrides. Raises ScenarioError and InputError."""
    if not isinstance(given, Scenario):
        return Scenario.load(given, overrides, allow_python=allow_python)
    return given.override(overrides) if overrides else given


@dataclass(frozen=True)
class _Code:
    """The Python code that a scenario may run, of that which it names."""

    allowed: bool
    folder: Path | None = None
    """Where modules are looked for first."""
    given: Mapping[str, type] = field(default_factory=dict)
    """Classes that Python code has put into the scenario, by their names there."""

    def with_given(self, values: object) -> _Code:
        found = dict(_classes_in(values))
        return replace(self, given={**self.given, **found}) if found else self


def _classes_in(value: object) -> Iterator[tuple[str, type]]:
    """Classes in values of a scenario, with their names there."""
    if isinstance(value, type):
        yield _class_name(value), value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _classes_in(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _classes_in(item)


def _class_name(of: type) -> str:
    return disciplines.custom.name_of(of)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"there is no file {path}\nhint: give the path of a scenario file, such as examples/first.toml"
        raise InputError(message) from None
    except UnicodeDecodeError as error:
        message = f"{path} is not text: byte {error.start} is not UTF-8\nhint: a scenario is a TOML file"
        raise InputError(message) from None
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}\nhint: give a file that you can read"
        raise InputError(message) from None


def _plain(value: object) -> Any:
    """Return the value as tomli_w takes it: typed objects become tables of what was set, keys without value vanish."""
    if isinstance(value, type):
        return _class_name(value)
    # A pydantic model; pydantic itself is loaded only by those who use it.
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True))
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def override_texts(overrides: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return overrides as on the command line: texts as they are, anything else as a TOML value."""
    return tuple(
        (path, value if isinstance(value, str) else toml_value(_plain(value))) for path, value in overrides.items()
    )


def toml_value(value: Any) -> str:
    """Return a value as on the right of `=`: on one line, which `tomli_w` does not offer."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # A string of JSON is one of TOML, but for the control character that JSON leaves alone.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return "{" + ", ".join(f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml_value, value)) + "]"
        case _:
            return str(value)
