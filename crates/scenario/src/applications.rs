//! The applications of TCP flows: the table of all, and the seam for those with data both ways.

pub(crate) mod request_response;
pub(crate) mod video;
pub(crate) mod web;

use std::sync::Arc;

use forebay_document::Path;
use forebay_engine::{ApplicationKind, SharedKind};
use forebay_units::Span;
use schemars::{JsonSchema, Schema};

use crate::schema::{SizeDistribution, SpanDistribution, tagged};
use crate::validate::check::{DAY, Validity, check_span, check_transfer, require};

/// Each takes some bytes in the tables of the network, even if it is never used.
const MOST_CONNECTIONS: u32 = 65_536;

/// An application with data both ways. Its parameters make the applications at both ends.
pub(crate) trait BothWays: ApplicationKind {
    /// Checks the parameters, which are at `at`.
    fn check(&self, at: &Path) -> Validity;

    /// Mean payload bytes of the larger messages on a connection: no more is in flight, for the estimate of memory.
    fn message_bytes(&self) -> u64;

    /// Payload bytes that a segment of TCP must be able to take; 0 for any.
    fn least_segment(&self) -> u64 {
        0
    }
}

/// One transfer, after which the connection closes.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedSize {
    /// Payload bytes; a distribution is drawn once for each flow.
    pub size: SizeDistribution,
}

/// Transfers that arrive during the run, each over a new connection between the hosts of the flow: a workload of short
/// flows. Connections that have ended leave their memory to new ones, and results have no row for each transfer. With
/// `--out` the file `completions.parquet` has them. Packets of a connection are a flow of their own for disciplines.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Payload bytes; drawn for each transfer.
    pub size: SizeDistribution,
    /// Time between the arrivals of two transfers; drawn each time, so that { exponential = "1 ms" } is a Poisson
    /// process. The first arrives a gap after `start`.
    pub gap: SpanDistribution,
    /// The most connections at a time. A transfer that finds all of them in use waits until one ends. 1 to 65536.
    #[serde(default = "default_connections")]
    #[schemars(range(min = 1, max = 65_536))]
    pub connections: u32,
}

fn default_connections() -> u32 {
    1000
}

impl Transfers {
    fn check(&self, at: &Path) -> Validity {
        check_transfer(&self.size, &at.key("size"))?;
        check_span(&self.gap, DAY, &at.key("gap"))?;
        let gap = self.gap.mean() >= Span::from_nanoseconds(1);
        let zero = || "`gap` is zero: transfers without end would arrive at once".into();
        require(gap, || at.key("gap"), zero, "expected a mean of at least 1 ns")?;
        let holds = (1..=MOST_CONNECTIONS).contains(&self.connections);
        let message = || format!("`connections` is {}", self.connections);
        require(holds, || at.key("connections"), message, "expected 1 to 65536")
    }
}

/// Generates the enum from the table of applications with data both ways: name in a scenario, variant, parameters.
macro_rules! applications {
    ($($(#[doc = $doc:literal])* $name:literal $variant:ident($parameters:ty),)*) => {
        /// The data that a TCP flow sends.
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(transform = bare_applications)]
        pub enum Application {
            /// An unlimited amount, at the rate that the network allows.
            #[default]
            Unlimited,
            /// One transfer.
            Fixed(FixedSize),
            /// Transfers that arrive during the run, each over a connection of its own.
            Transfers(Transfers),
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant($parameters),)*
        }

        impl Application {
            /// Checks the parameters; `at` is the key of the application.
            pub(crate) fn check(&self, at: &Path) -> Validity {
                match self {
                    Self::Unlimited => Ok(()),
                    Self::Fixed(fixed) => check_transfer(&fixed.size, &at.key("fixed.size")),
                    Self::Transfers(transfers) => transfers.check(&at.key("transfers")),
                    $(Self::$variant(parameters) => parameters.check(&at.key($name)),)*
                }
            }

            /// The application with data both ways; `None` for the others.
            pub(crate) fn both_ways(&self) -> Option<&dyn BothWays> {
                match self {
                    Self::Unlimited | Self::Fixed(_) | Self::Transfers(_) => None,
                    $(Self::$variant(parameters) => Some(parameters),)*
                }
            }

            /// The same for the engine.
            pub(crate) fn shared_kind(&self) -> Option<SharedKind> {
                match self {
                    Self::Unlimited | Self::Fixed(_) | Self::Transfers(_) => None,
                    $(Self::$variant(parameters) => Some(SharedKind(Arc::new(parameters.clone()))),)*
                }
            }
        }
    };
}

fn bare_applications(schema: &mut Schema) {
    tagged::allow_bare(schema, &["video", "web"]);
}

applications! {
    /// Requests and responses, with pauses.
    "request_response" RequestResponse(request_response::RequestResponse),
    /// Video whose bitrate adapts to the network.
    "video" Video(video::Video),
    /// Web pages, each with its objects.
    "web" Web(web::Web),
}
