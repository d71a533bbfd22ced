//! A line of a connection matrix.

use std::fmt;

use super::from_text::from_text;
use crate::validate::check::LONGEST_RUN;

/// A connection of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// Numbers of the nodes that send and that receive.
    pub ends: [u32; 2],
    /// Its start in microseconds; `None` if a trigger starts it.
    pub start_us: Option<f64>,
    /// Payload.
    pub bytes: u64,
    /// Its number in the file, if it has one.
    pub id: Option<u64>,
    /// The trigger that starts it.
    pub trigger: Option<u64>,
    /// The trigger that it fires when it is acknowledged.
    pub send_done: Option<u64>,
    /// The trigger that it fires when it has arrived.
    pub recv_done: Option<u64>,
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ends: [from, to], start_us, bytes, trigger, send_done, recv_done, .. } = self;
        write!(f, "{from}->{to}")?;
        start_us.map_or(Ok(()), |start| write!(f, " start {start}"))?;
        trigger.map_or(Ok(()), |trigger| write!(f, " trigger {trigger}"))?;
        write!(f, " size {bytes}")?;
        send_done.map_or(Ok(()), |trigger| write!(f, " send_done_trigger {trigger}"))?;
        recv_done.map_or(Ok(()), |trigger| write!(f, " recv_done_trigger {trigger}"))
    }
}

impl std::str::FromStr for Connection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let ends = words.next().and_then(|ends| ends.split_once("->"));
        let ends = ends.and_then(|(from, to)| Some([from.parse().ok()?, to.parse().ok()?]));
        let ends: [u32; 2] = ends.ok_or("expected a connection, such as `0->13 start 0 size 2000000`")?;
        if ends[0] == ends[1] {
            return Err(format!("node {} would send to itself", ends[0]));
        }
        let (mut start_us, mut bytes, mut id) = (None, None, None);
        let [mut trigger, mut send_done, mut recv_done] = [None; 3];
        while let Some(word) = words.next() {
            let mut number = |what: &str| words.next().ok_or_else(|| format!("`{word}` needs {what}"));
            match word {
                "id" => id = Some(whole(word, number("a number")?)?),
                "size" => bytes = Some(whole(word, number("a number of bytes")?)?),
                "start" => {
                    let text = number("a time in microseconds")?;
                    let time =
                        text.parse().ok().filter(|time: &f64| (0.0..=LONGEST_RUN.seconds() * 1e6).contains(time));
                    start_us = Some(time.ok_or_else(|| format!("`start {text}` is no time in microseconds"))?);
                }
                "trigger" => trigger = Some(whole(word, number("the number of a trigger")?)?),
                "send_done_trigger" => send_done = Some(whole(word, number("the number of a trigger")?)?),
                "recv_done_trigger" => recv_done = Some(whole(word, number("the number of a trigger")?)?),
                "msg" => return Err("messages that share a connection are not supported yet".to_owned()),
                _ => return Err(format!("unknown word `{word}`: expected `id`, `start` or `size`")),
            }
        }
        match (start_us, trigger) {
            (None, None) => return Err("`start` is missing: a time in microseconds, or a `trigger`".to_owned()),
            (Some(_), Some(_)) => return Err("it has a `start` and a `trigger`: expected one of them".to_owned()),
            _ => {}
        }
        let bytes = bytes.filter(|bytes| *bytes > 0).ok_or("`size` is missing: at least a byte")?;
        Ok(Self { ends, start_us, bytes, id, trigger, send_done, recv_done })
    }
}

pub(super) fn whole(word: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{word} {text}` is no whole number"))
}

from_text!(
    Connection,
    "a connection such as \"0->13 start 0 size 2000000\"",
    "A connection of a matrix: \"0->13 start 0 size 2000000\".",
    "^[0-9]+->[0-9]+ "
);
