//! Round trips over a real socket, with directions on threads and a clock that the tests move.

use std::io::Read as _;
use std::net::Shutdown;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::thread::{self, JoinHandle};

use forebay_replay::CaptureReader;

use super::*;
use crate::client::ControlClient;
use crate::test_direction::{TestClock, TestConfigurer, TestDirection, UNIX_NS, eventually, frame};

/// A folder of its own for each test.
fn folder() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("forebay-control-{}-{number}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    folder
}

struct Running {
    folder: PathBuf,
    clock: Arc<TestClock>,
    directions: Vec<TestDirection>,
    told: Arc<Mutex<Vec<&'static str>>>,
    file: Arc<Mutex<Rate>>,
    log: Arc<Mutex<Vec<String>>>,
    handle: ControlHandle,
    thread: JoinHandle<()>,
}

impl Running {
    fn start(which: &[Direction]) -> Self {
        let (folder, clock) = (folder(), Arc::new(TestClock::default()));
        let directions: Vec<_> = which.iter().map(|&direction| TestDirection::start(direction)).collect();
        let configurer = TestConfigurer::new();
        let (told, file) = (Arc::clone(&configurer.told), Arc::clone(&configurer.file));
        let log = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&log);
        let (control, handle) = Control::bind(ControlParts {
            socket: folder.join("live.sock"),
            directions: which.iter().copied().zip(directions.iter().map(TestDirection::commands)).collect(),
            configurer: Box::new(configurer),
            system: Box::new(|| json!({ "method": "test" })),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            log: Box::new(move |line| heard.lock().unwrap().push(line.to_owned())),
        })
        .unwrap();
        let thread = thread::spawn(move || control.run());
        Self { folder, clock, directions, told, file, log, handle, thread }
    }

    fn both() -> Self {
        Self::start(&Direction::ALL)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("live.sock")
    }

    fn connect(&self) -> ControlClient {
        ControlClient::connect(&self.path()).unwrap()
    }

    fn ask(&self, request: Value) -> Result<Value, String> {
        self.connect().ask(&request)
    }

    fn rates(&self) -> Vec<u64> {
        self.directions.iter().map(|direction| direction.snapshot().rate_bps / 1_000_000).collect()
    }

    fn end(self) {
        self.handle.stop();
        self.thread.join().unwrap();
        assert!(!self.folder.join("live.sock").exists());
        self.directions.into_iter().for_each(TestDirection::end);
        fs::remove_dir_all(self.folder).unwrap();
    }
}

fn set(rate: &str, confirm: Option<&str>) -> Value {
    json!({ "command": "set", "direction": "outbound", "settings": { "rate": rate }, "confirm": confirm })
}

