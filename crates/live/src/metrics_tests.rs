//! Metrics over a real socket, read by a strict little parser; and the dashboard that is drawn from them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;
use crate::control::Direction;
use crate::snapshot::BUCKETS_S;
use crate::test_direction::{TestClock, TestDirection, eventually, frame};

struct Running {
    clock: Arc<TestClock>,
    directions: Vec<TestDirection>,
    handle: MetricsHandle,
    thread: JoinHandle<()>,
}

impl Running {
    fn start() -> Self {
        let clock = Arc::new(TestClock::default());
        let directions: Vec<_> = Direction::ALL.into_iter().map(TestDirection::start).collect();
        let commands = directions.iter().map(TestDirection::commands).collect();
        let clock_too = Arc::clone(&clock) as Arc<dyn Clock>;
        let (metrics, handle) = Metrics::bind("127.0.0.1:0".parse().unwrap(), commands, clock_too).unwrap();
        let thread = thread::spawn(move || metrics.run());
        Self { clock, directions, handle, thread }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.handle.address()).unwrap()
    }

    /// Status line and body.
    fn ask(&self, request: &str) -> (String, String) {
        let mut socket = self.connect();
        socket.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        socket.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn end(self) {
        self.handle.stop();
        self.thread.join().unwrap();
        self.directions.into_iter().for_each(TestDirection::end);
    }
}

type Labels = BTreeMap<String, String>;

/// A metric: its type, and its samples by name and labels.
#[derive(Default, Debug)]
struct Family {
    kind: String,
    samples: BTreeMap<(String, Labels), f64>,
}

/// Reads labels behind `{`. Returns what follows `}`.
fn labels(mut text: &str) -> (Labels, &str) {
    let mut labels = Labels::new();
    loop {
        let (name, rest) = text.split_once("=\"").expect("a label has a value in quotes");
        assert!(!name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_'), "{name}");
        let (mut value, mut letters) = (String::new(), rest.char_indices());
        let end = loop {
            match letters.next().expect("a value ends") {
                (at, '"') => break at,
                (_, '\\') => value.push(match letters.next().expect("something is escaped").1 {
                    'n' => '\n',
                    letter @ ('\\' | '"') => letter,
                    other => panic!("\\{other} escapes nothing"),
                }),
                (_, letter) => value.push(letter),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "label {name} twice");
        text = &rest[end + 1..];
        if let Some(rest) = text.strip_prefix('}') {
            return (labels, rest);
        }
        text = text.strip_prefix(',').expect("a comma between labels");
    }
}

/// Reads the format, and is strict where scrapers are.
fn parse(text: &str) -> BTreeMap<String, Family> {
    assert!(text.ends_with('\n'));
    let mut families = BTreeMap::<String, Family>::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (name, help) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')).expect(line);
        assert!(!help.is_empty() && name.starts_with("forebay_"));
        let (kind_of, kind) = lines
            .next()
            .and_then(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
            .expect("a type behind the help");
        assert_eq!(kind_of, name);
        assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{kind}");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        let mut family = Family { kind: kind.to_owned(), samples: BTreeMap::new() };
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let end = line.find(['{', ' ']).unwrap();
            let (sample, rest) = line.split_at(end);
            let suffix = sample.strip_prefix(name).expect("samples of a metric stand together");
            let suffixes: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.contains(&suffix), "{sample}");
            let (labels, value) = rest.strip_prefix('{').map_or_else(|| (Labels::new(), rest), labels);
            let value = match value.strip_prefix(' ').unwrap() {
                "+Inf" => f64::INFINITY,
                value => value.parse().unwrap(),
            };
            assert!(family.samples.insert((sample.to_owned(), labels), value).is_none(), "{line} twice");
        }
        assert!(families.insert(name.to_owned(), family).is_none(), "{name} twice");
    }
    families
}

fn scrape(running: &Running) -> BTreeMap<String, Family> {
    let (head, body) = running.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
    parse(&body)
}

/// After ten arrivals at once, of which one is on the line and three are queued, and one a second later.
fn busy() -> Running {
    let running = Running::start();
    running.directions[0].arrive(Time::ZERO, &frame(7, 100), 10);
    running.directions[0].arrive(Time::from_picoseconds(1_000_000_000_000), &frame(7, 100), 1);
    eventually("the arrivals", || running.directions[0].snapshot().received.packets == 11);
    running
}

