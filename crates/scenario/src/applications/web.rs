//! Web pages: a main object, which the browser parses, then the objects that it names, then reading.
//!
//! The default sizes, numbers and times are those of the 3GPP model of HTTP traffic, as ns-3 has it.

use std::collections::VecDeque;

use forebay_document::Path;
use forebay_engine::{
    Application, ApplicationKind, Checkpoint, Distribution, Outcome, OutcomeKind, OutcomeValue, Role, Socket,
};
use forebay_qdisc::{Time, uniform};
use forebay_records::DelayHistogram;
use forebay_units::{Bytes, Span};
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;

use super::BothWays;
use crate::schema::{SizeDistribution, SpanDistribution};
use crate::validate::check::{DAY, Validity, check_span, check_transfer, require};

/// A user loads web pages, and reads each. The browser requests the main object, parses it, and requests the objects of
/// the page, several at a time, over one or more connections. The table `pages` has the times from the request of the
/// main object to the last byte of the page, or to the end of parsing where no object follows. Without `main`,
/// `objects` and `object` these are drawn by the 3GPP model.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Payload bytes of the main object; drawn for each page. Default: log-normal with a mean of 10 710 B and a
    /// standard deviation of 25 032 B, from 100 B to 2 MB.
    #[serde(default)]
    pub main: Option<SizeDistribution>,
    /// The number of the other objects of a page, at most 10000. Default: Pareto of scale 2 and shape 1.1 up to 55,
    /// less 2; drawn for each page.
    #[serde(default)]
    #[schemars(range(max = 10_000))]
    pub objects: Option<u32>,
    /// Payload bytes of such an object; drawn for each. Default: log-normal with a mean of 7758 B and a standard
    /// deviation of 126 168 B, from 50 B to 2 MB.
    #[serde(default)]
    pub object: Option<SizeDistribution>,
    /// Connections that the browser may open to the server: 6 in browsers that use HTTP/1.1. The main object comes over
    /// the first; each other opens, with its handshake, for an object that finds no connection idle. All stay open. 1
    /// to 32.
    #[serde(default = "default_connections")]
    #[schemars(range(min = 1, max = 32))]
    pub connections: u32,
    /// Requests for objects that are unanswered at a time on each connection: 1 for HTTP/1.1, many for HTTP/2 and 3. 1
    /// to 1000. Default: 6 on a single connection, 1 on several.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub parallel: Option<u32>,
    /// Time for which the browser parses the main object; drawn for each page.
    #[serde(default = "default_parsing")]
    pub parsing: SpanDistribution,
    /// Time from a complete page to the next one; drawn for each page.
    #[serde(default = "default_reading")]
    pub reading: SpanDistribution,
    /// Payload bytes of a request.
    #[serde(default = "default_request")]
    pub request: Bytes,
}

fn default_connections() -> u32 {
    1
}

fn default_parsing() -> SpanDistribution {
    SpanDistribution::Exponential(Span::from_milliseconds(130))
}

fn default_reading() -> SpanDistribution {
    SpanDistribution::Exponential(Span::from_seconds(30))
}

fn default_request() -> Bytes {
    Bytes(328)
}

/// Means of the drawn sizes in bytes.
const MAIN: LogNormal = LogNormal { mean: 10_710.0, deviation: 25_032.0, least: 100.0, most: 2e6 };
const OBJECT: LogNormal = LogNormal { mean: 7758.0, deviation: 126_168.0, least: 50.0, most: 2e6 };

