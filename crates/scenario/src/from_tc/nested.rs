//! The qdiscs with queues of any kind inside.

use forebay_qdisc::{EtsBand, EtsConfig, HtbClass, HtbConfig, PrioBand, PrioConfig};
use forebay_qdisc::{TaprioClass, TaprioConfig, TaprioInterval, TbfConfig};
use forebay_units::{Bytes, QueueSize, Rate, Span};

use super::flat::INTERFACE_PACKETS;
use super::parameters::{Note, Parameters};
use super::queue::queue;
use super::text::{Fault, Word};
use super::tree::{Class, Id, Interface, Parent, Qdisc, Target};
use super::units;
use forebay_qdisc::config::QueueSpec;

/// The number of priorities of packets in the kernel.
const PRIORITIES: usize = 16;
const FIFO_LIMIT: QueueSize = QueueSize::Packets(INTERFACE_PACKETS);

/// Parameters of TBF.
#[derive(Debug, Default)]
pub(super) struct Tbf {
    pub rate: Option<Rate>,
    pub burst: Option<Bytes>,
    pub peakrate: Option<Rate>,
    pub mtu: Option<Bytes>,
    pub limit: Option<Bytes>,
    pub latency: Option<Span>,
}

impl Tbf {
    pub fn read(qdisc: &Qdisc, notes: &mut Vec<Note>) -> Result<Self, Fault> {
        let mut p = Parameters::new(&qdisc.kind, &qdisc.words, notes);
        let mut tbf = Self::default();
        while let Some(word) = p.next() {
            match word.text.as_str() {
                "rate" => tbf.rate = Some(p.rate(word)?),
                "burst" | "buffer" | "maxburst" => tbf.burst = Some(p.size(word)?),
                "peakrate" => tbf.peakrate = Some(p.rate(word)?),
                "mtu" | "minburst" => tbf.mtu = Some(p.size(word)?),
                "limit" => tbf.limit = Some(p.size(word)?),
                "latency" | "lat" => tbf.latency = Some(p.time(word)?),
                "mpu" | "overhead" | "linklayer" => p.note_value(word, LENGTHS)?,
                _ => return Err(p.unknown(word)),
            }
        }
        for (key, is_given) in [
            ("rate", tbf.rate.is_some()),
            ("burst", tbf.burst.is_some()),
            ("limit` or `latency", tbf.limit.is_some() || tbf.latency.is_some()),
        ] {
            if !is_given {
                return Err(qdisc.kind.fault(format!("tbf needs `{key}`"), "it is missing"));
            }
        }
        Ok(tbf)
    }

    /// The bytes that its FIFO queue holds.
    pub fn limit_bytes(&self) -> u64 {
        match (self.limit, self.latency, self.rate, self.burst) {
            (None, Some(latency), Some(rate), Some(burst)) => rate.bytes_in(latency).saturating_add(burst.0),
            (limit, ..) => limit.map_or(0, |limit| limit.0),
        }
    }
}

const LENGTHS: &str = "add the bytes of the link layer by hand: `framing` of the link has them.";

pub(super) fn tbf(qdisc: &Qdisc, interface: &Interface, notes: &mut Vec<Note>) -> Result<QueueSpec, Fault> {
    let Tbf { rate, burst, peakrate, mtu, limit, latency } = Tbf::read(qdisc, notes)?;
    let child = match super::queue::only_child(qdisc, interface) {
        Some(child) => Some(Box::new(queue(child, interface, notes)?)),
        None => None,
    };
    let is_fifo = child.is_none();
    Ok(QueueSpec::Tbf(TbfConfig {
        rate,
        burst,
        peakrate,
        // The kernel uses it with a peak rate only.
        mtu: mtu.filter(|_| peakrate.is_some()),
        limit: limit.filter(|_| is_fifo).map(|limit| QueueSize::Bytes(limit.0)),
        latency: latency.filter(|_| is_fifo),
        queue: child,
    }))
}

