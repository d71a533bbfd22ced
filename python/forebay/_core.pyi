"""Types of the extension module, written by hand; `mypy.stubtest` compares them with what was built."""

from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from typing import Any, Final, NotRequired, Self, TypeAlias, TypedDict, final, overload, type_check_only

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .disciplines.custom import Plan

__all__ = [
    "CaptureError",
    "Column",
    "Component",
    "Connection",
    "ControllerError",
    "DisciplineError",
    "InternalError",
    "RawResult",
    "ScenarioError",
    "__version__",
    "_end_runs",
    "check",
    "choices",
    "described_queues",
    "draw_address",
    "error_in_toml",
    "expanded_toml",
    "exponential",
    "fitted_queue",
    "flow_and_link_names",
    "flow_table_entries",
    "json_rows",
    "json_schema",
    "link_from_tc",
    "logarithm",
    "plan",
    "power",
    "queue_cost",
    "read_trace",
    "remedy_for_name",
    "replay",
    "run",
    "run_file",
    "scenario_from_htsim",
    "sfb_bins",
    "slowest_rate",
    "tc_commands",
]

__version__: Final[str]

class ScenarioError(ValueError):
    coloured: str

class InternalError(RuntimeError): ...
class CaptureError(ValueError): ...

class DisciplineError(RuntimeError):
    queue: str
    packet: int | None
    flow: str | None
    time_s: float

class ControllerError(RuntimeError):
    flow: str
    acknowledged: int | None
    time_s: float

@disjoint_base
class Connection:
    window: float
    threshold: float
    @property
    def pacing_rate_bps(self) -> int | None: ...
    @pacing_rate_bps.setter
    def pacing_rate_bps(self, rate: float | None) -> None: ...
    def __new__(cls, *_arguments: object, **_parameters: object) -> Self: ...
    def random(self) -> float: ...
    def random_bits(self) -> int: ...
    @property
    def segment_bytes(self) -> int: ...
    @property
    def flow(self) -> str: ...

@disjoint_base
class Component:
    def __new__(cls, *_arguments: object, **_parameters: object) -> Self: ...
    def random(self) -> float: ...
    def random_bits(self) -> int: ...
    @property
    def link_rate_bps(self) -> int: ...
    @property
    def salt(self) -> int: ...
    def _order(self, packet: int, verdict: int) -> None: ...

@final
class Column:
    def __len__(self, /) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Any]: ...
    def places(self, wanted: Sequence[str], most: int) -> list[int]: ...

_Columns: TypeAlias = dict[str, NDArray[Any] | list[Any]]
_Overrides: TypeAlias = Sequence[tuple[str, str]]
_CustomClasses: TypeAlias = Mapping[str, Plan]

@type_check_only
class _Series(TypedDict):
    kind: str
    name: str
    quantity: str
    start_s: float
    interval_s: float
    values: Any  # NDArray[np.float64], or list[float] without arrays
    states: NotRequired[list[str]]

@type_check_only
class _Engine(TypedDict):
    packet_hops: int
    events: int
    threads: int
    cpu_s: float
    packet_hops_per_cpu_s: float
    peak_rss_bytes: int

@type_check_only
class _Facts(TypedDict):
    name: str
    description: str | None
    duration_s: float
    warmup_s: float
    seed: int
    flow_count: int
    link_count: int
    toml: str
    python_classes: list[str]

@type_check_only
class _Nodes(TypedDict):
    name: list[str]
    kind: list[str]  # "host", "adapter", "router", "crossbar" or "ethernet_switch"

@type_check_only
class _Links(TypedDict):
    name: list[str]
    source: list[str]
    destination: list[str]
    rate_bps: list[int]
    delay_s: list[float]  # the mean of a distribution
    queue: list[int | None]  # the index of its place in `queues`

@type_check_only
class _QueuePlace(TypedDict):
    name: str
    path: str | None  # None at the inputs of a switch
    named_path: str | None  # with names in place of numbers in lists
    role: str  # "bottleneck", "input", "inner", "uplink", "downlink" or "return"
    is_back: bool
    discipline: str | None  # None where the scenario describes no queue
    limit_path: str | None  # None where the discipline has no limit of its own
    limit: str | None
    queues: list[str]
    links: list[str]
    queues_per_link: int

@type_check_only
class _GroupEnds(TypedDict):
    name: str
    sources: list[str]
    destinations: list[str]
    rtt_s: float | None

@type_check_only
class _Plan(TypedDict):
    topology: str
    nodes: _Nodes
    links: _Links
    queues: list[_QueuePlace]
    groups: list[_GroupEnds]
    memory_paths: list[str]

@type_check_only
class _Parameter(TypedDict):
    name: str
    takes: str
    default: str | None
    required: bool
    description: str

@type_check_only
class _Choice(TypedDict):
    kind: str
    name: str
    summary: str
    when_to_use: str | None
    sections: list[tuple[str, str]]
    parameters: list[_Parameter]

@type_check_only
class _Replay(TypedDict):
    rate_bps: int
    seed: int
    duration_s: float
    packets: int
    bytes: int
    packets_unselected: int
    packets_unaddressed: int
    packets_out_of_order: int
    packets_missed: int
    packets_cut: int
    packets_opaque: int
    warnings: list[dict[str, str]]
    flows: _Columns
    queues: _Columns
    delays: _Columns
    series: list[_Series]