#[test]
fn counters_are_those_of_the_port() {
    let running = busy();
    let families = scrape(&running);
    let of = |name: &str, labels: &[(&str, &str)]| {
        let all = [("direction", "outbound")].iter().chain(labels);
        let labels = all.map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
        let family = name.trim_end_matches("_bucket").trim_end_matches("_sum").trim_end_matches("_count");
        families[family].samples[&(name.to_owned(), labels)]
    };
    assert_eq!(of("forebay_received_packets_total", &[]), 11.0);
    assert_eq!(of("forebay_received_bytes_total", &[]), 11.0 * 124.0);
    assert_eq!(of("forebay_sent_packets_total", &[]), 4.0);
    assert_eq!(of("forebay_dropped_packets_total", &[("reason", "overflow")]), 6.0);
    assert_eq!(of("forebay_refused_packets_total", &[("reason", "no_buffer")]), 0.0);
    assert_eq!(of("forebay_marked_packets_total", &[("reason", "early")]), 0.0);
    assert_eq!(of("forebay_missed_packets_total", &[]), 7.0);
    assert_eq!((of("forebay_rate_bits_per_second", &[]), of("forebay_bypass", &[])), (8e6, 0.0));
    assert_eq!((of("forebay_buffers", &[]), of("forebay_buffers_in_use", &[])), (64.0, 1.0));
    let flow = ("flow", "UDP 10.0.0.1:7 > 10.0.0.2:9");
    assert_eq!((of("forebay_flow_packets", &[flow]), of("forebay_flow_dropped_packets", &[flow])), (11.0, 6.0));
    assert_eq!(of("forebay_shadow_received_packets_total", &[("shadow", "red")]), 11.0);
    assert!(of("forebay_shadow_queue_gauge", &[("shadow", "red"), ("gauge", "avg")]) >= 0.0);
    // 124 bytes take 0.124 ms: four packets, the last after 0.496 ms.
    assert_eq!(of("forebay_sojourn_seconds_count", &[]), 4.0);
    assert!((of("forebay_sojourn_seconds_sum", &[]) - 1.24e-3).abs() < 2e-5);
    assert_eq!(of("forebay_sojourn_seconds_bucket", &[("le", "0.0001")]), 0.0);
    assert_eq!(of("forebay_sojourn_seconds_bucket", &[("le", "0.0002")]), 1.0);
    assert_eq!(of("forebay_sojourn_seconds_bucket", &[("le", "0.001")]), 4.0);
    running.end();
}

#[test]
fn histograms_are_cumulative_and_complete() {
    let running = busy();
    for family in scrape(&running).values().filter(|family| family.kind == "histogram") {
        let mut buckets = BTreeMap::<Labels, Vec<(f64, f64)>>::new();
        let mut counts = BTreeMap::new();
        for ((name, labels), &value) in &family.samples {
            let mut labels = labels.clone();
            match labels.remove("le") {
                Some(le) => {
                    let bound = if le == "+Inf" { f64::INFINITY } else { le.parse().unwrap() };
                    buckets.entry(labels).or_default().push((bound, value));
                }
                None if name.ends_with("_count") => drop(counts.insert(labels, value)),
                None => {}
            }
        }
        assert!(!counts.is_empty() && counts.len() == buckets.len());
        for (labels, mut buckets) in buckets {
            buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert_eq!(buckets.len(), BUCKETS_S.len() + 1);
            assert!(buckets.is_sorted_by_key(|(_, count)| *count));
            assert_eq!(buckets.last(), Some(&(f64::INFINITY, counts[&labels])));
        }
    }
    running.end();
}

#[test]
fn labels_are_escaped() {
    let running = busy();
    let mut snapshot = running.directions[0].snapshot();
    let odd = "a \"quoted\" \\ back\nslash";
    snapshot.flows[0].flow = odd.to_owned();
    snapshot.gauges.insert("infinite", f64::INFINITY);
    snapshot.gauges.insert("undefined", f64::NAN);
    let families = parse(&render(&[snapshot]));
    let flows = &families["forebay_flow_bytes"].samples;
    assert_eq!(flows.keys().map(|(_, labels)| &*labels["flow"]).collect::<Vec<_>>(), [odd]);
    running.end();
}