impl BothWays for Web {
    fn check(&self, at: &Path) -> Validity {
        let request = Some(SizeDistribution::Constant(self.request));
        for (key, size) in [("main", &self.main), ("object", &self.object), ("request", &request)] {
            size.as_ref().map_or(Ok(()), |size| check_transfer(size, &at.key(key)))?;
        }
        check_span(&self.parsing, DAY, &at.key("parsing"))?;
        check_span(&self.reading, DAY, &at.key("reading"))?;
        let objects = self.objects.unwrap_or(0);
        require(objects <= 10_000, || at.key("objects"), || format!("`objects` is {objects}"), "expected 0 to 10000")?;
        let holds = (1..=32).contains(&self.connections);
        let message = || format!("`connections` is {}", self.connections);
        require(holds, || at.key("connections"), message, "expected 1 to 32")?;
        let holds = (1..=1000).contains(&self.parallel());
        let message = || format!("`parallel` is {}", self.parallel());
        require(holds, || at.key("parallel"), message, "expected 1 to 1000")
    }

    fn message_bytes(&self) -> u64 {
        let mean = |size: &Option<SizeDistribution>, drawn: LogNormal| {
            size.as_ref().map_or(drawn.mean as u64, |size| size.mean().0)
        };
        mean(&self.main, MAIN).max(u64::from(self.parallel()) * mean(&self.object, OBJECT))
    }
}

impl Web {
    fn parallel(&self) -> u32 {
        self.parallel.unwrap_or(if self.connections == 1 { 6 } else { 1 })
    }
}

impl ApplicationKind for Web {
    fn end(&self, role: Role, stream: &dyn Fn(&str) -> Pcg64Mcg, stop: Time) -> Box<dyn Application> {
        let pages = Pages::new(self, stream);
        match role {
            Role::Client => Box::new(Browser {
                web: self.clone(),
                parsing: self.parsing.picoseconds(),
                reading: self.reading.picoseconds(),
                times: stream("times"),
                pages,
                stop,
                connections: vec![Connection::default(); self.connections as usize],
                page: None,
                next: Time::NEVER,
                requested: 0,
                loads: DelayHistogram::default(),
            }),
            Role::Server => {
                let answered = vec![0; self.connections as usize];
                Box::new(Server { request_bytes: self.request.0, pages, answered })
            }
        }
    }

    fn connections(&self) -> u32 {
        self.connections
    }
}

/// The sizes of the objects, page after page. Browser and server draw them from equal streams.
///
/// A page ends before the next begins, so both ends take the same object for its main object. The requests of two
/// connections may arrive in another order than they were sent: the sizes of each connection have a stream of their
/// own.
struct Pages {
    web: Web,
    rng: Pcg64Mcg,
    /// The streams of the sizes by connection; empty for a single one, which shares `rng`.
    of_connections: Vec<Pcg64Mcg>,
    /// Objects of the page whose sizes were not drawn yet.
    left: u32,
}

impl Pages {
    fn new(web: &Web, stream: &dyn Fn(&str) -> Pcg64Mcg) -> Self {
        let several = if web.connections > 1 { web.connections } else { 0 };
        let of_connections = (0..several).map(|connection| stream(&format!("pages/{connection}"))).collect();
        Self { web: web.clone(), rng: stream("pages"), of_connections, left: 0 }
    }

    /// The payload of the next object, which comes over this connection.
    fn next(&mut self, connection: usize) -> u64 {
        if self.left > 0 {
            self.left -= 1;
            let rng = self.of_connections.get_mut(connection).unwrap_or(&mut self.rng);
            return draw(self.web.object.as_ref(), &OBJECT, rng);
        }
        self.left = self.web.objects.unwrap_or_else(|| number_of_objects(&mut self.rng));
        draw(self.web.main.as_ref(), &MAIN, &mut self.rng)
    }
}

fn draw(size: Option<&SizeDistribution>, otherwise: &LogNormal, rng: &mut Pcg64Mcg) -> u64 {
    match size {
        Some(size) => size.bytes().draw_count(rng),
        None => otherwise.draw(rng),
    }
}

/// Drawn again until it is in its bounds, as in ns-3.
fn number_of_objects(rng: &mut Pcg64Mcg) -> u32 {
    const SCALE: f64 = 2.0;
    let pareto = Distribution::Pareto { mean: SCALE * 1.1 / (1.1 - 1.0), shape: 1.1 };
    loop {
        let drawn = pareto.draw(rng);
        if drawn <= 55.0 {
            return (drawn - SCALE) as u32;
        }
    }
}

