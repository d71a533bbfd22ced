//! A queue over time: means, extremes and counts for each of equal intervals.
//!
//! A capture is read once and its length is not known before. The interval is short at first. Whenever there are
//! [`MOST_ROWS`] of them, twos and then fives are merged, so the interval stays a round number. There are a few hundred
//! rows whether the capture lasts a millisecond or a day.

use forebay_qdisc::{Backlog, Rate, Span, Time};
use forebay_records::Series;

/// This many intervals are kept at most where nothing was asked for. Can be divided by the factors that follow.
const MOST_ROWS: usize = 2_000;
/// How many intervals become one.
const FACTORS: [usize; 2] = [2, 5];
const FIRST_INTERVAL: Span = Span::from_microseconds(1);
/// This many intervals are kept at most if their length was asked for.
pub const MOST_ROWS_ASKED_FOR: usize = 1_000_000;

/// The counters of one interval. All of it can be added up.
#[derive(Clone, Copy, Default)]
struct Row {
    /// Packets waiting, integrated over time.
    packet_ps: u128,
    /// Bytes waiting, integrated over time.
    byte_ps: u128,
    length_max_packets: u64,
    arrived_bytes: u64,
    sent_packets: u64,
    /// Time for which a packet was in transmission.
    busy_ps: u64,
    delay_ps: u128,
    delay_max_ps: u64,
    dropped: u64,
    marked: u64,
}

impl Row {
    fn add(&mut self, later: &Self) {
        self.packet_ps += later.packet_ps;
        self.byte_ps += later.byte_ps;
        self.length_max_packets = self.length_max_packets.max(later.length_max_packets);
        self.arrived_bytes += later.arrived_bytes;
        self.sent_packets += later.sent_packets;
        self.busy_ps += later.busy_ps;
        self.delay_ps += later.delay_ps;
        self.delay_max_ps = self.delay_max_ps.max(later.delay_max_ps);
        self.dropped += later.dropped;
        self.marked += later.marked;
    }
}

/// The gauges that a discipline has at one time.
type Gauges<'a> = dyn Fn(&mut dyn FnMut(&'static str, f64)) + 'a;

/// The series of one queue.
pub struct SeriesRecord {
    /// Rate of the line.
    rate: Rate,
    interval: Span,
    /// Which of the factors comes next; `None` if the interval is what was asked for.
    next_factor: Option<usize>,
    rows: Vec<Row>,
    /// The interval that has not ended.
    row: Row,
    /// Up to when the queue's length has been integrated.
    now: Time,
    /// When the interval ends.
    end: Time,
    /// The discipline's gauges at the end of each interval.
    gauges: Vec<(&'static str, Vec<f64>)>,
}

impl SeriesRecord {
    /// Nothing so far. Without an interval, one is chosen that fits.
    pub fn new(interval: Option<Span>, rate: Rate) -> Self {
        let next_factor = if interval.is_some() { None } else { Some(0) };
        let interval = interval.unwrap_or(FIRST_INTERVAL);
        let (rows, gauges) = (Vec::new(), Vec::new());
        let end = Time::ZERO.saturating_add(interval);
        Self { rate, interval, next_factor, rows, row: Row::default(), now: Time::ZERO, end, gauges }
    }

    /// Whether there are more intervals than can be kept.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= MOST_ROWS_ASKED_FOR
    }

    /// Advances the clock to `now`. The queue held `backlog` since the last call.
    #[inline]
    pub fn advance(&mut self, now: Time, backlog: Backlog, gauges: &Gauges<'_>) {
        while self.end <= now && !self.is_full() {
            self.integrate(self.end, backlog);
            self.close(backlog, gauges);
        }
        self.integrate(now, backlog);
    }

    fn integrate(&mut self, to: Time, backlog: Backlog) {
        let picoseconds = u128::from(to.since(self.now).picoseconds());
        self.row.packet_ps += u128::from(backlog.packets) * picoseconds;
        self.row.byte_ps += u128::from(backlog.bytes) * picoseconds;
        self.now = to;
    }

