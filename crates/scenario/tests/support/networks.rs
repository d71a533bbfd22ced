//! Random networks of every topology but `topology.ethernet`, as scenarios; and those of the repository.
//!
//! All links of a network take their rates and delays from two of each, so that much happens at one instant. A run is
//! as long as a few thousand packets at the higher rate, and no delay is longer than a part of that.

#[path = "mixed.rs"]
mod mixed;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use forebay_scenario::{PortSpec, choices};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Packets of 1000 bytes one after the other on the fastest link.
const PACKETS: u64 = 2_500;
const LONGEST_PS: u64 = 1_500_000_000_000;

fn names(kind: &str) -> Vec<String> {
    choices().into_iter().filter(|choice| choice.kind == kind).map(|choice| choice.name).collect()
}

/// Every discipline with its defaults, and with a short limit, ECN and low thresholds where it takes them.
static QUEUES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let settings: [&[(&str, &str)]; 6] = [
        &[],
        &[("limit", "15 packets")],
        &[("limit", "15 packets"), ("ecn", "true")],
        &[("limit", "20 KB")],
        &[("limit", "30 packets"), ("min_threshold", "2 packets"), ("max_threshold", "9 packets"), ("weight", "0.1")],
        &[("target", "1 ms"), ("interval", "5 ms"), ("ecn", "true")],
    ];
    let mut queues: Vec<String> = [
        "{ cbq = { classes = [{ name = \"a\", classes = [1], rate = <r0>, queue = \"sfq\" }, { name = \"b\", \
         priority = 1, queue = \"red\" }] } }",
        "{ cbq = { classes = [{ name = \"a\", classes = [1, 2], share = 3.0, queue = { drop_tail = { limit = \
         \"5 packets\" } } }, { name = \"b\", rate = \"900 kbps\", burst = \"2 KB\", queue = \"codel\" }] } }",
        "{ htb = { classes = [{ name = \"r\", rate = <r0> }, { name = \"a\", parent = \"r\", classes = [1], rate = \
         \"100 kbps\", ceil = <r0>, queue = \"codel\" }] } }",
        "{ taprio = { classes = [{ name = \"a\", classes = [1, 2] }, { name = \"b\" }], base_time = \"1 ms\", \
         schedule = [{ open = [\"a\"], interval = \"30 ms\" }, { open = [\"a\", \"b\"], interval = \"50 ms\" }] } }",
        "{ ets = { strict = 1, bands = [{ name = \"a\", classes = [1], queue = { tbf = { rate = <r0>, burst = \
         \"64 KB\" } } }, { name = \"b\", queue = \"sfq\" }] } }",
        "{ dbl = { flow_table = \"shared\", flow_table_entries = 64, rehash_interval = \"7 ms\" } }",
        "{ drop_tail = { limit = \"1 packet\" } }",
        "{ sfq = { buckets = 4, limit = \"20 packets\", perturbation_interval = \"3 ms\" } }",
        "{ drr = { limit = \"10 KB\", quantum = \"300 B\", weights = [{ class = 1, weight = 3 }] } }",
        "{ pie = { target = \"2 ms\", update_interval = \"1 ms\", max_burst = \"2 ms\", ecn = true } }",
    ]
    .map(str::to_owned)
    .to_vec();
    for name in names("discipline") {
        for settings in settings {
            let owned: Vec<(String, String)> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
            if PortSpec::load("10 Mbps", &name, &owned).is_ok() {
                let value = |value: &str| if value.contains(' ') { format!("\"{value}\"") } else { value.to_owned() };
                let keys: Vec<String> = settings.iter().map(|(key, text)| format!("{key} = {}", value(text))).collect();
                queues.push(format!("{{ {name} = {{ {} }} }}", keys.join(", ")));
            }
        }
    }
    queues
});

