# Generated from the schema by `cargo xtask generate`: change it there.

from __future__ import annotations

from typing import Annotated, Any, Literal

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


class AredConfig(BaseModel):
    """
    Parameters of Adaptive RED.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    min_threshold: QueueSize | None = None
    """
    `min_th`: average queue below which nothing is dropped; its unit is the unit of the average. Default: half of what the link sends in `target_delay`, but at least 5 packets (ns-2).
    """
    max_threshold: QueueSize | None = None
    """
    `max_th`: average queue at which the probability is `max_p`, in the unit of `min_threshold`. Default: three times `min_threshold` (paper), but at most `limit`.
    """
    target_delay: Span = "5 ms"
    """
    Queueing delay that the automatic thresholds aim at. Default: 5 ms (paper).
    """
    weight: float | None = None
    """
    `w_q`: weight of each new sample in the moving average. Default: 1 - exp(-1/C), with C mean packets that the link sends in a second (paper).
    """
    max_probability: float = 0.1
    """
    `max_p` at the start. Default: 0.1 (ns-2).
    """
    bottom: float = 0.01
    """
    Lowest `max_p`. Default: 0.01 (paper).
    """
    top: float = 0.5
    """
    Highest `max_p`. Default: 0.5 (paper).
    """
    alpha: float = 0.01
    """
    Step by which `max_p` grows, where a quarter of `max_p` is not less. Default: 0.01 (paper).
    """
    beta: float = 0.9
    """
    Factor by which `max_p` shrinks. Default: 0.9 (paper).
    """
    interval: Span = "500 ms"
    """
    Time between two looks at the average. Default: 500 ms (paper).
    """
    ns_clock: bool = False
    """
    Whether `interval` is counted from the last change and looked at on arrivals only, at most one step each, as in ns-2 and ns-3. Default: no.
    """
    gentle: bool = True
    """
    Whether the probability climbs from `max_p` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: yes (paper).
    """
    wait: bool = False
    """
    Whether at least 1/p packets pass between two early drops. Default: no; ns-2 has it on.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are withheld while one packet or none is waiting. Default: no; ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size over `mean_packet_size`. Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the automatic thresholds and weight, the idle rule and `byte_mode` refer to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early. Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets past the end of the profile are dropped even if they are ECN-capable. Default: yes.
    """


class FengRedConfig(BaseModel):
    """
    Parameters of self-configuring RED.
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
    `min_th`: average queue below which nothing is dropped, in packets or bytes: its unit is the unit of the average. Default: 5 packets (RED).
    """
    max_threshold: QueueSize = "15 packets"
    """
    `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability climbs to 1), in the unit of `min_threshold`. Default: 15 packets (RED).
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002 (RED).
    """
    max_probability: float = 0.02
    """
    `max_p` at the start. Default: 0.02 (RED).
    """
    alpha: float = 3.0
    """
    What `max_p` is divided by when the average falls below `min_threshold`. Default: 3 (paper).
    """
    beta: float = 2.0
    """
    What `max_p` is multiplied by when the average rises above `max_threshold`. Default: 2 (paper).
    """
    bottom: float = 1e-06
    """
    Lowest `max_p`. Default: 0.000001.
    """
    gentle: bool = False
    """
    Whether the probability climbs from `max_p` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: no (paper); ns-2 has it on since 2001.
    """
    wait: bool = False
    """
    Whether at least 1/p packets pass between two early drops. Default: no; ns-2 has it on.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are withheld while one packet or none is waiting. Default: no; ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size over `mean_packet_size`. Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate over it is the number of samples that an idle period counts for, and `byte_mode` refers to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early. Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets past the end of the profile are dropped even if they are ECN-capable. Default: yes.
    """


class RedPdConfig(BaseModel):
    """
    Parameters of RED-PD.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    target_rtt: Span = "40 ms"
    """
    `R`: round-trip time of the TCP that a flow may be as fast as. Default: 40 ms (paper).
    """
    lists: Annotated[int, Field(ge=0)] = 5
    """
    `M`: lists of dropped flows that are kept, one for each period; at most 8. Default: 5 (paper).
    """
    lists_to_monitor: Annotated[int, Field(ge=0)] = 3
    """
    `K`: lists that a flow has to be in to be monitored. Default: 3 (paper).
    """
    list_entries: Annotated[int, Field(ge=0)] = 50
    """
    Flows of a list: those with the most bytes dropped. Default: 50 (ns-2).
    """
    min_period: Span | None = None
    """
    Shortest period. Default: twice `target_rtt` (ns-2).
    """
    max_period: Span | None = None
    """
    Longest period. Default: ten times `target_rtt` (ns-2).
    """
    min_change_time: Span = "400 ms"
    """
    Least time between two changes of a flow's probability. Default: 400 ms (ns-2).
    """
    max_reduction: float = 0.05
    """
    Most by which a flow's probability is lowered at a time. Default: 0.05 (ns-2).
    """
    unresponsive_test: bool = True
    """
    Whether flows are tested for being unresponsive. Default: yes.
    """
    keep_busy: bool = False
    """
    Whether the filter spares unresponsive flows, too, while one packet or none is waiting (`noidle_` in ns-2). Default: no.
    """
    min_threshold: QueueSize = "5 packets"
    """
    `min_th`: average queue below which RED drops nothing, and the filter nothing of responsive flows; in packets or bytes: its unit is the unit of the average. Default: 5 packets (RED).
    """
    max_threshold: QueueSize = "15 packets"
    """
    `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability climbs to 1), in the unit of `min_threshold`. Default: 15 packets (RED).
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002 (RED).
    """
    max_probability: float = 0.1
    """
    `max_p`: drop probability at `max_threshold`, before the gaps are made uniform. Default: 0.1 (ns-2).
    """
    gentle: bool = True
    """
    Whether RED's probability climbs from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1, past which there are no early drops to tell flows by. Default: yes (ns-2).
    """
    wait: bool = False
    """
    Whether at least 1/p packets pass between two of RED's early drops. Default: no; ns-2 has it on.
    """
    small_queue_guard: bool = False
    """
    Whether RED's early drops are withheld while one packet or none is waiting. Default: no; ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether RED's drop probability grows in proportion to a packet's size over `mean_packet_size`. Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate over it is the number of samples that an idle period counts for, and `byte_mode` refers to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether RED marks ECN-capable packets instead of dropping them early; the filter always drops. Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets past the end of RED's profile are dropped even if they are ECN-capable. Default: yes.
    """


class PenaltyBoxConfig(BaseModel):
    """
    Parameters of RED with penalty box.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    log_entries: Annotated[int, Field(ge=0)] = 1000
    """
    Drops that the log holds; at most a million. Default: 1000.
    """
    interval: Span = "1 s"
    """
    Time between two looks at the log. Default: 1 s.
    """
    min_drops: Annotated[int, Field(ge=0)] = 10
    """
    Drops that a flow has to have in the log to be tested: fewer say too little about its rate. Default: 10.
    """
    rtt: Span = "40 ms"
    """
    `R`: round-trip time of the TCP that a flow may be as fast as. Default: 40 ms (RED-PD's).
    """
    packet_size: Bytes = "1500 B"
    """
    `B`: packet size of that TCP. Default: 1500 B.
    """
    min_drop_rate: float = 0.01
    """
    Drop rate below which no flow's share is out of proportion, and from which its growth is counted: lower ones are those of a few drops. Default: 0.01.
    """
    box_share: float = 0.05
    """
    Share of the link's rate that the flows in the box have together. Default: 0.05.
    """
    box_burst: Bytes = "15 KB"
    """
    What they may send at once: the depth of their token bucket. Default: 15 KB, ten large packets.
    """
    min_threshold: QueueSize = "5 packets"
    """
    `min_th`: average queue below which nothing is dropped, in packets or bytes: its unit is the unit of the average. Default: 5 packets (RED).
    """
    max_threshold: QueueSize = "15 packets"
    """
    `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability climbs to 1), in the unit of `min_threshold`. Default: 15 packets (RED).
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002 (RED).
    """
    max_probability: float = 0.02
    """
    `max_p`: drop probability at `max_threshold`, before the gaps are made uniform. Default: 0.02 (RED).
    """
    gentle: bool = False
    """
    Whether the probability climbs from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: no (RED).
    """
    wait: bool = False
    """
    Whether at least 1/p packets pass between two early drops. Default: no; ns-2 has it on.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are withheld while one packet or none is waiting. Default: no; ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size over `mean_packet_size`. Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate over it is the number of samples that an idle period counts for, and `byte_mode` refers to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether RED marks ECN-capable packets instead of dropping them early; a mark counts as a drop, and the box always drops. Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets past the upper threshold are dropped even if they are ECN-capable. Default: yes.
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


class BlueConfig(BaseModel):
    """
    Parameters of BLUE.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    increment: float = 0.0025
    """
    `d1`: what a loss adds to the probability. Default: 0.0025 (paper, configurations B1 and B2).
    """
    decrement: float = 0.00025
    """
    `d2`: what an idle link takes off the probability. Much less than `increment`, because an idle link can also come of too little load. Default: 0.00025 (paper, configurations B1 and B2).
    """
    freeze_time: Span = "100 ms"
    """
    Least time between two changes of the probability, in the order of the sources' round-trip times. Default: 100 ms (paper, configuration B2).
    """
    separate_freeze: bool = False
    """
    Whether a change in one direction leaves the other free to follow at once, as in the authors' simulator. Default: no (paper's pseudo-code).
    """
    threshold: QueueSize | None = None
    """
    `L`: queue past which an arriving packet counts as a loss, so that some room is left for bursts. Default: none, only losses count.
    """
    ecn: bool = True
    """
    Whether ECN-capable packets are marked where they would be dropped at random. Default: yes (the paper marks).
    """


SfbDropRule = TypeAliasType("SfbDropRule", Literal["all", "any"])
"""
Which bins of a packet have to be over their size for it to be dropped.
"""


SfbRateLimitScope = TypeAliasType("SfbRateLimitScope", Literal["per_bin", "aggregate"])
"""
What has a token bucket in the rate limiter.
"""