pub(super) fn htb(qdisc: &Qdisc, interface: &Interface, notes: &mut Vec<Note>) -> Result<QueueSpec, Fault> {
    let mut p = Parameters::new(&qdisc.kind, &qdisc.words, notes);
    let (mut default, mut r2q, mut direct) = (None, 10, FIFO_LIMIT);
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "default" => {
                let minor = p.read(word, "the number of a class", units::hexadecimal)?;
                default = Some((word, minor)).filter(|_| minor > 0);
            }
            "r2q" => r2q = p.integer(word)?,
            "direct_qlen" => direct = p.packets(word)?,
            "direct_packets_stat" | "debug" | "ver" => drop(p.next()),
            "offload" => p.note(word, "there is no hardware to which it could be given."),
            _ => return Err(p.unknown(word)),
        }
    }
    let classes: Vec<&Class> =
        interface.classes.iter().filter(|class| class.id.major == qdisc.handle && class.kind.is("htb")).collect();
    if classes.is_empty() {
        return Err(qdisc
            .kind
            .fault("htb has no classes", "it sends at the full rate")
            .with_help("add its `tc class add` commands, or the output of `tc class show dev NAME`"));
    }
    if let Some((word, minor)) = default
        && !classes.iter().any(|class| class.id.minor == minor)
    {
        notes.push(Note {
            span: word.span.clone(),
            text: format!("htb default {minor:x}: there is no such class; such traffic is not shaped and goes first."),
        });
        default = None;
    }
    let config = HtbConfig {
        classes: classes.iter().map(|class| htb_class(class, interface, notes)).collect::<Result<_, _>>()?,
        default_class: default.map(|(_, minor)| name(Id { major: qdisc.handle, minor })),
        direct_limit: direct,
        r2q,
    };
    Ok(QueueSpec::Htb(config))
}

/// The name of a class of HTB.
fn name(Id { major, minor }: Id) -> String {
    format!("{major:x}:{minor:x}")
}

fn htb_class(class: &Class, interface: &Interface, notes: &mut Vec<Note>) -> Result<HtbClass<QueueSpec>, Fault> {
    let mut p = Parameters::new(&class.kind, &class.words, notes);
    let (mut rate, mut ceil, mut burst, mut cburst, mut priority, mut quantum) = (None, None, None, None, None, None);
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "rate" => rate = Some(p.rate(word)?),
            "ceil" => ceil = Some(p.rate(word)?),
            "burst" | "buffer" | "maxburst" => burst = Some(p.size(word)?),
            "cburst" | "cbuffer" | "cmaxburst" => cburst = Some(p.size(word)?),
            "prio" => {
                let read = |text: &str| units::integer(text).map(|priority| priority.min(7) as u8);
                priority = Some(p.read(word, "a priority", read)?);
            }
            "quantum" => quantum = Some(p.size(word)?),
            "mpu" if p.optional(|text| units::size(text).filter(|mpu| *mpu == 0)).is_some() => {}
            "linklayer" if p.skip("ethernet") => {}
            "mpu" | "overhead" | "linklayer" | "mtu" => p.note_value(word, LENGTHS)?,
            "level" => drop(p.next()),
            _ => return Err(p.unknown(word)),
        }
    }
    let is_leaf = !interface.classes.iter().any(|other| other.parent == Parent::Class(class.id));
    if !is_leaf && priority.is_some_and(|priority| priority > 0) {
        p.note(&class.kind, "prio and quantum of a class with classes below it have no effect.");
    }
    let rate = rate.ok_or_else(|| class.kind.fault("a class of htb needs `rate`", "it is missing"))?;
    let queue = match interface.child(class.id).filter(|_| is_leaf) {
        Some(child) => fifo_as_none(queue(child, interface, notes)?, FIFO_LIMIT),
        None => None,
    };
    Ok(HtbClass {
        name: name(class.id),
        parent: match class.parent {
            Parent::Root => None,
            Parent::Class(id) => Some(name(id)),
        },
        classes: if is_leaf { interface.traffic_classes(class.id) } else { Vec::new() },
        ceil: ceil.filter(|ceil| *ceil != rate),
        rate,
        burst,
        cburst,
        priority: priority.filter(|_| is_leaf),
        quantum: quantum.filter(|_| is_leaf),
        queue,
    })
}

