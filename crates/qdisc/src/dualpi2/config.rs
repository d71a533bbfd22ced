//! Parameters of DualPI2.

use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Span};

use super::{NativeAqm, Scheduler, Step};
use crate::pi2_controller::{Pi2Draw, Pi2Preset};
use crate::require;
use crate::{Limit, ParameterError, Pi2Config};

parameters! {
    /// Parameters of DualPI2. Gauges have the names of `tc -s qdisc`. Delays are the ages of the packets at the heads,
    /// in microseconds, as of the last packet that came or went. Memory is in bytes. `credit` is in bytes times
    /// percent; the Classic queue is next where it is positive.
    pub struct DualPi2Config in Pi2Config {
        pi2 preset = Pi2Preset::Linux, "`linux`";
        /// Limit of both queues together, in packets or bytes, not counting the packet being sent. Default: 10000
        /// packets (Linux).
        queue limit = QueueSize::Packets(10_000);
        /// Limit of both queues together in bytes, if that is less than `limit`. Default: twice `mtu` for each packet
        /// of `limit` (Linux; none with `rfc`, and where `limit` is in bytes).
        pub memory_limit: Option<Bytes> = None;
        pi2 mtu = Bytes(1514), "1514 B, an Ethernet's MTU with its header (Linux)";
        pi2 target = None, "15 ms";
        pi2 update_interval = None, "16 ms (rfc: the smaller of `target` and a third of `max_rtt`)";
        pi2 alpha = None, "41/256 (rfc: 0.1 times the period divided by the square of `max_rtt`)";
        pi2 beta = None, "819/256 (rfc: 0.3 divided by `max_rtt`)";
        pi2 typical_rtt = None, "none; with `linux` and `max_rtt`, a sixth of that";
        pi2 max_rtt = None, "6 times `typical_rtt` if that is given, otherwise none (rfc: 100 ms)";
        /// Packet whose age is the delay for the controller. Default: `older_head` (rfc: `classic_head`).
        pub delay: Option<DualPi2Delay> = None;
        pi2 coupling_factor = 2.0, "2";
        pi2 min_backlog = None, "twice `mtu` (rfc: 0)";
        pi2 classic_draw = None, "`random`, with a number for each factor of the square (rfc: `recur`)";
        /// How L4S packets are chosen. Default: `random` (rfc: `recur`).
        pub l4s_draw: Option<Pi2Draw> = None;
        pi2 drop_on_overload = true, "yes; `tc` has `overflow` for no";
        pi2 drop_on_enqueue = false, "no";
        /// Packets of the L4S queue by their ECN field: those with ECT(1) or CE, or all that are ECN-capable. Default:
        /// `l4s_ect`.
        pub ecn_mask: DualPi2EcnMask = DualPi2EcnMask::L4sEct;
        /// Traffic classes whose packets join the L4S queue whatever their ECN field. Default: none.
        pub l4s_classes: Vec<u8> = vec![];
        /// Traffic classes whose packets join the L4S queue and are neither marked nor dropped early, unless their ECN
        /// field makes them L4S packets; `LLLL` in Linux. Default: none.
        pub llll_classes: Vec<u8> = vec![];
        /// AQM of the L4S queue itself. Default: `step` (rfc: `ramp`).
        pub l4s_aqm: Option<DualPi2L4sAqm> = None;
        /// Delay above which the step marks L4S packets. Default: 1 ms.
        pub step_threshold: Option<Span> = None;
        /// Length of the L4S queue, after a packet has left, above which the step marks it, instead of a delay.
        /// Default: none.
        pub step_threshold_packets: Option<u32> = None;
        /// Length of the L4S queue, in packets, below which the step does not apply to a packet that arrives. Default:
        /// 0.
        pub min_qlen_step: Option<u32> = None;
        /// `minTh`: delay at which the ramp begins. Default: 800 us.
        pub ramp_min: Option<Span> = None;
        /// `maxTh`: delay from which the ramp marks every packet. Default: 1200 us.
        pub ramp_max: Option<Span> = None;
        /// `Th_len`: the ramp applies while more packets are in the L4S queue, after one has left. Default: 1.
        pub ramp_min_packets: Option<u32> = None;
        /// Order of the two queues. Default: `wrr` (rfc: `time_shifted_fifo`).
        pub scheduler: Option<DualPi2Scheduler> = None;
        /// Part of the link that `wrr` gives the Classic queue while both queues have packets, in percent. Default: 10.
        pub classic_protection: Option<u32> = None;
        /// Time by which `time_shifted_fifo` prefers L4S packets. Default: 50 ms.
        pub time_shift: Option<Span> = None;
    }
}

/// The packet whose age is the delay for the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum DualPi2Delay {
    /// The older of the first packets of both queues.
    OlderHead,
    /// The first packet of the Classic queue.
    ClassicHead,
}

/// The bits of the ECN field that make an L4S packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum DualPi2EcnMask {
    /// ECT(1) and CE.
    L4sEct,
    /// ECT(0), ECT(1) and CE.
    AnyEct,
}

