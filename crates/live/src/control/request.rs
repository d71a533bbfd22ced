//! The requests on the control socket: one JSON object a line.

use forebay_qdisc::Span;
use serde::Serialize;
use serde_json::{Map, Value};

/// A direction of the live data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the inside to the outside.
    Outbound,
    /// From the outside to the inside.
    Inbound,
}

impl Direction {
    pub const ALL: [Self; 2] = [Self::Outbound, Self::Inbound];

    /// Its name, as in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outbound => "outbound",
            Self::Inbound => "inbound",
        }
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlRequest {
    /// The running configuration: read back, not the requested one.
    Show,
    /// The counters of all directions.
    Stats,
    /// Other settings of a direction. With `confirm`, those of before come back unless it is confirmed in time.
    Set {
        /// The direction.
        direction: Direction,
        /// Keys, as in the configuration's table of the direction, and their values as text.
        settings: Vec<(String, String)>,
        /// The time limit of confirmation.
        confirm: Option<Span>,
    },
    /// Read the configuration file again.
    Reload {
        /// The time limit of confirmation.
        confirm: Option<Span>,
    },
    /// The last change is to stay.
    Confirm,
    /// Undo the last change now.
    Rollback,
    /// Packets are to pass around the queues, or not.
    Bypass {
        /// Whether.
        on: bool,
        /// One direction only.
        direction: Option<Direction>,
    },
    /// Drops and marks as pcapng, until the connection ends.
    Capture {
        /// One direction only.
        direction: Option<Direction>,
        duration: Option<Span>,
    },
    /// Arrivals as a record, until the connection ends.
    Record {
        /// The direction; may be left out if there is only one.
        direction: Option<Direction>,
        duration: Option<Span>,
    },
    Ping,
}

/// The commands and their keys.
const COMMANDS: &[(&str, &[&str])] = &[
    ("show", &[]),
    ("stats", &[]),
    ("set", &["direction", "settings", "confirm"]),
    ("reload", &["confirm"]),
    ("confirm", &[]),
    ("rollback", &[]),
    ("bypass", &["on", "direction"]),
    ("capture", &["direction", "duration"]),
    ("record", &["direction", "duration"]),
    ("ping", &[]),
];

/// Less is too short to confirm by hand, more is likely forgotten.
const CONFIRM_WITHIN: (Span, Span) = (Span::from_seconds(1), Span::from_seconds(3600));

/// Reads a request.
///
/// # Errors
/// The fault, and the correct form.
pub fn parse_request(line: &str) -> Result<ControlRequest, String> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| format!("not JSON: {error}; expected a line such as {{\"command\":\"ping\"}}"))?;
    let Value::Object(object) = value else {
        return Err("expected an object such as {\"command\":\"ping\"}".to_owned());
    };
    let names = || listed(COMMANDS.iter().map(|(name, _)| *name));
    let Some(command) = object.get("command").and_then(Value::as_str) else {
        return Err(format!("\"command\" is missing; it is one of {}", names()));
    };
    let Some((command, keys)) = COMMANDS.iter().find(|(name, _)| *name == command) else {
        return Err(format!("unknown command {command:?}; expected one of {}", names()));
    };
    if let Some(key) = object.keys().find(|key| *key != "command" && !keys.contains(&key.as_str())) {
        let expected = match keys {
            [] => "it has no other keys".to_owned(),
            keys => format!("expected {}", listed(keys.iter().copied())),
        };
        return Err(format!("unknown key {key:?} of the command {command:?}; {expected}"));
    }
    let fields = Fields { command, object: &object };
    Ok(match *command {
        "show" => ControlRequest::Show,
        "stats" => ControlRequest::Stats,
        "set" => ControlRequest::Set {
            direction: fields.direction()?.ok_or_else(|| fields.missing("direction", "\"outbound\" or \"inbound\""))?,
            settings: fields.settings()?,
            confirm: fields.confirm()?,
        },
        "reload" => ControlRequest::Reload { confirm: fields.confirm()? },
        "confirm" => ControlRequest::Confirm,
        "rollback" => ControlRequest::Rollback,
        "bypass" => ControlRequest::Bypass { on: fields.on()?, direction: fields.direction()? },
        "capture" => {
            ControlRequest::Capture { direction: fields.direction()?, duration: fields.span("duration", "\"10 s\"")? }
        }
        "record" => {
            ControlRequest::Record { direction: fields.direction()?, duration: fields.span("duration", "\"8 h\"")? }
        }
        _ => ControlRequest::Ping,
    })
}

/// Names as in a sentence.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// The keys of a request.
struct Fields<'a> {
    command: &'a str,
    object: &'a Map<String, Value>,
}

