//! Events of a run that are recorded one by one.

use std::collections::BTreeMap;

use forebay_document::did_you_mean;
use forebay_engine::{LinkId, RunError, Watch};
use forebay_units::{Span, Time};

use crate::plan::Plan;
use crate::plan::outline::{Direction, Links, Outline};

/// With more names than this, the nearest is not searched.
const NAMES_COMPARED: usize = 10_000;
/// Names that a message lists.
const NAMES_LISTED: usize = 6;

/// The queues whose packets a run records one by one, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSpec {
    /// Names of the links that the queues feed, each once. Crossbars and PAUSE are recorded in any case.
    pub links: Vec<String>,
    /// From when on, since the start of the run.
    pub from: Span,
    /// Until when.
    pub to: Span,
    /// The largest number of events of each log. A log that is full before the end says so.
    pub most: usize,
}

impl WatchSpec {
    /// Checks that each of the links has a queue.
    ///
    /// # Errors
    /// For the first that has none, or is there twice, with the remedy.
    pub(crate) fn check(&self, outline: &Outline<'_>) -> Result<(), RunError> {
        let mut found = BTreeMap::from_iter(self.links.iter().map(|name| (name.as_str(), Found::Nothing)));
        if let Some(twice) = self.links.iter().enumerate().find(|(place, name)| self.links[..*place].contains(name)) {
            return Err(RunError::Watch(format!("the queue of `{}` cannot be recorded twice", twice.1)));
        }
        for (name, has_queue) in links(outline) {
            if let Some(found) = found.get_mut(name.as_str()) {
                *found = if has_queue { Found::Queue } else { Found::Link };
            }
        }
        let Some((name, found)) = found.into_iter().find(|(_, found)| *found != Found::Queue) else { return Ok(()) };
        let queues = || links(outline).filter(|(_, has_queue)| *has_queue).map(|(name, _)| name);
        let known: Vec<String> = queues().take(NAMES_COMPARED).collect();
        let message = match found {
            Found::Link => format!("the link `{name}` has no `queue`, so that there are no packets to record"),
            _ => format!("there is no link `{name}`, so that its packets cannot be recorded"),
        };
        let help = did_you_mean(name, known.iter().map(String::as_str)).unwrap_or_else(|| {
            let more = if known.len() > NAMES_LISTED { ", …" } else { "" };
            match &known[..known.len().min(NAMES_LISTED)] {
                [] => "no link here has one".to_owned(),
                first => format!("links with a queue: {}{more}", first.join(", ")),
            }
        });
        Err(RunError::Watch(format!("{message}\nhint: {help}")))
    }

    /// The same for the network of `plan`, which numbers links in their order.
    pub(crate) fn of_plan(&self, plan: &Plan<'_>) -> Watch {
        let number = |name: &String| plan.links.iter().position(|link| link.name == *name);
        let links = self.links.iter().filter_map(number).map(|number| number as LinkId).collect();
        let at = |span| Time::ZERO.saturating_add(span);
        Watch { links, from: at(self.from), to: at(self.to), most: self.most }
    }
}

/// The kind of part that a name belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Link,
    Queue,
}

/// The names of all links, with whether a queue feeds them.
fn links<'a>(outline: &'a Outline<'_>) -> impl Iterator<Item = (String, bool)> + 'a {
    outline.links.iter().flat_map(move |links| {
        let directions = links.directions().zip([false, true]);
        directions.flat_map(move |(direction, is_back)| {
            let has_queue = has_queue(outline, links, direction, is_back);
            outline.names_of(links, direction).map(move |name| (name, has_queue))
        })
    })
}

fn has_queue(outline: &Outline<'_>, links: &Links<'_>, direction: &Direction<'_>, is_back: bool) -> bool {
    let from_switch =
        links.ends.is_some_and(|ends| outline.kind(ends[usize::from(is_back)]).ethernet_switch().is_some());
    from_switch || direction.spec.queue.is_some()
}
