//! The numbers of a scenario that a program may change, and those that the lab shows as sliders.

use forebay_document::{Invalid, Node, Number, Path, did_you_mean};
use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::load::Scenario;
use crate::schema::ScenarioSpec;

impl Scenario {
    /// The numbers and quantities of the scenario, with their places in the text.
    #[must_use]
    pub fn numbers(&self) -> Vec<Number> {
        numbers(self.document())
    }
}

fn numbers(document: &Node) -> Vec<Number> {
    document.numbers(&is_quantity)
}

fn is_quantity(text: &str) -> bool {
    let is = [
        text.parse::<Span>().is_ok(),
        Rate::parse_or_zero(text).is_ok(),
        text.parse::<Bytes>().is_ok(),
        text.parse::<QueueSize>().is_ok(),
    ];
    is.contains(&true)
}

/// Removes pins that lead nowhere, after overrides: one may have replaced a table with the pinned number in it.
/// A run stores the scenario without them, and it must be valid.
#[expect(clippy::unnecessary_wraps, reason = "as a document takes it")]
pub(crate) fn remove_lost_pins(root: &mut Node) -> Result<(), Invalid> {
    let numbers = numbers(root);
    if let Some(pins) = root.at_mut(&["lab", "pins"]) {
        pins.replace_elements(|pin| {
            let key = pin.as_text().or_else(|| pin.text("key"));
            let is_lost = key.is_some_and(|key| !numbers.iter().any(|number| number.path == key));
            if is_lost { Vec::new() } else { vec![pin] }
        });
    }
    Ok(())
}

/// Checks that each pin of `[lab]` is a number of the scenario as it was written, and that its bounds are numbers.
pub(crate) fn check_pins(spec: &ScenarioSpec, written: &Node) -> Result<(), Invalid> {
    let Some(lab) = &spec.lab else { return Ok(()) };
    let numbers = numbers(written);
    for (index, pin) in lab.pins.iter().enumerate() {
        let at = Path::default().key("lab.pins").index(index);
        if !numbers.iter().any(|number| number.path == pin.key) {
            let message = format!("the scenario has no number at `{}`", pin.key);
            let help = did_you_mean(&pin.key, numbers.iter().map(|number| number.path.as_str()));
            let help = help.unwrap_or_else(|| "write the value into the scenario, then pin its path".into());
            return Err(Invalid::new(at, message, "expected the path of a number in this file").with_help(help));
        }
        for bound in pin.bounds.iter().flatten() {
            if bound.parse::<f64>().is_err() && !is_quantity(bound) {
                let message = format!("the bound `{bound}` is not a number");
                return Err(Invalid::new(at, message, "expected a number, or a text such as \"10 Mbps\""));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
duration = "1 s"
[topology.star]
access = { rate = "10 Mbps", delay = "1 ms" }
bottleneck = { rate = "5 Mbps", delay = "1 ms", queue.drop_tail.limit = "20 packets" }
[[flows]]
name = "tcp"
transport = "tcp"
"#;

    fn load(pins: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let loaded = Scenario::load(&format!("{SCENARIO}[lab]\npins = [{pins}]\n"), "s.toml", &overrides);
        loaded.map_err(|error| format!("{}; {}", error.message, error.help.unwrap_or_default()))
    }

    #[test]
    fn a_pin_is_a_number_of_the_scenario() {
        let limit = "\"topology.star.bottleneck.queue.drop_tail.limit\"";
        assert!(load(limit, &[]).is_ok());
        assert!(load("{ key = \"duration\", from = \"1 s\", to = 3, label = \"Time\" }", &[]).is_ok());
        // A comparison replaces the queue, and stores a scenario without the pin.
        let pins = format!("{limit}, \"duration\"");
        let compared = load(&pins, &[("topology.star.bottleneck.queue", "dbl")]).unwrap().to_toml();
        let again = Scenario::load(&compared, "s.toml", &[]).unwrap();
        let kept: Vec<_> = again.spec().lab.iter().flat_map(|lab| &lab.pins).map(|pin| pin.key.as_str()).collect();
        assert_eq!(kept, ["duration"]);
        let refused = load("\"topology.star.bottleneck.rat\"", &[]).unwrap_err();
        assert!(refused.starts_with("the scenario has no number at `topology.star.bottleneck.rat`"), "{refused}");
        assert!(refused.contains("topology.star.bottleneck.rate"), "{refused}");
        let refused = load("{ key = \"duration\", from = \"soon\" }", &[]).unwrap_err();
        assert!(refused.starts_with("the bound `soon` is not a number"), "{refused}");
    }

    #[test]
    fn numbers_have_the_text_of_the_file() {
        let scenario = load("", &[("duration", "2 s")]).unwrap();
        let shown: Vec<_> = scenario.numbers().into_iter().map(|it| (it.path, it.value, it.unit, it.span)).collect();
        let (path, value, unit, span) = &shown[0];
        assert_eq!((path.as_str(), *value, unit.as_str(), span), ("duration", 2.0, "s", &None));
        let (path, value, unit, span) = &shown[shown.len() - 1];
        assert_eq!(
            (path.as_str(), *value, unit.as_str()),
            ("topology.star.bottleneck.queue.drop_tail.limit", 20.0, "packets")
        );
        assert_eq!(&format!("{SCENARIO}[lab]")[span.clone().unwrap()], "\"20 packets\"");
    }
}
