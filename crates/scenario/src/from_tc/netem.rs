//! netem: the rate, the delay and the impairments of the link.

use forebay_qdisc::Rate;
use forebay_units::Span;

use super::parameters::{Note, Parameters};
use super::text::{Fault, Word};
use super::tree::Qdisc;
use super::units;

/// Keys of a link, with their values as TOML.
#[derive(Debug, Default)]
pub(super) struct Netem {
    pub rate: Option<Rate>,
    pub delay: Option<Span>,
    pub impairments: Vec<(String, String)>,
    /// The packets that it holds, those on their way included.
    pub limit: u64,
}

/// Packets that netem holds unless another limit is given.
const LIMIT: u64 = 1000;

/// Delay, jitter and early packets, which depend on each other.
#[derive(Debug, Default)]
struct Delay {
    delay: Span,
    jitter: Span,
    correlation: f64,
    /// Probability and correlation of early packets.
    early: Option<(f64, f64)>,
    gap: Option<u32>,
    is_normal: bool,
}

/// The abbreviation of one of `names`, as tc takes it.
fn begins(word: &Word, names: &[&str]) -> bool {
    names.iter().any(|name| word.begins(name))
}

impl Netem {
    pub fn read(qdisc: &Qdisc, notes: &mut Vec<Note>) -> Result<Self, Fault> {
        let mut p = Parameters::new(&qdisc.kind, &qdisc.words, notes);
        let mut netem = Self { limit: LIMIT, ..Self::default() };
        let mut delay = Delay::default();
        while let Some(word) = p.next() {
            if begins(word, &["limit"]) {
                netem.limit = p.read(word, "a number of packets", units::packets)?;
            } else if begins(word, &["latency", "delay"]) {
                delay.delay = p.time(word)?;
                delay.jitter = p.optional(units::time).unwrap_or(delay.jitter);
                delay.correlation = p.optional(units::percent).unwrap_or(delay.correlation);
            } else if begins(word, &["loss", "drop"]) {
                if let Some((key, value)) = loss(&mut p, word)? {
                    netem.set(&key, value);
                }
            } else if begins(word, &["duplicate"]) {
                netem.set("duplication", p.percent(word)?);
                if p.optional(units::percent).is_some() {
                    p.note(word, "each packet is duplicated independently.");
                }
            } else if begins(word, &["reorder"]) {
                delay.early = Some((p.percent(word)?, p.optional(units::percent).unwrap_or(0.0)));
            } else if begins(word, &["gap"]) {
                delay.gap = Some(p.integer(word)?);
            } else if begins(word, &["rate"]) {
                netem.rate = Some(p.rate(word)?);
                if !p.list(3).is_empty() || p.skip("packetoverhead") {
                    p.list(1);
                    p.note(word, "add the bytes of the link layer by hand: `framing` of the link has them.");
                }
            } else if begins(word, &["slot"]) {
                netem.slot(&mut p, word)?;
            } else if begins(word, &["corrupt"]) {
                p.percent(word)?;
                p.optional(units::percent);
                p.note(word, "receivers discard damaged packets: add the part to impairments.loss.");
            } else if begins(word, &["distribution"]) {
                delay.is_normal = p.skip("normal");
                if !delay.is_normal && !p.skip("uniform") {
                    p.note_value(word, "the jitter is uniform.")?;
                }
            } else if begins(word, &["ecn"]) {
                p.note(word, "losses never mark.");
            } else if begins(word, &["seed"]) {
                p.note_value(word, "the scenario has a seed.")?;
            } else {
                return Err(p.unknown(word));
            }
        }
        netem.delay(&delay, &mut p);
        Ok(netem)
    }

    fn set(&mut self, key: &str, value: impl std::fmt::Display) {
        self.impairments.retain(|(known, _)| known != key);
        self.impairments.push((key.to_owned(), value.to_string()));
    }

    fn slot(&mut self, p: &mut Parameters<'_, '_>, word: &Word) -> Result<(), Fault> {
        let expected = "a time such as 800us";
        if p.skip("distribution") {
            p.read(word, "a distribution", |text| Some(text.len()))?;
            p.note(word, "the time to the next slot is uniform between two values; give `slots` by hand.");
            for _ in 0..2 {
                p.read(word, expected, units::exact_time)?;
            }
        }
        let mut slots = vec![format!("min = \"{}\"", p.read(word, expected, units::exact_time)?)];
        slots.extend(p.optional(units::exact_time).map(|most| format!("max = \"{most}\"")));
        if p.skip("packets") {
            slots.push(format!("packets = {}", p.read(word, "a number of packets", units::integer)?));
        }
        if p.skip("bytes") {
            slots.push(format!("bytes = \"{}\"", p.size(word)?));
        }
        self.set("slots", format!("{{ {} }}", slots.join(", ")));
        Ok(())
    }