class SfbFairLimit(BaseModel):
    """
    How the fair share is estimated to which identified flows are held.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    interval: Span = "2 s"
    """
    Time over which flows are counted: long enough for every flow to send a packet. Default: 2 s.
    """
    flow_bits: Annotated[int, Field(ge=0)] = 4096
    """
    Bits of the map in which flows are counted; good for about seven times as many flows. Default: 4096.
    """


class SfredConfig(BaseModel):
    """
    Parameters of Stochastic Fair RED.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "200 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 200 packets, as for SFB.
    """
    levels: Annotated[int, Field(ge=0)] = 2
    """
    `L`: levels of bins, each with a hash function of its own; at most 16. Default: 2, as for SFB.
    """
    bins: Annotated[int, Field(ge=0)] = 23
    """
    `N`: bins of a level. Default: 23, as for SFB.
    """
    bin_size: Annotated[int | None, Field(ge=0)] = None
    """
    `max_th` of a bin's average, in packets; `min_th` is a third of it. Default: 1.5 times the share of `limit` that a bin has among those of its level, a limit in bytes being counted in packets of 1000 B: 13 packets with the other defaults, as for SFB.
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in a bin's moving average. Default: 0.002, as for RED.
    """
    max_probability: float = 0.1
    """
    `max_p` with which each bin starts. Default: 0.1.
    """
    decrease_factor: float = 3.0
    """
    `alpha`: what `max_p` is divided by when the average falls below the lower threshold. Default: 3 (Feng et al. 1999).
    """
    increase_factor: float = 2.0
    """
    `beta`: what `max_p` is multiplied by when the average climbs past the upper threshold. Default: 2 (Feng et al. 1999).
    """
    rate_limit: Rate = "160 kbps"
    """
    The rate to which a flow is held whose bins all have a `max_p` of 1. Default: 160 kb/s, as for SFB.
    """
    rate_limit_scope: SfbRateLimitScope = "per_bin"
    """
    Whether each of these flows has that rate or all of them together. Default: each.
    """
    burst: Bytes = "3 KB"
    """
    Depth of the rate limiter's token buckets. Default: 3000 B, two packets of 1500 B.
    """
    rehash_interval: Span | None = None
    """
    Moving hash: time after which the bins are reset and their hash functions change. Default: never.
    """
    mean_packet_size: Bytes = "1 KB"
    """
    Mean packet size: a bin's share of the link's rate over it is the number of samples that an empty bin misses. Default: 1000 B, the paper's packets.
    """
    ecn: bool = True
    """
    Whether ECN-capable packets are marked where they would be dropped at random. Default: yes, as for SFB.
    """


class ChokeConfig(BaseModel):
    """
    Parameters of CHOKe.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "300 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 300 packets (paper, simulations).
    """
    min_threshold: QueueSize = "100 packets"
    """
    `min_th`: average queue up to which nothing is dropped, in packets or bytes. Default: 100 packets (paper, simulations).
    """
    max_threshold: QueueSize = "200 packets"
    """
    `max_th`: average queue from which every packet is dropped, in the unit of `min_threshold`. Default: 200 packets (paper, simulations).
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002 (RED's paper).
    """
    max_probability: float = 0.02
    """
    `max_p`: RED's drop probability at `max_threshold`, before the gaps are made uniform. Default: 0.02 (RED's paper).
    """
    candidates: Annotated[int, Field(ge=0)] = 1
    """
    `m`: packets drawn from the queue for each arrival. Default: 1 (paper).
    """
    regions: Annotated[int | None, Field(ge=0)] = None
    """
    Number of regions of equal width between the thresholds if the number of candidates is to follow the average: 2 in the first region, 2 more in each further one. Default: none; the paper has 8.
    """
    all_matches: bool = True
    """
    Whether all candidates of the arrival's flow are dropped; otherwise drawing ends with the first, and only that one is. Default: yes (paper).
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate over it is the number of samples that an idle period counts for. Default: 500 B (ns-2's for RED).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked where RED would drop them early. Default: no.
    """


SfqPlacement = TypeAliasType("SfqPlacement", Literal["random", "ns2"])
"""
How flows are placed in buckets.
"""


class SfqRedConfig(BaseModel):
    """
    Parameters of SFQ with RED in each bucket.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "414 KB"
    """
    What all buckets together hold at most, in packets or bytes: each has an even part of it. The packet on the wire is not counted. Default: 414 KB (paper).
    """
    buckets: Annotated[int, Field(ge=0)] = 46
    """
    Number of buckets. Default: 46 (paper).
    """
    placement: SfqPlacement = "random"
    """
    How flows are placed in buckets, as in `sfq`: `random` by a hash, or `ns2` in consecutive buckets, as ns-2 does for consecutive hosts. Default: `random` (McKenney).
    """
    quantum: Bytes | None = None
    """
    Bytes that a bucket may send in each turn. Default: one packet of any size (McKenney).
    """
    min_threshold: QueueSize = "2 KB"
    """
    `min_th`: a bucket's average length below which nothing is dropped, in packets or bytes. Default: 2 KB (paper).
    """
    max_threshold: QueueSize = "8 KB"
    """
    `max_th`: a bucket's average length from which every packet is dropped (or, if `gentle`, from which the probability climbs to 1), in the unit of `min_threshold`. Default: 8 KB (paper).
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002.
    """
    max_probability: float = 0.1
    """
    `max_p`: drop probability at `max_threshold`, before the gaps are made uniform. Default: 0.1.
    """
    gentle: bool = False
    """
    Whether the probability climbs from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: no.
    """
    wait: bool = False
    """
    Whether at least 1/p packets pass between two early drops (ns-2). Default: no.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are withheld while one packet or none is waiting in the bucket (ns-2). Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: a bucket's part of the link's rate over it is the number of samples that an idle period counts for. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early. Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets past the upper threshold are dropped even if they are ECN-capable. Default: yes.
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


class SredConfig(BaseModel):
    """
    Parameters of SRED.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    B: what the queue holds at most, in packets or bytes; the packet on the wire is not counted. A sixth and a third of it are the steps of the drop probability. Default: 1000 packets.
    """
    zombies: Annotated[int, Field(ge=0)] = 1000
    """
    M: length of the zombie list. Default: 1000 (paper).
    """
    overwrite_probability: float = 0.25
    """
    p: probability with which a packet that does not hit takes the place of the zombie it was compared with. Over `zombies` it is the weight of a packet in the moving average of the hits. Default: 0.25 (paper).
    """
    max_probability: float = 0.15
    """
    `p_max`: drop probability from a third of the limit on, before the number of flows is considered. Default: 0.15 (paper).
    """
    full: bool = True
    """
    Whether a packet that hits is the more likely to be dropped (the paper's "full SRED"), instead of all packets alike ("simple SRED"). Default: yes.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early. Default: no.
    """


class PiDesign(BaseModel):
    """
    The traffic that PI's gains are computed for.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    flows: Annotated[int, Field(ge=0)]
    """
    N: the fewest long TCP flows that share the link; with more the loop is slower, and stable.
    """
    round_trip_time: Span
    """
    R: their longest round-trip time, the queue at its reference included.
    """


CsfqRole = TypeAliasType("CsfqRole", Literal["edge", "core"])
"""
What a router is to the packets of this queue.
"""


SquareRoot = TypeAliasType("SquareRoot", Literal["exact", "newton16"])
"""
How CoDel computes the square root of the number of drops.
"""


class FqCodelConfig(BaseModel):
    """
    Parameters of FQ-CoDel.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "10240 packets"
    """
    What all queues together hold at most, in packets or bytes; the packet on the wire is not counted. Default: 10240 packets (RFC 8290, section 5.2).
    """
    memory_limit: Bytes = "32 MiB"
    """
    What all queues together hold at most in bytes, if that is less than `limit`. Default: 32 MiB (Linux).
    """
    flows: Annotated[int, Field(ge=0)] = 1024
    """
    Number of queues that flows are hashed to. Default: 1024 (RFC 8290, section 5.2).
    """
    quantum: Bytes = "1514 B"
    """
    Quantum: bytes that a queue may send in its turn. Default: 1514 B, an Ethernet's MTU with its header (RFC 8290, section 5.2).
    """
    drop_batch: Annotated[int, Field(ge=0)] = 64
    """
    Packets that the longest queue loses at most when the buffer is full, unless half of its bytes are fewer. Default: 64 (RFC 8290, section 4.1).
    """
    target: Span = "5 ms"
    """
    CoDel's TARGET: the delay in a queue that is worth having for the sake of utilisation. Default: 5 ms (RFC 8290, section 5.2).
    """
    interval: Span = "100 ms"
    """
    CoDel's INTERVAL: how long the delay has to stay above the target before the first drop. Default: 100 ms (RFC 8290, section 5.2).
    """
    max_packet_size: Bytes = "1500 B"
    """
    The longest packet: with no more than that left in a queue CoDel drops nothing. Default: 1500 B.
    """
    square_root: SquareRoot = "exact"
    """
    How CoDel computes the square root of the number of drops. Default: `exact`.
    """
    ecn: bool = True
    """
    Whether CoDel marks ECN-capable packets instead of dropping them. Default: yes (RFC 8290, section 5.2).
    """
    ce_threshold: Span | None = None
    """
    Delay from which every ECN-capable packet is marked, whatever the control law says (RFC 8290, section 5.2). Default: none.
    """


class CobaltConfig(BaseModel):
    """
    Parameters of COBALT.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    target: Span = "5 ms"
    """
    Delay in the queue above which the control law counts it as congested; also the least time between two steps of BLUE's probability. Default: 5 ms (CAKE).
    """
    interval: Span = "100 ms"
    """
    How long the delay has to stay above the target before the first drop, and the longest gap between drops. Default: 100 ms (CAKE).
    """
    max_packet_size: Bytes = "1500 B"
    """
    The longest packet: the delay of four of them at the link's rate is not congestion. Default: 1500 B.
    """
    increment: float = 0.00390625
    """
    What BLUE's drop probability grows by when the queue overflows. Default: 1/256 (CAKE).
    """
    decrement: float = 0.000244140625
    """
    What BLUE's drop probability shrinks by when the queue runs empty. Default: 1/4096 (CAKE).
    """
    blue_threshold: Span | None = None
    """
    Delay above which BLUE's drop probability grows as if the queue had overflowed. Default: none (CAKE); 400 ms in ns-3.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped by the control law. Default: no (ns-3); CAKE does so.
    """
    ce_threshold: Span | None = None
    """
    Delay from which every ECN-capable packet is marked, whatever the control law says. Default: none.
    """


class PieConfig(BaseModel):
    """
    Parameters of PIE.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets (Linux).
    """
    target: Span = "15 ms"
    """
    QDELAY_REF: the queueing delay that is aimed at. Default: 15 ms (RFC 8033, section 4.2).
    """
    update_interval: Span = "15 ms"
    """
    T_UPDATE: the period of the controller. Default: 15 ms (RFC 8033, section 4.2).
    """
    alpha: float = 0.125
    """
    Step of the probability a tick for each second of delay above the target, at a probability of 10 % or more. Default: 0.125 (RFC 8033, section 4.2).
    """
    beta: float = 1.25
    """
    Step of the probability a tick for each second by which the delay has grown, at a probability of 10 % or more. Default: 1.25 (RFC 8033, section 4.2).
    """
    max_burst: Span = "150 ms"
    """
    MAX_BURST: how long nothing is dropped early after a quiet time. Default: 150 ms (RFC 8033, section 4.4).
    """
    mean_packet_size: Bytes = "1500 B"
    """
    MEAN_PKTSIZE: with no more than two of these queued nothing is dropped early, and `byte_mode` refers to it. Default: 1500 B, an Ethernet's MTU.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size over `mean_packet_size`. Default: no.
    """
    derandomize: bool = False
    """
    Whether drops are spread out: none until the probabilities of the packets since the last one add up to 0.85, and one for certain when they add up to 8.5 (RFC 8033, section 5.4). Default: no.
    """
    cap_adjustment: bool = True
    """
    Whether the probability rises by no more than 2 % a tick once it is at 10 % (RFC 8033, section 5.5). Default: yes.
    """
    active_threshold: Span | None = None
    """
    Delay at which PIE becomes active, after nothing has been dropped early and the probability has rested; it becomes inactive when the probability is 0 and the delay below half of the target (RFC 8033, section 5.3, where a third of the buffer does what the delay does here and in ns-3). Default: always active.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early (RFC 8033, section 5.1). Default: no.
    """
    mark_threshold: float = 0.1
    """
    `mark_ecnth`: probability above which ECN-capable packets are dropped all the same. Default: 0.1 (RFC 8033, section 5.1).
    """


AfdForm = TypeAliasType("AfdForm", Literal["shadow_buffer", "flow_table"])
"""
What AFD keeps its sample in.
"""


class BreatheConfig(BaseModel):
    """
    Parameters of BREATHe.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "300 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 300 packets (paper, section 4).
    """
    min_threshold: QueueSize = "100 packets"
    """
    `min_th`: average queue below which nothing is dropped, in packets or bytes: its unit is the unit of the average, and `max_threshold` has to have the same. Default: 100 packets, a third of the default limit.
    """
    max_threshold: QueueSize = "200 packets"
    """
    `max_th`: average queue above which every packet is dropped. Default: 200 packets, two thirds of the default limit.
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002 (RED).
    """
    max_probability: float = 0.02
    """
    `max_p`: drop probability of packets that are not blocked at `max_threshold`, before the gaps are made uniform. Default: 0.02 (RED).
    """
    uniform_gaps: bool = True
    """
    Whether the gaps between random drops are made uniform, as in RED. Default: yes.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate over it is the number of samples that an idle period counts for. Default: 500 B (ns-2's for RED).
    """
    counters: Annotated[int | None, Field(ge=0)] = None
    """
    Number of counters, K: flows are held to 1/(K + 1) of the link. Too few let heavy flows through. Where that share is less than the fair rate there are too many: the counters of all fast flows grow without end, and these share by their rates what is left to them, as the queue falls to `min_threshold` and all are let in. With a counter for each active flow no counter is ever decremented, and nobody is told apart; the gauge `decrements` then stands still. How many flows there will be only the user knows, so that nothing is refused. From 1 to 1048576. Default: as `flow_rate_limit` says, else 32.
    """
    flow_rate_limit: Rate | None = None
    """
    `r_limit`: rate above which a flow is to be blocked; the counters are then the link's rate over it, rounded up (paper, section 3.1). Not together with `counters`. Default: none.
    """
    member_threshold: Annotated[int, Field(ge=0)] = 0
    """
    A flow is blocked only if its counter is more than this. Default: 0, every member (paper, section 3).
    """
    decay_period: Span | None = None
    """
    Time after which all counters are halved, so that old sins are forgotten even where no counter is decremented. Default: never; the paper has no such rule.
    """
    bytes_per_count: Bytes | None = None
    """
    Bytes that count as one: a packet counts its length over this, rounded up. Default: none, each packet counts once (paper, section 3.1).
    """
    count_departures: bool = False
    """
    Whether a packet is counted when its transmission begins, instead of when it is let in. A burst that is queued is then not held against its flow at once. Default: no.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked where they would be dropped at random. Default: no.
    """


Class = TypeAliasType("Class", Annotated[int, Field(ge=0, le=255)])


PythonQueue1 = TypeAliasType(
    "PythonQueue1", Annotated[str, Field(pattern="^[\\w.]+:[\\w.]+$")]
)
"""
A class written in Python, alone or with its parameters.
"""


class PythonQueue2(BaseModel):
    """
    A class written in Python, with its parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    class_: Annotated[str, Field(alias="class", pattern="^[\\w.]+:[\\w.]+$")]
    """
    Where the class is: `"module:Class"`.
    """
    parameters: dict[str, Any] = {}
    """
    What its constructor is called with, by name. Default: nothing.
    """


PythonQueue = TypeAliasType("PythonQueue", PythonQueue1 | PythonQueue2)
"""
A class written in Python, alone or with its parameters.
"""


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


Speedup1 = TypeAliasType("Speedup1", Annotated[float, Field(ge=1.0)])
"""
A rational number of at least 1: 2, 1.2 or "6/5".
"""


Speedup2 = TypeAliasType(
    "Speedup2",
    Annotated[str, Field(pattern="^\\s*[0-9]+(\\.[0-9]*|\\s*/\\s*[0-9]+)?\\s*$")],
)
"""
A rational number of at least 1: 2, 1.2 or "6/5".
"""


Speedup = TypeAliasType("Speedup", Speedup1 | Speedup2)
"""
A rational number of at least 1: 2, 1.2 or "6/5".
"""


class MwmConfig(BaseModel):
    """
    Maximum weight matching has no parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )


class IslipConfig(BaseModel):
    """
    Parameters of iSLIP.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    iterations: Annotated[int | None, Field(ge=0)] = None
    """
    Iterations of request, grant and accept in a phase, at most. Default: log2 of the number of ports, rounded up, and one more: 4 for 8 ports.
    """


class PimConfig(BaseModel):
    """
    Parameters of PIM.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    iterations: Annotated[int | None, Field(ge=0)] = None
    """
    Iterations of request, grant and accept in a phase, at most. Default: log2 of the number of ports, rounded up, and one more: 4 for 8 ports.
    """


class IlqfConfig(BaseModel):
    """
    Parameters of longest queue first.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    iterations: Annotated[int | None, Field(ge=0)] = None
    """
    Iterations of request, grant and accept in a phase, at most (iLQF). Default: none; the matching is the greedy one.
    """


class MaximumSizeConfig(BaseModel):
    """
    Maximum size matching has no parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )


class WavefrontConfig(BaseModel):
    """
    The wavefront arbiter has no parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )


class MatrixLoadPattern(BaseModel):
    """
    The load of each input (row) to each output (column), in units of the line rate; a load given beside it multiplies it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    matrix: list[list[float]]


class HotSpot(BaseModel):
    """
    One output that gets more than its share.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    output: Annotated[int, Field(ge=0)] = 1
    """
    The hot output, counted from 1. Default: 1.
    """
    fraction: float = 0.5
    """
    Fraction of each input's traffic that goes to it; the rest is spread evenly over the others. Default: 0.5.
    """


Trunk = TypeAliasType("Trunk", Annotated[list[str], Field(max_length=2, min_length=2)])


class EthernetLink(BaseModel):
    """
    A link of an Ethernet, in each direction.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate
    """
    Rate.
    """
    delay: Span
    """
    Propagation delay.
    """


class ProbabilitySampling(BaseModel):
    """
    Each with this probability.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    probability: float


class SamplingInterval(BaseModel):
    """
    How many bytes join the queue from one sample to the next.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bytes: Bytes = "75 KB"
    """
    Their mean number. Default: 75 KB (slides).
    """
    jitter: float = 0.15
    """
    How far their number may be off the mean, as a part of it, so that samples do not fall into step with the traffic. Default: 0.15 (as with QCN).
    """


SevereMessage = TypeAliasType("SevereMessage", Literal["bcn_max", "bcn_zero", "none"])
"""
What is told under severe congestion.
"""


class SelfIncrease(BaseModel):
    """
    A rate that grows with time, also known as drift.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    period: Span
    """
    `T_d`: how often.
    """
    step: Rate
    """
    `R_d`: by how much.
    """


QcnVariant = TypeAliasType("QcnVariant", Literal["standard", "pseudo_code"])
"""
What the reaction point follows.
"""


class QcnProbabilisticSampling(BaseModel):
    """
    Probabilities of the early QCN.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    least: float = 0.01
    """
    `p0`: the probability with which a frame is sampled while there is no congestion. Default: 0.01.
    """
    most: float = 0.1
    """
    `p1`: the one at the largest feedback. Default: 0.1.
    """


