//! Changes of directions that run: all of them or none, and undone unless they are confirmed in time.

use forebay_qdisc::{Span, Time};
use serde_json::{Value, json};

use crate::command::{Answer, Change, Command, Commands};
use crate::control::request::Direction;

/// Makes the change that undoes another one. It may be called again if what it makes was refused.
pub type Undo = Box<dyn FnMut() -> Result<Change, String> + Send>;

/// The change of one direction.
pub struct PlannedChange {
    /// The direction.
    pub direction: Direction,
    pub change: Change,
    pub undo: Undo,
}

/// The changes of a request.
#[derive(Default)]
pub struct Plan {
    /// At most one for each direction; none if nothing differs.
    pub changes: Vec<PlannedChange>,
}

/// Knows the configuration: turns settings, or the file, into changes.
///
/// It is notified of the outcome of its plan: [`Configurer::adopt`] when the changes run, and [`Configurer::revert`] if
/// they were undone after that. Without `adopt` a plan is forgotten.
pub trait Configurer: Send {
    /// The changes of the settings in a direction.
    ///
    /// # Errors
    /// The fault, and the remedy.
    fn set(&mut self, direction: Direction, settings: &[(String, String)]) -> Result<Plan, String>;

    /// The changes of the configuration file.
    ///
    /// # Errors
    /// The fault, or the keys that only a new start can change.
    fn reload(&mut self) -> Result<Plan, String>;

    /// The plan made last runs.
    fn adopt(&mut self);

    /// The plan adopted last was undone.
    fn revert(&mut self);
}

/// The directions that run.
pub struct Directions(pub Vec<(Direction, Commands)>);

impl Directions {
    /// Asks one of them.
    ///
    /// # Errors
    /// It does not run, has ended, does not answer, or refuses.
    pub fn ask(&self, direction: Direction, command: Command) -> Result<Answer, String> {
        let name = direction.name();
        let Some((_, commands)) = self.0.iter().find(|(other, _)| *other == direction) else {
            return Err(format!(
                "{name}: this direction has no queue; give it one in the configuration, and start again"
            ));
        };
        match commands.ask(command) {
            Ok(Answer::Refused(why)) | Err(why) => Err(format!("{name}: {why}")),
            Ok(answer) => Ok(answer),
        }
    }

    /// Returns this direction, or all of them.
    pub fn asked(&self, direction: Option<Direction>) -> Vec<Direction> {
        direction.map_or_else(|| self.0.iter().map(|(direction, _)| *direction).collect(), |direction| vec![direction])
    }
}

/// The interval of attempts to undo a change that cannot be undone now.
const TRY_AGAIN: Span = Span::from_seconds(1);

/// The changes so far.
pub struct Changes {
    configurer: Box<dyn Configurer>,
    waiting: Option<Waiting>,
}

/// A change that waits for confirmation.
struct Waiting {
    until: Time,
    undo: Vec<(Direction, Undo)>,
}

impl Changes {
    /// None so far.
    pub fn new(configurer: Box<dyn Configurer>) -> Self {
        Self { configurer, waiting: None }
    }

    /// The time at which to undo a change, if one waits.
    pub fn next(&self) -> Option<Time> {
        self.waiting.as_ref().map(|waiting| waiting.until)
    }

    /// Lets `planned` make a plan and applies it.
    ///
    /// # Errors
    /// The objection of the plan or of a direction; nothing is changed then.
    pub fn apply(
        &mut self,
        planned: impl FnOnce(&mut dyn Configurer) -> Result<Plan, String>,
        confirm: Option<Span>,
        directions: &Directions,
        now: Time,
    ) -> Result<Value, String> {
        if let Some(waiting) = &self.waiting {
            let left = waiting.until.since(now).seconds();
            return Err(format!(
                "a change waits for confirmation and is undone in {left:.0} s; run `confirm` or `rollback` first"
            ));
        }
        let plan = planned(&mut *self.configurer)?;
        let names: Vec<_> = plan.changes.iter().map(|planned| planned.direction.name()).collect();
        let mut undo: Vec<(Direction, Undo)> = Vec::new();
        for PlannedChange { direction, change, undo: own } in plan.changes {
            let applied = directions.ask(direction, Command::Change(Box::new(change)));
            if let Err(error) = applied {
                let others = if undo.is_empty() { "nothing was changed" } else { "earlier changes were undone" };
                let failed = undo_all(&mut undo, directions).err();
                let failed = failed.map_or_else(String::new, |error| format!("; undoing them failed: {error}"));
                return Err(format!("{error}; {others}{failed}"));
            }
            undo.push((direction, own));
        }
        self.configurer.adopt();
        let confirm = confirm.filter(|_| !undo.is_empty());
        self.waiting = confirm.map(|span| Waiting { until: now.saturating_add(span), undo });
        Ok(json!({ "changed": names, "confirm_within_s": confirm.map(Span::seconds) }))
    }

    /// Keeps the change that waits.
    ///
    /// # Errors
    /// None waits.
    pub fn confirm(&mut self) -> Result<Value, String> {
        self.waiting.take().ok_or("no change waits for confirmation")?;
        Ok(json!({ "confirmed": true }))
    }

    /// Undoes the change that waits. A change that cannot be undone now is tried again.
    ///
    /// # Errors
    /// None waits, or a direction refuses.
    pub fn roll_back(&mut self, directions: &Directions, now: Time) -> Result<Value, String> {
        let waiting = self.waiting.as_mut().ok_or("no change waits for confirmation")?;
        let names: Vec<_> = waiting.undo.iter().map(|(direction, _)| direction.name()).collect();
        if let Err(error) = undo_all(&mut waiting.undo, directions) {
            waiting.until = now.saturating_add(TRY_AGAIN);
            return Err(format!("{error}; it is tried again each second"));
        }
        self.waiting = None;
        self.configurer.revert();
        Ok(json!({ "rolled_back": names }))
    }
}

/// The last one first. Those that were undone are removed.
fn undo_all(undo: &mut Vec<(Direction, Undo)>, directions: &Directions) -> Result<(), String> {
    while let Some((direction, make)) = undo.last_mut() {
        let change = make().map_err(|error| format!("{}: {error}", direction.name()))?;
        directions.ask(*direction, Command::Change(Box::new(change)))?;
        undo.pop();
    }
    Ok(())
}