/// A queue, unless it is the FIFO queue that is there without one.
fn fifo_as_none(queue: QueueSpec, limit: QueueSize) -> Option<QueueSpec> {
    let is_default = matches!(&queue, QueueSpec::DropTail(config) if config.limit == limit);
    (!is_default).then_some(queue)
}

/// The queue of a band or class: its qdisc, or the FIFO queue that the kernel makes.
fn inner(id: Id, interface: &Interface, notes: &mut Vec<Note>) -> Result<Option<QueueSpec>, Fault> {
    match interface.child(id) {
        Some(child) => Ok(fifo_as_none(queue(child, interface, notes)?, FIFO_LIMIT)),
        None => Ok(None),
    }
}

/// The most bands, of prio and of ETS.
const MOST_BANDS: u32 = 16;
/// The default map of prio (`sch_default_prio2band`), and that of the discipline without a list of bands.
const PRIORITY_MAP: [u64; PRIORITIES] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Bands with their traffic classes and queues.
struct Bands {
    /// The traffic classes and the queue of each.
    list: Vec<(Vec<u8>, Option<QueueSpec>)>,
    /// The band of packets that nothing else chooses one for.
    default: usize,
    /// The limit of the FIFO queue of all bands, if they are those of the discipline without a list.
    plain: Option<QueueSize>,
}

impl Bands {
    fn read(
        qdisc: &Qdisc,
        interface: &Interface,
        (count, map): (usize, [u64; PRIORITIES]),
        notes: &mut Vec<Note>,
    ) -> Result<Self, Fault> {
        if let Some(band) = map.iter().find(|band| **band >= count as u64) {
            return Err(qdisc
                .kind
                .fault(format!("a priority maps to band {band}"), format!("there are {count} bands")));
        }
        let id = |band: usize| Id { major: qdisc.handle, minor: band as u64 + 1 };
        let mut list = Vec::new();
        for band in 0..count {
            list.push((interface.traffic_classes(id(band)), inner(id(band), interface, notes)?));
        }
        let has_filters = list.iter().any(|(classes, _)| !classes.is_empty());
        let is_plain = count == 3 && map == PRIORITY_MAP && !has_filters;
        let plain = is_plain.then(|| common_fifo(&list)).flatten();
        let default = map[0] as usize;
        if plain.is_none() && map.iter().any(|band| *band != map[0]) {
            notes.push(Note {
                span: qdisc.kind.span.clone(),
                text: format!("{} priomap: a priority is the traffic class of the same number.", qdisc.kind.text),
            });
            for (priority, band) in map.iter().enumerate() {
                let priority = priority as u8;
                let is_taken = list.iter().any(|(classes, _)| classes.contains(&priority));
                if *band as usize != default && !is_taken {
                    list[*band as usize].0.push(priority);
                }
            }
        }
        Ok(Self { list, default, plain })
    }

    /// The default band, unless it is the last.
    fn default_band(&self) -> Option<String> {
        (self.default + 1 != self.list.len()).then(|| band_name(self.default))
    }
}

fn band_name(band: usize) -> String {
    format!("band {band}")
}

/// The limit of the FIFO queues of all bands, if they have nothing else.
fn common_fifo(list: &[(Vec<u8>, Option<QueueSpec>)]) -> Option<QueueSize> {
    let limit = |queue: &Option<QueueSpec>| match queue {
        None => Some(FIFO_LIMIT),
        Some(QueueSpec::DropTail(config)) => Some(config.limit),
        Some(_) => None,
    };
    let first = limit(&list.first()?.1)?;
    list.iter().all(|(_, queue)| limit(queue) == Some(first)).then_some(first)
}

