//! Random scenarios, drawn from the schema: whatever key it has is drawn, near its default where it has one.

use std::collections::BTreeMap;

use forebay_units::{Bytes, QueueSize, Rate, Span};
use serde_json::{Map, Value, json};

use crate::dice::Dice;
use crate::guidance::Guidance;
use crate::schema::{self, Form, Schema};

/// The number of valid scenarios that have reached a place; rare ones are drawn more often.
pub type Reached = BTreeMap<String, u64>;

/// Types nest no deeper than this: beyond, only constants and what is required are drawn.
const DEEPEST: usize = 24;
const CHANCE_OF_A_KEY: f64 = 0.12;
const CHANCE_OF_A_RARE_KEY: f64 = 0.4;
const CHANCE_OF_A_FREQUENT_KEY: f64 = 0.9;
const CHANCE_OF_AN_EXTREME: f64 = 0.01;
/// A place is rare until it was reached so often.
const RARE: u64 = 20;

/// The guidance's name of a graph with Ethernet switches.
const ETHERNET_GRAPH: &str = "ethernet_graph";
/// An Ethernet has a ring more often than another graph: only there may PAUSE stop all.
const CHANCE_OF_A_RING: f64 = 0.3;
const CHANCE_OF_A_RING_OF_SWITCHES: f64 = 0.5;

/// Draws one scenario. The shared values of its parts (scales of rate and time, names that refer to each other) are
/// drawn first.
pub struct Generator<'s> {
    pub schema: &'s Schema,
    guidance: &'s Guidance,
    reached: &'s Reached,
    pub dice: Dice,
    topology: String,
    names: BTreeMap<String, Vec<String>>,
    rate_bps: f64,
    duration_s: f64,
    limits_in_bytes: bool,
    observed: bool,
    depth: usize,
}

impl<'s> Generator<'s> {
    pub fn new(schema: &'s Schema, guidance: &'s Guidance, reached: &'s Reached, mut dice: Dice) -> Self {
        let rate_bps = libm::pow(10.0, dice.uniform(5.5, 10.0));
        // This many packets of 1000 bytes one after the other keep a case short, whatever the rate is.
        let packets = libm::pow(10.0, dice.uniform(1.5, 3.7));
        let duration_s = packets * 8_000.0 / rate_bps;
        let limits_in_bytes = dice.chance(0.25);
        let (topology, names) = (String::new(), BTreeMap::new());
        let (observed, depth) = (false, 0);
        Self {
            schema,
            guidance,
            reached,
            dice,
            topology,
            names,
            rate_bps,
            duration_s,
            limits_in_bytes,
            observed,
            depth,
        }
    }

    /// A scenario without probes and traces, which need to know its links.
    pub fn scenario(&mut self) -> Value {
        let root = self.schema.root();
        self.draw(&root.place, root.schema)
    }

    /// Adds probes and traces of these links and flows, and losses of chosen packets.
    pub fn observe(&mut self, scenario: &mut Value, links: Vec<String>, flows: Vec<String>) {
        self.names.insert("link".into(), links);
        self.names.insert("flow".into(), flows);
        self.observed = true;
        self.lose(scenario);
        for key in ["probes", "traces"] {
            if self.dice.chance(0.6) {
                scenario[key] = self.draw(&format!("Scenario.{key}"), &self.schema.root().schema["properties"][key]);
            }
        }
    }

    /// Chooses packets of the flows to lose, on one of the links that lose any.
    fn lose(&mut self, scenario: &mut Value) {
        let (spots, _) = self.schema.walk(scenario);
        let is_lossy = |place: &str| place.ends_with(".impairments");
        let lossy: Vec<&String> =
            spots.iter().filter(|(_, spot)| is_lossy(&spot.place)).map(|(pointer, _)| pointer).collect();
        let Some(pointer) = self.dice.pick(&lossy) else { return };
        let chosen = self.draw("Impairments.lose", &self.schema.definition("Impairments")["properties"]["lose"]);
        if let Some(impairments) = scenario.pointer_mut(pointer) {
            impairments["lose"] = chosen;
        }
    }

    /// A value for the place.
    pub fn draw(&mut self, place: &str, schema: &'s Value) -> Value {
        self.depth += 1;
        let value = self.guided(place, schema).unwrap_or_else(|| {
            let default = if schema["default"].is_null() { self.guidance.start(place) } else { &schema["default"] };
            self.by_schema(place, schema, default)
        });
        self.depth -= 1;
        value
    }