#[test]
fn what_runs_is_shown() {
    let running = Running::both();
    let mode = fs::metadata(running.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    assert_eq!(running.ask(json!({ "command": "ping" })), Ok(json!("pong")));
    let shown = running.ask(json!({ "command": "show" })).unwrap();
    assert_eq!(shown["system"]["method"], "test");
    let outbound = &shown["directions"][0];
    assert_eq!((&outbound["direction"], &outbound["rate"]), (&json!("outbound"), &json!("8 Mbps")));
    assert_eq!((&outbound["overhead"], &outbound["burst"]), (&json!("24 B"), &json!("10 s")));
    assert_eq!(outbound["queue"], json!({ "discipline": "drop_tail", "parameters": { "limit": "3 packets" } }));
    assert_eq!((&outbound["shadow"]["discipline"], &outbound["bypass"]), (&json!("red"), &json!(false)));
    assert_eq!(shown["directions"][1]["direction"], "inbound");
    running.directions[0].arrive(Time::ZERO, &frame(1, 100), 10);
    eventually("ten arrivals", || running.directions[0].snapshot().received.packets == 10);
    let stats = running.ask(json!({ "command": "stats" })).unwrap();
    assert_eq!(stats["directions"][0]["received"], json!({ "packets": 10, "bytes": 1240 }));
    assert_eq!(stats["directions"][0]["dropped"]["overflow"]["packets"], 6);
    running.end();
}

#[test]
fn a_set_reaches_its_direction_alone() {
    let running = Running::both();
    let result = running.ask(set("50 Mbps", None)).unwrap();
    assert_eq!(result, json!({ "changed": ["outbound"], "confirm_within_s": null }));
    assert_eq!(running.rates(), [50, 8]);
    assert_eq!(running.ask(set("50 Mbps", None)).unwrap()["changed"], json!([]));
    assert!(running.ask(set("fast", None)).unwrap_err().starts_with("rate: "));
    assert_eq!(running.rates(), [50, 8]);
    assert!(running.ask(json!({ "command": "rollback" })).unwrap_err().contains("no change waits"));
    assert!(running.log.lock().unwrap()[0].contains("outbound: set rate = \"50 Mbps\""));
    running.end();
}

#[test]
fn what_nobody_confirms_comes_back() {
    let running = Running::both();
    assert_eq!(running.ask(set("50 Mbps", Some("30 s"))).unwrap()["confirm_within_s"], 30.0);
    assert_eq!(running.rates(), [50, 8]);
    running.clock.advance(Span::from_seconds(20));
    let error = running.ask(set("60 Mbps", None)).unwrap_err();
    assert!(error.contains("waits for confirmation and is undone in 10 s"), "{error}");
    let shown = running.ask(json!({ "command": "show" })).unwrap();
    assert_eq!(shown["undone_unless_confirmed_in_s"], 10.0);
    running.clock.advance(Span::from_seconds(11));
    eventually("the old rate", || running.rates() == [8, 8]);
    eventually("the configuration's end", || *running.told.lock().unwrap() == ["adopt", "revert"]);
    eventually("a word in the log", || running.log.lock().unwrap().iter().any(|line| line.contains("not confirmed")));
    // From there on as if nothing had been.
    assert!(running.ask(set("60 Mbps", None)).is_ok());
    running.end();
}

#[test]
fn what_is_confirmed_stays_and_what_is_rolled_back_goes() {
    let running = Running::both();
    running.ask(set("50 Mbps", Some("30 s"))).unwrap();
    assert_eq!(running.ask(json!({ "command": "confirm" })), Ok(json!({ "confirmed": true })));
    assert!(running.ask(json!({ "command": "confirm" })).is_err());
    running.clock.advance(Span::from_seconds(100));
    running.ask(set("60 Mbps", Some("30 s"))).unwrap();
    assert_eq!(running.rates(), [60, 8]);
    let undone = running.ask(json!({ "command": "rollback" })).unwrap();
    assert_eq!(undone, json!({ "rolled_back": ["outbound"] }));
    assert_eq!(running.rates(), [50, 8]);
    running.end();
}

#[test]
fn what_cannot_be_undone_is_tried_again() {
    let running = Running::both();
    running.ask(set("50 Mbps", Some("30 s"))).unwrap();
    running.directions[0].refuses.store(true, Ordering::SeqCst);
    let error = running.ask(json!({ "command": "rollback" })).unwrap_err();
    assert!(error.contains("outbound: not now; it is tried again"), "{error}");
    running.directions[0].refuses.store(false, Ordering::SeqCst);
    running.clock.advance(Span::from_seconds(2));
    eventually("the old rate", || running.rates() == [8, 8]);
    running.end();
}

#[test]
fn a_reload_changes_all_directions_or_none() {
    let running = Running::both();
    *running.file.lock().unwrap() = Rate::megabits(20);
    running.directions[1].refuses.store(true, Ordering::SeqCst);
    let error = running.ask(json!({ "command": "reload" })).unwrap_err();
    assert_eq!(error, "inbound: not now; earlier changes were undone");
    assert_eq!(running.rates(), [8, 8]);
    assert!(running.told.lock().unwrap().is_empty());
    running.directions[1].refuses.store(false, Ordering::SeqCst);
    // As SIGHUP does.
    running.handle.reload();
    eventually("the new rates", || running.rates() == [20, 20]);
    running.end();
}

#[test]
fn bypass_is_switched_and_shown() {
    let running = Running::both();
    let bypassed = || running.directions.iter().map(|it| it.snapshot().bypass).collect::<Vec<_>>();
    running.ask(json!({ "command": "bypass", "on": true, "direction": "inbound" })).unwrap();
    assert_eq!(bypassed(), [false, true]);
    running.ask(json!({ "command": "bypass", "on": true })).unwrap();
    assert_eq!(bypassed(), [true, true]);
    running.ask(json!({ "command": "bypass", "on": false })).unwrap();
    assert_eq!(bypassed(), [false, false]);
    running.end();
}

#[test]
fn a_direction_without_a_queue_is_named() {
    let running = Running::start(&[Direction::Inbound]);
    let error = running.ask(set("50 Mbps", None)).unwrap_err();
    assert!(
        error.contains("outbound: this direction has no queue") && error.contains("nothing was changed"),
        "{error}"
    );
    assert!(running.ask(json!({ "command": "capture", "direction": "outbound" })).unwrap_err().contains("no queue"));
    running.end();
}

#[test]
fn several_lines_and_bad_ones_are_each_answered() {
    let running = Running::both();
    let mut socket = UnixStream::connect(running.path()).unwrap();
    socket.write_all(b"{\"command\":\"ping\"}\n\nnonsense\n{\"command\":\"ping\"}").unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut replies = String::new();
    socket.read_to_string(&mut replies).unwrap();
    let lines: Vec<Value> = replies.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["ok"] == true).collect::<Vec<_>>(), [true, false, true]);

    for ending in [&b""[..], b"\n"] {
        let mut socket = UnixStream::connect(running.path()).unwrap();
        let _ = socket.write_all(&[&vec![b' '; MOST_LINE_BYTES + 1], ending].concat());
        let mut reply = String::new();
        socket.read_to_string(&mut reply).unwrap_or_default();
        assert!(reply.contains("a line is longer than 65536 bytes"), "{reply}");
    }
    running.end();
}

