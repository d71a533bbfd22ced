//! Packet sizes that are cut to what a packet can be.

use forebay_records::Warning;
use forebay_units::Bytes;

use crate::schema::{ScenarioSpec, SizeDistribution, Transport};

/// The smallest and the largest packet, in bytes.
const SMALLEST: f64 = 1.0;
const LARGEST: f64 = 65_535.0;
/// A smaller change of the mean is not worth a warning.
const NOTICEABLE: f64 = 1e-3;

/// A warning for each group whose drawn packet sizes are cut so that their mean changes.
pub(super) fn cut_sizes(spec: &ScenarioSpec) -> Vec<Warning> {
    let of_group = |(name, drawn): (&str, &SizeDistribution)| {
        let asked = drawn.mean().0 as f64;
        let mean = drawn.bytes().mean_within(SMALLEST, LARGEST);
        let is_noticeable = (mean / asked - 1.0).abs() > NOTICEABLE;
        is_noticeable.then(|| Warning {
            text: format!(
                "`{name}`: drawn packet sizes are cut to 1 to 65535 B, so their mean is {} instead of {}; the rate is \
                 kept by sending more or fewer packets",
                Bytes(mean.round() as u64),
                drawn.mean()
            ),
            remedy: "give a distribution whose sizes fit into a packet".into(),
        })
    };
    let groups = spec.flows.iter().filter_map(|group| match &group.transport {
        Transport::Udp(udp) => Some((group.name.as_str(), &udp.packet)),
        _ => None,
    });
    groups.filter_map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn warnings(packet: &str) -> Vec<String> {
        let text = format!(
            r#"
            duration = "1 s"
            [topology.star]
            access = {{ rate = "1 Gbps", delay = "1 ms" }}
            bottleneck = {{ rate = "1 Gbps", delay = "1 ms" }}
            [[flows]]
            name = "drawn"
            transport.udp = {{ packet = {packet}, poisson = {{ rate = "10 Mbps" }} }}
            "#
        );
        let scenario = Scenario::load(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        super::cut_sizes(scenario.spec()).into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn sizes_that_are_cut_are_named_with_their_mean() {
        let cut = "`drawn`: drawn packet sizes are cut to 1 to 65535 B, so their mean is 748 B instead of 1 KB; \
                   the rate is kept by sending more or fewer packets";
        assert_eq!(warnings(r#"{ pareto = { mean = "1000 B", shape = 1.2 } }"#), [cut]);
        assert!(warnings(r#"{ exponential = "2 B" }"#).concat().contains("instead of 2 B"));
        for whole in [r#""65535 B""#, r#"{ uniform = ["1 B", "65535 B"] }"#, r#"{ exponential = "1500 B" }"#] {
            assert_eq!(warnings(whole), Vec::<String>::new(), "{whole}");
        }
    }
}
