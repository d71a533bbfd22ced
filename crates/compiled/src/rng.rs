//! The random stream of the law that is running.

use std::cell::Cell;

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

thread_local! {
    /// The stream of the law that runs on this thread, while it does.
    static STREAM: Cell<Option<Pcg64Mcg>> = const { Cell::new(None) };
}

/// Runs `call` with `stream` as the one that [`draw`] draws from.
pub(crate) fn with_stream<T>(stream: &mut Pcg64Mcg, call: impl FnOnce() -> T) -> T {
    STREAM.set(Some(stream.clone()));
    let result = call();
    if let Some(drawn) = STREAM.take() {
        *stream = drawn;
    }
    result
}

/// The next number of the running law's stream: uniform in [0, 1) with 53 bits, as `forebay_units::uniform` has it. NaN
/// where no law is running.
extern "C" fn draw() -> f64 {
    // A thread that is ending has no stream any more.
    let stream = STREAM.try_with(|stream| {
        let mut running = stream.take()?;
        let bits = running.next_u64();
        stream.set(Some(running));
        Some(bits)
    });
    stream.ok().flatten().map_or(f64::NAN, |bits| (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64))
}

/// The address of the function that draws: a C function without arguments that returns a double.
#[must_use]
pub fn draw_address() -> usize {
    draw as extern "C" fn() -> f64 as usize
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn a_law_draws_from_its_own_stream_and_leaves_it_where_it_stopped() {
        let (mut stream, mut same) = (Pcg64Mcg::seed_from_u64(1), Pcg64Mcg::seed_from_u64(1));
        let drawn = with_stream(&mut stream, || [draw(), draw()]);
        let expected = [same.next_u64(), same.next_u64()].map(|bits| (bits >> 11) as f64 / (1_u64 << 53) as f64);
        assert_eq!(drawn, expected);
        assert_eq!(stream.next_u64(), same.next_u64());
    }

    #[test]
    fn outside_a_call_there_are_no_random_numbers() {
        assert!(draw().is_nan());
    }
}
