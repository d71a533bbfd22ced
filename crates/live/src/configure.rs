//! From settings, or the file as it is now, to changes of the directions that run.

use std::fs;
use std::path::PathBuf;

use forebay_document::append_override;

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
    /// The configuration before the plan that was adopted last.
    before: Option<(Source, LiveConfig)>,
    /// Buffers of each direction, which only a new start changes.
    buffers: Vec<(&'static str, u32)>,
}

#[derive(Clone)]
struct Source {
    text: String,
    /// The overrides of the command line, which outlive a reload.
    command_line: Overrides,
    /// The overrides of `set`, which come after them.
    set: Overrides,
}

type Overrides = Vec<(String, String)>;

/// Settings that differ from the file at most: each `set` reads all of them again.
const MOST_SETTINGS: usize = 256;

impl Configuration {
    /// Reads a file. `overrides` are those of the command line.
    ///
    /// # Errors
    /// The fault with its place, as it is shown.
    pub fn read(file: PathBuf, overrides: Vec<(String, String)>) -> Result<Self, String> {
        let text = read(&file)?;
        let source = Source { text, command_line: overrides, set: Vec::new() };
        let running = source.load(&file)?;
        let buffers = running.directions().map(|(name, direction)| (name, running.buffers(Some(direction)))).collect();
        Ok(Self { file, source, running, planned: None, before: None, buffers })
    }

    /// The running configuration.
    #[must_use]
    pub fn running(&self) -> &LiveConfig {
        &self.running
    }

    /// The changes from the running configuration to another one.
    fn plan(&mut self, source: Source, wanted: LiveConfig) -> Result<Plan, String> {
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

    /// Parts that are set up once cannot be changed while frames pass.
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
            Some((what, _)) => Err(format!("{what}: can only be changed by a new start; nothing was changed")),
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
        let overrides: Overrides = self.command_line.iter().chain(&self.set).cloned().collect();
        LiveConfig::load(&self.text, &file.display().to_string(), &overrides).map_err(|error| error.render(false))
    }

    /// This source with more settings. Those that the new ones replace are left out, if that changes nothing.
    fn with(&self, settings: Overrides, file: &std::path::Path) -> Result<(Self, LiveConfig), String> {
        let (mut longer, mut shorter) = (self.clone(), self.clone());
        longer.set.extend(settings.iter().cloned());
        settings.into_iter().for_each(|setting| append_override(&mut shorter.set, setting));
        let wanted = longer.load(file)?;
        let source = if shorter.load(file).is_ok_and(|same| same == wanted) { shorter } else { longer };
        if source.set.len() > MOST_SETTINGS {
            return Err(format!(
                "more than {MOST_SETTINGS} settings differ from {}: write them into the file, then `reload`",
                file.display()
            ));
        }
        Ok((source, wanted))
    }
}

fn read(file: &std::path::Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}; name the file of the configuration", file.display()))
}

