//! The other end of the control socket, for `forebay-live show`, `set` and similar commands.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Map, Value, json};

/// A reply takes no longer: the control thread waits for each direction in turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// While a stream runs: how soon an end is noticed.
const ROUND: Duration = Duration::from_millis(100);

/// The requests to a running Forebay.
#[derive(Clone, Debug, Subcommand)]
pub enum ClientCommand {
    /// Shows what is really running: interfaces, rates, disciplines with all parameters.
    Show,
    /// Shows the counters.
    Stats,
    /// Changes settings of a direction while it runs; no packet is lost.
    Set {
        /// `outbound` or `inbound`.
        direction: String,
        /// Such as `rate="50 Mbps"` or `queue.dbl.max_cells=64`.
        #[arg(required = true, value_name = "KEY=VALUE")]
        settings: Vec<String>,
        /// Undo it after this time unless it is confirmed: `30s`.
        #[arg(long, value_name = "TIME")]
        confirm: Option<String>,
    },
    /// Reads the configuration file again.
    Reload {
        /// Undo it after this time unless it is confirmed: `30s`.
        #[arg(long, value_name = "TIME")]
        confirm: Option<String>,
    },
    /// Keeps the change that waits for confirmation.
    Confirm,
    /// Undoes the change that waits for confirmation.
    Rollback,
    /// Lets packets pass around the queues, or not.
    Bypass {
        /// Whether.
        #[arg(value_parser = ["on", "off"])]
        switch: String,
        /// One direction only.
        #[arg(long)]
        direction: Option<String>,
    },
    /// Writes drops and marks as pcapng, with the reasons as comments, until Ctrl-C.
    Capture(StreamArguments),
    /// Writes arrivals as a record that `forebay replay` takes, until Ctrl-C.
    Record(StreamArguments),
    /// Asks whether it answers.
    Ping,
}

/// The stream and its destination.
#[derive(Clone, Debug, clap::Args)]
pub struct StreamArguments {
    /// The file to write; `-` is standard output.
    pub file: PathBuf,
    /// One direction only.
    #[arg(long)]
    pub direction: Option<String>,
    /// End after this time: `8h`.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
}

impl ClientCommand {
    /// The request.
    ///
    /// # Errors
    /// A setting without a value.
    pub fn request(&self) -> Result<Value, String> {
        Ok(match self {
            Self::Show => json!({ "command": "show" }),
            Self::Stats => json!({ "command": "stats" }),
            Self::Set { direction, settings, confirm } => {
                let settings = settings.iter().map(|text| setting(text)).collect::<Result<Map<_, _>, _>>()?;
                json!({ "command": "set", "direction": direction, "settings": settings, "confirm": confirm })
            }
            Self::Reload { confirm } => json!({ "command": "reload", "confirm": confirm }),
            Self::Confirm => json!({ "command": "confirm" }),
            Self::Rollback => json!({ "command": "rollback" }),
            Self::Bypass { switch, direction } => {
                json!({ "command": "bypass", "on": switch == "on", "direction": direction })
            }
            Self::Capture(arguments) => arguments.request("capture"),
            Self::Record(arguments) => arguments.request("record"),
            Self::Ping => json!({ "command": "ping" }),
        })
    }

    /// Asks, and prints what comes back: as JSON, or for people. `stop` ends a capture or a record.
    ///
    /// # Errors
    /// The error, with the remedy.
    pub fn run(&self, socket: &Path, as_json: bool, out: &mut dyn Write, stop: &AtomicBool) -> Result<(), String> {
        let mut client = ControlClient::connect(socket)?;
        let result = client.ask(&self.request()?)?;
        let unwritable = |error| format!("cannot write to standard output: {error}");
        if let Self::Capture(StreamArguments { file, .. }) | Self::Record(StreamArguments { file, .. }) = self {
            return client.save(file, out, stop);
        }
        let text = match self {
            _ if as_json => format!("{result:#}\n"),
            Self::Show => show_text(&result),
            Self::Stats => stats_text(&result),
            _ => change_text(&result),
        };
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unwritable)
    }
}

