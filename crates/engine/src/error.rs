//! Why a run ends without a result.

use thiserror::Error;

/// Why a run ends without a result.
#[derive(Debug, Error)]
pub enum RunError {
    /// The caller asked it to stop.
    #[error("the run was stopped early")]
    Stopped,
    /// A file of the run could not be written: a trace, or the completed transfers.
    #[error("cannot write `{path}`: {reason}")]
    Write {
        /// The file.
        path: String,
        /// The system's error.
        #[source]
        reason: std::io::Error,
    },
    /// It would take more memory than there is.
    #[error("{0}")]
    TooLarge(String),
    /// The system starts no more threads.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// A discipline or a controller from outside the simulator cannot be made.
    #[error("{0}")]
    Custom(String),
    /// The caller asked for the events of a part that the network does not have.
    #[error("{0}")]
    Watch(String),
    /// Packets were lost or made up: a fault in the simulator itself.
    #[error("the counters do not balance, which is a fault in Forebay; please report it: {0}")]
    Invariant(String),
}
