//! Output for people, and requests.

use clap::Parser;

use super::*;
use crate::control::{ControlRequest, Direction, parse_request};

#[derive(Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: ClientCommand,
}

fn command(words: &[&str]) -> ClientCommand {
    CommandLine::try_parse_from([&["forebay-live"], words].concat()).unwrap_or_else(|error| panic!("{error}")).command
}

#[test]
fn every_command_line_is_a_request() {
    for words in [
        &["show"][..],
        &["stats"],
        &["set", "outbound", "rate=50 Mbps", "queue.dbl.max_cells=8", "--confirm", "30s"],
        &["reload"],
        &["reload", "--confirm", "1 min"],
        &["confirm"],
        &["rollback"],
        &["bypass", "on"],
        &["bypass", "off", "--direction", "inbound"],
        &["capture", "drops.pcapng"],
        &["record", "night.fbr", "--direction", "outbound", "--duration", "8h"],
        &["ping"],
    ] {
        let request = command(words).request().unwrap();
        assert!(parse_request(&request.to_string()).is_ok(), "{words:?}: {:?}", parse_request(&request.to_string()));
    }
    let request = command(&["set", "outbound", "rate = 50 Mbps"]).request().unwrap();
    let settings = vec![("rate".to_owned(), "50 Mbps".to_owned())];
    let expected = ControlRequest::Set { direction: Direction::Outbound, settings, confirm: None };
    assert_eq!(parse_request(&request.to_string()), Ok(expected));
    assert!(command(&["set", "outbound", "rate"]).request().unwrap_err().contains("write KEY=VALUE"));
}

#[test]
fn a_socket_without_a_listener_is_one_error_with_its_remedy() {
    let error = ControlClient::connect(Path::new("/nowhere/live.sock")).err().unwrap();
    assert!(error.contains("/nowhere/live.sock") && error.contains("is forebay-live running?"), "{error}");
}

#[test]
fn tables_say_what_runs() {
    let queue = json!({ "discipline": "dbl", "parameters": { "max_cells": 8, "limit": "100 packets" } });
    let direction =
        json!({ "direction": "outbound", "from": "lan0", "rate": "8 Mbps", "queue": queue, "shadow": null });
    let shown = json!({
        "system": { "method": "af_packet" }, "directions": [direction], "undone_unless_confirmed_in_s": 12.2
    });
    let expected = "system\n  method               af_packet\noutbound\n  from                 lan0\n\
                    \x20 rate                 8 Mbps\n  queue                dbl\n    max_cells          8\n\
                    \x20   limit              100 packets\nthe last change is undone in 12 s unless it is confirmed\n";
    assert_eq!(show_text(&shown), expected);
    let span = json!({ "p50_s": 0.001, "p99_s": 0.002, "max_s": 0.0025 });
    let count = |packets: u64| json!({ "packets": packets, "bytes": packets * 100 });
    let port = json!({
        "direction": "outbound", "from": "lan0", "to": "wan0", "received": count(5), "sent": count(3),
        "dropped": { "overflow": count(2), "early": count(0) }, "marked": { "early": 1 }, "missed_frames": 0,
        "backlog_packets": 0, "backlog_bytes": 0, "sojourn": span, "lateness": span,
    });
    let text = stats_text(&json!({ "directions": [port], "streams": [
        { "kind": "capture", "direction": "outbound", "packets": 2, "missed": 1, "running": false }
    ] }));
    assert!(text.starts_with("outbound lan0 > wan0\n  received                   5 packets, 500 bytes\n"), "{text}");
    assert!(text.contains("dropped, overflow          2 packets, 200 bytes") && !text.contains("early, "), "{text}");
    assert!(text.contains("median 1.000 ms, p99 2.000 ms, longest 2.500 ms"), "{text}");
    assert!(text.ends_with("capture outbound: 2 packets, 1 missed, ended\n"), "{text}");
    assert_eq!(change_text(&json!({ "changed": [] })), "nothing to change\n");
    let waiting = change_text(&json!({ "changed": ["inbound"], "confirm_within_s": 30.0 }));
    assert_eq!(waiting, "changed: inbound; undone in 30 s unless you `forebay live confirm`\n");
}
