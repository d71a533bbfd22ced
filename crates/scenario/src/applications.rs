//! The applications of TCP flows: the table of all, and the seam for those with data both ways.

pub(crate) mod request_response;

use std::sync::Arc;

use forebay_document::Path;
use forebay_engine::{ApplicationKind, SharedKind};
use schemars::JsonSchema;

use crate::schema::SizeDistribution;
use crate::validate::check::Validity;

/// An application with data both ways. Its parameters make the applications at both ends.
pub(crate) trait BothWays: ApplicationKind {
    /// Checks the parameters, which are at `at`.
    fn check(&self, at: &Path) -> Validity;

    /// Mean payload bytes of the larger messages: no more is in flight, for the estimate of memory.
    fn message_bytes(&self) -> u64;
}

/// One transfer, after which the connection closes.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedSize {
    /// Payload bytes; a distribution is drawn once for each flow.
    pub size: SizeDistribution,
}

/// Generates the enum from the table of applications with data both ways: name in a scenario, variant, parameters.
macro_rules! applications {
    ($($(#[doc = $doc:literal])* $name:literal $variant:ident($parameters:ty),)*) => {
        /// The data that a TCP flow sends.
        #[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Application {
            /// An unlimited amount, at the rate that the network allows.
            #[default]
            Unlimited,
            /// One transfer.
            Fixed(FixedSize),
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant($parameters),)*
        }

        impl Application {
            /// The application with data both ways, with its key; `None` for the others.
            pub(crate) fn both_ways(&self) -> Option<(&'static str, &dyn BothWays)> {
                match self {
                    Self::Unlimited | Self::Fixed(_) => None,
                    $(Self::$variant(parameters) => Some(($name, parameters)),)*
                }
            }

            /// The same for the engine.
            pub(crate) fn shared_kind(&self) -> Option<SharedKind> {
                match *self {
                    Self::Unlimited | Self::Fixed(_) => None,
                    $(Self::$variant(parameters) => Some(SharedKind(Arc::new(parameters))),)*
                }
            }
        }
    };
}

applications! {
    /// Requests and responses, with pauses.
    "request_response" RequestResponse(request_response::RequestResponse),
}
