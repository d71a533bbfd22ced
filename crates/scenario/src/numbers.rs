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

/// Checks that each pin of `[lab]` is a number of the scenario as it was written, and that its bounds are in order.
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
