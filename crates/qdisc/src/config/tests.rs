//! Queues as a file describes them.

extern crate std;

use std::string::ToString;

use super::*;
use crate::CbqClass;
use crate::test_support::{LINK, Labelled};

fn read(text: &str) -> QueueSpec {
    toml::from_str(text).unwrap()
}

#[test]
fn every_discipline_without_classes_is_built_from_its_name_alone() {
    for Manual { name, source, .. } in
        QueueSpec::<NoCustomDiscipline>::DISCIPLINES.iter().filter(|it| it.has_defaults())
    {
        let queue = read(&format!("{name} = {{}}"));
        assert_eq!(queue.name(), *name);
        assert!(source.contains("//! # What it does"), "{name}");
        assert!(queue.build::<Labelled>(LINK, 0).is_ok(), "{name}");
        assert_eq!(queue.check::<Labelled>(&Alone, LINK), Ok(()), "{name}");
    }
}

#[test]
fn a_queue_alone_has_the_shared_table_to_itself() {
    let queue = read("dbl = { flow_table = 'shared' }");
    assert!(queue.shares_state());
    assert!(matches!(queue.build::<Labelled>(LINK, 0), Ok(Queue::Law(_))));
    let refused = read("dbl = { flow_table = 'shared', flow_table_entries = 0 }");
    assert_eq!(refused.check::<Labelled>(&Alone, LINK).unwrap_err().path, "dbl.flow_table_entries");
}