impl Fields<'_> {
    fn missing(&self, key: &str, expected: &str) -> String {
        format!("{:?} needs {key:?}: {expected}", self.command)
    }

    /// The value unless it is `null`, which means nothing.
    fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn direction(&self) -> Result<Option<Direction>, String> {
        let Some(value) = self.get("direction") else { return Ok(None) };
        let named = Direction::ALL.into_iter().find(|direction| value.as_str() == Some(direction.name()));
        named.map(Some).ok_or_else(|| format!("direction {value}: expected \"outbound\" or \"inbound\""))
    }

    fn on(&self) -> Result<bool, String> {
        let expected = "true or false";
        let value = self.get("on").ok_or_else(|| self.missing("on", expected))?;
        value.as_bool().ok_or_else(|| format!("on {value}: expected {expected}"))
    }

    fn span(&self, key: &str, example: &str) -> Result<Option<Span>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let Some(text) = value.as_str() else {
            return Err(format!("{key} {value}: expected a time with its unit, such as {example}"));
        };
        let span: Span = text.parse().map_err(|error| format!("{key} {value}: {error}"))?;
        if span == Span::ZERO {
            return Err(format!("{key} {value}: expected a time above zero"));
        }
        Ok(Some(span))
    }

    fn confirm(&self) -> Result<Option<Span>, String> {
        let (least, most) = CONFIRM_WITHIN;
        match self.span("confirm", "\"30 s\"")? {
            Some(span) if span < least || span > most => {
                Err(format!("confirm {span}: expected a time from 1 s to 3600 s"))
            }
            span => Ok(span),
        }
    }

    fn settings(&self) -> Result<Vec<(String, String)>, String> {
        let expected = "an object such as {\"rate\":\"50 Mbps\"}";
        let value = self.get("settings").ok_or_else(|| self.missing("settings", expected))?;
        let Value::Object(settings) = value else { return Err(format!("settings {value}: expected {expected}")) };
        if settings.is_empty() {
            return Err(self.missing("settings", expected));
        }
        let text = |(key, value): (&String, &Value)| match value {
            Value::String(text) => Ok((key.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((key.clone(), value.to_string())),
            _ => Err(format!("settings: {key} {value}: expected a text, a number, true or false")),
        };
        settings.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_command_is_read() {
        let direction = Some(Direction::Inbound);
        let half_minute = Some(Span::from_seconds(30));
        let settings =
            vec![("rate".to_owned(), "50 Mbps".to_owned()), ("queue.dbl.max_cells".to_owned(), "8".to_owned())];
        for (line, expected) in [
            (r#"{"command":"show"}"#, ControlRequest::Show),
            (r#"{"command":"stats"}"#, ControlRequest::Stats),
            (
                concat!(
                    r#"{"command":"set","direction":"outbound","#,
                    r#""settings":{"rate":"50 Mbps","queue.dbl.max_cells":8},"confirm":"30 s"}"#
                ),
                ControlRequest::Set { direction: Direction::Outbound, settings, confirm: half_minute },
            ),
            (r#"{"command":"reload"}"#, ControlRequest::Reload { confirm: None }),
            (r#"{"command":"reload","confirm":"30 s"}"#, ControlRequest::Reload { confirm: half_minute }),
            (r#"{"command":"confirm"}"#, ControlRequest::Confirm),
            (r#" {"command":"rollback"} "#, ControlRequest::Rollback),
            (r#"{"command":"bypass","on":true}"#, ControlRequest::Bypass { on: true, direction: None }),
            (
                r#"{"command":"bypass","on":false,"direction":"inbound"}"#,
                ControlRequest::Bypass { on: false, direction },
            ),
            (r#"{"command":"capture","direction":null}"#, ControlRequest::Capture { direction: None, duration: None }),
            (
                r#"{"command":"record","direction":"inbound","duration":"30 s"}"#,
                ControlRequest::Record { direction, duration: half_minute },
            ),
            (r#"{"command":"ping"}"#, ControlRequest::Ping),
        ] {
            assert_eq!(parse_request(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (line, expected) in [
            ("ping", "not JSON: expected value at line 1 column 1; expected a line such as {\"command\":\"ping\"}"),
            ("[]", "expected an object"),
            ("{}", "\"command\" is missing; it is one of \"show\", \"stats\""),
            (r#"{"command":7}"#, "\"command\" is missing"),
            (r#"{"command":"stat"}"#, "unknown command \"stat\"; expected one of \"show\", \"stats\", \"set\""),
            (r#"{"command":"ping","x":1}"#, "unknown key \"x\" of the command \"ping\"; it has no other keys"),
            (r#"{"command":"set","rate":1}"#, "unknown key \"rate\" of the command \"set\"; expected \"direction\", "),
            (r#"{"command":"set","settings":{"a":1}}"#, "\"set\" needs \"direction\""),
            (r#"{"command":"set","direction":"outbound"}"#, "\"set\" needs \"settings\""),
            (r#"{"command":"set","direction":"outbound","settings":{}}"#, "\"set\" needs \"settings\""),
            (r#"{"command":"set","direction":"outbound","settings":{"a":[1]}}"#, "settings: a [1]: expected a text"),
            (r#"{"command":"bypass","on":"yes"}"#, "on \"yes\": expected true or false"),
            (r#"{"command":"bypass"}"#, "\"bypass\" needs \"on\""),
            (r#"{"command":"record","direction":"up"}"#, "direction \"up\": expected \"outbound\" or \"inbound\""),
            (r#"{"command":"reload","confirm":30}"#, "confirm 30: expected a time with its unit"),
            (r#"{"command":"reload","confirm":"1 ms"}"#, "expected a time from 1 s to 3600 s"),
            (r#"{"command":"reload","confirm":"soon"}"#, "confirm \"soon\": "),
            (r#"{"command":"record","duration":"0 s"}"#, "expected a time above zero"),
        ] {
            let error = parse_request(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_a_request_or_an_error(line in ".{0,200}") {
            let _ = parse_request(&line);
        }

        #[test]
        fn any_object_is_a_request_or_an_error(
            command in prop::sample::select(COMMANDS.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
            key in prop::sample::select(vec!["direction", "settings", "confirm", "on", "duration"]),
            value in prop::sample::select(
                vec!["null", "1", "true", "\"outbound\"", "\"5 s\"", "{\"a\":1}", "[[]]", "-1e9"]
            ),
        ) {
            let _ = parse_request(&format!(r#"{{"command":"{command}","{key}":{value}}}"#));
        }
    }
}
