//! The rows of control frames.

use std::collections::BTreeSet;

use super::*;

const STOP: PauseFrame = PauseFrame { classes: 0xff, quanta: 0xffff };

#[test]
fn each_flow_each_message_and_each_link_has_a_row_of_its_own() {
    let (rows, links) = (ControlRows { flows: 3 }, 5);
    let row = |flow: FlowId, backward: bool| (flow << 1 | FlowId::from(backward)) as usize;
    let flows = (0..3).flat_map(|flow| [flow, rows.of_flow(flow)]).flat_map(|flow| [row(flow, false), row(flow, true)]);
    let pauses = (0..links).map(|link| rows.pause(link, STOP, Time::ZERO).direction_index());
    let all: BTreeSet<usize> = flows.chain(pauses).collect();
    assert!(all.into_iter().eq(0..rows.directions(links as usize)));
}

#[test]
fn the_kind_of_a_frame_follows_from_its_flow() {
    let rows = ControlRows { flows: 3 };
    let kind = |flow| (rows.is_control(flow), rows.is_pause(flow));
    assert_eq!(
        [kind(2), kind(rows.of_flow(2)), kind(rows.pause(0, STOP, Time::ZERO).flow_id())],
        [(false, false), (true, false), (true, true)]
    );
    assert_eq!(rows.about(rows.of_flow(2)), 2);
}

#[test]
fn a_pause_frame_is_read_as_it_was_written() {
    for frame in [STOP, PauseFrame { classes: 0xff, quanta: 0 }, PauseFrame { classes: 1, quanta: 0xffff }] {
        assert_eq!(PauseFrame::from_number(frame.number()), frame);
    }
}
