# Generated from the schema by `cargo xtask generate`: change it there.

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

Span = TypeAliasType(
    "Span",
    Annotated[
        str,
        Field(
            pattern="^\\s*[0-9._]+\\s*(s|sec|seconds|second|ms|us|µs|μs|ns|ps|min|h)\\s*$"
        ),
    ],
)
"""
A time with its unit: "10 ms".
"""


Rate = TypeAliasType(
    "Rate",
    Annotated[str, Field(pattern="^\\s*[0-9._]+\\s*([TGMkK]?(bps|b/s|bit/s))\\s*$")],
)
"""
A rate with its unit: "100 Mbps".
"""


class UniformSpanDistribution(BaseModel):
    """
    Uniform between the two: { uniform = ["0 s", "1 s"] }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    uniform: Annotated[list[Span], Field(max_length=2, min_length=2)]


class ExponentialSpanDistribution(BaseModel):
    """
    Exponential of this mean: { exponential = "10 ms" }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    exponential: Span


SpanDistribution = TypeAliasType(
    "SpanDistribution", Span | UniformSpanDistribution | ExponentialSpanDistribution
)
"""
A time, or how it is drawn: "10 ms", { uniform = ["0 s", "1 s"] }, { exponential = "10 ms" }.
"""


QueueSize = TypeAliasType(
    "QueueSize",
    Annotated[
        str,
        Field(
            pattern="^\\s*[0-9._]+\\s*(packets?|pkts|[kKMG]?B|[KMG]iB|byte|bytes)\\s*$"
        ),
    ],
)
"""
A number of packets or bytes: "100 packets", "64 KB".
"""


Bytes = TypeAliasType(
    "Bytes",
    Annotated[
        str, Field(pattern="^\\s*[0-9._]+\\s*([kKMG]?B|[KMG]iB|byte|bytes)\\s*$")
    ],
)
"""
A size with its unit: "1000 B"; KB is 1000 bytes, KiB 1024.
"""