/// The AQM of the L4S queue itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum DualPi2L4sAqm {
    /// Marks every packet above a threshold, in addition to the coupled marks.
    Step,
    /// Marks with a probability that rises with the delay, if it exceeds the coupled probability.
    Ramp,
}

/// The order of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum DualPi2Scheduler {
    /// Weighted round robin by bytes.
    Wrr,
    /// First come, first served, where L4S packets count as older than they are.
    TimeShiftedFifo,
}

impl DualPi2Config {
    /// The age that the controller gets.
    pub(super) fn delay(&self) -> DualPi2Delay {
        self.preset.rule(self.delay, DualPi2Delay::OlderHead, DualPi2Delay::ClassicHead)
    }

    /// Bytes below which nothing is dropped or marked with the base probability.
    pub(super) fn min_backlog(&self) -> u64 {
        self.preset.rule(self.min_backlog, Bytes(self.mtu.0.saturating_mul(2)), Bytes(0)).0
    }

    /// `get_memory_limit`.
    pub(super) fn memory_limit(&self) -> u64 {
        let linux = match self.limit {
            QueueSize::Packets(packets) => packets.saturating_mul(self.mtu.0.saturating_mul(2)),
            QueueSize::Bytes(_) => u64::MAX,
        };
        self.preset.rule(self.memory_limit, Bytes(linux), Bytes(u64::MAX)).0
    }

    fn l4s_aqm(&self) -> DualPi2L4sAqm {
        self.preset.rule(self.l4s_aqm, DualPi2L4sAqm::Step, DualPi2L4sAqm::Ramp)
    }

    /// The AQM of the L4S queue, with its thresholds.
    pub(super) fn native_aqm(&self) -> NativeAqm {
        match (self.l4s_aqm(), self.step_threshold_packets) {
            (DualPi2L4sAqm::Step, Some(packets)) => NativeAqm::Step(Step::Packets(packets.into())),
            (DualPi2L4sAqm::Step, None) => {
                NativeAqm::Step(Step::Time(self.step_threshold.unwrap_or(Span::from_milliseconds(1))))
            }
            (DualPi2L4sAqm::Ramp, _) => NativeAqm::Ramp {
                min: self.ramp_min.unwrap_or(Span::from_microseconds(800)),
                max: self.ramp_max.unwrap_or(Span::from_microseconds(1200)),
                min_packets: self.ramp_min_packets.unwrap_or(1).into(),
            },
        }
    }

    fn scheduler(&self) -> DualPi2Scheduler {
        self.preset.rule(self.scheduler, DualPi2Scheduler::Wrr, DualPi2Scheduler::TimeShiftedFifo)
    }

    /// The scheduler, before the first packet.
    pub(super) fn new_scheduler(&self) -> Scheduler {
        match self.scheduler() {
            DualPi2Scheduler::Wrr => Scheduler::wrr(self.classic_protection.unwrap_or(10), self.mtu.0),
            DualPi2Scheduler::TimeShiftedFifo => {
                Scheduler::TimeShifted(self.time_shift.unwrap_or(Span::from_milliseconds(50)))
            }
        }
    }

    /// Checks every field but `limit` and those of the controller.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        Limit::new(QueueSize::Bytes(self.memory_limit()), "memory_limit")?;
        require((1..=1 << 32).contains(&self.mtu.0), "mtu", "be between 1 B and 4294967296 B")?;
        let is_step = self.l4s_aqm() == DualPi2L4sAqm::Step;
        for (given, field) in [
            (self.step_threshold.is_some(), "step_threshold"),
            (self.step_threshold_packets.is_some(), "step_threshold_packets"),
            (self.min_qlen_step.is_some(), "min_qlen_step"),
            (self.drop_on_enqueue, "drop_on_enqueue"),
        ] {
            require(is_step || !given, field, "be left out unless `l4s_aqm` is `step`")?;
        }
        for (given, field) in [
            (self.ramp_min.is_some(), "ramp_min"),
            (self.ramp_max.is_some(), "ramp_max"),
            (self.ramp_min_packets.is_some(), "ramp_min_packets"),
        ] {
            require(!is_step || !given, field, "be left out unless `l4s_aqm` is `ramp`")?;
        }
        let both = self.step_threshold.is_some() && self.step_threshold_packets.is_some();
        require(!both, "step_threshold_packets", "be left out where `step_threshold` is given")?;
        if let NativeAqm::Ramp { min, max, .. } = self.native_aqm() {
            require(min < max, "ramp_max", "be more than `ramp_min`")?;
        }
        let is_wrr = self.scheduler() == DualPi2Scheduler::Wrr;
        let protection = self.classic_protection;
        require(is_wrr || protection.is_none(), "classic_protection", "be left out unless `scheduler` is `wrr`")?;
        require(protection.is_none_or(|it| it <= 100), "classic_protection", "be at most 100")?;
        let shift = self.time_shift;
        require(!is_wrr || shift.is_none(), "time_shift", "be left out unless `scheduler` is `time_shifted_fifo`")?;
        let twice = self.llll_classes.iter().any(|class| self.l4s_classes.contains(class));
        require(!twice, "llll_classes", "name no class of `l4s_classes`")
    }
}
