//! Points in simulated time and the spans between them.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// Picoseconds in a second.
pub const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// A point in simulated time: picoseconds since the start of the run (range: 213 days).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of simulated time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens: the deadline of a timer that is not set.
    pub const NEVER: Self = Self(u64::MAX);

    /// The time `picoseconds` after the start.
    #[must_use]
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// Picoseconds since the start.
    #[must_use]
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for results and laws that compute in floating point.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// The span from `earlier` to `self`; zero where `earlier` is the later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, at most [`Time::NEVER`].
    #[must_use]
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of that many picoseconds.
    #[must_use]
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// A span of that many nanoseconds.
    #[must_use]
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds * 1_000)
    }

    /// A span of that many microseconds.
    #[must_use]
    pub const fn from_microseconds(microseconds: u64) -> Self {
        Self(microseconds * 1_000_000)
    }

    /// A span of that many milliseconds.
    #[must_use]
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000_000)
    }

    /// A span of that many whole seconds.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds * PICOSECONDS_PER_SECOND)
    }

    /// The span nearest to `seconds`; negative values and NaN give zero, too large ones [`Span::MAX`].
    #[must_use]
    pub fn from_seconds_f64(seconds: f64) -> Self {
        // A float-to-integer cast saturates and sends NaN to zero.
        Self((seconds * PICOSECONDS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// Picoseconds.
    #[must_use]
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// Seconds, for results and laws that compute in floating point.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// `self - other`, at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0 - span.0)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::parse::write_scaled(f, self.0, crate::parse::SPAN_UNITS)
    }
}