    /// The guidance for the place, if any.
    fn guided(&mut self, place: &str, schema: &'s Value) -> Option<Value> {
        if place == "Scenario.duration" {
            return Some(span(self.duration_s * 1e12));
        }
        if let Some(samples) = self.guidance.samples(place)
            && (self.schema.resolve(schema).1["pattern"].is_string() || self.dice.chance(0.3))
        {
            return self.dice.pick(samples).cloned();
        }
        if let Some(kind) = self.guidance.gives(place) {
            let names = self.names.entry(kind.to_owned()).or_default();
            names.push(format!("{kind}{}", names.len()));
            return names.last().map(|name| json!(name));
        }
        let kind = self.guidance.refers_to(place)?;
        let names = self.names.get(kind).cloned().unwrap_or_default();
        let several = self.schema.fits(schema, &json!([])) && self.dice.chance(0.4);
        let name = self.dice.pick(&names)?.clone();
        let more: Vec<_> = (0..self.dice.few()).filter_map(|_| self.dice.pick(&names).cloned()).collect();
        Some(if several { json!([vec![name], more].concat()) } else { json!(name) })
    }

    fn by_schema(&mut self, place: &str, schema: &'s Value, default: &Value) -> Value {
        let (name, schema) = self.schema.resolve(schema);
        let owner = name.unwrap_or(place);
        if let Some(quantity) = self.quantity(owner, default) {
            return quantity;
        }
        let forms = schema::forms(schema);
        if let [(_, Form::Schema(only))] = forms[..] {
            return self.by_schema(place, only, default);
        }
        if !forms.is_empty() {
            return self.alternative(owner, &forms, default);
        }
        if schema::is_type(schema, "object") {
            return self.object(owner, schema);
        }
        if schema::is_type(schema, "array") {
            return self.list(place, schema);
        }
        self.scalar(place, schema, default)
    }

