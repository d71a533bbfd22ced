//! Common parts of the checks: requirements on a value, and the bounds of names, rates and times.

use forebay_document::{Invalid, Path};
use forebay_qdisc::config::QueueError;
use forebay_units::{Rate, Span};

use crate::schema::{SizeDistribution, SpanDistribution};

pub(crate) type Validity = Result<(), Invalid>;

/// An error at `path` unless `holds`.
pub(crate) fn require(
    holds: bool,
    path: impl FnOnce() -> Path,
    message: impl FnOnce() -> String,
    label: &str,
) -> Validity {
    if holds { Ok(()) } else { Err(Invalid::new(path(), message(), label)) }
}

pub(crate) const DAY: Span = Span::from_seconds(86_400);
/// Simulated time ends after 213 days of picoseconds; this leaves room for what is scheduled beyond the end.
pub(crate) const LONGEST_RUN: Span = Span::from_seconds(100 * 86_400);
/// Below, single packets would take days; above, none at all.
const SLOWEST_BPS: u64 = 1_000;
const FASTEST_BPS: u64 = 10_000_000_000_000;
/// More bytes than any link here carries in the longest run.
const LARGEST_TRANSFER: u64 = 1_000_000_000_000_000;

/// A name that becomes part of other names: of flows, links, files and random streams.
pub(crate) fn check_name(name: &str, path: &Path) -> Validity {
    const LONGEST: usize = 100;
    let at = || path.clone();
    require(!name.trim().is_empty(), at, || "a name is empty".into(), "expected a name")?;
    require(name.len() <= LONGEST, at, || "a name is too long".into(), "expected at most 100 bytes")?;
    require(
        !name.contains(['/', '\\']),
        at,
        || format!("the name {name:?} contains a slash or a backslash"),
        "expected neither `/` nor `\\`",
    )
}

pub(crate) fn check_rate(rate: Rate, path: &Path) -> Validity {
    require(
        (SLOWEST_BPS..=FASTEST_BPS).contains(&rate.bits_per_second()),
        || path.clone(),
        || format!("a rate of {rate} is out of bounds"),
        "expected 1 kbps to 10 Tbps",
    )
}

/// Checks that no draw can run past the end of simulated time.
pub(crate) fn check_span(span: &SpanDistribution, longest: Span, path: &Path) -> Validity {
    let (value, limit) = match *span {
        SpanDistribution::Constant(span) | SpanDistribution::Uniform(_, span) => (span, longest),
        // A draw may be forty times the mean.
        SpanDistribution::Exponential(mean) => (mean, longest.min(DAY)),
        SpanDistribution::Normal { mean, .. } => (mean, longest / 2),
    };
    let at = || path.clone();
    let most = format!("expected at most {} h", limit.picoseconds() / (DAY.picoseconds() / 24));
    require(value <= limit, at, || format!("`{}` is too long", path.name()), &most)
}

pub(crate) fn check_fraction(value: f64, below_one: bool, path: &Path) -> Validity {
    let holds = if below_one { (0.0..1.0).contains(&value) } else { (0.0..=1.0).contains(&value) };
    let label = if below_one { "expected at least 0 and less than 1" } else { "expected 0 to 1" };
    require(holds, || path.clone(), || format!("`{}` is {value}", path.name()), label)
}

/// A parameter of the queue at `path` that is outside its bound.
pub(crate) fn out_of_bounds(error: &QueueError, path: &Path) -> Invalid {
    Invalid::new(path.below(&error.path), error.to_string(), format!("must {}", error.error.bound))
}

pub(crate) fn check_transfer(size: &SizeDistribution, path: &Path) -> Validity {
    let (least, most) = match *size {
        SizeDistribution::Uniform(low, high) => (low, high),
        // A draw is at least a byte.
        SizeDistribution::Cdf(_) => return Ok(()),
        _ => (size.mean(), size.mean()),
    };
    let holds = least.0 >= 1 && most.0 <= LARGEST_TRANSFER;
    require(holds, || path.clone(), || format!("`{}` is out of bounds", path.name()), "expected 1 B to 1000000 GB")
}
