//! Speedup: how many scheduling phases the crossbar has in the time of one packet on the line, as a rational number.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

use forebay_units::{Span, Time};

use crate::{ParameterError, require};

/// The largest numerator and denominator.
const MAX_TERM: u64 = 1_000_000_000;

/// Speedup p/q >= 1 in lowest terms: p phases in q slots, a slot being the time of one packet on the line.
///
/// Its text forms are `"1"`, `"1.2"` and `"6/5"`, the last for those that no decimal fraction meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speedup {
    phases: NonZeroU32,
    slots: NonZeroU32,
}

/// Why something is not a speedup; its `Display` is one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpeedupError {
    /// The text is neither a decimal number nor a fraction of whole numbers.
    NotRational(String),
    /// Numerator or denominator is more than 1 000 000 000, or the denominator is zero.
    OutOfRange,
    /// Less than 1: the crossbar would be slower than the lines.
    BelowOne,
}

impl fmt::Display for SpeedupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRational(text) => {
                write!(f, "`{text}` is not a rational number: write it like \"1\", \"1.2\" or \"6/5\"")
            }
            Self::OutOfRange => f.write_str("a speedup is a fraction of whole numbers from 1 to 1000000000"),
            Self::BelowOne => f.write_str("a speedup must be at least 1"),
        }
    }
}

impl core::error::Error for SpeedupError {}

impl Speedup {
    /// One phase in each slot: the crossbar is as fast as a line.
    pub const ONE: Self = Self { phases: NonZeroU32::MIN, slots: NonZeroU32::MIN };

    /// A speedup of `phases / slots`.
    ///
    /// # Errors
    /// When it is less than 1, or one of the numbers is zero or more than 1 000 000 000.
    pub fn new(phases: u64, slots: u64) -> Result<Self, SpeedupError> {
        if slots == 0 || phases > MAX_TERM || slots > MAX_TERM {
            return Err(SpeedupError::OutOfRange);
        }
        if phases < slots {
            return Err(SpeedupError::BelowOne);
        }
        let divisor = greatest_common_divisor(phases, slots);
        let term = |term: u64| NonZeroU32::new((term / divisor) as u32).ok_or(SpeedupError::OutOfRange);
        Ok(Self { phases: term(phases)?, slots: term(slots)? })
    }

    /// The numerator p in lowest terms.
    #[must_use]
    pub fn phases(self) -> u32 {
        self.phases.get()
    }

    /// The denominator q in lowest terms.
    #[must_use]
    pub fn slots(self) -> u32 {
        self.slots.get()
    }

    /// Checks that the speedup is of use with this many `ports`: with as many phases in a slot as there are ports,
    /// every packet crosses at once.
    ///
    /// # Errors
    /// When it is more than `ports`.
    pub fn check(self, ports: usize) -> Result<(), ParameterError> {
        let holds = u64::from(self.phases()) <= ports as u64 * u64::from(self.slots());
        require(holds, "speedup", "be at most the number of ports")
    }

    /// The number of phases in slot `slot`, counted from 0: 1, 1, 1, 1, 2 and so on for 6/5.
    #[must_use]
    pub fn phases_in_slot(self, slot: u64) -> u64 {
        let phases_before = |slot: u128| slot * u128::from(self.phases()) / u128::from(self.slots());
        (phases_before(u128::from(slot) + 1) - phases_before(u128::from(slot))) as u64
    }

    /// The time of phase `phase`, in picoseconds from the start, if a slot lasts `slot`: phase m at m·slot·q/p,
    /// rounded down once and not from phase to phase. At most `u64::MAX`.
    #[must_use]
    pub fn phase_time(self, slot: Span, phase: u64) -> u64 {
        let slots = u128::from(phase) * u128::from(self.slots());
        let exact = slots.checked_mul(u128::from(slot.picoseconds())).map(|time| time / u128::from(self.phases()));
        exact.and_then(|time| u64::try_from(time).ok()).unwrap_or(u64::MAX)
    }

