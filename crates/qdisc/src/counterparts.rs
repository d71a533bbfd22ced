//! Queue disciplines of Linux and ns-2 that have another name here, or none.

/// Names in other systems, each with its nearest counterpart here.
pub const COUNTERPARTS: &[(&str, &str)] = &[
    ("bfifo", "use `drop_tail` with a limit in bytes: `queue.drop_tail.limit = \"64 KB\"`"),
    ("pfifo", "use `drop_tail` with a limit in packets: `queue.drop_tail.limit = \"1000 packets\"`"),
    ("pfifo_fast", "use `prio`, which has its three bands by default"),
    ("fifo", "`drop_tail` is the plain FIFO"),
    ("taildrop", "`drop_tail` is the plain FIFO"),
    ("hfsc", "`cbq` has classes with shares; the `rate` of the link limits all of them"),
    ("netem", "links have a `delay` and losses of their own; `drop_tail` has a limit"),
    ("gred", "use `red`: a queue has one set of thresholds"),
];
