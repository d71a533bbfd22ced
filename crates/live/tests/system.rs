//! Forebay's effects on a machine's network, in network namespaces that are made for each test: needs root.
//!
//! Parts that must run inside a namespace, or be killed, run in a separate process: this program again, with the name
//! of a [part](parts) in its environment.

#[path = "system/network.rs"]
mod network;
#[path = "system/parts.rs"]
mod parts;

use std::thread::sleep;
use std::time::Duration;

use network::{Network, clock};

/// The time in which the bridge must take over.
const TAKEOVER: Duration = Duration::from_millis(200);
/// The number of times that it must.
const ROUNDS: usize = 10;

#[test]
#[ignore = "a part of the other tests, which run it in processes of its own"]
fn part() {
    parts::run();
}

/// The fault, its creation and removal, the program, and its answer.
struct Bad {
    make: &'static str,
    undo: &'static str,
    wanted: &'static str,
    says: &'static [&'static str],
}

const fn bad(make: &'static str, undo: &'static str, wanted: &'static str, says: &'static [&'static str]) -> Bad {
    Bad { make, undo, wanted, says }
}

/// The commands are of `ip`, separated by semicolons.
const BAD: &[Bad] = &[
    bad("", "", "lan9 wan0", &["interfaces.inside", "no interface `lan9`", "did you mean `lan0`?"]),
    bad("", "", "lan0 lan0", &["both `lan0`"]),
    bad("", "", "lan0 lo", &["interfaces.outside", "loopback"]),
    bad("link set wan0 down", "link set wan0 up", "lan0 wan0", &["`wan0` is down", "ip link set wan0 up"]),
    bad(
        "addr add 10.9.0.1/24 dev lan0",
        "addr del 10.9.0.1/24 dev lan0",
        "lan0 wan0",
        &["10.9.0.1/24", "ip addr flush dev lan0"],
    ),
    bad(
        "link add br9 type bridge; link set wan0 master br9",
        "link del br9",
        "lan0 wan0",
        &["`wan0` is a port of `br9`", "nomaster"],
    ),
    bad("link set lan0 mtu 1400", "link set lan0 mtu 1500", "lan0 wan0", &["(1400)", "(1500)", "set wan0 mtu 1400"]),
    bad(
        "link add link wan0 name mac0 type macvlan; link set mac0 up",
        "link del mac0",
        "lan0 mac0 rate=20000",
        &["outbound.rate", "20 Gbps is above the 10 Gbps of `mac0`"],
    ),
    bad(
        "link add many0 numrxqueues 4 type veth peer name many1; link set many0 up; link set many1 up",
        "link del many0",
        "many0 wan0 af_xdp",
        &["io.method", "`many0`", "4 queues", "ethtool -L many0 combined 1"],
    ),
    bad("", "", "lan0 wan0 fail_open=wan0", &["io.fail_open", "`wan0` exists that Forebay did not create"]),
    bad("tuntap add tun9 mode tun", "link del tun9", "tun9 wan0", &["`tun9` is not an Ethernet interface"]),
];

#[test]
fn bad_input_is_one_clear_error_and_leaves_the_network_as_it_was() {
    let Some(network) = Network::new("bad") else { return };
    assert_eq!(network.part("check", "lan0 wan0 fail_open=fb-lan0").lines(), ["ok"]);
    for Bad { make, undo, wanted, says } in BAD {
        network.ip_all(make);
        let before = network.settled();
        let answer = network.part("check", wanted).lines().join("\n");
        assert!(answer.starts_with("error "), "{wanted}: {answer}");
        for piece in *says {
            assert!(answer.contains(piece), "{wanted}: `{piece}` is missing in: {answer}");
        }
        assert_eq!(network.snapshot(), before, "{wanted}: something was changed");
        network.ip_all(undo);
    }
}

#[test]
fn a_capability_that_is_missing_is_named() {
    let Some(network) = Network::new("cap") else { return };
    let wanted = "lan0 wan0 fail_open=fb-lan0";
    for (dropped, named) in
        [("-net_raw", "lacks CAP_NET_RAW:"), ("-net_admin", "lacks CAP_NET_ADMIN:"), ("-bpf,-sys_admin", "CAP_BPF:")]
    {
        let mut part = network.part_through(&["setpriv", "--bounding-set", dropped], "check", wanted);
        let answer = part.lines().join("\n");
        assert!(answer.starts_with("error ") && answer.contains(named), "{dropped}: {answer}");
    }
    assert_eq!(network.part("check", wanted).lines(), ["ok"]);
}

#[test]
fn an_interface_is_used_by_one_forebay_at_a_time() {
    let Some(network) = Network::new("two") else { return };
    let mut first = network.part("hold", "lan0 wan0");
    first.wait_for("ready");
    let before = network.settled();
    let answer = network.part("hold", "lan0 wan0").lines().join("\n");
    assert!(answer.starts_with("error interfaces: another Forebay uses `lan0`"), "{answer}");
    assert_eq!(network.snapshot(), before);
    first.kill();
    assert_eq!(network.part("check", "lan0 wan0").lines(), ["ok"]);
}

#[test]
fn offloads_are_off_while_it_runs_and_as_they_were_after_any_end() {
    let Some(network) = Network::new("off") else { return };
    let before = network.settled();
    assert!(before.contains("lan0 tx-tcp-segmentation true"), "{before}");
    for (wanted, ends) in [("lan0 wan0", ["end", "panic", ""]), ("lan0 wan0 here", ["end", "panic", "end"])] {
        for end in ends {
            let mut holder = network.part("hold", wanted);
            holder.wait_for("ready");
            let during = network.snapshot();
            for feature in ["tx-tcp-segmentation", "tx-generic-segmentation", "tx-checksum-ip-generic"] {
                assert!(during.contains(&format!("lan0 {feature} false")), "{feature}: {during}");
                assert!(during.contains(&format!("wan0 {feature} false")), "{feature}: {during}");
            }
            // Not killed where it restores them itself.
            if end.is_empty() {
                holder.kill()
            } else {
                holder.say(end)
            }
            network.wait_until(&format!("offloads are restored after `{end}` ({wanted})"), || {
                network.snapshot() == before
            });
        }
    }
}

#[test]
fn a_renamed_interface_gets_its_offloads_back() {
    let Some(network) = Network::new("rename") else { return };
    let features = |name: &str| -> Vec<String> {
        let lines = network.part("features", name).lines();
        lines.iter().map(|line| line.trim_start_matches(name).to_owned()).collect()
    };
    let before = features("lan0");
    assert!(before.contains(&" tx-tcp-segmentation true true".to_owned()), "{before:?}");
    for (wanted, names) in [("lan0 wan0", ["lan0", "lan7"]), ("lan7 wan0 here", ["lan7", "lan8"])] {
        let mut holder = network.part("hold", wanted);
        holder.wait_for("ready");
        let [name, other] = names;
        assert_ne!(features(name), before);
        network.ip_all(&format!(
            "link set {name} down; link set {name} name {other}; link set {other} up; \
             link add {name} type veth peer name peer0"
        ));
        holder.say("end");
        network.wait_until("its offloads are restored", || features(other) == before);
        network.ip(&format!("link del {name}"));
    }
}

#[test]
fn a_deleted_interface_ends_the_run_with_the_cause() {
    let Some(network) = Network::new("gone") else { return };
    network.ip_all("tuntap add tap8 mode tap; tuntap add tap9 mode tap");
    for (method, inside, outside, gone) in
        [("tap", "tap8", "tap9", "tap9"), ("af_xdp", "lan0", "wan0", "wan0"), ("af_packet", "lan0", "wan0", "lan0")]
    {
        let mut daemon = network.daemon(&format!(
            "interfaces = {{ inside = '{inside}', outside = '{outside}' }}\n\
             io.method = '{method}'\noutbound = {{ rate = '10 Mbps', queue = 'drop_tail' }}"
        ));
        daemon.wait_until_it_logs("ready");
        // It continues with another name, and no frame is ever sent.
        network.ip_all(&format!("link set {gone} down; link set {gone} name other; link set other up"));
        sleep(Duration::from_millis(1200));
        assert_eq!(daemon.status_now(), None, "{method}: {:?}", daemon.log());
        network.ip("link del other");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(3), "{method}: {log:?}");
        let cause = format!("forebay-live: the interface `{gone}` was deleted or moved to another network namespace");
        assert!(log.last().is_some_and(|line| line.starts_with(&cause)), "{method}: {log:?}");
        if method == "af_xdp" {
            network.ip("link add wan0 type veth peer name wan1");
            network.ip_all("link set wan0 up; link set wan1 up");
        }
    }
}

