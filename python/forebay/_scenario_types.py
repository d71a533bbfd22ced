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
    Uniform between two values: { uniform = ["0 s", "1 s"] }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    uniform: Annotated[list[Span], Field(max_length=2, min_length=2)]


class ExponentialSpanDistribution(BaseModel):
    """
    Exponential with this mean: { exponential = "10 ms" }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    exponential: Span


class NormalSpan(BaseModel):
    """
    The normal distribution of times.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    mean: Span
    """
    The mean.
    """
    deviation: Span
    """
    The standard deviation, at most the mean.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    min_threshold: QueueSize | None = None
    """
    `min_th`: average queue below which nothing is dropped; its unit is the unit of the average. Default: half of what the link sends in `target_delay`, at least 5 packets (ns-2).
    """
    max_threshold: QueueSize | None = None
    """
    `max_th`: average queue at which the probability is `max_p`, in the unit of `min_threshold`. Default: three times `min_threshold` (paper), but at most `limit`.
    """
    target_delay: Span = "5 ms"
    """
    Queueing delay for which the automatic thresholds are computed. Default: 5 ms (paper).
    """
    weight: float | None = None
    """
    `w_q`: weight of each new sample in the moving average. Default: 1 - exp(-1/C), where C is the number of mean packets that the link sends in a second (paper).
    """
    max_probability: float = 0.1
    """
    Initial `max_p`. Default: 0.1 (ns-2).
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
    Step by which `max_p` grows, or a quarter of `max_p` if that is less. Default: 0.01 (paper).
    """
    beta: float = 0.9
    """
    Factor by which `max_p` shrinks. Default: 0.9 (paper).
    """
    interval: Span = "500 ms"
    """
    Time between two adjustments of `max_p`. Default: 500 ms (paper).
    """
    ns_clock: bool = False
    """
    Whether `interval` is counted from the last change and checked only at arrivals, with at most one step for each, as in ns-2 and ns-3. Default: no.
    """
    gentle: bool = True
    """
    Whether the probability rises from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: yes (paper).
    """
    wait: bool = False
    """
    Whether at least 1/p packets must pass between two early drops: gaps are uniform on 1/p .. 2/p, so that the mean rate of drops is p/1.5, instead of 1 .. 1/p. Default: no; ns-2 sets it.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are suppressed while at most one packet is waiting. Default: no; ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size` (RED's paper, section 7). Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size, for the automatic thresholds and weight, the idle rule and `byte_mode`. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early (RFC 3168, section 5). Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets beyond the end of the profile are dropped even if they are ECN-capable (RFC 3168, section 7). Default: yes.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    min_threshold: QueueSize = "5 packets"
    """
    `min_th`: average queue below which nothing is dropped. In packets or bytes; its unit is the unit of the average, and `max_threshold` needs the same. Default: 5 packets (RED).
    """
    max_threshold: QueueSize = "15 packets"
    """
    `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability rises from `max_probability` to 1). Default: 15 packets (RED).
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in the moving average. Default: 0.002 (RED).
    """
    max_probability: float = 0.02
    """
    Initial `max_p`. Default: 0.02 (RED).
    """
    alpha: float = 3.0
    """
    Divisor of `max_p` when the average falls below `min_threshold`. Default: 3 (paper).
    """
    beta: float = 2.0
    """
    Factor of `max_p` when the average rises above `max_threshold`. Default: 2 (paper).
    """
    bottom: float = 1e-06
    """
    Lowest `max_p`. Default: 0.000001.
    """
    gentle: bool = False
    """
    Whether the probability rises from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: no (paper); ns-2 has set it since 2001.
    """
    wait: bool = False
    """
    Whether at least 1/p packets must pass between two early drops: gaps are uniform on 1/p .. 2/p, so that the mean rate of drops is p/1.5, instead of 1 .. 1/p. Default: no; ns-2 sets it.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are suppressed while at most one packet is waiting. Default: no; ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size` (RED's paper, section 7). Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for, and `byte_mode` refers to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early (RFC 3168, section 5). Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets beyond the end of the profile are dropped even if they are ECN-capable (RFC 3168, section 7). Default: yes.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    target_rtt: Span = "40 ms"
    """
    `R`: round-trip time of the TCP whose rate a flow may reach. Default: 40 ms (paper).
    """
    lists: Annotated[int, Field(ge=0)] = 5
    """
    `M`: number of lists of dropped flows, one for each of the last periods; at most 8. Default: 5 (paper).
    """
    lists_to_monitor: Annotated[int, Field(ge=0)] = 3
    """
    `K`: number of lists that must contain a flow before it is monitored. Default: 3 (paper).
    """
    list_entries: Annotated[int, Field(ge=0)] = 50
    """
    Number of flows in a list: those with the most bytes dropped. Default: 50 (ns-2).
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
    Minimum time between two changes of a flow's probability. Default: 400 ms (ns-2).
    """
    max_reduction: float = 0.05
    """
    Maximum decrease of a flow's probability at a time. Default: 0.05 (ns-2).
    """
    unresponsive_test: bool = True
    """
    Whether flows are tested for being unresponsive. Default: yes.
    """
    keep_busy: bool = False
    """
    Whether the filter also spares unresponsive flows while at most one packet is waiting (`noidle_` in ns-2). Default: no.
    """
    min_threshold: QueueSize = "5 packets"
    """
    `min_th`: average queue below which RED drops nothing, and the filter drops nothing of responsive flows; in packets or bytes. Its unit is the unit of the average. Default: 5 packets (RED).
    """
    max_threshold: QueueSize = "15 packets"
    """
    `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability rises from `max_probability` to 1). Default: 15 packets (RED).
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
    Whether the probability rises from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: yes (ns-2), for beyond the jump no early drop would identify flows.
    """
    wait: bool = False
    """
    Whether at least 1/p packets must pass between two early drops: gaps are uniform on 1/p .. 2/p, so that the mean rate of drops is p/1.5, instead of 1 .. 1/p. Default: no; ns-2 sets it.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are suppressed while at most one packet is waiting. Default: no; ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size` (RED's paper, section 7). Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for, and `byte_mode` refers to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether RED marks ECN-capable packets instead of dropping them early; the filter always drops. Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets beyond the end of the profile are dropped even if they are ECN-capable (RFC 3168, section 7). Default: yes.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    log_entries: Annotated[int, Field(ge=0)] = 1000
    """
    Number of drops that the log holds; at most a million. Default: 1000.
    """
    interval: Span = "1 s"
    """
    Time between two evaluations of the log. Default: 1 s.
    """
    min_drops: Annotated[int, Field(ge=0)] = 10
    """
    Number of drops that a flow needs in the log to be tested: fewer say too little about its rate. Default: 10.
    """
    rtt: Span = "40 ms"
    """
    `R`: round-trip time of the TCP whose rate a flow may reach. Default: 40 ms (RED-PD's).
    """
    packet_size: Bytes = "1500 B"
    """
    `B`: packet size of that TCP. Default: 1500 B.
    """
    min_drop_rate: float = 0.01
    """
    Drop rate below which no flow's share is out of proportion, and from which its growth is counted: lower rates come from a few drops. Default: 0.01.
    """
    box_share: float = 0.05
    """
    Share of the link's rate for all flows in the box together. Default: 0.05.
    """
    box_burst: Bytes = "15 KB"
    """
    Amount that these flows may send at once: the depth of their token bucket. Default: 15 KB, ten large packets.
    """
    min_threshold: QueueSize = "5 packets"
    """
    `min_th`: average queue below which nothing is dropped. In packets or bytes; its unit is the unit of the average, and `max_threshold` needs the same. Default: 5 packets (RED).
    """
    max_threshold: QueueSize = "15 packets"
    """
    `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability rises from `max_probability` to 1). Default: 15 packets (RED).
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
    Whether the probability rises from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: no (RED).
    """
    wait: bool = False
    """
    Whether at least 1/p packets must pass between two early drops: gaps are uniform on 1/p .. 2/p, so that the mean rate of drops is p/1.5, instead of 1 .. 1/p. Default: no; ns-2 sets it.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are suppressed while at most one packet is waiting. Default: no; ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size` (RED's paper, section 7). Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for, and `byte_mode` refers to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether RED marks ECN-capable packets instead of dropping them early; a mark counts as a drop, and the box always drops. Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets beyond the end of the profile are dropped even if they are ECN-capable (RFC 3168, section 7). Default: yes.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    min_threshold: QueueSize = "250 packets"
    """
    `min_th`: average queue below which nothing is dropped at random, and the maximum number of packets that one flow may hold; in packets. Default: 250 packets, a quarter of the default limit (paper, section 6).
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
    `minq`: packets that a flow may always queue without a random drop: 2 for small buffers, 4 for large ones (paper, section 6). Default: 2.
    """
    many_flows: bool = True
    """
    Whether each flow may hold two packets while the average exceeds `max_threshold`, so that all flows can continue even if they outnumber the shares of the buffer (paper, section 7). Default: yes.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for. Default: 500 B (ns-2's for RED).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked where they would be dropped at random. Default: no.
    """


OffClass = TypeAliasType("OffClass", Annotated[int, Field(ge=0, le=255)])


HardDropClass = TypeAliasType("HardDropClass", Annotated[int, Field(ge=0, le=255)])


DblPreset = TypeAliasType("DblPreset", Literal["paper", "catalyst4500"])
"""
Source of the default values.
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
Scope of a flow table.
"""


InputPortAction = TypeAliasType("InputPortAction", Literal["throttle", "shutdown"])
"""
Action against an input port with too many belligerent flows.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    increment: float = 0.0025
    """
    `d1`: increase of the probability after a loss. Default: 0.0025 (paper, configurations B1 and B2).
    """
    decrement: float = 0.00025
    """
    `d2`: decrease of the probability while the link is idle. It should be much less than `increment`, because a link may also be idle for lack of load. Default: 0.00025 (paper, configurations B1 and B2).
    """
    freeze_time: Span = "100 ms"
    """
    Minimum time between two changes of the probability, of the order of the sources' round-trip times. Default: 100 ms (paper, configuration B2).
    """
    separate_freeze: bool = False
    """
    Whether a change in one direction may be followed at once by one in the other, as in the authors' simulator. Default: no (paper's pseudo-code).
    """
    threshold: QueueSize | None = None
    """
    `L`: queue length above which an arriving packet counts as a loss, which leaves some room for bursts. Default: none, only losses count.
    """
    ecn: bool = True
    """
    Whether ECN-capable packets are marked where they would be dropped at random. Default: yes (the paper marks).
    """


SfbDropRule = TypeAliasType("SfbDropRule", Literal["all", "any"])
"""
Which bins of a packet must be over their size for a drop.
"""


SfbRateLimitScope = TypeAliasType(
    "SfbRateLimitScope", Literal["per_bin", "aggregate", "linux"]
)
"""
The owner of a token bucket in the rate limiter.
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
    Bits of the bitmap in which flows are counted; enough for about seven times as many flows. Default: 4096.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 200 packets, as for SFB.
    """
    levels: Annotated[int, Field(ge=0)] = 2
    """
    `L`: number of levels of bins, each with its own hash function; at most 16. Default: 2, as for SFB.
    """
    bins: Annotated[int, Field(ge=0)] = 23
    """
    `N`: number of bins in a level. Default: 23, as for SFB.
    """
    bin_size: Annotated[int | None, Field(ge=0)] = None
    """
    `max_th` of a bin's average, in packets; `min_th` is a third of it. Default: 1.5 times `limit` divided by `bins`, where a limit in bytes counts in packets of 1000 B: 13 packets with the other defaults, as for SFB.
    """
    weight: float = 0.002
    """
    `w_q`: weight of each new sample in a bin's moving average. Default: 0.002, as for RED.
    """
    max_probability: float = 0.1
    """
    Initial `max_p` of each bin. Default: 0.1.
    """
    decrease_factor: float = 3.0
    """
    `alpha`: divisor of `max_p` when the average falls below the lower threshold. Default: 3 (Feng et al. 1999).
    """
    increase_factor: float = 2.0
    """
    `beta`: factor of `max_p` when the average rises above the upper threshold. Default: 2 (Feng et al. 1999).
    """
    rate_limit: Rate = "160 kbps"
    """
    Rate to which a flow is held whose bins all have a `max_p` of 1. Default: 160 kb/s, as for SFB.
    """
    rate_limit_scope: SfbRateLimitScope = "per_bin"
    """
    Whether that rate is for each of these flows or for all together. Default: each.
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
    Mean packet size: a bin's share of the link's rate divided by it is the number of samples that an empty bin misses in a second. Default: 1000 B, the paper's packets.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 300 packets (paper, simulations).
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
    `max_p`: drop probability at `max_threshold`, before the gaps are made uniform. Default: 0.02 (RED's paper).
    """
    candidates: Annotated[int, Field(ge=0)] = 1
    """
    `m`: packets drawn from the queue for each arrival. Default: 1 (paper).
    """
    regions: Annotated[int | None, Field(ge=0)] = None
    """
    Number of regions of equal width between the thresholds, by which the number of candidates follows the average: 2 in the first region, 2 more in each further one. Default: none; the paper has 8.
    """
    all_matches: bool = True
    """
    Whether all candidates of the arrival's flow are dropped; otherwise drawing ends with the first match, and only that one is dropped. Default: yes (paper).
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for. Default: 500 B (ns-2's for RED).
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
    Limit of all buckets together, in packets or bytes; each bucket has an even part of it. The packet being sent does not count. Default: 414 KB (paper).
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
    `max_th`: a bucket's average length from which every packet is dropped (or, if `gentle`, from which the probability rises to 1), in the unit of `min_threshold`. Default: 8 KB (paper).
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
    Whether the probability rises from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: no.
    """
    wait: bool = False
    """
    Whether at least 1/p packets must pass between two early drops: gaps are uniform on 1/p .. 2/p, so that the mean rate of drops is p/1.5, instead of 1 .. 1/p. Default: no; ns-2 sets it.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are suppressed while at most one packet is waiting in the bucket (ns-2). Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: a bucket's part of the link's rate divided by it is the number of samples that an idle period counts for. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early (RFC 3168, section 5). Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets beyond the end of the profile are dropped even if they are ECN-capable (RFC 3168, section 7). Default: yes.
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
    Weight of each flow of the class; flows of classes that are not listed have 1.
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
    Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    weights: Annotated[list[ClassWeight], Field(validate_default=True)] = []
    """
    Weights of flows by traffic class. A flow has the weight of the class of the packet with which it became active. Default: 1 for all.
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
    B: limit of the queue, in packets or bytes, not counting the packet being sent. A sixth and a third of it are the steps of the drop probability. Default: 1000 packets.
    """
    zombies: Annotated[int, Field(ge=0)] = 1000
    """
    M: length of the zombie list. Default: 1000 (paper).
    """
    overwrite_probability: float = 0.25
    """
    p: probability with which a packet without a hit replaces the zombie with which it was compared. Divided by `zombies` it is the weight of a packet in the moving average of the hits. Default: 0.25 (paper).
    """
    max_probability: float = 0.15
    """
    `p_max`: drop probability from a third of the limit on, before the number of flows is taken into account. Default: 0.15 (paper).
    """
    full: bool = True
    """
    Whether a packet with a hit is more likely to be dropped (the paper's "full SRED"), instead of all packets alike ("simple SRED"). Default: yes.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early. Default: no.
    """


class PiDesign(BaseModel):
    """
    The traffic for which PI's gains are computed.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    flows: Annotated[int, Field(ge=0)]
    """
    N: the least number of long TCP flows that share the link; with more the loop is slower but stable.
    """
    round_trip_time: Span
    """
    R: their longest round-trip time, including the queue at its reference.
    """


class RemConfig(BaseModel):
    """
    Parameters of REM.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    target: QueueSize = "20 packets"
    """
    `b*`: the length at which the queue is held, in packets or bytes, which count as packets of `mean_packet_size`. Default: 20 packets (ns-2).
    """
    update_interval: Span = "2 ms"
    """
    Interval at which the price is updated. Default: 2 ms (ns-2).
    """
    gamma: float = 0.001
    """
    Increase of the price for each packet that arrives in an interval beyond the capacity of the link. Default: 0.001 (ns-2).
    """
    alpha: float = 0.1
    """
    Weight of a packet in the queue beyond `target`, in relation to one that arrives. Default: 0.1 (ns-2).
    """
    phi: float = 1.001
    """
    Base of the probability, which is 1 - `phi`^(-price). Default: 1.001 (ns-2).
    """
    weight: float = 1.0
    """
    Weight of each new interval in the moving average of the arrivals. Default: 1, no averaging (ns-2).
    """
    byte_mode: bool = False
    """
    Whether arrivals and the queue are counted in bytes, as packets of `mean_packet_size`, and a packet's probability grows in proportion to its size. Default: no.
    """
    mean_packet_size: Bytes = "1 KB"
    """
    Mean packet size: the capacity is the rate of the link divided by it, and `byte_mode` and a target in bytes refer to it. Default: 1000 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped. Default: no.
    """


CsfqRole = TypeAliasType("CsfqRole", Literal["edge", "core"])
"""
Role of the router for the packets of this queue.
"""


Pi2Preset = TypeAliasType("Pi2Preset", Literal["linux", "rfc"])
"""
Source of the rules in which Linux and RFC 9332 differ.
"""


Pi2Draw = TypeAliasType("Pi2Draw", Literal["random", "recur"])
"""
How packets are chosen with a probability.
"""


L4sClass = TypeAliasType("L4sClass", Annotated[int, Field(ge=0, le=255)])


LlllClass = TypeAliasType("LlllClass", Annotated[int, Field(ge=0, le=255)])


DualPi2Delay = TypeAliasType("DualPi2Delay", Literal["older_head", "classic_head"])
"""
The packet whose age is the delay for the controller.
"""


DualPi2EcnMask = TypeAliasType("DualPi2EcnMask", Literal["l4s_ect", "any_ect"])
"""
The bits of the ECN field that make an L4S packet.
"""


DualPi2L4sAqm = TypeAliasType("DualPi2L4sAqm", Literal["step", "ramp"])
"""
The AQM of the L4S queue itself.
"""


DualPi2Scheduler = TypeAliasType(
    "DualPi2Scheduler", Literal["wrr", "time_shifted_fifo"]
)
"""
The order of the two queues.
"""


SquareRoot = TypeAliasType("SquareRoot", Literal["exact", "newton16"])
"""
Method by which CoDel computes the square root of the number of drops.
"""


PriomapItem = TypeAliasType("PriomapItem", Annotated[int, Field(ge=0, le=255)])


Weight = TypeAliasType("Weight", Annotated[int, Field(ge=0)])


class FqConfig(BaseModel):
    """
    Parameters of fq. Gauges have the names of `tc -s qdisc`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "10000 packets"
    """
    Limit of each of the three bands, in packets or bytes, not counting the packet being sent. Default: 10000 packets (Linux).
    """
    flow_limit: Annotated[int, Field(ge=0)] = 100
    """
    Most packets that a flow may have queued. Default: 100 (Linux).
    """
    flows: Annotated[int, Field(ge=0)] = 1024
    """
    Number of queues to which flows are hashed: `orphan_mask` + 1. Default: 1024 (Linux).
    """
    quantum: Bytes = "3028 B"
    """
    Quantum: bytes that a flow may send in its turn. Default: 3028 B, two packets of an Ethernet with their headers (Linux).
    """
    initial_quantum: Bytes = "15.14 KB"
    """
    Bytes that a new flow may send in its first turn. Default: 15140 B, ten packets (Linux).
    """
    flow_max_rate: Rate | None = None
    """
    `maxrate`: the rate that no flow exceeds, but for its first turn. Default: none.
    """
    low_rate_threshold: Rate = "550 kbps"
    """
    `flow_max_rate` up to which a flow waits after each packet instead of each quantum. Default: 550 kbps (Linux).
    """
    refill_delay: Span = "40 ms"
    """
    Time without packets after which a flow has at least a quantum again. Default: 40 ms (Linux).
    """
    ce_threshold: Span | None = None
    """
    Time that an ECN-capable packet may wait beyond what `flow_max_rate` requires; one that waits longer is marked. Default: none.
    """
    priomap: Annotated[list[PriomapItem], Field(max_length=16, min_length=16)] = [
        1,
        2,
        2,
        2,
        1,
        2,
        0,
        0,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
    ]
    """
    The band of each priority, from 0 to 2; the last four bits of the traffic class are the priority. Default: `[1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]` (Linux).
    """
    weights: Annotated[list[Weight], Field(max_length=3, min_length=3)] = [
        589824,
        196608,
        65536,
    ]
    """
    Bytes that each band may send in its turn, at least 16384. Default: `[589824, 196608, 65536]` (Linux), 9 to 3 to 1.
    """


FqCodelPreset = TypeAliasType("FqCodelPreset", Literal["rfc", "linux"])
"""
Source of the rules where implementations differ.
"""


PiePreset = TypeAliasType("PiePreset", Literal["rfc", "linux"])
"""
Source of the rules where implementations differ.
"""


CakeTins = TypeAliasType(
    "CakeTins",
    Literal["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"],
)
"""
Into which tins CAKE sorts traffic classes.
"""


CakeIsolation = TypeAliasType(
    "CakeIsolation",
    Literal[
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
        "triple-isolate",
    ],
)
"""
Whose packets share a queue, and between whom the bandwidth is shared.
"""


LinkLayer = TypeAliasType(
    "LinkLayer",
    Literal[
        "ethernet",
        "docsis",
        "conservative",
        "ipoa-vcmux",
        "ipoa-llcsnap",
        "bridged-vcmux",
        "bridged-llcsnap",
        "pppoa-vcmux",
        "pppoa-llc",
        "pppoe-vcmux",
        "pppoe-llcsnap",
        "pppoe-ptm",
        "bridged-ptm",
    ],
)
"""
Presets of `overhead`, `mpu` and `framing`, by the keywords of `tc`.
"""


CellFraming = TypeAliasType("CellFraming", Literal["none", "atm", "ptm"])
"""
How a link layer carries packets.
"""


CakeAckFilter = TypeAliasType("CakeAckFilter", Literal["off", "on", "aggressive"])
"""
Whether CAKE drops ACKs that later ones make redundant.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    target: Span = "5 ms"
    """
    Delay above which the control law considers the queue congested; also the minimum time between two steps of BLUE's probability. Default: 5 ms (CAKE).
    """
    interval: Span = "100 ms"
    """
    Time for which the delay must stay above the target before the first drop; also the longest gap between drops. Default: 100 ms (CAKE).
    """
    max_packet_size: Bytes = "1500 B"
    """
    Maximum packet size: a delay below the transmission time of four such packets is not congestion. Default: 1500 B.
    """
    increment: float = 0.00390625
    """
    Increase of BLUE's drop probability when the queue overflows. Default: 1/256 (CAKE).
    """
    decrement: float = 0.000244140625
    """
    Decrease of BLUE's drop probability when the queue runs empty. Default: 1/4096 (CAKE).
    """
    blue_threshold: Span | None = None
    """
    Delay above which BLUE's drop probability grows as if the queue had overflowed. Default: none (CAKE); 400 ms in ns-3.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped by the control law. Default: no (ns-3); CAKE marks.
    """
    ce_threshold: Span | None = None
    """
    Delay from which every ECN-capable packet is marked, regardless of the control law; for DCTCP and similar senders. Default: none.
    """


class PieConfig(BaseModel):
    """
    Parameters of PIE.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    preset: PiePreset = "rfc"
    """
    Source of the rules in which implementations differ: RFC 8033 or Linux's `sch_pie`. Default: `rfc`.
    """
    limit: QueueSize = "1000 packets"
    """
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets (Linux).
    """
    target: Span = "15 ms"
    """
    QDELAY_REF: the target of the queueing delay. Default: 15 ms (RFC 8033, section 4.2).
    """
    update_interval: Span = "15 ms"
    """
    T_UPDATE: period of the controller. Default: 15 ms (RFC 8033, section 4.2).
    """
    alpha: float = 0.125
    """
    Step of the probability at each tick for each second of delay above the target, at a probability of 10 % or more. Default: 0.125 (RFC 8033, section 4.2).
    """
    beta: float = 1.25
    """
    Step of the probability at each tick for each second by which the delay has grown, at a probability of 10 % or more. Default: 1.25 (RFC 8033, section 4.2).
    """
    max_burst: Span = "150 ms"
    """
    MAX_BURST: time for which nothing is dropped early after a quiet time. Default: 150 ms (RFC 8033, section 4.4).
    """
    mean_packet_size: Bytes = "1500 B"
    """
    MEAN_PKTSIZE: nothing is dropped early with at most two such packets queued; also the reference of `byte_mode`. Default: 1500 B, an Ethernet's MTU.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size`; with `linux` not beyond that size. Default: no.
    """
    derandomize: bool | None = None
    """
    Whether drops are spread out: none until the probabilities of the packets since the last one add up to 0.85, and one for certain when they add up to 8.5 (RFC 8033, section 5.4). Default: no (linux: yes).
    """
    cap_adjustment: bool = True
    """
    Whether the probability rises by no more than 2 % a tick once it is at 10 % (RFC 8033, section 5.5). Default: yes.
    """
    active_threshold: Span | None = None
    """
    Delay at which PIE becomes active; until then nothing is dropped early and the probability does not change. PIE becomes inactive when the probability is 0 and the delay is below half of the target, as in ns-3 (RFC 8033, section 5.3, uses a third of the buffer instead of the delay). Default: always active.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early (RFC 8033, section 5.1). Default: no.
    """
    mark_threshold: float = 0.1
    """
    `mark_ecnth`: probability above which ECN-capable packets are dropped as well. Default: 0.1 (RFC 8033, section 5.1).
    """


AfdForm = TypeAliasType("AfdForm", Literal["shadow_buffer", "flow_table"])
"""
The data structure of AFD's sample.
"""


class HhfConfig(BaseModel):
    """
    Parameters of HHF. Gauges have the names of `tc -s qdisc`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    Limit of both queues together, in packets or bytes, not counting the packet being sent. Default: 1000 packets (Linux).
    """
    quantum: Bytes = "1514 B"
    """
    Quantum: bytes that the heavy hitters may send in their turn. Default: 1514 B, an Ethernet's MTU with its header (Linux).
    """
    non_hh_weight: Annotated[int, Field(ge=0)] = 2
    """
    Share of the other flows in relation to that of the heavy hitters. Default: 2 (Linux).
    """
    hh_limit: Annotated[int, Field(ge=0)] = 2048
    """
    Most heavy hitters that are known at a time, up to 2048. Default: 2048 (Linux).
    """
    admit_bytes: Bytes = "128 KiB"
    """
    Bytes that a flow may send within `reset_timeout`; with more it becomes a heavy hitter. Default: 128 KiB (Linux).
    """
    reset_timeout: Span = "40 ms"
    """
    Time after which the counters start again at 0. Default: 40 ms (Linux).
    """
    evict_timeout: Span = "1 s"
    """
    Time without a packet after which a flow is no longer a heavy hitter. Default: 1 s (Linux).
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 300 packets (paper, section 4).
    """
    min_threshold: QueueSize = "100 packets"
    """
    `min_th`: average queue below which nothing is dropped. In packets or bytes; its unit is the unit of the average, and `max_threshold` needs the same. Default: 100 packets, a third of the default limit.
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
    Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for. Default: 500 B (ns-2's for RED).
    """
    counters: Annotated[int | None, Field(ge=0)] = None
    """
    Number of counters, K: flows are held to 1/(K + 1) of the link. With too few, heavy flows pass. With too many, this share is below the fair rate and the counters of all fast flows grow without limit. The queue falls to `min_threshold`, all packets are admitted, and the fast flows share what is left in proportion to their rates. With a counter for each active flow no counter is ever decremented and flows are not distinguished; the gauge `decrements` then does not change. Since only the user knows the number of flows, no value in the range is refused. From 1 to 1048576. Default: as follows from `flow_rate_limit`, otherwise 32.
    """
    flow_rate_limit: Rate | None = None
    """
    `r_limit`: rate above which a flow is blocked. The number of counters is then the link's rate divided by it, rounded up (paper, section 3.1). Excludes `counters`. Default: none.
    """
    member_threshold: Annotated[int, Field(ge=0)] = 0
    """
    A flow is blocked only if its counter is more than this. Default: 0, every member (paper, section 3).
    """
    decay_period: Span | None = None
    """
    Time after which all counters are halved, so that the past is forgotten even where no counter is decremented. Default: never; the paper has no such rule.
    """
    bytes_per_count: Bytes | None = None
    """
    Bytes for each count: a packet counts as its length divided by this, rounded up. Default: none, each packet counts once (paper, section 3.1).
    """
    count_departures: bool = False
    """
    Whether a packet is counted when its transmission begins instead of when it is admitted, so that a queued burst does not count against its flow at once. Default: no.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked where they would be dropped at random. Default: no.
    """


class DeadlineRanks(BaseModel):
    """
    Ranks by deadline.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    slack: list[Span] = ["0 ps"]
    """
    Time from a packet's departure until it is due, for each traffic class from 0 on; the last value also holds for all classes after it. Default: ["0 s"], the oldest packet first (our choice).
    """


class UniformRanks(BaseModel):
    """
    Uniform ranks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    below: Annotated[int, Field(ge=0)] = 100
    """
    Ranks are from 0 to one less than this, which is from 1 to 4294967295. Default: 100 (SP-PIFO's paper).
    """


class ExponentialRanks(BaseModel):
    """
    Exponential ranks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    mean: float = 25.0
    """
    The mean before ranks are drawn again and rounded down, more than 0. Default: 25 (SP-PIFO's simulator).
    """
    below: Annotated[int, Field(ge=0)] = 100
    """
    A rank of this or more is drawn again; at least a hundredth of `mean`. Default: 100 (SP-PIFO's simulator).
    """


class PoissonRanks(BaseModel):
    """
    Poisson ranks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    mean: float = 50.0
    """
    The mean, more than 0 and at most 500. Default: 50 (SP-PIFO's simulator).
    """


class AfqConfig(BaseModel):
    """
    Parameters of AFQ.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    queues: Annotated[int, Field(ge=0)] = 32
    """
    nQ: number of FIFO queues, from 1 to 65536. Default: 32 (SP-PIFO's simulations of AFQ).
    """
    bytes_per_round: Bytes = "3 KB"
    """
    BpR: bytes that a flow may send in a round, up to 2147483647; `queues` times this must exceed 1500 B. Default: 3000 B, two full packets (our choice).
    """
    queue_limit: Annotated[int, Field(ge=0)] = 320
    """
    Most packets in one queue, at least 1. Default: 320 (the simulator).
    """
    max_flows: Annotated[int, Field(ge=0)] = 16384
    """
    Most flows whose bytes are kept at a time, at least 1. Default: 16384 (our choice).
    """


class EcnThresholdConfig(BaseModel):
    """
    Parameters of ECN thresholds.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    min_threshold: QueueSize = "65 packets"
    """
    `K_min`: queue, in packets or bytes, up to which no packet is marked. Default: 65 packets (DCTCP at 10 Gb/s).
    """
    max_threshold: QueueSize = "65 packets"
    """
    `K_max`: queue above which each ECN-capable packet is marked, in the unit of `min_threshold`; with the same value the marks begin all at once. Default: 65 packets (DCTCP at 10 Gb/s).
    """
    max_probability: float = 1.0
    """
    `P_max`: probability of a mark at `max_threshold`. Default: 1; DCQCN and HPCC have less.
    """
    reference_rate: Rate | None = None
    """
    Rate of the link to which the thresholds apply; at others they grow in proportion to the rate. Default: they apply at any rate.
    """


class TrimmingConfig(BaseModel):
    """
    Parameters of trimming.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "8 packets"
    """
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 8 packets (NDP).
    """
    header: Bytes = "64 B"
    """
    Length to which packets are cut. Shorter ones, and those of this length, wait with the headers. From 40 B to 65535 B. Default: 64 B (NDP, htsim).
    """
    header_limit: QueueSize | None = None
    """
    Limit of the queue for headers, in packets or bytes. Default: twice the memory of `limit`, which is 9000 B for each packet if it counts packets (htsim).
    """
    headers_per_data: Annotated[int, Field(ge=0)] = 10
    """
    Headers that go for each data packet while both wait, at least 1. Default: 10 (NDP); Ultra Ethernet's reference simulator has 100000.
    """
    ecn: bool = False
    """
    Whether ECN-capable data is marked that leaves a long queue behind. Default: no.
    """
    min_threshold: QueueSize | None = None
    """
    Length of the queue for data, in packets or bytes, that a packet may leave behind without a mark. From here the probability of a mark rises to 1. Default: 20 % of `limit` (Ultra Ethernet).
    """
    max_threshold: QueueSize | None = None
    """
    Length from which on every packet is marked, in the unit of `min_threshold`. Default: 80 % of `limit` (Ultra Ethernet).
    """


Class = TypeAliasType("Class", Annotated[int, Field(ge=0, le=255)])


class TaprioInterval(BaseModel):
    """
    An interval of taprio's schedule.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    open: list[str]
    """
    Names of the classes whose gates are open.
    """
    interval: Span
    """
    Length of the interval.
    """


PythonClass1 = TypeAliasType(
    "PythonClass1", Annotated[str, Field(pattern="^[\\w.]+:[\\w.]+$")]
)
"""
A class written in Python, alone or with its parameters.
"""


class PythonClass2(BaseModel):
    """
    A class written in Python, with its parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    class_: Annotated[str, Field(alias="class", pattern="^[\\w.]+:[\\w.]+$")]
    """
    Module and class: `"module:Class"`.
    """
    parameters: dict[str, Any] = {}
    """
    Keyword arguments of its constructor. Default: nothing.
    """


PythonClass = TypeAliasType("PythonClass", PythonClass1 | PythonClass2)
"""
A class written in Python, alone or with its parameters.
"""


class ServicePeriod(BaseModel):
    """
    A period in which a link has another rate or delay.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate | None = None
    """
    The rate. It may be "0 bps": a packet whose transmission has begun is sent when the rate is back. Default: that of the link.
    """
    delay: Span | None = None
    """
    The propagation delay. Default: that of the link.
    """
    from_: Annotated[Span, Field(alias="from")] = "0 ps"
    """
    Start.
    """
    to: Span | None = None
    """
    End. Default: the end of the run.
    """


class FileRateTrace(BaseModel):
    """
    A file, relative to the folder of the scenario: mahimahi's format, or CSV with columns `duration_ms` and `bandwidth_kbps`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    file: str


TimesM = TypeAliasType("TimesM", Annotated[int, Field(ge=0)])


class Opportunities(BaseModel):
    """
    Times at which a link may send. A packet leaves when its last byte has had a share. The rest of an opportunity is lost if no packet waits, and so is one at the time of an arrival.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    times_ms: list[TimesM]
    """
    The times in milliseconds, not decreasing, the last one above 0; they repeat with this period.
    """
    bytes: Bytes = "1504 B"
    """
    Bytes of an opportunity. Default: 1504 B, as in mahimahi.
    """


class TraceStep(BaseModel):
    """
    A rate and how long it lasts.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    duration: Span
    """
    How long it lasts.
    """
    rate: Rate
    """
    The rate. It may be "0 bps".
    """


class LinkFraming1(BaseModel):
    """
    The bytes that a packet takes on a link.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    layer: LinkLayer | None = None
    """
    The link layer, by CAKE's keyword in `tc`, whose values the other keys replace. Default: none.
    """
    vlan_tags: Annotated[int, Field(ge=0, le=8)] = 0
    """
    Number of VLAN tags, each of which adds 4 bytes.
    """
    overhead: Annotated[int | None, Field(ge=0, le=256)] = None
    """
    Bytes that the link adds to each packet, at most 256. Default: that of `layer`, else 0.
    """
    mpu: Annotated[int | None, Field(ge=0, le=256)] = None
    """
    Least length on the link in bytes, overhead included, at most 256. Default: that of `layer`, else 0.
    """
    cells: CellFraming | None = None
    """
    Cells of the link. Default: those of `layer`, else `none`.
    """


LinkFraming = TypeAliasType("LinkFraming", LinkLayer | LinkFraming1)
"""
Bytes that a link takes for a packet: a link layer, or a table.
"""


class Outage(BaseModel):
    """
    A time in which a link is down. Packets whose transmission falls into it are lost.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    from_: Annotated[Span, Field(alias="from")] = "0 ps"
    """
    Start.
    """
    to: Span | None = None
    """
    End. Default: the end of the run.
    """


class CorrelatedLoss(BaseModel):
    """
    Losses of which each draw depends on the one before: x = (1 - c) u + c x'. They are rarer than `probability`, because such a sum is seldom near 0; to state a burst length, use the other models.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    probability: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    A packet is lost if the draw is below this.
    """
    correlation: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    c, from 0 to 1.
    """


class GilbertElliott(BaseModel):
    """
    The chain of Gilbert and Elliott. The share of lost packets is (`loss_in_good` r + `loss_in_bad` p) / (p + r), where p is `to_bad` and r is `to_good`. By default a burst has 1 / r packets.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    to_bad: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Probability that the state becomes bad, for each packet (netem's p).
    """
    to_good: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Probability that it becomes good again, for each packet (netem's r). Above 0.
    """
    loss_in_bad: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    Probability of loss in the bad state (netem's 1 - h). Default: 1.
    """
    loss_in_good: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    Probability of loss in the good state (netem's 1 - k). Default: 0.
    """


class FourState(BaseModel):
    """
    A chain of four states, for each packet (Salsano et al. 2012): received outside of bursts (1), received within a burst of losses (2), lost within a burst (3), lost alone (4).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    p13: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Probability that a burst of losses begins.
    """
    p31: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Probability that a burst ends after a loss. Above 0.
    """
    p32: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    Probability that packets are received within a burst. Default: 0.
    """
    p23: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    Probability that losses go on. Above 0. Default: 1.
    """
    p14: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    Probability that a packet alone is lost. Default: 0.
    """


Packet = TypeAliasType("Packet", Annotated[int, Field(ge=0)])


Ack = TypeAliasType("Ack", Annotated[int, Field(ge=0)])


class LostPackets(BaseModel):
    """
    Packets of a flow, by their numbers on this link from 1 on, that are lost.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    flow: str
    """
    Name of the flow, or of a group: each of its flows loses them.
    """
    packets: list[Packet] = []
    """
    Numbers of packets of its data, retransmissions included. Default: none.
    """
    acks: list[Ack] = []
    """
    Numbers of its acknowledgements. Default: none.
    """


class EarlyPackets(BaseModel):
    """
    Packets without jitter, by netem's rule: after `gap` - 1 other packets, each packet is one with this probability.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    probability: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Probability that a packet has no jitter.
    """
    correlation: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    How much each draw depends on the one before, from 0 to 1. Default: 0.
    """
    gap: Annotated[int, Field(ge=1)] = 1
    """
    At least 1. Default: 1.
    """


class Slots(BaseModel):
    """
    Times at which packets that are ready arrive.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    min: Span
    """
    Shortest time to the next slot.
    """
    max: Span | None = None
    """
    Longest time to the next slot; each is drawn between the two. Default: `min`.
    """
    packets: Annotated[int | None, Field(ge=1)] = None
    """
    Most packets of a slot. At least 1. Default: no bound.
    """
    bytes: Bytes | None = None
    """
    Bytes of a slot; the packet that reaches them is its last. Default: no bound.
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
Placement of flows on several hosts.
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
    Maximum number of iterations of request, grant and accept in a phase. Default: log2 of the number of ports, rounded up, plus one: 4 for 8 ports.
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
    Maximum number of iterations of request, grant and accept in a phase. Default: log2 of the number of ports, rounded up, plus one: 4 for 8 ports.
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
    Maximum number of iterations of request, grant and accept in a phase (iLQF). Default: none; the matching is the greedy one.
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
    The load of each input (row) to each output (column), in units of the line rate. It is multiplied by the `load`, if one is given.
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
    Fraction of each input's traffic that goes to it; the rest is distributed evenly over the others. Default: 0.5.
    """


OneOrMany1 = TypeAliasType("OneOrMany1", Annotated[list[str], Field(min_length=1)])
"""
A name, or a list of names.
"""


OneOrMany = TypeAliasType("OneOrMany", str | OneOrMany1)
"""
A name, or a list of names.
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


class CompleteSharingConfig(BaseModel):
    """
    Complete sharing has no parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )


class AbmConfig(BaseModel):
    """
    Parameters of ABM.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha: Annotated[float, Field(gt=0.0)] = 0.5
    """
    Alpha of every class, unless `class_alphas` is given. Default: 0.5 (the authors' simulator, for classes 1 to 3).
    """
    class_alphas: Annotated[list[float] | None, Field(max_length=8, min_length=8)] = (
        None
    )
    """
    Alpha of each class, 0 first. Default: `alpha` for all.
    """
    saturation: Bytes = "28 KB"
    """
    Length from which on a queue counts as congested; a shorter one counts in part. Default: 28 KB, 20 packets of 1400 B (the authors' simulator).
    """
    interval: Span = "30 us"
    """
    Time between two measurements of drain rates and of the number of congested ports. Default: 30 us (the authors' simulator).
    """
    classes: Annotated[int, Field(ge=0)] = 8
    """
    Number of classes that share a link. A smaller share of the link than its reciprocal counts as the whole link, because the queue had nothing to send. Default: 8.
    """


class DynamicThresholdConfig(BaseModel):
    """
    Parameters of the dynamic threshold.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha: Annotated[float, Field(gt=0.0)] = 1.0
    """
    The threshold of each output as a multiple of the free memory. Powers of 2 are easy to implement in hardware.
    """
    input_alpha: Annotated[float | None, Field(gt=0.0)] = None
    """
    The threshold of each input as a multiple of the free memory. Default: none.
    """
    by_class: bool = False
    """
    Whether each class of a port has the thresholds for itself, where the switch distinguishes classes. Default: they are those of all classes together.
    """


class FabConfig(BaseModel):
    """
    Parameters of FAB.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha: Annotated[float, Field(gt=0.0)] = 0.5
    """
    The threshold of each queue for long flows, as a multiple of the free memory. Default: 0.5 (the simulator of ABM's authors).
    """
    short_alpha: Annotated[float, Field(gt=0.0)] = 1024.0
    """
    The same for short flows. Default: 1024, which is no bound but the free memory (the simulator).
    """
    short_bytes: Bytes = "21 KB"
    """
    Bytes from which on a flow is long, with the frame that arrives. Default: 21 KB, 15 packets of 1400 B (the simulator).
    """
    window: Span = "5 ms"
    """
    Time without a frame after which a flow is a new one. Default: 5 ms (the simulator).
    """


class HeadroomPoolConfig(BaseModel):
    """
    Parameters of the headroom pool.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha: Annotated[float, Field(gt=0.0)] = 0.125
    """
    The threshold of each input as a multiple of the free shared memory. Default: 1/8 (HPCC's simulator).
    """
    reserve: Bytes = "4 KiB"
    """
    Memory of each input for itself. Default: 4 KiB (HPCC's simulator).
    """
    headroom: Bytes = "37.5 KB"
    """
    Memory of each input for what arrives after the order to stop. Default: 37.5 KB, which HPCC's simulator has at 100 Gb/s and 1 us.
    """
    resume_offset: Bytes = "3 KiB"
    """
    How far below the threshold the shared memory of an input must fall before its feeder may continue. Default: 3 KiB (HPCC's simulator).
    """
    rate: Rate | None = None
    """
    The rate of links to which `alpha` and `headroom` apply. An input whose link has another rate has more or less of both, in proportion. Default: all inputs have the same.
    """
    classes: Annotated[int, Field(ge=1, le=8)] = 1
    """
    Number of classes for which each input has reserve and headroom set aside. Default: 1.
    """
    total: Bytes | None = None
    """
    Memory of the whole switch, where this is less than its ports have together. Default: theirs.
    """


class LongestQueueDropConfig(BaseModel):
    """
    Longest-queue drop has no parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )


class Pause(BaseModel):
    """
    Watermarks at which a buffer stops and restarts the link that feeds it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    high: Bytes | None = None
    """
    Fill level at which the sender must stop. Both levels are required, but not at a switch with the buffer policy `headroom_pool`, which decides itself.
    """
    low: Bytes | None = None
    """
    Fill level at which it may continue.
    """
    allow_loss: bool = False
    """
    Accept a buffer with too little room above `high`, or too little `headroom`, for what arrives before the sender stops, or an output limit: frames may then be lost, and the results count them.
    """


WatchdogAction = TypeAliasType("WatchdogAction", Literal["drop", "forward"])
"""
The reaction of a watchdog to a storm.
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
Order in which an output of a switch sends the frames that its inputs have for it.
"""


class SingleConfig(BaseModel):
    """
    The single path has no parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )


EcmpSalt = TypeAliasType("EcmpSalt", Literal["node", "common"])
"""
The salt of the hash.
"""


SprayOrder = TypeAliasType("SprayOrder", Literal["random", "round_robin"])
"""
The order of paths.
"""


class FlowletConfig(BaseModel):
    """
    Parameters of flowlet switching.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    timeout: Span = "100 us"
    """
    A longer gap than this between two packets of a flow begins a flowlet.
    """


class CongaConfig(BaseModel):
    """
    Parameters of CONGA.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    timeout: Span = "100 us"
    """
    A longer gap than this between two packets of a flow begins a flowlet.
    """
    aging: Span = "500 us"
    """
    A report that is older than this counts as no congestion.
    """


class Adapter(BaseModel):
    """
    Properties of the adapter of every node of an Ethernet. It has a virtual output queue for each flow and serves them round-robin.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    voq_limit: QueueSize | None = None
    """
    Maximum number of frames in each virtual output queue; further frames are dropped at the source. The ACKs of a flow have a queue of their own. Default: no limit.
    """
    rate_limiters: Annotated[int | None, Field(ge=1)] = None
    """
    Maximum number of flows that have a rate limiter at the same time. Default: all.
    """
    egress_memory: Bytes = "150 KB"
    """
    Memory for frames that have arrived and that the node has not taken yet.
    """
    pause: Pause | None = None
    """
    Stops the link from the switch (IEEE 802.3x). Default: frames that find no room are lost.
    """
    priority_pause: Pause | None = None
    """
    Stops single classes on the link from the switch (IEEE 802.1Qbb): the watermarks are those of each class.
    """
    reaction: Reaction = "0 ps"
    """
    Time after an order to stop in which the adapter still begins frames.
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
    The bytes that join the queue from one sample to the next.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bytes: Bytes = "75 KB"
    """
    Mean number of bytes. Default: 75 KB (slides).
    """
    jitter: float = 0.15
    """
    Maximum deviation from the mean, as a fraction of it, so that samples do not synchronise with the traffic. Default: 0.15 (as with QCN).
    """


SevereMessage = TypeAliasType("SevereMessage", Literal["bcn_max", "bcn_zero", "none"])
"""
Message under severe congestion.
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
    `T_d`: interval between increases.
    """
    step: Rate
    """
    `R_d`: size of an increase.
    """


QcnVariant = TypeAliasType("QcnVariant", Literal["standard", "pseudo_code"])
"""
The description that the reaction point follows.
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
    `p1`: that probability at the largest feedback. Default: 0.1.
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
    a: offer at an empty queue, as a multiple of the capacity. Default: 1.1 (the authors').
    """
    steepness: float = 1.1
    """
    b: steepness with which the offer falls above the set-point. Default: 1.1 (tried; the authors': 1.002, with which the queue of the first overload takes 100 ms and more to drain).
    """
    floor: float = 0.1
    """
    c: minimum offer, as a fraction of the capacity. Default: 0.1 (the authors').
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
    k: decrease of the offer, as a fraction of the capacity, when the queue grows by the set-point. Default: 0.1, so that the offer at an empty queue equals that of the hyperbolic function.
    """
    floor: float = 0.1
    """
    c: minimum offer, as a fraction of the capacity. Default: 0.1, as for the hyperbolic function.
    """


ShareMode = TypeAliasType("ShareMode", Literal["rho", "count"])
"""
Method by which a port finds the rate to which it lowers reports.
"""


Silence = TypeAliasType("Silence", Literal["release", "decay"])
"""
Behaviour of a source when no report has come for three intervals.
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
    `K_min`: queue length up to which no frame is marked. Default: 5 KB (paper, Figure 14).
    """
    max_threshold: Bytes = "200 KB"
    """
    `K_max`: queue length above which every frame is marked. Default: 200 KB (paper, Figure 14).
    """
    max_probability: float = 0.01
    """
    `P_max`: probability of a mark at `max_threshold`, up to which it grows linearly. Default: 0.01 (paper, Figure 14).
    """
    notification_interval: Span = "50 us"
    """
    `N`: interval in which a destination sends at most one message for each flow. Default: 50 us (paper, section 3.1).
    """
    gain: float = 0.00390625
    """
    `g`: weight of the newest interval in the estimate of congestion. Default: 1/256 (paper, Figure 14).
    """
    estimate_interval: Span = "55 us"
    """
    `K`: time without a message after which the estimate shrinks; more than `notification_interval`. Default: 55 us (paper, section 3.1).
    """
    min_rate: Rate = "1 Mbps"
    """
    Minimum rate, below which no flow is cut. Default: 1 Mb/s (adapters' `rpg_min_rate`).
    """
    byte_cycle: Bytes = "10 MB"
    """
    `B`: bytes in a cycle of the byte counter. Default: 10 MB (paper, Figure 14).
    """
    timer_cycle: Span = "55 us"
    """
    `T`: a cycle of the timer. Default: 55 us (paper, Figure 14); adapters use 300 us (`rpg_time_reset`).
    """
    fast_recovery_cycles: Annotated[int, Field(ge=0)] = 5
    """
    `F`: cycles of fast recovery. Default: 5 (paper, section 3.1).
    """
    active_increase: Rate = "40 Mbps"
    """
    `R_AI`: increase of the target rate in a cycle of active increase. Default: 40 Mb/s (paper, section 5.2).
    """
    hyper_active_increase: Rate = "400 Mbps"
    """
    `R_HAI`: increase of the target rate in the first cycle of hyper-active increase; twice that in the second, and so on. Default: 400 Mb/s (ours).
    """


Trunk = TypeAliasType("Trunk", Annotated[list[str], Field(max_length=2, min_length=2)])


class EthernetNodes(BaseModel):
    """
    A name, or a table.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Name of the nodes: they are `name-0`, `name-1`, …. In `from` and `to` of flows it is a list of all.
    """
    count: Annotated[int | None, Field(ge=1)] = None
    """
    Number of nodes. Default: one, with that name.
    """


ServiceAt = TypeAliasType("ServiceAt", Literal["switch", "node"])
"""
Whose rate a [`Service`] is.
"""


Preset = TypeAliasType(
    "Preset", Literal["basic", "rfc", "linux", "ns2", "ns2_linux", "ns2_pre2001"]
)
"""
A well-known TCP by its name. Each parameter may still be set.
"""


class PythonCongestionControl(BaseModel):
    """
    A class written in Python, with its parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    python: PythonClass


class BbrConfig(BaseModel):
    """
    The parameters of BBR version 1.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    min_round_trip_window: Span = "10 s"
    """
    Time for which a sample of the shortest round trip is valid (`bbr_min_rtt_win_sec`: 10 s). Above 0.
    """
    probe_round_trip_time: Span = "200 ms"
    """
    Least duration of the state with the least window, in which the round trip is measured again (`bbr_probe_rtt_mode_ms`: 200 ms). Shorter than the window above; 0 s leaves this state out.
    """
    least_window_segments: Annotated[int, Field(ge=0)] = 4
    """
    Least window outside of recoveries, and the window while the round trip is measured again, in segments (`bbr_cwnd_min_target`: 4). At least 4.
    """
    policer_detection: bool = True
    """
    Whether a token bucket on the path is detected by its losses. Its rate is then used for 48 rounds (`bbr_lt_bw_sampling`).
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
    Factor by which a sign of congestion reduces the window (β; Linux: 819/1024). Above 0 and below 1.
    """
    max_increment: Annotated[int, Field(ge=1)] = 16
    """
    Maximum growth in a round trip, in segments (the paper's Smax; Linux: 16). At least 1.
    """
    low_window: Annotated[int, Field(ge=0)] = 14
    """
    Window, in segments, up to which it grows and shrinks like Reno's (Linux: 14).
    """
    smooth_part: Annotated[int, Field(ge=1)] = 20
    """
    Round trips for the last four segments below the maximum and the first four above it (Linux: 20). At least 1.
    """
    fast_convergence: bool = True
    """
    Whether a flow with a loss below its last maximum aims lower still, which makes room for new flows.
    """


CubicArithmetic = TypeAliasType("CubicArithmetic", Literal["exact", "linux"])
"""
The arithmetic of CUBIC.
"""


class DctcpConfig(BaseModel):
    """
    The parameters of DCTCP.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    gain_shift: Annotated[int, Field(ge=0)] = 4
    """
    Weight of a round trip in alpha, as the power of two by which it is divided: 4 means 1/16 (RFC 8257's g).
    """
    initial_alpha: Annotated[int, Field(ge=0)] = 1024
    """
    Alpha at the start, in 1024ths: 1024 reduces the window by half at the first mark (RFC 8257, section 4.2).
    """


PragueForm = TypeAliasType("PragueForm", Literal["window", "rate"])
"""
The state variable of Prague.
"""


RttIndependence = TypeAliasType(
    "RttIndependence", Literal["none", "rate", "scalable", "additive"]
)
"""
Independence of the round trip.
"""


class VegasConfig(BaseModel):
    """
    The parameters of Vegas.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha: Annotated[int, Field(ge=0)] = 2
    """
    The window grows while fewer segments than this wait in queues (Linux and ns-3: 2).
    """
    beta: Annotated[int, Field(ge=0)] = 4
    """
    The window shrinks while more segments than this wait in queues (Linux and ns-3: 4). At least `alpha`.
    """
    gamma: Annotated[int, Field(ge=0)] = 1
    """
    Slow start ends when more segments than this wait in queues (Linux and ns-3: 1).
    """


class LedbatConfig(BaseModel):
    """
    The parameters of LEDBAT++.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    target: Span = "60 ms"
    """
    Target of the queueing delay (4.5: 60 ms). Above 0 s, at most 10 s.
    """
    slowdowns: bool = True
    """
    Whether the sender slows down periodically to measure the path without its own queue (4.4).
    """


Bbr3Rules = TypeAliasType("Bbr3Rules", Literal["linux", "draft"])
"""
The rules of BBR version 3 that sources disagree about.
"""


SlowStart = TypeAliasType(
    "SlowStart", Literal["standard", "hystart", "hystart_plus_plus"]
)
"""
Growth of the window at the start and after a timeout.
"""


RecoveryKind = TypeAliasType("RecoveryKind", Literal["tcp", "quic"])
"""
Rules that detect losses and repair them.
"""


RateReduction = TypeAliasType(
    "RateReduction", Literal["at_once", "rate_halving", "proportional"]
)
"""
Transition from the old window to the reduced one in recovery with SACK.
"""


MinRtoOf = TypeAliasType("MinRtoOf", Literal["timeout", "deviation"])
"""
Quantity that `min_rto` bounds.
"""


EcnFeedback = TypeAliasType("EcnFeedback", Literal["classic", "dctcp", "accurate"])
"""
Feedback of marks from the receiver to the sender.
"""


EcnCodepoint = TypeAliasType("EcnCodepoint", Literal["ect0", "ect1"])
"""
The ECN codepoint of data.
"""


EcnFloor = TypeAliasType(
    "EcnFloor", Literal["two_segments", "one_segment", "timer", "ns2"]
)
"""
Lower bound of the window after marks.
"""


ReductionBase = TypeAliasType(
    "ReductionBase", Literal["flight_size", "congestion_window"]
)
"""
Quantity that a sign of congestion reduces by a factor.
"""


TimeoutResponse = TypeAliasType("TimeoutResponse", Literal["rfc", "linux"])
"""
Response to an expiry of the retransmission timer.
"""


IdleRestart = TypeAliasType("IdleRestart", Literal["initial_window", "halving"])
"""
Effect on the window of an idle time longer than the retransmission timeout.
"""


PartialAckTimer = TypeAliasType(
    "PartialAckTimer", Literal["impatient", "slow_but_steady"]
)
"""
Effect of partial ACKs on the retransmission timer in NewReno's fast recovery (RFC 6582, section 4).
"""


FullAckWindow = TypeAliasType(
    "FullAckWindow", Literal["flight_size", "slow_start_threshold"]
)
"""
Window after NewReno's fast recovery (RFC 6582, section 3.2, step 3).
"""


UecControl = TypeAliasType(
    "UecControl", Literal["nscc", "rccc", "both", "dctcp", "constant"]
)
"""
Congestion control of a flow.
"""


LoadBalancing = TypeAliasType(
    "LoadBalancing", Literal["oblivious", "bitmap", "reps", "mixed"]
)
"""
Choice of entropies.
"""


class NdpConfig(BaseModel):
    """
    Parameters of NDP. The defaults are those of its simulator.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    packet: Bytes = "9 KB"
    """
    A full packet on the wire, of which 64 B are headers.
    """
    window: Annotated[int, Field(ge=0)] = 23
    """
    Packets that a flow sends at once.
    """
    timeout: Span = "5 ms"
    """
    Time after which a packet without answer is sent again.
    """
    paths: Annotated[int, Field(ge=0, le=65535)] = 64
    """
    The number of entropies over which a flow sprays its packets, a power of two.
    """
    path_penalties: bool = False
    """
    Whether paths with many trimmed packets are left out for a while.
    """


class HomaConfig(BaseModel):
    """
    Parameters of Homa. The defaults are those of its kernel module.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    packet: Bytes = "1500 B"
    """
    A full packet on the wire, of which 58 B are headers.
    """
    rtt_bytes: Bytes | None = None
    """
    Unscheduled bytes of a message, rounded up to whole packets. Default: the rate of the hosts times the longest round trip of the network.
    """
    priorities: Annotated[int, Field(ge=0, le=255)] = 8
    """
    Priorities of packets, from 1 to 8. The highest one also has control packets. The traffic class of a packet is its priority plus the `class` of its flow.
    """
    cutoffs: list[Bytes] = ["200 B", "2800 B", "15 KB"]
    """
    Unscheduled packets of messages up to the first length have the highest priority, up to the second one the next, and so on; longer messages have the one after the last. The priorities below are for scheduled packets.
    """
    max_overcommit: Annotated[int, Field(ge=0)] = 8
    """
    Messages to which a receiver grants at a time, of different senders.
    """
    grant_window: Bytes | None = None
    """
    Bytes that a receiver grants ahead to a message. Default: the bytes that it may expect in all, which are `max_overcommit` times `rtt_bytes`, divided by the messages to which it grants plus 1.
    """
    oldest_share: float = 0.05
    """
    The part of granted and of sent data that goes to the oldest message in place of the shortest.
    """
    resend_after: Span = "5 ms"
    """
    Silence after which a receiver asks again for granted data, and a sender for an ACK.
    """


PfabricRanks = TypeAliasType("PfabricRanks", Literal["unsent", "unacknowledged"])
"""
The rank of a packet.
"""


class DcqcnConfig2(BaseModel):
    """
    The parameters of DCQCN in HPCC's simulator.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    gain: float = 0.00390625
    """
    Weight of the newest interval in the estimate (g).
    """
    estimate_interval: Span = "1 us"
    """
    Interval of the estimate.
    """
    decrease_interval: Span = "4 us"
    """
    Interval of decreases.
    """
    increase_timer: Span = "300 us"
    """
    Interval of increases. The script for the figures uses 300 us, the default configuration of the source 900 us.
    """
    fast_recovery_cycles: Annotated[int, Field(ge=0)] = 1
    """
    Increases without a step of the target (F).
    """
    active_increase: Rate | None = None
    """
    Step of the target in the first cycle after fast recovery (R_AI). Default: 5 Mb/s for each 25 Gb/s of the port.
    """
    hyper_active_increase: Rate | None = None
    """
    Step of the target in later cycles (R_HAI). Default: 50 Mb/s for each 25 Gb/s of the port.
    """
    clamps_target: bool = False
    """
    Whether every decrease lowers the target to the rate before it, not only the first after an increase (CLAMP_TARGET_RATE).
    """
    min_rate: Rate = "1 Gbps"
    """
    The least rate.
    """


class DcqcnPaperConfig(BaseModel):
    """
    The parameters of DCQCN.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    gain: float = 0.00390625
    """
    Weight of the newest interval in the estimate (g).
    """
    estimate_interval: Span = "55 us"
    """
    Time without a notification after which the estimate falls (K).
    """
    increase_timer: Span = "55 us"
    """
    A cycle of the timer (T).
    """
    byte_cycle: Bytes = "10 MB"
    """
    A cycle of the byte counter (B).
    """
    fast_recovery_cycles: Annotated[int, Field(ge=0)] = 5
    """
    Cycles of fast recovery (F).
    """
    active_increase: Rate = "40 Mbps"
    """
    Step of the target in active increase (R_AI).
    """
    hyper_active_increase: Rate = "400 Mbps"
    """
    Step of the target in the first cycle of hyper-active increase; twice that in the second, and so on.
    """
    min_rate: Rate = "10 Mbps"
    """
    The least rate.
    """


class DctcpConfig2(BaseModel):
    """
    The parameters of DCTCP in hardware.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    gain: float = 0.0625
    """
    Weight of a round trip in the share of marks (the paper's g).
    """
    additive_increase: Rate = "615 Mbps"
    """
    Increase in a round trip: 1000 bytes in 13 us.
    """
    min_rate: Rate = "1 Gbps"
    """
    The least rate.
    """


class HpccConfig(BaseModel):
    """
    The parameters of HPCC.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    target_utilization: float = 0.95
    """
    The utilization of the busiest link (the paper's eta).
    """
    max_stage: Annotated[int, Field(ge=0)] = 0
    """
    Additive round trips before a multiplicative one (the paper's maxStage).
    """
    additive_increase: Rate | None = None
    """
    Additive increase in an update (W_AI, as a rate). Default: 10 Mb/s for each 25 Gb/s of the port.
    """
    min_rate: Rate = "1 Gbps"
    """
    The least rate.
    """
    fast_reaction: bool = True
    """
    Whether every ACK changes the rate, not only the first of a round trip.
    """


class PatchedTimelyConfig(BaseModel):
    """
    The parameters of patched TIMELY.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    low_threshold: Span = "50 us"
    """
    Below this round trip the rate always grows (T_low); also the reference of the decrease.
    """
    high_threshold: Span = "500 us"
    """
    Above this round trip the rate always shrinks (T_high).
    """
    min_round_trip: Span = "20 us"
    """
    The unit of the gradient (D_minRTT).
    """
    gain: float = 0.875
    """
    Weight of the newest difference of round trips (the paper's alpha).
    """
    decrease: float = 0.008
    """
    Factor of a decrease (the paper's beta).
    """
    additive_increase: Rate | None = None
    """
    Additive increase in an update (the paper's delta). Default: 10 Mb/s for each 10 Gb/s of the port.
    """
    chunk_bytes: Bytes = "16 KB"
    """
    Acknowledged bytes between two updates.
    """
    min_rate: Rate = "10 Mbps"
    """
    The least rate.
    """


class SwiftConfig(BaseModel):
    """
    The parameters of Swift. Windows are in packets.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    base_target: Span = "25 us"
    """
    Target delay without hops, of a large window.
    """
    per_hop_target: Span = "1 us"
    """
    Target delay of a hop (the paper's h).
    """
    flow_scaling: Span = "100 us"
    """
    The most that a small window adds to the target (fs).
    """
    min_scaling_window: float = 0.1
    """
    The window at which the addition is `flow_scaling`.
    """
    max_scaling_window: float = 256.0
    """
    The window at which the addition ends.
    """
    additive_increase: float = 1.0
    """
    Growth of the window in a round trip (ai).
    """
    decrease: float = 0.8
    """
    Factor of a decrease (the paper's beta).
    """
    max_decrease: float = 0.5
    """
    The largest decrease (max_mdf).
    """
    min_window: float = 0.01
    """
    The least window.
    """
    max_window: float = 256.0
    """
    The largest window.
    """
    initial_window: float = 32.0
    """
    The window at the start.
    """
    plb: bool = True
    """
    Whether a flow that stays congested asks for another path.
    """


class TimelyConfig(BaseModel):
    """
    The parameters of TIMELY.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    low_threshold: Span = "50 us"
    """
    Below this round trip the rate always grows (T_low).
    """
    high_threshold: Span = "500 us"
    """
    Above this round trip the rate always shrinks (T_high).
    """
    min_round_trip: Span = "20 us"
    """
    The unit of the gradient.
    """
    gain: float = 0.875
    """
    Weight of the newest difference of round trips (the paper's alpha).
    """
    decrease: float = 0.8
    """
    Factor of a decrease (the paper's beta).
    """
    additive_increase: Rate | None = None
    """
    Additive increase in an update (the paper's delta). Default: 10 Mb/s for each 10 Gb/s of the port.
    """
    hyper_increase: Rate | None = None
    """
    Increase from `hyper_stage` on. Default: 50 Mb/s for each 10 Gb/s of the port.
    """
    hyper_stage: Annotated[int, Field(ge=0)] = 5
    """
    Increases in a row after which `hyper_increase` replaces `additive_increase`.
    """
    min_rate: Rate = "1 Gbps"
    """
    The least rate.
    """


Recovery = TypeAliasType("Recovery", Literal["go_back_n", "irn"])
"""
Recovery of lost packets.
"""


RoceWindow = TypeAliasType("RoceWindow", Literal["none", "fixed", "variable"])
"""
The bound of data in flight.
"""


class UniformSizeDistribution(BaseModel):
    """
    Uniform between two values: { uniform = ["1 KB", "9 KB"] }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    uniform: Annotated[list[Bytes], Field(max_length=2, min_length=2)]


class ExponentialSizeDistribution(BaseModel):
    """
    Exponential with this mean: { exponential = "10 KB" }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    exponential: Bytes


class NormalSize(BaseModel):
    """
    The normal distribution of sizes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    mean: Bytes
    """
    The mean.
    """
    deviation: Bytes
    """
    The standard deviation, at most the mean.
    """


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


SizeCdf1 = TypeAliasType("SizeCdf1", Annotated[str, Field(pattern="[./]")])
"""
A file, relative to the scenario, with a size in bytes and a share in each line.
"""


SizeCdf2Item = TypeAliasType(
    "SizeCdf2Item", Annotated[list[float], Field(max_length=2, min_length=2)]
)


SizeCdf2 = TypeAliasType("SizeCdf2", Annotated[list[SizeCdf2Item], Field(min_length=2)])
"""
Points [bytes, share], which rise from a share of 0 to 1, or to 100 in per cent.
"""


SizeCdf = TypeAliasType(
    "SizeCdf",
    Literal[
        "alistorage2019",
        "datamining_abm",
        "datamining_vl2",
        "fb_cache_follower",
        "fb_hadoop2015",
        "fb_hadoop_hpcc",
        "fb_keyvalue_tg",
        "fb_web_server",
        "google_rpc2008",
        "google_rpc2008_conweave",
        "homa_w1_fb_keyvalue",
        "homa_w2_google_search",
        "homa_w3_google_all",
        "homa_w4_fb_hadoop",
        "homa_w5_dctcp_packets",
        "solar2022",
        "websearch",
    ]
    | SizeCdf1
    | SizeCdf2,
)
"""
A cumulative distribution of sizes, linear between its points: a name, a file, or points.
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
    Whether the first packet comes after a random part of a gap, so that equal flows are not synchronised.
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
    A rate, and the time from which it applies.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    from_: Annotated[Span, Field(alias="from")]
    """
    Time from which it applies, from the start of the run.
    """
    rate: Rate
    """
    Rate on the wire.
    """


class Voice(BaseModel):
    """
    A call by G.711.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    jitter_buffer: Span | None = None
    """
    A fixed jitter buffer: each packet is played when it is as old as the least delay in the measured interval plus this time. One that comes later counts as lost. Without it, the buffer adapts to the jitter: twice its mean.
    """


Game = TypeAliasType("Game", Literal["up", "down"])
"""
One direction of an online game, with the numbers of the DOCSIS modules for ns-3: sizes and gaps are normally distributed.
"""


PingInterval = TypeAliasType("PingInterval", Literal["on_answer"] | Span)
"""
Time from packet to packet: "200 ms", or "on_answer".
"""


class Cells(BaseModel):
    """
    Cells in the slots of a line, as in switch theory; for the switch topology only. There is a source for each input, and a flow for each pair of an input and an output that the load uses, named `<group>/<input>-<output>`.
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
    Mean number of cells in each slot of a line whose row of the load matrix adds up to 1.
    """
    burst_cells: Annotated[float | None, Field(ge=1.0)] = None
    """
    Mean length of a burst, in cells for one output in consecutive slots; a geometric number of empty slots separates bursts. Default: each slot has a cell or none independently of the others (Bernoulli).
    """


Arrivals = TypeAliasType("Arrivals", Literal["bernoulli", "constant"])
"""
Times at which frames are generated.
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
    Length of a period; the first begins with the flow.
    """
    duty: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Fraction of the period, at its beginning, in which frames are generated.
    """


class BufferBounds(BaseModel):
    """
    The buffer at which the bitrate begins to rise, and where it ends.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    reservoir: Span | None = None
    """
    Up to this buffer the bitrate is the lowest. Default: 37.5 % of `buffer` less a segment.
    """
    cushion: Span | None = None
    """
    The buffer above the reservoir over which the bitrate rises to the highest. Default: 52.5 % of `buffer` less a segment.
    """


Senders1 = TypeAliasType("Senders1", Annotated[int, Field(ge=1)])
"""
How many hosts send, drawn for each burst, or a list of the hosts that send.
"""


Senders2 = TypeAliasType("Senders2", Annotated[list[str], Field(min_length=1)])
"""
How many hosts send, drawn for each burst, or a list of the hosts that send.
"""


Senders = TypeAliasType("Senders", Senders1 | str | Senders2)
"""
How many hosts send, drawn for each burst, or a list of the hosts that send.
"""


Connection = TypeAliasType(
    "Connection", Annotated[str, Field(pattern="^[0-9]+->[0-9]+ ")]
)
"""
A connection of a matrix: "0->13 start 0 size 2000000".
"""


Trigger = TypeAliasType("Trigger", Annotated[str, Field(pattern="^trigger ")])
"""
A trigger of a matrix: "trigger id 1 barrier count 2".
"""


CollectiveAlgorithm = TypeAliasType(
    "CollectiveAlgorithm", Literal["ring", "halving_doubling"]
)
"""
An algorithm of collective operations.
"""


class Goal(BaseModel):
    """
    A trace in the text format of GOAL: messages and computations of ranks, and which wait for which. Rank n, from 0, is host n of `hosts`, or else of the topology. A host does one computation at a time on each of its processors (`cpu`). A send ends when the message is acknowledged, a receive when all of it has arrived. A message of 0 bytes is sent as one byte.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    file: str | None = None
    """
    The file, relative to the scenario. `lines` take its place when the scenario is read.
    """
    lines: list[str] | None = None
    """
    The lines of the trace.
    """


Direction = TypeAliasType("Direction", Literal["forward", "backward", "both"])
"""
Direction in which a group sends its data.
"""


Enters1 = TypeAliasType("Enters1", Annotated[int, Field(ge=1)])
"""
The number of a router, from 1, or "each": flow i, from 0, joins at router i + 1.
"""


Enters = TypeAliasType("Enters", Enters1 | Literal["each"])
"""
The number of a router, from 1, or "each": flow i, from 0, joins at router i + 1.
"""


DatagramEcn = TypeAliasType("DatagramEcn", bool | Literal["ect0", "ect1"])
"""
Whether packets are ECN-capable, or their codepoint: "ect0" or, for L4S, "ect1".
"""


HostQueue = TypeAliasType("HostQueue", str)
"""
Limit of a host's device queue: "1000 packets", or "unlimited".
"""


SlowdownBase = TypeAliasType("SlowdownBase", Literal["store_and_forward", "hpcc"])
"""
Time that a flow of a given size takes alone on a shortest path.
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
    Number of bytes kept of each packet.
    """


class Pin1(BaseModel):
    """
    As it is written in a table.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    key: str
    """
    The value: a path as in `--set`.
    """
    from_: Annotated[float | str | None, Field(alias="from")] = None
    """
    The lower bound, with a unit if the value has one.
    """
    to: float | str | None = None
    """
    The upper bound, with a unit if the value has one.
    """
    label: str | None = None
    """
    The text next to the slider. Default: the key.
    """


Pin = TypeAliasType("Pin", str | Pin1)
"""
A value that has a slider: its key, such as "topology.star.bottleneck.rate"; in a table also the bounds of the slider and a label.
"""


class NormalSpanDistribution(BaseModel):
    """
    Normal: { normal = { mean = "33 ms", deviation = "3 ms" } }. A draw that is not between zero and twice the mean is repeated.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    normal: NormalSpan


SpanDistribution = TypeAliasType(
    "SpanDistribution",
    Span
    | UniformSpanDistribution
    | ExponentialSpanDistribution
    | NormalSpanDistribution,
)
"""
A time, or how it is drawn: "10 ms", { uniform = ["0 s", "1 s"] }, { exponential = "10 ms" }, { normal = { mean = "10 ms", deviation = "1 ms" } }.
"""


class AredQueue(BaseModel):
    """
    RED that keeps the average queue half-way between its thresholds by adjusting its maximum probability.
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
    RED with a share for each flow: limits flows that take more than others.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fred: FredConfig


class BlueQueue(BaseModel):
    """
    BLUE: adjusts its drop probability by lost packets and idle time.
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
    CHOKe: drops an arrival together with a packet of the same flow drawn from the queue.
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


class RemQueue(BaseModel):
    """
    Random exponential marking: a price of the link, which follows load and queue, sets the probability.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rem: RemConfig


class FqQueue(BaseModel):
    """
    Flows hashed to queues that take turns, new ones first, with a longest rate, in three bands: Linux's queue for hosts.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fq: FqConfig


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


class HhfQueue(BaseModel):
    """
    Heavy-hitter filter: finds the flows that send most, and gives the others twice their share of the link.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    hhf: HhfConfig


class BreatheQueue(BaseModel):
    """
    RED that blocks the flows that were served most until the others have caught up.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    breathe: BreatheConfig


class AfqQueue(BaseModel):
    """
    Approximate fair queueing: a calendar of FIFO queues in which each flow has a number of bytes in each round.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    afq: AfqConfig


class EcnThresholdQueue(BaseModel):
    """
    ECN thresholds: marks packets that leave a long queue behind, as the switches of data centers do.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ecn_threshold: EcnThresholdConfig


class TrimmingQueue(BaseModel):
    """
    Trimming: cuts the payload of packets that do not fit, and sends their headers first.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    trimming: TrimmingConfig


class PythonQueue(BaseModel):
    """
    A discipline written in Python: a class, with its parameters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    python: PythonClass


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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets, as in Linux and ns-3.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    min_threshold: QueueSize = "5 packets"
    """
    `min_th`: average queue below which nothing is dropped. In packets or bytes; its unit is the unit of the average, and `max_threshold` needs the same. Default: 5 packets (paper, section 11).
    """
    max_threshold: QueueSize = "15 packets"
    """
    `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability rises from `max_probability` to 1). Default: 15 packets (paper, section 11).
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
    Whether the probability rises from `max_probability` at `max_threshold` to 1 at twice that, instead of jumping to 1. Default: no (paper); ns-2 has set it since 2001.
    """
    wait: bool = False
    """
    Whether at least 1/p packets must pass between two early drops: gaps are uniform on 1/p .. 2/p, so that the mean rate of drops is p/1.5, instead of 1 .. 1/p. Default: no (paper); ns-2 sets it.
    """
    small_queue_guard: bool = False
    """
    Whether early drops are suppressed while at most one packet is waiting. Default: no (paper); ns-2 does so.
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size` (RED's paper, section 7). Default: no.
    """
    mean_packet_size: Bytes = "500 B"
    """
    Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for, and `byte_mode` refers to it. Default: 500 B (ns-2).
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early (RFC 3168, section 5). Default: no.
    """
    hard_drop: bool = True
    """
    Whether packets beyond the end of the profile are dropped even if they are ECN-capable (RFC 3168, section 7). Default: yes.
    """
    max_marking_probability: float | None = None
    """
    From this drop probability on (`p_b`, before the gaps are made uniform) ECN-capable packets are dropped, not marked, regardless of `hard_drop`. Default: none; ns-2 2.35 has 0.1 (`mark_p_`).
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
The dynamic buffer limit as a function of the queue's length q and the number n of active flows, both as before the arrival. The paper leaves the table to the operator (section 3) and does not print its own, so the default is ours, chosen to match the paper's figures 2 and 6. Always bounded by `dbl_min_cells` and `dbl_max_cells`.
"""


class DblInputPorts(BaseModel):
    """
    Monitoring of input ports: a port with too many belligerent flows is throttled or shut down.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: Annotated[int, Field(ge=0)] = 8
    """
    Number of belligerent flows that an input port may have at one time; with more, `action` is taken. Default: 8.
    """
    action: InputPortAction = "throttle"
    """
    Treatment of such a port's packets at this queue. Default: throttle.
    """
    share: float = 0.01
    """
    Share of the link's rate that a throttled port keeps. Default: 0.01.
    """
    hold: Span = "1 s"
    """
    Time for which a throttled port must send no more than its share before it is free again; also the time for which a silent belligerent flow still counts against its port. Default: 1 s.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 200 packets, the paper's 200 KB (section III-B).
    """
    levels: Annotated[int, Field(ge=0)] = 2
    """
    `L`: number of levels of bins, each with its own hash function; at most 16. Default: 2 (paper, section III-B).
    """
    bins: Annotated[int, Field(ge=0)] = 23
    """
    `N`: number of bins in a level. Default: 23 (paper, section III-B).
    """
    bin_size: Annotated[int | None, Field(ge=0)] = None
    """
    Number of packets above which a bin is over its size. Default: 1.5 times `limit` divided by `bins`, where a limit in bytes counts in packets of 1000 B: 13 packets with the other defaults (paper, section III-B).
    """
    bin_limit: Annotated[int | None, Field(ge=0)] = None
    """
    Number of packets above which a bin takes no more, subject to `drop_rule`; at least `bin_size`. Default: `bin_size` (paper); Linux has 25 for a bin size of 20.
    """
    increment: float = 0.0025
    """
    Increase of a bin's probability at an arrival while it is over its size. Default: 0.0025 (BLUE; the paper does not say).
    """
    decrement: float = 0.00025
    """
    Decrease of a bin's probability at an arrival while it is empty. Default: 0.00025 (BLUE; the paper does not say).
    """
    drop_rule: SfbDropRule = "all"
    """
    Which of its bins must exceed `bin_limit` for a packet to be dropped. Default: all.
    """
    rate_limit: Rate = "160 kbps"
    """
    Rate to which a flow is held that was identified as non-responsive. Default: 160 kb/s (paper, section III-B).
    """
    rate_limit_scope: SfbRateLimitScope = "per_bin"
    """
    Whether that rate is for each identified flow or for all together. Default: each.
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
    Time for which the limiter must not have had a packet of a bin at probability 1 before an arrival that finds the bin empty lowers its probability. Default: 100 ms.
    """
    rehash_interval: Span | None = None
    """
    Moving hash: time after which the bins are reset and their hash functions change (paper, section III-D). Default: never; the paper's experiments with a moving hash use 2 s.
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
    Limit of all buckets together, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
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
    Limit of each bucket, in packets or bytes. Default: only `limit` (paper).
    """
    quantum: Bytes | None = None
    """
    Bytes that a bucket may send in each turn. At least one packet makes a turn O(1). Default: one packet of any size (paper).
    """
    perturbation_interval: Span | None = None
    """
    Time after which the hash changes; only for the `random` placement. Default: the hash never changes.
    """
    steal_from_head: bool = False
    """
    Whether a full buffer drops the head of the longest bucket instead of its tail. Default: no (paper).
    """
    ns2_admission: bool = False
    """
    Whether a full bucket refuses arrivals by ns-2's rule, instead of packets being stolen from the longest. With `left` packets of room, a bucket takes no more if it holds `left / 2`, or more than `limit / buckets` while `left` is below `buckets`. `limit` must be in packets, and `buckets` no more than it. Default: no.
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
    Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    quantum: Bytes = "1500 B"
    """
    Quantum: bytes that a flow of weight 1 may send in each round. At least one packet makes a round O(1). Default: 1500 B.
    """
    buckets: Annotated[int | None, Field(ge=0)] = None
    """
    Number of queues to which flows are hashed; flows in one bucket share a queue. Default: a queue for each flow.
    """
    weights: Annotated[list[ClassWeight], Field(validate_default=True)] = []
    """
    Weights of flows by traffic class: multiples of the quantum. A flow has the weight of the class of the first packet in its queue. Default: 1 for all.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    reference: QueueSize = "200 packets"
    """
    `q_ref`: the length at which the queue is held, in packets or bytes, which count as packets of `mean_packet_size`. Default: 200 packets (paper); ns-2 has 50.
    """
    a: float = 1.822e-05
    """
    `a`: increase of the probability at each tick for each packet above the reference. Default: 1.822e-5 (paper).
    """
    b: float = 1.816e-05
    """
    `b`: decrease of the probability at each tick for each packet above the reference at the previous tick; less than `a`. Default: 1.816e-5 (paper).
    """
    sampling_frequency_hz: float = 170.0
    """
    `w`: ticks a second. Default: 170 Hz (ns-2); the paper's gains are for 160 Hz.
    """
    design: PiDesign | None = None
    """
    The traffic for which the gains are computed; they then replace `a` and `b`. Default: none.
    """
    byte_mode: bool = False
    """
    Whether a packet's probability grows in proportion to its size divided by `mean_packet_size`. Default: no.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 64 KB (the paper's simulations).
    """
    role: CsfqRole = "edge"
    """
    `edge` estimates rates and writes labels, `core` uses the labels that packets carry. Default: edge.
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
    `K_c`: time for which the link must be congested, or not, for each new estimate of the fair share. Default: 100 ms (the paper's simulations).
    """
    weights: Annotated[list[ClassWeight], Field(validate_default=True)] = []
    """
    Weights of flows by traffic class, for an edge router: a flow's label is its rate divided by its weight (the paper's weighted CSFQ). Default: 1 for all.
    """
    idle_timeout: Span = "10 s"
    """
    Time of silence after which an edge router removes a flow. Default: 10 s (ours: a hundred averaging constants).
    """
    max_flows: Annotated[int, Field(ge=0)] = 65536
    """
    Maximum number of flows of an edge router; a new one displaces the flow that has been silent longest. Default: 65536 (ours).
    """


class Pi2Config(BaseModel):
    """
    Parameters of PI2.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    preset: Pi2Preset = "linux"
    """
    Source of the rules in which implementations differ; any key below that is given overrides its rule. Default: `linux`.
    """
    limit: QueueSize = "10000 packets"
    """
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 10000 packets (Linux).
    """
    mtu: Bytes = "1514 B"
    """
    Length of the longest packet. Default: 1514 B, an Ethernet's MTU with its header (Linux).
    """
    target: Span | None = None
    """
    Target of the queueing delay. Default: 15 ms.
    """
    update_interval: Span | None = None
    """
    Tupdate: period of the controller; at least a thousandth of `target`. Default: 16 ms (rfc: the smaller of `target` and a third of `max_rtt`).
    """
    alpha: float | None = None
    """
    Step of the base probability at each tick for each second of delay above the target, in Hz, up to 8388607. With `linux` it is at least 1/256 and rounded down to a multiple of that; with `rfc` at least 0.000001. Default: 41/256 (rfc: 0.1 times the period divided by the square of `max_rtt`).
    """
    beta: float | None = None
    """
    Step of the base probability at each tick for each second by which the delay has grown; bounds and rounding as for `alpha`. Default: 819/256 (rfc: 0.3 divided by `max_rtt`).
    """
    typical_rtt: Span | None = None
    """
    Typical round-trip time, from which `target` follows: that time. With `linux` the period and the gains follow as well, as in `tc`, from it and from `max_rtt`. Default: none; with `linux` and `max_rtt`, a sixth of that.
    """
    max_rtt: Span | None = None
    """
    Longest usual round-trip time, from which follow the period, at most a third of it, and the gains: 0.1 times the period divided by its square, and 0.3 divided by it. Default: 6 times `typical_rtt` if that is given, otherwise none (rfc: 100 ms).
    """
    scalable: bool = False
    """
    Whether packets with ECT(1) or CE are those of scalable senders, such as `prague`. They are marked with `k` times the base probability instead of its square. Default: no.
    """
    coupling_factor: float = 2.0
    """
    `k`: ratio of the probability with which L4S packets are marked to the base probability, from 1 to 255. From a base probability of 1/k on the queue is overloaded: packets of the Classic queue are dropped even if they are ECN-capable. Default: 2.
    """
    min_backlog: Bytes | None = None
    """
    Bytes below which the base probability drops and marks no packet. The packet in question is not counted. Default: twice `mtu` (rfc: 0).
    """
    classic_draw: Pi2Draw | None = None
    """
    How Classic packets are chosen: by random numbers, or at regular gaps. Default: `random`, with a number for each factor of the square (rfc: `recur`).
    """
    drop_on_overload: bool = True
    """
    Whether the base probability may exceed 1/k. Otherwise it stops there: overload fills the buffer. Default: yes.
    """
    drop_on_enqueue: bool = False
    """
    Whether packets are dropped or marked with the base probability when they arrive instead of when they leave. Default: no.
    """


class DualPi2Config(BaseModel):
    """
    Parameters of DualPI2. Gauges have the names of `tc -s qdisc`. Delays are the ages of the packets at the heads, in microseconds, as of the last packet that came or went. Memory is in bytes. `credit` is in bytes times percent; the Classic queue is next where it is positive.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    preset: Pi2Preset = "linux"
    """
    Source of the rules in which implementations differ; any key below that is given overrides its rule. Default: `linux`.
    """
    limit: QueueSize = "10000 packets"
    """
    Limit of both queues together, in packets or bytes, not counting the packet being sent. Default: 10000 packets (Linux).
    """
    memory_limit: Bytes | None = None
    """
    Limit of both queues together in bytes, if that is less than `limit`. Default: twice `mtu` for each packet of `limit` (Linux; none with `rfc`, and where `limit` is in bytes).
    """
    mtu: Bytes = "1514 B"
    """
    Length of the longest packet. Default: 1514 B, an Ethernet's MTU with its header (Linux).
    """
    target: Span | None = None
    """
    Target of the queueing delay. Default: 15 ms.
    """
    update_interval: Span | None = None
    """
    Tupdate: period of the controller; at least a thousandth of `target`. Default: 16 ms (rfc: the smaller of `target` and a third of `max_rtt`).
    """
    alpha: float | None = None
    """
    Step of the base probability at each tick for each second of delay above the target, in Hz, up to 8388607. With `linux` it is at least 1/256 and rounded down to a multiple of that; with `rfc` at least 0.000001. Default: 41/256 (rfc: 0.1 times the period divided by the square of `max_rtt`).
    """
    beta: float | None = None
    """
    Step of the base probability at each tick for each second by which the delay has grown; bounds and rounding as for `alpha`. Default: 819/256 (rfc: 0.3 divided by `max_rtt`).
    """
    typical_rtt: Span | None = None
    """
    Typical round-trip time, from which `target` follows: that time. With `linux` the period and the gains follow as well, as in `tc`, from it and from `max_rtt`. Default: none; with `linux` and `max_rtt`, a sixth of that.
    """
    max_rtt: Span | None = None
    """
    Longest usual round-trip time, from which follow the period, at most a third of it, and the gains: 0.1 times the period divided by its square, and 0.3 divided by it. Default: 6 times `typical_rtt` if that is given, otherwise none (rfc: 100 ms).
    """
    delay: DualPi2Delay | None = None
    """
    Packet whose age is the delay for the controller. Default: `older_head` (rfc: `classic_head`).
    """
    coupling_factor: float = 2.0
    """
    `k`: ratio of the probability with which L4S packets are marked to the base probability, from 1 to 255. From a base probability of 1/k on the queue is overloaded: packets of the Classic queue are dropped even if they are ECN-capable. Default: 2.
    """
    min_backlog: Bytes | None = None
    """
    Bytes below which the base probability drops and marks no packet. The packet in question is not counted. Default: twice `mtu` (rfc: 0).
    """
    classic_draw: Pi2Draw | None = None
    """
    How Classic packets are chosen: by random numbers, or at regular gaps. Default: `random`, with a number for each factor of the square (rfc: `recur`).
    """
    l4s_draw: Pi2Draw | None = None
    """
    How L4S packets are chosen. Default: `random` (rfc: `recur`).
    """
    drop_on_overload: bool = True
    """
    Whether the base probability may exceed 1/k. Otherwise it stops there: overload fills the buffer. Default: yes; `tc` has `overflow` for no.
    """
    drop_on_enqueue: bool = False
    """
    Whether packets are dropped or marked with the base probability when they arrive instead of when they leave. Default: no.
    """
    ecn_mask: DualPi2EcnMask = "l4s_ect"
    """
    Packets of the L4S queue by their ECN field: those with ECT(1) or CE, or all that are ECN-capable. Default: `l4s_ect`.
    """
    l4s_classes: list[L4sClass] = []
    """
    Traffic classes whose packets join the L4S queue whatever their ECN field. Default: none.
    """
    llll_classes: list[LlllClass] = []
    """
    Traffic classes whose packets join the L4S queue and are neither marked nor dropped early, unless their ECN field makes them L4S packets; `LLLL` in Linux. Default: none.
    """
    l4s_aqm: DualPi2L4sAqm | None = None
    """
    AQM of the L4S queue itself. Default: `step` (rfc: `ramp`).
    """
    step_threshold: Span | None = None
    """
    Delay above which the step marks L4S packets. Default: 1 ms.
    """
    step_threshold_packets: Annotated[int | None, Field(ge=0)] = None
    """
    Length of the L4S queue, after a packet has left, above which the step marks it, instead of a delay. Default: none.
    """
    min_qlen_step: Annotated[int | None, Field(ge=0)] = None
    """
    Length of the L4S queue, in packets, below which the step does not apply to a packet that arrives. Default: 0.
    """
    ramp_min: Span | None = None
    """
    `minTh`: delay at which the ramp begins. Default: 800 us.
    """
    ramp_max: Span | None = None
    """
    `maxTh`: delay from which the ramp marks every packet. Default: 1200 us.
    """
    ramp_min_packets: Annotated[int | None, Field(ge=0)] = None
    """
    `Th_len`: the ramp applies while more packets are in the L4S queue, after one has left. Default: 1.
    """
    scheduler: DualPi2Scheduler | None = None
    """
    Order of the two queues. Default: `wrr` (rfc: `time_shifted_fifo`).
    """
    classic_protection: Annotated[int | None, Field(ge=0)] = None
    """
    Part of the link that `wrr` gives the Classic queue while both queues have packets, in percent. Default: 10.
    """
    time_shift: Span | None = None
    """
    Time by which `time_shifted_fifo` prefers L4S packets. Default: 50 ms.
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets (Linux).
    """
    target: Span = "5 ms"
    """
    TARGET: acceptable delay of a standing queue, which keeps the link busy. Default: 5 ms (RFC 8289).
    """
    interval: Span = "100 ms"
    """
    INTERVAL: time for which the delay must stay above the target before the first drop; about the longest expected round-trip time. Default: 100 ms (RFC 8289).
    """
    max_packet_size: Bytes = "1500 B"
    """
    Maximum packet size: nothing is dropped while a queue holds no more than that. Default: 1500 B.
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
    Delay from which every ECN-capable packet is marked, regardless of the control law; for DCTCP and similar senders. Default: none.
    """


class FqCodelConfig(BaseModel):
    """
    Parameters of FQ-CoDel.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    preset: FqCodelPreset = "rfc"
    """
    Source of the rules where the RFC and Linux differ, and of `square_root` if it is not given. Default: the RFC.
    """
    limit: QueueSize = "10240 packets"
    """
    Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 10240 packets (RFC 8290, section 5.2).
    """
    memory_limit: Bytes = "32 MiB"
    """
    Limit of all queues together in bytes, if that is less than `limit`. Default: 32 MiB (Linux).
    """
    flows: Annotated[int, Field(ge=0)] = 1024
    """
    Number of queues to which flows are hashed. Default: 1024 (RFC 8290, section 5.2).
    """
    quantum: Bytes = "1514 B"
    """
    Quantum: bytes that a queue may send in its turn. Default: 1514 B, an Ethernet's MTU with its header (RFC 8290, section 5.2).
    """
    drop_batch: Annotated[int, Field(ge=0)] = 64
    """
    Most packets that the longest queue loses when the buffer is full, or half of its bytes if these are fewer packets. Default: 64 (RFC 8290, section 4.1).
    """
    target: Span = "5 ms"
    """
    TARGET: acceptable delay of a standing queue, which keeps the link busy. Default: 5 ms (RFC 8290, section 5.2).
    """
    interval: Span = "100 ms"
    """
    INTERVAL: time for which the delay must stay above the target before the first drop; about the longest expected round-trip time. Default: 100 ms (RFC 8290, section 5.2).
    """
    max_packet_size: Bytes = "1500 B"
    """
    Maximum packet size: nothing is dropped while a queue holds no more than that. Default: 1500 B.
    """
    square_root: SquareRoot | None = None
    """
    Method by which CoDel computes the square root of the number of drops. Default: `exact` (linux: `newton16`).
    """
    ecn: bool = True
    """
    Whether ECN-capable packets are marked instead of dropped by the control law. Default: yes (RFC 8290, section 5.2).
    """
    ce_threshold: Span | None = None
    """
    Delay from which every ECN-capable packet is marked, regardless of the control law; for DCTCP and similar senders. Default: none.
    """


class FqPieConfig(BaseModel):
    """
    Parameters of FQ-PIE. Gauges have the names of `tc -s qdisc`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    preset: PiePreset = "linux"
    """
    Source of the rules in which implementations differ: RFC 8033 or Linux's `sch_pie`. Default: `linux`.
    """
    limit: QueueSize = "10240 packets"
    """
    Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 10240 packets (Linux).
    """
    memory_limit: Bytes = "32 MiB"
    """
    Bytes queued above which arriving packets are counted in the gauge `overmemory`; none is dropped. Default: 32 MiB (Linux).
    """
    flows: Annotated[int, Field(ge=0)] = 1024
    """
    Number of queues to which flows are hashed. Default: 1024 (Linux).
    """
    quantum: Bytes = "1514 B"
    """
    Quantum: bytes that a queue may send in its turn. Default: 1514 B, an Ethernet's MTU with its header (Linux).
    """
    target: Span = "15 ms"
    """
    QDELAY_REF: the target of the queueing delay. Default: 15 ms (Linux).
    """
    update_interval: Span = "15 ms"
    """
    T_UPDATE: period of the controller. Default: 15 ms (Linux).
    """
    alpha: float = 0.125
    """
    Step of the probability at each tick for each second of delay above the target, at a probability of 10 % or more. Default: 0.125 (Linux).
    """
    beta: float = 1.25
    """
    Step of the probability at each tick for each second by which the delay has grown, at a probability of 10 % or more. Default: 1.25 (Linux).
    """
    max_burst: Span = "150 ms"
    """
    MAX_BURST: time for which nothing is dropped early after a quiet time. Default: 150 ms (Linux).
    """
    mean_packet_size: Bytes = "1514 B"
    """
    MEAN_PKTSIZE: nothing is dropped early with at most two such packets queued; also the reference of `byte_mode`. Default: 1514 B (Linux).
    """
    byte_mode: bool = False
    """
    Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size`; with `linux` not beyond that size. Default: no.
    """
    derandomize: bool | None = None
    """
    Whether drops are spread out: none until the probabilities of the packets since the last one add up to 0.85, and one for certain when they add up to 8.5 (RFC 8033, section 5.4). Default: yes (rfc: no).
    """
    cap_adjustment: bool = True
    """
    Whether the probability rises by no more than 2 % a tick once it is at 10 % (RFC 8033, section 5.5). Default: yes.
    """
    ecn: bool = False
    """
    Whether ECN-capable packets are marked instead of dropped early (RFC 8033, section 5.1). Default: no.
    """
    mark_threshold: float = 0.1
    """
    `ecn_prob`: probability above which ECN-capable packets are dropped as well. Default: 0.1 (Linux).
    """


class CakeConfig(BaseModel):
    """
    Parameters of CAKE.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bandwidth: Rate | None = None
    """
    Rate to which traffic is shaped, counted with `overhead`, `mpu` and `framing`. Default: none (Linux: `unlimited`); the link's rate is the limit then, and tins take turns by their shares.
    """
    tins: CakeTins = "diffserv3"
    """
    Tins into which packets go by their DSCP. Default: `diffserv3` (Linux).
    """
    isolation: CakeIsolation = "triple-isolate"
    """
    Whose packets share a queue, and between whom the bandwidth is shared. Default: `triple-isolate` (Linux).
    """
    rtt: Annotated[
        str,
        Field(
            pattern="^\\s*(datacentre|lan|metro|regional|internet|oceanic|satellite|interplanetary|[0-9._]+\\s*(s|sec|seconds|second|ms|us|µs|μs|ns|ps|min|h))\\s*$"
        ),
    ] = "100 ms"
    """
    Round-trip time for which COBALT is configured: its interval, and 20 times its target. Or one of the words `datacentre` (0.1 ms), `lan` (1), `metro` (10), `regional` (30), `internet` (100), `oceanic` (300), `satellite` (1000) and `interplanetary` (an hour). Default: 100 ms (Linux).
    """
    link_layer: LinkLayer | None = None
    """
    Preset of `overhead`, `mpu` and `framing` for a kind of link, by the keyword of `tc`. Default: none; packets count as they are (Linux: `raw`).
    """
    vlan_tags: Annotated[int, Field(ge=0)] = 0
    """
    Number of VLAN tags, each of which adds 4 bytes to the overhead (Linux: `ether-vlan`). Default: 0.
    """
    overhead: int | None = None
    """
    Bytes that the link adds to each IP packet; may be negative. Default: that of `link_layer`.
    """
    mpu: Annotated[int | None, Field(ge=0)] = None
    """
    Least length of a packet on the link in bytes, overhead included. Default: that of `link_layer`, else 0.
    """
    framing: CellFraming | None = None
    """
    Cells of the link. Default: those of `link_layer`, else `none`.
    """
    ack_filter: CakeAckFilter = "off"
    """
    Whether ACKs are dropped that later ones in the same queue make redundant. Default: `off` (Linux).
    """
    ingress: bool = False
    """
    Whether the queue is behind the bottleneck, at the end of the link: dropped packets have taken their time on it, too. Default: no (Linux: `egress`).
    """
    autorate_ingress: bool = False
    """
    Whether the bandwidth follows the rate at which packets arrive, which begins at `bandwidth`. Default: no (Linux).
    """
    wash: bool = False
    """
    Whether the DSCP is cleared after it was used. Default: no (Linux: `nowash`).
    """
    limit: QueueSize | None = None
    """
    Limit of all queues together, in packets or bytes, not counting the packet being sent (Linux: `memlimit`). Default: the bytes of four round trips at `bandwidth`, at least 4 MiB and at most 15.5 MB; without `bandwidth` 15.5 MB (10240 packets of 1514 B).
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
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    form: AfdForm = "shadow_buffer"
    """
    The data structure of the sample. Default: `shadow_buffer`.
    """
    shadow_size: Annotated[int, Field(ge=0)] = 500
    """
    `b`: number of sampled packets kept. Ten times the number of flows that share the link estimates rates to within 15 to 30 %; BREATHe's authors used 30000. Default: 500.
    """
    sampling_interval: float = 5.0
    """
    `s`: packets that arrive for each sampled one, on average, dropped packets included. At least 1. Default: 5.
    """
    target: QueueSize = "50 packets"
    """
    `q_target`: queue length at which `m_fair` stays constant, in packets; in byte mode also in bytes. Default: 50 packets.
    """
    alpha: float = 1.7
    """
    `alpha`: gain, in sampled packets per packet, on the queue's excess over the target at the previous update. Default: 1.7 (paper).
    """
    beta: float = 1.8
    """
    `beta`: gain on the present excess. Its difference from `alpha` returns the queue to its target, so it must be greater. Default: 1.8 (paper).
    """
    scale_gains: bool = True
    """
    Whether both gains are multiplied by `shadow_size` / 500. Default: yes.
    """
    update_interval: Span = "6.25 ms"
    """
    Time between two updates of `m_fair`. If it is too long, the queue oscillates: with the default gains, scaled, when the number of packets that arrive in it times the number of flows above their share exceeds 1000 / `beta`. Default: 6.25 ms, 160 updates a second (paper).
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


class DeadlineRankConfig(BaseModel):
    """
    By the time at which a packet is due: when it left its source, plus the slack of its traffic class. Simulation only. An ACK counts as if it left its source when it arrives.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    deadline: DeadlineRanks


class UniformRankConfig(BaseModel):
    """
    Uniform integers, drawn for each packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    uniform: UniformRanks


class ExponentialRankConfig(BaseModel):
    """
    Exponential, rounded down to integers, drawn for each packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    exponential: ExponentialRanks


class PoissonRankConfig(BaseModel):
    """
    Poisson, drawn for each packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    poisson: PoissonRanks


RankConfig = TypeAliasType(
    "RankConfig",
    Literal["stfq"]
    | Literal["remaining_size"]
    | DeadlineRankConfig
    | UniformRankConfig
    | ExponentialRankConfig
    | PoissonRankConfig
    | Literal["deadline", "uniform", "exponential", "poisson"],
)
"""
How a scheduler ranks packets; the smallest rank is served first.
"""


class SpPifoConfig(BaseModel):
    """
    Parameters of SP-PIFO.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    Limit of all queues together, in packets or bytes, not counting the packet being sent; each queue has an equal part. Default: 1000 packets.
    """
    queues: Annotated[int, Field(ge=0)] = 8
    """
    Number of strict-priority queues, from 1 to 1024. Default: 8 (paper).
    """
    ranks: Annotated[RankConfig, Field(validate_default=True)] = "stfq"
    """
    How packets are ranked: "stfq", "remaining_size", "deadline", or drawn: "uniform", "exponential", "poisson". Default: "stfq".
    """
    max_flows: Annotated[int, Field(ge=0)] = 16384
    """
    With "stfq": most flows whose finish times are kept at a time, at least 1. Default: 16384 (our choice).
    """
    count_inversions: bool = False
    """
    Whether the gauge `inversions` counts the departures that leave a packet of smaller rank behind. Each then looks at the packets queued. Default: no.
    """


class AifoConfig(BaseModel):
    """
    Parameters of AIFO.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    C: limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    window: Annotated[int, Field(ge=0)] = 20
    """
    W: number of ranks with which that of an arriving packet is compared, from 1 to 65536. Default: 20 (the simulator's runs with short queues).
    """
    sample_every: Annotated[int, Field(ge=0)] = 1
    """
    s: of this many arriving packets one enters the window, at least 1. Default: 1, every packet (our choice).
    """
    headroom: float = 0.1
    """
    k: fraction of the limit up to which every packet is admitted, from 0 to 1. With 1 it is drop-tail. Default: 0.1 (our choice).
    """
    ranks: Annotated[RankConfig, Field(validate_default=True)] = "stfq"
    """
    How packets are ranked: "stfq", "remaining_size", "deadline", or drawn: "uniform", "exponential", "poisson". Default: "stfq".
    """
    max_flows: Annotated[int, Field(ge=0)] = 16384
    """
    With "stfq": most flows whose finish times are kept at a time, at least 1. Default: 16384 (our choice).
    """
    count_inversions: bool = False
    """
    Whether the gauge `inversions` counts the departures that leave a packet of smaller rank behind. Each then looks at the packets queued. Default: no.
    """


class OpportunitiesRateTrace(BaseModel):
    """
    When the link may send, as mahimahi's traces have it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    opportunities: Opportunities


class StepsRateTrace(BaseModel):
    """
    Rates, one after the other.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    steps: list[TraceStep]


RateTrace = TypeAliasType(
    "RateTrace", FileRateTrace | OpportunitiesRateTrace | StepsRateTrace
)
"""
The rate of a link over time. It repeats when it has ended.
"""


class CorrelatedLossModel(BaseModel):
    """
    Each draw depends on the one before, as in netem's `loss random`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    correlated: CorrelatedLoss


class GilbertElliottLossModel(BaseModel):
    """
    Two states (Gilbert 1960, Elliott 1963).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    gilbert_elliott: GilbertElliott


class FourStateLossModel(BaseModel):
    """
    Four states, netem's `loss state`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    four_state: FourState


LossModel = TypeAliasType(
    "LossModel",
    float | CorrelatedLossModel | GilbertElliottLossModel | FourStateLossModel,
)
"""
Which packets are lost: a probability, or a model.
"""


Reordering = TypeAliasType("Reordering", bool | EarlyPackets)
"""
Which packets overtake others.
"""


class InputQueued(BaseModel):
    """
    One FIFO queue at each input. In each slot every output takes a random one of the packets at the heads that are for it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize | None = None
    """
    Maximum number of packets at each input; further packets are dropped. Default: no limit.
    """
    cell: Bytes | None = None
    """
    Packet length whose transmission time on the line is a slot; no packet may be longer. Default: the longest packet of the scenario's flows.
    """
    speedup: Speedup = "1"
    """
    Phases in a slot: 1, 1.2, "6/5", … up to the number of ports.
    """


class MwmSchedulerConfig(BaseModel):
    """
    Maximum weight matching, where the weight of a pair is its queue: the highest throughput at the highest cost.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    mwm: MwmConfig


class IslipSchedulerConfig(BaseModel):
    """
    iSLIP: round-robin grants and accepts, with pointers that desynchronise.
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
    A matching with as many pairs as possible.
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
The scheduler of a crossbar: exactly one of these.
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
Distribution of the traffic of each input over the outputs.
"""


class CompleteSharingBufferPolicyConfig(BaseModel):
    """
    All ports share the whole memory without limits.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    complete_sharing: CompleteSharingConfig


class AbmBufferPolicyConfig(BaseModel):
    """
    Each queue may hold a multiple of the free memory, which follows the number of ports that its class congests and its drain rate.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    abm: AbmConfig


class DynamicThresholdBufferPolicyConfig(BaseModel):
    """
    All ports share the memory, and an output may hold a multiple of the part that is free.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dynamic_threshold: DynamicThresholdConfig


class FabBufferPolicyConfig(BaseModel):
    """
    As `dynamic_threshold`, with a larger multiple for the frames of short flows.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fab: FabConfig


class HeadroomPoolBufferPolicyConfig(BaseModel):
    """
    Each input has headroom for itself, and may hold a multiple of the shared memory that is free; PAUSE follows it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    headroom_pool: HeadroomPoolConfig


class LongestQueueDropBufferPolicyConfig(BaseModel):
    """
    All ports share the whole memory; if it is full, the longest queue loses its last frame.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    longest_queue_drop: LongestQueueDropConfig


class PartitionsConfig(BaseModel):
    """
    Parameters of partitions.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    output_limit: OutputLimit | None = None
    """
    Memory of all inputs that one output may occupy. Frames beyond it are lost, with or without PAUSE. Default: no limit.
    """


class Watchdog(BaseModel):
    """
    Looks at the outputs of a switch at regular times. A class that PAUSE has stopped at an output is in a storm if it has frames and has sent none for the time of detection. Then links wait for each other, or a receiver is broken. The storm ends when no PAUSE for the class has come for the time of restoration. The defaults are SONiC's, for switches of up to 32 ports; it multiplies all times by the number of ports in units of 32.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    detection: Span = "200 ms"
    """
    Time of detection.
    """
    restoration: Span = "200 ms"
    """
    Time of restoration.
    """
    poll: Span | None = None
    """
    Time between two looks. Default: 200 ms, or the shorter of the other times.
    """
    action: WatchdogAction = "drop"
    """
    The fate of the class at the output during a storm.
    """


class SinglePathPolicyConfig(BaseModel):
    """
    One path for all flows: the one whose links come first.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    single: SingleConfig


class FlowletPathPolicyConfig(BaseModel):
    """
    A path for each burst of a flow, drawn at random (LetFlow).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    flowlet: FlowletConfig


class CongaPathPolicyConfig(BaseModel):
    """
    A path for each burst of a flow, by the congestion of paths (CONGA). Leaf-spine networks only.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    conga: CongaConfig


class EcmpConfig(BaseModel):
    """
    Parameters of equal-cost multipath.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    salt: EcmpSalt = "node"
    """
    Whether each node has a salt of its own, or all have the same.
    """


class SprayConfig(BaseModel):
    """
    Parameters of spraying.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    order: SprayOrder = "random"
    """
    In which order a node uses the paths.
    """


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
    The description that the reaction point follows where they differ. Default: `standard`.
    """
    set_point: Bytes = "26 KB"
    """
    `Q_eq`: length at which the queue should settle. Default: 26 KB (standard, `ieee8021CnCpQueueSizeSetPoint`); studies use 22 to 34 KB.
    """
    weight: float = 2.0
    """
    `W`: weight of the queue's growth since the last sample, relative to its offset. Default: 2 (standard, `ieee8021CnCpFeedbackWeight`).
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
    `GD`: the fraction of its rate that a flow loses for each unit of feedback, of which there are at most 63. Default: 1/128 (standard, `ieee8021CnRpgGd` = 7).
    """
    min_decrease_factor: float = 0.5
    """
    Smallest factor by which a message multiplies the rate. Default: 0.5 (standard, `ieee8021CnRpgMinDecFac`).
    """
    min_rate: Rate = "5 Mbps"
    """
    Minimum rate, below which no flow is cut. Default: 5 Mb/s (standard, `ieee8021CnRpgMinRate`).
    """
    byte_cycle: Bytes = "150 KB"
    """
    Bytes in a cycle of the byte counter. Default: 150 KB (standard, `ieee8021CnRpgByteReset`).
    """
    timer_cycle: Span = "15 ms"
    """
    A cycle of the timer. Default: 15 ms (standard, `ieee8021CnRpgTimeReset`); some studies use 10 ms.
    """
    fast_recovery_cycles: Annotated[int, Field(ge=0)] = 5
    """
    Cycles of fast recovery. Default: 5 (standard, `ieee8021CnRpgThreshold`).
    """
    active_increase: Rate = "5 Mbps"
    """
    `R_AI`: increase of the target rate in a cycle of active increase. Default: 5 Mb/s (standard, `ieee8021CnRpgAiRate`).
    """
    hyper_active_increase: Rate = "50 Mbps"
    """
    `R_HAI`: increase of the target rate in the first cycle of hyper-active increase; twice that in the second, and so on. Default: 50 Mb/s (standard, `ieee8021CnRpgHaiRate`).
    """
    keep_target_in_first_cycle: bool = True
    """
    Extra fast recovery: whether further cuts leave the target rate unchanged until a cycle of the byte counter has ended. Default: yes (both variants).
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
Fraction of its capacity that a port offers, depending on the length of its queue: exactly one of these.
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
    T_RR: interval between two reports to an active source, and time for which a port measures or counts before it corrects its share. A port that corrected more often than reports come would correct several times for the same overload. At least the time in which a link carries 15 KB. Default: the time in which a link carries 125 KB, 0.1 ms at 10 Gb/s, like FECN's interval; with 1 ms the queue would oscillate there.
    """
    expiry: Span | None = None
    """
    Time for which a source is active after its last frame. It must be longer than the time that a flow at the minimum rate takes for a frame. Default: 20 ms (1500 B at 1 Mb/s take 12 ms), or three intervals if these are longer.
    """
    share: ShareMode = "rho"
    """
    Method by which a port finds its share. Default: `rho`, which also fills ports whose flows do not use theirs.
    """
    silence: Silence = "release"
    """
    Behaviour of a source when no report has come for three intervals. Default: `release`; reports are not lost here, so silence means that the flow was idle.
    """
    set_point: Bytes = "75 KB"
    """
    Q_eq: length at which the queue of a busy port settles. Default: 75 KB (that of ECM, for comparison).
    """
    minimum_rate: Rate = "1 Mbps"
    """
    R_min: minimum rate of a flow, and minimum share. Default: 1 Mbps (that of ECM, for comparison).
    """
    queue_control: Annotated[QueueControl, Field(validate_default=True)] = {
        "hyperbolic": {"empty": 1.1, "steepness": 1.1, "floor": 0.1}
    }
    """
    f: fraction of its capacity that a port offers, depending on the length of its queue. Default: hyperbolic.
    """
    increase_limit: float = 1.5
    """
    Maximum growth of the share in an interval, as a factor; for `rho` only. Default: 1.5, as with FECN.
    """


class InputQueuedNodeKind(BaseModel):
    """
    Forwards packets from one FIFO queue at each input; the fastest of its links is its line.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    input_queued: InputQueued


EthernetNode = TypeAliasType("EthernetNode", str | EthernetNodes)
"""
The name of a node, or a table with `name` and `count`.
"""


class Service(BaseModel):
    """
    A temporary rate of a port or a node.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    node: str
    """
    Name of the node.
    """
    rate: Rate
    """
    The rate, at most the link's. It may be "0 bps": no frame begins, and one that has begun goes on afterwards.
    """
    from_: Annotated[Span, Field(alias="from")] = "0 ps"
    """
    Start.
    """
    to: Span | None = None
    """
    End. Default: the end of the run.
    """
    at: ServiceAt = "switch"
    """
    Place: the switch's port to the node sends at this rate, or the node takes frames from its adapter at this rate.
    """


class NdpTransport(BaseModel):
    """
    NDP: full windows at once, trimmed packets, and receivers that pull. Sends one message (`app.fixed`) or data without end, through queues that trim.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ndp: NdpConfig


class HomaTransport(BaseModel):
    """
    Homa: short messages go unasked, receivers grant the rest by the bytes left, and packets carry priorities. Sends one message (`app.fixed`) or data without end, through ports that serve classes by priority.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    homa: HomaConfig


class CellsTransport(BaseModel):
    """
    Cells in the slots of a line, as in switch theory; for the switch topology only.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cells: Cells


class BbrCongestionControl(BaseModel):
    """
    BBR version 1: the window and the pacing rate follow a model of the path (Linux).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bbr: BbrConfig


class BicCongestionControl(BaseModel):
    """
    BIC: binary search for the window at which the last loss came (Xu, Harfoush & Rhee 2004).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bic: BicConfig


class DctcpCongestionControl(BaseModel):
    """
    DCTCP: reduces the window by the share of marked segments (RFC 8257).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dctcp: DctcpConfig


class VegasCongestionControl(BaseModel):
    """
    Vegas: keeps a few segments in queues, by the delay (Brakmo & Peterson 1995).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    vegas: VegasConfig


class LedbatCongestionControl(BaseModel):
    """
    LEDBAT++: a background transfer that gives way to others (draft-irtf-iccrg-ledbat-plus-plus).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ledbat: LedbatConfig


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
    Factor by which a sign of congestion reduces the window (β, RFC 9438, 4.6: 0.7). Above 0 and below 1.
    """
    growth: float = 0.4
    """
    Growth of the window: C, in segments per second cubed (RFC 9438, 5: 0.4). Above 0.
    """
    fast_convergence: bool = True
    """
    Whether a flow with a loss below its last maximum aims lower still, which makes room for new flows (RFC 9438, 4.7).
    """
    reno_friendly: bool = True
    """
    Whether the window is at least that of Reno (RFC 9438, 4.3).
    """
    arithmetic: CubicArithmetic = "exact"
    """
    Real numbers ("exact", RFC 9438) or whole segments ("linux").
    """


class PragueConfig(BaseModel):
    """
    The parameters of Prague.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    form: PragueForm = "window"
    """
    The state variable: "window" or "rate".
    """
    rtt_independence: RttIndependence = "rate"
    """
    Independence of the round trip: "none", "rate", "scalable" or "additive" (`prague_rtt_scaling`).
    """
    target_rtt: Span = "25 ms"
    """
    The round trip as which shorter ones count (`prague_rtt_target`: 25 ms). At most 100 ms.
    """
    transition_rounds: Annotated[int, Field(ge=0)] = 500
    """
    Round trips outside of slow start before that applies (`prague_rtt_transition`: 500).
    """
    classic_fallback: bool = False
    """
    Whether reductions grow where the delay shows a queue that marks late (`prague_ecn_fallback`).
    """
    least_burst_segments: Annotated[int, Field(ge=0)] = 2
    """
    Segments that a burst may have at every rate (`tcp_min_tso_segs`: 2).
    """


class Bbr3Config(BaseModel):
    """
    The parameters of BBR version 3.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rules: Bbr3Rules = "linux"
    """
    Google's kernel ("linux") or the draft ("draft"), which differ in constants and details.
    """
    ecn_low: bool = False
    """
    Whether marks signal short queues (Linux: the route's `ecn_low`). Then the sender answers the share of marked segments, once a round trip was at most 5 ms. Otherwise it ignores marks. Only with "linux".
    """
    least_window_segments: Annotated[int, Field(ge=4)] = 4
    """
    Least window, in segments (both sources: 4). At least 4.
    """


class UecConfig(BaseModel):
    """
    Parameters of Ultra Ethernet. The defaults are those of the Consortium's simulator.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    control: UecControl = "nscc"
    """
    Congestion control.
    """
    packet: Bytes = "4150 B"
    """
    A full packet on the wire, of which 64 B are headers.
    """
    load_balancing: LoadBalancing = "mixed"
    """
    How a sender chooses the entropy of a packet, by which switches choose its path.
    """
    paths: Annotated[int, Field(ge=0, le=65535)] = 64
    """
    The number of entropies, a power of two. 1: all packets of a flow have one entropy.
    """
    trimming: bool = True
    """
    Whether the switches trim: the target delay is shorter then, and the timeout too.
    """
    first_window: Bytes | None = None
    """
    The first window. Default: 1.5 bandwidth-delay products of the flow's path.
    """
    oversubscription: Annotated[int, Field(ge=0)] = 1
    """
    How many times slower the fabric is than its hosts. Above 1, and with RCCC, the pacer of a receiver follows marks and trims in the fabric. The source does so with RCCC alone.
    """
    round_trip: Span | None = None
    """
    The longest round trip of the network. Default: of a full packet between the hosts of all such flows.
    """
    timeout: Span | None = None
    """
    Time after which a packet without answer is sent again. Default: 15 us and six times that of a full queue.
    """


class PfabricConfig(BaseModel):
    """
    Parameters of pFabric. The defaults are those of the paper.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    packet: Bytes = "1500 B"
    """
    A full packet on the wire, with headers.
    """
    header: Bytes = "40 B"
    """
    Headers of a packet; the length of an ACK and of a probe.
    """
    window: Annotated[int | None, Field(ge=0)] = None
    """
    Packets that a flow sends at once. Default: the bandwidth-delay product of the flow's path, rounded up.
    """
    max_window: Annotated[int | None, Field(ge=0)] = None
    """
    The largest window. Default: the first one.
    """
    timeout: Span | None = None
    """
    Time without progress after which everything without ACK is sent again. Default: three times the longest round trip of the network.
    """
    probe_after: Annotated[int | None, Field(ge=0)] = 5
    """
    Timeouts in a row after which a sender probes. `None`: it never does.
    """
    ranks: PfabricRanks = "unsent"
    """
    The rank of a packet in queues with `ranks = "remaining_size"`.
    """


class DcqcnRdmaControl(BaseModel):
    """
    DCQCN as in HPCC's simulator.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dcqcn: DcqcnConfig2


class DcqcnPaperRdmaControl(BaseModel):
    """
    DCQCN as in its paper (Zhu et al. 2015).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dcqcn_paper: DcqcnPaperConfig


class DctcpRdmaControl(BaseModel):
    """
    DCTCP in hardware: a rate that follows the share of marks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dctcp: DctcpConfig2


class HpccRdmaControl(BaseModel):
    """
    HPCC: the rate follows the utilization that switches report (Li et al. 2019).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    hpcc: HpccConfig


class PatchedTimelyRdmaControl(BaseModel):
    """
    Patched TIMELY: TIMELY with a fixed point (Zhu et al. 2016).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    patched_timely: PatchedTimelyConfig


class SwiftRdmaControl(BaseModel):
    """
    Swift: a window that follows a target delay (Kumar et al. 2020).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    swift: SwiftConfig


class TimelyRdmaControl(BaseModel):
    """
    TIMELY: the rate follows the gradient of the round trip (Mittal et al. 2015).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    timely: TimelyConfig


RdmaControl = TypeAliasType(
    "RdmaControl",
    DcqcnRdmaControl
    | DcqcnPaperRdmaControl
    | DctcpRdmaControl
    | HpccRdmaControl
    | PatchedTimelyRdmaControl
    | SwiftRdmaControl
    | TimelyRdmaControl
    | Literal[
        "dcqcn", "dcqcn_paper", "dctcp", "hpcc", "patched_timely", "swift", "timely"
    ],
)
"""
Congestion control of a queue pair of RoCE.
"""


class NormalSizeDistribution(BaseModel):
    """
    Normal: { normal = { mean = "404 B", deviation = "120 B" } }. A draw that is not between zero and twice the mean is repeated.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    normal: NormalSize


class ParetoSizeDistribution(BaseModel):
    """
    Pareto, typical of file sizes: { pareto = { mean = "10 KB", shape = 1.2 } }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pareto: Pareto


class CdfSizeDistribution(BaseModel):
    """
    By a cumulative distribution: { cdf = "websearch" }, one of those that come with Forebay, or a file, { cdf = "sizes.csv" }.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cdf: SizeCdf


SizeDistribution = TypeAliasType(
    "SizeDistribution",
    Bytes
    | UniformSizeDistribution
    | ExponentialSizeDistribution
    | NormalSizeDistribution
    | ParetoSizeDistribution
    | CdfSizeDistribution,
)
"""
A size, or how it is drawn: "1 MB", { uniform = ["1 KB", "9 KB"] }, { exponential = "10 KB" }, { normal = { mean = "404 B", deviation = "120 B" } }, { pareto = { mean = "10 KB", shape = 1.2 } }, { cdf = "websearch" }.
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
    Length of an on period; drawn each time.
    """
    off: SpanDistribution
    """
    Length of an off period; drawn each time.
    """


class Ping(BaseModel):
    """
    A ping.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    interval: PingInterval = "200 ms"
    """
    Time from packet to packet; "on_answer": the next packet follows when the one before is answered or lost.
    """
    timeout: Span = "2 s"
    """
    A packet without an answer after this time is lost. The default is that of flent.
    """


class Frames(BaseModel):
    """
    Ethernet frames between the nodes of an Ethernet. There is a flow for each name in `from`, or in `to` if that list is longer; with `to = "others"` there is one from each source to every other node. A single flow has the name of its group; several are named `<group>-<from>-<to>`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate
    """
    Rate at which a flow generates frames while it is on, whether or not the network takes them; with `to = "others"` the rate of a source, distributed evenly over the other nodes. The link's rate fills every slot.
    """
    size: Bytes = "1500 B"
    """
    Length of a frame.
    """
    arrivals: Arrivals = "bernoulli"
    """
    Times at which frames are generated.
    """
    on_off: FrameOnOff | None = None
    """
    On and off periods. Default: always on.
    """
    set_point: Bytes | None = None
    """
    E2CM only: set-point of these flows, instead of the scheme's `flow_set_point` ("Per-flow Q_eq").
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


class Transfers(BaseModel):
    """
    Transfers that arrive during the run, each over a new connection between the hosts of the flow: a workload of short flows. Connections that have ended leave their memory to new ones, and results have no row for each transfer. With `--out` the file `completions.parquet` has them. Packets of a connection are a flow of their own for disciplines.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    size: SizeDistribution
    """
    Payload bytes; drawn for each transfer.
    """
    gap: SpanDistribution
    """
    Time between the arrivals of two transfers; drawn each time, so that { exponential = "1 ms" } is a Poisson process. The first arrives a gap after `start`.
    """
    connections: Annotated[int, Field(ge=1, le=65536)] = 1000
    """
    The most connections at a time. A transfer that finds all of them in use waits until one ends. 1 to 65536.
    """


class RequestResponse(BaseModel):
    """
    Repeated over one connection: the user sends a request, the server responds, the user thinks.
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
    Time from the end of a response to the next request; drawn each time.
    """


class BufferBasedVideoRule(BaseModel):
    """
    BBA-0 (Huang and others, 2014): by the buffer alone.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    buffer_based: BufferBounds


VideoRule = TypeAliasType(
    "VideoRule",
    Literal["bola"]
    | Literal["throughput"]
    | Literal["dynamic"]
    | BufferBasedVideoRule
    | Literal["buffer_based"],
)
"""
A rule of rate adaptation. The first segment has the lowest bitrate.
"""


class Web(BaseModel):
    """
    A user loads web pages, and reads each. The browser requests the main object, parses it, and requests the objects of the page, several at a time, over one or more connections. The table `pages` has the times from the request of the main object to the last byte of the page, or to the end of parsing where no object follows. Without `main`, `objects` and `object` these are drawn by the 3GPP model.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    main: SizeDistribution | None = None
    """
    Payload bytes of the main object; drawn for each page. Default: log-normal with a mean of 10 710 B and a standard deviation of 25 032 B, from 100 B to 2 MB.
    """
    objects: Annotated[int | None, Field(ge=0, le=10000)] = None
    """
    The number of the other objects of a page, at most 10000. Default: Pareto of scale 2 and shape 1.1 up to 55, less 2; drawn for each page.
    """
    object: SizeDistribution | None = None
    """
    Payload bytes of such an object; drawn for each. Default: log-normal with a mean of 7758 B and a standard deviation of 126 168 B, from 50 B to 2 MB.
    """
    connections: Annotated[int, Field(ge=1, le=32)] = 1
    """
    Connections that the browser may open to the server: 6 in browsers that use HTTP/1.1. The main object comes over the first; each other opens, with its handshake, for an object that finds no connection idle. All stay open. 1 to 32.
    """
    parallel: Annotated[int | None, Field(ge=1, le=1000)] = None
    """
    Requests for objects that are unanswered at a time on each connection: 1 for HTTP/1.1, many for HTTP/2 and 3. 1 to 1000. Default: 6 on a single connection, 1 on several.
    """
    parsing: Annotated[SpanDistribution, Field(validate_default=True)] = {
        "exponential": "130 ms"
    }
    """
    Time for which the browser parses the main object; drawn for each page.
    """
    reading: Annotated[SpanDistribution, Field(validate_default=True)] = {
        "exponential": "30 s"
    }
    """
    Time from a complete page to the next one; drawn for each page.
    """
    request: Bytes = "328 B"
    """
    Payload bytes of a request.
    """


class GoalPattern(BaseModel):
    """
    The messages and computations of a trace in the GOAL format.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    goal: Goal


class OpenLoop(BaseModel):
    """
    From `start` to `stop`, each host starts flows as a Poisson process. The destination of each is uniform over the other hosts. They wait for nothing: if the network is slow, more of them are under way.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    load: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    The rate of new payload of a host, as a part of the rate of its link: above 0, up to 1. Headers and retransmissions are not counted.
    """
    size: SizeDistribution
    """
    Payload bytes; drawn for each flow.
    """


class Incast(BaseModel):
    """
    Several hosts send to one at once: a burst, or one after the other.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    receiver: str | None = None
    """
    The host that receives. Default: drawn for each burst.
    """
    senders: Senders
    """
    How many hosts send, drawn for each burst, or a list of the hosts that send.
    """
    size: SizeDistribution
    """
    Payload bytes of each sender; a distribution is drawn for each flow.
    """
    every: SpanDistribution | None = None
    """
    Time from a burst to the next, until `stop`; drawn each time, so that { exponential = "1 ms" } is a Poisson process. Default: a single burst, at `start`.
    """


class Permutation(BaseModel):
    """
    Each host sends to another one, and each receives from one: a permutation without fixed points, drawn from all of them.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    size: SizeDistribution
    """
    Payload bytes; a distribution is drawn for each flow.
    """


class AllToAll(BaseModel):
    """
    Each host sends to every other one, all at once. The flows of a host are numbered from that to the next host on.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    size: SizeDistribution
    """
    Payload bytes from one host to another; a distribution is drawn for each flow.
    """


class Matrix(BaseModel):
    """
    The connections of a file, in the format of htsim's connection matrices (`.cm`). Node n of the file, from 0, is host n of `hosts`, or else of the topology. Starts count from `start` of the group. A connection with a trigger starts when the one that fires it is done, if it begins at one of its ends: a host sees only its own messages.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    file: str | None = None
    """
    The file, relative to the scenario. The other keys take its place when the scenario is read.
    """
    nodes: Annotated[int, Field(ge=0)] = 0
    """
    Number of nodes.
    """
    connections: list[Connection] | None = None
    """
    The connections: "0->13 start 40 size 250000", from node 0 to node 13 at 40 us with 250 000 bytes.
    """
    triggers: list[Trigger] | None = None
    """
    Triggers of connections: "trigger id 1 barrier count 2". Those that are not here are fired once.
    """


class Collective(BaseModel):
    """
    A collective operation. Each message starts when its host has received the messages that its data depend on.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    algorithm: CollectiveAlgorithm
    """
    Which hosts exchange which chunks.
    """
    size: Bytes
    """
    Payload bytes of the data, the same at each host: of its input, or of the result of an all-gather.
    """
    repeat: Annotated[int, Field(ge=1)] = 1
    """
    How often it is done. A host starts the next one when it is done with the one before. Default: once.
    """


ReduceScatter = TypeAliasType("ReduceScatter", Collective)
"""
The hosts add up their data, and each gets a part of the sum.
"""


AllGather = TypeAliasType("AllGather", Collective)
"""
Each host has a part of the data, and gets the others.
"""


HostJitter = TypeAliasType("HostJitter", Literal["none"] | SpanDistribution)
"""
Processing time of a host: "none", or a time, or how it is drawn.
"""


class Probes(BaseModel):
    """
    The time series to record.
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
    Kinds of time series.
    """
    flow_gauges: Annotated[list[FlowGauges], Field(validate_default=True)] = []
    """
    Gauges that a queue keeps for single flows.
    """
    senders: list[str] = []
    """
    TCP flows whose senders are recorded: window, rates, round trips, data in flight and the state of the congestion controller. Names of flows, or of groups for all their flows.
    """


class Lab(BaseModel):
    """
    How the lab, Forebay's page in a browser, shows the scenario. Runs do not depend on it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pins: list[Pin] | None = None
    """
    Values that have a slider.
    """


class DropTailQueue(BaseModel):
    """
    One FIFO queue with a limit: a packet that does not fit is dropped.
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
    Deficit round robin: a queue for each flow, served round-robin by bytes.
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


class Pi2Queue(BaseModel):
    """
    PI2: the queueing delay steers a base probability, packets are dropped with its square.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pi2: Pi2Config


class Dualpi2Queue(BaseModel):
    """
    DualPI2: two queues, one for L4S and one for other traffic, whose marks and drops are coupled.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dualpi2: DualPi2Config


class CodelQueue(BaseModel):
    """
    Controlled delay: drops at the head of the queue when packets have waited too long for too long.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    codel: CodelConfig


class FqCodelQueue(BaseModel):
    """
    Flows hashed to queues that take turns, new ones first, and CoDel on each.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fq_codel: FqCodelConfig


class FqPieQueue(BaseModel):
    """
    Flows hashed to queues that take turns, new ones first, and PIE on each.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fq_pie: FqPieConfig


class CakeQueue(BaseModel):
    """
    Shaper, tins, fairness by host and flow, and COBALT: the queue of a home gateway in Linux.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cake: CakeConfig


class AfdQueue(BaseModel):
    """
    Approximate fair dropping: drops what a flow sends beyond its fair share, as estimated from a sample.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    afd: AfdConfig


class SpPifoQueue(BaseModel):
    """
    Strict-priority queues that approximate a PIFO: their bounds follow the ranks of the packets.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    sp_pifo: SpPifoConfig


class AifoQueue(BaseModel):
    """
    One FIFO queue that admits the packets that a PIFO would serve, by their ranks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    aifo: AifoConfig


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
    Source of the values of `bf_credit_limit`, `bf_buffer_limit_cells`, `mark_probability` and `max_packet_size` that are not given. Default: the paper.
    """
    limit: QueueSize = "1024 packets"
    """
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1024 packets (paper, section 4).
    """
    cell_size: Bytes = "64 B"
    """
    Size of a cell, the unit in which buffers are allocated; a packet occupies whole cells. Default: 64 B (paper, section 3).
    """
    max_packet_size: Bytes | None = None
    """
    Maximum packet size: `bf_buffer_limit_cells` follows from it and the preset, and so does the length in cells of a `limit` in packets. Default: 1000 B, the paper's packets (catalyst4500: 1518 B).
    """
    max_credits: Annotated[int, Field(ge=0, le=255)] = 15
    """
    `maxCredits`: credits of a flow that is not under suspicion. Default: 15, a 4-bit field (paper, section 3).
    """
    bf_credit_limit: Annotated[int | None, Field(ge=0, le=255)] = None
    """
    `bfCreditLimit`: a flow with this number of credits or fewer is belligerent. Default: 2 (paper, section 2.2; catalyst4500: 10).
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
    `dblMin`: minimum buffer limit of a flow, in cells. Default: 32 (paper, section 4).
    """
    dbl_max_cells: Annotated[int, Field(ge=0)] = 256
    """
    `dblMax`: maximum buffer limit of a flow, in cells. Default: 256 (paper, section 4).
    """
    dbl_function: Annotated[DblFunction, Field(validate_default=True)] = "formula"
    """
    How `dbl` depends on the queue's length and the number of active flows. Default: `formula`.
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
    Whether the first signal to an ECN-capable flow is a mark instead of a drop (paper, footnote 2). Packets of belligerent flows are always dropped. Default: no.
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
    Largest `buffersUsed` that the field of an entry can hold, in cells; the limits must be below it. Default: 16383, 14 bits (paper, section 3, which contradicts itself with 13 bits).
    """
    rehash_interval: Span | None = None
    """
    Time after which the hash function of the flow table changes, so that no collision lasts (paper, section 5). Packets in the queue keep their entry, and entries keep their credits. Default: never.
    """
    off_classes: list[OffClass] = []
    """
    Traffic classes to which DBL does not apply: their packets are dropped only when the queue is full (paper, section 5). They count in the queue's length but have no entry in the flow table. Default: none.
    """
    hard_drop_classes: list[HardDropClass] = []
    """
    Traffic classes that lose every packet beyond `dbl`, instead of one of them (paper, section 5). Default: none.
    """
    input_ports: DblInputPorts | None = None
    """
    Monitoring of the input ports through which belligerent flows arrive (paper, section 5). Default: none.
    """


class PifoConfig(BaseModel):
    """
    Parameters of PIFO.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: QueueSize = "1000 packets"
    """
    Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    """
    ranks: Annotated[RankConfig, Field(validate_default=True)] = "stfq"
    """
    How packets are ranked: "stfq", "remaining_size", "deadline", or drawn: "uniform", "exponential", "poisson". Default: "stfq".
    """
    max_flows: Annotated[int, Field(ge=0)] = 16384
    """
    With "stfq": most flows whose finish times are kept at a time, at least 1. Default: 16384 (our choice).
    """
    count_inversions: bool = False
    """
    Whether the gauge `inversions` counts the departures that leave a packet of smaller rank behind. Each then looks at the packets queued. Default: no.
    """


class Impairments(BaseModel):
    """
    Loss, duplication, jitter and order of packets after their transmission. They meet data and acknowledgements alike, but no PAUSE frame.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    loss: LossModel | None = None
    """
    Which packets are lost: a probability below 1, or a model. Default: none.
    """
    lose: list[LostPackets] | None = None
    """
    Packets of flows that are lost whatever the loss model is. Default: none.
    """
    duplication: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    Probability that a packet comes twice. Below 1. Each copy is lost or delayed by itself.
    """
    limit: Annotated[int | None, Field(ge=1)] = None
    """
    Most packets on their way between transmission and arrival, as netem's `limit`; a further one is lost. At least 1. Default: none.
    """
    jitter: Annotated[SpanDistribution, Field(validate_default=True)] = "0 ps"
    """
    Additional delay, drawn for each packet. Default: none.
    """
    jitter_correlation: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """
    How much each draw of a uniform `jitter` depends on the one before, from 0 to 1: x = (1 - c) u + c x', as in netem. Default: 0, not at all.
    """
    reordering: Reordering | None = None
    """
    Whether packets with a short delay overtake others, as behind netem. Otherwise a packet comes no earlier than those before it. With `{ probability = … }` some packets have no jitter at all.
    """
    slots: Slots | None = None
    """
    Packets arrive together, in slots, as with netem's `slot`. Default: none.
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
    Combined input and output queueing: virtual output queues (VOQs) at each input, a crossbar that a scheduler sets once in each phase, and the queues of the output links. In a phase one whole packet of any length leaves each matched input. A packet is dropped if it finds its VOQ full or, after crossing, the queue of its output.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    scheduler: Annotated[SchedulerConfig, Field(validate_default=True)] = "mwm"
    """
    The scheduler that matches inputs to outputs.
    """
    speedup: Speedup = "1"
    """
    Phases in a slot: 1, 1.2, "6/5", … up to the number of ports. With 1 no packet waits at an output; with the number of ports none waits at an input.
    """
    voq_limit: QueueSize | None = None
    """
    Maximum number of packets in each virtual output queue; further packets are dropped. Default: no limit.
    """
    cell: Bytes | None = None
    """
    Packet length whose transmission time on the line is a slot; no packet may be longer. Default: the longest packet of the scenario's flows.
    """


class PartitionsBufferPolicyConfig(BaseModel):
    """
    Each input has its share of the memory for itself; all outputs use it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    partitions: PartitionsConfig


BufferPolicyConfig = TypeAliasType(
    "BufferPolicyConfig",
    PartitionsBufferPolicyConfig
    | CompleteSharingBufferPolicyConfig
    | AbmBufferPolicyConfig
    | DynamicThresholdBufferPolicyConfig
    | FabBufferPolicyConfig
    | HeadroomPoolBufferPolicyConfig
    | LongestQueueDropBufferPolicyConfig
    | Literal[
        "partitions",
        "complete_sharing",
        "abm",
        "dynamic_threshold",
        "fab",
        "headroom_pool",
        "longest_queue_drop",
    ],
)
"""
How the memory of a switch is divided: exactly one of these.
"""


class EcmpPathPolicyConfig(BaseModel):
    """
    Equal-cost multipath: a hash spreads flows over the paths.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ecmp: EcmpConfig


class SprayPathPolicyConfig(BaseModel):
    """
    A path for each packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    spray: SprayConfig


PathPolicyConfig = TypeAliasType(
    "PathPolicyConfig",
    SinglePathPolicyConfig
    | EcmpPathPolicyConfig
    | SprayPathPolicyConfig
    | FlowletPathPolicyConfig
    | CongaPathPolicyConfig
    | Literal["single", "ecmp", "spray", "flowlet", "conga"],
)
"""
Which of several equal paths a packet takes: exactly one of these.
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
    `Q_eq`: length at which each output queue should settle. Default: 75 KB, a quarter of the memory of a port (slides).
    """
    weight: float = 2.0
    """
    `W`: weight of the queue's growth in the feedback, relative to its offset. Default: 2 (slides).
    """
    decrease_gain: float = 0.5
    """
    Decrease of a rate by the strongest negative feedback, as a fraction of that rate. `G_d` is this divided by `(2 weight + 1) set_point`, for each byte of feedback. Default: 0.5 (slides), so that `G_d` is 1.333e-6.
    """
    increase_gain: float = 0.005
    """
    Increase of a rate by the strongest positive feedback, as a fraction of the link's rate: `G_i / G_i0`. `G_i R_unit` is the link's rate times this divided by `(2 weight + 1) set_point`, for each byte of feedback. Default: 0.005 (slides), so that the largest step is 50 Mb/s on a link of 10 Gb/s; the slides also use 0.1 and 0.25.
    """
    sampling: Annotated[Sampling, Field(validate_default=True)] = {"probability": 0.02}
    """
    Sampling of frames. Default: each frame with a probability of 2 % (slides).
    """
    severe_message: SevereMessage = "bcn_max"
    """
    Message of a queue to the source of a sampled frame when it is longer than `severe_threshold`. Default: `bcn_max` (slides).
    """
    severe_threshold: Bytes = "280 KB"
    """
    Queue length above which congestion is severe. Default: 280 KB (slides).
    """
    min_rate: Rate = "1 Mbps"
    """
    `R_min`: minimum rate, below which feedback cuts no rate. Default: 1 Mb/s (slides).
    """
    self_increase: SelfIncrease | None = None
    """
    Increase of limited flows without feedback. Default: none (slides).
    """
    stop_time: Span = "10 us"
    """
    Maximum time for which the first BCN(0,0) stops a flow. Default: 10 us (our choice).
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
    Parameters of the output queues and of the rate limiter. Default: those of ECM (slides).
    """
    flow_set_point: Bytes = "15 KB"
    """
    `Q_eq,flow`: amount of a flow that should wait on its path. Default: 15 KB (slides).
    """
    flow_weight: float = 2.0
    """
    `W` of the flow's queue. Default: 2 (slides).
    """
    flow_decrease_gain: float = 0.5
    """
    Decrease of a rate by the strongest negative feedback of a probe, as a fraction of it. `G_d,flow` is this divided by `(2 flow_weight + 1) flow_set_point`, for each byte of feedback. Default: 0.5 (slides: 2.5, by ECM's set-point).
    """
    flow_increase_gain: float = 0.005
    """
    Increase of a rate by the strongest positive feedback of a probe, as a fraction of the link's rate. `G_i,flow R_unit` is the link's rate times this divided by `(2 flow_weight + 1) flow_set_point`, for each byte of feedback. Default: 0.005 (slides: 0.025, by ECM's set-point; they also use 0.25, which is 0.05 here).
    """
    flow_severe_threshold: Bytes = "56 KB"
    """
    `Q_max,flow`: queue of the flow above which feedback is strongest. Default: 56 KB (slides).
    """
    probe_interval: Bytes = "75 KB"
    """
    Amount of data that a flow sends between two probes. Default: 75 KB (slides; with a sampling probability of 10 %, 15 KB).
    """
    autonomous_probes: bool = False
    """
    Whether flows without a limiter send probes as well, whose negative feedback then creates a limiter. Default: no (slides: probing is triggered by BCN).
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
    Q_eq: length at which the queue of a busy port settles. It oscillates if the interval is more than about half of 8 Q_eq b / ((b - 1) C), with the defaults and 10 Gb/s more than 0.38 ms. Default: 75 KB (that of ECM, for comparison).
    """
    interval: Span | None = None
    """
    T: time for which a port measures before it corrects its advertised rate. At least the time in which a link carries 15 KB. Default: the time in which a link carries 125 KB, 0.1 ms at 10 Gb/s (tried; the authors': 1 ms).
    """
    discovery_period: Span | None = None
    """
    T_p: interval between two rate discoveries for each flow. Default: `interval`.
    """
    initial_flows: Annotated[int, Field(ge=0)] = 10
    """
    N0: sources and ports start at the capacity divided by this number. Default: 10 (the authors').
    """
    minimum_rate: Rate = "1 Mbps"
    """
    R_min: minimum rate of a flow, and minimum advertised rate. Default: 1 Mbps (that of ECM, for comparison).
    """
    queue_control: Annotated[QueueControl, Field(validate_default=True)] = {
        "hyperbolic": {"empty": 1.1, "steepness": 1.1, "floor": 0.1}
    }
    """
    f: fraction of its capacity that a port offers, depending on the length of its queue. Default: hyperbolic.
    """
    increase_limit: float = 1.5
    """
    Maximum growth of the advertised rate in an interval, as a factor. Default: 1.5 (tried; the authors' law has no limit).
    """
    severe_congestion: Bytes | None = None
    """
    Q_sc: queue length above which the sources of arriving frames must fall to the minimum rate (E-FECN). Default: never (FECN).
    """


class CioqNodeKind(BaseModel):
    """
    Forwards packets through a crossbar with virtual output queues; the fastest of its links is its line. Queues of the inputs: `<node>/input-<number>`, in the order of the links.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cioq: Cioq


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
    impairments: Impairments | None = None
    """
    Loss of frames on the way.
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
    nodes: list[EthernetNode] | None = None
    """
    The nodes that are connected to it, each by a link of its own: their names, or tables with `name` and `count`. A core switch has none.
    """


class UecTransport(BaseModel):
    """
    Ultra Ethernet: packets sprayed over all paths, with congestion control by window (NSCC), by credit (RCCC) or both, and selective retransmission. Sends one message (`app.fixed`) or data without end.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    uec: UecConfig


class PfabricTransport(BaseModel):
    """
    pFabric: a window sent at once, and repaired by short timeouts alone. Sends one message (`app.fixed`) or data without end, through short queues that rank packets by the bytes left.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pfabric: PfabricConfig


class FramesTransport(BaseModel):
    """
    Ethernet frames at a rate of their own, within the limits of congestion management; for the Ethernet topology and graphs with Ethernet switches only.
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


class PragueCongestionControl(BaseModel):
    """
    TCP Prague: scalable congestion control for L4S (RFC 9331).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    prague: PragueConfig


class Bbr3CongestionControl(BaseModel):
    """
    BBR version 3: rate and window follow from a model of the path (google/bbr, draft-ietf-ccwg-bbr).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bbr3: Bbr3Config


CongestionControl = TypeAliasType(
    "CongestionControl",
    Literal["reno"]
    | Literal["newreno"]
    | Literal["linux_bic"]
    | Literal["linux_2_6_cubic"]
    | Literal["westwood"]
    | BbrCongestionControl
    | BicCongestionControl
    | CubicCongestionControl
    | DctcpCongestionControl
    | PragueCongestionControl
    | VegasCongestionControl
    | LedbatCongestionControl
    | Bbr3CongestionControl
    | PythonCongestionControl
    | Literal["bbr", "bic", "cubic", "dctcp", "prague", "vegas", "ledbat", "bbr3"],
)
"""
Congestion control of a sender. All but "reno" recover like NewReno; with SACK, all including "reno" recover by RFC 6675.
"""


class RoceConfig(BaseModel):
    """
    Parameters of a queue pair. The defaults are those of ConWeave's simulator, in which every loss is repaired.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    control: Annotated[RdmaControl, Field(validate_default=True)] = {
        "dcqcn": {
            "gain": 0.00390625,
            "estimate_interval": "1 us",
            "decrease_interval": "4 us",
            "increase_timer": "300 us",
            "fast_recovery_cycles": 1,
            "active_increase": None,
            "hyper_active_increase": None,
            "clamps_target": False,
            "min_rate": "1 Gbps",
        }
    }
    """
    Congestion control.
    """
    payload: Bytes = "1 KB"
    """
    Payload of a full packet.
    """
    header: Bytes = "48 B"
    """
    Headers of a packet without telemetry: 14 B Ethernet, 20 B IP, 8 B UDP and 6 B of the source's transport.
    """
    recovery: Recovery = "go_back_n"
    """
    Recovery of lost packets.
    """
    window: RoceWindow = "fixed"
    """
    The bound of data in flight.
    """
    timeout: Span | None = "4 ms"
    """
    Retransmission timeout of go-back-N. `None`: HPCC's simulator has none, and a lost last packet stops its flow.
    """
    irn_short_timeout: Span = "100 us"
    """
    Retransmission timeout of IRN with at most three packets in flight.
    """
    irn_long_timeout: Span = "320 us"
    """
    Retransmission timeout of IRN with more.
    """
    irn_timeouts: bool = True
    """
    Whether IRN has timeouts; the source turns them off where PFC prevents loss.
    """
    nack_interval: Span = "500 us"
    """
    Interval in which a receiver does not repeat a NACK.
    """
    acknowledges_duplicates: bool = True
    """
    Whether go-back-N acknowledges data that it has (InfiniBand C9-110). HPCC's simulator drops it silently.
    """
    notifies_out_of_order: bool = True
    """
    Whether packets out of order notify the sender of congestion, as adapters do and HPCC's simulator does not.
    """
    notification_interval: Span = "0 ps"
    """
    A receiver notifies of marks at most once in this interval. The paper on DCQCN: 50 us. Default: of each mark.
    """


class Udp(BaseModel):
    """
    UDP: packets at a rate of their own, regardless of losses. Exactly one pattern: `constant`, `on_off`, `poisson`, `steps`, `voice`, `game` or `ping`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    packet: SizeDistribution | None = None
    """
    Size of a packet on the wire: "1000 B", or { exponential = "1000 B" } drawn for each packet. Draws are cut to 1 B to 65535 B, and the rate is kept. Required, but for `voice`, `game` and `ping`.
    """
    constant: Constant | None = None
    """
    Evenly spaced, at one rate.
    """
    on_off: OnOff | None = None
    """
    Evenly spaced in on periods, with nothing in off periods. A gap that an off period interrupts goes on after it.
    """
    poisson: Poisson | None = None
    """
    With exponentially distributed gaps.
    """
    steps: list[RateStep] | None = None
    """
    Evenly spaced, at a rate that changes at given times in ascending order: nothing before the first, and the last rate until the end.
    """
    voice: Voice | None = None
    """
    A call by G.711: a packet of 200 B each 20 ms, with 160 B of sound and the headers of RTP, UDP and IP. The results have the rating R of the E-model and the mean opinion score.
    """
    game: Game | None = None
    """
    One direction of an online game, "up" or "down": small packets whose sizes and gaps are normally distributed. Up, 82 B of data (deviation 20 B) each 33 ms (3 ms); down, 404 B (120 B) each 33 ms (5 ms); and the headers of UDP and IP.
    """
    ping: Ping | None = None
    """
    A ping: the destination sends each packet back, and the results have the round-trip times. `packet`, 84 B by default, is the size of a packet and of its answer.
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


class TransfersApplication(BaseModel):
    """
    Transfers that arrive during the run, each over a connection of its own.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    transfers: Transfers


class RequestResponseApplication(BaseModel):
    """
    Requests and responses, with pauses.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    request_response: RequestResponse


class WebApplication(BaseModel):
    """
    Web pages, each with its objects.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    web: Web


class Video(BaseModel):
    """
    A player requests segments of a video over one connection, each at a bitrate of the ladder that its rule chooses. It plays while it receives. All segments of a bitrate have the same size. The table `videos` has the bitrate and the stalls that the viewer sees.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bitrates: list[Rate] = [
        "230 kbps",
        "331 kbps",
        "477 kbps",
        "688 kbps",
        "991 kbps",
        "1.427 Mbps",
        "2.056 Mbps",
        "2.962 Mbps",
        "5.027 Mbps",
        "6 Mbps",
    ]
    """
    The bitrates that the video has, in ascending order: 1 to 64. Default: 230, 331, 477, 688, 991, 1427, 2056, 2962, 5027 and 6000 kbps.
    """
    rule: VideoRule | None = None
    """
    The rule that chooses the bitrate of a segment.
    """
    segment: Span = "3 s"
    """
    Playing time of a segment.
    """
    buffer: Span = "25 s"
    """
    The most video that is buffered: the next segment is requested when there is room for it.
    """
    length: Span | None = None
    """
    Playing time of the video, in whole segments. Default: it does not end.
    """
    request: Bytes = "300 B"
    """
    Payload bytes of a request for the lowest bitrate. For each bitrate above it has a byte more, by which the server recognizes the bitrate.
    """


class OpenLoopPattern(BaseModel):
    """
    Each host starts flows at random times, to hosts that are drawn, at a given load.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    open_loop: OpenLoop


class IncastPattern(BaseModel):
    """
    Several hosts send to one at once, or again and again.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    incast: Incast


class PermutationPattern(BaseModel):
    """
    Each host sends to another one, and each receives from one.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    permutation: Permutation


class AllToAllPattern(BaseModel):
    """
    Each host sends to every other one.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    all_to_all: AllToAll


class MatrixPattern(BaseModel):
    """
    The connections of a file, in the format of htsim.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    matrix: Matrix


class ReduceScatterPattern(BaseModel):
    """
    The hosts add up their data, and each gets a part of the sum.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    reduce_scatter: ReduceScatter


class AllGatherPattern(BaseModel):
    """
    Each host has a part of the data, and gets the others.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    all_gather: AllGather


AllReduce = TypeAliasType("AllReduce", Collective)
"""
The hosts add up their data, and each gets the sum: a reduce-scatter and an all-gather.
"""


class DblQueue(BaseModel):
    """
    Dynamic buffer limiting: limits the buffer of each flow, and flows that do not respond to about one packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dbl: DblConfig


class PifoQueue(BaseModel):
    """
    Push-in first-out: packets leave in the order of their ranks, those of start-time fair queueing.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pifo: PifoConfig


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
The fabric that connects the inputs of a switch to its outputs: exactly one of these.
"""


class SharedMemorySwitch(BaseModel):
    """
    Properties of every switch of an Ethernet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    memory: Bytes = "300 KB"
    """
    Memory for each port. PAUSE keeps an input within it.
    """
    buffer: Annotated[BufferPolicyConfig, Field(validate_default=True)] = {
        "partitions": {}
    }
    """
    Which frames find room in the memory of all ports. Default: each input has its own.
    """
    pause: Pause | None = None
    """
    Stops the whole link that leads to an input (IEEE 802.3x). Default: frames that find no room are lost.
    """
    priority_pause: Pause | None = None
    """
    Stops single classes on the link that leads to an input (IEEE 802.1Qbb): the watermarks are those of each class.
    """
    watchdog: Watchdog | None = None
    """
    Frees outputs that PAUSE stops without end. Default: they wait.
    """
    reaction: Reaction = "0 ps"
    """
    Time after an order to stop in which a port still begins frames.
    """
    arbiter: Arbiter = "fifo"
    """
    Order in which an output sends the frames that its inputs have for it.
    """
    strict_priority: bool = False
    """
    Whether classes are served by strict priority, 7 first. Default: classes are not distinguished; with `priority_pause` they take turns.
    """
    forwarding_delay: Span = "0 ps"
    """
    Time from the last bit of a frame until the frame joins the queue of its output.
    """


class EcmCongestionManagement(BaseModel):
    """
    ECM, the baseline BCN: queues send their offset and growth to the sources of sampled frames.
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
The congestion management scheme: exactly one of these.
"""


class EthernetSwitchNodeKind(BaseModel):
    """
    Forwards frames from memory that is divided among its inputs and shared by its outputs. A host that is connected to one has an adapter, and no other link. PAUSE works between these switches and adapters only.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ethernet_switch: SharedMemorySwitch


NodeKind = TypeAliasType(
    "NodeKind",
    Literal["host"]
    | Literal["router"]
    | CioqNodeKind
    | InputQueuedNodeKind
    | EthernetSwitchNodeKind
    | Literal["cioq", "input_queued", "ethernet_switch"],
)
"""
Kind of a node.
"""


class RoceTransport(BaseModel):
    """
    RoCE: queue pairs at a rate that congestion control sets, with go-back-N or IRN. Sends one message (`app.fixed`) or data without end.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    roce: RoceConfig


class UdpTransport(BaseModel):
    """
    UDP: packets at a rate of their own, regardless of losses.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    udp: Udp


class TcpConfig(BaseModel):
    """
    The parameters of a TCP connection, both ends.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    preset: Preset | None = None
    """
    A set of values for the keys that are not given: "linux", "rfc", "basic", "ns2", "ns2_linux" or "ns2_pre2001". Default: "linux", whose values the other keys show as their defaults.
    """
    congestion_control: Annotated[CongestionControl, Field(validate_default=True)] = {
        "cubic": {
            "beta": 0.7,
            "growth": 0.4,
            "fast_convergence": True,
            "reno_friendly": True,
            "arithmetic": "linux",
        }
    }
    """
    Congestion controller: its name or, where it has parameters, a table. "reno" and "newreno" also choose the recovery without SACK.
    """
    slow_start: SlowStart | None = None
    """
    Growth of the window at the start: "standard" (RFC 5681), "hystart" (Linux) or "hystart_plus_plus" (RFC 9406). Default: "hystart" with "cubic", otherwise "standard". BBR, Prague, Vegas and LEDBAT++ have their own.
    """
    recovery: RecoveryKind = "tcp"
    """
    Detection and repair of losses: "tcp", whose rules `sack`, `fack` and `rack` choose, or "quic" (RFC 9002). The latter needs `sack` and `timestamps`. It excludes `fack`, `rack`, `tail_loss_probe`, `undo` and `rate_reduction`, of which it takes none from a preset. Each ACK then returns the timestamp of the segment that it answers, in or out of order.
    """
    sack: bool = True
    """
    Selective acknowledgements (RFC 2018) and the recovery that uses them (RFC 6675).
    """
    rate_reduction: RateReduction | None = "proportional"
    """
    How recovery with SACK reaches the reduced window: "at_once" (RFC 6675), "rate_halving" (Linux before 3.2, ns-2's TCP/Linux) or "proportional" (RFC 9937, Linux since 3.2). Default: "proportional".
    """
    fack: bool = False
    """
    Forward acknowledgement instead of RFC 6675, as in ns-2's TCP/Linux: losses, including those of retransmissions, are inferred from the furthest segment that has arrived. Needs `sack`.
    """
    duplicate_acks_restart_timer: bool = False
    """
    Whether duplicate ACKs also restart the retransmission timer, as in ns-2's TCP/Linux, so that nothing times out while ACKs arrive. In RFC 6298 (5.3) only ACKs of new data restart it.
    """
    dsack: bool = True
    """
    Whether the receiver reports data that arrives twice (D-SACK, RFC 2883). Needs `sack`.
    """
    rack: bool = True
    """
    Whether losses are detected by the time since a segment was sent rather than by counting (RACK, RFC 8985). Needs `sack`.
    """
    tail_loss_probe: bool = True
    """
    Whether a probe is sent after two round trips without an ACK, so that the loss of the last segments is repaired before the timeout (TLP, RFC 8985, section 7). Needs `rack`.
    """
    timestamps: bool = True
    """
    Whether each segment carries the time when it was sent and each ACK returns it (RFC 7323). Each ACK that advances then yields a round-trip sample, of retransmissions too, which ends the doubling of the timeout. The option takes 12 bytes in each segment and ACK, in addition to `header` and `ack_size`.
    """
    undo: bool = True
    """
    Whether the window is restored after an unnecessary retransmission, which timestamps (Eifel, RFC 3522 and 4015) or D-SACK (RFC 3708) reveal. Needs `timestamps` or `dsack`.
    """
    segment: Bytes = "1500 B"
    """
    Size of a full data segment on the wire, including the header. 1500 B is Ethernet's limit.
    """
    header: Bytes = "40 B"
    """
    Header bytes in `segment`: 20 B for IPv4 and 20 B for TCP. ns-2 counts 0 B.
    """
    ack_size: Bytes = "40 B"
    """
    Size of a segment without payload on the wire: ACK, SYN, FIN.
    """
    max_window_segments: Annotated[int, Field(ge=0)] = 4096
    """
    Maximum amount in flight, in full segments: the receiver's window. The default, about 6 MB, is the maximum of Linux without tuning; ns-2 calls it `window_`.
    """
    max_congestion_window_segments: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum congestion window, in segments. Default: the receiver's window is the only bound. Unlike that window, it leaves room to send while a loss is repaired, when the receiver's window must hold the data behind the gap. Linux's `snd_cwnd_clamp`; ns-2's TCP/Linux, which has no receiver's window, uses `window_` for it.
    """
    initial_window_segments: Annotated[int, Field(ge=0)] = 10
    """
    The congestion window after the handshake, in segments (RFC 6928: 10; ns-2's `windowInit_`: 2).
    """
    initial_ssthresh_segments: Annotated[int | None, Field(ge=0)] = None
    """
    Initial slow-start threshold, in segments. Default: slow start ends at the first loss or mark (RFC 5681, 3.1).
    """
    byte_counting_limit: Annotated[int, Field(ge=0)] = 4294967295
    """
    Maximum growth of the window for one ACK, in segments (RFC 3465's L). 1 is RFC 5681; 2 compensates for delayed ACKs.
    """
    min_rto: Span = "200 ms"
    """
    Minimum retransmission timeout (RFC 6298: 1 s; ns-2 and Linux: 200 ms).
    """
    min_rto_of: MinRtoOf = "deviation"
    """
    Quantity that `min_rto` bounds: the "timeout" (RFC 6298), or its "deviation", the part added to the smoothed round trip (Linux).
    """
    max_rto: Span = "120 s"
    """
    Maximum retransmission timeout, however often it was doubled (RFC 6298: at least 60 s).
    """
    initial_rto: Span = "1 s"
    """
    The retransmission timeout before the first round-trip sample (RFC 6298: 1 s; ns-2: 3 s).
    """
    timer_granularity: Span = "0 ps"
    """
    Tick of the clock that measures round trips; timeouts are multiples of it. "0 s" is exact; ns-2's `tcpTick_` is 10 ms.
    """
    delayed_ack: bool = True
    """
    Whether the receiver acknowledges every second segment, and a single one only after `delayed_ack_timeout` (RFC 5681, 4.2). Otherwise it acknowledges every segment at once.
    """
    delayed_ack_timeout: Span = "40 ms"
    """
    Maximum delay of an ACK (RFC 5681: at most 500 ms; 200 ms is customary).
    """
    limited_transmit: bool = True
    """
    Whether the first two duplicate ACKs each release one new segment (RFC 3042).
    """
    pacing: bool = False
    """
    Whether segments are paced: they leave at a pacing rate, in bursts of a millisecond, instead of as soon as the window allows. Controllers that need it pace in any case. The rate is the controller's or, without one, 200 % of a window in a round trip while the window is below half of the threshold, and 120 % later (Linux). Needs `rack` or the recovery "quic".
    """
    small_queues: bool = True
    """
    Whether a sender stops while its own bytes wait in its private uplink: at most two segments or a millisecond of its pacing rate (TCP small queues of Linux). Needs `rack` or the recovery "quic".
    """
    ecn: bool = False
    """
    Explicit congestion notification (RFC 3168). Default: true with "dctcp" and "prague", which are made for it.
    """
    ecn_feedback: EcnFeedback | None = None
    """
    Feedback of marks: "classic" (RFC 3168), "dctcp" (RFC 8257) or "accurate" (RFC 9768). Default: "dctcp" with "dctcp", "accurate" with other controllers that answer the share of marks, otherwise "classic".
    """
    ecn_option: bool = True
    """
    Whether each ACK of accurate ECN carries the option with the counter of marked bytes (RFC 9768, section 3.2.3; Linux's `tcp_ecn_option`). It adds 8 bytes. Without it the sender counts modulo 8 and guesses where ACKs are lost or merged.
    """
    ecn_codepoint: EcnCodepoint | None = None
    """
    ECN codepoint of data: "ect0", or "ect1" (L4S, RFC 9331) for controllers that answer the share of marks. Default: "ect1" with "prague", otherwise "ect0".
    """
    ecn_control_packets: bool | None = None
    """
    Whether SYN, FIN, retransmissions and ACKs are ECN-capable too (ECN++, draft-ietf-tcpm-generalized-ecn). Default: true with "dctcp" and "prague", otherwise false.
    """
    ecn_floor: EcnFloor = "two_segments"
    """
    Lower bound of the window after marks: "two_segments" (Linux), "one_segment", "timer" or "ns2". With "timer", a mark at one segment makes the sender wait for its timer (RFC 3168, 6.1.2). "ns2" is no bound: below one segment only the timer sends, and further marks double it.
    """
    ecn_retransmissions: bool = False
    """
    Whether retransmissions are ECN-capable too and signal the reduction to the receiver, as in ns-2 (`SetCWRonRetransmit_`). RFC 3168 (6.1.2, 6.1.5) forbids both: there, the echo continues until new data is sent.
    """
    reduction_base: ReductionBase = "congestion_window"
    """
    Quantity that a sign of congestion reduces by a factor: the "flight_size" (RFC 5681, equation 4) or the "congestion_window", used or not (Linux).
    """
    whole_segment_reduction: bool = False
    """
    Whether a reduction rounds to whole segments, as in ns-2 before 2006 (`precisionReduce_`).
    """
    timeout_response: TimeoutResponse = "linux"
    """
    Response to an expiry of the retransmission timer, of a SYN too: "rfc" (RFC 5681, 6298, 3465) or "linux", which reduces less.
    """
    idle_restart: IdleRestart = "halving"
    """
    Effect of an idle time on the window: it returns to the "initial_window" (RFC 5681, 4.1), or is reduced by "halving", as in Linux.
    """
    handshake: bool = True
    """
    Whether a connection opens with SYN and SYN-ACK. Otherwise data is sent at once, as if the connection already existed.
    """
    partial_ack_timer: PartialAckTimer = "impatient"
    """
    Effect of partial ACKs on the retransmission timer: "impatient" or "slow_but_steady" (RFC 6582, section 4).
    """
    full_ack_window: FullAckWindow = "flight_size"
    """
    Window after NewReno's fast recovery: "flight_size" or "slow_start_threshold" (RFC 6582, section 3.2, step 3).
    """
    grow_at_recovery_exit: bool = False
    """
    Whether the ACK that ends fast recovery also opens the window, as in ns-2 without SACK. RFC 5681 (3.2, step 6) leaves it at the threshold.
    """


class VideoApplication(BaseModel):
    """
    Video whose bitrate adapts to the network.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    video: Video


Application = TypeAliasType(
    "Application",
    Literal["unlimited"]
    | FixedApplication
    | TransfersApplication
    | RequestResponseApplication
    | VideoApplication
    | WebApplication
    | Literal["video", "web"],
)
"""
The data that a TCP flow sends.
"""


class AllReducePattern(BaseModel):
    """
    The hosts add up their data, and each gets the sum.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    all_reduce: AllReduce


Pattern = TypeAliasType(
    "Pattern",
    OpenLoopPattern
    | IncastPattern
    | PermutationPattern
    | AllToAllPattern
    | MatrixPattern
    | AllReducePattern
    | ReduceScatterPattern
    | AllGatherPattern
    | GoalPattern,
)
"""
A pattern of traffic between the hosts of the topology.
"""


class EthernetSwitchClosSwitch(BaseModel):
    """
    Ports share memory, with PAUSE. Hosts have adapters.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ethernet_switch: SharedMemorySwitch


ClosSwitch = TypeAliasType(
    "ClosSwitch",
    Literal["router"] | EthernetSwitchClosSwitch | Literal["ethernet_switch"],
)
"""
Kind of the switches of a fabric.
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
    count: Annotated[int | None, Field(ge=1)] = None
    """
    Hosts only: this many of them, `name-0`, `name-1`, …, each with the links that name them all. In `from` and `to` of flows their name is a list of all. Default: one, with that name.
    """
    kind: NodeKind | None = None
    """
    Kind of node.
    """


class TcpTransport(BaseModel):
    """
    TCP with a choice of congestion control, with or without SACK. Slow start, fast retransmit and recovery (RFC 5681, 6582, 6675), timeouts (RFC 6298), and optionally HyStart (RFC 9406), limited transmit (RFC 3042), delayed ACKs and ECN (RFC 3168).
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    tcp: TcpConfig


Transport = TypeAliasType(
    "Transport",
    TcpTransport
    | UecTransport
    | NdpTransport
    | HomaTransport
    | PfabricTransport
    | RoceTransport
    | UdpTransport
    | CellsTransport
    | FramesTransport
    | Literal["tcp", "uec", "ndp", "homa", "pfabric", "roce"],
)
"""
The transport: exactly one of these.
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
    Description of the scenario, for its readers.
    """
    duration: Span
    """
    Simulated time.
    """
    warmup: Span = "0 ps"
    """
    Time at the start that the tables leave out. Shorter than `duration`.
    """
    seed: Annotated[int, Field(ge=0)] = 1
    """
    Seed of all random numbers.
    """
    topology: Topology
    """
    The network: exactly one topology.
    """
    flows: Annotated[list[FlowGroup], Field(min_length=1)]
    """
    The traffic: at least one group.
    """
    host_jitter: HostJitter | None = None
    """
    Processing time of the hosts: a random delay before a packet leaves a host of TCP or UDP. Packets of a host keep their order. "none" switches it off. Default: { uniform = ["0 us", "10 us"] }, the variation of a Linux host; "none" on a host with a TCP flow of the presets "basic", "ns2", "ns2_linux" or "ns2_pre2001".
    """
    host_queue: HostQueue | None = None
    """
    Limit of the device queue of a host: how many UDP packets may wait for the host's own uplink. The host drops the others. Default: "1000 packets", as Linux; "unlimited" for no limit. TCP is not dropped there.
    """
    slowdown_base: SlowdownBase | None = None
    """
    Time that a flow of a given size takes alone; its slowdown is its completion time as a multiple of this.
    """
    probes: Probes | None = None
    """
    Time series. Default: none.
    """
    traces: list[Trace] | None = None
    """
    Packet traces.
    """
    lab: Lab | None = None
    """
    Values with sliders in the lab, Forebay's page in a browser. Default: none.
    """


class StarTopology(BaseModel):
    """
    Sources with access links of their own, one router, and one sink behind the bottleneck.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    star: Star


class DumbbellTopology(BaseModel):
    """
    Sources, a router, the bottleneck, a second router, and sinks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dumbbell: Dumbbell


class ChainTopology(BaseModel):
    """
    Routers in a row, with flows that may join at each, and one sink at the end.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    chain: Chain


class SwitchTopology(BaseModel):
    """
    Sources, a multiplexer before each input of a switch, the switch, and sinks.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    switch: SwitchTopologyModel


class HomeTopology(BaseModel):
    """
    Hosts behind a gateway, its line to the provider, and servers.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    home: Home


class LeafSpineTopology(BaseModel):
    """
    Leaf switches with hosts, and spine switches that are connected to every leaf.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    leaf_spine: LeafSpine


class FatTreeTopology(BaseModel):
    """
    A fat-tree: pods of edge and aggregation switches, and core switches between the pods.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    fat_tree: FatTree


class GraphTopology(BaseModel):
    """
    Any nodes and links, with shortest-path routes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    graph: Graph


class EthernetTopology(BaseModel):
    """
    Switches with shared memory and nodes with adapters, with PAUSE and congestion management.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ethernet: Ethernet


Topology = TypeAliasType(
    "Topology",
    StarTopology
    | DumbbellTopology
    | ChainTopology
    | SwitchTopology
    | HomeTopology
    | LeafSpineTopology
    | FatTreeTopology
    | GraphTopology
    | EthernetTopology,
)
"""
The network: exactly one of these.
"""


class Star(BaseModel):
    """
    Sources with access links of their own, one router, and one sink behind the bottleneck. The network for questions about a single queue. Links: `access-<flow>`, `bottleneck`, `reverse`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    access: LinkSpec
    """
    Link of each flow between its source and the router, in both directions.
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
    service: list[ServicePeriod] | None = None
    """
    Periods in which the link has another rate or delay.
    """
    trace: RateTrace | None = None
    """
    The rate over time, in place of `rate`, for which queues are built. Default: none.
    """
    framing: LinkFraming | None = None
    """
    Bytes that the link takes for a packet in addition to its own, by which `rate` counts: the name of a link layer, or a table. Default: none.
    """
    down: list[Outage] | None = None
    """
    Times in which the link is down. Default: none.
    """
    impairments: Impairments | None = None
    """
    Loss, duplication, jitter and order of packets on the way.
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


class PrioQueue(BaseModel):
    """
    Bands by priority: the first that has packets sends.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    prio: PrioConfig


class EtsQueue(BaseModel):
    """
    Enhanced transmission selection: bands by priority, then bands that share the link by deficit round robin.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ets: EtsConfig


class TaprioQueue(BaseModel):
    """
    Gates by time (802.1Qbv): a cyclic schedule decides which classes may send.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    taprio: TaprioConfig


class TbfQueue(BaseModel):
    """
    A token bucket: lets through a rate, and a burst after an idle time.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    tbf: TbfConfig


class HtbQueue(BaseModel):
    """
    Hierarchical token buckets: a tree of classes with guaranteed rates and ceilings; its leaves have queues of any kind.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    htb: HtbConfig


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
    | RemQueue
    | CsfqQueue
    | Pi2Queue
    | Dualpi2Queue
    | CodelQueue
    | FqQueue
    | FqCodelQueue
    | FqPieQueue
    | CakeQueue
    | CobaltQueue
    | PieQueue
    | AfdQueue
    | HhfQueue
    | BreatheQueue
    | PifoQueue
    | SpPifoQueue
    | AifoQueue
    | AfqQueue
    | EcnThresholdQueue
    | TrimmingQueue
    | CbqQueue
    | PrioQueue
    | EtsQueue
    | TaprioQueue
    | TbfQueue
    | HtbQueue
    | PythonQueue
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
        "rem",
        "csfq",
        "pi2",
        "dualpi2",
        "codel",
        "fq",
        "fq_codel",
        "fq_pie",
        "cake",
        "cobalt",
        "pie",
        "afd",
        "hhf",
        "breathe",
        "pifo",
        "sp_pifo",
        "aifo",
        "afq",
        "ecn_threshold",
        "trimming",
        "prio",
        "ets",
        "tbf",
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
    The traffic classes whose packets belong to it. Default: none, which is useful for the default class only.
    """
    share: float = 1.0
    """
    Share of the link, in proportion to the sum of the shares of all classes of the same priority. From 0.001 to 1000000. Default: 1.
    """
    rate: Rate | None = None
    """
    Shaping rate, which the class does not exceed. Default: none.
    """
    burst: Bytes = "3 KB"
    """
    Bytes that the class may send at once after an idle time, beyond its shaping rate: over any time t it sends at most `burst` + `rate` x t. A packet longer than `burst` goes after an idle time that fills `burst`. Default: 3000 B, two packets.
    """
    priority: Annotated[int, Field(ge=0, le=255)] = 0
    """
    Priority: a class sends only while no class with a smaller number can. Default: 0.
    """
    queue: QueueSpec
    """
    The queue of the class.
    """


class PrioConfig(BaseModel):
    """
    Parameters of prio. `Q` describes the queue of a band.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bands: list[PrioBand] | None = None
    """
    The bands, the first priority first. Default: three bands, as in Linux.
    """
    default_band: str | None = None
    """
    Name of the band for packets whose traffic class none of them lists. Default: the last.
    """
    limit: QueueSize = "1000 packets"
    """
    Limit of the FIFO queue of each band that has no other `queue`, in packets or bytes. Default: 1000 packets.
    """


class PrioBand(BaseModel):
    """
    A band of prio.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Name of the band.
    """
    classes: list[Class] = []
    """
    The traffic classes whose packets belong to it. Default: none, which is useful for the default band only.
    """
    queue: QueueSpec | None = None
    """
    The queue of the band. Default: a FIFO queue of `limit`.
    """


class EtsConfig(BaseModel):
    """
    Parameters of ETS. `Q` describes the queue of a band.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bands: list[EtsBand] | None = None
    """
    The bands: the strict ones, the first priority first, then those that share. Default: three bands.
    """
    strict: Annotated[int | None, Field(ge=0)] = None
    """
    How many of the bands are strict. Default: none of `bands` (Linux); without `bands` the first of the three.
    """
    default_band: str | None = None
    """
    Name of the band for packets whose traffic class none of them lists. Default: the last.
    """
    limit: QueueSize = "1000 packets"
    """
    Limit of the FIFO queue of each band that has no other `queue`, in packets or bytes. Default: 1000 packets.
    """


class EtsBand(BaseModel):
    """
    A band of ETS.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Name of the band.
    """
    classes: list[Class] = []
    """
    The traffic classes whose packets belong to it. Default: none, which is useful for the default band only.
    """
    quantum: Bytes | None = None
    """
    Bytes that the band may send in each round. Not for a strict band. Default: 1514 B, a packet of an Ethernet (Linux).
    """
    queue: QueueSpec | None = None
    """
    The queue of the band. Default: a FIFO queue of `limit`.
    """


class TaprioConfig(BaseModel):
    """
    Parameters of taprio. `Q` describes the queue of a class.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[TaprioClass]
    """
    The classes, the first priority first: at least one.
    """
    schedule: list[TaprioInterval]
    """
    The intervals of a cycle, in order: at least one.
    """
    default_class: str | None = None
    """
    Name of the class for packets whose traffic class none of them lists. Default: the last.
    """
    cycle_time: Span | None = None
    """
    Length of a cycle. The last interval lasts to its end, and intervals after its end do not begin. At most 24 h. Default: the sum of the intervals.
    """
    base_time: Span = "0 ps"
    """
    Start of the first cycle, from the start of the run. Before it all gates are open. Default: 0.
    """


class TaprioClass(BaseModel):
    """
    A class of taprio.
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
    The traffic classes whose packets belong to it. Default: none, which is useful for the default class only.
    """
    queue: QueueSpec | None = None
    """
    The queue of the class. Default: a FIFO queue of 1000 packets.
    """


class TbfConfig(BaseModel):
    """
    Parameters of TBF. `Q` describes the queue.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    rate: Rate | None = None
    """
    Rate. Default: that of the link.
    """
    burst: Bytes | None = None
    """
    Bytes that may leave at once after an idle time. Longer packets are dropped. Default: the bytes of 1 ms at `rate` (the least that `tc`'s manual advises for a clock of 1000 Hz), at least 3000 B.
    """
    peakrate: Rate | None = None
    """
    Rate that a burst does not exceed, above `rate`. Default: none.
    """
    mtu: Bytes | None = None
    """
    Bytes that may leave at once beyond `peakrate`, which needs it. Longer packets are dropped. Default: none.
    """
    limit: QueueSize | None = None
    """
    Limit of the FIFO queue, in packets or bytes, with the packet that waits for tokens and without the one being sent. Only without `queue`. Default: 1000 packets.
    """
    latency: Span | None = None
    """
    Longest time for which a packet waits for tokens: the FIFO queue holds the bytes of this time at `rate`, and `burst`. Only without `queue`. Default: none.
    """
    queue: QueueSpec | None = None
    """
    The queue. Default: a FIFO queue of `limit`.
    """


class HtbConfig(BaseModel):
    """
    Parameters of HTB. `Q` describes the queue of a leaf.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[HtbClass]
    """
    The classes in any order: at least one.
    """
    default_class: str | None = None
    """
    Name of the leaf for packets whose traffic class no leaf lists. Default: none (Linux's `default 0`). Such packets are not shaped and go before all others.
    """
    direct_limit: QueueSize = "1000 packets"
    """
    Limit of the FIFO queue of packets that belong to no leaf. Default: 1000 packets (Linux's `direct_qlen`).
    """
    r2q: Annotated[int, Field(ge=0)] = 10
    """
    The default `quantum` of a leaf is the bytes of `rate` in a second divided by this. Default: 10 (Linux).
    """


class HtbClass(BaseModel):
    """
    A class of HTB.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Name of the class.
    """
    parent: str | None = None
    """
    Name of the class from which it borrows, and whose rate it shares. Default: none, a root.
    """
    classes: list[Class] = []
    """
    The traffic classes whose packets belong to it. Only for a leaf. Default: none, which is useful for the default class.
    """
    rate: Rate
    """
    Guaranteed rate. The rates of the children of a class are at most its own in sum.
    """
    ceil: Rate | None = None
    """
    Ceiling: the rate that it does not exceed, with what it borrows. Default: `rate`, so that it borrows nothing.
    """
    burst: Bytes | None = None
    """
    Bytes that it may send at once after an idle time, beyond `rate`. Default: 1600 B, and a byte for each 8 Gb/s of `rate` (`tc`).
    """
    cburst: Bytes | None = None
    """
    Bytes that it may send at once after an idle time, beyond `ceil`. Default: 1600 B, and a byte for each 8 Gb/s of `ceil` (`tc`).
    """
    priority: Annotated[int | None, Field(ge=0, le=255)] = None
    """
    Priority, from 0 to 7: of the leaves that may send at one level, the smallest number goes first. Only for a leaf. Default: 0.
    """
    quantum: Bytes | None = None
    """
    Bytes that it sends in its turn, when leaves of equal priority share what is left. Only for a leaf. Default: `rate` / `r2q`, at least 1000 B and at most 200000 B (Linux).
    """
    queue: QueueSpec | None = None
    """
    The queue of the class. Only for a leaf. Default: a FIFO queue of 1000 packets.
    """


class Dumbbell(BaseModel):
    """
    Sources, a router, the bottleneck, a second router, and sinks. The network for flows that share hosts or differ in round-trip time. Links: `access-<host>`, `bottleneck`, `reverse`, `sink-<host>`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    sources: HostCount = "per-flow"
    """
    Hosts on the left: a number, or "per-flow", one for each flow.
    """
    sinks: HostCount = "per-flow"
    """
    Hosts on the right: a number, or "per-flow", one for each flow.
    """
    placement: Placement = "round-robin"
    """
    Placement of flows on hosts, where the number of hosts is given.
    """
    access: LinkSpec
    """
    Links between the left hosts and their router, in both directions; also for the sinks, unless `sink_access` is given.
    """
    sink_access: LinkSpec | None = None
    """
    Links between the right router and the sinks, in both directions. Default: `access`.
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
    Routers in a row, with flows that may join at each, and one sink behind the last. The network for flows that cross several bottlenecks. Links: `hop-1` to `hop-<hops>`, `access-<flow>`. The DBL paper's Figure 7.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    hops: Annotated[int, Field(ge=1)]
    """
    Number of routers, and of links `hop-i`: from router i to the next, and from the last to the sink.
    """
    access: LinkSpec
    """
    Link of each flow between its source and the router where it joins, in both directions.
    """
    link: LinkSpec
    """
    Each of the links `hop-i`.
    """


class SwitchTopologyModel(BaseModel):
    """
    Sources with access links of their own, a multiplexer before each input, a switch, and the sinks behind its outputs. Links: `access-<flow>`, `in-<input>`, `out-<output>`, `back-<flow>`; inputs and outputs are numbered from 1. The queue of an input is called `switch/input-<input>`, that of an output like its link. The tiny-buffers paper's Figure 3.1.
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
    Link of each flow between its source and the multiplexer of its input. Cells need none.
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
    Return link of each flow for its ACKs. Default: the rate of `access`, and the propagation delay of the forward path.
    """
    fabric: Fabric | None = None
    """
    The fabric that connects inputs to outputs.
    """
    load: Annotated[LoadPattern, Field(validate_default=True)] = "uniform"
    """
    Distribution of the traffic over inputs and outputs.
    """
    placement: Placement = "round-robin"
    """
    Placement of flows on the pairs of inputs and outputs: round-robin, so that each pair has its share of them to within one flow, or at random.
    """
    allow_overload: bool = False
    """
    Accept a load that exceeds the line rate of an input or an output.
    """


class Home(BaseModel):
    """
    Hosts behind a gateway, its line to the provider, and servers. The network for questions about an access link, in both directions at once. Flows lead from a host to a server, or the other way, by the names of both. Links: `<host>->gateway` and back, `gateway-up`, `up`, `down`, `gateway-down`, `isp-><server>` and back.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    hosts: list[HomeHost]
    """
    The hosts of the home.
    """
    up: LinkSpec
    """
    The line from the home's modem to the provider, with the queue of the modem.
    """
    down: LinkSpec
    """
    The line from the provider to the modem, with the queue of the provider.
    """
    gateway: Gateway | None = None
    """
    Queues of the gateway, with shapers below the rates of the line: then packets wait there, and not in the modem or at the provider.
    """
    servers: list[Server]
    """
    The servers, each behind a link of its own to the provider.
    """


class HomeHost(BaseModel):
    """
    A host of a home, or several that are alike.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Its name.
    """
    count: Annotated[int | None, Field(ge=1)] = None
    """
    This many hosts, `name-0`, `name-1`, …. In `from` and `to` of flows their name is a list of all. Default: one, with that name.
    """
    link: LinkSpec | None = None
    """
    Its link to the gateway, in both directions. Default: 1 Gb/s and 100 us, as Ethernet in a house.
    """


class Gateway(BaseModel):
    """
    Queues of a gateway, each at a port of this `rate`. A discipline that shapes, such as `cake` with a `bandwidth`, decides when packets leave.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    up: GatewayPort | None = None
    """
    Towards the line. Default: no queue.
    """
    down: GatewayPort | None = None
    """
    For what comes from the line. Default: no queue.
    """
    rate: Rate = "1 Gbps"
    """
    Rate of the ports of the gateway. Default: 1 Gb/s.
    """


class GatewayPort(BaseModel):
    """
    A port of a gateway.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    queue: QueueSpec
    """
    Its queue.
    """


class Server(BaseModel):
    """
    A server, or several that are alike.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Its name.
    """
    count: Annotated[int | None, Field(ge=1)] = None
    """
    This many servers, `name-0`, `name-1`, …. In `from` and `to` of flows their name is a list of all. Default: one, with that name.
    """
    link: LinkSpec | None = None
    """
    Its link to the provider, in both directions, with the delay of the Internet between the two. Default: 10 Gb/s and 10 ms.
    """


class LeafSpine(BaseModel):
    """
    Leaf switches with hosts, and spine switches that are connected to every leaf. Nodes: `leaf0`, `spine0`, `host0`, …; the hosts of a leaf follow one another, and `hosts` in `from` and `to` of flows is a list of all. Links have the names of the ports that send: `leaf3.port2`, `host7.port0`. The first ports of a leaf lead to its hosts, the others to the spines, one spine after the other.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    leaves: Annotated[int, Field(ge=1)]
    """
    Number of leaves.
    """
    spines: Annotated[int, Field(ge=1)]
    """
    Number of spines.
    """
    hosts: Annotated[int, Field(ge=1)]
    """
    Number of hosts at each leaf.
    """
    parallel: Annotated[int, Field(ge=1)] = 1
    """
    Number of links between each leaf and each spine.
    """
    host_link: LinkSpec
    """
    Each link between a host and its leaf, in both directions. `queue` is that of the leaf's port; see `host_port`.
    """
    uplink: LinkSpec | None = None
    """
    Each link between a leaf and a spine, in both directions. Default: `host_link`.
    """
    exceptions: list[LinkException] | None = None
    """
    Links that differ from the others.
    """
    switch: ClosSwitch | None = None
    """
    Kind of all switches.
    """
    paths: Annotated[PathPolicyConfig, Field(validate_default=True)] = {
        "ecmp": {"salt": "node"}
    }
    """
    Which of several equally short paths a packet takes. With `congestion_management`: `single`.
    """
    host_port: HostPort | None = None
    """
    Routers only: the port of every host. Default: packets wait in it without limit, in the order of their sending.
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
    Ethernet switches only: properties of the adapter of every host.
    """
    congestion_management: CongestionManagement | None = None
    """
    Ethernet switches only: congestion management, which slows down the sources of data. Default: none.
    """


class LinkException(BaseModel):
    """
    Links with another rate or queue, or without service.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ports: OneOrMany
    """
    The ports at one end, such as `leaf0.port16`: a name, or a list of names.
    """
    rate: Rate | None = None
    """
    The rate of their links.
    """
    queue: QueueSpec | None = None
    """
    The queue of these ports.
    """
    one_way: bool = False
    """
    Whether `rate` is that of the direction in which the port sends; the other one keeps its own. Default: both.
    """
    down: bool = False
    """
    Whether the links are down for the whole run: no path takes them.
    """


class HostPort(BaseModel):
    """
    The port by which a host sends.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    queue: QueueSpec
    """
    Its queue. All flows of the host share it.
    """


class FatTree(BaseModel):
    """
    A fat-tree of switches with `k` ports: `k` pods of k/2 edge and k/2 aggregation switches, k²/4 core switches, and k³/4 hosts (Al-Fares et al. 2008). Nodes: `pod1.edge0`, `pod1.agg0`, `core3`, `host7`, …; the hosts of an edge switch follow one another, and `hosts` in `from` and `to` of flows is a list of all. Links have the names of the ports that send: `pod1.agg0.port2`. The first ports of a switch lead down. Aggregation switch a of each pod leads to cores a, a + A, a + 2A, …, where A is the number of aggregation switches of a pod.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    k: Annotated[int, Field(ge=2)]
    """
    Number of ports of a switch: even.
    """
    edge_oversubscription: Annotated[int, Field(ge=1)] = 1
    """
    How many hosts of an edge switch share one of its links upwards. It divides k/2; a pod has that many times fewer aggregation switches.
    """
    core_oversubscription: Annotated[int, Field(ge=1)] = 1
    """
    How many links from edge switches share one link of an aggregation switch to a core. It divides k/2; there are that many times fewer cores.
    """
    host_link: LinkSpec
    """
    Each link between a host and its edge switch, in both directions. `queue` is that of the switch's port; see `host_port`.
    """
    edge_link: LinkSpec | None = None
    """
    Each link between an edge switch and an aggregation switch, in both directions. Default: `host_link`.
    """
    core_link: LinkSpec | None = None
    """
    Each link between an aggregation switch and a core, in both directions. Default: `edge_link`.
    """
    exceptions: list[LinkException] | None = None
    """
    Links that differ from the others.
    """
    switch: ClosSwitch | None = None
    """
    Kind of all switches.
    """
    paths: Annotated[PathPolicyConfig, Field(validate_default=True)] = {
        "ecmp": {"salt": "node"}
    }
    """
    Which of several equally short paths a packet takes. With `congestion_management`: `single`.
    """
    host_port: HostPort | None = None
    """
    Routers only: the port of every host. Default: packets wait in it without limit, in the order of their sending.
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
    Ethernet switches only: properties of the adapter of every host.
    """
    congestion_management: CongestionManagement | None = None
    """
    Ethernet switches only: congestion management, which slows down the sources of data. Default: none.
    """


class Graph(BaseModel):
    """
    Any nodes and links, with shortest-path routes. The network for everything that the other topologies cannot describe. Links: `<from>-><to>`.
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
    paths: Annotated[PathPolicyConfig, Field(validate_default=True)] = {"single": {}}
    """
    Which of several equally short paths a packet takes. With `congestion_management`: `single`.
    """
    reroute_after: Span | None = None
    """
    How long after the start of an outage routes avoid the link, and after its end take it again. A shorter outage changes no route. Not with Ethernet switches. Default: routes do not change.
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
    Ethernet switches only: properties of the adapter of every host that is connected to one.
    """
    congestion_management: CongestionManagement | None = None
    """
    Ethernet switches only: congestion management, which slows down the sources of data. Default: none.
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
    The queue of the sending port. Default: drop-tail without limit; at an Ethernet switch its `arbiter`. An adapter has none.
    """
    service: list[ServicePeriod] | None = None
    """
    Periods in which the link has another rate or delay. Between Ethernet switches their ports pace frames at this rate; an adapter has none.
    """
    trace: RateTrace | None = None
    """
    The rate over time, in place of `rate`, for which queues are built. Default: none.
    """
    framing: LinkFraming | None = None
    """
    Bytes that the link takes for a packet in addition to its own, by which `rate` counts: the name of a link layer, or a table. Default: none.
    """
    down: list[Outage] | None = None
    """
    Times in which the link is down. Default: none.
    """
    impairments: Impairments | None = None
    """
    Loss, duplication, jitter and order of packets on the way. An Ethernet has losses alone.
    """
    metric: Annotated[int, Field(ge=1)] = 1
    """
    Length of the link for routing, in each direction; a route has the smallest sum.
    """
    reverse: LinkSpec | None = None
    """
    The direction from `to` to `from`. Default: the same rate, delay, queue, service, trace, outages and impairments.
    """


class Ethernet(BaseModel):
    """
    Nodes with adapters and switches, whose ports share memory. Full-duplex links of one rate connect them, with shortest-path routes. Links: `<from>-><to>`; the queue of a switch's output has the name of its link. Frames, TCP and UDP cross it, at the lengths that their flows give them. The network of the E2CM proposal.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    link: EthernetLink
    """
    Every link, in both directions.
    """
    queue: QueueSpec | None = None
    """
    Queue discipline of every output of a switch; where classes have queues of their own, of each class. Its drops are losses, in addition to the memory's limits and PAUSE. Not together with `congestion_management`. Default: the `arbiter` of the switch.
    """
    congestion_management: CongestionManagement | None = None
    """
    Congestion management, which slows down the sources of data. Default: none.
    """
    switch: Annotated[SharedMemorySwitch, Field(validate_default=True)] = {
        "memory": "300 KB",
        "buffer": {"partitions": {}},
        "pause": None,
        "priority_pause": None,
        "watchdog": None,
        "reaction": "0 ps",
        "arbiter": "fifo",
        "strict_priority": False,
        "forwarding_delay": "0 ps",
    }
    """
    Properties of every switch.
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
    Properties of the adapter of every node.
    """
    switches: Annotated[list[EthernetSwitch], Field(min_length=1)]
    """
    The switches, each with the nodes that are connected to it.
    """
    trunks: list[Trunk] = []
    """
    Links between switches: pairs of names.
    """
    paths: Annotated[PathPolicyConfig, Field(validate_default=True)] = {"single": {}}
    """
    Which of several equally short paths a packet takes. With `congestion_management`: `single`.
    """
    service: list[Service] | None = None
    """
    Periods in which a port sends, or a node takes, frames at less than the link's rate.
    """


class FlowGroup(BaseModel):
    """
    A group of flows that differ only in their random numbers.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: str
    """
    Name of the group. Its flows are `name-0`, `name-1`, …; just `name` without `count` and `pattern`.
    """
    count: Annotated[int | None, Field(ge=1)] = None
    """
    Number of flows. Default: one, with the name of the group. Not for cells and frames.
    """
    transport: Transport
    """
    The transport: TCP, UDP, the cells of a switch, or the frames of an Ethernet.
    """
    app: Application | None = None
    """
    Data to send; TCP and, of `unlimited` and `fixed`, RDMA transports only.
    """
    pattern: Pattern | None = None
    """
    A pattern by which the hosts of the topology send to each other, in place of `count`, `from`, `to` and `app`. For leaf-spine networks, fat-trees, free graphs and Ethernets, and not for UDP, cells and frames.
    """
    hosts: OneOrMany | None = None
    """
    With `pattern` only: the hosts that it has. Default: all hosts of the topology.
    """
    start: Annotated[SpanDistribution, Field(validate_default=True)] = "0 ps"
    """
    Start of the flow; drawn for each flow.
    """
    stagger: Span = "0 ps"
    """
    Additional delay of the start: flow i of the group, counted from 0, starts i times this later.
    """
    stop: Span | None = None
    """
    Time at which the flow stops sending. Default: the end of the run.
    """
    class_: Annotated[int, Field(alias="class", ge=0, le=255)] = 0
    """
    Traffic class, for disciplines that use it; in an Ethernet the priority, 0 to 7.
    """
    access: LinkSpec | None = None
    """
    Link between the source of the flow and the first router, in both directions, instead of the topology's.
    """
    from_: Annotated[OneOrMany | None, Field(alias="from")] = None
    """
    Free graph and Ethernet only, required there: the host that sends, or a list of hosts that take turns.
    """
    to: OneOrMany | None = None
    """
    Free graph and Ethernet only, required there: the host that receives, or a list of hosts that take turns; for frames also "others", every other node.
    """
    direction: Direction | None = None
    """
    Direction of the data, as seen from the sources of the topology, or from `from` to `to`. With "both" the group becomes two between the same hosts: `name`, and `name-back` in the other direction. Not for cells.
    """
    hosts_of: str | None = None
    """
    Star, dumbbell and chain only: name of an earlier group; flow i of this group has the hosts of flow i of that one. Default: hosts of its own, or those of the topology.
    """
    enters: Enters | None = None
    """
    Chain only: the router at which the flows join, from 1, or "each": flow i, from 0, joins at router i + 1.
    """
    host_jitter: HostJitter | None = None
    """
    Processing time of the hosts for the packets of this group, in both directions. Default: the scenario's `host_jitter`. Not for cells and frames.
    """
    ecn: DatagramEcn | None = None
    """
    UDP only: whether packets are ECN-capable, ECT(0), or their codepoint: "ect0", or "ect1" for L4S. For TCP see `transport.tcp.ecn`.
    """


Scenario.model_rebuild()
StarTopology.model_rebuild()
DumbbellTopology.model_rebuild()
ChainTopology.model_rebuild()
SwitchTopology.model_rebuild()
HomeTopology.model_rebuild()
LeafSpineTopology.model_rebuild()
FatTreeTopology.model_rebuild()
GraphTopology.model_rebuild()
EthernetTopology.model_rebuild()
Star.model_rebuild()
LinkSpec.model_rebuild()
CbqQueue.model_rebuild()
PrioQueue.model_rebuild()
EtsQueue.model_rebuild()
TaprioQueue.model_rebuild()
TbfQueue.model_rebuild()
HtbQueue.model_rebuild()
CbqConfig.model_rebuild()
PrioConfig.model_rebuild()
EtsConfig.model_rebuild()
TaprioConfig.model_rebuild()
HtbConfig.model_rebuild()
Home.model_rebuild()
Gateway.model_rebuild()
LeafSpine.model_rebuild()
Graph.model_rebuild()
