//! Reads traces in the text format of GOAL.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;

use forebay_engine::TaskEvent;

use super::trace::{Kind, Operation, Trace, TraceMessage};
use crate::patterns::tasks::{Dependency, circle};

/// A simulated network has fewer hosts.
const MOST_RANKS: u32 = 1_000_000;

/// A computation of days has no overflow, nor has a sum of many.
const LONGEST_NS: u64 = 1 << 50;

/// A line, with its number.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    fn fault<T>(self, reason: impl Display) -> Result<T, String> {
        Err(format!("line {} is {:?}: {reason}", self.number, self.text.trim()))
    }

    fn number<T: std::str::FromStr>(self, word: Option<&str>, what: &str) -> Result<T, String> {
        match word.map(str::parse) {
            Some(Ok(number)) => Ok(number),
            Some(Err(_)) => self.fault(format_args!("`{}` is no {what}", word.unwrap_or_default())),
            None => self.fault(format_args!("expected a {what}")),
        }
    }
}

/// An operation as it is written.
#[derive(Clone, Copy)]
struct Written<'a> {
    line: Line<'a>,
    /// The rank at the other end of a message.
    peer: u32,
}

/// A rank that is being read.
struct Block<'a> {
    rank: u32,
    line: Line<'a>,
    labels: BTreeMap<&'a str, u32>,
    /// The operation that waits, the one it waits for, and the event.
    waits: Vec<(Line<'a>, [&'a str; 2], TaskEvent)>,
}

#[derive(Default)]
struct Reader<'a> {
    ranks: Option<u32>,
    block: Option<Block<'a>>,
    /// The ranks so far, each with the number of its line.
    seen: BTreeMap<u32, usize>,
    operations: Vec<Operation>,
    written: Vec<Written<'a>>,
    dependencies: Vec<Dependency>,
}

pub(super) fn trace(text: &str) -> Result<Trace, String> {
    let mut reader = Reader::default();
    let mut is_comment = false;
    for (text, number) in text.lines().zip(1..) {
        reader.line(Line { number, text }, &words(text, &mut is_comment))?;
    }
    reader.close()
}

/// The words of a line without its comments. A colon and a brace are words of their own.
fn words<'a>(mut text: &'a str, is_comment: &mut bool) -> Vec<&'a str> {
    let mut words = Vec::new();
    loop {
        if *is_comment {
            let Some(end) = text.find("*/") else { return words };
            (text, *is_comment) = (&text[end + 2..], false);
        }
        let begin = text.find("//").into_iter().chain(text.find("/*")).min();
        let code = &text[..begin.unwrap_or(text.len())];
        for word in code.split_whitespace() {
            let parts = word.split_inclusive([':', '{', '}']);
            words.extend(parts.flat_map(|part| {
                let cut = part.len() - usize::from(part.ends_with([':', '{', '}']));
                [&part[..cut], &part[cut..]].into_iter().filter(|word| !word.is_empty())
            }));
        }
        match begin {
            Some(begin) if text[begin..].starts_with("/*") => (text, *is_comment) = (&text[begin + 2..], true),
            _ => return words,
        }
    }
}