@type_check_only
class _Cost(TypedDict):
    ns_per_packet: float
    drop_share: float
    queued_packets: int
    state_bytes: int

@final
class RawResult:
    @property
    def scenario(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def warmup_s(self) -> float: ...
    @property
    def flows(self) -> _Columns: ...
    @property
    def delays(self) -> _Columns: ...
    @property
    def queues(self) -> _Columns: ...
    @property
    def links(self) -> _Columns: ...
    @property
    def queue_flows(self) -> _Columns: ...
    @property
    def adapters(self) -> _Columns: ...
    @property
    def transfers(self) -> _Columns: ...
    @property
    def completion_times(self) -> _Columns: ...
    @property
    def equal_paths(self) -> _Columns: ...
    @property
    def collectives(self) -> _Columns: ...
    @property
    def ranks(self) -> _Columns: ...
    @property
    def videos(self) -> _Columns: ...
    @property
    def pages(self) -> _Columns: ...
    @property
    def pings(self) -> _Columns: ...
    @property
    def deadlock(self) -> dict[str, Any] | None: ...
    @property
    def warnings(self) -> list[dict[str, str]]: ...
    @property
    def series(self) -> list[_Series]: ...
    @property
    def engine(self) -> _Engine: ...
    @property
    def digest(self) -> str: ...

def check(text: str, file_name: str, overrides: _Overrides = ...) -> _Facts: ...
def expanded_toml(text: str, file_name: str, overrides: _Overrides = ...) -> str: ...
def flow_and_link_names(text: str, file_name: str, overrides: _Overrides = ...) -> tuple[list[str], list[str]]: ...
def plan(text: str, file_name: str, overrides: _Overrides = ...) -> _Plan: ...
def run(
    text: str,
    file_name: str,
    overrides: _Overrides = ...,
    *,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    out_dir: str | None = None,
    arrays: bool = True,
    threads: int = ...,
    custom: _CustomClasses = ...,
) -> RawResult: ...
def json_rows(
    columns: Sequence[tuple[str, Column | NDArray[np.float64] | NDArray[np.int64] | Sequence[str]]],
    start: int,
    stop: int,
) -> str: ...
def run_file(
    facts: Sequence[tuple[str, str | int | None]],
    tables: Sequence[tuple[str, Sequence[tuple[str, NDArray[Any] | Sequence[str] | Sequence[NDArray[np.float64]]]]]],
) -> bytes: ...
def _end_runs() -> None: ...
def queue_cost(
    text: str,
    file_name: str,
    overrides: _Overrides,
    queue: str,
    flow_weights: Sequence[float],
    packet_bytes: int,
    load: float,
    custom: _CustomClasses = ...,
) -> _Cost: ...
def fitted_queue(discipline: str, rate: str, limit: str | None) -> list[tuple[str, str | float]]: ...
def slowest_rate(text: str, file_name: str, overrides: _Overrides, links: Sequence[str]) -> int | None: ...
def described_queues(text: str, file_name: str, overrides: _Overrides) -> list[str]: ...
def tc_commands(
    text: str, file_name: str, overrides: _Overrides, link: str, device: str, packet_bytes: int
) -> str | None: ...
def link_from_tc(text: str, file_name: str, device: str | None) -> str: ...
def scenario_from_htsim(matrix: tuple[str, str], topology: tuple[str, str] | None, options: str) -> str: ...
def read_trace(
    text: str, interval_s: float, outage_s: float
) -> tuple[str, float, float, list[float], list[tuple[float, float]]]: ...
def error_in_toml(
    text: str,
    file_name: str,
    path: Sequence[str | int],
    message: str,
    label: str,
    *,
    hint: str | None = None,
    at_key: bool = False,
) -> ScenarioError: ...
def draw_address() -> int: ...
def exponential(exponent: float) -> float: ...
def logarithm(number: float) -> float: ...
def power(base: float, exponent: float) -> float: ...
def json_schema() -> str: ...
def choices() -> list[_Choice]: ...
def remedy_for_name(written: str, names: list[str]) -> str | None: ...
def replay(
    capture: str | PathLike[str],
    rate: str,
    queues: Sequence[tuple[str, str, _Overrides, str | PathLike[str] | None, str | PathLike[str] | None]],
    *,
    destination: IPv4Address | IPv6Address | None = None,
    seed: int = 1,
    interval: str | None = None,
    progress: Callable[[float], object] | None = None,
) -> _Replay: ...
def flow_table_entries(
    source: NDArray[np.uint32],
    destination: NDArray[np.uint32],
    source_port: NDArray[np.uint16],
    destination_port: NDArray[np.uint16],
    protocol: NDArray[np.uint8],
    salt: int,
    entries: int,
) -> NDArray[np.uint32]: ...
def sfb_bins(
    source: NDArray[np.uint32],
    destination: NDArray[np.uint32],
    source_port: NDArray[np.uint16],
    destination_port: NDArray[np.uint16],
    protocol: NDArray[np.uint8],
    salt: int,
    levels: int,
    bins: int,
) -> NDArray[np.uint32]: ...
