//! Messages that wait for others: from the tasks of a pattern to those of a network.

use forebay_engine::{Action, Dependency, NetworkBuilder, RunError, Task, TaskGraph};

use crate::build::messages::Messages;
use crate::patterns::tasks::{self, Tasks};
use crate::plan::Plan;
use crate::plan::outline::Outline;
use crate::schema::FlowGroup;

/// Adds the tasks of all groups, whose first flows have these numbers.
///
/// # Errors
/// If the network does not have the hosts of a pattern.
pub(super) fn add(
    builder: &mut NetworkBuilder,
    outline: &Outline<'_>,
    first_flows: &[u32],
    messages: &Messages,
    seed: u64,
) -> Result<(), RunError> {
    for (group, &first) in outline.spec.flows.iter().enumerate().zip(first_flows) {
        if let Some(graph) = graph(outline, group, first, messages, seed)? {
            builder.add_tasks(graph);
        }
    }
    Ok(())
}

/// The number of the first flow of each group.
pub(super) fn first_flows(plan: &Plan<'_>) -> Vec<u32> {
    let groups = &plan.outline.spec.flows;
    let (mut first, mut next) = (vec![u32::MAX; groups.len()], 0);
    for flow in &plan.flows {
        first[flow.group] = next.min(first[flow.group]);
        next += groups[flow.group].flows_each();
    }
    first
}

/// The tasks of a group, whose flows follow each other from `first_flow` on; `None` if no message waits.
///
/// # Errors
/// If the network does not have the hosts of the pattern.
fn graph(
    outline: &Outline<'_>,
    (number, group): (usize, &FlowGroup),
    first_flow: u32,
    messages: &Messages,
    seed: u64,
) -> Result<Option<TaskGraph>, RunError> {
    let Some((pattern, setting)) = group.waits_for_messages().then(|| outline.pattern(group)).flatten() else {
        return Ok(None);
    };
    let nodes: Option<Vec<u32>> = setting.hosts.iter().map(|host| outline.node(host.name)).collect();
    let nodes = nodes.ok_or_else(|| RunError::Invariant(format!("`{}` has unknown hosts", group.name)))?;
    let Tasks { all, dependencies } = pattern.tasks(&setting, seed);
    let task = |tasks::Task { host, action, start }: tasks::Task| {
        let action = match action {
            tasks::Action::Send(message) => Action::Send(first_flow + message),
            tasks::Action::Receive(message) => Action::Receive(first_flow + message),
            tasks::Action::Acknowledge(ends) => {
                let time = messages.answer_time(number, ends.map(|host| nodes[host])).ok_or_else(|| {
                    RunError::Invariant(format!("`{}`: an ACK of a message that there is not", group.name))
                })?;
                Action::Compute { time, processor: None }
            }
            tasks::Action::Compute { time, processor } => Action::Compute { time, processor: Some(processor) },
        };
        Ok(Task { node: nodes[host], action, start })
    };
    let dependency = |tasks::Dependency { task, on, event }| Dependency { task, on, event };
    Ok(Some(TaskGraph {
        name: group.name.clone(),
        tasks: all.into_iter().map(task).collect::<Result<_, RunError>>()?,
        dependencies: dependencies.into_iter().map(dependency).collect(),
    }))
}
