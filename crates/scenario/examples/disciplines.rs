//! CPU time of every discipline for each packet, at 16, 1000 and 100 000 flows, as shown by `make bench`. Prints a JSON
//! document. `cargo run --release --example disciplines -- [NAME…]` measures only those named.
//!
//! Every discipline of the catalogue is measured with its default parameters at a port of 100 Mb/s that is offered 1.2
//! times as much, in packets of 1000 bytes, evenly from all flows. Those without defaults have eight classes, each with
//! a FIFO queue.

#![allow(clippy::print_stdout, reason = "a command-line program")]

use forebay_scenario::{PortSpec, Workload, choices, cost};
use serde_json::{Value, json};

const RATE: &str = "100 Mbps";
const LOAD: f64 = 1.2;
const FLOWS: [usize; 3] = [16, 1_000, 100_000];

/// The parameters of a discipline without defaults. HTB has two levels, and classes that borrow.
fn parameters(discipline: &str) -> Option<Vec<(&'static str, String)>> {
    let fifo = || classes("queue = 'drop_tail'");
    match discipline {
        "cbq" => Some(vec![("classes", fifo())]),
        "htb" => {
            let leaves = classes("parent = 'root', rate = '5 Mbps', ceil = '90 Mbps'");
            Some(vec![("classes", leaves.replacen('[', "[{ name = 'root', rate = '90 Mbps' }, ", 1))])
        }
        "taprio" => {
            let interval = |open: &str| format!("{{ open = [{open}], interval = '500 us' }}");
            let schedule = format!("[{}, {}]", interval("'0', '1', '2', '3'"), interval("'4', '5', '6', '7'"));
            Some(vec![("classes", fifo()), ("schedule", schedule)])
        }
        _ => None,
    }
}

/// A list of eight classes, for the traffic classes of the measurement.
fn classes(parameters: &str) -> String {
    let class = |number: u8| format!("{{ name = '{number}', classes = [{number}], {parameters} }}");
    format!("[{}]", (0..8).map(class).collect::<Vec<_>>().join(", "))
}

fn main() -> Result<(), String> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let choices = choices().into_iter().filter(|choice| choice.kind == "discipline");
    let (mut measured, mut skipped) = (Vec::new(), Vec::new());
    for choice in choices.filter(|choice| named.is_empty() || named.contains(&choice.name)) {
        let parameters = parameters(&choice.name);
        if parameters.is_none() && !choice.has_defaults() {
            skipped.push(choice.name);
            continue;
        }
        let parameters = parameters.unwrap_or_default().into_iter();
        let settings: Vec<_> = parameters.map(|(name, value)| (name.to_owned(), value)).collect();
        let port = PortSpec::load(RATE, &choice.name, &settings).map_err(|error| error.render(false))?;
        let costs: Vec<Value> = FLOWS
            .into_iter()
            .map(|flows| {
                let cost = cost(&port.queue, port.rate, &Workload::uniform(flows, LOAD))
                    .map_err(|error| format!("{}: {error}", choice.name))?;
                Ok(json!({
                    "flows": flows,
                    "ns_per_packet": cost.ns_per_packet,
                    "drop_share": cost.drop_share,
                    "state_bytes": cost.state_bytes,
                }))
            })
            .collect::<Result<_, String>>()?;
        measured.push(json!({ "name": choice.name, "costs": costs }));
    }
    println!("{}", json!({ "disciplines": measured, "skipped": skipped }));
    Ok(())
}
