//! Namespaces with a machine in the middle and a host on each side of it.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio, id};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The address of the host on each side.
const HOSTS: [(&str, &str, &str); 2] = [("a", "lan0", "10.7.0.1"), ("b", "wan0", "10.7.0.2")];

/// The time, by a clock that all processes share.
pub fn clock() -> Duration {
    use std::time::SystemTime;
    #[allow(clippy::disallowed_methods, reason = "a test of how fast something happens")]
    let now = SystemTime::now();
    now.duration_since(SystemTime::UNIX_EPOCH).expect("it is later than 1970")
}

/// The interfaces `lan0` and `wan0` in the middle, each with a host behind it.
pub struct Network {
    label: &'static str,
}

impl Network {
    /// Makes it; none, and the reason is printed, where this process may not.
    pub fn new(label: &'static str) -> Option<Self> {
        let made = Self { label };
        let first = Command::new("ip").args(["netns", "add", &made.namespace("m")]).output();
        match first {
            Ok(Output { status, .. }) if status.success() => (),
            Ok(Output { stderr, .. }) => {
                let reason = String::from_utf8_lossy(&stderr);
                println!("skipped: no network namespace can be made here: {}", reason.trim());
                return None;
            }
            Err(error) => {
                println!("skipped: no `ip` here: {error}");
                return None;
            }
        }
        // No address is still being tested for duplicates when it is looked at.
        let quiet = "/proc/sys/net/ipv6/conf/default/accept_dad";
        made.run("m", &["sh", "-c", &format!("test ! -e {quiet} || echo 0 > {quiet}")]);
        for (host, port, address) in HOSTS {
            let namespace = made.namespace(host);
            run(Command::new("ip").args(["netns", "add", &namespace]));
            made.ip(&format!("link add {port} type veth peer name host0 netns {namespace}"));
            made.ip(&format!("link set {port} up"));
            let number = &address[address.len() - 1..];
            for command in [
                format!("link set host0 address 02:00:00:00:00:0{number}"),
                "link set host0 up".into(),
                format!("addr add {address}/24 dev host0"),
            ] {
                made.ip_at(host, &command);
            }
            for other in ["1", "2"].iter().filter(|other| **other != number) {
                // No request must pass before the first frame.
                let address = format!("10.7.0.{other}");
                made.ip_at(host, &format!("neigh add {address} lladdr 02:00:00:00:00:0{other} dev host0"));
            }
        }
        made.wait_until("the links are up", || made.ip("link show dev wan0").contains("state UP"));
        thread::sleep(Duration::from_millis(100));
        Some(made)
    }

    fn namespace(&self, place: &str) -> String {
        format!("fb-{}-{}-{place}", self.label, id())
    }

    /// Runs `ip` in the middle, and returns its output.
    pub fn ip(&self, command: &str) -> String {
        self.ip_at("m", command)
    }

    fn ip_at(&self, place: &str, command: &str) -> String {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        run(Command::new("ip").args(["-n", &self.namespace(place)]).args(arguments))
    }

    /// Runs several commands of `ip` in the middle.
    pub fn ip_all(&self, commands: &str) {
        for command in commands.split(';').filter(|command| !command.trim().is_empty()) {
            self.ip(command);
        }
    }

    fn run(&self, place: &str, command: &[&str]) -> String {
        run(Command::new("ip").args(["netns", "exec", &self.namespace(place)]).args(command))
    }

    /// All that can be seen of the network in the middle, but for clocks.
    pub fn snapshot(&self) -> String {
        let text = self.ip("-d addr") + &self.ip("-d link");
        let mut still = String::new();
        let mut words = text.split_inclusive([' ', '\n']);
        while let Some(word) = words.next() {
            still.push_str(word);
            if word.trim_end().ends_with("_timer") {
                words.next();
            }
        }
        still + &self.part("features", "lan0 wan0").lines().join("\n")
    }

    /// The same, once the kernel has finished what a command began: it tests addresses and notices carriers later.
    pub fn settled(&self) -> String {
        let mut before = self.snapshot();
        self.wait_until("the network is still", || {
            thread::sleep(Duration::from_millis(100));
            let now = self.snapshot();
            let still = now == before && !now.contains("tentative");
            before = now;
            still
        });
        before
    }

    /// Starts a part in the middle.
    pub fn part(&self, name: &str, argument: &str) -> Part {
        self.part_through(&[], name, argument)
    }

    /// Starts a part in the middle by another program.
    pub fn part_through(&self, through: &[&str], name: &str, argument: &str) -> Part {
        self.part_at("m", through, name, argument)
    }