/// The map of priorities; those that are not given keep the default.
fn priority_map(p: &mut Parameters<'_, '_>, mut map: [u64; PRIORITIES]) -> [u64; PRIORITIES] {
    for (band, given) in map.iter_mut().zip(p.list(PRIORITIES)) {
        *band = given;
    }
    map
}

fn bands(p: &mut Parameters<'_, '_>, word: &Word) -> Result<u32, Fault> {
    let count = p.integer(word)?;
    if count > MOST_BANDS {
        return Err(word.fault(format!("{count} bands"), format!("Linux has at most {MOST_BANDS}")));
    }
    Ok(count)
}

/// `prio`, and `pfifo_fast`, which is prio with three FIFO queues.
pub(super) fn prio(qdisc: &Qdisc, interface: &Interface, notes: &mut Vec<Note>) -> Result<QueueSpec, Fault> {
    let mut p = Parameters::new(&qdisc.kind, &qdisc.words, notes);
    let (mut count, mut map) = (3, PRIORITY_MAP);
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "bands" => count = bands(&mut p, word)?,
            "priomap" => map = priority_map(&mut p, map),
            "multiqueue" | "multiqueue:" => {
                p.skip("on");
                p.skip("off");
                p.note(word, "a link has one queue.");
            }
            _ => return Err(p.unknown(word)),
        }
    }
    let bands = Bands::read(qdisc, interface, (count as usize, map), notes)?;
    if let Some(limit) = bands.plain {
        return Ok(QueueSpec::Prio(PrioConfig { limit, ..PrioConfig::default() }));
    }
    let default_band = bands.default_band();
    let list = bands.list.into_iter().enumerate();
    let bands = list.map(|(band, (classes, queue))| PrioBand { name: band_name(band), classes, queue }).collect();
    Ok(QueueSpec::Prio(PrioConfig { bands, default_band, limit: FIFO_LIMIT }))
}

pub(super) fn ets(qdisc: &Qdisc, interface: &Interface, notes: &mut Vec<Note>) -> Result<QueueSpec, Fault> {
    let mut p = Parameters::new(&qdisc.kind, &qdisc.words, notes);
    let (mut count, mut strict, mut quanta, mut priorities) = (0, 0, Vec::new(), Vec::new());
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "bands" => count = bands(&mut p, word)?,
            "strict" => strict = bands(&mut p, word)?,
            "quanta" => quanta = p.list(MOST_BANDS as usize),
            "priomap" => priorities = p.list(PRIORITIES),
            _ => return Err(p.unknown(word)),
        }
    }
    let given = strict + quanta.len() as u32;
    let count = if count == 0 { given } else { count };
    if count == 0 || given > count || count > MOST_BANDS {
        let label = "expected `bands` for all strict bands and quanta, at most 16";
        return Err(qdisc.kind.fault(format!("{given} strict bands and quanta, and {count} bands"), label));
    }
    // Priorities that are not given go to the last band (`ets_qdisc_change`).
    let mut map = [u64::from(count) - 1; PRIORITIES];
    for (band, given) in map.iter_mut().zip(priorities) {
        *band = given;
    }
    let mut all: Vec<_> = (0..count).map(|band| quanta.get(band.wrapping_sub(strict) as usize).copied()).collect();
    for class in interface.classes.iter().filter(|class| class.id.major == qdisc.handle && class.kind.is("ets")) {
        if let Some(quantum) = ets_quantum(class, notes)?
            && let Some(band) = class.id.minor.checked_sub(1).and_then(|band| all.get_mut(band as usize))
        {
            *band = Some(quantum);
        }
    }
    let default_quanta = all.iter().all(|quantum| quantum.is_none_or(|quantum| quantum == super::flat::PACKET_BYTES));
    let bands = Bands::read(qdisc, interface, (count as usize, map), notes)?;
    if let Some(limit) = bands.plain.filter(|_| strict == 1 && default_quanta) {
        return Ok(QueueSpec::Ets(EtsConfig { limit, ..EtsConfig::default() }));
    }
    let default_band = bands.default_band();
    let list = bands.list.into_iter().zip(all).enumerate();
    let bands = list.map(|(band, ((classes, queue), quantum))| {
        let quantum = quantum.filter(|_| band >= strict as usize).map(Bytes);
        EtsBand { name: band_name(band), classes, quantum, queue }
    });
    let strict = (strict > 0).then_some(strict);
    Ok(QueueSpec::Ets(EtsConfig { bands: bands.collect(), strict, default_band, limit: FIFO_LIMIT }))
}