/// Returns the change from one description of a direction to another one. Another rate or parameter creates another
/// discipline: its averages and flow state start again, and packets keep their places.
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
        let of = |(key, value): &(String, String)| (format!("{}.{key}", direction.name()), value.clone());
        let (source, wanted) = self.source.with(settings.iter().map(of).collect(), &self.file)?;
        self.plan(source, wanted)
    }

    fn reload(&mut self) -> Result<Plan, String> {
        let command_line = self.source.command_line.clone();
        let source = Source { text: read(&self.file)?, command_line, set: Vec::new() };
        let wanted = source.load(&self.file)?;
        self.plan(source, wanted)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(name: &str, queue: &str, overrides: &[(&str, &str)]) -> Configuration {
        let file = std::env::temp_dir().join(format!("forebay-configure-{}-{name}.toml", std::process::id()));
        let interfaces = "interfaces = { inside = 'lan0', outside = 'wan0' }";
        fs::write(&file, format!("{interfaces}\n[outbound]\nrate = '10 Mbps'\nqueue = {queue}\n")).unwrap();
        Configuration::read(file, owned(overrides)).unwrap()
    }

    fn owned(pairs: &[(&str, &str)]) -> Overrides {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn set(configuration: &mut Configuration, pairs: &[(&str, &str)]) -> Result<(), String> {
        configuration.set(Direction::Outbound, &owned(pairs))?;
        configuration.adopt();
        Ok(())
    }

    fn rate(configuration: &Configuration) -> String {
        configuration.running().outbound.as_ref().unwrap().rate.to_string()
    }

    #[test]
    fn settings_that_are_replaced_are_forgotten() {
        let mut configuration = configuration("forgotten", "'drop_tail'", &[("outbound.rate", "20 Mbps")]);
        for round in 0..1000 {
            let limit = format!("{} packets", 50 + round % 7);
            set(&mut configuration, &[("rate", &format!("{} Mbps", 30 + round % 5))]).unwrap();
            set(&mut configuration, &[("queue", "red"), ("queue.red.limit", &limit)]).unwrap();
            set(&mut configuration, &[("queue", "drop_tail")]).unwrap();
            set(&mut configuration, &[("queue.drop_tail.limit", &limit)]).unwrap();
        }
        let paths: Vec<_> = configuration.source.set.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["outbound.rate", "outbound.queue", "outbound.queue.drop_tail.limit"]);
        assert_eq!(rate(&configuration), "34 Mbps");
        // A reload forgets settings, and not the command line.
        configuration.reload().unwrap();
        configuration.adopt();
        assert_eq!((rate(&configuration), configuration.source.set.len()), ("20 Mbps".to_owned(), 0));
        fs::remove_file(&configuration.file).unwrap();
    }

    #[test]
    fn one_key_in_many_spellings_is_one_setting() {
        let mut configuration = configuration("spellings", "'drop_tail'", &[]);
        for number in 0..100 {
            let spelled = format!("{}rate", " ".repeat(number));
            set(&mut configuration, &[(&spelled, "30 Mbps")]).unwrap();
        }
        assert_eq!(configuration.source.set.len(), 1);
        fs::remove_file(&configuration.file).unwrap();
    }

    /// A queue of classes, called `c0` and so on.
    fn classes(count: usize) -> String {
        let class = |number: usize| format!("{{ name = 'c{number}', queue = 'drop_tail' }}");
        let classes: Vec<_> = (0..count).map(class).collect();
        format!("{{ cbq = {{ default_class = 'c0', classes = [{}] }} }}", classes.join(", "))
    }

    #[test]
    fn a_setting_that_another_one_depends_on_is_kept() {
        let mut configuration = configuration("kept", &classes(2), &[]);
        for (key, value) in [("1.name", "first"), ("first.priority", "2"), ("1.name", "second")] {
            set(&mut configuration, &[(&format!("queue.cbq.classes.{key}"), value)]).unwrap();
        }
        // Without the first one the second one would name no class.
        assert_eq!(configuration.source.set.len(), 3);
        fs::remove_file(&configuration.file).unwrap();
    }

    #[test]
    fn settings_are_bounded_and_the_refusal_names_the_remedy() {
        let count = MOST_SETTINGS / 2 + 1;
        let mut configuration = configuration("bounded", &classes(count), &[]);
        let all = |key: &str| -> Overrides {
            (0..count).map(|number| (format!("queue.cbq.classes.c{number}.{key}"), "2".to_owned())).collect()
        };
        configuration.set(Direction::Outbound, &all("priority")).unwrap();
        configuration.adopt();
        let refused = configuration.set(Direction::Outbound, &all("share")).err().unwrap();
        assert!(refused.contains("more than 256 settings differ from") && refused.contains("`reload`"), "{refused}");
        assert_eq!(configuration.source.set.len(), count);
        fs::remove_file(&configuration.file).unwrap();
    }
}