/// Checks queues with a fault: each has the path of the parameter, and the beginning of a message.
fn assert_faults(faults: &[(&str, &str, &str)]) {
    for (text, path, message) in faults {
        let error = read(text).check::<Labelled>(&Alone, LINK).unwrap_err();
        assert_eq!(error.path, *path);
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

#[test]
fn an_error_tells_the_way_to_its_parameter() {
    assert_faults(&[
        ("red = { limit = '0 packets' }", "red.limit", "red: `limit` must"),
        ("cbq = { classes = [] }", "cbq.classes", "cbq: `classes` must name at least one class"),
        (
            "cbq = { classes = [{ name = 'a', queue.drr = {} }, { name = 'b', share = -1, queue.drr = {} }] }",
            "cbq.classes.1.share",
            "cbq: `share` must",
        ),
        (
            "cbq.classes = [{ name = 'a', queue.drr = {} }, { name = 'a', queue.drr = {} }]",
            "cbq.classes.1.name",
            "cbq: `name` must",
        ),
        (
            "cbq = { default_class = 'b', classes = [{ name = 'a', queue.drr = {} }] }",
            "cbq.default_class",
            "cbq: `default_class` must",
        ),
        (
            "cbq.classes = [{ name = 'a', share = -1, queue.drr = {} }, \
             { name = 'b', queue.red.limit = '0 packets' }]",
            "cbq.classes.1.queue.red.limit",
            "red: `limit` must",
        ),
        (
            "cbq.classes = [{ name = 'a', queue.cbq.classes = [{ name = 'b', share = 0, queue.drr = {} }] }]",
            "cbq.classes.0.queue.cbq.classes.0.share",
            "cbq: `share` must",
        ),
        (
            "cbq.classes = [{ name = 'a', queue.drr = {} }, { name = 'b', queue.red = { limit = '0 packets' } }]",
            "cbq.classes.1.queue.red.limit",
            "red: `limit` must",
        ),
    ]);
}

#[test]
fn an_error_tells_the_way_into_classes_and_bands() {
    assert_faults(&[
        (
            "htb.classes = [{ name = 'a', rate = '1 Mbps' }, { name = 'b', parent = 'c', rate = '1 Mbps' }]",
            "htb.classes.1.parent",
            "htb: `parent` must be the name of one of `classes`",
        ),
        (
            "htb.classes = [{ name = 'a', rate = '1 Mbps' }, { name = 'b', parent = 'a', rate = '1 kbps', \
             queue.sfq.limit = '0 packets' }]",
            "htb.classes.1.queue.sfq.limit",
            "sfq: `limit` must",
        ),
        ("prio = { default_band = 'a' }", "prio.default_band", "prio: `default_band` must be left out"),
        ("prio = { limit = '0 packets' }", "prio.limit", "prio: `limit` must"),
        (
            "prio.bands = [{ name = 'a', queue.tbf.queue.red = { limit = '0 packets' } }]",
            "prio.bands.0.queue.tbf.queue.red.limit",
            "red: `limit` must",
        ),
        ("prio.bands = [{ name = 'a' }, { name = 'a' }]", "prio.bands.1.name", "prio: `name` must differ"),
        ("ets = { strict = 4 }", "ets.strict", "ets: `strict` must be at most the number of bands"),
        (
            "ets = { strict = 1, bands = [{ name = 'a', quantum = '1 KB' }] }",
            "ets.bands.0.quantum",
            "ets: `quantum` must be left out of a strict band",
        ),
        (
            "taprio = { classes = [{ name = 'a' }], schedule = [] }",
            "taprio.schedule",
            "taprio: `schedule` must have at least one interval",
        ),
        (
            "taprio = { classes = [{ name = 'a' }], schedule = [{ open = ['b'], interval = '1 ms' }] }",
            "taprio.schedule.0.open",
            "taprio: `open` must have names of `classes`",
        ),
        (
            "taprio = { classes = [{ name = 'a' }], schedule = [{ open = [], interval = '1 ms' }] }",
            "taprio.classes.0.name",
            "taprio: `name` must be in `open` of an interval of the cycle, or its gate never opens",
        ),
        ("tbf = { peakrate = '1 Mbps' }", "tbf.peakrate", "tbf: `peakrate` must be more than `rate`"),
        ("tbf = { limit = '0 packets' }", "tbf.limit", "tbf: `limit` must"),
        ("tbf = { queue.red = { limit = '0 packets' } }", "tbf.queue.red.limit", "red: `limit` must"),
        (
            "htb = { classes = [{ name = 'a', rate = '1 Mbps' }], direct_limit = '0 packets' }",
            "htb.direct_limit",
            "htb: `direct_limit` must",
        ),
    ]);
}

#[test]
fn without_custom_disciplines_none_is_read() {
    let error = toml::from_str::<QueueSpec>("python = 'module:Class'").unwrap_err();
    assert!(error.message().contains("a discipline written in Python cannot be used here"), "{error}");
}

#[test]
fn a_queue_changes_classes_if_one_inside_it_does() {
    for (text, expected) in [
        ("cake = {}", false),
        ("cake = { wash = true }", true),
        ("cbq = { classes = [{ name = 'a', queue.drr = {} }, { name = 'b', queue.cake = { wash = true } }] }", true),
        ("cbq = { classes = [{ name = 'a', queue.cake = {} }] }", false),
    ] {
        assert_eq!(read(text).changes_class(), expected, "{text}");
    }
}

/// A context in which senders are simulated.
#[derive(Clone)]
struct Simulated;

impl BuildContext<NoCustomDiscipline> for Simulated {
    fn flow_table(&mut self, _: u32) -> Option<SharedFlowTable> {
        None
    }
    fn hears_senders(&self) -> bool {
        true
    }
    fn custom_discipline(
        &mut self,
        custom: &NoCustomDiscipline,
        _: &[usize],
        _: Rate,
        _: u64,
    ) -> Result<CustomDiscipline, ParameterError> {
        match *custom {}
    }
}

#[test]
fn ranks_by_facts_of_senders_need_simulated_ones() {
    assert_faults(&[
        ("pifo = { ranks = 'remaining_size' }", "pifo.ranks", "pifo: `ranks` must be \"stfq\" or drawn here"),
        ("sp_pifo = { ranks = 'remaining_size' }", "sp_pifo.ranks", "sp_pifo: `ranks` must"),
        ("aifo = { ranks = 'remaining_size' }", "aifo.ranks", "aifo: `ranks` must"),
        (
            "cbq = { classes = [{ name = 'a', queue.pifo = { ranks = 'remaining_size' } }] }",
            "cbq.classes.0.queue.pifo.ranks",
            "pifo: `ranks` must",
        ),
        ("pifo.ranks = { poisson = { mean = 0 } }", "pifo.ranks", "pifo: `ranks` must have a `poisson.mean`"),
    ]);
    for (text, needs_senders) in [
        ("tbf.queue.sp_pifo = { ranks = 'remaining_size' }", true),
        ("aifo = { ranks = 'stfq' }", false),
        ("pifo.ranks = { uniform = { below = 3 } }", false),
    ] {
        assert_eq!(read(text).needs_senders(), needs_senders, "{text}");
        assert_eq!(read(text).check::<Labelled>(&Simulated, LINK), Ok(()), "{text}");
    }
}

#[test]
fn the_limits_of_queues_inside_bound_a_queue() {
    let packets = |limits: &[u64]| Some(limits.iter().map(|&limit| QueueSize::Packets(limit)).collect::<Vec<_>>());
    for (text, limits) in [
        ("red = { limit = '7 packets' }", packets(&[7])),
        ("fq = { limit = '4 packets' }", packets(&[4, 4, 4, 8])),
        ("tbf = { limit = '7 packets' }", packets(&[7])),
        ("tbf = { queue.red = { limit = '8 packets' } }", packets(&[8])),
        ("prio = { limit = '9 packets' }", packets(&[9, 9, 9])),
        ("ets.bands = [{ name = 'a' }, { name = 'b', queue.prio.limit = '3 packets' }]", packets(&[1000, 3, 3, 3])),
        (
            "htb = { direct_limit = '5 packets', classes = [{ name = 'a', rate = '1 Mbps' }, \
             { name = 'b', parent = 'a', rate = '1 Mbps', queue.red.limit = '6 packets' }] }",
            packets(&[6, 5]),
        ),
    ] {
        assert_eq!(read(text).limits(), limits, "{text}");
    }
    let trimming = |text: &str| read(text).limits();
    assert_eq!(trimming("trimming = {}"), Some([QueueSize::Packets(8), QueueSize::Bytes(144_000)].to_vec()));
    assert_eq!(trimming("trimming = { limit = '9 KB' }"), Some([9000, 18_000].map(QueueSize::Bytes).to_vec()));
    assert_eq!(trimming("trimming = { header_limit = '5 packets' }"), packets(&[8, 5]));
    let bytes = |bytes| Some([QueueSize::Bytes(bytes)].to_vec());
    assert_eq!(read("cake = { bandwidth = '10 Mbps' }").limits(), bytes(4 << 20));
    // Four round trips of 100 ms.
    assert_eq!(read("cake = { bandwidth = '100 Mbps' }").limits(), bytes(5_000_000));
    assert_eq!(read("cake = { bandwidth = '100 Mbps', autorate_ingress = true }").limits(), bytes(10_240 * 1514));
    assert_eq!(read("cake = {}").limits(), bytes(10_240 * 1514));
    assert_eq!(read("cake = { limit = '9 packets' }").limits(), packets(&[9]));
    assert_eq!(QueueSpec::Python(()).limits(), None);
    let class = CbqClass::new("a", &[], QueueSpec::Python(()));
    assert_eq!(QueueSpec::Cbq(CbqConfig { classes: [class].into(), default_class: None }).limits(), None);
}