    fn part_at(&self, place: &str, through: &[&str], name: &str, argument: &str) -> Part {
        let own = std::env::current_exe().expect("the name of this program");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(place)]).args(through).arg(own);
        command.args(["--exact", "part", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env("FOREBAY_PART", name).env("FOREBAY_ARGUMENT", argument);
        // A panic may be part of the test.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the part starts");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Part { child, output: Some(output) }
    }

    /// Has `forebay-live teardown` remove a bridge: the success and the output.
    pub fn teardown(&self, bridge: &str) -> (bool, String) {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace("m"), env!("CARGO_BIN_EXE_forebay-live"), "teardown", bridge]);
        let output = command.output().expect("it starts");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts `forebay-live run` in the middle with this configuration, to which a control socket is added.
    pub fn daemon(&self, config: &str) -> Daemon {
        let folder = std::env::temp_dir().join(self.namespace("daemon"));
        // It is there from an earlier daemon of this test, or it is made.
        let _ = std::fs::create_dir(&folder);
        let (file, socket) = (folder.join("live.toml"), folder.join("live.sock"));
        std::fs::write(&file, format!("{config}\ncontrol.socket = '{}'\n", socket.display())).expect("a file");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace("m"), env!("CARGO_BIN_EXE_forebay-live"), "run"]).arg(file);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (lines, output) = (Arc::new(Mutex::new(Vec::new())), child.stderr.take().expect("its output"));
        let noted = Arc::clone(&lines);
        let reader = thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                noted.lock().expect("no panic").push(line.expect("text"));
            }
        });
        Daemon { child, lines, reader: Some(reader), folder }
    }

    /// Has the hosts send what needs nothing done to it any more.
    pub fn finish_checksums(&self) {
        for (host, ..) in HOSTS {
            assert!(self.part_at(host, &[], "checksums", "host0").lines().is_empty());
        }
    }

    /// A datagram every other millisecond in each direction, for as long as they are held.
    pub fn streams(&self) -> Vec<Stream> {
        let [a, b] = HOSTS;
        let stream = |from: &str, to: &str, address: &str| {
            let mut receive = self.part_at(to, &[], "receive", address);
            receive.wait_for("ready");
            let send = self.part_at(from, &[], "send", address);
            Stream { sent: Noted::of(send), arrived: Noted::of(receive) }
        };
        vec![stream(a.0, b.0, b.2), stream(b.0, a.0, a.2)]
    }

    /// Waits until something holds, for at most ten seconds.
    pub fn wait_until(&self, what: &str, holds: impl FnMut() -> bool) {
        wait_until(&format!("{}: {what}", self.label), holds);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for place in ["m", "a", "b"] {
            // One that is not there needs no deleting.
            let _ = Command::new("ip").args(["netns", "del", &self.namespace(place)]).stderr(Stdio::null()).status();
        }
    }
}

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program is there");
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

/// Datagrams on their way. Each carries the time at which it was sent, so that it does not matter when this program, or
/// the one that sends or receives, gets the processor.
pub struct Stream {
    sent: Noted,
    arrived: Noted,
}

impl Stream {
    /// Datagrams sent since `time` that have arrived.
    pub fn arrived_since(&self, time: Duration) -> Vec<Duration> {
        self.arrived.since(time)
    }

    /// Datagrams sent since `time` that have not arrived, though a later one has.
    pub fn lost_since(&self, time: Duration) -> Vec<Duration> {
        let arrived: BTreeSet<Duration> = self.arrived.since(time).into_iter().collect();
        let Some(last) = arrived.last() else { return Vec::new() };
        self.sent.since(time).into_iter().filter(|sent| sent < last && !arrived.contains(sent)).collect()
    }
}

/// The output of a part, line by line, as long as it lives.
struct Noted {
    times: Arc<Mutex<Vec<Duration>>>,
    _part: Part,
}

impl Noted {
    fn of(mut part: Part) -> Self {
        let times = Arc::new(Mutex::new(Vec::new()));
        let (noted, mut output) = (Arc::clone(&times), part.output.take().expect("nobody else listens"));
        thread::spawn(move || {
            while let Some(line) = said(&mut output) {
                let nanoseconds = line.parse().expect("a number");
                noted.lock().expect("no panic").push(Duration::from_nanos(nanoseconds));
            }
        });
        Self { times, _part: part }
    }

    fn since(&self, time: Duration) -> Vec<Duration> {
        self.times.lock().expect("no panic").iter().copied().filter(|noted| *noted >= time).collect()
    }
}

/// The next line that a part says; none at its end. The output of the test runner in it is left out.
fn said(output: &mut BufReader<ChildStdout>) -> Option<String> {
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).expect("text") == 0 {
            return None;
        }
        if let Some((_, said)) = line.split_once("> ") {
            return Some(said.trim_end().to_owned());
        }
    }
}

/// A `forebay-live run` and what it logs.
pub struct Daemon {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<thread::JoinHandle<()>>,
    folder: PathBuf,
}

impl Daemon {
    /// The log so far.
    pub fn log(&self) -> Vec<String> {
        self.lines.lock().expect("no panic").clone()
    }

    /// Waits for a line that ends so.
    pub fn wait_until_it_logs(&mut self, end: &str) {
        wait_until(end, || self.status_now().is_some() || self.log().iter().any(|line| line.ends_with(end)));
        assert_eq!(self.status_now(), None, "{:?}", self.log());
    }

    /// Its exit status, and -1 for a signal; none while it runs.
    pub fn status_now(&mut self) -> Option<i32> {
        self.child.try_wait().expect("it can be asked").map(|status| status.code().unwrap_or(-1))
    }

    /// Waits for its end; returns its exit status and what it has logged.
    pub fn end(&mut self) -> (Option<i32>, Vec<String>) {
        wait_until("it ends", || self.status_now().is_some());
        self.reader.take().expect("it is ended once").join().expect("no panic");
        (self.status_now(), self.log())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Waits until something holds, for at most ten seconds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = clock();
    while !holds() {
        assert!(clock() - start < Duration::from_secs(10), "not after ten seconds: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A process that is a part of a test.
pub struct Part {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
}

impl Part {
    /// The next line of its output; none at its end.
    pub fn line(&mut self) -> Option<String> {
        said(self.output.as_mut().expect("nobody else listens"))
    }

    /// All further lines, to its end.
    pub fn lines(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.line()).collect()
    }

    /// Waits for it to say this next.
    pub fn wait_for(&mut self, expected: &str) {
        assert_eq!(self.line().as_deref(), Some(expected));
    }

    /// Says something to it.
    pub fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().expect("its input"), "{line}").expect("it listens");
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it has ended");
    }

    /// The signal that ended it.
    pub fn signal(&mut self) -> Option<i32> {
        self.child.wait().expect("it has ended").signal()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
