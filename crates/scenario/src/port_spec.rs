//! A port alone, as the command line of a replay gives it, checked with the messages of a scenario file.

use forebay_document::{Document, Path};
use forebay_engine::Packet;
use forebay_units::Rate;

use crate::ScenarioError;
use crate::load::SCENARIO;
use crate::schema::{QueueSpec, Switch};
use crate::validate::out_of_bounds;

/// A port: its rate and its queue.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortSpec {
    /// Rate.
    pub rate: Rate,
    /// The queue in front of it.
    pub queue: QueueSpec,
}

impl PortSpec {
    /// Reads a rate, `"20 Mbps"`, and the name of a queue, `"dbl"`. `settings` are pairs of a parameter of the queue
    /// and its value, `("dbl_max_cells", "512")`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn load(rate: &str, queue: &str, settings: &[(String, String)]) -> Result<Self, ScenarioError> {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let text = format!("rate = {}\nqueue = {}\n", quoted(rate), quoted(queue));
        let settings: Vec<(String, String)> =
            settings.iter().map(|(name, value)| (format!("queue.{queue}.{name}"), value.clone())).collect();
        let document = Document::parse(SCENARIO, "replay", &text, &settings)?;
        let spec: Self = document.read()?;
        let queue = Path::default().key("queue");
        spec.queue
            .check::<Packet>(&Switch::default(), spec.rate)
            .map_err(|error| document.refused(out_of_bounds(&error, &queue)))?;
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(rate: &str, queue: &str, settings: &[(&str, &str)]) -> String {
        let settings: Vec<_> = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        PortSpec::load(rate, queue, &settings).unwrap_err().render(false)
    }

    #[test]
    fn a_name_and_settings_make_a_port() {
        let port = PortSpec::load("20 Mbps", "drop_tail", &[("limit".into(), "7 packets".into())]).unwrap();
        assert_eq!((port.rate.bits_per_second(), port.queue.name()), (20_000_000, "drop_tail"));
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_stands() {
        for (message, expected) in [
            (refused("20 Mbit", "drop_tail", &[]), "rate = \"20 Mbit\""),
            (refused("20 Mbps", "drop_tial", &[]), "drop_tail"),
            (refused("20 Mbps", "drop_tail", &[("limt", "7 packets")]), "limit"),
            (refused("20 Mbps", "drop_tail", &[("limit", "0 packets")]), "queue.drop_tail.limit=0 packets"),
            (refused("20 Mbps", "\"\n[", &[]), "queue"),
            (
                refused("20 Mbps", "cbq", &[("classes", "[{name=\"a\",queue.red.limit=\"0 packets\"}]")]),
                "red: `limit` must be",
            ),
            (refused("20 Mbps", "python", &[("class", "a:B")]), "python: `class` must be run by `forebay run`"),
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }
}