fn ets_quantum(class: &Class, notes: &mut Vec<Note>) -> Result<Option<u64>, Fault> {
    let mut p = Parameters::new(&class.kind, &class.words, notes);
    let mut quantum = None;
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "quantum" => quantum = Some(u64::from(p.integer(word)?)),
            _ => return Err(p.unknown(word)),
        }
    }
    Ok(quantum)
}

/// Parameters of taprio.
struct Taprio {
    count: usize,
    map: [u64; PRIORITIES],
    /// The first transmit queue of each traffic class.
    queues: Vec<u64>,
    /// In nanoseconds: that of a clock does not fit a time of a scenario.
    base_time: u64,
    cycle_time: Span,
    /// Gate masks with their intervals.
    schedule: Vec<(u64, Span)>,
}

/// The longest time before the first cycle that makes sense in a run: a day, in nanoseconds.
const LONGEST_WAIT: u64 = 24 * 3600 * 1_000_000_000;

impl Taprio {
    fn read(p: &mut Parameters<'_, '_>) -> Result<Self, Fault> {
        let mut taprio = Self {
            count: 0,
            map: [0; PRIORITIES],
            queues: Vec::new(),
            base_time: 0,
            cycle_time: Span::ZERO,
            schedule: Vec::new(),
        };
        let mut mask = 0;
        let nanoseconds = "a time in nanoseconds, without a unit";
        while let Some(word) = p.next() {
            match word.text.as_str() {
                "num_tc" | "tc" => taprio.count = p.integer(word)? as usize,
                "map" => taprio.map = priority_map(p, [0; PRIORITIES]),
                "queues" => {
                    let first = |text: &str| {
                        let (count, offset) = text.split_once('@')?;
                        units::integer(count).and(units::integer(offset))
                    };
                    taprio.queues.extend(std::iter::from_fn(|| p.optional(first)).take(PRIORITIES));
                }
                // In output: `queues offset 0 count 1`, and `index 0 cmd S gatemask 0x1 interval 1000`.
                "offset" => taprio.queues.push(u64::from(p.integer(word)?)),
                "count" | "index" => drop(p.integer(word)?),
                "sched-entry" | "cmd" => {
                    if !p.skip("S") {
                        return Err(word.fault("a gate command that is not S", "frame preemption is not offered"));
                    }
                    if word.is("sched-entry") {
                        let mask = p.read(word, "a gate mask in hexadecimal", units::hexadecimal)?;
                        taprio.schedule.push((mask, p.read(word, nanoseconds, units::nanoseconds)?));
                    }
                }
                "gatemask" => mask = p.read(word, "a gate mask in hexadecimal", units::hexadecimal)?,
                "interval" => taprio.schedule.push((mask, p.read(word, nanoseconds, units::nanoseconds)?)),
                "base-time" => taprio.base_time = p.read(word, nanoseconds, units::integer)?,
                "cycle-time" => taprio.cycle_time = p.read(word, nanoseconds, units::nanoseconds)?,
                "cycle-time-extension" => {
                    if p.read(word, nanoseconds, units::integer)? > 0 {
                        p.note(word, "the schedule never changes during a run.");
                    }
                }
                "clockid" => drop(p.next()),
                "flags" => {
                    if p.integer(word)? > 0 {
                        p.note(word, "gates open and close as in software, but exactly in time.");
                    }
                }
                "txtime-delay" => p.note_value(word, "gates open and close exactly in time.")?,
                "max-sdu" => {
                    p.list(PRIORITIES);
                    p.note(word, "only packets too long for the class's longest window are dropped.");
                }
                "fp" => {
                    while p.skip("E") || p.skip("P") {}
                    p.note(word, "frame preemption is not offered.");
                }
                _ => return Err(p.unknown(word)),
            }
        }
        Ok(taprio)
    }
}