/// Drawn again until it is in its bounds, as in ns-3.
struct LogNormal {
    mean: f64,
    deviation: f64,
    least: f64,
    most: f64,
}

impl LogNormal {
    fn draw(&self, rng: &mut Pcg64Mcg) -> u64 {
        let variance = libm::log(1.0 + (self.deviation / self.mean) * (self.deviation / self.mean));
        let centre = libm::log(self.mean) - variance / 2.0;
        loop {
            // Box and Muller; 1 - U is in (0, 1], where the logarithm is finite.
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(rng)));
            let normal = radius * libm::cos(std::f64::consts::TAU * uniform(rng));
            let drawn = libm::exp(centre + libm::sqrt(variance) * normal);
            if (self.least..self.most).contains(&drawn) {
                return drawn as u64;
            }
        }
    }
}

struct Browser {
    web: Web,
    /// In picoseconds.
    parsing: Distribution,
    reading: Distribution,
    times: Pcg64Mcg,
    pages: Pages,
    /// No page after this time.
    stop: Time,
    connections: Vec<Connection>,
    page: Option<Page>,
    /// When parsing or reading ends.
    next: Time,
    /// In the measured interval.
    requested: u64,
    loads: DelayHistogram,
}

/// A connection of a browser.
#[derive(Clone, Default)]
struct Connection {
    /// Bytes delivered when all that was requested is complete.
    expected: u64,
    /// For each unanswered request the bytes delivered when its object is complete.
    unanswered: VecDeque<u64>,
}

/// The page that is being loaded.
struct Page {
    since: Time,
    parsed: bool,
}

impl Browser {
    fn request(&mut self, number: usize, socket: &mut Socket<'_, '_>) {
        let connection = &mut self.connections[number];
        connection.expected += self.pages.next(number);
        connection.unanswered.push_back(connection.expected);
        socket.turn_to(number);
        socket.write(self.web.request.0);
    }

    /// The connection for the next request: the one with the fewest unanswered requests. Of these the first, which is
    /// open if any of them is.
    fn free_connection(&self) -> Option<usize> {
        let unanswered = |&(_, connection): &(usize, &Connection)| connection.unanswered.len();
        let (number, connection) = self.connections.iter().enumerate().min_by_key(unanswered)?;
        (connection.unanswered.len() < self.web.parallel() as usize).then_some(number)
    }

    /// Requests what may be requested of the page, and ends it if everything is there.
    fn go_on(&mut self, since: Time, socket: &mut Socket<'_, '_>) {
        while self.pages.left > 0
            && let Some(connection) = self.free_connection()
        {
            self.request(connection, socket);
        }
        if self.connections.iter().all(|connection| connection.unanswered.is_empty()) {
            self.page = None;
            socket.complete_transfer(since);
            self.loads.record(socket.now().since(since));
            self.next = socket.now().saturating_add(self.reading.draw_span(&mut self.times));
        }
    }
}

impl Application for Browser {
    fn on_start(&mut self, socket: &mut Socket<'_, '_>) {
        self.on_timer(socket);
    }

    fn on_timer(&mut self, socket: &mut Socket<'_, '_>) {
        self.next = Time::NEVER;
        match &mut self.page {
            Some(page) => {
                page.parsed = true;
                let since = page.since;
                self.go_on(since, socket);
            }
            None if socket.now() < self.stop => {
                self.page = Some(Page { since: socket.now(), parsed: false });
                self.requested += 1;
                self.request(0, socket);
            }
            None => {}
        }
    }