    /// The first phase that happens at `time` or later, if a slot lasts `slot`.
    ///
    /// # Panics
    /// If `slot` is zero.
    #[must_use]
    pub fn first_phase_at_or_after(self, slot: Span, time: Time) -> u64 {
        // floor(m·T·q/p) >= t for a whole number t just when m·T·q/p >= t.
        let period = u128::from(slot.picoseconds()) * u128::from(self.slots());
        let phase = (u128::from(time.picoseconds()) * u128::from(self.phases())).div_ceil(period);
        u64::try_from(phase).unwrap_or(u64::MAX)
    }
}

impl Default for Speedup {
    fn default() -> Self {
        Self::ONE
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl FromStr for Speedup {
    type Err = SpeedupError;

    fn from_str(text: &str) -> Result<Self, SpeedupError> {
        let not_rational = || SpeedupError::NotRational(text.trim().into());
        if let Some((phases, slots)) = text.split_once('/') {
            let whole = |digits| whole(digits).ok_or_else(not_rational)?.ok_or(SpeedupError::OutOfRange);
            return Self::new(whole(phases.trim_end())?, whole(slots.trim_start())?);
        }
        let (units, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        // Zeros at the end say nothing, and would only make the denominator large.
        let decimals = decimals.trim_end_matches('0');
        let digits = whole(&format!("{units}{decimals}")).ok_or_else(not_rational)?;
        let denominator = 10_u64.checked_pow(decimals.len() as u32);
        match (digits, denominator) {
            _ if units.is_empty() => Err(not_rational()),
            (Some(digits), Some(denominator)) => Self::new(digits, denominator),
            _ => Err(SpeedupError::OutOfRange),
        }
    }
}

/// The whole number that `digits` represent: `None` if they are none, `Some(None)` if it is too large.
fn whole(digits: &str) -> Option<Option<u64>> {
    let digits = digits.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())
}

impl fmt::Display for Speedup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.slots() == 1 { write!(f, "{}", self.phases) } else { write!(f, "{}/{}", self.phases, self.slots) }
    }
}

#[cfg(feature = "config")]
mod config {
    use alloc::borrow::Cow;
    use alloc::format;
    use alloc::string::ToString;
    use core::fmt;

    use serde::de::{Deserialize, Deserializer, Error, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::Speedup;

    impl<'de> Deserialize<'de> for Speedup {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(SpeedupVisitor)
        }
    }

    struct SpeedupVisitor;

