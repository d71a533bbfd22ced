//! Messages of each pattern: their laws, and what is refused.

use super::matrix::Matrix;
use super::seam::{Message, Setting, TrafficPattern};
use super::tasks::Action;
use crate::Scenario;
use crate::plan::outline::Outline;

use std::collections::BTreeSet;

use forebay_qdisc::Time;
use forebay_units::Span;

const FABRIC: &str = r#"
    [topology.leaf_spine]
    leaves = 4
    spines = 2
    hosts = 4
    [topology.leaf_spine.host_link]
    rate = "100 Gbps"
    delay = "1 us"
"#;

fn load(flows: &str) -> Result<Scenario, String> {
    let transport = if flows.contains("transport") { "" } else { "transport = \"tcp\"" };
    let text = format!("duration = \"10 ms\"\n{FABRIC}\n[[flows]]\nname = \"f\"\n{transport}\n{flows}\n");
    let read = |name: &str| match name {
        "good.cm" => {
            Ok("Nodes 16\nConnections 2\n0->13 start 0 size 2000000\n13->0 id 7 start 1.5 size 5\n".to_owned())
        }
        "wide.cm" => Ok("Nodes 17\nConnections 1\n0->16 start 0 size 5\n".to_owned()),
        "late.cm" => Ok("Nodes 16\nConnections 1\n0->15 start 10000 size 5\n".to_owned()),
        "trigger.cm" => Ok("Nodes 16\nConnections 1\nTriggers 1\n0->1 trigger 1 size 5\n".to_owned()),
        "chain.cm" => Ok("Nodes 16\nConnections 2\nTriggers 1\n0->1 id 1 start 2 size 5 send_done_trigger 1\n\
             1->2 id 2 trigger 1 size 6\ntrigger id 1 oneshot\n"
            .to_owned()),
        "pair.goal" => Ok("num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\n\trecv 5b from 0\n}\n".to_owned()),
        "bad.goal" => Ok("num_ranks 2\nrank 0 {\nsend 5b to 1\n}\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    Scenario::load_with(&text, "test.toml", &[], &read).map_err(|error| error.render(false))
}

fn messages(flows: &str, seed: u64) -> Vec<Message> {
    let scenario = load(flows).unwrap_or_else(|error| panic!("{error}"));
    let outline = Outline::new(scenario.spec());
    let (pattern, setting) = outline.pattern(&scenario.spec().flows[0]).expect("it has a pattern");
    pattern.messages(&setting, seed)
}

fn with_setting<T>(flows: &str, check: impl FnOnce(&dyn TrafficPattern, &Setting<'_>) -> T) -> T {
    let scenario = load(flows).unwrap_or_else(|error| panic!("{error}"));
    let outline = Outline::new(scenario.spec());
    let (pattern, setting) = outline.pattern(&scenario.spec().flows[0]).expect("it has a pattern");
    check(pattern, &setting)
}

fn at_us(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

const OPEN_LOOP: &str = r#"pattern.open_loop = { load = 0.6, size = "100 KB" }"#;

#[test]
fn an_open_loop_has_the_stated_load_and_counts_of_a_poisson_process() {
    // 0.6 x 100 Gb/s x 10 ms of 100 KB, from each of 16 hosts.
    let expected = 750.0;
    assert_eq!(with_setting(OPEN_LOOP, |pattern, setting| pattern.count(setting)), 16.0 * expected);
    let (mut sum, mut squares, mut hosts) = (0.0, 0.0, 0.0);
    for seed in 1..=20 {
        let messages = messages(OPEN_LOOP, seed);
        assert!(messages.windows(2).all(|pair| pair[0].start <= pair[1].start));
        assert!(messages.iter().all(|message| message.start < at_us(10_000) && message.bytes == 100_000));
        for host in 0..16 {
            let count = messages.iter().filter(|message| message.ends[0] == host).count() as f64;
            sum += count;
            squares += (count - expected) * (count - expected);
            hosts += 1.0;
        }
    }
    // 320 counts with mean and variance 750: four standard deviations of their mean, and of their variance.
    let (mean, variance): (f64, f64) = (sum / hosts, squares / hosts);
    assert!((mean - expected).abs() < 4.0 * (expected / hosts).sqrt(), "{mean}");
    assert!((variance / expected - 1.0).abs() < 4.0 * (2.0_f64 / hosts).sqrt(), "{variance}");
}

#[test]
fn destinations_of_an_open_loop_are_uniform_over_the_others() {
    let messages = messages(OPEN_LOOP, 3);
    let mut counts = [[0.0; 16]; 16];
    messages.iter().for_each(|message| counts[message.ends[0]][message.ends[1]] += 1.0);
    let mut chi_square = 0.0;
    for (from, to) in counts.iter().enumerate() {
        assert_eq!(to[from], 0.0, "no host sends to itself");
        let mean = to.iter().sum::<f64>() / 15.0;
        let others = to.iter().enumerate().filter(|(host, _)| *host != from);
        chi_square += others.map(|(_, count)| (count - mean) * (count - mean) / mean).sum::<f64>();
    }
    // 16 x 14 degrees of freedom: mean 224, standard deviation 21.2.
    assert!((chi_square - 224.0).abs() < 4.0 * 21.2, "{chi_square}");
}

#[test]
fn load_and_other_groups_change_no_size_and_no_destination() {
    let high = messages(&OPEN_LOOP.replace("\"100 KB\"", "{ exponential = \"100 KB\" }"), 1);
    let low = messages(&OPEN_LOOP.replace("\"100 KB\"", "{ exponential = \"100 KB\" }").replace("0.6", "0.3"), 1);
    let of_host = |messages: &[Message]| -> Vec<(usize, u64)> {
        let of_host = messages.iter().filter(|message| message.ends[0] == 3);
        of_host.map(|message| (message.ends[1], message.bytes)).collect()
    };
    let (high, low) = (of_host(&high), of_host(&low));
    assert!(low.len() > 300 && high.len() > low.len());
    assert_eq!(high[..low.len()], low);
}

#[test]
fn an_open_loop_sends_from_start_to_stop() {
    let some = messages(&format!("{OPEN_LOOP}\nstart = \"2 ms\"\nstop = \"5 ms\"\nhosts = [\"host1\", \"host7\"]"), 1);
    assert!((350..=550).contains(&some.len()), "2 x 225 on average: {}", some.len());
    let between = at_us(2000)..at_us(5000);
    assert!(some.iter().all(|message| between.contains(&message.start) && message.ends[0] + message.ends[1] == 1));
}

#[test]
fn a_permutation_has_no_fixed_points_and_is_drawn_uniformly() {
    let pattern = r#"pattern.permutation = { size = "1 MB" }"#;
    for seed in 1..=50 {
        let messages = messages(pattern, seed);
        assert!(messages.iter().all(|message| message.ends[0] != message.ends[1] && message.start == Time::ZERO));
        let senders: Vec<usize> = messages.iter().map(|message| message.ends[0]).collect();
        assert_eq!(senders, (0..16).collect::<Vec<_>>());
        assert_eq!(messages.iter().map(|message| message.ends[1]).collect::<BTreeSet<_>>().len(), 16);
    }
    // Four hosts have nine permutations without fixed points.
    let four = format!("{pattern}\nhosts = [\"host0\", \"host1\", \"host2\", \"host3\"]");
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..900 {
        let to: Vec<usize> = messages(&four, seed).iter().map(|message| message.ends[1]).collect();
        *counts.entry(to).or_insert(0.0) += 1.0;
    }
    let chi_square: f64 = counts.values().map(|count| (count - 100.0) * (count - 100.0) / 100.0).sum();
    assert!(counts.len() == 9 && chi_square < 8.0 + 4.0 * 4.0, "{counts:?}");
}

#[test]
fn all_to_all_has_each_pair_once() {
    let messages = messages(r#"pattern.all_to_all = { size = { uniform = ["1 KB", "2 KB"] } }"#, 1);
    let pairs: BTreeSet<[usize; 2]> = messages.iter().map(|message| message.ends).collect();
    assert_eq!((messages.len(), pairs.len()), (240, 240));
    assert!(messages.iter().all(|message| message.ends[0] != message.ends[1]));
    assert_eq!(messages[..2].iter().map(|message| message.ends).collect::<Vec<_>>(), [[0, 1], [0, 2]]);
    assert!(messages.iter().map(|message| message.bytes).collect::<BTreeSet<_>>().len() > 100);
}

#[test]
fn an_incast_has_its_receiver_and_its_senders() {
    let once = messages(r#"pattern.incast = { receiver = "host5", senders = 15, size = "500 KB" }"#, 1);
    let senders: BTreeSet<usize> = once.iter().map(|message| message.ends[0]).collect();
    assert_eq!((once.len(), senders.len(), senders.contains(&5)), (15, 15, false));
    assert!(once.iter().all(|message| message.ends[1] == 5 && message.start == Time::ZERO));
    let named = messages(r#"pattern.incast = { senders = ["host2", "host9"], size = "1 KB" }"#, 4);
    assert_eq!(named.iter().map(|message| message.ends[0]).collect::<Vec<_>>(), [2, 9]);
    assert!(named[0].ends[1] == named[1].ends[1] && ![2, 9].contains(&named[0].ends[1]));
}

#[test]
fn bursts_of_an_incast_follow_each_other_until_the_stop() {
    let every = |every: &str| {
        let keys = format!("size = \"1 KB\", senders = 3, every = {every}");
        messages(&format!("start = \"1 ms\"\nstop = \"9 ms\"\npattern.incast = {{ {keys} }}"), 1)
    };
    let regular = every("\"2 ms\"");
    let starts: Vec<u64> = regular.iter().map(|message| (message.start.seconds() * 1e3).round() as u64).collect();
    assert_eq!(starts, [1, 1, 1, 3, 3, 3, 5, 5, 5, 7, 7, 7]);
    let receivers: BTreeSet<usize> = regular.iter().map(|message| message.ends[1]).collect();
    assert!(receivers.len() > 1, "drawn for each burst");
    let drawn = every("{ exponential = \"10 us\" }");
    // 800 bursts on average.
    assert!((2100..2700).contains(&drawn.len()), "{}", drawn.len());
}

#[test]
fn a_matrix_has_the_connections_of_its_file() {
    let messages = messages("start = \"1 ms\"\npattern.matrix = { file = \"good.cm\" }", 1);
    let (first, second) = (at_us(1000), at_us(1001) + Span::from_nanoseconds(500));
    let expected =
        [Message { start: first, ends: [0, 13], bytes: 2_000_000 }, Message { start: second, ends: [13, 0], bytes: 5 }];
    assert_eq!(messages, expected);
    let stored = load("pattern.matrix = { file = \"good.cm\" }").unwrap().to_toml();
    assert!(stored.contains("\"13->0 start 1.5 size 5\"") && !stored.contains("good.cm"), "{stored}");
    assert!(Scenario::load(&stored, "test.toml", &[]).is_ok(), "a stored scenario needs no file");
}

#[test]
fn a_triggered_connection_waits_at_its_own_host() {
    let uec = "transport = \"uec\"\npattern.matrix = { file = \"chain.cm\" }";
    with_setting(uec, |pattern, setting| {
        let messages = pattern.messages(setting, 1);
        assert_eq!(messages.iter().map(|message| message.start).collect::<Vec<_>>(), [at_us(2), Time::NEVER]);
        let tasks = pattern.tasks(setting, 1);
        // The first one arrives at host 1; when its ACK would be back, host 1 sends.
        let actions: Vec<(usize, Action)> = tasks.all.iter().map(|task| (task.host, task.action)).collect();
        assert_eq!(actions, [(1, Action::Send(1)), (1, Action::Receive(0)), (1, Action::Acknowledge([0, 1]))]);
        let waits: Vec<(u32, u32)> = tasks.dependencies.iter().map(|it| (it.task, it.on)).collect();
        assert_eq!(waits, [(2, 1), (0, 2)]);
    });
    let stored = load(uec).unwrap().to_toml();
    assert!(stored.contains("\"1->2 trigger 1 size 6\""), "{stored}");
    assert!(Scenario::load(&stored, "test.toml", &[]).is_ok(), "a stored scenario needs no file");
}

#[test]
fn triggers_that_never_act_are_refused() {
    let matrix = |connections: &[&str], triggers: &[&str]| {
        let (count, lines) = (connections.len(), connections.join("\n"));
        let text =
            format!("Nodes 4\nConnections {count}\nTriggers {}\n{lines}\n{}", triggers.len(), triggers.join("\n"));
        Matrix::parse(&text)
    };
    let (first, second) = ("0->1 start 0 size 9 send_done_trigger 1", "1->2 trigger 1 size 9");
    for (connections, triggers, message) in [
        (&[first, second][..], &[][..], "line 4 is \"0->1 start 0 size 9 send_done_trigger 1\": there is no trigger 1"),
        (&[first, second], &["trigger id 2 oneshot"], "there is no trigger 1: expected a line `trigger id 1 oneshot`"),
        (&[first, second], &["trigger id 1 oneshot", "trigger id 1 oneshot"], "another trigger has this `id`"),
        (&[first, second], &["trigger id 1"], "line 6 is \"trigger id 1\": expected a trigger, such as"),
        (&[first, second], &["trigger id 1 barrier"], "expected a trigger, such as"),
        (&[first, second], &["trigger id 1 barrier count 0"], "`count` is out of bounds"),
        (&[first, second], &["trigger oneshot"], "`id` is missing"),
        (
            &["0->1 start 0 size 9", second],
            &["trigger id 1 oneshot"],
            "line 5 is \"1->2 trigger 1 size 9\": no connection fires its trigger 1",
        ),
        (
            &[first, second],
            &["trigger id 1 barrier count 2"],
            "a connection fires its trigger 1, a barrier that waits for 2",
        ),
        (
            &[first, first, second],
            &["trigger id 1 oneshot"],
            "2 connections fire its trigger 1, which happens once: expected `barrier count 2`",
        ),
        (&[first, first, second], &["trigger id 1 multishot"], "starts a connection each time that it is fired"),
        (
            &[first, "2->3 trigger 1 size 9"],
            &["trigger id 1 oneshot"],
            "line 5 is \"2->3 trigger 1 size 9\": the connection 0->1 fires its trigger 1, and it begins at node 2",
        ),
        (&["0->1 start 0 trigger 1 size 9"], &["trigger id 1 oneshot"], "it has a `start` and a `trigger`"),
        (&["0->1 trigger 1 size 9 send_done_trigger 1"], &["trigger id 1 oneshot"], "it waits for itself"),
        (
            &["0->1 trigger 2 size 9 send_done_trigger 1", "1->0 trigger 1 size 9 recv_done_trigger 2"],
            &["trigger id 1 oneshot", "trigger id 2 oneshot"],
            "2 connections wait for each other in a circle",
        ),
    ] {
        let error = matrix(connections, triggers).unwrap_err();
        assert!(error.contains(message), "{connections:?} {triggers:?}: {error}");
    }
    let error = Matrix::parse("Nodes 2\nConnections 0\nTriggers 2\ntrigger id 1 oneshot").unwrap_err();
    assert_eq!(error, "line 3 has 2 triggers, and 1 follow");
    assert!(
        matrix(&[first, "3->1 start 0 size 9 recv_done_trigger 1", second], &["trigger barrier count 2 id 1"]).is_ok()
    );
    assert!(matrix(&[first, second], &["trigger id 1 multishot", "trigger id 7 oneshot"]).is_ok());
}

#[test]
fn a_trace_becomes_its_messages() {
    let goal = "transport = \"uec\"\nhosts = [\"host3\", \"host9\"]\npattern.goal = { file = \"pair.goal\" }";
    let expected = [Message { start: Time::NEVER, ends: [0, 1], bytes: 5 }];
    assert_eq!(messages(goal, 1), expected);
    let stored = load(goal).unwrap().to_toml();
    assert!(stored.contains("\"l1: recv 5b from 0 tag 0\""), "{stored}");
    assert!(Scenario::load(&stored, "test.toml", &[]).is_ok(), "a stored scenario needs no file");
}

#[test]
fn lines_that_are_no_connections_are_refused() {
    let head = "Nodes 4\nConnections 1\n";
    for (text, message) in [
        ("", "`Nodes` is missing"),
        ("Nodes 4\n", "`Connections` is missing"),
        ("Nodes four\n", "line 1 is \"Nodes four\": expected a whole number"),
        ("0->1 start 0 size 5\n", "line 1 is \"0->1 start 0 size 5\": expected `Nodes` first"),
        (head, "line 2 has 1 connections, and 0 follow"),
        (&format!("{head}0->4 start 0 size 5"), "line 3 is \"0->4 start 0 size 5\": there is no node 4"),
        (&format!("{head}2->2 start 0 size 5"), "line 3 is \"2->2 start 0 size 5\": node 2 would send to itself"),
        (&format!("{head}0 to 1"), "line 3 is \"0 to 1\": expected a connection, such as"),
        (&format!("{head}0->1 start 0 size 0"), "`size` is missing: at least a byte"),
        (&format!("{head}0->1 size 9"), "`start` is missing"),
        (&format!("{head}0->1 start -1 size 9"), "`start -1` is no time in microseconds"),
        (&format!("{head}0->1 start 0 size many"), "`size many` is no whole number"),
        (&format!("{head}0->1 start 0 size"), "`size` needs a number of bytes"),
        (&format!("{head}0->1 start 0 size 9 prio 1"), "unknown word `prio`"),
        (&format!("{head}0->1 msg start 0 size 9"), "messages that share a connection are not supported yet"),
        (
            "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 9\n1->2 id 1 start 0 size 9",
            "another connection has this `id`",
        ),
    ] {
        let error = Matrix::parse(text).unwrap_err();
        assert!(error.contains(message), "{text:?}: {error}");
    }
    let good = Matrix::parse("# ours\nNodes 4\n\nConnections 1\nTriggers 0\n0->1 id 3 start 2.5 size 9\n").unwrap();
    assert_eq!((good.nodes, good.connections[0].to_string().as_str()), (4, "0->1 start 2.5 size 9"));
}

#[test]
fn messages_that_cannot_wait_are_refused_with_their_place() {
    for (flows, message) in [
        (
            "pattern.matrix = { nodes = 2, connections = [\"0->1 trigger 1 size 1\"] }",
            "`0->1 trigger 1 size 1`: no connection fires its trigger 1",
        ),
        (
            "pattern.matrix = { file = \"chain.cm\" }",
            "messages of `matrix` wait for each other, and TCP connections do not",
        ),
        (
            "pattern.all_reduce = { algorithm = \"ring\", size = \"1 MB\" }",
            "messages of `all_reduce` wait for each other",
        ),
        (
            "pattern.all_reduce = { algorithm = \"ring\", size = \"1 MB\" }\nhosts = \"host1\"",
            "`all_reduce` has 1 hosts",
        ),
        ("pattern.all_reduce = { algorithm = \"ring\", size = \"15 B\" }", "`size` is too small for 16 hosts"),
        ("pattern.all_reduce = { algorithm = \"ring\", size = \"1 MB\", repeat = 0 }", "`repeat` is 0"),
        ("pattern.all_gather = { algorithm = \"ring\", size = \"1 MB\" }\nstop = \"1 ms\"", "`stop` has no effect"),
        (
            "pattern.reduce_scatter = { algorithm = \"halving_doubling\", size = \"1 MB\" }\n\
             hosts = [\"host0\", \"host1\", \"host2\"]",
            "`halving_doubling` with 3 hosts",
        ),
        ("pattern.goal = { file = \"bad.goal\" }", "`bad.goal` is no trace in the GOAL format: line 3 is"),
        ("pattern.goal = { file = \"absent.goal\" }", "cannot read `absent.goal`: no such file"),
        ("pattern.goal = {}", "a trace without operations"),
        ("pattern.goal = { lines = [\"num_ranks 1\", \"rank 0 {\", \"calc 5\", \"}\"] }", "a trace without messages"),
        (
            "pattern.goal = { file = \"pair.goal\" }\nhosts = [\"host1\", \"host2\"]",
            "messages of `goal` wait for each other",
        ),
    ] {
        let error = load(flows).err().unwrap_or_else(|| panic!("{flows} is accepted"));
        assert!(error.contains(message), "{flows}: {error}");
    }
}

#[test]
fn what_makes_no_pattern_is_refused_with_its_place() {
    let permutation = "pattern.permutation = { size = \"1 KB\" }";
    for (flows, message) in [
        (&*OPEN_LOOP.replace("0.6", "1.2"), "a load of 1.2"),
        (&*OPEN_LOOP.replace("0.6", "0"), "a load of 0"),
        (
            &*format!("{OPEN_LOOP}\nstart = {{ uniform = [\"0 s\", \"1 ms\"] }}"),
            "`open_loop` draws the start of each flow",
        ),
        (&*OPEN_LOOP.replace("100 KB", "0 B"), "`size` is out of bounds"),
        (&*OPEN_LOOP.replace("100 KB", "1 B").replace("0.6", "1"), "flows are too many"),
        (&*format!("{permutation}\ncount = 3"), "`count` does not go together with `pattern`"),
        (&*format!("{permutation}\nfrom = \"host1\""), "`from` does not go together with `pattern`"),
        (&*format!("{permutation}\ndirection = \"both\""), "`pattern` has no direction"),
        (&*format!("{permutation}\napp.fixed = {{ size = \"1 KB\" }}"), "`app` does not go together with `pattern`"),
        (&*format!("{permutation}\nstop = \"1 ms\""), "`stop` has no effect on `permutation`"),
        (&*format!("{permutation}\nhosts = \"host1\""), "`permutation` has 1 hosts"),
        (&*format!("{permutation}\nhosts = [\"host1\", \"host99\"]"), "there is no host `host99`"),
        (&*format!("{permutation}\nhosts = [\"host1\", \"host1\"]"), "`host1` is given twice"),
        (&*format!("{permutation}\nhosts = [\"host1\", \"leaf1\"]"), "`leaf1` is not a host"),
        ("from = \"host1\"\nto = \"host2\"\nhosts = [\"host1\"]", "`f` has `hosts` and no `pattern`"),
        ("pattern.incast = { senders = 16, size = \"1 KB\" }", "16 hosts cannot send to another one: there are 16"),
        ("pattern.incast = { senders = 0, size = \"1 KB\" }", "there must be at least 1 host that sends"),
        ("pattern.incast = { senders = [], size = \"1 KB\" }", "0 hosts cannot send to another one"),
        ("pattern.incast = { senders = 2, receiver = \"host16\", size = \"1 KB\" }", "the topology has no `host16`"),
        (
            "pattern.incast = { senders = [\"host1\", \"host2\"], receiver = \"host2\", size = \"1 KB\" }",
            "`host2` would send to itself",
        ),
        ("pattern.incast = { senders = [\"host1\", \"host1\"], size = \"1 KB\" }", "`host1` sends twice"),
        ("pattern.incast = { senders = 2, size = \"1 KB\", every = \"0 s\" }", "`every` is zero"),
        ("pattern.incast = { senders = 2, size = \"1 KB\" }\nstop = \"1 ms\"", "`stop` has no effect"),
        ("pattern.matrix = { file = \"absent.cm\" }", "cannot read `absent.cm`: no such file"),
        ("pattern.matrix = { file = \"wide.cm\" }", "the matrix has 17 nodes, and there are 16 hosts"),
        ("pattern.matrix = { file = \"late.cm\" }", "`0->15 start 10000 size 5` starts after the end of the run"),
        ("pattern.matrix = { file = \"trigger.cm\" }", "`trigger.cm` is no connection matrix: line 3 has 1 triggers"),
        ("pattern.matrix = {}", "a matrix without connections"),
        (
            "pattern.matrix = { nodes = 2, connections = [\"0->2 start 0 size 1\"] }",
            "has a node that the matrix has not",
        ),
        ("pattern.ring = {}", "ring"),
    ] {
        let error = load(flows).err().unwrap_or_else(|| panic!("{flows} is accepted"));
        assert!(error.contains(message), "{flows}: {error}");
    }
    let udp = "transport.udp = { packet = \"1 KB\", poisson = { rate = \"1 Mbps\" } }";
    let text = format!("duration = \"1 ms\"\n{FABRIC}\n[[flows]]\nname = \"f\"\n{udp}\n{permutation}\n");
    let error = Scenario::load(&text, "test.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("the flows of a pattern end with their last byte"), "{error}");
    let star = "[topology.star]\naccess = { rate = \"1 Gbps\", delay = \"1 ms\" }\n\
                bottleneck = { rate = \"1 Gbps\", delay = \"1 ms\" }";
    let text = format!("duration = \"1 ms\"\n{star}\n[[flows]]\nname = \"f\"\ntransport = \"tcp\"\n{permutation}\n");
    let error = Scenario::load(&text, "test.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("`pattern` needs a topology whose hosts have names"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_of_matrices_panic(text in "(Nodes |Connections |[0-9a-z.>\\- ]{0,12}|\n){0,12}") {
        if let Err(reason) = Matrix::parse(&text) {
            proptest::prop_assert!(!reason.is_empty());
        }
    }

    #[test]
    fn connections_are_read_as_they_are_written(
        drawn in proptest::collection::vec((0_u32..9, 0_u32..9, 0_u64..1_000_000, 1_u64..1_000_000_000), 0..20),
    ) {
        let connections: Vec<super::connection::Connection> = drawn.into_iter().map(|(from, to, start_ns, bytes)| {
            let ends = [from, if to < from { to } else { to + 1 }];
            super::connection::Connection {
                ends,
                start_us: Some(start_ns as f64 / 1e3),
                bytes,
                id: None,
                trigger: None,
                send_done: None,
                recv_done: None,
            }
        }).collect();
        let lines: String = connections.iter().map(|connection| format!("{connection}\n")).collect();
        let text = format!("Nodes 10\nConnections {}\n{lines}", connections.len());
        let read = Matrix::parse(&text).map_err(proptest::test_runner::TestCaseError::fail)?;
        proptest::prop_assert_eq!(read.connections, connections);
    }
}
