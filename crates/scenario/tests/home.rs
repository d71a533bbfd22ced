//! A home: its line in both directions, and the queues of modem, provider and gateway.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_records::Table;
use forebay_scenario::{Scenario, run};

/// A home with a laptop and two phones, with these keys and flows.
fn home(keys: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "10 s"
        warmup = "2 s"
        [topology.home]
        hosts = [{{ name = "laptop" }}, {{ name = "phone", count = 2 }}]
        servers = [{{ name = "cloud" }}]
        up = {{ rate = "5 Mbps", delay = "5 ms", queue.drop_tail = {{ limit = "256 KB" }} }}
        down = {{ rate = "20 Mbps", delay = "5 ms", queue.drop_tail = {{ limit = "256 KB" }} }}
        {keys}
        {flows}
        "#
    )
}

const BOTH: &str = r#"
    [[flows]]
    name = "backup"
    from = "laptop"
    to = "cloud"
    transport = "tcp"
    [[flows]]
    name = "films"
    count = 2
    from = "cloud"
    to = "phone"
    transport = "tcp"
"#;

fn simulate(text: &str) -> RunResult {
    let scenario = Scenario::load(text, "home.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    run(&scenario, None, None, &mut |_| true).unwrap()
}

fn of(table: &Table, name: &str, column: &str) -> f64 {
    let row = table.texts("name").iter().position(|row| row == name).unwrap_or_else(|| panic!("no {name}"));
    table.floats(column)[row]
}

fn films_bps(result: &RunResult) -> f64 {
    ["films-0", "films-1"].into_iter().map(|flow| of(&result.flows, flow, "goodput_bps")).sum()
}

#[test]
fn an_upload_delays_the_acknowledgements_of_downloads() {
    let result = simulate(&home("", BOTH));
    assert!(of(&result.links, "up", "utilization") > 0.95);
    let films = films_bps(&result);
    assert!((4e6..12e6).contains(&films), "{films}");
    // The modem's queue holds 256 KB: 400 ms at 5 Mb/s.
    let wait = of(&result.queues, "up", "wait_mean_s");
    assert!((0.15..0.41).contains(&wait), "{wait}");
}

#[test]
fn flows_have_the_hosts_at_their_ends_and_the_direction_of_the_line() {
    let flows = r#"
        [[flows]]
        name = "page"
        from = "cloud"
        to = "phone-1"
        transport = "tcp"
        app.web = {}
        [[flows]]
        name = "copy"
        from = "laptop"
        to = "phone-0"
        transport = "tcp"
    "#;
    let result = simulate(&home("", &format!("{BOTH}{flows}")));
    let column = |name| result.flows.texts(name).iter().collect::<Vec<_>>();
    assert_eq!(column("name"), ["backup", "films-0", "films-1", "page", "page/request", "copy"]);
    assert_eq!(column("source"), ["laptop", "cloud", "cloud", "cloud", "phone-1", "laptop"]);
    assert_eq!(column("destination"), ["cloud", "phone-0", "phone-1", "phone-1", "cloud", "phone-0"]);
    assert_eq!(column("line"), ["up", "down", "down", "down", "up", "none"]);
}

#[test]
fn a_gateway_has_queues_of_its_own() {
    let classes =
        |rate: &str| format!("queue.cbq.classes = [{{ name = \"all\", rate = \"{rate}\", queue = \"fq_codel\" }}]");
    let gateway = format!("gateway.up.{}\n        gateway.down.{}", classes("4.5 Mbps"), classes("18 Mbps"));
    let result = simulate(&home(&gateway, BOTH));
    // The shapers keep the queues of the line empty.
    for (queue, most_s) in [("up", 0.003), ("down", 0.003), ("gateway-up", 0.05), ("gateway-down", 0.05)] {
        let wait = of(&result.queues, queue, "wait_mean_s");
        assert!(wait < most_s, "{queue}: {wait}");
    }
    let (backup, films) = (of(&result.flows, "backup", "goodput_bps"), films_bps(&result));
    assert!(backup > 3.5e6 && films > 14e6, "{backup}, {films}");
}

#[test]
fn what_no_home_has_is_refused() {
    for (keys, flows, message) in [
        ("", BOTH.replace("\"laptop\"", "\"desktop\""), "there is no host `desktop`"),
        ("", BOTH.replace("from = \"laptop\"", "from = \"gateway\""), "`gateway`"),
        ("gateway.rate = \"1 bps\"", BOTH.to_owned(), "a rate of 1 bps is out of bounds"),
        ("gateway.up.queue.fq_codel.flows = 0", BOTH.to_owned(), "fq_codel: `flows` must"),
    ] {
        let error = Scenario::load(&home(keys, &flows), "home.toml", &[]).unwrap_err().render(false);
        assert!(error.contains(message), "{error}");
    }
    for (name, message) in
        [("cloud", "two nodes are named `cloud`"), ("isp", "the nodes between hosts and servers"), ("a->b", "`->`")]
    {
        let text = home("", BOTH).replace("name = \"laptop\" }", &format!("name = \"{name}\" }}"));
        let error = Scenario::load(&text, "home.toml", &[]).unwrap_err().render(false);
        assert!(error.contains(message), "{error}");
    }
    let empty = home("", BOTH).replace("[{ name = \"cloud\" }]", "[]");
    let error = Scenario::load(&empty, "home.toml", &[]).unwrap_err().render(false);
    assert!(error.contains("a home without servers"), "{error}");
}
