//! Several hosts send to one at once.

use std::borrow::Cow;
use std::fmt;

use forebay_document::{Invalid, Path, did_you_mean};
use forebay_qdisc::uniform;
use forebay_units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use super::seam::{Message, Setting, TrafficPattern};
use crate::schema::{SizeDistribution, SpanDistribution};
use crate::validate::check::{DAY, Validity, check_span, check_transfer, require};

/// Several hosts send to one at once: a burst, or one after the other.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// The host that receives. Default: drawn for each burst.
    #[serde(default)]
    pub receiver: Option<String>,
    /// How many hosts send, drawn for each burst, or a list of the hosts that send.
    pub senders: Senders,
    /// Payload bytes of each sender; a distribution is drawn for each flow.
    pub size: SizeDistribution,
    /// Time from a burst to the next, until `stop`; drawn each time, so that { exponential = "1 ms" } is a Poisson
    /// process. Default: a single burst, at `start`.
    #[serde(default)]
    pub every: Option<SpanDistribution>,
}

/// The hosts that send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Senders {
    /// So many, drawn for each burst.
    Drawn(u32),
    /// These.
    Hosts(Vec<String>),
}

impl Senders {
    fn count(&self) -> usize {
        match self {
            Self::Drawn(count) => *count as usize,
            Self::Hosts(hosts) => hosts.len(),
        }
    }
}

/// The place of a host in the setting.
fn place(setting: &Setting<'_>, name: &str) -> Option<usize> {
    setting.hosts.iter().position(|host| host.name == name)
}

fn check_host(setting: &Setting<'_>, name: &str, path: &Path) -> Validity {
    if place(setting, name).is_some() {
        return Ok(());
    }
    let hosts = if setting.has_all_hosts { "the topology has" } else { "`hosts` of the group have" };
    let help = did_you_mean(name, setting.hosts.iter().map(|host| host.name));
    Err(Invalid::new(path.clone(), format!("{hosts} no `{name}`"), "expected the name of a host").with_help(help))
}

impl TrafficPattern for Incast {
    fn check(&self, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity {
        check_transfer(&self.size, &at.key("size"))?;
        if let Some(receiver) = &self.receiver {
            check_host(setting, receiver, &at.key("receiver"))?;
        }
        let senders = at.key("senders");
        if let Senders::Hosts(hosts) = &self.senders {
            for (index, name) in hosts.iter().enumerate() {
                let path = || senders.index(index);
                check_host(setting, name, &path())?;
                require(!hosts[..index].contains(name), path, || format!("`{name}` sends twice"), "the second one")?;
                let receives = self.receiver.as_ref() == Some(name);
                require(!receives, path, || format!("`{name}` would send to itself"), "expected another host")?;
            }
        }
        // A receiver that is drawn is none of the hosts that send.
        let (count, others) = (self.senders.count(), setting.hosts.len() - 1);
        let message = || format!("{count} hosts cannot send to another one: there are {}", others + 1);
        require((1..=others).contains(&count), || senders, message, &format!("expected 1 to {others}"))?;
        let Some(every) = &self.every else {
            return setting.needs_no_stop("incast` without `every", group);
        };
        check_span(every, DAY, &at.key("every"))?;
        let zero = || "`every` is zero: bursts without end would come at once".into();
        require(every.mean() >= Span::from_nanoseconds(1), || at.key("every"), zero, "expected a mean of at least 1 ns")
    }

    fn count(&self, setting: &Setting<'_>) -> f64 {
        let span_s = setting.span().seconds();
        let bursts = self.every.as_ref().map_or(1.0, |every| 1.0 + span_s / every.mean().seconds());
        bursts * self.senders.count() as f64
    }

    /// Bursts that overlap are an overload.
    fn at_once(&self, setting: &Setting<'_>) -> f64 {
        self.count(setting).min(2.0 * self.senders.count() as f64)
    }

    fn has_drawn_number(&self) -> bool {
        self.every.as_ref().is_some_and(|every| !matches!(every, SpanDistribution::Constant(_)))
    }

    fn size(&self) -> Option<&SizeDistribution> {
        Some(&self.size)
    }

    /// Burst after burst.
    fn messages(&self, setting: &Setting<'_>, seed: u64) -> Vec<Message> {
        let [mut gaps, mut hosts, mut starts, mut of_sizes] =
            ["gap", "hosts", "start", "size"].map(|what| setting.stream(seed, what));
        let (sizes, every) = (self.size.bytes(), self.every.as_ref().map(SpanDistribution::picoseconds));
        let given = self.receiver.as_ref().and_then(|name| place(setting, name));
        let (mut messages, mut burst) = (Vec::new(), setting.begin());
        while burst < setting.end() {
            let (receiver, senders) = self.draw_hosts(setting, given, &mut hosts);
            messages.extend(senders.into_iter().map(|sender| Message {
                start: burst.saturating_add(setting.delay(&mut starts)),
                ends: [sender, receiver],
                bytes: sizes.draw_count(&mut of_sizes),
            }));
            let Some(every) = &every else { break };
            burst = burst.saturating_add(every.draw_span(&mut gaps));
        }
        messages
    }
}

impl Incast {
    /// The receiver and the senders of a burst, the receiver being `given` if it is.
    fn draw_hosts(
        &self,
        setting: &Setting<'_>,
        given: Option<usize>,
        rng: &mut rand_pcg::Pcg64Mcg,
    ) -> (usize, Vec<usize>) {
        let mut draw = |below: usize| (uniform(rng) * below as f64) as usize;
        let all = || 0..setting.hosts.len();
        match &self.senders {
            Senders::Hosts(names) => {
                let senders: Vec<usize> = names.iter().filter_map(|name| place(setting, name)).collect();
                let receiver = given.unwrap_or_else(|| {
                    let others: Vec<usize> = all().filter(|host| !senders.contains(host)).collect();
                    others[draw(others.len())]
                });
                (receiver, senders)
            }
            Senders::Drawn(count) => {
                let receiver = given.unwrap_or_else(|| draw(setting.hosts.len()));
                let mut others: Vec<usize> = all().filter(|host| *host != receiver).collect();
                for chosen in 0..*count as usize {
                    let other = chosen + draw(others.len() - chosen);
                    others.swap(chosen, other);
                }
                others.truncate(*count as usize);
                (receiver, others)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Senders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrNames;
        impl<'de> Visitor<'de> for NumberOrNames {
            type Value = Senders;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of hosts, or a list of their names")
            }

            fn visit_u64<E: Error>(self, hosts: u64) -> Result<Senders, E> {
                match u32::try_from(hosts) {
                    Ok(hosts @ 1..) => Ok(Senders::Drawn(hosts)),
                    _ => Err(E::custom("there must be at least 1 host that sends")),
                }
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Senders, E> {
                Ok(Senders::Hosts(vec![name.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Senders, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(Senders::Hosts(names))
            }
        }
        deserializer.deserialize_any(NumberOrNames)
    }
}

impl JsonSchema for Senders {
    fn schema_name() -> Cow<'static, str> {
        "Senders".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How many hosts send, drawn for each burst, or a list of the hosts that send.",
            "oneOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            ],
        })
    }
}