    /// The interval is over.
    fn close(&mut self, backlog: Backlog, gauges: &Gauges<'_>) {
        let index = self.rows.len();
        self.rows.push(self.row);
        self.row = Row { length_max_packets: backlog.packets, ..Row::default() };
        gauges(&mut |name, value| {
            let column = self.gauges.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                self.gauges.push((name, Vec::new()));
                self.gauges.len() - 1
            });
            let values = &mut self.gauges[column].1;
            values.resize(index, f64::NAN);
            values.push(value);
        });
        if let Some(factor) = self.next_factor
            && self.rows.len() == MOST_ROWS
        {
            self.merge(FACTORS[factor]);
            self.next_factor = Some((factor + 1) % FACTORS.len());
        }
        self.end = self.end.saturating_add(self.interval);
    }

    fn merge(&mut self, factor: usize) {
        let sum = |rows: &[Row]| {
            rows.iter().fold(Row::default(), |mut sum, row| {
                sum.add(row);
                sum
            })
        };
        self.rows = self.rows.chunks(factor).map(sum).collect();
        for (_, values) in &mut self.gauges {
            values.resize(MOST_ROWS, f64::NAN);
            *values = values.iter().skip(factor - 1).step_by(factor).copied().collect();
        }
        self.interval = Span::from_picoseconds(self.interval.picoseconds() * factor as u64);
    }

    /// A packet of that length arrived.
    pub fn arrived(&mut self, len_bytes: u32) {
        self.row.arrived_bytes += u64::from(len_bytes);
    }

    /// The queue was seen to hold that many packets.
    pub fn seen(&mut self, packets: u64) {
        self.row.length_max_packets = self.row.length_max_packets.max(packets);
    }

    /// The last bit of a packet left.
    pub fn sent(&mut self, len_bytes: u32, delay: Span) {
        self.transmitted(self.rate.transmission_time(u64::from(len_bytes)));
        self.row.sent_packets += 1;
        self.row.delay_ps += u128::from(delay.picoseconds());
        self.row.delay_max_ps = self.row.delay_max_ps.max(delay.picoseconds());
    }

    /// A transmission of that length ends now. Each interval gets its part, so that none shows more than the line's
    /// rate, however short it is.
    fn transmitted(&mut self, transmission: Span) {
        let interval_ps = self.interval.picoseconds();
        let mut left_ps = transmission.picoseconds();
        let mut end_ps = self.now.picoseconds();
        let mut start_ps = interval_ps.saturating_mul(self.rows.len() as u64).min(end_ps);
        let part_ps = left_ps.min(end_ps - start_ps);
        self.row.busy_ps += part_ps;
        left_ps -= part_ps;
        for row in self.rows.iter_mut().rev() {
            if left_ps == 0 {
                break;
            }
            (end_ps, start_ps) = (start_ps, start_ps.saturating_sub(interval_ps));
            let part_ps = left_ps.min(end_ps - start_ps);
            row.busy_ps += part_ps;
            left_ps -= part_ps;
        }
    }

    /// A packet was dropped.
    pub fn dropped(&mut self) {
        self.row.dropped += 1;
    }

    /// A packet was marked.
    pub fn marked(&mut self) {
        self.row.marked += 1;
    }

    /// Mean length over all the time so far, in packets and in bytes.
    pub fn length_means(&self) -> (f64, f64) {
        let mut sum = self.row;
        self.rows.iter().for_each(|row| sum.add(row));
        let picoseconds = self.now.picoseconds() as f64;
        (sum.packet_ps as f64 / picoseconds, sum.byte_ps as f64 / picoseconds)
    }

    /// The series of the queue named `name`, at the end. The rest after the last whole interval is a separate interval,
    /// or part of the one before if it is shorter than a half. Means and rates are over its real length.
    pub fn series(&mut self, name: &str, gauges: &Gauges<'_>) -> Vec<Series> {
        let start = Time::ZERO
            .saturating_add(Span::from_picoseconds(self.interval.picoseconds().saturating_mul(self.rows.len() as u64)));
        let (rest_ps, interval_ps) = (self.now.since(start).picoseconds(), self.interval.picoseconds());
        let last_ps = match self.rows.last_mut() {
            // One packet in a short rest would look like a high rate.
            Some(last) if rest_ps < interval_ps / 2 => {
                last.add(&std::mem::take(&mut self.row));
                interval_ps + rest_ps
            }
            _ => {
                self.next_factor = None;
                self.close(Backlog::default(), gauges);
                rest_ps
            }
        };
        let count = self.rows.len();
        let lasted_ps = |index: usize| if index + 1 == count { last_ps } else { interval_ps } as f64;
        let line_bps = self.rate.bits_per_second() as f64;
        let series = |quantity: &str, values: Vec<f64>| Series {
            kind: "queue",
            name: name.to_owned(),
            quantity: quantity.to_owned(),
            start_s: 0.0,
            interval_s: self.interval.seconds(),
            values,
            states: Vec::new(),
        };
        let of_rows = |quantity: &str, value: &dyn Fn(&Row, f64) -> f64| {
            series(quantity, self.rows.iter().enumerate().map(|(index, row)| value(row, lasted_ps(index))).collect())
        };
        let rate = |bytes: u64, lasted_ps: f64| bytes as f64 * 8e12 / lasted_ps;
        let mut all = vec![
            of_rows("length_mean_packets", &|row, lasted_ps| row.packet_ps as f64 / lasted_ps),
            of_rows("length_max_packets", &|row, _| row.length_max_packets as f64),
            of_rows("length_mean_bytes", &|row, lasted_ps| row.byte_ps as f64 / lasted_ps),
            of_rows("delay_mean_s", &|row, _| row.delay_ps as f64 / row.sent_packets as f64 * 1e-12),
            of_rows("delay_max_s", &|row, _| {
                if row.sent_packets > 0 { row.delay_max_ps as f64 * 1e-12 } else { f64::NAN }
            }),
            of_rows("offered_bps", &|row, lasted_ps| rate(row.arrived_bytes, lasted_ps)),
            of_rows("delivered_bps", &|row, lasted_ps| line_bps * row.busy_ps as f64 / lasted_ps),
            of_rows("packets_dropped", &|row, _| row.dropped as f64),
            of_rows("packets_marked", &|row, _| row.marked as f64),
        ];
        all.extend(self.gauges.iter().map(|(gauge, values)| {
            let mut values = values.clone();
            values.resize(count, f64::NAN);
            series(gauge, values)
        }));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(microseconds: u64) -> Time {
        Time::ZERO.saturating_add(Span::from_microseconds(microseconds))
    }

    fn values<'s>(series: &'s [Series], quantity: &str) -> &'s [f64] {
        &series.iter().find(|series| series.quantity == quantity).unwrap().values
    }

    #[test]
    fn lengths_are_means_over_time_and_counts_belong_to_their_interval() {
        let mut record = SeriesRecord::new(Some(Span::from_microseconds(10)), Rate::megabits(100));
        let gauge = |visit: &mut dyn FnMut(&'static str, f64)| visit("avg", 7.0);
        let backlog = |packets| Backlog { packets, bytes: packets * 100 };
        record.advance(at(4), backlog(0), &gauge);
        record.seen(3);
        record.dropped();
        record.arrived(125);
        // Three packets from 4 to 14 µs, one until the end at 25 µs.
        record.advance(at(14), backlog(3), &gauge);
        record.sent(125, Span::from_microseconds(10));
        record.advance(at(25), backlog(1), &gauge);
        let (packets, bytes) = record.length_means();
        assert!((packets - 41.0 / 25.0).abs() < 1e-12 && (bytes - 4_100.0 / 25.0).abs() < 1e-9);
        let series = record.series("dbl", &gauge);
        assert_eq!(values(&series, "length_mean_packets"), [1.8, 1.8, 1.0]);
        assert_eq!(values(&series, "length_max_packets"), [3.0, 3.0, 1.0]);
        assert_eq!(values(&series, "packets_dropped"), [1.0, 0.0, 0.0]);
        // 1000 bits in 10 µs.
        assert_eq!(values(&series, "offered_bps"), [1e8, 0.0, 0.0]);
        // It was sent from 4 to 14 µs.
        assert_eq!(values(&series, "delivered_bps"), [6e7, 4e7, 0.0]);
        assert!((values(&series, "delay_mean_s")[1] - 1e-5).abs() < 1e-15);
        assert!(values(&series, "delay_mean_s")[0].is_nan() && values(&series, "delay_max_s")[2].is_nan());
        assert_eq!(values(&series, "avg"), [7.0, 7.0, 7.0]);
        assert!(series.iter().all(|series| series.name == "dbl" && series.interval_s == 1e-5));
    }

    /// A packet of 125 bytes, of 10 µs each, one after the other from time zero, in intervals of 100 µs.
    fn back_to_back(packets: u64) -> Vec<Series> {
        let mut record = SeriesRecord::new(Some(Span::from_microseconds(100)), Rate::megabits(100));
        for packet in 1..=packets {
            record.advance(at(10 * packet), Backlog::default(), &|_| {});
            record.arrived(125);
            record.sent(125, Span::from_microseconds(10));
            record.dropped();
        }
        record.series("busy", &|_| {})
    }

    #[test]
    fn the_last_interval_is_measured_over_its_real_length() {
        for packets in 1..=40 {
            let series = back_to_back(packets);
            let delivered = values(&series, "delivered_bps");
            assert!(delivered.iter().all(|bps| (bps - 1e8).abs() < 1.0), "{packets} packets: {delivered:?}");
            // At least half of an interval, unless there is no other.
            let whole = packets / 10 + u64::from(packets % 10 >= 5 || packets < 10);
            assert_eq!(delivered.len() as u64, whole, "{packets} packets");
            // Nothing is lost, not even at the end of an interval that is the end of all.
            assert_eq!(values(&series, "packets_dropped").iter().sum::<f64>(), packets as f64);
            assert!(values(&series, "delay_mean_s").iter().all(|delay_s| (delay_s - 1e-5).abs() < 1e-12));
        }
    }

    #[test]
    fn no_interval_shows_more_than_the_rate_of_the_line() {
        // 12.5 kB take 1 ms, in intervals of 1 to 700 µs.
        for microseconds in (1..700).step_by(37) {
            let mut record = SeriesRecord::new(Some(Span::from_microseconds(microseconds)), Rate::megabits(100));
            for packet in 1..=5 {
                record.advance(at(1_700 * packet), Backlog::default(), &|_| {});
                record.sent(12_500, Span::from_milliseconds(1));
            }
            let series = record.series("line", &|_| {});
            let delivered = values(&series, "delivered_bps");
            assert!(delivered.iter().all(|&bps| bps <= 1e8 * (1.0 + 1e-12)), "{microseconds} µs: {delivered:?}");
            let rest_s = 8_500e-6 - microseconds as f64 * 1e-6 * (delivered.len() - 1) as f64;
            let (last, others) = delivered.split_last().unwrap();
            let bits = others.iter().sum::<f64>() * microseconds as f64 * 1e-6 + last * rest_s;
            assert!((bits - 5.0 * 1e5).abs() < 1e-3, "{microseconds} µs: {bits} bits");
        }
    }

    #[test]
    fn intervals_grow_with_the_capture_and_lose_nothing() {
        let mut record = SeriesRecord::new(None, Rate::megabits(100));
        // A drop each 7 µs for 10 s, one packet waiting all the time.
        let mut drops = 0;
        for microseconds in (0..10_000_000).step_by(7) {
            record.advance(at(microseconds), Backlog { packets: 1, bytes: 1 }, &|visit| visit("clock", 1.0));
            record.dropped();
            drops += 1;
        }
        let series = record.series("red", &|_| {});
        let dropped = values(&series, "packets_dropped");
        assert_eq!(dropped.iter().sum::<f64>(), f64::from(drops));
        assert_eq!(series[0].interval_s, 0.01);
        assert_eq!(dropped.len(), 1_000);
        assert!(values(&series, "length_mean_packets").iter().all(|&mean| (mean - 1.0).abs() < 1e-9));
        assert_eq!(values(&series, "clock").len(), 1_000);
    }
}