    fn on_delivered(&mut self, socket: &mut Socket<'_, '_>) {
        let delivered = socket.delivered_bytes();
        let unanswered = &mut self.connections[socket.connection()].unanswered;
        let before = unanswered.len();
        while unanswered.front().is_some_and(|&complete| complete <= delivered) {
            unanswered.pop_front();
        }
        let has_object = unanswered.len() < before;
        let Some(&Page { since, parsed }) = self.page.as_ref().filter(|_| has_object) else { return };
        if parsed {
            self.go_on(since, socket);
        } else {
            self.next = socket.now().saturating_add(self.parsing.draw_span(&mut self.times));
        }
    }

    fn next(&self) -> Time {
        self.next
    }

    fn check(&mut self, _at: Time, due: Checkpoint) {
        if due == Checkpoint::WarmUp {
            (self.requested, self.loads) = (0, DelayHistogram::default());
        }
    }

    fn outcome(&mut self, _end: Time) -> Option<Outcome> {
        let loads = &self.loads;
        let values = vec![
            ("requested", OutcomeValue::Count(self.requested)),
            ("loaded", OutcomeValue::Count(loads.count())),
            ("load_mean_s", OutcomeValue::Float(loads.mean_s())),
            ("load_p50_s", OutcomeValue::Float(loads.quantile_s(0.50))),
            ("load_p95_s", OutcomeValue::Float(loads.quantile_s(0.95))),
            ("load_max_s", OutcomeValue::Float(loads.max_s())),
        ];
        Some(Outcome { kind: OutcomeKind::Pages, values, series: Vec::new() })
    }
}

struct Server {
    request_bytes: u64,
    pages: Pages,
    /// Requests that were answered, by connection.
    answered: Vec<u64>,
}

impl Application for Server {
    fn on_start(&mut self, _socket: &mut Socket<'_, '_>) {}

    fn on_delivered(&mut self, socket: &mut Socket<'_, '_>) {
        let connection = socket.connection();
        let answered = &mut self.answered[connection];
        while *answered < socket.delivered_bytes() / self.request_bytes {
            *answered += 1;
            let bytes = self.pages.next(connection);
            socket.write(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_records::random::stream;

    use super::*;

    #[test]
    fn drawn_pages_have_the_means_of_the_model() {
        let mut rng = stream(1, "test");
        let draws = 200_000;
        let mean = |of: &mut dyn FnMut() -> f64| (0..draws).map(|_| of()).sum::<f64>() / f64::from(draws);
        // Means within the bounds, with four standard errors: of a log-normal by the normal distribution's integral.
        for (drawn, expected, most) in [
            (mean(&mut || MAIN.draw(&mut rng) as f64), 10_734.0, 230.0),
            (mean(&mut || OBJECT.draw(&mut rng) as f64), 8212.0, 450.0),
            (mean(&mut || f64::from(number_of_objects(&mut rng))), 3.918, 0.08),
        ] {
            assert!((drawn - expected).abs() < most, "{drawn} instead of {expected}");
        }
    }

    fn pages(text: &str) -> Pages {
        let web: Web = toml::from_str(text).expect("all have defaults");
        Pages::new(&web, &|name| stream(3, name))
    }

    #[test]
    fn both_ends_draw_equal_pages() {
        let [mut browser, mut server] = ["objects = 2"; 2].map(pages);
        let sizes = |pages: &mut Pages| (0..9).map(|_| pages.next(0)).collect::<Vec<_>>();
        assert_eq!(sizes(&mut browser), sizes(&mut server));
        assert_eq!(browser.left, 0, "three pages of three objects");
    }

    #[test]
    fn a_connection_has_its_sizes_in_any_order_of_arrival() {
        let [mut browser, mut server] = ["objects = 4\nconnections = 3"; 2].map(pages);
        let sizes = |pages: &mut Pages, connections: [usize; 5]| {
            let mut sizes: Vec<_> = connections.map(|connection| (connection, pages.next(connection))).to_vec();
            sizes.sort_by_key(|&(connection, _)| connection);
            sizes
        };
        for _page in 0..2 {
            assert_eq!(sizes(&mut browser, [0, 0, 1, 2, 0]), sizes(&mut server, [0, 2, 0, 0, 1]));
        }
    }
}