    impl Visitor<'_> for SpeedupVisitor {
        type Value = Speedup;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a speedup such as 2, 1.2 or \"6/5\"")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Speedup, E> {
            text.parse().map_err(E::custom)
        }

        fn visit_u64<E: Error>(self, whole: u64) -> Result<Speedup, E> {
            Speedup::new(whole, 1).map_err(E::custom)
        }

        fn visit_i64<E: Error>(self, whole: i64) -> Result<Speedup, E> {
            Speedup::new(u64::try_from(whole).unwrap_or(0), 1).map_err(E::custom)
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<Speedup, E> {
            // The shortest decimal number that reads as this float is the one that was written.
            self.visit_str(&format!("{number}"))
        }
    }

    impl Serialize for Speedup {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(&self.to_string())
        }
    }

    impl schemars::JsonSchema for Speedup {
        fn schema_name() -> Cow<'static, str> {
            "Speedup".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "anyOf": [
                    { "type": "number", "minimum": 1 },
                    { "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]*|\s*/\s*[0-9]+)?\s*$" },
                ],
                "description": "A rational number of at least 1: 2, 1.2 or \"6/5\".",
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn speedup(text: &str) -> Speedup {
        text.parse().unwrap()
    }

    #[test]
    fn six_fifths_is_one_phase_and_every_fifth_slot_two() {
        for text in ["6/5", "1.2", "12 / 10", " 1.20 "] {
            let phases: Vec<u64> = (0..10).map(|slot| speedup(text).phases_in_slot(slot)).collect();
            assert_eq!(phases, [1, 1, 1, 1, 2, 1, 1, 1, 1, 2], "{text}");
        }
        assert_eq!((0..4).map(|slot| speedup("3/2").phases_in_slot(slot)).collect::<Vec<_>>(), [1, 2, 1, 2]);
        assert_eq!((Speedup::ONE.phases_in_slot(9), speedup("8").phases_in_slot(u64::MAX)), (1, 8));
    }

    #[test]
    fn phases_are_rounded_once_and_not_summed_up() {
        // 1000 B at 2.5 Gb/s: 3.2 us. A phase lasts 2 666 666.67 ps.
        let slot = Span::from_picoseconds(3_200_000);
        let times: Vec<u64> = (0..7).map(|phase| speedup("6/5").phase_time(slot, phase)).collect();
        assert_eq!(times, [0, 2_666_666, 5_333_333, 8_000_000, 10_666_666, 13_333_333, 16_000_000]);
        // Three times as many phases later, to the picosecond.
        assert_eq!(speedup("6/5").phase_time(slot, 3_000_000_000), 8_000_000_000_000_000);
        assert_eq!(speedup("6/5").phase_time(slot, u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn the_first_phase_at_or_after_is_the_first(
            slots in 1_u64..1000, more in 0_u64..1000, slot in 1_u64..10_000_000_000, time in 0_u64..1 << 60,
        ) {
            let (speedup, slot) = (Speedup::new(slots + more, slots).unwrap(), Span::from_picoseconds(slot));
            let phase = speedup.first_phase_at_or_after(slot, Time::from_picoseconds(time));
            prop_assert!(speedup.phase_time(slot, phase) >= time);
            prop_assert!(phase == 0 || speedup.phase_time(slot, phase - 1) < time);
        }

        #[test]
        fn texts_read_as_written(slots in 1_u64..=1_000_000_000, phases in 1_u64..=1_000_000_000) {
            if let Ok(speedup) = Speedup::new(phases, slots) {
                prop_assert_eq!(speedup.to_string().parse(), Ok(speedup));
            } else {
                prop_assert!(phases < slots);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9./ ]{0,30}|\\PC{0,12}") {
            let _ = text.parse::<Speedup>();
        }
    }

    #[test]
    fn what_is_no_speedup_is_refused_with_a_reason() {
        for text in ["", "fast", "1,2", "-1", "1e3", "6/", "/5", "1.2.3", ".5", "1.5/2", "+1", "inf"] {
            assert_eq!(text.parse::<Speedup>(), Err(SpeedupError::NotRational(text.into())), "{text}");
        }
        assert_eq!("0.9".parse::<Speedup>(), Err(SpeedupError::BelowOne));
        assert_eq!("4/5".parse::<Speedup>(), Err(SpeedupError::BelowOne));
        for text in ["1/0", "1000000001", "1.00000000000000000000000001", "99999999999999999999999"] {
            assert_eq!(text.parse::<Speedup>(), Err(SpeedupError::OutOfRange), "{text}");
        }
        assert_eq!(speedup("8").check(8), Ok(()));
        assert_eq!(speedup("8.1").check(8).unwrap_err().to_string(), "`speedup` must be at most the number of ports");
    }
    #[test]
    fn terms_are_the_lowest_and_at_most_a_thousand_million() {
        for (phases, slots, lowest) in [(6, 4, (3, 2)), (1_000_000_000, 1_000_000_000, (1, 1)), (14, 7, (2, 1))] {
            let speedup = Speedup::new(phases, slots).unwrap();
            assert_eq!((speedup.phases(), speedup.slots()), lowest);
        }
        for (phases, slots) in [(1_000_000_001, 1), (1_000_000_001, 1_000_000_001), (1, 0)] {
            assert!(matches!(Speedup::new(phases, slots), Err(SpeedupError::OutOfRange)), "{phases}/{slots}");
        }
    }

    #[test]
    fn a_speedup_of_the_number_of_ports_is_of_use_and_more_is_not() {
        for (text, ports, holds) in
            [("4", 4, true), ("5", 4, false), ("9/2", 4, false), ("5/2", 3, true), ("7/2", 3, false)]
        {
            assert_eq!(speedup(text).check(ports).is_ok(), holds, "{text} with {ports} ports");
        }
    }
}