fn chosen(texts: &[&'static str]) -> impl Strategy<Value = String> + use<> {
    select(texts.to_vec()).prop_map(str::to_owned)
}

/// How long a delay is, and how it is drawn.
fn delay() -> impl Strategy<Value = (u64, u8)> {
    let picoseconds = prop_oneof![
        6 => select(vec![0, 550_000, 1_000_000_000, 1_000_000_000, 2_000_000_000, 10_000_000_000, 50_000_000_000]),
        1 => 0_u64..50_000_000_000,
    ];
    (picoseconds, prop_oneof![8 => Just(0_u8), 1 => Just(1), 1 => Just(2)])
}

fn rate_bps() -> impl Strategy<Value = u64> {
    let usual = vec![1_000_000, 8_000_000, 8_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    prop_oneof![5 => select(usual), 1 => 500_000_u64..300_000_000]
}

/// The keys of a link; a queue in one of `queued` cases out of eight.
fn link(queued: u32) -> impl Strategy<Value = String> {
    let rate = chosen(&["<r0>", "<r0>", "<r1>"]);
    let delay = chosen(&["<d0>", "<d0>", "<d1>"]);
    let queue = prop_oneof![queued => select(QUEUES.clone()).prop_map(Some), 8 - queued => Just(None)];
    let impairments = prop_oneof![4 => Just(String::new()), 1 => impairments()];
    let service = prop_oneof![
        6 => Just(String::new()),
        1 => select(vec!["0 bps", "600 kbps", "20 Mbps"]).prop_map(|rate| {
            format!(", service = [{{ rate = \"{rate}\", from = \"3 ms\", to = \"9 ms\" }}]")
        }),
    ];
    let down =
        select(vec!["{ from = \"2 ms\", to = \"7 ms\" }", "{ from = \"5 ms\", to = \"6 ms\" }, { from = \"8 ms\" }"]);
    let down = prop_oneof![6 => Just(String::new()), 1 => down.prop_map(|times| format!(", down = [{times}]"))];
    (rate, delay, queue, impairments, service, down).prop_map(|(rate, delay, queue, impairments, service, down)| {
        let queue = queue.map_or(String::new(), |queue| format!(", queue = {queue}"));
        format!("rate = {rate}, delay = {delay}{queue}{impairments}{service}{down}")
    })
}

fn impairments() -> impl Strategy<Value = String> {
    let loss = chosen(&["", "", "loss = 0.03, "]);
    let duplication = chosen(&["", "duplication = 0.05, "]);
    let jitter = chosen(&[
        "",
        "jitter = \"1 ms\"",
        "jitter = { uniform = [\"0 ms\", \"2 ms\"] }",
        "jitter = { uniform = [\"0 ms\", \"1 ms\"] }, reordering = true",
        "jitter = { exponential = \"1 ms\" }, reordering = true",
    ]);
    (loss, duplication, jitter)
        .prop_map(|(loss, duplication, jitter)| format!(", impairments = {{ {loss}{duplication}{jitter} }}"))
}

fn fabric() -> impl Strategy<Value = String> {
    let speedup = || chosen(&["1", "1", "6/5", "1.5", "2"]);
    let limit = |key: &'static str| {
        chosen(&["", "", "3 packets", "1 packet"])
            .prop_map(move |limit| if limit.is_empty() { limit } else { format!(", {key} = \"{limit}\"") })
    };
    let cioq = (select(names("scheduler")), speedup(), limit("voq_limit")).prop_map(|(scheduler, speedup, limit)| {
        format!("{{ cioq = {{ scheduler = \"{scheduler}\", speedup = \"{speedup}\"{limit} }} }}")
    });
    let fifos = (speedup(), limit("limit"))
        .prop_map(|(speedup, limit)| format!("{{ input_queued = {{ speedup = \"{speedup}\"{limit} }} }}"));
    prop_oneof![4 => cioq, 1 => fifos]
}

/// The keys for the ends of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// Nothing.
    Given,
    /// Nothing; cells may be among them.
    OfASwitch,
    /// At which of so many routers they enter.
    OfAChain(u32),
    /// Two of so many hosts.
    OfAGraph(usize),
}

type Topology = (String, Ends);

fn optional(key: &'static str, link: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::option::of(link).prop_map(move |link| link.map_or(String::new(), |link| format!("{key} = {{ {link} }}\n")))
}

fn star() -> impl Strategy<Value = Topology> {
    (link(1), link(7), optional("reverse", link(4))).prop_map(|(access, bottleneck, reverse)| {
        let star = format!("[topology.star]\naccess = {{ {access} }}\nbottleneck = {{ {bottleneck} }}\n{reverse}");
        (star, Ends::Given)
    })
}

