//! Ethernet congestion management: the signals of a switch's queue to the sources, and a source's response.
//!
//! A scheme has up to three parts, as the standards split them, each a state machine without a clock:
//!
//! - a [`CongestionPoint`] at each output queue of a switch watches the queue and sends messages to the sources of the
//!   frames in it, marks frames, or writes into the control frames that pass;
//! - a [`ReactionPoint`] at the source of each flow turns messages into the rate of the flow's limiter;
//! - a [`Reflector`] at the destination of each flow answers probes, or reports on its own.
//!
//! One file each: `ecm.rs`, `e2cm.rs`, `qcn.rs`, `fecn.rs`, `dbp.rs`, `dcqcn.rs` in `congestion/`. They share
//! `sampling.rs`, `advertised_rate.rs`, `rate_increase.rs`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use forebay_units::{Bytes, Rate, Span, Time};
use rand_core::Rng;

use crate::ParameterError;

mod advertised_rate;
pub(crate) mod dbp;
pub(crate) mod dcqcn;
pub(crate) mod e2cm;
pub(crate) mod ecm;
pub(crate) mod fecn;
#[cfg(test)]
mod one_queue;
pub(crate) mod qcn;
mod rate_increase;
mod sampling;

pub use advertised_rate::{Hyperbolic, Linear, QueueControl};
pub use dbp::{DbpConfig, ShareMode, Silence};
pub use dcqcn::DcqcnConfig;
pub use e2cm::E2cmConfig;
pub use ecm::{EcmConfig, SelfIncrease, SevereMessage};
pub use fecn::FecnConfig;
pub use qcn::{QcnConfig, QcnProbabilisticSampling, QcnVariant};
pub use sampling::{Sampler, Sampling, SamplingInterval};

/// Bytes of a control frame on the wire: every message fits into the smallest Ethernet frame.
pub const CONTROL_FRAME_BYTES: u32 = 64;

/// Which output queue of which switch a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CongestionPointId(pub u32);

/// A message between the parts of a scheme, in a control frame of its flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message {
    /// ECM: how far the queue is from its set-point, and how much it grew since the last sample.
    Bcn {
        /// Set-point less queue, in bytes, limited as the congestion point does it.
        offset_bytes: i32,
        /// Queue less queue at the last sample, in bytes, limited likewise.
        delta_bytes: i32,
        /// The queue.
        from: CongestionPointId,
    },
    /// ECM: the queue is beyond its maximum; as strong as the strongest negative [`Message::Bcn`].
    BcnMax {
        /// The queue.
        from: CongestionPointId,
    },
    /// ECM: BCN(0,0), stop for a while.
    BcnZero {
        /// The queue.
        from: CongestionPointId,
    },
    /// QCN: a congestion notification message.
    Cnm {
        /// The quantised feedback, 1 to 63.
        feedback: u8,
        /// Set-point less queue in bytes.
        offset_bytes: i32,
        /// Queue less queue at the last sample, in bytes.
        delta_bytes: i32,
        /// The queue.
        from: CongestionPointId,
    },
    /// E2CM: a probe on its way to the destination.
    Probe {
        /// The time at which it left the source.
        sent: Time,
    },
    /// E2CM: a probe on its way back.
    ProbeReport {
        /// The delay from the source to the end of the destination's buffer.
        latency: Span,
        /// Bytes per second that the destination received of the flow since the last probe; `None` at the first.
        throughput: Option<f64>,
    },
    /// FECN: rate discovery, on its way to the destination: the least rate of the ports that it left through.
    RateDiscovery {
        /// In bits per second.
        rate_bps: f64,
    },
    /// FECN and DBP: a rate for the source, on its way to it.
    RateReport {
        /// In bits per second.
        rate_bps: f64,
    },
    /// DCQCN: a congestion notification packet.
    Cnp,
}

/// The arguments of every call.
pub struct Context<'a> {
    /// The time.
    pub now: Time,
    /// The present capacity of the part's port. For a congestion point it is that of its output, for a reaction point
    /// that of the adapter's link, for a reflector the rate at which the node takes frames.
    pub capacity: Rate,
    /// The part's random stream.
    pub rng: &'a mut dyn Rng,
}

/// A data frame that has joined an output queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its length in bytes.
    pub len_bytes: u32,
    /// The queue in bytes, with this frame.
    pub queue_bytes: u64,
    /// The congestion point of its rate limiter: the rate limiter tag. `None` without one.
    pub limited_by: Option<CongestionPointId>,
}

/// Action of a congestion point on a data frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// Sends this to its source.
    Tell(Message),
    /// Marks it as having met congestion.
    Mark,
}

/// Shows a part's gauges: name and value.
pub type GaugeVisitor<'a> = dyn FnMut(&'static str, f64) + 'a;

