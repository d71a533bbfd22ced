//! The order in which tasks of a host start and end.

use forebay_qdisc::Span;

use super::*;
use crate::spec::Dependency;

const US: u64 = 1_000_000;

fn at(us: u64) -> Time {
    Time::from_picoseconds(us * US)
}

fn compute(us: u64, processor: Option<u32>) -> Action {
    Action::Compute { time: Span::from_picoseconds(us * US), processor }
}

/// The tasks of one host; each dependency is (task, on, event).
fn tasks(actions: &[Action], dependencies: &[(u32, u32, TaskEvent)]) -> Tasks {
    let graph = TaskGraph {
        name: "graph".into(),
        tasks: actions.iter().map(|&action| Task { node: 0, action, start: at(5) }).collect(),
        dependencies: dependencies.iter().map(|&(task, on, event)| Dependency { task, on, event }).collect(),
    };
    let flow = |number: u32, ends: [u32; 2]| crate::spec::FlowSpec {
        name: format!("flow-{number}"),
        group: "graph".into(),
        transport: crate::spec::Transport::Ping(crate::spec::Ping {
            gap: None,
            timeout: Span::ZERO,
            len_bytes: 64,
            ecn: forebay_qdisc::Ecn::NotCapable,
        }),
        source: ends[0],
        destination: ends[1],
        start: Time::NEVER,
        stop: Time::NEVER,
        class: 0,
        host_jitter: [0.0, 0.0].map(crate::spec::Distribution::Constant),
    };
    let mut flows = Flows::default();
    // Even ones begin at the host, odd ones end there.
    for number in 0..8 {
        flows.add(flow(number, if number % 2 == 0 { [0, 1] } else { [1, 0] }));
    }
    let ends: Vec<(AdapterId, AdapterId)> = (0..8).map(|flow| if flow % 2 == 0 { (0, 1) } else { (1, 0) }).collect();
    let mut plan = TaskPlan::new(vec![graph], &flows, &ends, 1).expect("a graph");
    match plan.take(0) {
        Some(tasks) => *tasks,
        None => plan.into_alone().pop().expect("a host"),
    }
}

fn effects(tasks: &mut Tasks) -> Vec<Effect> {
    std::iter::from_fn(|| tasks.effect()).collect()
}

#[test]
fn a_message_begins_when_the_last_of_its_conditions_holds() {
    // Flow 0 waits until flow 2 is acknowledged and flow 1 has arrived.
    let actions = [Action::Send(0), Action::Send(2), Action::Receive(1)];
    let mut tasks = tasks(&actions, &[(0, 1, TaskEvent::End), (0, 2, TaskEvent::End)]);
    assert_eq!(effects(&mut tasks), [Effect::Due(at(5), 1)]);
    tasks.on(Happened::Due(1), at(5));
    assert_eq!(effects(&mut tasks), [Effect::Begin(2)]);
    tasks.on(Happened::Received(1), at(6));
    assert_eq!(effects(&mut tasks), []);
    // A message of another group.
    tasks.on(Happened::Sent(4), at(6));
    assert_eq!(effects(&mut tasks), []);
    tasks.on(Happened::Sent(2), at(7));
    assert_eq!(effects(&mut tasks), [Effect::Begin(0)]);
}

#[test]
fn a_receive_ends_no_earlier_than_it_starts() {
    // The receive waits for a computation, and the message is early.
    let actions = [compute(10, None), Action::Receive(1), Action::Send(0)];
    let mut tasks = tasks(&actions, &[(1, 0, TaskEvent::End), (2, 1, TaskEvent::End)]);
    effects(&mut tasks);
    tasks.on(Happened::Due(0), at(5));
    assert_eq!(effects(&mut tasks), [Effect::Due(at(15), 0)]);
    tasks.on(Happened::Received(1), at(8));
    assert_eq!(effects(&mut tasks), []);
    tasks.on(Happened::Due(0), at(15));
    assert_eq!(effects(&mut tasks), [Effect::Begin(0)]);
}

#[test]
fn a_task_may_wait_for_the_start_of_another() {
    let actions = [Action::Send(0), compute(3, None), Action::Send(2)];
    let mut tasks = tasks(&actions, &[(1, 0, TaskEvent::Start), (2, 1, TaskEvent::End)]);
    effects(&mut tasks);
    tasks.on(Happened::Due(0), at(5));
    assert_eq!(effects(&mut tasks), [Effect::Begin(0), Effect::Due(at(8), 1)]);
    tasks.on(Happened::Due(1), at(8));
    assert_eq!(effects(&mut tasks), [Effect::Begin(2)]);
}

#[test]
fn a_processor_does_one_computation_at_a_time() {
    let actions =
        [compute(3, Some(0)), compute(4, Some(0)), compute(5, Some(1)), compute(6, None), compute(0, Some(0))];
    let mut tasks = tasks(&actions, &[]);
    tasks.run_alone(at(100));
    let ends: Vec<State> = tasks.tasks.iter().map(|task| task.state).collect();
    // The last one takes no time, and waits for the first two.
    assert_eq!(ends, [8, 12, 10, 11, 12].map(|us| State::Ended(at(us))));
}

#[test]
fn the_reason_of_a_wait_is_a_task_that_has_begun() {
    // Flow 0 waits for a computation, which waits for the arrival of flow 1.
    let actions = [Action::Send(0), compute(1, None), Action::Receive(1)];
    let mut tasks = tasks(&actions, &[(0, 1, TaskEvent::End), (1, 2, TaskEvent::End)]);
    let reason = |tasks: &Tasks| tasks.blocked(0, &(0..3));
    assert_eq!(reason(&tasks), Some(Blocked { message: 0, by: Some(1), is_receive: true }));
    tasks.on(Happened::Received(1), at(9));
    assert_eq!(reason(&tasks), Some(Blocked { message: 0, by: None, is_receive: false }));
}

#[test]
fn a_task_at_the_wrong_host_is_refused() {
    let graph = TaskGraph {
        name: "graph".into(),
        tasks: vec![Task { node: 0, action: compute(1, None), start: Time::ZERO }; 2],
        dependencies: vec![Dependency { task: 0, on: 1, event: TaskEvent::End }],
    };
    let apart = TaskGraph { tasks: vec![graph.tasks[0], Task { node: 1, ..graph.tasks[0] }], ..graph.clone() };
    let plan = |graph| TaskPlan::new(vec![graph], &Flows::default(), &[], 1).map(|plan| plan.into_alone().len());
    assert_eq!(plan(graph).ok(), Some(1));
    assert!(matches!(plan(apart), Err(RunError::Invariant(_))));
}