pub(super) fn taprio(qdisc: &Qdisc, interface: &Interface, notes: &mut Vec<Note>) -> Result<QueueSpec, Fault> {
    let mut p = Parameters::new(&qdisc.kind, &qdisc.words, notes);
    let taprio = Taprio::read(&mut p)?;
    let count = taprio.count;
    if count == 0 || count > PRIORITIES || taprio.schedule.is_empty() || taprio.queues.len() != count {
        let label = "expected `num_tc` up to 16, as many `queues`, and at least one `sched-entry`";
        return Err(qdisc.kind.fault("taprio is not complete", label));
    }
    if taprio.map.iter().any(|class| *class >= count as u64) {
        return Err(qdisc.kind.fault("a priority maps to no traffic class", format!("there are {count}")));
    }
    let sum = taprio.schedule.iter().fold(Span::ZERO, |sum, (_, interval)| {
        Span::from_picoseconds(sum.picoseconds().saturating_add(interval.picoseconds()))
    });
    let cycle = if taprio.cycle_time == Span::ZERO { sum } else { taprio.cycle_time.min(sum) };
    let mut base_time = taprio.base_time;
    if base_time > LONGEST_WAIT {
        p.note(&qdisc.kind, "base-time: the run begins at this place in the cycle, and not before the first cycle.");
        base_time %= (cycle.picoseconds() / 1000).clamp(1, LONGEST_WAIT);
    }
    let (marked, default) = traffic_classes(&taprio, interface, &mut p);
    // Linux serves its last traffic class first.
    let order = || (0..count).rev();
    let mut classes = Vec::new();
    for class in order() {
        let id = Id { major: qdisc.handle, minor: taprio.queues[class].saturating_add(1) };
        let queue = inner(id, interface, notes)?;
        classes.push(TaprioClass { name: taprio_name(class), classes: marked[class].clone(), queue });
    }
    let open = |mask: u64| order().filter(|class| mask & (1 << class) != 0).map(taprio_name).collect();
    let schedule =
        taprio.schedule.iter().map(|(mask, interval)| TaprioInterval { open: open(*mask), interval: *interval });
    Ok(QueueSpec::Taprio(TaprioConfig {
        classes,
        schedule: schedule.collect(),
        default_class: (default != 0).then(|| taprio_name(default)),
        cycle_time: (cycle < sum).then_some(cycle),
        base_time: Span::from_nanoseconds(base_time),
    }))
}

fn taprio_name(class: usize) -> String {
    format!("class {class}")
}

/// The scenario's traffic classes of each of taprio's, and the default. Filters in front of the qdisc give priorities;
/// without them a priority is the traffic class of the same number.
fn traffic_classes(taprio: &Taprio, interface: &Interface, p: &mut Parameters<'_, '_>) -> (Vec<Vec<u8>>, usize) {
    let class_of = |priority: u64| taprio.map[(priority as usize) % PRIORITIES] as usize;
    let mut marked = vec![Vec::new(); taprio.count];
    let mut default = class_of(0);
    let mut has_filters = false;
    for filter in interface.filters.iter().filter(|filter| filter.qdisc.is_none()) {
        let Target::Priority(priority) = filter.target else { continue };
        has_filters = true;
        match filter.traffic_class {
            Some(class) if !marked.iter().any(|classes| classes.contains(&class)) => {
                marked[class_of(priority)].push(class);
            }
            Some(_) => {}
            None => default = class_of(priority),
        }
    }
    if !has_filters && taprio.map.iter().any(|class| *class != taprio.map[0]) {
        p.note(p.kind, "map: a priority is the traffic class of the same number.");
        for priority in 0..PRIORITIES as u8 {
            let class = class_of(u64::from(priority));
            if class != default {
                marked[class].push(priority);
            }
        }
    }
    (marked, default)
}
