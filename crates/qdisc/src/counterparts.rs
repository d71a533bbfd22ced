//! Queue disciplines of Linux and ns-2 that have another name here, or none.

/// Names in other systems, each with its nearest counterpart here.
pub const COUNTERPARTS: &[(&str, &str)] = &[
    ("bfifo", "use `drop_tail` with a limit in bytes: `queue.drop_tail.limit = \"64 KB\"`"),
    ("pfifo", "use `drop_tail` with a limit in packets: `queue.drop_tail.limit = \"1000 packets\"`"),
    ("pfifo_fast", "use `drop_tail`, which has one band, or `cbq`, which has classes"),
    ("fifo", "`drop_tail` is the plain FIFO"),
    ("taildrop", "`drop_tail` is the plain FIFO"),
    ("fq", "`fq_codel` and `drr` share the link between flows"),
    ("htb", "`cbq` has classes: HTB's `rate` is their `share` of the link there, its `ceil` their `rate`"),
    ("hfsc", "`cbq` has classes with shares; the `rate` of the link limits all of them"),
    ("ets", "`cbq` has classes with shares and priorities"),
    ("prio", "`cbq` has classes with shares and priorities"),
    ("tbf", "the `rate` of the link is the limit, and `drop_tail` has the limit of the queue"),
    ("netem", "links have a `delay` and losses of their own; `drop_tail` has a limit"),
    ("fq_pie", "FQ-PIE is not implemented: `fq_codel` shares between flows, `pie` does not"),
    ("hhf", "`afd` and `sfred` also find the flows that send most"),
    ("gred", "use `red`: a queue has one set of thresholds"),
];