#[test]
fn the_bridge_stays_until_it_is_torn_down_and_is_used_again() {
    let Some(network) = Network::new("bridge") else { return };
    let before = network.settled();
    let wanted = "lan0 wan0 fail_open=fb-lan0";
    for _ in 0..2 {
        let mut holder = network.part("hold", wanted);
        holder.wait_for("ready");
        let during = network.ip("-d link show dev fb-lan0");
        for piece in ["forward_delay 0 ", "stp_state 0 ", "mcast_snooping 0 ", "addrgenmode none", "state UP"] {
            assert!(during.contains(piece), "{piece}: {during}");
        }
        let port = network.ip("-d link show dev lan0");
        for piece in ["master fb-lan0", "hairpin off", "learning off", "flood on", "state forwarding"] {
            assert!(port.contains(piece), "{piece}: {port}");
        }
        assert!(!network.teardown("fb-lan0").0, "it is in use");
        holder.say("end");
        holder.lines();
        assert_eq!(holder.signal(), None, "it makes no system call that it may not make");
        network.ip("link show dev fb-lan0");
    }
    let answer = network.part("check", "lan0 wan0").lines().join("\n");
    assert!(answer.contains("forebay-live teardown fb-lan0"), "{answer}");
    let (done, said) = network.teardown("fb-lan0");
    assert!(done && said.contains("released") && said.contains("lan0") && said.contains("wan0"), "{said}");
    assert_eq!(network.snapshot(), before);
    assert!(!network.teardown("fb-lan0").0, "it is gone");
    network.ip("link add br9 type bridge");
    assert!(!network.teardown("br9").0, "it is not ours");
}

