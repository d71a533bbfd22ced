//! The setup around the directions: interfaces, offloads, the bridge that takes over; and its present state.

use std::io;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use super::presence::Presence;
use super::{Failure, broken, input};
use crate::checks::{self, Checked, Wanted};
use crate::config::{LiveConfig, Method};
use crate::control::Direction;
use crate::io::{Halves, Interface, Receive, af_packet, af_xdp, tap};
use crate::setup::{Bridge, Entrances, Offloads, Reader};
use crate::sys::realtime;

/// The resources held while frames are forwarded.
pub(super) struct System {
    longest_frame: usize,
    /// The interfaces, inside first.
    interfaces: [Interface; 2],
    /// None with TAP interfaces, which are made for this and gone at the end.
    around: Option<Around>,
}

/// The resources for interfaces that existed before.
struct Around {
    checked: Arc<Checked>,
    offloads: Offloads,
    entrances: Option<Arc<Entrances>>,
    bridge: Option<Bridge>,
}

/// Conditions that must hold before any change, except for TAP interfaces, which do not exist yet.
pub(super) fn check(config: &LiveConfig) -> Result<Option<Checked>, Failure> {
    let method = match config.io.method {
        Method::AfPacket => checks::Method::AfPacket,
        Method::AfXdp => checks::Method::AfXdp,
        Method::Tap if config.io.fail_open => {
            return Err(input("`io.fail_open`: a TAP interface is gone with its process; use another `io.method`"));
        }
        Method::Tap => return Ok(None),
    };
    check_processors(config)?;
    let names = &config.interfaces;
    let realtime = config.directions().any(|(_, direction)| direction.priority.is_some());
    let rate = |name| config.direction(name).map(|direction| direction.rate);
    let bridge = || config.io.bridge.clone().unwrap_or_else(|| checks::bridge_name(&names.inside));
    let wanted = Wanted {
        inside: names.inside.clone(),
        outside: names.outside.clone(),
        outbound: rate("outbound"),
        inbound: rate("inbound"),
        method,
        fail_open: config.io.fail_open.then(bridge),
        realtime,
        lock_memory: realtime,
    };
    checks::check(&wanted).map(Some).map_err(input)
}

/// Whether every direction can have its configured core.
fn check_processors(config: &LiveConfig) -> Result<(), Failure> {
    let usable = realtime::processors().map_err(broken)?;
    for (name, direction) in config.directions() {
        if let Some(cpu) = direction.cpu.filter(|&cpu| !usable.contains(&(cpu as usize))) {
            let usable: Vec<String> = usable.iter().map(usize::to_string).collect();
            return Err(input(format!(
                "`{name}.cpu`: core {cpu} is not available; available cores: {}",
                usable.join(", ")
            )));
        }
    }
    Ok(())
}

impl System {
    /// Sets up all but the end of it, [`System::settle`]; returns the interfaces, inside first.
    pub fn set_up(config: &LiveConfig, restorer: Command) -> Result<(Self, [Halves; 2]), Failure> {
        let names = &config.interfaces;
        let Some(checked) = check(config)? else {
            let open = |name: &str| tap::open(name, tap::Options::default()).map_err(input);
            let ((inside, one), (outside, other)) = (open(&names.inside)?, open(&names.outside)?);
            let longest_frame = inside.longest_frame().max(outside.longest_frame());
            return Ok((Self { longest_frame, interfaces: [inside, outside], around: None }, [one, other]));
        };
        let offloads = Offloads::turn_off(&checked, Some(restorer)).map_err(input)?;
        let [inside, outside] = [&names.inside, &names.outside].map(|name| Interface::find(name).map_err(input));
        let (inside, outside) = (inside?, outside?);
        let mut halves = if config.io.method == Method::AfXdp {
            let prepare = |interface| af_xdp::prepare(interface, af_xdp::Options::default()).map_err(input);
            // Both before the first one starts: its frames need the way on.
            let (inside, outside) = (prepare(&inside)?, prepare(&outside)?);
            [inside.start().map_err(input)?, outside.start().map_err(input)?]
        } else {
            let open = |interface| af_packet::open(interface, af_packet::Options::default()).map_err(input);
            [open(&inside)?, open(&outside)?]
        };
        // An XDP program takes the frames before a bridge could see them.
        let shuts = checked.fail_open.is_some() && config.io.method == Method::AfPacket;
        let rings = halves.each_mut().map(|interface| &mut *interface.receive as &mut dyn Receive);
        let entrances = shuts.then(|| Entrances::shut(&checked, rings).map(Arc::new).map_err(input)).transpose()?;
        let bridge = Bridge::ensure(&checked).map_err(input)?;
        let around = Around { checked: Arc::new(checked), offloads, entrances, bridge };
        let longest_frame = inside.longest_frame();
        Ok((Self { longest_frame, interfaces: [inside, outside], around: Some(around) }, halves))
    }

    /// The detector of interfaces that are gone.
    pub fn presence(&self) -> io::Result<Presence> {
        Presence::open(self.interfaces.each_ref().map(|one| (one.name.clone(), one.index)))
    }

    /// The longest frame that either interface carries, with a VLAN tag.
    pub const fn longest_frame(&self) -> usize {
        self.longest_frame
    }

    /// The present state, read from the kernel at each call.
    pub fn read_back(&self, config: &LiveConfig) -> Result<Box<dyn FnMut() -> Value + Send>, Failure> {
        let asked = json!({ "interfaces": config.interfaces, "io": config.io, "seed": config.control.seed });
        let Some(Around { checked, entrances, .. }) = &self.around else {
            return Ok(Box::new(move || json!({ "configured": asked })));
        };
        let mut reader = Reader::open().map_err(broken)?;
        let (checked, entrances) = (Arc::clone(checked), entrances.clone());
        Ok(Box::new(move || {
            let found = reader.read(&checked, entrances.as_deref());
            let in_force = found.map_or_else(|error| json!({ "error": error.to_string() }), |found| json!(found));
            json!({ "configured": asked, "in_force": in_force })
        }))
    }

    /// Setup has succeeded: the bridge stays in any case.
    pub fn settle(&mut self) {
        if let Some(bridge) = self.around.as_mut().and_then(|around| around.bridge.as_mut()) {
            bridge.keep();
        }
    }

    /// The bridge forwards the frames of this direction from now on. The result of [`System::read_back`] must be
    /// dropped before: it shares the entrances.
    pub fn open_entrance(&mut self, direction: Direction) {
        let entrances = self.around.as_mut().and_then(|around| around.entrances.as_mut());
        if let Some(entrances) = entrances.and_then(Arc::get_mut) {
            match direction {
                Direction::Outbound => entrances.open_inside(),
                Direction::Inbound => entrances.open_outside(),
            }
        }
    }

    /// Restores the offloads. The sockets have been closed.
    pub fn tear_down(self) -> Result<(), Failure> {
        self.around.map_or(Ok(()), |around| around.offloads.restore().map_err(broken))
    }
}