fn is_label(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: Line<'a>, mut words: &[&'a str]) -> Result<(), String> {
        while let Some((&first, rest)) = words.split_first() {
            words = match first {
                "num_ranks" => {
                    let ranks: u32 = line.number(rest.first().copied(), "number of ranks")?;
                    if self.ranks.replace(ranks).is_some() {
                        return line.fault("there is another `num_ranks`");
                    }
                    if !(1..=MOST_RANKS).contains(&ranks) {
                        return line.fault("expected 1 rank to a million");
                    }
                    &rest[1..]
                }
                "rank" => {
                    self.open(line, rest)?;
                    &rest[2..]
                }
                "}" => {
                    self.end_of_rank(line)?;
                    rest
                }
                _ => {
                    let (statement, rest) =
                        words.split_at(words.iter().position(|word| *word == "}").unwrap_or(words.len()));
                    self.statement(line, statement)?;
                    rest
                }
            };
        }
        Ok(())
    }

    fn open(&mut self, line: Line<'a>, words: &[&'a str]) -> Result<(), String> {
        let rank: u32 = line.number(words.first().copied(), "number of a rank")?;
        if words.get(1) != Some(&"{") {
            return line.fault("expected `{` after the rank");
        }
        self.check_rank(line, rank)?;
        if let Some(block) = &self.block {
            return line.fault(format_args!("`}}` is missing: rank {} goes on", block.rank));
        }
        if let Some(other) = self.seen.insert(rank, line.number) {
            return line.fault(format_args!("line {other} has this rank, too"));
        }
        self.block = Some(Block { rank, line, labels: BTreeMap::new(), waits: Vec::new() });
        Ok(())
    }

    fn check_rank(&self, line: Line<'a>, rank: u32) -> Result<(), String> {
        match self.ranks {
            None => line.fault("expected `num_ranks` first, with their number"),
            Some(ranks) if rank >= ranks => {
                line.fault(format_args!("there is no rank {rank}: they are numbered from 0 to {}", ranks - 1))
            }
            Some(_) => Ok(()),
        }
    }

    fn end_of_rank(&mut self, line: Line<'a>) -> Result<(), String> {
        let Some(Block { labels, waits, .. }) = self.block.take() else {
            return line.fault("no rank begins before this brace");
        };
        for (line, names, event) in waits {
            let [task, on] = names.map(|name| labels.get(name).copied().ok_or(name));
            match (task, on) {
                (Ok(task), Ok(on)) => self.dependencies.push(Dependency { task, on, event }),
                (Err(name), _) | (_, Err(name)) => {
                    return line.fault(format_args!("the rank has no operation `{name}`"));
                }
            }
        }
        Ok(())
    }

    fn statement(&mut self, line: Line<'a>, words: &[&'a str]) -> Result<(), String> {
        let place = self.operations.len() as u32;
        let Some(block) = &mut self.block else { return line.fault("expected `rank` with its number and `{`") };
        let event = match words.get(1) {
            Some(&"requires") => Some(TaskEvent::End),
            Some(&"irequires") => Some(TaskEvent::Start),
            _ => None,
        };
        if let Some(event) = event {
            let &[task, _, on] = words else { return line.fault("expected a label, `requires` and a label") };
            block.waits.push((line, [task, on], event));
            return Ok(());
        }
        let operation = if words.get(1) == Some(&":") {
            if !is_label(words[0]) {
                return line.fault(format_args!("`{}` is no label: expected letters, digits and `_`", words[0]));
            }
            if block.labels.insert(words[0], place).is_some() {
                return line.fault(format_args!("the rank has another operation `{}`", words[0]));
            }
            &words[2..]
        } else {
            words
        };
        let rank = block.rank;
        self.operation(line, rank, operation)
    }

    fn operation(&mut self, line: Line<'a>, rank: u32, words: &[&'a str]) -> Result<(), String> {
        let mut words: VecDeque<&str> = words.iter().copied().collect();
        let (mut peer, [mut tag, mut processor]) = (rank, [0; 2]);
        let name = words.pop_front();
        let ends_with = match name {
            Some("send") => "to",
            Some("recv") => "from",
            Some("calc") => "",
            _ => return line.fault("expected `send`, `recv`, `calc`, or a label with `requires`"),
        };
        let size = words.pop_front();
        let bytes_or_ns: u64 = if ends_with.is_empty() {
            line.number(size, "time in nanoseconds")?
        } else {
            let number = size.and_then(|size| size.strip_suffix('b'));
            if number.is_none() && words.pop_front() != Some("b") {
                return line.fault("expected a number of bytes, such as `4096b`");
            }
            let bytes = line.number(number.or(size), "number of bytes")?;
            if words.pop_front() != Some(ends_with) {
                return line.fault(format_args!("expected `{ends_with}` and a rank"));
            }
            match words.pop_front() {
                Some("-1") => return line.fault("a receive from any rank: expected the number of a rank"),
                other => peer = line.number(other, "number of a rank")?,
            }
            self.check_rank(line, peer)?;
            bytes
        };
        while let Some(word) = words.pop_front() {
            match (word, words.pop_front()) {
                ("tag", Some("-1")) => return line.fault("a receive of any tag: expected the number of a tag"),
                ("tag", number) if !ends_with.is_empty() => tag = line.number(number, "number of a tag")?,
                ("cpu", number) => processor = line.number(number, "number of a processor")?,
                ("nic", Some("0")) => {}
                ("nic", _) => return line.fault("a host has one adapter: expected `nic 0`"),
                _ => return line.fault(format_args!("unknown word `{word}`: expected `tag`, `cpu` or `nic`")),
            }
        }
        if !ends_with.is_empty() && peer == rank {
            return line.fault(format_args!("rank {rank} would send to itself"));
        }
        if bytes_or_ns > LONGEST_NS {
            return line.fault("the number is out of bounds");
        }
        // Messages get their places when all are known.
        let (message, bytes) = (u32::MAX, bytes_or_ns);
        let kind = match name {
            Some("send") => Kind::Send { message, bytes, tag },
            Some("recv") => Kind::Receive { message, bytes, tag },
            _ => Kind::Compute { time_ns: bytes_or_ns, processor },
        };
        self.operations.push(Operation { rank, kind });
        self.written.push(Written { line, peer });
        Ok(())
    }

    fn close(mut self) -> Result<Trace, String> {
        if let Some(block) = &self.block {
            return block.line.fault("`}` is missing after the last operation of the rank");
        }
        let ranks = self.ranks.ok_or("`num_ranks` is missing: a line with their number")?;
        let messages = self.messages()?;
        let Self { operations, written, dependencies, .. } = self;
        let mut waits: Vec<(u32, u32)> = dependencies.iter().map(|it| (it.task, it.on)).collect();
        let mut sends = vec![0; messages.len()];
        for (place, operation) in (0..).zip(&operations) {
            if let Kind::Send { message, .. } = operation.kind {
                sends[message as usize] = place;
            }
        }
        for (place, operation) in (0..).zip(&operations) {
            if let Kind::Receive { message, .. } = operation.kind {
                waits.push((place, sends[message as usize]));
            }
        }
        if let Some(circle) = circle(operations.len(), &waits) {
            let first = circle.iter().min().copied().unwrap_or_default();
            return written[first as usize].line.fault(format_args!(
                "it waits for itself: {} operations wait for each other in a circle, over messages and `requires`",
                circle.len()
            ));
        }
        Ok(Trace { ranks, operations, dependencies, messages })
    }

    /// Pairs the sends with the receives.
    fn messages(&mut self) -> Result<Vec<TraceMessage>, String> {
        // By ends and tag, the sends that no receive has yet.
        let mut open: BTreeMap<([u32; 2], u32), VecDeque<u32>> = BTreeMap::new();
        let mut messages = Vec::new();
        for (place, Operation { rank, kind }) in (0..).zip(&mut self.operations) {
            let ends = [*rank, self.written[place as usize].peer];
            if let Kind::Send { message, bytes, tag } = kind {
                *message = messages.len() as u32;
                messages.push(TraceMessage { ends, bytes: (*bytes).max(1) });
                open.entry((ends, *tag)).or_default().push_back(place);
            }
        }
        for place in 0..self.operations.len() {
            let Operation { rank, kind: Kind::Receive { bytes, tag, .. } } = self.operations[place] else { continue };
            let Written { line, peer } = self.written[place];
            let send = open.get_mut(&([peer, rank], tag)).and_then(VecDeque::pop_front);
            let sent = send.map(|send| self.operations[send as usize].kind);
            let Some(Kind::Send { message, bytes: sent, .. }) = sent else {
                return line.fault(format_args!("rank {peer} has no `send` for it, with tag {tag}"));
            };
            if sent > bytes {
                return line.fault(format_args!("rank {peer} sends {sent} bytes, more than it takes"));
            }
            self.operations[place].kind = Kind::Receive { message, bytes, tag };
        }
        match open.into_values().flatten().min() {
            None => Ok(messages),
            Some(send) => {
                let Written { line, peer } = self.written[send as usize];
                line.fault(format_args!("rank {peer} has no `recv` for it"))
            }
        }
    }
}