#[test]
fn only_the_metrics_are_served() {
    let running = Running::start();
    for (request, status) in [
        ("GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200"),
        ("GET /metrics?x=1 HTTP/1.1\n\n", "HTTP/1.1 200"),
        ("GET /other HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
        ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
        ("nonsense\r\n\r\n", "HTTP/1.1 400"),
    ] {
        let (head, body) = running.ask(request);
        assert!(head.starts_with(status) && !body.is_empty(), "{request}: {head}");
    }
    let (head, body) = running.ask("HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && body.is_empty());
    running.end();
}

#[test]
fn a_scraper_that_dawdles_or_floods_is_sent_away() {
    let running = Running::start();
    let mut slow = running.connect();
    slow.write_all(b"GET /metrics").unwrap();
    thread::sleep(Duration::from_millis(50));
    running.clock.advance(Span::from_seconds(3));
    let mut nothing = Vec::new();
    assert_eq!(slow.read_to_end(&mut nothing).unwrap_or(0), 0);
    let mut flood = running.connect();
    let _ = flood.write_all(&[b'x'; MOST_REQUEST_BYTES + 3000]);
    let mut response = Vec::new();
    let _ = flood.read_to_end(&mut response);
    assert!(String::from_utf8_lossy(&response).starts_with("HTTP/1.1 431") || response.is_empty());
    assert!(!scrape(&running).is_empty());
    running.end();
}

#[test]
fn idle_connections_do_not_keep_a_scraper_out() {
    let running = Running::start();
    // The clock of this test does not move: none of them is ever too slow.
    let mut idle: Vec<_> = (0..130).map(|_| running.connect()).collect();
    for socket in &mut idle {
        let _ = socket.write_all(b"GET /metrics HTTP/1.1\r\n");
    }
    assert!(!scrape(&running).is_empty());
    // Those that were not pushed out are served when they ask.
    let last = idle.last_mut().unwrap();
    last.write_all(b"\r\n").unwrap();
    let mut response = String::new();
    last.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    running.end();
}

#[test]
fn a_scraper_that_takes_no_response_does_not_stop_the_others() {
    let running = Running::start();
    let mut deaf: Vec<_> = (0..MOST_CONNECTIONS).map(|_| running.connect()).collect();
    for socket in &mut deaf {
        socket.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    }
    assert!(!scrape(&running).is_empty());
    running.end();
}

#[test]
fn only_loopback_addresses_that_are_free_are_taken() {
    let clock = || Arc::new(TestClock::default()) as Arc<dyn Clock>;
    let error = Metrics::bind("0.0.0.0:9779".parse().unwrap(), Vec::new(), clock()).err().unwrap();
    assert!(error.contains("not a loopback address") && error.contains("127.0.0.1:9779 or [::1]:9779"), "{error}");
    let (_metrics, handle) = Metrics::bind("127.0.0.1:0".parse().unwrap(), Vec::new(), clock()).unwrap();
    let error = Metrics::bind(handle.address(), Vec::new(), clock()).err().unwrap();
    assert!(error.contains("another program is listening"), "{error}");
}

/// Each name in a dashboard that could be a metric's.
fn names_in(text: &str) -> BTreeSet<&str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| word.starts_with("forebay_"))
        .collect()
}

#[test]
fn the_dashboard_draws_what_there_is() {
    let text = include_str!("../../../examples/live/grafana.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 8);
    let running = busy();
    let families = scrape(&running);
    let known: BTreeSet<_> =
        families.values().flat_map(|family| family.samples.keys().map(|(name, _)| name.as_str())).collect();
    let mut drawn = BTreeSet::new();
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten()) {
        drawn.extend(names_in(target["expr"].as_str().unwrap()));
    }
    assert!(drawn.len() >= 12, "{drawn:?}");
    // A drop-tail queue has no gauges, and such flows none either.
    let empty = |name: &&str| families.get(*name).is_some_and(|family| family.samples.is_empty());
    let unknown: Vec<_> = drawn.into_iter().filter(|name| !known.contains(name) && !empty(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    running.end();
}
