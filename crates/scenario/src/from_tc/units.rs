//! Quantities as `tc` reads them (iproute2, `lib/utils_math.c` and `tc/tc_util.c`), exactly: `tc` cuts off what is
//! less than a unit of the kernel, and so does this.

use forebay_units::{Rate, Span};

/// A decimal number and the text behind it.
struct Decimal<'t> {
    digits: u128,
    /// Digits behind the point.
    fraction: u32,
    suffix: &'t str,
}

/// More digits say nothing, and would not fit.
const MOST_DIGITS: usize = 20;

impl<'t> Decimal<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits: String = [whole, fraction].concat();
        if digits.is_empty() || digits.len() > MOST_DIGITS || fraction.contains('.') {
            return None;
        }
        Some(Self { digits: digits.parse().ok()?, fraction: fraction.len() as u32, suffix })
    }

    /// The number times `worth`, without what is behind the point.
    fn times(&self, worth: u64) -> Option<u64> {
        let scaled = self.digits.checked_mul(u128::from(worth))?;
        u64::try_from(scaled / 10_u128.pow(self.fraction)).ok()
    }
}

fn worth<'u>(units: &[(&'u [&'u str], u64)], suffix: &str) -> Option<u64> {
    units.iter().find(|(names, _)| names.iter().any(|name| name.eq_ignore_ascii_case(suffix))).map(|(_, worth)| *worth)
}

const RATES: [(&[&str], u64); 18] = [
    (&["bit", ""], 1),
    (&["kibit"], 1 << 10),
    (&["kbit"], 1000),
    (&["mibit"], 1 << 20),
    (&["mbit"], 1_000_000),
    (&["gibit"], 1 << 30),
    (&["gbit"], 1_000_000_000),
    (&["tibit"], 1 << 40),
    (&["tbit"], 1_000_000_000_000),
    // Bytes a second.
    (&["bps"], 8),
    (&["kibps"], 8 << 10),
    (&["kbps"], 8000),
    (&["mibps"], 8 << 20),
    (&["mbps"], 8_000_000),
    (&["gibps"], 8 << 30),
    (&["gbps"], 8_000_000_000),
    (&["tibps"], 8 << 40),
    (&["tbps"], 8_000_000_000_000),
];

/// A rate: bits a second, or with `bps` bytes.
pub(super) fn rate(text: &str) -> Option<Rate> {
    let decimal = Decimal::read(text)?;
    Rate::new(decimal.times(worth(&RATES, decimal.suffix)?)?)
}

const SIZES: [(&[&str], u64); 4] =
    [(&["b", ""], 8), (&["k", "kb"], 8 << 10), (&["m", "mb"], 8 << 20), (&["g", "gb"], 8 << 30)];
const SIZES_IN_BITS: [(&[&str], u64); 3] = [(&["kbit"], 1 << 10), (&["mbit"], 1 << 20), (&["gbit"], 1 << 30)];

/// A size in bytes, in which k is 1024.
pub(super) fn size(text: &str) -> Option<u64> {
    let decimal = Decimal::read(text)?;
    let bits = worth(&SIZES, decimal.suffix).or_else(|| worth(&SIZES_IN_BITS, decimal.suffix))?;
    decimal.times(bits).map(|bits| bits / 8)
}

/// A size, and perhaps the size of a cell behind a slash, which the kernel no longer uses.
pub(super) fn size_and_cell(text: &str) -> Option<u64> {
    size(text.split_once('/').map_or(text, |(size, _)| size))
}

const SECONDS: [(&[&str], u64); 3] =
    [(&["s", "sec", "secs"], 1_000_000_000), (&["ms", "msec", "msecs"], 1_000_000), (&["us", "usec", "usecs"], 1000)];

/// A time in whole microseconds; a bare number is one of them.
pub(super) fn time(text: &str) -> Option<Span> {
    let decimal = Decimal::read(text)?;
    let nanoseconds = if decimal.suffix.is_empty() { 1000 } else { worth(&SECONDS, decimal.suffix)? };
    let picoseconds = (decimal.times(nanoseconds)? / 1000).checked_mul(1_000_000)?;
    Some(Span::from_picoseconds(picoseconds))
}

