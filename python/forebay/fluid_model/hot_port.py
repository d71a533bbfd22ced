"""The model's input from a scenario: the hot port, its sources with their delays, and the parameters of ECM."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay.display.names import listed
from forebay.display.texts import bits_per_second, mean_bytes, mean_seconds
from forebay.errors import InputError
from forebay.fair_rates.ethernet import EthernetLoad
from forebay.fair_rates.ethernet import Source as Flow
from forebay.scenario import Scenario

from .laws import EcmParameters
from .model import FluidModel, Source, Step

# Length of a control frame: the smallest of Ethernet.
_MESSAGE_BYTES = 64.0
# Defaults of a scenario's `switch.memory` and `transport.frames.size`.
_MEMORY, _FRAME = "300 KB", "1500 B"


@dataclass(frozen=True)
class HotPort:
    """A port of a switch, and the model of its queue."""

    queue: str
    """Its queue, which has the name of its link."""
    model: FluidModel
    flows: tuple[tuple[str, ...], ...]
    """Names of the flows that each source of the model represents."""
    notes: tuple[str, ...]
    """The parts of the scenario that the model omits, in words."""


def hot_port(scenario: Scenario, queue: str | None = None) -> HotPort:
    """Return the port whose queue `queue` names; by default the most overloaded one.

    Raises InputError for a scenario without ECM or E2CM, and if no flow comes by that queue.
    """
    document = tomllib.loads(scenario.to_toml(expanded=True))
    ((kind, ethernet),) = document["topology"].items()
    if kind != "ethernet":
        message = f"the fluid model describes ECM in topology.ethernet; this scenario has topology.{kind}"
        message += "\nhint: `forebay explain ecm` describes ECM"
        raise InputError(message)
    scheme, parameters = _scheme(ethernet)
    load = EthernetLoad.from_toml(scenario.to_toml())
    ports = {link: flows for link in load.capacities_bps if (flows := _flows_by(link, load))}
    chosen = _chosen(queue, ports, load)
    sizes = {group["name"]: group["transport"]["frames"].get("size", _FRAME) for group in document["flows"]}
    flows = ports[chosen]
    ecm = _ecm(parameters, ethernet, _mean_frame_bytes(flows, sizes))
    classes: dict[tuple[float, tuple[Step, ...], str], list[Flow]] = {}
    for flow in flows:
        delay_s = _delay_s(flow.path.index(chosen), ethernet, mean_bytes(sizes[flow.group]))
        classes.setdefault((delay_s, _demand(flow, load), flow.group), []).append(flow)
    voq_limit = ethernet.get("adapter", {}).get("voq_limit")
    sources = tuple(
        Source(
            name=_class_name(group, members, flows),
            delay_s=delay_s,
            count=len(members),
            demand=demand,
            most_backlog_bytes=math.inf if voq_limit is None else _queue_bytes(voq_limit, mean_bytes(sizes[group])),
        )
        for (delay_s, demand, group), members in classes.items()
    )
    model = FluidModel(ecm, sources, _service(chosen, load), _limit_bytes(chosen, flows, ethernet))
    names = tuple(tuple(flow.name for flow in members) for members in classes.values())
    return HotPort(chosen, model, names, tuple(_notes(scheme, parameters, ethernet, chosen, ports, load)))


def _scheme(ethernet: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the scheme, ECM or E2CM, and the parameters of ECM in it."""
    given = ethernet.get("congestion_management", "")
    parameters: dict[str, Any] = {}
    name, parameters = (given, parameters) if isinstance(given, str) else next(iter(given.items()))
    if name not in ("ecm", "e2cm"):
        found = f"manages congestion by {name}" if name else "has no congestion management"
        message = f"the fluid model describes ECM, and this scenario {found}"
        message += "\nhint: --set topology.ethernet.congestion_management=ecm"
        raise InputError(message)
    return name, parameters.get("ecm", {}) if name == "e2cm" else parameters


def _ecm(parameters: Mapping[str, Any], ethernet: Mapping[str, Any], frame_bytes: float) -> EcmParameters:
    """Return the parameters as the model has them; those that the scenario omits have their defaults."""
    line_rate_bps = bits_per_second(ethernet["link"]["rate"])
    taken: dict[str, Any] = {name: float(parameters[name]) for name in _NUMBERS if name in parameters}
    taken |= {f"{name}_bytes": mean_bytes(parameters[name]) for name in _SIZES if name in parameters}
    if "min_rate" in parameters:
        taken["min_rate_bps"] = bits_per_second(parameters["min_rate"])
    match parameters.get("sampling", {"probability": 0.02}):
        case {"probability": probability}:
            taken["sample_bytes"] = frame_bytes / probability
        case {"interval": {"bytes": interval}}:
            taken["sample_bytes"] = mean_bytes(interval)
    if parameters.get("severe_message") == "none":
        taken["severe_threshold_bytes"] = None
    return EcmParameters(line_rate_bps=line_rate_bps, **taken)


_NUMBERS = ("weight", "decrease_gain", "increase_gain")
_SIZES = ("set_point", "severe_threshold")


def _flows_by(link: str, load: EthernetLoad) -> list[Flow]:
    """Return the flows through an output of a switch; none for an adapter's link, which has no congestion point."""
    return [flow for flow in load.sources if link in flow.path[1:]]


def _chosen(queue: str | None, ports: Mapping[str, list[Flow]], load: EthernetLoad) -> str:
    if queue is None:
        # Of ports that are asked for equally much, the first.
        return max(ports, key=lambda link: _overload(link, ports[link], load))
    if queue in ports:
        return queue
    hint = listed(ports, queue)
    if queue in load.capacities_bps:
        message = f"--queue {queue}: no flow leaves a switch by this link\nhint: it is one of {hint}"
    else:
        message = f"--queue {queue}: the scenario has no such link\nhint: it is one of {hint}"
    raise InputError(message)