#[test]
fn a_client_with_many_requests_does_not_keep_the_others_waiting() {
    let folder = folder();
    let direction = TestDirection::start(Direction::Outbound);
    let log = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&log);
    let (control, handle) = Control::bind(ControlParts {
        socket: folder.join("live.sock"),
        directions: vec![(Direction::Outbound, direction.commands())],
        configurer: Box::new(TestConfigurer::new()),
        system: Box::new(|| Value::Null),
        clock: Arc::new(TestClock::default()),
        log: Box::new(move |line| heard.lock().unwrap().push(line.to_owned())),
    })
    .unwrap();
    // Both have asked before the first request is read.
    let ask = |lines: String| {
        let mut socket = UnixStream::connect(folder.join("live.sock")).unwrap();
        socket.write_all(lines.as_bytes()).unwrap();
        socket
    };
    let many = ask("{\"command\":\"bypass\",\"on\":true}\n".repeat(200));
    let one = ask(format!("{}{}\n", "\n".repeat(3000), set("50 Mbps", None)));
    let thread = thread::spawn(move || control.run());
    eventually("all answers", || log.lock().unwrap().len() == 201);
    let at = log.lock().unwrap().iter().position(|line| line.contains("50 Mbps"));
    assert!(at.is_some_and(|at| at < 5), "answered after {at:?} requests of the other client");
    drop((many, one));
    handle.stop();
    thread.join().unwrap();
    direction.end();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn blank_lines_and_a_last_line_without_its_end_are_read() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut client = Client::new(theirs, Time::ZERO);
    let mut line = || match client.line() {
        Line::None => "none".to_owned(),
        Line::Is(line) => line,
        Line::TooLong => "too long".to_owned(),
        Line::Ended => "ended".to_owned(),
    };
    assert_eq!(line(), "none");
    ours.write_all(b" \n\r\n\n  one\n\n\ntwo\n th").unwrap();
    assert_eq!([line(), line(), line()], ["  one", "two", "none"]);
    ours.write_all(b"ree\n\n \nfour").unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    assert_eq!([line(), line(), line(), line()], [" three", "four", "ended", "ended"]);
}

#[test]
fn too_many_clients_are_told_and_idle_ones_leave() {
    let running = Running::both();
    let mut clients: Vec<_> = (0..MOST_CLIENTS).map(|_| running.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(&json!({ "command": "ping" })), Ok(json!("pong")));
    }
    assert!(running.ask(json!({ "command": "ping" })).is_err());
    running.clock.advance(Span::from_seconds(61));
    eventually("room", || running.ask(json!({ "command": "ping" })).is_ok());
    running.end();
}

#[test]
fn a_stale_socket_is_replaced_and_nothing_else() {
    let running = Running::both();
    let parts = |path: PathBuf| ControlParts {
        socket: path,
        directions: Vec::new(),
        configurer: Box::new(TestConfigurer::new()),
        system: Box::new(|| Value::Null),
        clock: Arc::new(TestClock::default()),
        log: Box::new(|_| {}),
    };
    let refused = |path| Control::bind(parts(path)).err().unwrap_or_default();
    assert!(refused(running.path()).contains("another forebay-live is listening"));
    let file = running.folder.join("file");
    fs::write(&file, "kept").unwrap();
    assert!(refused(file.clone()).contains("the path exists and is not a socket"));
    assert_eq!(fs::read_to_string(file).unwrap(), "kept");
    let stale = running.folder.join("stale.sock");
    drop(UnixListener::bind(&stale).unwrap());
    assert_eq!(refused(stale), "");
    running.end();
}