#[test]
fn set_up_that_fails_late_leaves_the_network_as_it_was() {
    let Some(network) = Network::new("late") else { return };
    let before = network.settled();
    let answer = network.part("hold", "lan0 wan0 fail_open=fb-lan0 fail").lines().join("\n");
    assert!(answer.contains("error it fails late"), "{answer}");
    network.wait_until("all is as it was", || network.snapshot() == before);
}

#[test]
fn traffic_flows_again_over_the_bridge_when_the_process_is_killed() {
    let Some(network) = Network::new("kill") else { return };
    let streams = network.streams();
    let (mut gaps, mut rounds) = (Vec::new(), 0);
    // A round without sends for so long, since the processor was busy elsewhere, does not count.
    while gaps.len() < 2 * ROUNDS {
        rounds += 1;
        assert!(rounds <= 10 * ROUNDS, "this machine is too busy for this test");
        let mut holder = network.part("hold", "lan0 wan0 fail_open=fb-lan0");
        holder.wait_for("ready");
        let shut = clock();
        sleep(Duration::from_millis(100));
        let killed = clock();
        holder.kill();
        let mut found = Vec::new();
        for stream in &streams {
            network.wait_until("traffic flows again", || !stream.arrived_since(killed + 2 * TAKEOVER).is_empty());
            let first = stream.arrived_since(shut)[0];
            assert!(first >= killed, "round {rounds}: the entrances were not shut");
            let late: Vec<_> = stream.lost_since(killed + TAKEOVER).iter().map(|sent| *sent - killed).collect();
            assert!(late.is_empty(), "round {rounds}: lost after the takeover: {late:?}");
            found.push(first - killed);
        }
        if found.iter().all(|gap| *gap < TAKEOVER) {
            gaps.extend(found);
        }
    }
    gaps.sort();
    let [least, middle, most] = [0, ROUNDS, 2 * ROUNDS - 1].map(|at| gaps[at]);
    println!("traffic stopped for {least:?} at least, {middle:?} in the middle, {most:?} at most; {rounds} rounds");
}

#[test]
fn after_privileges_are_dropped_little_is_left() {
    let Some(network) = Network::new("drop") else { return };
    assert_eq!(network.part("drop", "refuse").lines(), ["works", "refused", "in force"]);
    for what in ["spawn", "socket", "directory"] {
        let mut part = network.part("drop", what);
        let lines = part.lines();
        assert_eq!((lines.as_slice(), part.signal()), (&["works".to_owned()][..], Some(libc::SIGSYS)), "{what}");
    }
}

#[test]
fn packet_sockets_that_are_open_forward_without_any_privilege() {
    let Some(network) = Network::new("open") else { return };
    network.finish_checksums();
    let streams = network.streams();
    let mut forwarder = network.part("forward", "lan0 wan0");
    forwarder.wait_for("ready");
    for stream in &streams {
        network.wait_until("a hundred frames are through", || stream.arrived_since(Duration::ZERO).len() >= 100);
    }
    forwarder.kill();
    // They were forwarded only once.
    let ended = clock();
    sleep(Duration::from_millis(100));
    assert!(streams.iter().all(|stream| stream.arrived_since(ended).is_empty()));
}