def _overload(link: str, flows: list[Flow], load: EthernetLoad) -> float:
    """Return how many times what it can carry a link is asked for, when that is most."""
    return max(
        sum(flow.demand_bps_at(time) for flow in flows) / load.capacities_bps_at(time)[link]
        for time in load.changes_s()
    )


def _mean_frame_bytes(flows: list[Flow], sizes: Mapping[str, str]) -> float:
    """Return the mean over the frames that come if nothing holds the flows back."""
    frames = sum(flow.rate_bps / mean_bytes(sizes[flow.group]) for flow in flows)
    return sum(flow.rate_bps for flow in flows) / frames


def _delay_s(hops: int, ethernet: Mapping[str, Any], frame_bytes: float) -> float:
    """From a sample at an output this many links away from the source to the arrival of a frame at the new rate.

    There and back it takes propagation, the transmission of a message or a frame on each link, and the forwarding of
    the frame by each switch. Nothing waits, and a message is forwarded at once.
    """
    rate_bps = bits_per_second(ethernet["link"]["rate"])
    forwarding_s = mean_seconds(ethernet.get("switch", {}).get("forwarding_delay", "0 s"))
    transmission_s = 8.0 * (_MESSAGE_BYTES + frame_bytes) / rate_bps
    return hops * (transmission_s + 2.0 * mean_seconds(ethernet["link"]["delay"]) + forwarding_s)


def _demand(flow: Flow, load: EthernetLoad) -> tuple[Step, ...]:
    times = sorted({0.0, *flow.changes_s(load.duration_s)})
    return _merged([Step(time, flow.demand_bps_at(time)) for time in times])


def _service(link: str, load: EthernetLoad) -> tuple[Step, ...]:
    return _merged([Step(time, load.capacities_bps_at(time)[link]) for time in load.changes_s()])


def _merged(steps: list[Step]) -> tuple[Step, ...]:
    """Without steps that change nothing."""
    kept = [step for before, step in zip([None, *steps], steps, strict=False) if before is None or before[1] != step[1]]
    return tuple(kept)


def _class_name(group: str, members: list[Flow], flows: list[Flow]) -> str:
    """Return the group's name, or that of the nodes that send where the group has several kinds of sources."""
    of_group = [flow for flow in flows if flow.group == group]
    if len(of_group) == len(members):
        return group
    nodes = [flow.path[0].split("->")[0] for flow in members]
    return f"{group} from {', '.join(nodes)}"


def _queue_bytes(limit: str, frame_bytes: float) -> float:
    """Return a limit in bytes or in frames."""
    number, _, unit = limit.strip().partition(" ")
    return float(number) * frame_bytes if unit.startswith(("packet", "pkt")) else mean_bytes(limit)


def _limit_bytes(link: str, flows: list[Flow], ethernet: Mapping[str, Any]) -> float:
    """Return what the queue can hold of all inputs: each stops its feeder at its high watermark, or loses frames.

    Memory that frames for other outputs take is not counted.
    """
    switch = ethernet.get("switch", {})
    pause = switch.get("pause") or switch.get("priority_pause")
    of_input = mean_bytes(pause["high"] if pause else switch.get("memory", _MEMORY))
    inputs = {flow.path[flow.path.index(link) - 1] for flow in flows}
    limit = of_input * len(inputs)
    match switch.get("buffer"):
        case {"partitions": {"output_limit": {"static": size}}}:
            limit = min(limit, mean_bytes(size))
    return limit


def _notes(
    scheme: str,
    parameters: Mapping[str, Any],
    ethernet: Mapping[str, Any],
    chosen: str,
    ports: Mapping[str, list[Flow]],
    load: EthernetLoad,
) -> list[str]:
    notes = []
    if scheme == "e2cm":
        notes.append("Of E2CM the model has what its queues tell, which is ECM; the probes' part is left out.")
    if parameters.get("severe_message") == "bcn_zero":
        notes.append("The model replaces BCN(0,0) by the strongest negative feedback.")
    if "self_increase" in parameters:
        notes.append("The model leaves out that limited flows become faster without feedback.")
    if ethernet.get("adapter", {}).get("rate_limiters") is not None:
        notes.append("In the model every flow has a rate limiter, even if the adapters have fewer.")
    match ethernet.get("switch", {}).get("buffer"):
        case {"partitions": {"output_limit": {"dynamic": _}}} | "dynamic_threshold" | {"dynamic_threshold": _}:
            notes.append("The model leaves out the dynamic limit of outputs.")
        case "abm" | {"abm": _} | "fab" | {"fab": _}:
            notes.append("The model leaves out the dynamic limit of queues.")
        case "complete_sharing" | {"complete_sharing": _} | "longest_queue_drop" | {"longest_queue_drop": _}:
            notes.append("In the model each input has its own share of the memory.")
    if any(service.get("at") == "node" for service in ethernet.get("service", [])):
        notes.append(
            "That a node takes frames slowly is a slow port in the model; in the simulation frames wait in the"
        )
        notes[-1] += " node's adapter first."
    own = set(ports[chosen])
    others = [link for link, flows in ports.items() if link != chosen and own & set(flows)]
    busy = [link for link in others if _overload(link, ports[link], load) > 1.0]
    if busy:
        notes.append(f"Flows of this queue also come by {', '.join(busy)}, which is overloaded too: the model has one")
        notes[-1] += " queue."
    return notes