impl StreamArguments {
    fn request(&self, command: &str) -> Value {
        json!({ "command": command, "direction": self.direction, "duration": self.duration })
    }
}

fn setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text}: the value is missing; write KEY=VALUE"))?;
    Ok((key.trim().to_owned(), value.trim().into()))
}

/// A connection to a Forebay that runs.
pub struct ControlClient {
    replies: BufReader<UnixStream>,
}

impl ControlClient {
    /// Connects.
    ///
    /// # Errors
    /// No Forebay answers there, or permission is missing; with the remedy.
    pub fn connect(socket: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| {
            let remedy = match error.kind() {
                ErrorKind::PermissionDenied => "; ask as root, or as a member of the socket's group",
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    "; is forebay-live running? --socket names the path in its [control] table"
                }
                _ => "",
            };
            format!("control socket {}: {error}{remedy}", socket.display())
        };
        let stream = UnixStream::connect(socket).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { replies: BufReader::new(stream) })
    }

    /// Asks, and waits for the result.
    ///
    /// # Errors
    /// A refusal of the other side, or no reply.
    pub fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let lost = |error: std::io::Error| format!("no reply from forebay-live: {error}");
        self.replies.get_mut().write_all(format!("{request}\n").as_bytes()).map_err(lost)?;
        let mut line = String::new();
        self.replies.read_line(&mut line).map_err(lost)?;
        let mut reply: Value = serde_json::from_str(&line)
            .map_err(|_| "the connection ended without a reply; is forebay-live stopping?".to_owned())?;
        if reply["ok"] == true {
            return Ok(reply["result"].take());
        }
        Err(reply["error"].as_str().unwrap_or("refused without a reason").to_owned())
    }

    /// Writes the stream that follows the reply into `out`, until the other side ends it. `stop` asks it to.
    ///
    /// # Errors
    /// Those of the connection and of `out`.
    pub fn stream(mut self, out: &mut dyn Write, stop: &AtomicBool) -> std::io::Result<()> {
        self.replies.get_ref().set_read_timeout(Some(ROUND))?;
        let mut bytes = vec![0; 1 << 16];
        let mut asked = false;
        loop {
            if stop.load(Ordering::Relaxed) && !asked {
                asked = true;
                self.replies.get_ref().shutdown(Shutdown::Write)?;
            }
            match self.replies.read(&mut bytes) {
                Ok(0) => return out.flush(),
                Ok(count) => out.write_all(&bytes[..count])?,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => out.flush()?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn save(self, file: &Path, out: &mut dyn Write, stop: &AtomicBool) -> Result<(), String> {
        let failed = |error| format!("{}: {error}", file.display());
        if file == Path::new("-") {
            return self.stream(out, stop).map_err(failed);
        }
        let mut target = std::fs::File::create(file).map_err(failed)?;
        self.stream(&mut target, stop).map_err(failed)
    }
}

/// The running configuration, for people.
#[must_use]
pub fn show_text(result: &Value) -> String {
    let mut text = String::new();
    put_table(&mut text, "system", &result["system"], 0);
    for direction in result["directions"].as_array().into_iter().flatten() {
        text.push_str(&format!("{}\n", plain(&direction["direction"])));
        for (key, value) in direction.as_object().into_iter().flatten() {
            match &**key {
                "direction" => {}
                "queue" | "shadow" if value.is_object() => {
                    text.push_str(&format!("  {key:<20} {}\n", plain(&value["discipline"])));
                    put_table(&mut text, "", &value["parameters"], 4);
                }
                _ => put_table(&mut text, key, value, 2),
            }
        }
    }
    if let Some(left) = result["undone_unless_confirmed_in_s"].as_f64() {
        text.push_str(&format!("the last change is undone in {left:.0} s unless it is confirmed\n"));
    }
    text
}

/// A value with its key before it; of an object, a line for each of its keys.
fn put_table(text: &mut String, key: &str, value: &Value, indent: usize) {
    match value {
        Value::Object(object) => {
            let inner = if key.is_empty() { indent } else { indent + 2 };
            if !key.is_empty() {
                text.push_str(&format!("{:indent$}{key}\n", ""));
            }
            object.iter().for_each(|(key, value)| put_table(text, key, value, inner));
        }
        Value::Null => {}
        _ => {
            let width = 22_usize.saturating_sub(indent);
            text.push_str(&format!("{:indent$}{key:<width$} {}\n", "", plain(value)));
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The counters, for people.
#[must_use]
pub fn stats_text(result: &Value) -> String {
    let mut text = String::new();
    for port in result["directions"].as_array().into_iter().flatten() {
        let count = |what: &Value| {
            let (packets, bytes) = (what["packets"].as_u64().unwrap_or(0), what["bytes"].as_u64().unwrap_or(0));
            format!("{packets} packets, {bytes} bytes")
        };
        let [direction, from, to] = ["direction", "from", "to"].map(|key| plain(&port[key]));
        text.push_str(&format!("{direction} {from} > {to}\n"));
        let mut put = |key: &str, value: String| text.push_str(&format!("  {key:<26} {value}\n"));
        put("received", count(&port["received"]));
        put("sent", count(&port["sent"]));
        for (what, table) in [("dropped", &port["dropped"]), ("refused", &port["refused"])] {
            for (reason, of) in table.as_object().into_iter().flatten().filter(|(_, of)| of["packets"] != 0) {
                put(&format!("{what}, {reason}"), count(of));
            }
        }
        for (reason, marked) in port["marked"].as_object().into_iter().flatten().filter(|(_, marked)| **marked != 0) {
            put(&format!("marked, {reason}"), format!("{marked} packets"));
        }
        put("missed", format!("{} packets", port["missed_frames"]));
        put("backlog", format!("{} packets, {} bytes", port["backlog_packets"], port["backlog_bytes"]));
        for what in ["sojourn", "lateness"] {
            let ms = |quantile: &str| port[what][quantile].as_f64().unwrap_or(0.0) * 1e3;
            let (p50, p99, most) = (ms("p50_s"), ms("p99_s"), ms("max_s"));
            put(what, format!("median {p50:.3} ms, p99 {p99:.3} ms, longest {most:.3} ms"));
        }
    }
    for stream in result["streams"].as_array().into_iter().flatten() {
        let (kind, direction) = (plain(&stream["kind"]), plain(&stream["direction"]));
        let (packets, missed) = (&stream["packets"], &stream["missed"]);
        let ended = if stream["running"] == true { "" } else { ", ended" };
        text.push_str(&format!("{kind} {direction}: {packets} packets, {missed} missed{ended}\n"));
    }
    text
}

/// The changes, for people.
fn change_text(result: &Value) -> String {
    let names = |key: &str| {
        let names = result[key].as_array()?;
        Some(names.iter().map(plain).collect::<Vec<_>>().join(", "))
    };
    match (names("changed"), names("rolled_back"), result["confirm_within_s"].as_f64()) {
        (Some(changed), _, _) if changed.is_empty() => "nothing to change\n".to_owned(),
        (Some(changed), _, Some(seconds)) => {
            format!("changed: {changed}; undone in {seconds:.0} s unless you `forebay live confirm`\n")
        }
        (Some(changed), _, None) => format!("changed: {changed}\n"),
        (None, Some(undone), _) => format!("undone: {undone}\n"),
        _ if result["confirmed"] == true => "confirmed\n".to_owned(),
        _ if result.get("bypass").is_some() => {
            let on = if result["bypass"] == true { "on" } else { "off" };
            format!("bypass {on}: {}\n", names("directions").unwrap_or_default())
        }
        _ => format!("{}\n", plain(result)),
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
