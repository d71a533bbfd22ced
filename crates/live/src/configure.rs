//! From settings, or the file as it is now, to changes of the directions that run.

use std::fs;
use std::path::PathBuf;

use crate::command::Change;
use crate::config::{Direction as Described, LiveConfig};
use crate::control::{Configurer, Direction, Plan, PlannedChange};

/// The configuration that runs, and where it comes from.
pub struct Configuration {
    file: PathBuf,
    /// The file's text and what overrides it.
    source: Source,
    running: LiveConfig,
    /// The plan that was made last.
    planned: Option<(Source, LiveConfig)>,
    /// What ran before the plan that was adopted last.
    before: Option<(Source, LiveConfig)>,
    /// Buffers of each direction, which only a new start changes.
    buffers: Vec<(&'static str, u32)>,
}

#[derive(Clone)]
struct Source {
    text: String,
    overrides: Vec<(String, String)>,
    /// The overrides of the command line, the first ones, which outlive a reload.
    from_command_line: usize,
}

impl Configuration {
    /// Reads a file. `overrides` are those of the command line.
    ///
    /// # Errors
    /// What is wrong with it, with its place, as it is shown.
    pub fn read(file: PathBuf, overrides: Vec<(String, String)>) -> Result<Self, String> {
        let text = read(&file)?;
        let source = Source { text, from_command_line: overrides.len(), overrides };
        let running = source.load(&file)?;
        let buffers = running.directions().map(|(name, direction)| (name, running.buffers(Some(direction)))).collect();
        Ok(Self { file, source, running, planned: None, before: None, buffers })
    }

    /// What runs.
    #[must_use]
    pub fn running(&self) -> &LiveConfig {
        &self.running
    }

    /// What changes where `wanted` comes in the place of what runs.
    fn plan(&mut self, source: Source) -> Result<Plan, String> {
        let wanted = source.load(&self.file)?;
        self.check_what_stays(&wanted)?;
        let mut plan = Plan::default();
        for direction in Direction::ALL {
            let (Some(old), Some(new)) = (self.running.direction(direction.name()), wanted.direction(direction.name()))
            else {
                continue;
            };
            if old == new {
                continue;
            }
            self.check_buffers(direction.name(), new)?;
            let seed = wanted.control.seed;
            let (there, back) = ((old.clone(), new.clone()), (new.clone(), old.clone()));
            let change = change(&there.0, &there.1, seed)?;
            let undo = Box::new(move || self::change(&back.0, &back.1, seed));
            plan.changes.push(PlannedChange { direction, change, undo });
        }
        self.planned = Some((source, wanted));
        Ok(plan)
    }

    /// What is set up once cannot be changed while frames pass.
    fn check_what_stays(&self, wanted: &LiveConfig) -> Result<(), String> {
        let running = &self.running;
        let pinned = |config: &LiveConfig| -> Vec<_> {
            config.directions().map(|(name, direction)| (name, direction.cpu, direction.priority)).collect()
        };
        let stays = [
            ("interfaces", wanted.interfaces == running.interfaces),
            ("io", wanted.io == running.io),
            ("control", wanted.control == running.control),
            ("outbound, inbound, cpu and priority", pinned(wanted) == pinned(running)),
        ];
        match stays.into_iter().find(|(_, same)| !same) {
            None => Ok(()),
            Some((what, _)) => Err(format!("{what}: can be changed by a new start only; nothing was changed")),
        }
    }

    fn check_buffers(&self, name: &str, wanted: &Described) -> Result<(), String> {
        let buffers = self.buffers.iter().find(|(known, _)| *known == name).map_or(0, |(_, buffers)| *buffers);
        let needed = wanted.buffers_needed();
        if needed > u64::from(buffers) {
            return Err(format!(
                "{name}: `{}` may hold more frames than the {buffers} buffers there are; set \
                 `io.buffers = {needed}` and start again, or lower its `limit`",
                wanted.queue.name()
            ));
        }
        Ok(())
    }
}

impl Source {
    fn load(&self, file: &std::path::Path) -> Result<LiveConfig, String> {
        LiveConfig::load(&self.text, &file.display().to_string(), &self.overrides).map_err(|error| error.render(false))
    }
}

fn read(file: &std::path::Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}; which file is the configuration?", file.display()))
}

/// From one description of a direction to another one. Another rate or parameter is another discipline: its averages
/// and what it knows of flows begin anew, and packets keep their places.
fn change(old: &Described, new: &Described, seed: u64) -> Result<Change, String> {
    let failed = |error: forebay_qdisc::ParameterError| error.to_string();
    let rate = (old.rate != new.rate).then_some(new.rate);
    let queue = if rate.is_some() || old.queue != new.queue {
        Some(new.build(&new.queue, seed).map_err(failed)?)
    } else {
        None
    };
    let shadow =
        if rate.is_some() || old.shadow != new.shadow { Some(new.build_shadow(seed).map_err(failed)?) } else { None };
    Ok(Change {
        rate,
        overhead_bytes: (old.overhead != new.overhead).then_some(new.overhead.0 as u32),
        burst: (old.burst != new.burst).then_some(new.burst),
        queue,
        shadow,
    })
}

impl Configurer for Configuration {
    fn set(&mut self, direction: Direction, settings: &[(String, String)]) -> Result<Plan, String> {
        let mut source = self.source.clone();
        let of = |(key, value): &(String, String)| (format!("{}.{key}", direction.name()), value.clone());
        source.overrides.extend(settings.iter().map(of));
        self.plan(source)
    }

    fn reload(&mut self) -> Result<Plan, String> {
        let mut source = self.source.clone();
        source.text = read(&self.file)?;
        source.overrides.truncate(source.from_command_line);
        self.plan(source)
    }

    fn adopt(&mut self) {
        if let Some((source, running)) = self.planned.take() {
            let before = (std::mem::replace(&mut self.source, source), std::mem::replace(&mut self.running, running));
            self.before = Some(before);
        }
    }

    fn revert(&mut self) {
        if let Some((source, running)) = self.before.take() {
            (self.source, self.running) = (source, running);
        }
    }
}