/// The part of a scheme at an output queue of a switch.
pub trait CongestionPoint: Send {
    /// A data frame has joined the queue, and the scheme's [`Sampler`] has taken it.
    fn arrived(&mut self, frame: Arrival, context: &mut Context<'_>) -> Verdict;

    /// A control frame of a flow leaves by this port, the way its data go: the port may write into it.
    fn forward(&mut self, _message: &mut Message, _context: &mut Context<'_>) {}

    /// A control frame came in by this port, against the data that leave by it.
    fn backward(&mut self, _message: &mut Message, _context: &mut Context<'_>) {}

    /// The time of the next call of [`CongestionPoint::expire`]; [`Time::NEVER`] for never.
    fn poll_at(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`CongestionPoint::poll_at`] has come.
    fn expire(&mut self, _queue_bytes: u64, _context: &mut Context<'_>) {}

    /// Shows what becomes a time series of the queue.
    fn gauges(&self, _visit: &mut GaugeVisitor<'_>) {}
}

/// The part of a scheme at the source of a flow: the law of its rate limiter.
pub trait ReactionPoint: Send {
    /// A message about the flow has come.
    fn receive(&mut self, message: &Message, context: &mut Context<'_>);

    /// After how many more bytes of the flow's data its byte counter expires: as soon as more than that have been sent,
    /// [`ReactionPoint::sent`] must be called. `u64::MAX` for never. The counterpart of [`ReactionPoint::poll_at`] for
    /// time.
    fn byte_counter(&self) -> u64 {
        u64::MAX
    }

    /// Data frames of this many bytes in all have been sent since the last call, the last one to its last bit. Returns
    /// the message to send right behind it. To be called when the byte counter expires, and ahead of any call of
    /// [`ReactionPoint::receive`] and [`ReactionPoint::expire`].
    fn sent(&mut self, _sent_bytes: u64, _context: &mut Context<'_>) -> Option<Message> {
        None
    }

    /// The time of the next call of [`ReactionPoint::expire`]; [`Time::NEVER`] for never.
    fn poll_at(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`ReactionPoint::poll_at`] has come: returns the message to send.
    fn expire(&mut self, _context: &mut Context<'_>) -> Option<Message> {
        None
    }

    /// The rate of the flow's limiter in bits per second, no more than the link's; `None` while it has none and may
    /// send as fast as the link. Zero stops the flow until [`ReactionPoint::expire`].
    fn rate_bps(&self) -> Option<f64>;

    /// The congestion point that the limiter is associated with: the tag of the flow's data frames.
    fn associated(&self) -> Option<CongestionPointId> {
        None
    }
}

/// The part of a scheme at the destination of a flow.
pub trait Reflector: Send {
    /// A data frame has left the destination's buffer, marked or not: returns the message for the source. Only where
    /// [`CongestionManagement::answers_data`].
    fn delivered(&mut self, _marked: bool, _context: &mut Context<'_>) -> Option<Message> {
        None
    }

    /// A control frame of the flow has left the destination's buffer, behind data of this many bytes since the flow
    /// began: returns the answer.
    fn reflect(&mut self, _message: &Message, _delivered_bytes: u64, _context: &mut Context<'_>) -> Option<Message> {
        None
    }

    /// The time of the next call of [`Reflector::expire`]; [`Time::NEVER`] for never.
    fn poll_at(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`Reflector::poll_at`] has come: returns the message for the source.
    fn expire(&mut self, _context: &mut Context<'_>) -> Option<Message> {
        None
    }
}

/// Declares [`CongestionManagement`]: an entry is the description in the schema, then the variant, the name in a
/// scenario, and the configuration in its module.
macro_rules! schemes {
    ($($(#[$description:meta])* $variant:ident, $name:literal, $module:ident::$config:ident;)*) => {
        /// The congestion management scheme: exactly one of these.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "config", schemars(transform = bare_names))]
        pub enum CongestionManagement {
            $(
                $(#[$description])*
                #[cfg_attr(feature = "config", serde(rename = $name))]
                $variant(crate::congestion::$module::$config),
            )*
        }

        #[cfg(feature = "config")]
        const NAMES: &[&str] = &[$($name),*];

        impl CongestionManagement {
            /// Every scheme with its defaults.
            #[must_use]
            pub fn every() -> Vec<Self> {
                alloc::vec![$(Self::$variant(Default::default())),*]
            }

            /// The scheme's name, as in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Whether the parameters go together, and with adapters whose link has this rate.
            ///
            /// # Errors
            /// The first parameter outside its bound.
            pub fn check(&self, line: Rate) -> Result<(), ParameterError> {
                match self {
                    $(Self::$variant(config) => config.check(line),)*
                }
            }

            /// The part for the output queue `id`, whose link has this rate.
            #[must_use]
            pub fn congestion_point(&self, id: CongestionPointId, line: Rate) -> Box<dyn CongestionPoint> {
                match self {
                    $(Self::$variant(config) => Box::new(config.congestion_point(id, line)),)*
                }
            }

            /// The part for the source of a flow whose adapter's link has this rate. `start` is when the flow begins.
            #[must_use]
            pub fn reaction_point(&self, line: Rate, start: Time) -> Box<dyn ReactionPoint> {
                match self {
                    $(Self::$variant(config) => Box::new(config.reaction_point(line, start)),)*
                }
            }

            /// The part for the destination of a flow whose adapter's link has this rate, if the scheme has one.
            #[must_use]
            pub fn reflector(&self, line: Rate) -> Option<Box<dyn Reflector>> {
                match self {
                    $(Self::$variant(config) => config.reflector(line),)*
                }
            }
        }
    };
}

schemes! {
    /// ECM, the baseline BCN: queues send their offset and growth to the sources of sampled frames.
    Ecm, "ecm", ecm::EcmConfig;
    /// E2CM: ECM, and probes along the path of each limited flow.
    E2cm, "e2cm", e2cm::E2cmConfig;
    /// QCN: quantised negative feedback only; sources recover by themselves.
    Qcn, "qcn", qcn::QcnConfig;
    /// FECN: switches advertise a rate in probes that the sources send.
    Fecn, "fecn", fecn::FecnConfig;
    /// DBP: destinations report rates to the sources, and switches lower them on the way.
    Dbp, "dbp", dbp::DbpConfig;
    /// DCQCN: switches mark, destinations notify, sources recover as with QCN.
    Dcqcn, "dcqcn", dcqcn::DcqcnConfig;
}

/// Control frames that a scheme sends for each flow at intervals of their own, however little data there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeriodicMessages {
    /// The parameter that gives the interval.
    pub field: &'static str,
    /// The time between two messages.
    pub interval: Span,
    /// Whether one goes from the source to the destination, in addition to the one that comes back.
    pub to_destination: bool,
}

impl CongestionManagement {
    /// Control frames sent periodically for each flow, if adapters' links have this rate. Most schemes send by what
    /// happens to data, and so never more than a part of these.
    #[must_use]
    pub fn periodic_messages(&self, line: Rate) -> Option<PeriodicMessages> {
        match self {
            Self::Fecn(config) => {
                let field = if config.discovery_period.is_some() { "discovery_period" } else { "interval" };
                Some(PeriodicMessages { field, interval: config.discovery_period(line), to_destination: true })
            }
            Self::Dbp(config) => {
                let interval = config.interval(line);
                Some(PeriodicMessages { field: "interval", interval, to_destination: false })
            }
            Self::Ecm(_) | Self::E2cm(_) | Self::Qcn(_) | Self::Dcqcn(_) => None,
        }
    }

    /// Which of the data frames that join its queue a congestion point sees.
    #[must_use]
    pub fn sampler(&self) -> Sampler {
        match self {
            Self::Ecm(config) => Sampler::new(config.sampling),
            Self::E2cm(config) => Sampler::new(config.ecm.sampling),
            // QCN samples too; how often depends on its feedback.
            Self::Qcn(_) | Self::Fecn(_) | Self::Dbp(_) | Self::Dcqcn(_) => Sampler::every(),
        }
    }

    /// Whether destinations answer data frames, and not control frames and the clock alone.
    #[must_use]
    pub fn answers_data(&self) -> bool {
        match self {
            Self::Dbp(_) | Self::Dcqcn(_) => true,
            Self::Ecm(_) | Self::E2cm(_) | Self::Qcn(_) | Self::Fecn(_) => false,
        }
    }

    /// Whether congestion points mark frames, which must be ECN-capable then, instead of signalling to their sources.
    #[must_use]
    pub fn marks_frames(&self) -> bool {
        match self {
            Self::Dcqcn(_) => true,
            Self::Ecm(_) | Self::E2cm(_) | Self::Qcn(_) | Self::Fecn(_) | Self::Dbp(_) => false,
        }
    }

    /// Whether the frames of a limited flow name the congestion point that limits it.
    #[must_use]
    pub fn tags_frames(&self) -> bool {
        match self {
            Self::Ecm(_) | Self::E2cm(_) => true,
            Self::Qcn(_) | Self::Fecn(_) | Self::Dbp(_) | Self::Dcqcn(_) => false,
        }
    }

    /// The same scheme, for flows whose own queue should settle at `set_point`; `None` if the scheme has no queue per
    /// flow. To be checked like the scheme itself.
    #[must_use]
    pub fn with_flow_set_point(&self, set_point: Bytes) -> Option<Self> {
        match self {
            Self::E2cm(config) => Some(Self::E2cm(e2cm::E2cmConfig { flow_set_point: set_point, ..config.clone() })),
            Self::Ecm(_) | Self::Qcn(_) | Self::Fecn(_) | Self::Dbp(_) | Self::Dcqcn(_) => None,
        }
    }
}

#[cfg(feature = "config")]
fn bare_names(schema: &mut schemars::Schema) {
    forebay_units::allow_bare_names(schema, NAMES);
}

#[cfg(test)]
mod tests;