class Hyperbolic(BaseModel):
    """
    Parameters of the hyperbolic queue-control function.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    empty: float = 1.1
    """
    a: what is offered while the queue is empty, as a multiple of the capacity. Default: 1.1 (the authors').
    """
    steepness: float = 1.1
    """
    b: how fast the offer falls above the set-point. Default: 1.1 (tried; the authors': 1.002, with which the queue of the first overload takes 100 ms and more to drain).
    """
    floor: float = 0.1
    """
    c: the least that is offered, as a part of the capacity. Default: 0.1 (the authors').
    """


class Linear(BaseModel):
    """
    Parameters of the linear queue-control function.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    slope: float = 0.1
    """
    k: how much less is offered, as a part of the capacity, for a queue longer by the set-point. Default: 0.1, so that as much is offered at an empty queue as by the hyperbolic function.
    """
    floor: float = 0.1
    """
    c: the least that is offered, as a part of the capacity. Default: 0.1, as of the hyperbolic function.
    """


ShareMode = TypeAliasType("ShareMode", Literal["rho", "count"])
"""
How a port finds what to lower reports to.
"""


Silence = TypeAliasType("Silence", Literal["release", "decay"])
"""
What a source does when no report has come for three intervals.
"""


class DcqcnConfig(BaseModel):
    """
    Parameters of DCQCN.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    min_threshold: Bytes = "5 KB"
    """
    `K_min`: queue up to which no frame is marked. Default: 5 KB (paper, Figure 14).
    """
    max_threshold: Bytes = "200 KB"
    """
    `K_max`: queue above which every frame is. Default: 200 KB (paper, Figure 14).
    """
    max_probability: float = 0.01
    """
    `P_max`: probability of a mark at `max_threshold`; it grows linearly up to there. Default: 0.01 (paper, Figure 14).
    """
    notification_interval: Span = "50 us"
    """
    `N`: a destination sends one message a flow in such an interval, at most. Default: 50 us (paper, section 3.1).
    """
    gain: float = 0.00390625
    """
    `g`: weight of the newest interval in the estimate of congestion. Default: 1/256 (paper, Figure 14).
    """
    estimate_interval: Span = "55 us"
    """
    `K`: the estimate shrinks whenever no message came for so long; more than `notification_interval`. Default: 55 us (paper, section 3.1).
    """
    min_rate: Rate = "1 Mbps"
    """
    Rate below which no flow is cut. Default: 1 Mb/s (adapters' `rpg_min_rate`).
    """
    byte_cycle: Bytes = "10 MB"
    """
    `B`: bytes in a cycle of the byte counter. Default: 10 MB (paper, Figure 14).
    """
    timer_cycle: Span = "55 us"
    """
    `T`: a cycle of the timer. Default: 55 us (paper, Figure 14); adapters have 300 us (`rpg_time_reset`).
    """
    fast_recovery_cycles: Annotated[int, Field(ge=0)] = 5
    """
    `F`: cycles of fast recovery. Default: 5 (paper, section 3.1).
    """
    active_increase: Rate = "40 Mbps"
    """
    `R_AI`: what a cycle of active increase adds to the target rate. Default: 40 Mb/s (paper, section 5.2).
    """
    hyper_active_increase: Rate = "400 Mbps"
    """
    `R_HAI`: what the first cycle of hyper-active increase adds to the target rate; the second adds twice that, and so on. Default: 400 Mb/s (ours).
    """


class StaticOutputLimit(BaseModel):
    """
    This many bytes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    static: Bytes


class DynamicOutputLimit(BaseModel):
    """
    This many times the memory of the switch that is free (Choudhury and Hahne 1998): their alpha.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dynamic: float


OutputLimit = TypeAliasType("OutputLimit", StaticOutputLimit | DynamicOutputLimit)
"""
How much of a switch's memory one output may hold: exactly one of these.
"""


class Pause(BaseModel):
    """
    When a buffer stops its feeder.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    high: Bytes
    """
    With so much in the buffer, or more, the feeder is told to stop.
    """
    low: Bytes
    """
    With so much, or less, it is told to go on.
    """
    allow_loss: bool = False
    """
    Accept a buffer that has too little room above `high` for what comes before the feeder stops, or an output limit: then frames may be lost, and the results say how many.
    """


Reaction1 = TypeAliasType(
    "Reaction1", Annotated[str, Field(pattern="^\\s*[0-9]+\\s*(quanta|quantum)\\s*$")]
)
"""
A time, "3 us", or a number of pause quanta, of 512 bit times each: "60 quanta".
"""


Reaction = TypeAliasType("Reaction", Span | Reaction1)
"""
A time, "3 us", or a number of pause quanta, of 512 bit times each: "60 quanta".
"""


Arbiter = TypeAliasType("Arbiter", Literal["fifo", "round_robin"])
"""
In which order an output of a switch sends what its inputs have for it.
"""


class Adapter(BaseModel):
    """
    What the adapter of every node of an Ethernet is. It has a virtual output queue for each flow, which it serves in turn.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    voq_limit: QueueSize | None = None
    """
    The most frames in each virtual output queue; further ones are dropped at the source. Default: no limit.
    """
    rate_limiters: Annotated[int | None, Field(ge=1)] = None
    """
    How many flows may have a rate limiter at a time. Default: all.
    """
    egress_memory: Bytes = "150 KB"
    """
    Memory for what has come and the node has not taken yet.
    """
    pause: Pause | None = None
    """
    Stops the link from the switch (IEEE 802.3x). Default: frames that find no room are lost.
    """
    priority_pause: Pause | None = None
    """
    Stops single classes of the link from the switch (IEEE 802.1Qbb): the watermarks are those of each class.
    """
    reaction: Reaction = "0 ps"
    """
    How long after an order to stop the adapter still begins frames.
    """


class EthernetSwitch(BaseModel):
    """
    A switch of an Ethernet and its nodes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Its name.
    """
    nodes: list[str] = []
    """
    Names of the nodes that are joined to it, each by a link of its own. A core switch has none.
    """


ServiceAt = TypeAliasType("ServiceAt", Literal["switch", "node"])
"""
Whose rate a [`Service`] is.
"""


Preset = TypeAliasType(
    "Preset", Literal["rfc", "linux", "ns2", "ns2_linux", "ns2_pre2001"]
)
"""
A TCP that others know by name. Whoever takes one may still set each parameter.
"""


class BicConfig(BaseModel):
    """
    The parameters of BIC.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: float = 0.8
    """
    What is left of the window after a sign of congestion (β; Linux: 819/1024). Above 0 and below 1.
    """
    max_increment: Annotated[int, Field(ge=1)] = 16
    """
    The most that a round trip adds, in segments (the paper's Smax; Linux: 16). At least 1.
    """
    low_window: Annotated[int, Field(ge=0)] = 14
    """
    Up to this window, in segments, it grows and shrinks like Reno's (Linux: 14).
    """
    smooth_part: Annotated[int, Field(ge=1)] = 20
    """
    Round trips for the last four segments below the maximum and the first four above it (Linux: 20). At least 1.
    """
    fast_convergence: bool = True
    """
    A flow that loses below its last maximum aims lower still, which makes room for new ones.
    """


CubicArithmetic = TypeAliasType("CubicArithmetic", Literal["exact", "linux"])
"""
What CUBIC computes with.
"""


SlowStart = TypeAliasType(
    "SlowStart", Literal["standard", "hystart", "hystart_plus_plus"]
)
"""
How the window opens at first, and after a timeout.
"""


RateReduction = TypeAliasType(
    "RateReduction", Literal["at_once", "rate_halving", "proportional"]
)
"""
How the sender gets from the old window to the reduced one in the recovery with SACK.
"""


MinRtoOf = TypeAliasType("MinRtoOf", Literal["timeout", "deviation"])
"""
What `min_rto` is the least value of.
"""


EcnFloor = TypeAliasType(
    "EcnFloor", Literal["two_segments", "one_segment", "timer", "ns2"]
)
"""
How far marks reduce the window.
"""


ReductionBase = TypeAliasType(
    "ReductionBase", Literal["flight_size", "congestion_window"]
)
"""
What a sign of congestion reduces to a part.
"""


IdleRestart = TypeAliasType("IdleRestart", Literal["initial_window", "halving"])
"""
What an idle time longer than the retransmission timeout does to the window.
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


class RateStep(BaseModel):
    """
    A rate, and since when it applies.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    from_: Annotated[Span, Field(alias="from")]
    """
    When it begins, on the clock of the run.
    """
    rate: Rate
    """
    Rate on the wire.
    """


class Cells(BaseModel):
    """
    Cells in the slots of a line, as switch theory has them: only in front of a switch. There is a source for each input, and a flow for each pair of an input and an output that the load uses, named `<group>/<input>-<output>`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    size: Bytes
    """
    Length of a cell; its time on the input's line is a slot.
    """
    load: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Cells for each slot of a line whose row of the load matrix adds up to 1.
    """
    burst_cells: Annotated[float | None, Field(ge=1.0)] = None
    """
    The mean number of cells for one output in slots that follow each other; between bursts there is a geometric number of empty slots. Default: each slot has a cell or none independently of the others (Bernoulli).
    """


Arrivals = TypeAliasType("Arrivals", Literal["bernoulli", "constant"])
"""
When frames are generated.
"""


class FrameOnOff(BaseModel):
    """
    Frames for the first part of every period, none for the rest.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    period: Span
    """
    The period, from the start of the flow on.
    """
    duty: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    The part of it that comes first, in which frames are generated.
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


class AredQueue(BaseModel):
    """
    RED that keeps the average queue half-way between its thresholds by moving its maximum probability.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ared: AredConfig


class FengRedQueue(BaseModel):
    """
    RED that scales its maximum probability at each crossing of a threshold.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    feng_red: FengRedConfig


class RedPdQueue(BaseModel):
    """
    RED with preferential dropping: finds the fast flows by RED's drop history and drops them first.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    red_pd: RedPdConfig


class PenaltyBoxQueue(BaseModel):
    """
    RED with penalty box: finds flows that do not respond by a log of drops and holds them to a fixed rate.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    penalty_box: PenaltyBoxConfig


class FredQueue(BaseModel):
    """
    RED with a share for each flow: holds back the flows that take more than others.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fred: FredConfig


class BlueQueue(BaseModel):
    """
    BLUE: drops by what the queue has lost and the link has left unused.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    blue: BlueConfig


class SfredQueue(BaseModel):
    """
    Stochastic Fair RED: the bins of Stochastic Fair BLUE with a RED in each.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    sfred: SfredConfig


class ChokeQueue(BaseModel):
    """
    CHOKe: drops an arrival together with a packet of its flow that was drawn from the queue.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    choke: ChokeConfig


class SfqRedQueue(BaseModel):
    """
    Stochastic fair queueing over a divided buffer, with RED in each queue.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    sfq_red: SfqRedConfig


class WfqQueue(BaseModel):
    """
    Weighted fair queueing: each flow gets its share of the link to within one packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    wfq: WfqConfig


class SredQueue(BaseModel):
    """
    Stabilized RED: drops by the queue and by an estimate of the number of flows.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    sred: SredConfig


class FqCodelQueue(BaseModel):
    """
    Flows hashed to queues that take turns, new ones first, and CoDel on each.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fq_codel: FqCodelConfig


class CobaltQueue(BaseModel):
    """
    CoDel for flows that respond and BLUE for those that do not.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cobalt: CobaltConfig


class PieQueue(BaseModel):
    """
    Proportional integral controller enhanced: drops with a probability steered by the queueing delay.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pie: PieConfig


class BreatheQueue(BaseModel):
    """
    RED that blocks the flows which were served most, until the others have caught up.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    breathe: BreatheConfig


class PythonQueueModel(BaseModel):
    """
    A discipline written in Python: a class, with its parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    python: PythonQueue


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
    max_marking_probability: float | None = None
    """
    From this drop probability on (`p_b`, before the gaps are made uniform) ECN-capable packets are dropped, not marked, whatever `hard_drop` says. Default: none; ns-2 2.35 has 0.1 (`mark_p_`).
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


class SfbConfig(BaseModel):
    """
    Parameters of Stochastic Fair BLUE.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "200 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 200 packets, the paper's 200 KB (section III-B).
    """
    levels: Annotated[int, Field(ge=0)] = 2
    """
    `L`: levels of bins, each with a hash function of its own; at most 16. Default: 2 (paper, section III-B).
    """
    bins: Annotated[int, Field(ge=0)] = 23
    """
    `N`: bins of a level. Default: 23 (paper, section III-B).
    """
    bin_size: Annotated[int | None, Field(ge=0)] = None
    """
    Packets past which a bin is over its size. Default: 1.5 times the share of `limit` that a bin has among those of its level, a limit in bytes being counted in packets of 1000 B: 13 packets with the other defaults (paper, section III-B).
    """
    bin_limit: Annotated[int | None, Field(ge=0)] = None
    """
    Packets past which a bin takes no more, where `drop_rule` says so; at least `bin_size`. Default: `bin_size` (paper); Linux has 25 for a bin size of 20.
    """
    increment: float = 0.0025
    """
    What an arrival at a bin over its size adds to the bin's probability. Default: 0.0025 (BLUE; the paper does not say).
    """
    decrement: float = 0.00025
    """
    What an arrival at an empty bin takes off the bin's probability. Default: 0.00025 (BLUE; the paper does not say).
    """
    drop_rule: SfbDropRule = "all"
    """
    Which of its bins have to be past `bin_limit` for a packet to be dropped. Default: all.
    """
    rate_limit: Rate = "160 kbps"
    """
    The rate to which a flow is held that is identified as non-responsive. Default: 160 kb/s (paper, section III-B).
    """
    rate_limit_scope: SfbRateLimitScope = "per_bin"
    """
    Whether each identified flow has that rate or all of them together. Default: each.
    """
    burst: Bytes = "3 KB"
    """
    Depth of the rate limiter's token buckets. Default: 3000 B, two packets of 1500 B.
    """
    fair_limit: SfbFairLimit | None = None
    """
    Holds identified flows to an estimate of their fair share instead of `rate_limit` (paper, section V). Default: none.
    """
    parole_time: Span = "100 ms"
    """
    How long the limiter must not have had a packet of a bin that stands at probability 1 before an arrival that finds it empty lowers its probability. Default: 100 ms.
    """
    rehash_interval: Span | None = None
    """
    Moving hash: time after which the bins are reset and their hash functions change (paper, section III-D). Default: never; the paper's experiments with a moving hash take 2 s.
    """
    double_buffer: bool = True
    """
    Whether the moving hash is double-buffered: the next bins are warmed up by the packets of identified flows, so that these stay identified across the change (paper, section III-D). Default: yes.
    """
    ecn: bool = True
    """
    Whether ECN-capable packets are marked where they would be dropped at random. Default: yes (paper, section II).
    """


class SfqConfig(BaseModel):
    """
    Parameters of SFQ.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What all buckets together hold at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    buckets: Annotated[int, Field(ge=0)] = 1024
    """
    Number of buckets. Default: 1024 (Linux); ns-2 has 16.
    """
    placement: SfqPlacement = "random"
    """
    How flows are placed in buckets: `random` by a hash, or `ns2` in consecutive buckets, as ns-2 does for consecutive hosts. Default: `random` (paper).
    """
    bucket_limit: QueueSize | None = None
    """
    What each bucket holds at most, in packets or bytes. Default: no more than `limit` (paper).
    """
    quantum: Bytes | None = None
    """
    Bytes that a bucket may send in each turn. At least one packet makes a turn O(1). Default: one packet of any size (paper).
    """
    perturbation_interval: Span | None = None
    """
    How long one hash is in use before the next; only for the `random` placement. Default: the hash never changes.
    """
    steal_from_head: bool = False
    """
    Whether a full buffer drops the head of the longest bucket instead of its tail. Default: no (paper).
    """
    ns2_admission: bool = False
    """
    Whether arrivals are refused by ns-2's rule instead of packets being stolen: with `left` packets of room, a bucket that holds `left / 2`, or more than `limit / buckets` while `left` is below `buckets`, takes no more. `limit` has to be in packets, and `buckets` no more than it. Default: no.
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
    quantum: Bytes = "1500 B"
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


class PiConfig(BaseModel):
    """
    Parameters of PI.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    reference: QueueSize = "200 packets"
    """
    `q_ref`: the length at which the queue is held, in packets or bytes; bytes count as packets of `mean_packet_size`. Default: 200 packets (paper); ns-2 has 50.
    """
    a: float = 1.822e-05
    """
    `a`: what one packet over the reference adds to the probability at each tick. Default: 1.822e-5 (paper).
    """
    b: float = 1.816e-05
    """
    `b`: what one packet over the reference at the tick before takes off it; less than `a`. Default: 1.816e-5 (paper).
    """
    sampling_frequency_hz: float = 170.0
    """
    `w`: ticks a second. Default: 170 Hz (ns-2); the paper's gains are for 160 Hz.
    """
    design: PiDesign | None = None
    """
    The traffic for which the gains are computed; they then stand in place of `a` and `b`. Default: none.
    """
    byte_mode: bool = False
    """
    Whether a packet's probability grows in proportion to its size over `mean_packet_size`. Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: for `byte_mode`, a reference in bytes and `design`. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped. Default: no.
    """


class CsfqConfig(BaseModel):
    """
    Parameters of CSFQ.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "64 KB"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 64 KB (the paper's simulations).
    """
    role: CsfqRole = "edge"
    """
    `edge` estimates and writes labels, `core` goes by those that packets carry. Default: edge.
    """
    threshold: QueueSize = "16 KB"
    """
    Queue below which congestion does not begin and, without congestion, nothing is dropped; in packets or bytes. Default: 16 KB (the paper's simulations).
    """
    flow_averaging_time: Span = "100 ms"
    """
    K: averaging constant of the flows' rates. Default: 100 ms (the paper's simulations).
    """
    link_averaging_time: Span = "100 ms"
    """
    `K_alpha`: averaging constant of the rates of all arrivals and of those accepted. Default: 100 ms (the paper's simulations).
    """
    window: Span = "100 ms"
    """
    `K_c`: how long the link has to be congested, or not, for each new estimate of the fair share. Default: 100 ms (the paper's simulations).
    """
    weights: Annotated[list[ClassWeight], Field(validate_default=True)] = []
    """
    Weights of flows by traffic class, for an edge router: a flow's label is its rate over its weight (the paper's weighted CSFQ). Default: 1 for all.
    """
    idle_timeout: Span = "10 s"
    """
    How long a flow is silent before an edge router forgets it. Default: 10 s (ours: a hundred averaging constants).
    """
    max_flows: Annotated[int, Field(ge=0)] = 65536
    """
    How many flows an edge router knows at most; a new one displaces the flow that has been silent longest. Default: 65536 (ours).
    """


class CodelConfig(BaseModel):
    """
    Parameters of CoDel.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets (Linux).
    """
    target: Span = "5 ms"
    """
    TARGET: the delay in the queue that is worth having for the sake of utilisation. Default: 5 ms (RFC 8289).
    """
    interval: Span = "100 ms"
    """
    INTERVAL: how long the delay has to stay above the target before the first drop: the longest round-trip time to be expected. Default: 100 ms (RFC 8289).
    """
    max_packet_size: Bytes = "1500 B"
    """
    The longest packet: with no more than that left in the queue nothing is dropped. Default: 1500 B.
    """
    square_root: SquareRoot = "exact"
    """
    How the square root of the number of drops is computed. Default: `exact`.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped by the control law. Default: no.
    """
    ce_threshold: Span | None = None
    """
    Delay from which every ECN-capable packet is marked, whatever the control law says; for DCTCP and its kin. Default: none.
    """


class AfdConfig(BaseModel):
    """
    Parameters of AFD.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets.
    """
    form: AfdForm = "shadow_buffer"
    """
    What the sample is kept in. Default: `shadow_buffer`.
    """
    shadow_size: Annotated[int, Field(ge=0)] = 500
    """
    `b`: sampled packets that are kept. For a rate good to some 15 to 30 %, ten times the number of flows that share the link; BREATHe's authors gave it 30000. Default: 500.
    """
    sampling_interval: float = 5.0
    """
    `s`: packets that arrive for each one sampled, on average; dropped ones count. At least 1. Default: 5.
    """
    target: QueueSize = "50 packets"
    """
    `q_target`: the queue at which `m_fair` rests, in packets; in byte mode also in bytes. Default: 50 packets.
    """
    alpha: float = 1.7
    """
    `alpha`: gain, in sampled packets a packet, on how far the queue was above the target one update ago. Default: 1.7 (paper).
    """
    beta: float = 1.8
    """
    `beta`: gain on how far it is above the target now; the difference to `alpha` is what brings the queue back to its target, so it has to be the greater one. Default: 1.8 (paper).
    """
    scale_gains: bool = True
    """
    Whether both gains are multiplied with `shadow_size` / 500. Default: yes.
    """
    update_interval: Span = "6.25 ms"
    """
    Time between two updates of `m_fair`. The queue swings when it is long: with the default gains, scaled, when the packets that arrive in it times the flows that send more than their share are more than 1000 / `beta`. Default: 6.25 ms, 160 times a second (paper).
    """
    byte_mode: bool = False
    """
    Whether a flow's rate, and the queue, are measured in bytes instead of packets. Default: no.
    """
    mean_packet_size: Bytes = "1 KB"
    """
    Mean packet size, the unit in byte mode. Default: 1000 B.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped while the queue has room. Default: no.
    """


class InputQueued(BaseModel):
    """
    One FIFO queue at each input. In each slot every output takes one of the packets at the heads that want it, at random.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize | None = None
    """
    The most packets at each input; further ones are dropped. Default: no limit.
    """
    cell: Bytes | None = None
    """
    The length of packet whose time on the line is a slot; no packet may be longer. Default: the longest packet of the scenario's flows.
    """
    speedup: Speedup = "1"
    """
    Phases in a slot: 1, 1.2, "6/5", … up to the number of ports.
    """


class MwmSchedulerConfig(BaseModel):
    """
    Maximum weight matching, the weight of a pair being its queue: the best there is, and the dearest.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    mwm: MwmConfig


class IslipSchedulerConfig(BaseModel):
    """
    iSLIP: round-robin grants and accepts, whose pointers fall out of step.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    islip: IslipConfig


class PimSchedulerConfig(BaseModel):
    """
    Parallel iterative matching: random grants and accepts.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pim: PimConfig


class IlqfSchedulerConfig(BaseModel):
    """
    Longest queue first: greedy, or iLQF with a fixed number of iterations.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ilqf: IlqfConfig


class MaximumSizeSchedulerConfig(BaseModel):
    """
    A matching of as many pairs as can be.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    maximum_size: MaximumSizeConfig


class WavefrontSchedulerConfig(BaseModel):
    """
    A wave along the diagonals of the crossbar.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    wavefront: WavefrontConfig


SchedulerConfig = TypeAliasType(
    "SchedulerConfig",
    MwmSchedulerConfig
    | IslipSchedulerConfig
    | PimSchedulerConfig
    | IlqfSchedulerConfig
    | MaximumSizeSchedulerConfig
    | WavefrontSchedulerConfig
    | Literal["mwm", "islip", "pim", "ilqf", "maximum_size", "wavefront"],
)
"""
Which scheduler serves a crossbar: exactly one of these.
"""


class HotSpotLoadPattern(BaseModel):
    """
    One output gets more than its share of each input.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    hot_spot: HotSpot


LoadPattern = TypeAliasType(
    "LoadPattern",
    Literal["uniform"] | Literal["diagonal"] | HotSpotLoadPattern | MatrixLoadPattern,
)
"""
How the traffic of each input is spread over the outputs.
"""


class InputQueuedNodeKind(BaseModel):
    """
    Passes packets on from one FIFO queue at each input; the fastest of its links is its line.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    input_queued: InputQueued


class DcqcnCongestionManagement(BaseModel):
    """
    DCQCN: switches mark, destinations notify, sources recover as with QCN.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dcqcn: DcqcnConfig


class IntervalSampling(BaseModel):
    """
    One in this many bytes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    interval: SamplingInterval


Sampling = TypeAliasType("Sampling", ProbabilitySampling | IntervalSampling)
"""
Which data frames a queue samples.
"""


class QcnConfig(BaseModel):
    """
    Parameters of QCN.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    variant: QcnVariant = "standard"
    """
    Which description the reaction point follows where they differ. Default: `standard`.
    """
    set_point: Bytes = "26 KB"
    """
    `Q_eq`: where the queue is to settle. Default: 26 KB (standard, `ieee8021CnCpQueueSizeSetPoint`); studies have 22 to 34 KB.
    """
    weight: float = 2.0
    """
    `W`: weight of the queue's growth since the last sample against its offset. Default: 2 (standard, `ieee8021CnCpFeedbackWeight`).
    """
    sample_interval: Bytes = "150 KB"
    """
    Bytes that join the queue between two samples while there is no congestion; divided by 2 to 8 as the feedback grows. Default: 150 KB (standard, `ieee8021CnCpMinSampleBase`).
    """
    probabilistic_sampling: QcnProbabilisticSampling | None = None
    """
    Sampling of the proposal of March 2007: each frame is sampled with a probability that grows with the feedback, and `sample_interval` is not used. Default: none.
    """
    jitter: float = 0.15
    """
    Intervals between samples, and cycles of byte counter and timer, are longer or shorter by up to this fraction. Default: 0.15 (pseudo-code).
    """
    decrease_gain: float = 0.0078125
    """
    `GD`: the fraction of its rate that a flow loses for each unit of feedback, of which there are 63 at most. Default: 1/128 (standard, `ieee8021CnRpgGd` = 7).
    """
    min_decrease_factor: float = 0.5
    """
    The least factor by which a message multiplies the rate. Default: 0.5 (standard, `ieee8021CnRpgMinDecFac`).
    """
    min_rate: Rate = "5 Mbps"
    """
    Rate below which no flow is cut. Default: 5 Mb/s (standard, `ieee8021CnRpgMinRate`).
    """
    byte_cycle: Bytes = "150 KB"
    """
    Bytes in a cycle of the byte counter. Default: 150 KB (standard, `ieee8021CnRpgByteReset`).
    """
    timer_cycle: Span = "15 ms"
    """
    A cycle of the timer. Default: 15 ms (standard, `ieee8021CnRpgTimeReset`); some studies have 10 ms.
    """
    fast_recovery_cycles: Annotated[int, Field(ge=0)] = 5
    """
    Cycles of fast recovery. Default: 5 (standard, `ieee8021CnRpgThreshold`).
    """
    active_increase: Rate = "5 Mbps"
    """
    `R_AI`: what a cycle of active increase adds to the target rate. Default: 5 Mb/s (standard, `ieee8021CnRpgAiRate`).
    """
    hyper_active_increase: Rate = "50 Mbps"
    """
    `R_HAI`: what the first cycle of hyper-active increase adds to the target rate; the second adds twice that, and so on. Default: 50 Mb/s (standard, `ieee8021CnRpgHaiRate`).
    """
    keep_target_in_first_cycle: bool = True
    """
    Extra fast recovery: whether further cuts leave the target rate alone until a cycle of the byte counter has ended. Default: yes (both variants).
    """
    lower_far_target: bool = True
    """
    Extra fast recovery: whether, at the end of the first cycle, a target rate of more than 10 times the current rate is divided by 8 instead of raised. Default: yes (both variants).
    """


class HyperbolicQueueControl(BaseModel):
    """
    Two hyperbolas that meet at the set-point Q_eq: `a Q_eq / ((a - 1) q + Q_eq)` below it, and the same with b in place of a above it, but no less than c.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    hyperbolic: Hyperbolic


class LinearQueueControl(BaseModel):
    """
    A straight line through the set-point: `1 - k (q - Q_eq) / Q_eq`, but no less than c.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    linear: Linear


QueueControl = TypeAliasType(
    "QueueControl", HyperbolicQueueControl | LinearQueueControl
)
"""
How much of its capacity a port offers, by the length of its queue: exactly one of these.
"""


class DbpConfig(BaseModel):
    """
    Parameters of DBP.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    interval: Span | None = None
    """
    T_RR: how often an active source is sent a report, and how long a port measures or counts before it corrects its share. A port that corrected more often than reports come would correct several times for the same overload. At least as long as a link takes for 15 KB. Default: as long as a link takes for 125 KB, 0.1 ms at 10 Gb/s, as FECN's interval; with 1 ms the queue would oscillate there.
    """
    expiry: Span | None = None
    """
    How long after its last frame a source is active. It has to be longer than a flow at the minimum rate takes for a frame. Default: 20 ms (1500 B at 1 Mb/s take 12 ms), or three intervals if these are longer.
    """
    share: ShareMode = "rho"
    """
    How a port finds its share. Default: `rho`, which also fills ports whose flows do not use theirs.
    """
    silence: Silence = "release"
    """
    What a source does when no report has come for three intervals. Default: `release`; reports are not lost here, so that silence means that the flow has rested.
    """
    set_point: Bytes = "75 KB"
    """
    Q_eq: where the queue of a busy port settles. Default: 75 KB (that of ECM, to compare).
    """
    minimum_rate: Rate = "1 Mbps"
    """
    R_min: the least rate of a flow, and the least share. Default: 1 Mbps (that of ECM, to compare).
    """
    queue_control: Annotated[QueueControl, Field(validate_default=True)] = {
        "hyperbolic": {"empty": 1.1, "steepness": 1.1, "floor": 0.1}
    }
    """
    f: how much of its capacity a port offers, by the length of its queue. Default: hyperbolic.
    """
    increase_limit: float = 1.5
    """
    The most by which the share grows in an interval, as a factor; for `rho` only. Default: 1.5, as with FECN.
    """


class SharedMemorySwitch(BaseModel):
    """
    What every switch of an Ethernet is.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    memory: Bytes = "300 KB"
    """
    Memory of each input, shared by all outputs.
    """
    output_limit: OutputLimit | None = None
    """
    How much memory one output may hold of all inputs. Frames beyond it are lost, PAUSE or not. Default: no limit.
    """
    pause: Pause | None = None
    """
    Stops the whole link that leads to an input (IEEE 802.3x). Default: frames that find no room are lost.
    """
    priority_pause: Pause | None = None
    """
    Stops single classes of the link that leads to an input (IEEE 802.1Qbb): the watermarks are those of each class.
    """
    reaction: Reaction = "0 ps"
    """
    How long after an order to stop a port still begins frames.
    """
    arbiter: Arbiter = "fifo"
    """
    In which order an output sends what its inputs have for it.
    """
    strict_priority: bool = False
    """
    Whether classes are served by strict priority, 7 first. Default: all classes are one; with `priority_pause` they take turns.
    """
    forwarding_delay: Span = "0 ps"
    """
    From the last bit of a frame to its place in its output's queue.
    """


class Service(BaseModel):
    """
    The rate of a port or a node for a while.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    node: str
    """
    Which node.
    """
    rate: Rate
    """
    The rate, at most the link's.
    """
    from_: Annotated[Span, Field(alias="from")] = "0 ps"
    """
    From when on.
    """
    to: Span | None = None
    """
    Until when. Default: to the end of the run.
    """
    at: ServiceAt = "switch"
    """
    Where: the switch's port to the node sends at this rate, or the node takes frames from its adapter at it.
    """


class CellsTransport(BaseModel):
    """
    Cells in the slots of a line, as switch theory has them; only in front of a switch.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cells: Cells


class BicCongestionControl(BaseModel):
    """
    BIC: binary search for the window at which the last loss came (Xu, Harfoush & Rhee 2004).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bic: BicConfig


class CubicConfig(BaseModel):
    """
    The parameters of CUBIC.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: float = 0.7
    """
    What is left of the window after a sign of congestion (β, RFC 9438, 4.6: 0.7). Above 0 and below 1.
    """
    growth: float = 0.4
    """
    How fast the window grows: C in segments per cubic second (RFC 9438, 5: 0.4). Above 0.
    """
    fast_convergence: bool = True
    """
    A flow that loses below its last maximum aims lower still, which makes room for new ones (RFC 9438, 4.7).
    """
    reno_friendly: bool = True
    """
    The window is at least what Reno's would be (RFC 9438, 4.3).
    """
    arithmetic: CubicArithmetic = "exact"
    """
    Real numbers ("exact", RFC 9438) or whole segments ("linux").
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


class Frames(BaseModel):
    """
    Ethernet frames between the nodes of an Ethernet. A flow for each name in `from`, or in `to` where that list is longer; with `to = "others"` a flow from each source to every other node. A group of one flow gives it its name, else the flows are named `<group>-<from>-<to>`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate
    """
    What a flow sends while it is on, whether or not the network takes it; with `to = "others"` what a source sends, spread evenly over the other nodes. The link's rate fills every slot.
    """
    size: Bytes = "1500 B"
    """
    Length of a frame.
    """
    arrivals: Arrivals = "bernoulli"
    """
    When frames are generated.
    """
    on_off: FrameOnOff | None = None
    """
    On and off in turn. Default: always on.
    """
    set_point: Bytes | None = None
    """
    E2CM only: the set-point of these flows in place of its own ("Per-flow Q_eq").
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


class SfbQueue(BaseModel):
    """
    Stochastic Fair BLUE: finds flows that do not respond, in a few dozen bins, and holds them to a fixed rate.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    sfb: SfbConfig


class SfqQueue(BaseModel):
    """
    Stochastic fair queueing: flows hashed to a fixed number of queues that take turns.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    sfq: SfqConfig


class DrrQueue(BaseModel):
    """
    Deficit round robin: a queue for each flow, each in turn as many bytes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    drr: DrrConfig


class PiQueue(BaseModel):
    """
    A proportional-integral controller: drops with the probability that holds the queue at a reference.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pi: PiConfig


class CsfqQueue(BaseModel):
    """
    Core-stateless fair queueing: edge routers label packets with their flow's rate, core routers drop by label.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    csfq: CsfqConfig


class CodelQueue(BaseModel):
    """
    Controlled delay: drops at the head of the queue when packets have waited too long for too long.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    codel: CodelConfig


class AfdQueue(BaseModel):
    """
    Approximate fair dropping: drops what a flow sends beyond its fair share, as a sample of the arrivals shows it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    afd: AfdConfig


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


class InputQueuedFabric(BaseModel):
    """
    One FIFO queue at each input: its first packet blocks those behind it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    input_queued: InputQueued


class Cioq(BaseModel):
    """
    Combined input and output queueing: virtual output queues (VOQs) at each input, a crossbar that a scheduler sets once in each phase, and the queues of the output links. In a phase one whole packet leaves each matched input, whatever its length. A packet that finds its VOQ full, or the queue of its output after crossing, is dropped.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    scheduler: Annotated[SchedulerConfig, Field(validate_default=True)] = "mwm"
    """
    Who matches inputs to outputs.
    """
    speedup: Speedup = "1"
    """
    Phases in a slot: 1, 1.2, "6/5", … up to the number of ports. With 1 no packet waits at an output; with the number of ports none waits at an input.
    """
    voq_limit: QueueSize | None = None
    """
    The most packets in each virtual output queue; further ones are dropped. Default: no limit.
    """
    cell: Bytes | None = None
    """
    The length of packet whose time on the line is a slot; no packet may be longer. Default: the longest packet of the scenario's flows.
    """


class CioqNodeKind(BaseModel):
    """
    Passes packets on through a crossbar with virtual output queues; the fastest of its links is its line. Queues of the inputs: `<node>/input-<number>`, in the order of the links.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cioq: Cioq


NodeKind = TypeAliasType(
    "NodeKind",
    Literal["host"]
    | Literal["router"]
    | CioqNodeKind
    | InputQueuedNodeKind
    | Literal["cioq", "input_queued"],
)
"""
What a node is.
"""


class QcnCongestionManagement(BaseModel):
    """
    QCN: quantised negative feedback only; sources recover by themselves.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    qcn: QcnConfig


class DbpCongestionManagement(BaseModel):
    """
    DBP: destinations report rates to the sources, and switches lower them on the way.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dbp: DbpConfig


class EcmConfig(BaseModel):
    """
    Parameters of ECM.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    set_point: Bytes = "75 KB"
    """
    `Q_eq`: where each output queue is to settle. Default: 75 KB, a quarter of the memory of a port (slides).
    """
    weight: float = 2.0
    """
    `W`: how much the queue's growth counts in the feedback, against its offset. Default: 2 (slides).
    """
    decrease_gain: float = 0.5
    """
    What the strongest negative feedback takes off a rate, as a part of that rate. `G_d` is this over `(2 weight + 1) set_point`, for each byte of feedback. Default: 0.5 (slides), so that `G_d` is 1.333e-6.
    """
    increase_gain: float = 0.005
    """
    What the strongest positive feedback adds to a rate, as a part of the link's rate: `G_i / G_i0`. `G_i R_unit` is the link's rate times this over `(2 weight + 1) set_point`, for each byte of feedback. Default: 0.005 (slides), so that the largest step is 50 Mb/s on a link of 10 Gb/s; the slides also have 0.1 and 0.25.
    """
    sampling: Annotated[Sampling, Field(validate_default=True)] = {"probability": 0.02}
    """
    Which frames are sampled. Default: each with a probability of 2 % (slides).
    """
    severe_message: SevereMessage = "bcn_max"
    """
    What a queue tells the source of a sampled frame when it is longer than `severe_threshold`. Default: `bcn_max` (slides).
    """
    severe_threshold: Bytes = "280 KB"
    """
    The queue beyond which congestion is severe. Default: 280 KB (slides).
    """
    min_rate: Rate = "1 Mbps"
    """
    `R_min`: feedback cuts no rate below this. Default: 1 Mb/s (slides).
    """
    self_increase: SelfIncrease | None = None
    """
    Lets limited flows become faster without feedback. Default: none (slides).
    """
    stop_time: Span = "10 us"
    """
    How long the first BCN(0,0) stops a flow at most. Default: 10 us (our choice).
    """


class E2cmConfig(BaseModel):
    """
    Parameters of E2CM.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ecm: Annotated[EcmConfig, Field(validate_default=True)] = {
        "set_point": "75 KB",
        "weight": 2.0,
        "decrease_gain": 0.5,
        "increase_gain": 0.005,
        "sampling": {"probability": 0.02},
        "severe_message": "bcn_max",
        "severe_threshold": "280 KB",
        "min_rate": "1 Mbps",
        "self_increase": None,
        "stop_time": "10 us",
    }
    """
    The parameters of the queues of the outputs, and of the rate limiter. Default: those of ECM (slides).
    """
    flow_set_point: Bytes = "15 KB"
    """
    `Q_eq,flow`: how much of a flow is to wait on its path. Default: 15 KB (slides).
    """
    flow_weight: float = 2.0
    """
    `W` of the flow's queue. Default: 2 (slides).
    """
    flow_decrease_gain: float = 0.5
    """
    What the strongest negative feedback of a probe takes off a rate, as a part of it. `G_d,flow` is this over `(2 flow_weight + 1) flow_set_point`, for each byte of feedback. Default: 0.5 (slides: 2.5, by ECM's set-point).
    """
    flow_increase_gain: float = 0.005
    """
    What the strongest positive feedback of a probe adds to a rate, as a part of the link's. `G_i,flow R_unit` is the link's rate times this over `(2 flow_weight + 1) flow_set_point`, for each byte of feedback. Default: 0.005 (slides: 0.025, by ECM's set-point; they also have 0.25, which is 0.05 here).
    """
    flow_severe_threshold: Bytes = "56 KB"
    """
    `Q_max,flow`: the flow's queue beyond which feedback is the strongest. Default: 56 KB (slides).
    """
    probe_interval: Bytes = "75 KB"
    """
    Data that a flow sends from one probe to the next. Default: 75 KB (slides; with a sampling probability of 10 %, 15 KB).
    """
    autonomous_probes: bool = False
    """
    Whether flows without a limiter send probes as well, whose negative feedback then creates one. Default: no (slides: probing is triggered by BCN).
    """


class FecnConfig(BaseModel):
    """
    Parameters of FECN.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    set_point: Bytes = "75 KB"
    """
    Q_eq: where the queue of a busy port settles. It oscillates if the interval is more than about half of 8 Q_eq b / ((b - 1) C), with the defaults and 10 Gb/s more than 0.38 ms. Default: 75 KB (that of ECM, to compare).
    """
    interval: Span | None = None
    """
    T: how long a port measures before it corrects its advertised rate. At least as long as a link takes for 15 KB. Default: as long as a link takes for 125 KB, 0.1 ms at 10 Gb/s (tried; the authors': 1 ms).
    """
    discovery_period: Span | None = None
    """
    T_p: how often a source sends a rate discovery for each flow. Default: as long as `interval`.
    """
    initial_flows: Annotated[int, Field(ge=0)] = 10
    """
    N0: sources and ports start at the capacity over this number. Default: 10 (the authors').
    """
    minimum_rate: Rate = "1 Mbps"
    """
    R_min: the least rate of a flow, and the least that is advertised. Default: 1 Mbps (that of ECM, to compare).
    """
    queue_control: Annotated[QueueControl, Field(validate_default=True)] = {
        "hyperbolic": {"empty": 1.1, "steepness": 1.1, "floor": 0.1}
    }
    """
    f: how much of its capacity a port offers, by the length of its queue. Default: hyperbolic.
    """
    increase_limit: float = 1.5
    """
    The most by which the advertised rate grows in an interval, as a factor. Default: 1.5 (tried; the authors' law has no limit).
    """
    severe_congestion: Bytes | None = None
    """
    Q_sc: with a queue longer than this, the sources of arriving frames are told to fall to the minimum rate (E-FECN). Default: never (FECN).
    """


class FramesTransport(BaseModel):
    """
    Ethernet frames, at a rate of their own as far as congestion management lets them; only in an Ethernet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    frames: Frames


class CubicCongestionControl(BaseModel):
    """
    CUBIC: the window is a cubic function of the time since the last reduction (RFC 9438).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cubic: CubicConfig


CongestionControl = TypeAliasType(
    "CongestionControl",
    Literal["reno"]
    | Literal["newreno"]
    | BicCongestionControl
    | CubicCongestionControl
    | Literal["linux_bic"]
    | Literal["linux_cubic"]
    | Literal["bic", "cubic"],
)
"""
Which window law and which recovery a sender follows. All but "reno" recover like NewReno, and all, "reno" too, by RFC 6675 where there is SACK.
"""


class Udp(BaseModel):
    """
    UDP: packets at a rate of their own, whatever the network does. Exactly one pattern: `constant`, `on_off`, `poisson` or `steps`.
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
    steps: list[RateStep] | None = None
    """
    Evenly, at a rate that changes at given times, which ascend: nothing before the first, the last until the end.
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


class CioqFabric(BaseModel):
    """
    Virtual output queues at the inputs, a crossbar with a scheduler and a speedup, queues at the outputs.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cioq: Cioq


Fabric = TypeAliasType(
    "Fabric",
    Literal["output_queued"]
    | InputQueuedFabric
    | CioqFabric
    | Literal["input_queued", "cioq"],
)
"""
What joins the inputs of a switch to its outputs: exactly one of these.
"""


class Node(BaseModel):
    """
    A host, a router or a switch.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Its name.
    """
    kind: NodeKind | None = None
    """
    What it is.
    """


class EcmCongestionManagement(BaseModel):
    """
    ECM, the baseline BCN: sampled queue offset and growth to the sources of the frames sampled.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ecm: EcmConfig


class E2cmCongestionManagement(BaseModel):
    """
    E2CM: ECM, and probes along the path of each limited flow.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    e2cm: E2cmConfig


class FecnCongestionManagement(BaseModel):
    """
    FECN: switches advertise a rate in probes that the sources send.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fecn: FecnConfig


CongestionManagement = TypeAliasType(
    "CongestionManagement",
    EcmCongestionManagement
    | E2cmCongestionManagement
    | QcnCongestionManagement
    | FecnCongestionManagement
    | DbpCongestionManagement
    | DcqcnCongestionManagement
    | Literal["ecm", "e2cm", "qcn", "fecn", "dbp", "dcqcn"],
)
"""
Which scheme manages congestion: exactly one of these.
"""


class UdpTransport(BaseModel):
    """
    UDP: packets at a rate of their own, whatever the network does.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    udp: Udp


class TcpConfig(BaseModel):
    """
    What the schema shows. The parameters of a TCP connection, both ends.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    preset: Preset | None = None
    """
    A set of values for the keys that are not given: "rfc", "linux", "ns2", "ns2_linux" or "ns2_pre2001". Default: the values shown here.
    """
    congestion_control: Annotated[CongestionControl, Field(validate_default=True)] = (
        "newreno"
    )
    """
    Window law and recovery: "reno", "newreno", "bic" or "cubic" (the last two also as tables with parameters), or "linux_bic" or "linux_cubic", in Linux's arithmetic as ns-2 2.35 has them.
    """
    slow_start: SlowStart | None = None
    """
    How the window opens at first: "standard" (RFC 5681), "hystart" (Linux) or "hystart_plus_plus" (RFC 9406). Default: "hystart" with "cubic", "standard" with all others.
    """
    sack: bool = False
    """
    Selective acknowledgements (RFC 2018) and the recovery that uses them (RFC 6675).
    """
    rate_reduction: RateReduction | None = None
    """
    How the recovery with SACK comes down to the reduced window: "at_once" (RFC 6675), "rate_halving" (Linux before 3.2, ns-2's TCP/Linux) or "proportional" (RFC 9937, Linux since 3.2). Default: "proportional".
    """
    fack: bool = False
    """
    Forward acknowledgement in place of RFC 6675, as ns-2's TCP/Linux: the furthest segment that has arrived tells what is lost, lost retransmissions included. Needs `sack`.
    """
    duplicate_acks_restart_timer: bool = False
    """
    A duplicate ACK, too, starts the retransmission timer anew, as ns-2's TCP/Linux: while ACKs come, nothing times out. RFC 6298 (5.3) says so of ACKs of new data only.
    """
    dsack: bool = False
    """
    The receiver reports what arrives twice (D-SACK, RFC 2883). Needs `sack`.
    """
    rack: bool = False
    """
    Losses are detected by the time since a segment was sent rather than by counting (RACK, RFC 8985). Needs `sack`.
    """
    tail_loss_probe: bool = False
    """
    After two round trips without an ACK a probe is sent, so that the loss of the last segments need not wait for the timeout (TLP, RFC 8985, section 7). Needs `rack`.
    """
    timestamps: bool = False
    """
    Each segment carries the time when it was sent and each ACK returns it (RFC 7323): a round-trip sample from each ACK that advances, of retransmissions too, which ends the doubling of the timeout. Takes 12 bytes of option in each segment and ACK, beside `header` and `ack_size`.
    """
    undo: bool = False
    """
    A retransmission that turns out to have been unnecessary gives the window back: found by timestamps (Eifel, RFC 3522 and 4015) or by D-SACK (RFC 3708). Needs `timestamps` or `dsack`.
    """
    segment: Bytes = "1500 B"
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
    max_congestion_window_segments: Annotated[int | None, Field(ge=0)] = None
    """
    The congestion window grows no further, in segments; absent: the receiver's window is the only bound. It leaves room to send while a loss is being mended, where the receiver's window has to hold what waits for the gap. Linux's `snd_cwnd_clamp`, and what ns-2's TCP/Linux, which has no receiver's window, takes `window_` for.
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
    min_rto_of: MinRtoOf = "timeout"
    """
    What `min_rto` is the least value of: the "timeout" (RFC 6298), or its "deviation", what it adds to the smoothed round trip (Linux).
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
    ecn_floor: EcnFloor = "two_segments"
    """
    How far marks reduce the window: "two_segments" (Linux), "one_segment", "timer" (RFC 3168, 6.1.2: at one segment, a mark makes the sender wait for its timer) or "ns2" (to nothing: below one segment only the timer sends, and further marks double it).
    """
    ecn_retransmissions: bool = False
    """
    Retransmissions are ECN-capable, too, and tell the receiver that the window was reduced, as in ns-2 (`SetCWRonRetransmit_`). RFC 3168 (6.1.2, 6.1.5) forbids both: there, the echo goes on until new data is sent.
    """
    reduction_base: ReductionBase = "flight_size"
    """
    Of what a sign of congestion leaves a part: the "flight_size" (RFC 5681, equation 4) or the "congestion_window", used or not (Linux).
    """
    whole_segment_reduction: bool = False
    """
    A reduction leaves whole segments, as in ns-2 before 2006 (`precisionReduce_`).
    """
    idle_restart: IdleRestart = "initial_window"
    """
    What an idle time does to the window: it goes back to the "initial_window" (RFC 5681, 4.1), or is reduced by "halving", as in Linux.
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


class Ethernet(BaseModel):
    """
    Nodes with adapters, and switches whose memory is divided among their inputs and shared by their outputs; full-duplex links of one rate between them, and shortest-path routes. Links: `<from>-><to>`; the queue of a switch's output has the name of its link. Only `frames` cross it. The E2CM proposal's networks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    link: EthernetLink
    """
    Every link, in both directions.
    """
    congestion_management: CongestionManagement | None = None
    """
    What tells the sources to slow down. Default: nothing does.
    """
    switch: Annotated[SharedMemorySwitch, Field(validate_default=True)] = {
        "memory": "300 KB",
        "output_limit": None,
        "pause": None,
        "priority_pause": None,
        "reaction": "0 ps",
        "arbiter": "fifo",
        "strict_priority": False,
        "forwarding_delay": "0 ps",
    }
    """
    What every switch is.
    """
    adapter: Annotated[Adapter, Field(validate_default=True)] = {
        "voq_limit": None,
        "rate_limiters": None,
        "egress_memory": "150 KB",
        "pause": None,
        "priority_pause": None,
        "reaction": "0 ps",
    }
    """
    What every node's adapter is.
    """
    switches: Annotated[list[EthernetSwitch], Field(min_length=1)]
    """
    The switches, each with the nodes that are joined to it.
    """
    trunks: list[Trunk] = []
    """
    Links between switches: pairs of names.
    """
    service: list[Service] | None = None
    """
    When and where frames are sent, or taken, at less than the link's rate.
    """


class TcpTransport(BaseModel):
    """
    TCP: Reno, NewReno, BIC or CUBIC, with or without SACK. Slow start, fast retransmit and recovery (RFC 5681, 6582, 6675), CUBIC (RFC 9438), timeouts (RFC 6298), and by choice HyStart (RFC 9406), limited transmit (RFC 3042), delayed ACKs and ECN (RFC 3168).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    tcp: TcpConfig


Transport = TypeAliasType(
    "Transport",
    TcpTransport | UdpTransport | CellsTransport | FramesTransport | Literal["tcp"],
)
"""
Who sends: exactly one of these.
"""


class EthernetTopology(BaseModel):
    """
    Switches that share memory, and nodes with adapters: PAUSE and congestion management.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ethernet: Ethernet


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
    The network: exactly one of `star`, `dumbbell`, `chain`, `switch`, `graph`, `ethernet`.
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


class SwitchTopology(BaseModel):
    """
    Sources, a multiplexer before each input of a switch, the switch, sinks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    switch: SwitchTopologyModel


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
    "Topology",
    StarTopology
    | DumbbellTopology
    | ChainTopology
    | SwitchTopology
    | GraphTopology
    | EthernetTopology,
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
    | AredQueue
    | FengRedQueue
    | RedPdQueue
    | PenaltyBoxQueue
    | FredQueue
    | DblQueue
    | BlueQueue
    | SfbQueue
    | SfredQueue
    | ChokeQueue
    | SfqQueue
    | SfqRedQueue
    | DrrQueue
    | WfqQueue
    | SredQueue
    | PiQueue
    | CsfqQueue
    | CodelQueue
    | FqCodelQueue
    | CobaltQueue
    | PieQueue
    | AfdQueue
    | BreatheQueue
    | CbqQueue
    | PythonQueueModel
    | Literal[
        "drop_tail",
        "red",
        "ared",
        "feng_red",
        "red_pd",
        "penalty_box",
        "fred",
        "dbl",
        "blue",
        "sfb",
        "sfred",
        "choke",
        "sfq",
        "sfq_red",
        "drr",
        "wfq",
        "sred",
        "pi",
        "csfq",
        "codel",
        "fq_codel",
        "cobalt",
        "pie",
        "afd",
        "breathe",
    ],
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


class SwitchTopologyModel(BaseModel):
    """
    Sources on access links of their own, a multiplexer before each input, a switch, and the sinks behind its outputs. Links: `access-<flow>`, `in-<input>`, `out-<output>`, `back-<flow>`; inputs and outputs are numbered from 1. Queues of the inputs: `switch/input-<input>`; of an output that of its link. The tiny-buffers paper's Figure 3.1.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ports: Annotated[int, Field(ge=2, le=64)]
    """
    Number of inputs, and of outputs.
    """
    access: LinkSpec | None = None
    """
    Each flow's own link between its source and the multiplexer of its input. Cells need none.
    """
    input: LinkSpec
    """
    Each of the links `in-<input>`, from a multiplexer to the switch. Its rate is the line rate.
    """
    output: LinkSpec
    """
    Each of the links `out-<output>`, from the switch to the sinks. Its queue is the output's.
    """
    back: LinkSpec | None = None
    """
    Each flow's own way back for its ACKs. Default: the rate of `access`, and the propagation delay of the way there.
    """
    fabric: Fabric | None = None
    """
    What joins inputs to outputs.
    """
    load: Annotated[LoadPattern, Field(validate_default=True)] = "uniform"
    """
    How the traffic is spread over inputs and outputs.
    """
    placement: Placement = "round-robin"
    """
    How flows are put onto the pairs of inputs and outputs: in turn, so that each pair has its share of them to within one flow, or at random.
    """
    allow_overload: bool = False
    """
    Accept a load that asks more of an input or an output than its line carries.
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
    Hosts, routers and switches.
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
    Number of flows. Default: one, which has the group's name. Not for cells and frames.
    """
    transport: Transport
    """
    Who sends: TCP, UDP, the sources of cells before a switch, or those of frames in an Ethernet.
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
    Traffic class, for disciplines that look at it; in an Ethernet the priority, 0 to 7.
    """
    access: LinkSpec | None = None
    """
    The flow's own link between its source and the first router, both directions, in place of the topology's.
    """
    from_: Annotated[OneOrMany | None, Field(alias="from")] = None
    """
    Free graph and Ethernet only, required there: the host, or hosts in turn, that send.
    """
    to: OneOrMany | None = None
    """
    Free graph and Ethernet only, required there: the host, or hosts in turn, that receive; in an Ethernet also "others": every other node.
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
SwitchTopology.model_rebuild()
GraphTopology.model_rebuild()
Star.model_rebuild()
LinkSpec.model_rebuild()
CbqQueue.model_rebuild()
CbqConfig.model_rebuild()
Graph.model_rebuild()