    /// Without early packets the shortest delay is the link's, and the jitter is the rest. Early packets have no delay
    /// at all in Linux: there, all of it is jitter.
    fn delay(&mut self, delay: &Delay, p: &mut Parameters<'_, '_>) {
        let Delay { delay, jitter, correlation, early, gap, is_normal } = *delay;
        // A gap alone sends each packet at its end early (`netem_change`).
        let early = early.or_else(|| gap.filter(|gap| *gap > 0).map(|_| (1.0, 0.0)));
        if is_normal && early.is_none() && Span::ZERO < jitter && jitter <= delay {
            return self.normal_delay(delay, jitter, correlation, p);
        }
        if is_normal && jitter > Span::ZERO {
            p.note(p.kind, "the jitter is uniform, since a normal one needs a longer delay and no early packets.");
        }
        let high = Span::from_picoseconds(delay.picoseconds().saturating_add(jitter.picoseconds()));
        let low = delay.saturating_sub(jitter);
        if jitter > delay {
            p.note(p.kind, "jitter longer than the delay: no delay is shorter than 0.");
        }
        let uniform = |low: Span, high: Span| format!("{{ uniform = [\"{}\", \"{}\"] }}", span(low), span(high));
        if let Some((probability, correlation)) = early {
            self.delay = Some(Span::ZERO);
            let constant = format!("\"{}\"", span(delay));
            self.set("jitter", if jitter > Span::ZERO { uniform(low, high) } else { constant });
            let of_draws = if correlation > 0.0 { format!(", correlation = {correlation}") } else { String::new() };
            let gap = gap.unwrap_or(1).max(1);
            self.set("reordering", format!("{{ probability = {probability}{of_draws}, gap = {gap} }}"));
        } else {
            self.delay = Some(low);
            if jitter > Span::ZERO {
                self.set("jitter", uniform(Span::ZERO, high.saturating_sub(low)));
                self.set("reordering", true);
            }
        }
        if jitter > Span::ZERO && correlation > 0.0 {
            self.set("jitter_correlation", correlation);
        }
    }

    /// netem's table ends at four deviations; a delay is never below zero.
    fn normal_delay(&mut self, delay: Span, deviation: Span, correlation: f64, p: &mut Parameters<'_, '_>) {
        let mean = delay.min(Span::from_picoseconds(deviation.picoseconds().saturating_mul(4)));
        self.delay = Some(delay - mean);
        self.set(
            "jitter",
            format!("{{ normal = {{ mean = \"{}\", deviation = \"{}\" }} }}", span(mean), span(deviation)),
        );
        self.set("reordering", true);
        if correlation > 0.0 {
            p.note(p.kind, "draws of a normal jitter are independent.");
        }
    }
}

/// A time as a person writes it: zero has no unit of its own.
pub(super) fn span(span: Span) -> String {
    if span == Span::ZERO { "0 s".to_owned() } else { span.to_string() }
}

/// A loss model in the words of a scenario.
fn loss(p: &mut Parameters<'_, '_>, word: &Word) -> Result<Option<(String, String)>, Fault> {
    // Output has the name of each number in front of it.
    let next = |p: &mut Parameters<'_, '_>, names: &[&str]| {
        for name in names {
            p.skip(name);
        }
        p.optional(units::percent)
    };
    if p.skip("state") {
        p.skip("p13");
        let p13 = p.percent(word)?;
        let p31 = next(p, &["p31"]).unwrap_or(1.0 - p13);
        let p32 = next(p, &["p32"]).unwrap_or(0.0);
        let p23 = next(p, &["p23"]).unwrap_or(1.0);
        let p14 = next(p, &["p14"]).unwrap_or(0.0);
        let value = format!("{{ p13 = {p13}, p31 = {p31}, p32 = {p32}, p23 = {p23}, p14 = {p14} }}");
        return Ok(Some(("loss.four_state".to_owned(), value)));
    }
    if p.skip("gemodel") {
        p.skip("p");
        let to_bad = p.percent(word)?;
        let to_good = next(p, &["r"]).unwrap_or(1.0 - to_bad);
        let in_bad = next(p, &["1-h"]).unwrap_or(1.0);
        let in_good = next(p, &["1-k"]).unwrap_or(0.0);
        let value =
            format!("{{ to_bad = {to_bad}, to_good = {to_good}, loss_in_bad = {in_bad}, loss_in_good = {in_good} }}");
        return Ok(Some(("loss.gilbert_elliott".to_owned(), value)));
    }
    p.skip("random");
    let probability = p.percent(word)?;
    Ok(match p.optional(units::percent).filter(|correlation| *correlation > 0.0) {
        Some(correlation) => {
            let value = format!("{{ probability = {probability}, correlation = {correlation} }}");
            Some(("loss.correlated".to_owned(), value))
        }
        None => (probability > 0.0).then(|| ("loss".to_owned(), probability.to_string())),
    })
}