fn dumbbell() -> impl Strategy<Value = Topology> {
    let hosts = || chosen(&["\"per-flow\"", "1", "2", "3"]);
    let others = (optional("sink_access", link(1)), optional("reverse", link(4)));
    let placement = chosen(&["round-robin", "random"]);
    (hosts(), hosts(), placement, link(1), link(7), others).prop_map(
        |(sources, sinks, placement, access, bottleneck, (sink_access, reverse))| {
            let dumbbell = format!(
                "[topology.dumbbell]\nsources = {sources}\nsinks = {sinks}\nplacement = \"{placement}\"\n\
                 access = {{ {access} }}\nbottleneck = {{ {bottleneck} }}\n{sink_access}{reverse}"
            );
            (dumbbell, Ends::Given)
        },
    )
}

fn chain() -> impl Strategy<Value = Topology> {
    (1_u32..5, link(1), link(7)).prop_map(|(hops, access, link)| {
        let chain = format!("[topology.chain]\nhops = {hops}\naccess = {{ {access} }}\nlink = {{ {link} }}\n");
        (chain, Ends::OfAChain(hops))
    })
}

fn switch() -> impl Strategy<Value = Topology> {
    let fabric = prop_oneof![1 => Just("\"output_queued\"".to_owned()), 6 => fabric()];
    let load = chosen(&["\"uniform\"", "\"diagonal\"", "{ hot_spot = { output = 2, fraction = 0.6 } }"]);
    let placement = chosen(&["round-robin", "random"]);
    let links = (link(1), link(2), link(6), optional("back", link(1)));
    (2_u32..6, fabric, load, placement, links).prop_map(
        |(ports, fabric, load, placement, (access, input, output, back))| {
            let switch = format!(
                "[topology.switch]\nports = {ports}\nfabric = {fabric}\nload = {load}\nplacement = \"{placement}\"\n\
                 allow_overload = true\naccess = {{ {access} }}\ninput = {{ {input} }}\noutput = {{ {output} }}\n{back}"
            );
            (switch, Ends::OfASwitch)
        },
    )
}

/// A tree of routers and switches with hosts; further links close circles and join hosts to each other, or to two
/// routers.
fn graph() -> impl Strategy<Value = Topology> {
    let kind = prop_oneof![3 => Just("\"router\"".to_owned()), 1 => fabric()];
    let graph_link = || {
        (link(3), 1_u32..3, prop::option::weighted(0.3, link(3))).prop_map(|(link, metric, reverse)| {
            let reverse = reverse.map_or(String::new(), |link| format!(", reverse = {{ {link} }}"));
            format!("{link}, metric = {metric}{reverse}")
        })
    };
    let routers = prop::collection::vec((kind, any::<Index>(), graph_link()), 1..5);
    let hosts = prop::collection::vec((any::<Index>(), graph_link()), 2..6);
    let further = prop::collection::vec((any::<Index>(), any::<Index>(), graph_link()), 0..4);
    let paths = chosen(&["", "paths = \"ecmp\"\n", "paths.ecmp = { salt = \"common\" }\n"]);
    let reroute = chosen(&["", "reroute_after = \"0 s\"\n", "reroute_after = \"1 ms\"\n"]);
    (routers, hosts, further, paths, reroute).prop_map(|(routers, hosts, further, paths, reroute)| {
        let router = |number: usize| format!("r{number}");
        let (mut links, mut ends) = (Vec::new(), BTreeSet::new());
        let mut join = |from: String, to: String, link: &str| {
            if from != to && ends.insert((from.clone().min(to.clone()), from.clone().max(to.clone()))) {
                links.push(format!("{{ from = \"{from}\", to = \"{to}\", {link} }}"));
            }
        };
        for (number, (_, parent, link)) in routers.iter().enumerate().skip(1) {
            join(router(parent.index(number)), router(number), link);
        }
        for (number, (at, link)) in hosts.iter().enumerate() {
            join(format!("h{number}"), router(at.index(routers.len())), link);
        }
        for (one, other, link) in &further {
            let name = |index: &Index| match index.index(routers.len() + hosts.len()) {
                number if number < routers.len() => router(number),
                number => format!("h{}", number - routers.len()),
            };
            join(name(one), name(other), link);
        }
        // A switch of one port may not be faster than its line.
        let switches = |name: &String| ends.iter().filter(|(one, other)| one == name || other == name).count() > 1;
        let node = |(number, (kind, ..)): (usize, &(String, Index, String))| {
            let (name, router) = (router(number), "\"router\"".to_owned());
            format!("{{ name = \"{name}\", kind = {} }}", if switches(&name) { kind } else { &router })
        };
        let hosts_too = (0..hosts.len()).map(|number| format!("{{ name = \"h{number}\" }}"));
        let nodes: Vec<String> = routers.iter().enumerate().map(node).chain(hosts_too).collect();
        let graph = format!(
            "[topology.graph]\n{paths}{reroute}nodes = [{}]\nlinks = [\n{},\n]\n",
            nodes.join(", "),
            links.join(",\n")
        );
        (graph, Ends::OfAGraph(hosts.len()))
    })
}

