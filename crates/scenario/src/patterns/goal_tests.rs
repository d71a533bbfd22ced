//! Traces that are read, and lines that are refused.

use forebay_engine::TaskEvent;

use super::*;
use crate::patterns::tasks::Dependency;

const PAIR: &str = "\
num_ranks 2 // two
rank 0 { l1: calc 500 cpu 1
/* a comment
over lines */ l2: send 4096b to 1 tag 7 cpu 0 nic 0
l2 requires l1
}
rank 1 {
l1: recv 5000 b from 0 tag 7
calc 10
x:calc 20
x irequires l1
}
";

#[test]
fn a_trace_is_read() {
    let trace = Trace::parse(PAIR).unwrap();
    assert_eq!(trace.ranks, 2);
    assert_eq!(trace.messages, [TraceMessage { ends: [0, 1], bytes: 4096 }]);
    let kinds: Vec<(u32, Kind)> = trace.operations.iter().map(|it| (it.rank, it.kind)).collect();
    let compute = |time_ns, processor| Kind::Compute { time_ns, processor };
    let expected = [
        (0, compute(500, 1)),
        (0, Kind::Send { message: 0, bytes: 4096, tag: 7 }),
        (1, Kind::Receive { message: 0, bytes: 5000, tag: 7 }),
        (1, compute(10, 0)),
        (1, compute(20, 0)),
    ];
    assert_eq!(kinds, expected);
    let dependency = |task, on, event| Dependency { task, on, event };
    let expected = [dependency(1, 0, TaskEvent::End), dependency(4, 2, TaskEvent::Start)];
    assert_eq!(trace.dependencies, expected);
    let again = Trace::parse(&trace.lines().join("\n")).unwrap();
    assert_eq!(again, trace, "{:?}", trace.lines());
}

#[test]
fn messages_with_the_same_tag_keep_their_order() {
    let receives = "recv 9b from 0 tag 1\nrecv 9b from 0\nrecv 9b from 0 tag 1";
    let sends = "send 1b to 1 tag 1\nsend 2b to 1 tag 1\nsend 0b to 1";
    let text = format!("num_ranks 2\nrank 1 {{\n{receives}\n}}\nrank 0 {{\n{sends}\n}}\n");
    let trace = Trace::parse(&text).unwrap();
    let received: Vec<u64> = trace
        .operations
        .iter()
        .filter_map(|operation| match operation.kind {
            Kind::Receive { message, .. } => Some(trace.messages[message as usize].bytes),
            _ => None,
        })
        .collect();
    // A message of no bytes is sent as one of one byte.
    assert_eq!(received, [1, 1, 2]);
}

#[test]
fn lines_that_are_no_trace_are_refused() {
    let head = "num_ranks 2\nrank 0 {\n";
    let pair = "send 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n";
    for (text, message) in [
        ("", "`num_ranks` is missing"),
        ("num_ranks no", "line 1 is \"num_ranks no\": `no` is no number of ranks"),
        ("num_ranks 0", "expected 1 rank to a million"),
        ("num_ranks 2\nnum_ranks 2", "line 2 is \"num_ranks 2\": there is another `num_ranks`"),
        ("rank 0 {\n}", "line 1 is \"rank 0 {\": expected `num_ranks` first"),
        ("num_ranks 2\nrank 2 {\n}", "line 2 is \"rank 2 {\": there is no rank 2: they are numbered from 0 to 1"),
        ("num_ranks 2\nrank 0\n{", "expected `{` after the rank"),
        ("num_ranks 2\ncalc 5", "line 2 is \"calc 5\": expected `rank` with its number"),
        ("num_ranks 2\n}", "no rank begins before this brace"),
        (head, "line 2 is \"rank 0 {\": `}` is missing after the last operation"),
        (&format!("{head}rank 1 {{"), "line 3 is \"rank 1 {\": `}` is missing: rank 0 goes on"),
        (&format!("{head}}}\nrank 0 {{\n}}"), "line 4 is \"rank 0 {\": line 2 has this rank, too"),
        (&format!("{head}l1: wait 5\n}}"), "expected `send`, `recv`, `calc`, or a label with `requires`"),
        (&format!("{head}9: calc 5\n}}"), "`9` is no label"),
        (&format!("{head}l: calc 5\nl: calc 6\n}}"), "line 4 is \"l: calc 6\": the rank has another operation `l`"),
        (&format!("{head}l: calc 5\nl requires m\n}}"), "line 4 is \"l requires m\": the rank has no operation `m`"),
        (&format!("{head}l: calc 5\nl requires\n}}"), "expected a label, `requires` and a label"),
        (&format!("{head}calc many\n}}"), "`many` is no time in nanoseconds"),
        (&format!("{head}calc 5 tag 1\n}}"), "unknown word `tag`"),
        (&format!("{head}send 5 to 1\n}}"), "expected a number of bytes, such as `4096b`"),
        (&format!("{head}send 5b from 1\n}}"), "expected `to` and a rank"),
        (&format!("{head}send 5b to 0\n}}"), "rank 0 would send to itself"),
        (&format!("{head}send 5b to 2\n}}"), "there is no rank 2"),
        (&format!("{head}recv 5b from -1\n}}"), "a receive from any rank"),
        (&format!("{head}recv 5b from 1 tag -1\n}}"), "a receive of any tag"),
        (&format!("{head}send 5b to 1 nic 1\n}}"), "a host has one adapter"),
        (&format!("{head}send 99999999999999999999b to 1\n}}"), "is no number of bytes"),
        (&format!("{head}send 5b to 1 tag 3\n}}"), "line 3 is \"send 5b to 1 tag 3\": rank 1 has no `recv` for it"),
        (&format!("{head}recv 5b from 1 tag 3\n}}"), "rank 1 has no `send` for it, with tag 3"),
        (&format!("{head}send 2b to 1\n}}\nrank 1 {{\nrecv 1b from 0\n}}"), "rank 0 sends 2 bytes, more than it takes"),
        (
            &format!("{head}a: calc 1\nb: calc 1\na requires b\nb requires a\n}}"),
            "line 3 is \"a: calc 1\": it waits for itself: 2",
        ),
        // Each rank receives before it sends.
        (
            "num_ranks 2\nrank 0 {\ns: send 1b to 1\nr: recv 1b from 1\ns requires r\n}\n\
             rank 1 {\ns: send 1b to 0\nr: recv 1b from 0\ns requires r\n}",
            "line 3 is \"s: send 1b to 1\": it waits for itself: 4 operations",
        ),
    ] {
        let error = Trace::parse(text).unwrap_err();
        assert!(error.contains(message), "{text:?}: {error}");
    }
    assert!(Trace::parse(&format!("{head}{pair}}}")).is_ok());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_of_traces_panic(
        text in "(num_ranks |rank |send |recv |calc |to |from |tag |requires |[0-9a-z:{}/*\\- ]{0,6}|\n){0,24}",
    ) {
        match Trace::parse(&text) {
            Ok(trace) => {
                let lines = trace.lines().join("\n");
                let again = Trace::parse(&lines).map_err(proptest::test_runner::TestCaseError::fail)?;
                proptest::prop_assert_eq!(again, trace);
            }
            Err(reason) => proptest::prop_assert!(!reason.is_empty()),
        }
    }
}
