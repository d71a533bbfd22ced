//! Sizes by a cumulative distribution: names, files, points.

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};

fn text(size: &str) -> String {
    format!(
        r#"
        duration = "1 s"
        [topology.star]
        access = {{ rate = "10 Gbps", delay = "10 us" }}
        bottleneck = {{ rate = "10 Gbps", delay = "10 us" }}
        [[flows]]
        name = "web"
        transport = "tcp"
        app.transfers = {{ gap = {{ exponential = "1 ms" }}, size = {size} }}
        "#
    )
}

const FILES: [(&str, &str); 3] = [
    ("sizes.csv", "bytes,cdf\n0,0\n2000,0.5\n10000,1\n"),
    ("percent.txt", "0 0\n2000 50\n10000 100\n"),
    ("falls.csv", "bytes,cdf\n0,0\n2000,0.5\n2000,1\n"),
];

fn load(size: &str) -> Result<Scenario, String> {
    let read = |name: &str| {
        let file = FILES.iter().find(|(file, _)| *file == name);
        file.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    Scenario::load_with(&text(size), "test.toml", &[], &read).map_err(|error| error.render(false))
}

fn result(size: &str) -> RunResult {
    run(&load(size).unwrap(), Some(1), None, &mut |_| true).unwrap()
}

#[test]
fn a_file_is_the_points_that_it_has() {
    let points = result("{ cdf = [[0, 0], [2000, 0.5], [10000, 1]] }");
    assert_eq!(result("{ cdf = \"sizes.csv\" }").digest, points.digest);
    assert_eq!(result("{ cdf = \"percent.txt\" }").digest, points.digest);
    // 0.5 x 1000 and 0.5 x 6000 bytes, about a thousand times.
    let goodput = points.flows.floats("goodput_bps")[0];
    assert!((goodput / 28e6 - 1.0).abs() < 0.1, "{goodput}");
}

#[test]
fn a_stored_scenario_needs_no_file() {
    let stored = load("{ cdf = \"sizes.csv\" }").unwrap().to_toml();
    assert!(stored.contains("[2000.0, 0.5]") && !stored.contains("sizes.csv"), "{stored}");
    let again = Scenario::load(&stored, "test.toml", &[]).unwrap();
    assert_eq!(again.spec(), load("{ cdf = [[0, 0], [2000, 0.5], [10000, 1]] }").unwrap().spec());
}

#[test]
fn what_is_no_distribution_is_refused_with_its_place() {
    for (size, message) in [
        ("{ cdf = \"websearc\" }", "did you mean `websearch`?"),
        ("{ cdf = \"absent.csv\" }", "cannot read `absent.csv`: no such file"),
        ("{ cdf = \"falls.csv\" }", "`falls.csv` is no distribution of sizes: line 4 is \"2000,1\": 2000 B come after"),
        ("{ cdf = [[0, 0]] }", "there is only one point: expected at least 2"),
        ("{ cdf = [[0, 0], [5, 0.4]] }", "the last share is 0.4: expected 1, or 100 in per cent"),
        ("{ cdf = [[5, 0], [4, 1]] }", "point 2: 4 B come after 5 B: sizes must rise"),
        ("{ cdf = [[5, 0.1], [6, 1]] }", "the first share is 0.1: expected 0"),
        ("{ cdf = [[5, 0, 3], [6, 1]] }", "2"),
        ("{ cdf = 5 }", "the name of a distribution, a file, or points"),
    ] {
        let error = load(size).unwrap_err();
        assert!(error.contains(message) && error.contains("test.toml:9:"), "{size}: {error}");
    }
}

#[test]
fn packets_of_udp_may_have_such_sizes_and_no_larger_ones() {
    let load = |cdf: &str| {
        let udp = format!("transport.udp = {{ packet = {{ cdf = {cdf} }}, poisson = {{ rate = \"10 Mbps\" }} }}");
        let text = text("\"1 B\"").replace("transport = \"tcp\"", &udp);
        let text = text.lines().filter(|line| !line.contains("app.")).collect::<Vec<_>>().join("\n");
        Scenario::load(&text, "test.toml", &[]).map_err(|error| error.to_string())
    };
    let result = run(&load("[[100, 0], [1500, 1]]").unwrap(), Some(1), None, &mut |_| true).unwrap();
    let (sent, packets) = (result.flows.floats("offered_bps")[0], result.flows.counts("packets_sent")[0]);
    assert!((sent / 8.0 / packets as f64 / 800.0 - 1.0).abs() < 0.05, "{sent} bit/s in {packets} packets");
    assert!(load("\"websearch\"").unwrap_err().contains("no packet has 30000000 B"));
}