fn tcp() -> impl Strategy<Value = String> {
    let preset = chosen(&["", "", "", "preset = \"rfc\", ", "preset = \"linux\", ", "preset = \"ns2\", "]);
    let old = chosen(&["reno", "newreno", "bic", "cubic", "linux_bic", "linux_2_6_cubic", "westwood", "dctcp"]);
    let law = prop_oneof![3 => old, 2 => chosen(&["bbr", "bbr3", "prague", "vegas", "ledbat"])];
    let keys = prop::sample::subsequence(
        vec![
            "sack = true",
            "delayed_ack = true",
            "ecn = true",
            "timestamps = true",
            "min_rto = \"3 ms\"",
            "delayed_ack_timeout = \"2 ms\"",
            "initial_rto = \"20 ms\"",
            "limited_transmit = false",
            "slow_start = \"hystart\"",
            "handshake = false",
            "timer_granularity = \"1 ms\"",
            "tail_loss_probe = true, rack = true, sack = true",
            "pacing = true",
            "small_queues = true",
        ],
        0..6,
    );
    let window = chosen(&["2", "20", "64"]);
    let segment = chosen(&["1000 B", "1000 B", "1500 B", "100 B"]);
    let transport = (preset, law, keys, window, segment).prop_map(|(preset, law, mut keys, window, segment)| {
        // Probes of the tail need SACK, which may be there already.
        if keys.contains(&"sack = true") {
            keys.retain(|key| !key.contains("probe"));
        }
        // Pacing needs RACK, which ns-2 does not have.
        let is_paced = ["bbr", "bbr3", "prague"].contains(&law.as_str());
        let needs_rack = is_paced || keys.contains(&"pacing = true") || keys.contains(&"small_queues = true");
        let preset = if needs_rack { String::new() } else { preset };
        if is_paced || law == "vegas" || law == "ledbat" {
            keys.retain(|key| !key.contains("slow_start"));
        }
        let keys: String = keys.iter().map(|key| format!(", {key}")).collect();
        format!(
            "transport.tcp = {{ {preset}congestion_control = \"{law}\", segment = \"{segment}\", \
             max_window_segments = {window}{keys} }}\n"
        )
    });
    let request = chosen(&["1 B", "200 B", "5 KB"]);
    let response = chosen(&["\"1 B\"", "\"10 KB\"", "{ exponential = \"5 KB\" }", "{ uniform = [\"1 B\", \"9 KB\"] }"]);
    let think = chosen(&["\"0 s\"", "\"2 ms\"", "{ exponential = \"3 ms\" }"]);
    let conversation = (request, response, think).prop_map(|(request, response, think)| {
        format!("app.request_response = {{ request = \"{request}\", response = {response}, think = {think} }}\n")
    });
    let gap = chosen(&["\"500 us\"", "{ exponential = \"1 ms\" }", "{ exponential = \"5 ms\" }"]);
    let size = chosen(&["\"1 B\"", "\"3 KB\"", "{ exponential = \"10 KB\" }"]);
    let transfers = (gap, size, chosen(&["1", "3", "20"])).prop_map(|(gap, size, connections)| {
        format!("app.transfers = {{ gap = {gap}, size = {size}, connections = {connections} }}\n")
    });
    let app = prop_oneof![
        4 => Just(String::new()),
        1 => pages(),
        1 => video(),
        2 => conversation,
        2 => transfers,
        1 => chosen(&["app.fixed = { size = \"20 KB\" }\n", "app.fixed = { size = { exponential = \"30 KB\" } }\n"]),
    ];
    (transport, app).prop_map(|(transport, app)| transport + &app)
}