/// A time in whole nanoseconds, of netem's slots; a bare number is one of them.
pub(super) fn exact_time(text: &str) -> Option<Span> {
    let decimal = Decimal::read(text)?;
    let nanoseconds = match decimal.suffix {
        "" => 1,
        suffix if ["ns", "nsec", "nsecs"].iter().any(|name| name.eq_ignore_ascii_case(suffix)) => 1,
        suffix => worth(&SECONDS, suffix)?,
    };
    Some(Span::from_picoseconds(decimal.times(nanoseconds)?.checked_mul(1000)?))
}

/// A time in nanoseconds without a unit, of taprio.
pub(super) fn nanoseconds(text: &str) -> Option<Span> {
    Some(Span::from_picoseconds(integer(text)?.checked_mul(1000)?))
}

/// A whole number; hexadecimal behind `0x`.
pub(super) fn integer(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None if text.bytes().all(|digit| digit.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

/// A hexadecimal number, with or without `0x`.
pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hexadecimal.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// A number of packets, with `p` or `packets` behind it in output.
pub(super) fn packets(text: &str) -> Option<u64> {
    let number = ["packets", "packet", "pkts", "pkt", "p"].iter().find_map(|suffix| text.strip_suffix(suffix));
    integer(number.unwrap_or(text))
}

/// A finite number from 0.
pub(super) fn number(text: &str) -> Option<f64> {
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    begins.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

/// The part that a percentage is, with or without its sign: at most 1.
pub(super) fn percent(text: &str) -> Option<f64> {
    number(text.strip_suffix('%').unwrap_or(text)).map(|percent| percent / 100.0).filter(|part| *part <= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_and_with_bps_bytes() {
        let bits = ["100", "1.5mbit", "1Kibit", "10Kbit", "2MBps", "1kibps", "1gbit", "0.5bit"].map(rate);
        let expected = [100, 1_500_000, 1024, 10_000, 16_000_000, 8192, 1_000_000_000].map(Rate::new);
        assert_eq!(bits[..7], expected);
        assert_eq!(bits[7], None);
        assert_eq!(
            ["mbit", "1mb", "-1mbit", "1.2.3mbit", "1e6", "10%", "999999999999999999999bit"].map(rate),
            [None; 7]
        );
    }

    #[test]
    fn sizes_count_in_powers_of_1024() {
        let bytes = ["100", "1600b", "32kb", "32K", "1Mb", "15k", "32kbit", "1.5k", "1g"].map(size);
        let expected = [100, 1600, 32_768, 32_768, 1 << 20, 15_360, 4096, 1536, 1 << 30].map(Some);
        assert_eq!(bytes, expected);
        assert_eq!(["1tb", "kb", "1 kb"].map(size), [None; 3]);
        assert_eq!(size_and_cell("1600b/8"), Some(1600));
    }

    #[test]
    fn times_are_cut_to_microseconds_and_those_of_slots_to_nanoseconds() {
        let spans = ["5ms", "5000", "1.5s", "550.9us", "2msec"].map(time);
        assert_eq!(spans, [5_000, 5_000, 1_500_000, 550, 2_000].map(|us| Some(Span::from_microseconds(us))));
        let spans = ["550ns", "5ms", "1.5us", "7"].map(exact_time);
        assert_eq!(spans, [550, 5_000_000, 1500, 7].map(|ns| Some(Span::from_nanoseconds(ns))));
        assert_eq!(["5parsecs", "550ns", "ms"].map(time), [None; 3]);
    }

    #[test]
    fn other_numbers() {
        assert_eq!(["10", "0x1f", "0xg", "-1", "1.5"].map(integer), [Some(10), Some(31), None, None, None]);
        assert_eq!(["1000p", "5packets", "7", "p"].map(packets)[..3], [1000, 5, 7].map(Some));
        assert_eq!(
            ["0.01%", "1", "100%", "101%", "nan"].map(percent),
            [Some(0.0001), Some(0.01), Some(1.0), None, None]
        );
        assert_eq!(["03", "0x3", "ff"].map(hexadecimal), [3, 3, 255].map(Some));
    }
}
