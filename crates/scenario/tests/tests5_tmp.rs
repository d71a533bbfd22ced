mod support;
use forebay_scenario::run;
use support::*;
#[test]
fn explore() {
    let from: Vec<String> = (1..=10).map(|n| n.to_string()).collect();
    let from: Vec<&str> = from.iter().map(String::as_str).collect();
    for seed in 1..=5 {
        for scheme in [r#""qcn""#, r#"{ qcn = { set_point = "75 KB", min_rate = "1 Mbps" } }"#] {
            let keys = format!("{LOSSLESS}congestion_management = {scheme}\n{}", star(11));
            let sc = load(
                &Timing::new(200.0, 3200.0).sampled("1 ms"),
                &keys,
                &flows("flow", &from, "11", r#"rate = "10 Gbps""#),
            );
            let r = run(&sc, Some(seed), None, &mut |_| true).unwrap();
            let mut out = String::new();
            for (a, b) in [(0.2, 1.2), (0.5, 1.5), (1.0, 2.0), (2.0, 3.0), (0.2, 3.2)] {
                let rates: Vec<f64> = r
                    .series
                    .iter()
                    .filter(|s| s.quantity == "goodput_bps")
                    .map(|s| {
                        let v = &s.values[(a * 1000.0) as usize..(b * 1000.0) as usize];
                        v.iter().sum::<f64>() / v.len() as f64 / 1e9
                    })
                    .collect();
                let mx = rates.iter().copied().fold(0.0, f64::max);
                let mn = rates.iter().copied().fold(9.0, f64::min);
                let s: f64 = rates.iter().sum();
                let q: f64 = rates.iter().map(|x| x * x).sum();
                out += &format!("  {a}-{b}: {mn:.2}..{mx:.2} jain {:.3}", s * s / 10.0 / q);
            }
            let queue = series(&r, "SW->11", "length_mean_bytes");
            eprintln!("{seed} {scheme:.6} q {:.0} {out}", mean_from(queue, 0.2));
        }
        let keys = format!(
            "{LOSSLESS}congestion_management = \"qcn\"\n{}service=[{{node=\"11\",rate=\"500 Mbps\",from=\"200 ms\",to=\"500 ms\"}}]",
            star(11)
        );
        let sc =
            load(&Timing::new(0.0, 800.0).sampled("1 ms"), &keys, &flows("flow", &from, "11", r#"rate = "10 Gbps""#));
        let r = run(&sc, Some(seed), None, &mut |_| true).unwrap();
        let queue = &series(&r, "SW->11", "length_mean_bytes").values;
        let settled = (200..500).rev().find(|&at| !(1500.0..=280e3).contains(&queue[at])).map_or(200, |at| at + 1);
        let below = (200..500).rev().find(|&at| queue[at] > 280e3).map_or(200, |at| at + 1);
        let carried = &series(&r, "SW->11", "utilization").values;
        let rec = carried[500..].iter().position(|&u| u > 0.95).unwrap();
        eprintln!(
            "  settled {settled} below {below} late {:.0} recovered {rec} pause {}",
            queue[400..500].iter().sum::<f64>() / 100.0,
            sum(&r.ports, "pause_frames_sent")
        );
    }
}