fn pages() -> impl Strategy<Value = String> {
    (chosen(&["0", "3"]), chosen(&["1", "6"])).prop_map(|(objects, parallel)| {
        format!("app.web = {{ objects = {objects}, parallel = {parallel}, parsing = \"1 ms\", reading = \"2 ms\" }}\n")
    })
}

fn video() -> impl Strategy<Value = String> {
    let rules = chosen(&["\"bola\"", "\"throughput\"", "\"dynamic\"", "\"buffer_based\""]);
    rules.prop_map(|rule| {
        format!("app.video = {{ rule = {rule}, segment = \"10 ms\", buffer = \"30 ms\", request = \"1 B\" }}\n")
    })
}

fn udp() -> impl Strategy<Value = String> {
    let packet = chosen(&["\"1000 B\"", "\"1000 B\"", "\"1500 B\"", "\"1 B\"", "{ uniform = [\"40 B\", \"1500 B\"] }"]);
    let rate = || chosen(&["<r0>", "<half>", "<tenth>"]);
    let pattern = prop_oneof![
        (rate(), chosen(&["0.0", "0.0", "0.5"]), any::<bool>()).prop_map(|(rate, jitter, phase)| {
            format!("constant = {{ rate = {rate}, jitter = {jitter}, random_phase = {phase} }}")
        }),
        rate().prop_map(|rate| format!("poisson = {{ rate = {rate} }}")),
        (rate(), chosen(&["\"4 ms\"", "{ exponential = \"3 ms\" }"]), chosen(&["\"0 s\"", "\"4 ms\""]))
            .prop_map(|(rate, on, off)| format!("on_off = {{ rate = {rate}, on = {on}, off = {off} }}")),
        (rate(), rate()).prop_map(|(one, other)| {
            format!("steps = [{{ from = \"1 ms\", rate = {one} }}, {{ from = \"9 ms\", rate = {other} }}]")
        }),
    ];
    let pattern = (packet, pattern).prop_map(|(packet, pattern)| {
        // One-byte packets at the full rate would be too many.
        let pattern = if packet == "\"1 B\"" { "constant = { rate = <thousandth> }".to_owned() } else { pattern };
        format!("packet = {packet}, {pattern}")
    });
    let probe = chosen(&[
        "game = \"up\"",
        "ping = { interval = \"300 us\", timeout = \"2 ms\" }",
        "packet = \"1000 B\", ping = { interval = \"on_answer\", timeout = \"3 ms\" }",
    ]);
    (prop_oneof![4 => pattern, 1 => probe], any::<bool>())
        .prop_map(|(pattern, ecn)| format!("transport.udp = {{ {pattern} }}\necn = {ecn}\n"))
}

/// A group of flows, before it is known which network it is for.
#[derive(Clone, Debug)]
struct Group {
    count: u32,
    body: String,
    access: String,
    places: [Index; 3],
}

fn group() -> impl Strategy<Value = Group> {
    let start = chosen(&["0 s", "0 s", "1 ms", "1234567 ps"]).prop_map(|start| format!("start = \"{start}\"\n"));
    let start = prop_oneof![4 => start, 1 => Just("start = { uniform = [\"0 s\", \"4 ms\"] }\n".to_owned())];
    let stop = chosen(&["", "", "stop = \"7 ms\"\n", "stop = \"20 ms\"\n"]);
    let stagger = chosen(&["", "", "stagger = \"100 us\"\n"]);
    let body = (prop_oneof![3 => tcp(), 2 => udp()], start, stop, stagger, 0_u8..4).prop_map(
        |(transport, start, stop, stagger, class)| format!("class = {class}\n{start}{stop}{stagger}{transport}"),
    );
    let access = prop_oneof![4 => Just(String::new()), 1 => optional("access", link(2))];
    (1_u32..5, body, access, any::<[Index; 3]>()).prop_map(|(count, body, access, places)| Group {
        count,
        body,
        access,
        places,
    })
}