/// Reads a stream to its end, which the client asks for.
fn ended(client: ControlClient) -> Vec<u8> {
    let mut bytes = Vec::new();
    client.stream(&mut bytes, &AtomicBool::new(true)).unwrap();
    bytes
}

#[test]
fn drops_are_captured_with_their_reasons() {
    let running = Running::both();
    let mut client = running.connect();
    let result = client.ask(&json!({ "command": "capture" })).unwrap();
    assert_eq!(result, json!({ "format": "pcapng", "directions": ["outbound", "inbound"] }));
    // Of five at a time, one is on the line, three are queued.
    let at = Time::from_picoseconds(5_000_000_000);
    running.directions[0].arrive(at, &frame(1, 100), 5);
    running.directions[1].arrive(at, &frame(2, 200), 6);
    eventually("three drops", || running.handle.streams().iter().map(|stream| stream.packets).sum::<u64>() == 3);
    let bytes = ended(client);
    let text = String::from_utf8_lossy(&bytes);
    assert_eq!(text.matches("dropped_overflow, queued 0.000 ms").count(), 3);
    let mut capture = CaptureReader::new(&bytes[..]).unwrap();
    let mut seen = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        assert_eq!(frame.time_ps, (i128::from(UNIX_NS) + 5_000_000) * 1_000);
        seen.push((frame.interface, frame.len_bytes));
    }
    seen.sort_unstable();
    assert_eq!(seen, [(0, 100), (1, 200), (1, 200)]);
    eventually("the stream's end", || running.handle.streams().iter().all(|stream| !stream.running));
    running.end();
}

#[test]
fn arrivals_are_recorded_and_replayed() {
    let running = Running::both();
    assert!(running.ask(json!({ "command": "record" })).unwrap_err().contains("a record needs one direction"));
    let mut client = running.connect();
    client.ask(&json!({ "command": "record", "direction": "outbound" })).unwrap();
    for number in 0..1000_u64 {
        running.directions[0].arrive(Time::from_picoseconds(number * 1_000_000), &frame(number as u16 % 7, 100), 1);
    }
    eventually("all arrivals", || running.handle.streams()[0].packets == 1000);
    let bytes = ended(client);
    let mut record = CaptureReader::new(&bytes[..]).unwrap();
    let mut number = 0;
    while let Some(frame) = record.next_frame().unwrap() {
        assert_eq!(frame.time_ps, (i128::from(UNIX_NS) + number * 1_000) * 1_000);
        assert_eq!((frame.len_bytes, frame.ecn), (124, forebay_qdisc::Ecn::Capable0));
        number += 1;
    }
    assert_eq!((number, record.missed()), (1000, 0));
    running.end();
}

#[test]
fn a_record_ends_when_its_time_is_over() {
    let running = Running::start(&[Direction::Outbound]);
    let mut client = running.connect();
    client.ask(&json!({ "command": "record", "duration": "10 s" })).unwrap();
    running.clock.advance(Span::from_seconds(11));
    let mut bytes = Vec::new();
    client.stream(&mut bytes, &AtomicBool::new(false)).unwrap();
    assert_eq!(bytes.len(), 16);
    running.end();
}

/// A client that reads nothing: events without room are counted, and the direction keeps answering.
#[test]
fn a_slow_client_does_not_stall_the_direction() {
    let running = Running::both();
    let mut client = running.connect();
    client.ask(&json!({ "command": "capture", "direction": "outbound" })).unwrap();
    running.directions[0].arrive(Time::ZERO, &frame(1, 1500), 20_000);
    eventually("all arrivals", || running.directions[0].snapshot().received.packets == 20_000);
    let stats = running.ask(json!({ "command": "stats" })).unwrap();
    let missed = stats["streams"][0]["missed"].as_u64().unwrap();
    assert!(missed > 0, "{}", stats["streams"]);
    let mut capture_bytes = Vec::new();
    client.stream(&mut capture_bytes, &AtomicBool::new(true)).unwrap();
    let mut capture = CaptureReader::new(&capture_bytes[..]).unwrap();
    while capture.next_frame().unwrap().is_some() {}
    assert_eq!(capture.packets() + missed, 20_000 - 4);
    running.end();
}

#[test]
fn streams_are_few() {
    let running = Running::both();
    let ask = || {
        let mut client = running.connect();
        client.ask(&json!({ "command": "capture" })).map(|_| client)
    };
    let streams: Vec<_> = (0..stream::MOST_STREAMS).map(|_| ask().unwrap()).collect();
    assert!(ask().err().unwrap().contains("run already"));
    drop(streams);
    eventually("room for another", || ask().is_ok());
    running.end();
}