    fn alternative(&mut self, owner: &str, forms: &[(String, Form<'s>)], default: &Value) -> Value {
        let label = |index: usize| format!("{owner}:{}", forms[index].0);
        let deep = self.depth > DEEPEST && forms.iter().any(|(_, form)| matches!(form, Form::Constant(_)));
        let allowed = |index: &usize| {
            self.guidance.allows(&label(*index), &self.topology)
                && (!deep || matches!(forms[*index].1, Form::Constant(_)))
        };
        let mut open: Vec<usize> = (0..forms.len()).filter(allowed).collect();
        if forms.len() > 1 && self.dice.chance(0.5) {
            let times = |index: usize| self.reached.get(&label(index)).copied().unwrap_or(0);
            let least = open.iter().map(|index| times(*index)).min().unwrap_or(0);
            open.retain(|index| times(*index) <= least.max(RARE));
        }
        let chosen = self.dice.pick(&open).copied().unwrap_or(0);
        if owner == "Topology" {
            self.topology.clone_from(&forms[chosen].0);
            if self.topology == "graph" && self.dice.chance(0.4) {
                ETHERNET_GRAPH.clone_into(&mut self.topology);
            }
            ["node", "end", "switch"].iter().for_each(|kind| drop(self.names.remove(*kind)));
        }
        match forms[chosen].1 {
            Form::Constant(constant) => constant.clone(),
            Form::Schema(schema) => {
                let place = if forms.len() > 1 { label(chosen) } else { owner.to_owned() };
                self.guided(&place, schema).unwrap_or_else(|| self.by_schema(&place, schema, default))
            }
        }
    }

    fn object(&mut self, owner: &str, schema: &'s Value) -> Value {
        let mut map = Map::new();
        let one_of = self.guidance.one_of(owner);
        let the_one = one_of.and_then(|keys| self.dice.pick(keys));
        for (key, property) in schema::properties(schema) {
            let place = if owner.contains(':') { owner.to_owned() } else { format!("{owner}.{key}") };
            let there = if schema::is_required(schema, key) {
                true
            } else if one_of.is_some_and(|keys| keys.iter().any(|one| one == key)) {
                the_one.is_some_and(|one| one == key)
            } else {
                self.is_there(&place)
            };
            if there && self.guidance.allows(&place, &self.topology) {
                map.insert(key.to_owned(), self.draw(&place, property));
            }
        }
        let mut value = Value::Object(map);
        self.join(owner, &mut value);
        value
    }

    fn is_there(&mut self, place: &str) -> bool {
        if !self.observed && matches!(place, "Scenario.probes" | "Scenario.traces") || self.depth > DEEPEST {
            return false;
        }
        let rare = self.reached.get(place).copied().unwrap_or(0) < RARE;
        self.dice.chance(if self.guidance.is_mostly_there(place) {
            CHANCE_OF_A_FREQUENT_KEY
        } else if rare {
            CHANCE_OF_A_RARE_KEY
        } else {
            CHANCE_OF_A_KEY
        })
    }

    fn list(&mut self, place: &str, schema: &'s Value) -> Value {
        let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
        let count = match (self.guidance.items(place), schema["maxItems"].as_u64()) {
            (Some([least, more]), _) => least + self.dice.below(more + 1),
            (None, Some(most)) => most as usize,
            (None, None) => least + self.dice.few(),
        };
        (0..count).map(|_| self.draw(&format!("{place}[]"), &schema["items"])).collect()
    }

    fn scalar(&mut self, place: &str, schema: &'s Value, default: &Value) -> Value {
        let least = schema["minimum"].as_f64();
        let most = schema["maximum"].as_f64();
        if schema::is_type(schema, "boolean") {
            json!(self.dice.chance(0.5))
        } else if schema::is_type(schema, "integer") {
            let number = match default.as_f64().filter(|default| *default > 0.0) {
                Some(default) => self.near(default),
                None => least.unwrap_or(0.0) + self.dice.few() as f64,
            };
            json!(number.clamp(least.unwrap_or(0.0), most.unwrap_or(1e15)).round() as u64)
        } else if schema::is_type(schema, "number") {
            let number = match default.as_f64().filter(|default| *default > 0.0) {
                Some(default) => self.near(default),
                None => least.unwrap_or(0.0) + self.dice.uniform(0.0, 1.0) * self.dice.few().max(1) as f64,
            };
            json!(number.clamp(least.unwrap_or(f64::MIN), most.unwrap_or(f64::MAX)))
        } else if schema["pattern"].is_string() {
            panic!("nothing says how to draw `{place}`: give it samples in tests/torture/src/guidance.toml")
        } else {
            json!(["", "a text", "\u{fc}ber \"q\"", "a/b"][self.dice.below(4)])
        }
    }

    /// A quantity with its unit, if the type is one.
    fn quantity(&mut self, type_name: &str, default: &Value) -> Option<Value> {
        if let Some(extremes) = self.guidance.extremes(type_name)
            && self.dice.chance(CHANCE_OF_AN_EXTREME)
        {
            return self.dice.pick(extremes).cloned();
        }
        let text = default.as_str();
        Some(match type_name {
            "Span" => {
                let known = text.and_then(|text| text.parse::<Span>().ok()).filter(|span| *span > Span::ZERO);
                let start_ps = known.map_or_else(
                    || self.duration_s * 1e12 * libm::exp2(self.dice.uniform(-12.0, -1.0)),
                    |span| span.picoseconds() as f64,
                );
                span(self.near(start_ps))
            }
            "Rate" => {
                let known = text.and_then(|text| text.parse::<Rate>().ok());
                let part = self.rate_bps * default.as_f64().unwrap_or(1.0);
                let bps = self.near(known.map_or(part, |rate| rate.bits_per_second() as f64));
                json!(format!("{} bps", bps.max(1.0).round() as u64))
            }
            "Bytes" => {
                let known = text.and_then(|text| text.parse::<Bytes>().ok());
                json!(format!("{} B", self.near(known.map_or(1_000.0, |bytes| bytes.0 as f64)).round() as u64))
            }
            "QueueSize" => {
                let known = text.and_then(|text| text.parse::<QueueSize>().ok());
                let packets = match known.unwrap_or(QueueSize::Packets(50)) {
                    QueueSize::Packets(packets) => packets as f64,
                    QueueSize::Bytes(bytes) => bytes as f64 / 1_000.0,
                };
                let packets = self.near(packets);
                json!(if self.limits_in_bytes {
                    format!("{} B", (packets * 1_000.0).round() as u64)
                } else {
                    format!("{} packets", packets.round() as u64)
                })
            }
            _ => return None,
        })
    }

    /// A number as it is, mostly near it, now and then far from it or nothing at all.
    fn near(&mut self, number: f64) -> f64 {
        match self.dice.below(200) {
            0 => 0.0,
            1 => 1.0,
            2..=3 => self.dice.around(number, 20.0),
            4..=15 => self.dice.around(number, 6.0),
            16..=50 => number,
            _ => self.dice.around(number, 1.5),
        }
    }

    /// Makes one network of the drawn values: lists that must match.
    fn join(&mut self, owner: &str, value: &mut Value) {
        match owner {
            "Graph" => self.join_graph(value),
            "Ethernet" => {
                let switches = value["switches"].as_array().into_iter().flatten();
                let name = |name: &Value| name.as_str().unwrap_or_default().to_owned();
                let names: Vec<String> = switches.clone().map(|switch| name(&switch["name"])).collect();
                let nodes = switches.flat_map(|switch| switch["nodes"].as_array().into_iter().flatten());
                self.names.insert("end".into(), nodes.map(name).collect());
                let ends = self.tree(&names, |_| true, CHANCE_OF_A_RING_OF_SWITCHES);
                value["trunks"] = ends.into_iter().map(|(one, other)| json!([one, other])).collect();
            }
            "SwitchTopology" if value.pointer("/load/matrix").is_some() => {
                let ports = value["ports"].as_u64().unwrap_or(0).min(16);
                let mut row =
                    || -> Value { (0..ports).map(|_| json!(self.dice.uniform(0.0, 1.2) / ports as f64)).collect() };
                value["load"]["matrix"] = (0..ports).map(|_| row()).collect();
            }
            _ => {}
        }
    }

    /// Joins the switches of an Ethernet again if some are not, after others were drawn.
    pub fn join_again(&mut self, scenario: &mut Value) {
        let Some(ethernet) = scenario.pointer_mut("/topology/ethernet") else { return };
        let switches = ethernet["switches"].as_array().map_or(0, Vec::len);
        let trunks = ethernet["trunks"].as_array().into_iter().flatten().flat_map(|ends| ends.as_array()).flatten();
        let known: Vec<&Value> =
            ethernet["switches"].as_array().into_iter().flatten().map(|switch| &switch["name"]).collect();
        let stray = trunks.clone().any(|end| !known.contains(&end));
        if stray || (switches > 1 && trunks.count() / 2 + 1 < switches) {
            self.join("Ethernet", ethernet);
        }
    }

    /// Joins all nodes of a graph, hosts to what passes packets on.
    fn join_graph(&mut self, graph: &mut Value) {
        let Value::Array(nodes) = &mut graph["nodes"] else { return };
        let host = |node: &Value| node.get("kind").is_none_or(|kind| kind == "host");
        let is_ethernet = self.topology == ETHERNET_GRAPH;
        if host(&nodes[0]) {
            nodes[0]["kind"] = json!(if is_ethernet { "ethernet_switch" } else { "router" });
        }
        for node in nodes.iter_mut().rev().take(2) {
            node["kind"] = json!("host");
        }
        let name = |node: &Value| node["name"].as_str().unwrap_or_default().to_owned();
        let names: Vec<String> = nodes.iter().map(name).collect();
        let hosts: Vec<bool> = nodes.iter().map(host).collect();
        self.names.insert("end".into(), nodes.iter().filter(|node| host(node)).map(name).collect());
        let mut ends = self.tree(&names, |index| !hosts[index], if is_ethernet { 0.0 } else { CHANCE_OF_A_RING });
        let switches: Vec<&String> =
            names.iter().zip(&hosts).filter(|(_, host)| !**host).map(|(name, _)| name).collect();
        if is_ethernet && self.dice.chance(CHANCE_OF_A_RING_OF_SWITCHES) {
            let joined = |one: &str, other: &str| {
                ends.iter().any(|(from, to)| (from == one && to == other) || (from == other && to == one))
            };
            let (first, last) = (switches[0].clone(), switches[switches.len() - 1].clone());
            if first != last && !joined(&first, &last) {
                ends.push((last, first));
            }
        }
        let links = &self.schema.definition("Graph")["properties"]["links"]["items"];
        let joined = ends.into_iter().map(|(from, to)| {
            let mut link = self.draw("Graph.links[]", links);
            (link["from"], link["to"]) = (json!(from), json!(to));
            link
        });
        graph["links"] = joined.collect();
    }

    /// Pairs that join all of the names, and one more with the probability `ring`; a node that does not forward is
    /// joined to one that does, as the first is.
    fn tree(&mut self, names: &[String], passes_on: impl Fn(usize) -> bool, ring: f64) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        let mut pair = |dice: &mut Dice, index: usize| {
            let inner: Vec<usize> = (0..index).filter(|before| passes_on(*before)).collect();
            let other = dice.pick(&inner).copied().unwrap_or(0);
            let (one, other) = if dice.chance(0.5) { (index, other) } else { (other, index) };
            pairs.push((names[one].clone(), names[other].clone()));
        };
        (1..names.len()).for_each(|index| pair(&mut self.dice, index));
        if names.len() > 2 && self.dice.chance(ring) {
            pair(&mut self.dice, names.len() - 1);
        }
        pairs
    }
}

fn span(picoseconds: f64) -> Value {
    json!(Span::from_picoseconds(picoseconds.min(1e19).round() as u64).to_string())
}