class FredConfig(BaseModel):
    """
    Parameters of FRED.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    min_threshold: QueueSize = "250 packets"
    """
    `min_th`: average queue below which nothing is dropped at random, and the most packets that one flow may hold; in packets. Default: 250 packets, a quarter of the default limit (paper, section 6).
    """
    max_threshold: QueueSize = "500 packets"
    """
    `max_th`: average queue from which a flow may hold two packets, or none without `many_flows`; in packets. Default: 500 packets, twice `min_threshold` (paper, section 6).
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002.
    """
    max_probability: float = 0.02
    """
    `max_p`: drop probability at `max_threshold`, before the gaps are made uniform. Default: 0.02.
    """
    min_flow_packets: Annotated[int, Field(ge=0)] = 2
    """
    `minq`: packets that a flow may always have queued without a random drop: 2 for small buffers, 4 for large ones (paper, section 6). Default: 2.
    """
    many_flows: bool = True
    """
    Whether each flow may hold two packets while the average is past `max_threshold`, so that more flows than the buffer has shares for can all go on (paper, section 7). Default: yes.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate over it is the number of samples that an idle period counts for. Default: 500 B (ns-2's for RED).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked where they would be dropped at random. Default: no.
    """


OffClass = TypeAliasType("OffClass", Annotated[int, Field(ge=0, le=255)])


HardDropClass = TypeAliasType("HardDropClass", Annotated[int, Field(ge=0, le=255)])


DblPreset = TypeAliasType("DblPreset", Literal["paper", "catalyst4500"])
"""
Whose parameters are the defaults.
"""


QueueCell = TypeAliasType("QueueCell", Annotated[int, Field(ge=0)])


ActiveFlow = TypeAliasType("ActiveFlow", Annotated[int, Field(ge=0)])


DblCell = TypeAliasType("DblCell", Annotated[int, Field(ge=0)])


class DblTable(BaseModel):
    """
    A table of buffer limits in steps of the queue's length and of the number of active flows.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    queue_cells: list[QueueCell]
    """
    Queue length in cells from which each row holds, ascending; the first is 0.
    """
    active_flows: list[ActiveFlow]
    """
    Number of active flows from which each column holds, ascending; the first is 0.
    """
    dbl_cells: list[list[DblCell]]
    """
    The buffer limits in cells: a row for each of `queue_cells`, in it a column for each of `active_flows`.
    """


FlowTableScope = TypeAliasType("FlowTableScope", Literal["per_queue", "shared"])
"""
To whom a flow table belongs.
"""


InputPortAction = TypeAliasType("InputPortAction", Literal["throttle", "shutdown"])
"""
What is done about an input port with too many belligerent flows.
"""


class ClassWeight(BaseModel):
    """
    The weight of the flows of a traffic class.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    class_: Annotated[int, Field(alias="class", ge=0, le=255)]
    """
    The traffic class.
    """
    weight: float
    """
    Weight of each of its flows; a flow of a class that is not listed has 1.
    """


class WfqConfig(BaseModel):
    """
    Parameters of WFQ.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What all queues together hold at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    weights: Annotated[list[ClassWeight], Field(validate_default=True)] = []
    """
    Weights of flows by traffic class. A flow has the weight of the packet with which it became active. Default: 1 for all.
    """


Class = TypeAliasType("Class", Annotated[int, Field(ge=0, le=255)])


HostCount1 = TypeAliasType("HostCount1", Annotated[int, Field(ge=1)])
"""
A number of hosts, or "per-flow": each flow has one of its own.
"""


HostCount = TypeAliasType("HostCount", HostCount1 | Literal["per-flow"])
"""
A number of hosts, or "per-flow": each flow has one of its own.
"""


Placement = TypeAliasType("Placement", Literal["round-robin", "random"])
"""
On which of several hosts a flow is put.
"""


NodeKind = TypeAliasType("NodeKind", Literal["host", "router"])
"""
What a node is.
"""


CongestionControl = TypeAliasType("CongestionControl", Literal["reno", "newreno"])
"""
Which window law and which recovery a sender follows.
"""


PartialAckTimer = TypeAliasType(
    "PartialAckTimer", Literal["impatient", "slow_but_steady"]
)
"""
What partial ACKs do to the retransmission timer in NewReno's fast recovery (RFC 6582, section 4).
"""


FullAckWindow = TypeAliasType(
    "FullAckWindow", Literal["flight_size", "slow_start_threshold"]
)
"""
What the window becomes when NewReno's fast recovery ends (RFC 6582, section 3.2, step 3).
"""


class UniformSizeDistribution(BaseModel):
    """
    Uniform between the two: { uniform = ["1 KB", "9 KB"] }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    uniform: Annotated[list[Bytes], Field(max_length=2, min_length=2)]


class ExponentialSizeDistribution(BaseModel):
    """
    Exponential of this mean: { exponential = "10 KB" }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    exponential: Bytes


class Pareto(BaseModel):
    """
    The Pareto distribution.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    mean: Bytes
    """
    The mean.
    """
    shape: float
    """
    The tail's exponent, above 1: the smaller, the heavier the tail. With 2 or less the variance is infinite.
    """


class Constant(BaseModel):
    """
    Packets evenly spaced.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate
    """
    Rate on the wire.
    """
    jitter: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    Each gap is multiplied by a number drawn uniformly from 1 - jitter to 1 + jitter. From 0 to 1.
    """
    random_phase: bool = False
    """
    The first packet comes after a random part of a gap, so that equal flows do not march in step.
    """


class OnOff(BaseModel):
    """
    Packets evenly spaced while on, none while off.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate
    """
    Rate on the wire while on.
    """
    on: SpanDistribution
    """
    How long it is on; drawn each time.
    """
    off: SpanDistribution
    """
    How long it is off; drawn each time.
    """


class Poisson(BaseModel):
    """
    Packets with exponential gaps: a Poisson process.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate
    """
    Mean rate on the wire.
    """


OneOrMany1 = TypeAliasType("OneOrMany1", Annotated[list[str], Field(min_length=1)])
"""
A name, or a list of names.
"""


OneOrMany = TypeAliasType("OneOrMany", str | OneOrMany1)
"""
A name, or a list of names.
"""


Enters1 = TypeAliasType("Enters1", Annotated[int, Field(ge=1)])
"""
The number of a router, from 1, or "each": flow i, from 0, joins at router i + 1.
"""


Enters = TypeAliasType("Enters", Enters1 | Literal["each"])
"""
The number of a router, from 1, or "each": flow i, from 0, joins at router i + 1.
"""


SeriesKind = TypeAliasType("SeriesKind", Literal["queues", "flows", "links"])
"""
A kind of time series.
"""


class FlowGauges(BaseModel):
    """
    Gauges that a queue keeps for single flows, such as DBL's credits.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    queue: str
    """
    Name of the queue: that of its link.
    """
    flows: list[str]
    """
    Names of flows, or of groups for all their flows.
    """


class Trace(BaseModel):
    """
    A packet trace of one link, as pcapng.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    link: str
    """
    Name of the link.
    """
    file: str | None = None
    """
    Name of the file, within the output folder. Default: the link's name with `.pcapng`.
    """
    snaplen: Annotated[int, Field(ge=0)] = 96
    """
    Bytes kept of each packet.
    """


class FredQueue(BaseModel):
    """
    RED with a share for each flow: holds back the flows that take more than others.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fred: FredConfig


class WfqQueue(BaseModel):
    """
    Weighted fair queueing: each flow gets its share of the link to within one packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    wfq: WfqConfig


class DropTailConfig(BaseModel):
    """
    Parameters of drop-tail.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets, as in Linux and ns-3.
    """


class RedConfig(BaseModel):
    """
    Parameters of RED.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    min_threshold: QueueSize = "5 packets"
    """
    `min_th`: average queue below which nothing is dropped. In packets or bytes: its unit is the unit of the average, and `max_threshold` has to have the same. Default: 5 packets (paper, section 11).
    """
    max_threshold: QueueSize = "15 packets"
    """
    `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability climbs from `max_probability` to 1). Default: 15 packets (paper, section 11).
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002 (paper, section 6).
    """
    max_probability: float = 0.02
    """
    `max_p`: drop probability at `max_threshold`, before the gaps are made uniform. Default: 0.02 (paper, section 8).
    """
    gentle: bool = False
    """
    Whether the probability climbs from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: no (paper); ns-2 has it on since 2001.
    """
    wait: bool = False
    """
    Whether at least 1/p packets pass between two early drops: gaps are uniform on 1/p .. 2/p, so that the mean rate of drops is p/1.5, instead of 1 .. 1/p. Default: no (paper); ns-2 has it on.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are withheld while one packet or none is waiting. Default: no (paper); ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size over `mean_packet_size` (paper, section 7). Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate over it is the number of samples that an idle period counts for, and `byte_mode` refers to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early (RFC 3168, section 5). Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets past the upper threshold are dropped even if they are ECN-capable (RFC 3168, section 7). Default: yes.
    """


class TableDblFunction(BaseModel):
    """
    A table, as in the hardware.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    table: DblTable


DblFunction = TypeAliasType(
    "DblFunction", Literal["formula"] | Literal["linear"] | TableDblFunction
)
"""
How the dynamic buffer limit follows from the queue's length q and the number n of active flows, both in the state before the arrival. The paper has a table of the operator's choice (section 3) and does not print its own; so the default is ours, chosen for what the paper shows of it (figures 2 and 6). Always bounded by `dbl_min_cells` and `dbl_max_cells`.
"""


class DblInputPorts(BaseModel):
    """
    Watch over input ports: one that is answerable for too many belligerent flows is throttled or shut down.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: Annotated[int, Field(ge=0)] = 8
    """
    Belligerent flows at one time that an input port is allowed; one more and `action` is taken. Default: 8.
    """
    action: InputPortAction = "throttle"
    """
    What is done with such a port's packets at this queue. Default: throttle.
    """
    share: float = 0.01
    """
    Share of the link's rate that a throttled port is left with. Default: 0.01.
    """
    hold: Span = "1 s"
    """
    How long a throttled port must send no more than its share before it is free again; also how long a belligerent flow that has fallen silent is held against its port. Default: 1 s.
    """


class DrrConfig(BaseModel):
    """
    Parameters of DRR.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What all queues together hold at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    quantum: Bytes = "1.5 KB"
    """
    Quantum: bytes that a flow of weight 1 may send in each round. At least one packet makes a round O(1). Default: 1500 B.
    """
    buckets: Annotated[int | None, Field(ge=0)] = None
    """
    Number of queues that flows are hashed to; flows of one bucket share a queue. Default: a queue for each flow.
    """
    weights: Annotated[list[ClassWeight], Field(validate_default=True)] = []
    """
    Weights of flows by traffic class: multiples of the quantum. A flow has the weight of the packet with which its queue began. Default: 1 for all.
    """
    steal_from_head: bool = False
    """
    Whether a full buffer drops the head of the longest queue instead of its tail. Default: no (paper); ns-2 does so.
    """


class Node(BaseModel):
    """
    A host or a router.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Its name.
    """
    kind: NodeKind = "host"
    """
    What it is.
    """


class TcpConfig(BaseModel):
    """
    The parameters of a TCP connection, both ends.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    congestion_control: CongestionControl = "newreno"
    """
    Window law and recovery: "reno" or "newreno".
    """
    sack: bool = False
    """
    Selective acknowledgements (RFC 2018) and the recovery that uses them (RFC 6675).
    """
    segment: Bytes = "1.5 KB"
    """
    A full data segment on the wire, header included. 1500 B is Ethernet's limit.
    """
    header: Bytes = "40 B"
    """
    The part of `segment` that is no payload: 20 B IPv4 and 20 B TCP. ns-2 counts 0 B.
    """
    ack_size: Bytes = "40 B"
    """
    A segment without payload on the wire: ACK, SYN, FIN.
    """
    max_window_segments: Annotated[int, Field(ge=0)] = 4096
    """
    The most that may be in flight, in full segments: the receiver's window. The default, about 6 MB, is the most that Linux grants without tuning; ns-2's `window_`.
    """
    initial_window_segments: Annotated[int, Field(ge=0)] = 10
    """
    The congestion window after the handshake, in segments (RFC 6928: 10; ns-2's `windowInit_`: 2).
    """
    initial_ssthresh_segments: Annotated[int | None, Field(ge=0)] = None
    """
    Slow start ends here at first, in segments; absent: at the first loss or mark (RFC 5681, 3.1).
    """
    byte_counting_limit: Annotated[int, Field(ge=0)] = 1
    """
    How much one ACK may open the window, in segments (RFC 3465's L). 1 is RFC 5681; 2 makes up for delayed ACKs.
    """
    min_rto: Span = "1 s"
    """
    The retransmission timeout is never shorter (RFC 6298: 1 s; ns-2 and Linux: 200 ms).
    """
    max_rto: Span = "60 s"
    """
    The retransmission timeout is never longer, however often it was doubled (RFC 6298: at least 60 s).
    """
    initial_rto: Span = "1 s"
    """
    The retransmission timeout before the first round-trip sample (RFC 6298: 1 s; ns-2: 3 s).
    """
    timer_granularity: Span = "0 ps"
    """
    Tick of the clock that round trips are measured with; timeouts are multiples of it. "0 s" is exact; ns-2's `tcpTick_` is 10 ms.
    """
    delayed_ack: bool = False
    """
    Acknowledge every second segment, and a single one only after `delayed_ack_timeout` (RFC 5681, 4.2). Off: every segment at once.
    """
    delayed_ack_timeout: Span = "200 ms"
    """
    The longest that an ACK is delayed (RFC 5681: at most 500 ms; 200 ms is customary).
    """
    limited_transmit: bool = True
    """
    The first two duplicate ACKs send one new segment each (RFC 3042).
    """
    ecn: bool = False
    """
    Explicit congestion notification (RFC 3168).
    """
    handshake: bool = True
    """
    Open with SYN and SYN-ACK; otherwise data goes at once, as if the connection were already there.
    """
    partial_ack_timer: PartialAckTimer = "impatient"
    """
    What partial ACKs do to the retransmission timer: "impatient" or "slow_but_steady" (RFC 6582, section 4).
    """
    full_ack_window: FullAckWindow = "flight_size"
    """
    What the window becomes when NewReno's fast recovery ends: "flight_size" or "slow_start_threshold" (RFC 6582, section 3.2, step 3).
    """
    grow_at_recovery_exit: bool = False
    """
    The ACK that ends fast recovery opens the window as well, as in ns-2 without SACK. RFC 5681 (3.2, step 6) leaves it at the threshold.
    """


class ParetoSizeDistribution(BaseModel):
    """
    Pareto, the law of file sizes: { pareto = { mean = "10 KB", shape = 1.2 } }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pareto: Pareto


SizeDistribution = TypeAliasType(
    "SizeDistribution",
    Bytes
    | UniformSizeDistribution
    | ExponentialSizeDistribution
    | ParetoSizeDistribution,
)
"""
A size, or how it is drawn: "1 MB", { uniform = ["1 KB", "9 KB"] }, { exponential = "10 KB" }, { pareto = { mean = "10 KB", shape = 1.2 } }.
"""


class FixedSize(BaseModel):
    """
    One transfer, after which the connection closes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    size: SizeDistribution
    """
    Payload bytes; a distribution is drawn once for each flow.
    """


class RequestResponse(BaseModel):
    """
    The user side asks, the serving side answers, the user thinks, and so on over one connection.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    request: Bytes
    """
    Payload bytes of a request.
    """
    response: SizeDistribution
    """
    Payload bytes of a response; drawn each time.
    """
    think: Annotated[SpanDistribution, Field(validate_default=True)] = "0 ps"
    """
    From the end of a response to the next request; drawn each time.
    """


class Probes(BaseModel):
    """
    What becomes a time series.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    interval: Span = "100 ms"
    """
    Time between two values.
    """
    series: list[SeriesKind] = ["queues", "flows", "links"]
    """
    Of what.
    """
    flow_gauges: Annotated[list[FlowGauges], Field(validate_default=True)] = []
    """
    Gauges that a queue keeps for single flows.
    """


class DropTailQueue(BaseModel):
    """
    One FIFO queue with a limit: what does not fit is dropped.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    drop_tail: DropTailConfig


class RedQueue(BaseModel):
    """
    Random early detection: drops early, by the average queue.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    red: RedConfig


class DrrQueue(BaseModel):
    """
    Deficit round robin: a queue for each flow, each in turn as many bytes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    drr: DrrConfig


class DblConfig(BaseModel):
    """
    Parameters of DBL. Buffers are counted in cells.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    preset: DblPreset = "paper"
    """
    Whose values `bf_credit_limit`, `bf_buffer_limit_cells`, `mark_probability` and `max_packet_size` have where they are not given. Default: the paper's.
    """
    limit: QueueSize = "1024 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1024 packets (paper, section 4).
    """
    cell_size: Bytes = "64 B"
    """
    Size of a cell, the unit in which buffers are given out; a packet occupies whole cells. Default: 64 B (paper, section 3).
    """
    max_packet_size: Bytes | None = None
    """
    Size of the largest packet: with the preset it gives `bf_buffer_limit_cells`, and the length in cells of a `limit` in packets. Default: 1000 B, the paper's packets (catalyst4500: 1518 B).
    """
    max_credits: Annotated[int, Field(ge=0, le=255)] = 15
    """
    `maxCredits`: credits of a flow that is above suspicion. Default: 15, a 4-bit field (paper, section 3).
    """
    bf_credit_limit: Annotated[int | None, Field(ge=0, le=255)] = None
    """
    `bfCreditLimit`: a flow with so few credits or fewer is held to be belligerent. Default: 2 (paper, section 2.2; catalyst4500: 10).
    """
    bf_buffer_limit_cells: Annotated[int | None, Field(ge=0)] = None
    """
    `bfBufferLimit`: cells beyond which a belligerent flow's packets are dropped. Default: the cells of one packet of the largest size (paper, section 2.2; catalyst4500: of two).
    """
    mark_probability: float | None = None
    """
    `markProb`: probability that a packet of a flow beyond `dbl` costs it a credit. Default: 0.333 (paper, section 4; catalyst4500: 0.15).
    """
    dbl_min_cells: Annotated[int, Field(ge=0)] = 32
    """
    `dblMin`: least buffer limit of a flow, in cells. Default: 32 (paper, section 4).
    """
    dbl_max_cells: Annotated[int, Field(ge=0)] = 256
    """
    `dblMax`: greatest buffer limit of a flow, in cells. Default: 256 (paper, section 4).
    """
    dbl_function: Annotated[DblFunction, Field(validate_default=True)] = "formula"
    """
    How `dbl` follows from the queue's length and the number of active flows. Default: `formula`.
    """
    reference_cells: Annotated[int | None, Field(ge=0)] = None
    """
    The queue length, in cells, to which `formula` and `linear` refer. Default: a quarter of `limit`.
    """
    include_arrival: bool = False
    """
    Whether the arriving packet's own cells count in the comparisons, so that a belligerent flow never holds more than `bf_buffer_limit_cells`; otherwise it holds up to one packet more. Default: no (paper, table 1, read literally).
    """
    ecn: bool = False
    """
    Whether the first signal to an ECN-capable flow is a mark instead of a drop (paper, footnote 2). Packets of belligerent flows are dropped all the same. Default: no.
    """
    flow_table_entries: Annotated[int, Field(ge=0)] = 4096
    """
    Entries of the flow table. Default: 4096 (paper, section 5).
    """
    flow_table: FlowTableScope = "per_queue"
    """
    Whether the queue has a flow table of its own or shares one with the other queues of its switch (paper, section 5). Default: its own.
    """
    max_buffers_used_cells: Annotated[int, Field(ge=0)] = 16383
    """
    Largest `buffersUsed` that an entry's field can hold, in cells; the limits have to be below. Default: 16383, 14 bits (paper, section 3, which also says 13 bits: the two do not agree).
    """
    rehash_interval: Span | None = None
    """
    Time after which the flow table's hash function changes, so that no collision lasts (paper, section 5). Packets in the queue keep their entry; credits stay where they are. Default: never.
    """
    off_classes: list[OffClass] = []
    """
    Traffic classes that DBL leaves alone: their packets are dropped only when the queue is full (paper, section 5). They count in the queue's length but have no entry in the flow table. Default: none.
    """
    hard_drop_classes: list[HardDropClass] = []
    """
    Traffic classes whose packets are all dropped beyond `dbl`, instead of one of them (paper, section 5). Default: none.
    """
    input_ports: DblInputPorts | None = None
    """
    Watch over the input ports that belligerent flows come by (paper, section 5). Default: none.
    """


class TcpTransport(BaseModel):
    """
    TCP: Reno, NewReno or SACK. Slow start, fast retransmit and recovery (RFC 5681, 6582, 6675), timeouts (RFC 6298), and by choice limited transmit (RFC 3042), delayed ACKs and ECN (RFC 3168).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    tcp: TcpConfig


class Udp(BaseModel):
    """
    UDP: packets at a rate of their own, whatever the network does. Exactly one pattern: `constant`, `on_off` or `poisson`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    packet: SizeDistribution
    """
    Size of a packet on the wire: "1000 B", or { exponential = "1000 B" } drawn for each packet.
    """
    constant: Constant | None = None
    """
    Evenly, at one rate.
    """
    on_off: OnOff | None = None
    """
    Evenly for a while, then nothing for a while.
    """
    poisson: Poisson | None = None
    """
    With exponential gaps.
    """


class FixedApplication(BaseModel):
    """
    One transfer.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fixed: FixedSize


class RequestResponseApplication(BaseModel):
    """
    One transfer after the other, with pauses.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    request_response: RequestResponse


Application = TypeAliasType(
    "Application", Literal["unlimited"] | FixedApplication | RequestResponseApplication
)
"""
What a TCP flow sends.
"""


class DblQueue(BaseModel):
    """
    Dynamic buffer limiting: limits what each flow holds of the buffer, and those that do not respond to one packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dbl: DblConfig


class UdpTransport(BaseModel):
    """
    UDP: packets at a rate of their own, whatever the network does.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    udp: Udp


Transport = TypeAliasType("Transport", TcpTransport | UdpTransport | Literal["tcp"])
"""
Who sends: exactly one of these.
"""


class Scenario(BaseModel):
    """
    A scenario: a network, its traffic, and what is recorded.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str | None = None
    """
    Name, for results. Default: the file's name without its extension.
    """
    description: str | None = None
    """
    What it shows, for people.
    """
    duration: Span
    """
    Simulated time.
    """
    warmup: Span = "0 ps"
    """
    What happens before is left out of the tables. Shorter than `duration`.
    """
    seed: Annotated[int, Field(ge=0)] = 1
    """
    All random numbers follow from it.
    """
    topology: Topology
    """
    The network: exactly one of `star`, `dumbbell`, `chain`, `graph`.
    """
    flows: Annotated[list[FlowGroup], Field(min_length=1)]
    """
    The traffic: at least one group.
    """
    probes: Probes | None = None
    """
    Time series. Default: none.
    """
    traces: list[Trace] | None = None
    """
    Packet traces.
    """


class StarTopology(BaseModel):
    """
    Sources on access links of their own, one router, one sink behind the bottleneck.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    star: Star


class DumbbellTopology(BaseModel):
    """
    Sources, a router, the bottleneck, a router, sinks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dumbbell: Dumbbell


class ChainTopology(BaseModel):
    """
    Routers in a row, at each of which flows may join, and one sink at the end.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    chain: Chain


class GraphTopology(BaseModel):
    """
    Any nodes and links, with shortest-path routes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    graph: Graph


Topology = TypeAliasType(
    "Topology", StarTopology | DumbbellTopology | ChainTopology | GraphTopology
)
"""
The network: exactly one of these.
"""


class Star(BaseModel):
    """
    Sources on access links of their own, one router, one sink behind the bottleneck. Links: `access-<flow>`, `bottleneck`, `reverse`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    access: LinkSpec
    """
    Each flow's own link between its source and the router, both directions.
    """
    bottleneck: LinkSpec
    """
    From the router to the sink.
    """
    reverse: LinkSpec | None = None
    """
    From the sink back to the router. Default: the bottleneck's rate and delay, drop-tail without limit.
    """


class LinkSpec(BaseModel):
    """
    One direction of a link: the queue of its sending port, its rate and its delay.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate
    """
    Rate.
    """
    delay: SpanDistribution
    """
    Propagation delay. A distribution is drawn once for each link.
    """
    queue: QueueSpec | None = None
    """
    The queue of the sending port. Default: drop-tail without limit.
    """
    loss: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    Probability that a data packet is lost at the link's entry, each independently of the others. Below 1.
    """


class CbqQueue(BaseModel):
    """
    Class-based queueing: a queue of any kind for each class of traffic, with a share, a shaping rate and a priority.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cbq: CbqConfig


QueueSpec = TypeAliasType(
    "QueueSpec",
    DropTailQueue
    | RedQueue
    | FredQueue
    | DblQueue
    | DrrQueue
    | WfqQueue
    | CbqQueue
    | Literal["drop_tail", "red", "fred", "dbl", "drr", "wfq"],
)
"""
The queue discipline of a sending port: exactly one of these.
"""


class CbqConfig(BaseModel):
    """
    Parameters of CBQ. `Q` describes the queue of a class.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[CbqClass]
    """
    The classes: at least one.
    """
    default_class: str | None = None
    """
    Name of the class for packets whose traffic class none of them lists. Default: the last.
    """


class CbqClass(BaseModel):
    """
    A class of CBQ.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Name of the class.
    """
    classes: list[Class] = []
    """
    The traffic classes whose packets it takes. Default: none, so that it is of use as the default class.
    """
    share: float = 1.0
    """
    Share of the link among the classes of the same priority, in proportion to the sum of their shares. Default: 1.
    """
    rate: Rate | None = None
    """
    Shaping rate, which the class never exceeds. Default: none.
    """
    burst: Bytes = "3 KB"
    """
    Bytes that the class may send at once after a pause, beyond its shaping rate. Default: 3000 B, two packets.
    """
    priority: Annotated[int, Field(ge=0, le=255)] = 0
    """
    Priority: a class sends only while no class of a smaller number can. Default: 0.
    """
    queue: QueueSpec
    """
    The queue of the class.
    """


class Dumbbell(BaseModel):
    """
    Sources, a router, the bottleneck, a router, sinks. Links: `access-<host>`, `bottleneck`, `reverse`, `sink-<host>`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    sources: HostCount = "per-flow"
    """
    Hosts on the left: a number, or "per-flow": each flow has one of its own.
    """
    sinks: HostCount = "per-flow"
    """
    Hosts on the right: a number, or "per-flow": each flow has one of its own.
    """
    placement: Placement = "round-robin"
    """
    On which host a flow is put where there is a number of them.
    """
    access: LinkSpec
    """
    Links between the left hosts and their router, both directions; also for the sinks, unless `sink_access` is given.
    """
    sink_access: LinkSpec | None = None
    """
    Links between the right router and the sinks, both directions. Default: `access`.
    """
    bottleneck: LinkSpec
    """
    From the left router to the right one.
    """
    reverse: LinkSpec | None = None
    """
    From the right router to the left one. Default: the bottleneck's rate and delay, drop-tail without limit.
    """


class Chain(BaseModel):
    """
    Routers in a row, at each of which flows may join, and one sink behind the last. Links: `hop-1` to `hop-<hops>`, `access-<flow>`. The DBL paper's Figure 7.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    hops: Annotated[int, Field(ge=1)]
    """
    Number of routers, and of links `hop-i`: from router i to the next, the last to the sink.
    """
    access: LinkSpec
    """
    Each flow's own link between its source and the router where it joins, both directions.
    """
    link: LinkSpec
    """
    Each of the links `hop-i`.
    """


class Graph(BaseModel):
    """
    Any nodes and links, with shortest-path routes. Links: `<from>-><to>`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    nodes: list[Node]
    """
    Hosts and routers.
    """
    links: list[GraphLink]
    """
    Full-duplex links between them.
    """


class GraphLink(BaseModel):
    """
    A full-duplex link between two nodes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    from_: Annotated[str, Field(alias="from")]
    """
    Name of the node at one end.
    """
    to: str
    """
    Name of the node at the other end.
    """
    rate: Rate
    """
    Rate.
    """
    delay: SpanDistribution
    """
    Propagation delay. A distribution is drawn once for each direction.
    """
    queue: QueueSpec | None = None
    """
    The queue of the sending port. Default: drop-tail without limit.
    """
    loss: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    Probability that a data packet is lost at the link's entry, each independently of the others. Below 1.
    """
    metric: Annotated[int, Field(ge=1)] = 1
    """
    Length of the link for the choice of routes, in each direction; routes take the smallest sum.
    """
    reverse: LinkSpec | None = None
    """
    The direction from `to` to `from`. Default: the same rate, delay, queue and loss.
    """


class FlowGroup(BaseModel):
    """
    A group of flows that differ in nothing but their random numbers.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Name of the group. Its flows are `name-0`, `name-1`, …; just `name` where `count` is not given.
    """
    count: Annotated[int | None, Field(ge=1)] = None
    """
    Number of flows. Default: one, which has the group's name.
    """
    transport: Transport
    """
    Who sends: TCP or UDP.
    """
    app: Application | None = None
    """
    What is sent; TCP only.
    """
    start: Annotated[SpanDistribution, Field(validate_default=True)] = "0 ps"
    """
    When the flow begins; drawn for each flow.
    """
    stagger: Span = "0 ps"
    """
    The i-th flow of the group, from 0, begins i times this later.
    """
    stop: Span | None = None
    """
    When the flow stops to send. Default: at the end of the run.
    """
    class_: Annotated[int, Field(alias="class", ge=0, le=255)] = 0
    """
    Traffic class, for disciplines that look at it.
    """
    access: LinkSpec | None = None
    """
    The flow's own link between its source and the first router, both directions, in place of the topology's.
    """
    from_: Annotated[OneOrMany | None, Field(alias="from")] = None
    """
    Free graph only, required there: the host, or hosts in turn, that send.
    """
    to: OneOrMany | None = None
    """
    Free graph only, required there: the host, or hosts in turn, that receive.
    """
    enters: Enters | None = None
    """
    Chain only: the router at which the flows join, from 1, or "each": flow i, from 0, joins at router i + 1.
    """
    ecn: bool = False
    """
    UDP only: packets are ECN-capable, ECT(0). For TCP see `transport.tcp.ecn`.
    """


Scenario.model_rebuild()
StarTopology.model_rebuild()
DumbbellTopology.model_rebuild()
ChainTopology.model_rebuild()
GraphTopology.model_rebuild()
Star.model_rebuild()
LinkSpec.model_rebuild()
CbqQueue.model_rebuild()
CbqConfig.model_rebuild()
Graph.model_rebuild()
