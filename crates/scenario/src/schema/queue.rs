//! Queues: one line a discipline.

use forebay_qdisc as qdisc;
use forebay_qdisc::{ConfigError, Packet, Queue, Rate};
use forebay_units::QueueSize;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::tagged;

/// A queue discipline as the manual shows it.
pub(crate) struct DisciplineEntry {
    pub name: &'static str,
    /// The source file, whose opening comment is the manual page.
    pub source: &'static str,
    /// The schema of its parameters.
    pub parameters: fn(&mut SchemaGenerator) -> Schema,
}

/// Declares [`QueueSpec`] and all that has to know every discipline. A line is: the comment for the schema, the variant with
/// its configuration, the name in a scenario, what is built (a law in front of a FIFO, or a discipline that holds its
/// packets), and the file.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $variant:ident($config:ty) = $name:literal, $seam:ident $law:ident, $file:literal;)*) => {
        /// The queue discipline of a sending port: exactly one of these.
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
        #[schemars(transform = allow_bare_names)]
        pub enum QueueSpec {
            $($(#[$doc])* #[serde(rename = $name)] $variant($config),)*
        }

        /// Every discipline, in the order in which they are listed.
        pub(crate) const DISCIPLINES: &[DisciplineEntry] = &[
            $(DisciplineEntry {
                name: $name,
                source: include_str!(concat!("../../../qdisc/src/", $file)),
                parameters: <$config as JsonSchema>::json_schema,
            },)*
        ];

        fn allow_bare_names(schema: &mut Schema) {
            tagged::allow_bare(schema, &[$($name),*]);
        }

        impl QueueSpec {
            /// Name of the discipline, as in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The limit of the whole queue, for those that have one.
            #[must_use]
            pub fn limit(&self) -> Option<QueueSize> {
                match self { $(Self::$variant(config) => Some(config.limit),)* }
            }

            /// Builds the queue for a link of `link_rate`; `salt` separates the flow hashes of different queues.
            ///
            /// # Errors
            /// The first parameter outside its bound.
            pub fn build<P: Packet + 'static>(&self, link_rate: Rate, salt: u64) -> Result<Queue<P>, ConfigError> {
                match self {
                    $(Self::$variant(config) => Ok(build!($seam, qdisc::$law, config, link_rate, salt)),)*
                }
            }
        }
    };
}

macro_rules! build {
    (law, $law:path, $config:expr, $link_rate:expr, $salt:expr) => {{
        use $law as Law;
        Queue::Law(Box::new(Law::new($config, $link_rate, $salt)?))
    }};
    (discipline, $discipline:path, $config:expr, $link_rate:expr, $salt:expr) => {{
        use $discipline as Discipline;
        Queue::Discipline(Box::new(Discipline::<P>::new($config, $link_rate, $salt)?))
    }};
}

disciplines! {
    /// One FIFO queue with a limit: what does not fit is dropped.
    DropTail(qdisc::DropTailConfig) = "drop_tail", law DropTail, "drop_tail.rs";
    /// Random early detection: drops early, by the average queue.
    Red(qdisc::RedConfig) = "red", law Red, "red.rs";
}