impl Group {
    fn text(&self, number: usize, ends: Ends) -> String {
        let Self { count, body, access, places } = self;
        let mut count = *count;
        let place = match ends {
            Ends::Given | Ends::OfASwitch => access.clone(),
            Ends::OfAChain(hops) => {
                let router = places[0].index(hops as usize + 1);
                let enters = if router == 0 { "\"each\"".to_owned() } else { router.to_string() };
                if router == 0 {
                    count = count.min(hops);
                }
                format!("enters = {enters}\n{access}")
            }
            Ends::OfAGraph(hosts) => {
                let from = places[0].index(hosts);
                let other = |place: &Index| (from + 1 + place.index(hosts - 1)) % hosts;
                let (one, two) = (other(&places[1]), other(&places[2]));
                format!("from = \"h{from}\"\nto = [\"h{one}\", \"h{two}\"]\n")
            }
        };
        format!("[[flows]]\nname = \"g{number}\"\ncount = {count}\n{place}{body}")
    }
}

/// The values that are the same everywhere in a network.
fn palette() -> impl Strategy<Value = ([u64; 2], [(u64, u8); 2])> {
    ([rate_bps(), rate_bps()], [delay(), delay()])
}

fn filled(text: &str, rates: [u64; 2], delays: [(u64, u8); 2], duration_ps: u64) -> String {
    let rate = |bps: u64| format!("\"{} bps\"", bps.max(1_000));
    let delay = |(picoseconds, kind): (u64, u8)| {
        let picoseconds = picoseconds.min(duration_ps / 10);
        match kind {
            0 => format!("\"{picoseconds} ps\""),
            1 => format!("{{ uniform = [\"{} ps\", \"{picoseconds} ps\"] }}", picoseconds / 3),
            _ => format!("{{ exponential = \"{picoseconds} ps\" }}"),
        }
    };
    text.replace("<r0>", &rate(rates[0]))
        .replace("<r1>", &rate(rates[1]))
        .replace("<half>", &rate(rates[0] / 2))
        .replace("<tenth>", &rate(rates[0] / 10))
        .replace("<thousandth>", &rate(rates[0] / 1000))
        .replace("<c0>", &delay((delays[0].0, 0)))
        .replace("<c1>", &delay((delays[1].0, 0)))
        .replace("<d0>", &delay(delays[0]))
        .replace("<d1>", &delay(delays[1]))
}

/// Probes that sample everything.
pub fn probes() -> impl Strategy<Value = String> {
    chosen(&["1 ms", "777 us", "3 ms"]).prop_map(|interval| {
        format!("[probes]\ninterval = \"{interval}\"\nseries = [\"queues\", \"flows\", \"links\"]\n")
    })
}

/// A scenario without probes and traces, as text.
pub fn network() -> impl Strategy<Value = String> {
    let topology =
        prop_oneof![2 => star(), 3 => dumbbell(), 2 => chain(), 3 => switch(), 5 => graph(), 5 => mixed::graph()];
    let cells = chosen(&["", "", "load = 0.4", "load = 0.3, burst_cells = 4.0", "load = 1.0"]);
    let groups = prop::collection::vec(group(), 1..5);
    (topology, palette(), groups, cells, 0_u64..4).prop_map(
        |((topology, ends), (rates, delays), groups, cells, warmup)| {
            let fastest = rates[0].max(rates[1]);
            let duration_ps = PACKETS * 1_000_000_000_000 / fastest * 8_000;
            let duration_ps = duration_ps.clamp(21_000_000_000, LONGEST_PS);
            let mut text =
                format!("duration = \"{duration_ps} ps\"\nwarmup = \"{} ps\"\n{topology}", duration_ps / 8 * warmup);
            for (number, group) in groups.iter().enumerate() {
                text += &group.text(number, ends);
            }
            if ends == Ends::OfASwitch && !cells.is_empty() {
                let _ =
                    write!(text, "[[flows]]\nname = \"cells\"\ntransport.cells = {{ size = \"500 B\", {cells} }}\n");
            }
            filled(&text, rates, delays, duration_ps)
        },
    )
}

/// The scenarios of a folder of the repository, with their names.
pub fn scenarios(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}
