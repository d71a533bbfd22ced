//! The parameters that several disciplines share with RED, CoDel, PIE or PI2: each has its text and type here, once.

/// Declares the configuration of a discipline, with its defaults. A field is the discipline's own, or one that the
/// tables below have, as `red weight = 0.002, "0.002 (paper)";`: its default, and this in words. It may have its own
/// text in place of the words.
///
/// `in RedConfig` adds the method `inner`, the configuration of the RED within: it has the fields of the tables.
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(in $inner:ident)? { $($fields:tt)* }
    ) => {
        parameters! { ([$(#[$meta])*] $name $($inner)?) [] [] $($fields)* }
    };
    (
        $head:tt [$($field:tt)*] [$($shared:ident)*]
        $of:ident $name:ident = $value:expr, $words:literal;
        $($rest:tt)*
    ) => {
        parameters! {
            $head
            [
                $($field)*
                #[doc = concat!(parameter_text!($of $name), " Default: ", $words, ".")]
                pub $name: parameter_type!($of $name) = $value;
            ]
            [$($shared)* $name]
            $($rest)*
        }
    };
    (
        $head:tt [$($field:tt)*] [$($shared:ident)*]
        $(#[$meta:meta])+ $of:ident $name:ident = $value:expr;
        $($rest:tt)*
    ) => {
        parameters! {
            $head
            [$($field)* $(#[$meta])* pub $name: parameter_type!($of $name) = $value;]
            [$($shared)* $name]
            $($rest)*
        }
    };
    (
        $head:tt [$($field:tt)*] $shared:tt
        $(#[$meta:meta])* pub $name:ident: $type:ty = $value:expr;
        $($rest:tt)*
    ) => {
        parameters! {
            $head
            [$($field)* $(#[$meta])* pub $name: $type = $value;]
            $shared
            $($rest)*
        }
    };
    (([$($meta:tt)*] $name:ident $($inner:ident)?) [$($field:tt)*] $shared:tt) => {
        forebay_units::configuration! {
            $($meta)*
            pub struct $name { $($field)* }
        }

        $(parameters! { @inner $name $inner $shared })?
    };
    (@inner $name:ident $inner:ident [$($shared:ident)*]) => {
        impl $name {
            /// The shared parameters; those that are missing have their defaults.
            pub(crate) fn inner(&self) -> $inner {
                $inner { $($shared: self.$shared,)* ..$inner::default() }
            }
        }
    };
}

macro_rules! parameter_type {
    (pie preset) => { PiePreset };
    (pie update_interval) => { Span };
    (pie alpha) => { f64 };
    (pie beta) => { f64 };
    (pie max_burst) => { Span };
    (pie derandomize) => { Option<bool> };
    (pie mark_threshold) => { f64 };
    (pi2 preset) => { Pi2Preset };
    (pi2 target) => { Option<Span> };
    (pi2 update_interval) => { Option<Span> };
    (pi2 alpha) => { Option<f64> };
    (pi2 beta) => { Option<f64> };
    (pi2 typical_rtt) => { Option<Span> };
    (pi2 max_rtt) => { Option<Span> };
    (pi2 coupling_factor) => { f64 };
    (pi2 mtu) => { Bytes };
    (pi2 min_backlog) => { Option<Bytes> };
    (pi2 classic_draw) => { Option<Pi2Draw> };
    ($of:ident weight) => { f64 };
    ($of:ident max_probability) => { f64 };
    ($of:ident min_threshold) => { QueueSize };
    ($of:ident max_threshold) => { QueueSize };
    ($of:ident limit) => { QueueSize };
    ($of:ident mean_packet_size) => { Bytes };
    ($of:ident max_packet_size) => { Bytes };
    ($of:ident target) => { Span };
    ($of:ident interval) => { Span };
    ($of:ident ce_threshold) => { Option<Span> };
    ($of:ident $switch:ident) => { bool };
}

macro_rules! parameter_text {
    (queue limit) => {
        "Limit of the queue, in packets or bytes, not counting the packet being sent."
    };
    (red min_threshold) => {
        "`min_th`: average queue below which nothing is dropped. In packets or bytes; its unit is the unit of the \
         average, and `max_threshold` needs the same."
    };
    (red max_threshold) => {
        "`max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability rises \
         from `max_probability` to 1)."
    };
    (red weight) => {
        "`w_q`: weight of each new sample in the moving average."
    };
    (red max_probability) => {
        "`max_p`: drop probability at `max_threshold`, before the gaps are made uniform."
    };
    (red gentle) => {
        "Whether the probability rises from `max_probability` at `max_threshold` to 1 at twice that, instead of \
         jumping to 1."
    };
    (red wait) => {
        "Whether at least 1/p packets must pass between two early drops: gaps are uniform on 1/p .. 2/p, so that the \
         mean rate of drops is p/1.5, instead of 1 .. 1/p."
    };
    (red small_queue_guard) => {
        "Whether early drops are suppressed while at most one packet is waiting."
    };
    (red byte_mode) => {
        "Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size` (RED's \
         paper, section 7)."
    };
    (red mean_packet_size) => {
        "Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for, and \
         `byte_mode` refers to it."
    };
    (red ecn) => {
        "Whether ECN-capable packets are marked instead of dropped early (RFC 3168, section 5)."
    };
    (red hard_drop) => {
        "Whether packets beyond the end of the profile are dropped even if they are ECN-capable (RFC 3168, section 7)."
    };
    (codel target) => {
        "TARGET: acceptable delay of a standing queue, which keeps the link busy."
    };
    (codel interval) => {
        "INTERVAL: time for which the delay must stay above the target before the first drop; about the longest \
         expected round-trip time."
    };
    (codel max_packet_size) => {
        "Maximum packet size: nothing is dropped while a queue holds no more than that."
    };
    (codel ecn) => {
        "Whether ECN-capable packets are marked instead of dropped by the control law."
    };
    (codel ce_threshold) => {
        "Delay from which every ECN-capable packet is marked, regardless of the control law; for DCTCP and similar \
         senders."
    };
    (pie preset) => {
        "Source of the rules in which implementations differ: RFC 8033 or Linux's `sch_pie`."
    };
    (pie target) => {
        "QDELAY_REF: the target of the queueing delay."
    };
    (pie update_interval) => {
        "T_UPDATE: period of the controller."
    };
    (pie alpha) => {
        "Step of the probability at each tick for each second of delay above the target, at a probability of 10 % or \
         more."
    };
    (pie beta) => {
        "Step of the probability at each tick for each second by which the delay has grown, at a probability of 10 % \
         or more."
    };
    (pie max_burst) => {
        "MAX_BURST: time for which nothing is dropped early after a quiet time."
    };
    (pie mean_packet_size) => {
        "MEAN_PKTSIZE: nothing is dropped early with at most two such packets queued; also the reference of \
         `byte_mode`."
    };
    (pie byte_mode) => {
        "Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size`; with \
         `linux` not beyond that size."
    };
    (pie derandomize) => {
        "Whether drops are spread out: none until the probabilities of the packets since the last one add up to 0.85, \
         and one for certain when they add up to 8.5 (RFC 8033, section 5.4)."
    };
    (pie cap_adjustment) => {
        "Whether the probability rises by no more than 2 % a tick once it is at 10 % (RFC 8033, section 5.5)."
    };
    (pie ecn) => {
        "Whether ECN-capable packets are marked instead of dropped early (RFC 8033, section 5.1)."
    };
    (pie mark_threshold) => {
        "`mark_ecnth`: probability above which ECN-capable packets are dropped as well."
    };
    (pi2 preset) => {
        "Source of the rules in which implementations differ; any key below that is given overrides its rule."
    };
    (pi2 target) => {
        "Target of the queueing delay."
    };
    (pi2 update_interval) => {
        "Tupdate: period of the controller; at least a thousandth of `target`."
    };
    (pi2 alpha) => {
        "Step of the base probability at each tick for each second of delay above the target, in Hz, up to 8388607. \
         With `linux` it is at least 1/256 and rounded down to a multiple of that; with `rfc` at least 0.000001."
    };
    (pi2 beta) => {
        "Step of the base probability at each tick for each second by which the delay has grown; bounds and rounding \
         as for `alpha`."
    };
    (pi2 typical_rtt) => {
        "Typical round-trip time, from which `target` follows: that time. With `linux` the period and the gains follow \
         as well, as in `tc`, from it and from `max_rtt`."
    };
    (pi2 max_rtt) => {
        "Longest usual round-trip time, from which follow the period, at most a third of it, and the gains: 0.1 times \
         the period divided by its square, and 0.3 divided by it."
    };
    (pi2 coupling_factor) => {
        "`k`: ratio of the probability with which L4S packets are marked to the base probability, from 1 to 255. From \
         a base probability of 1/k on the queue is overloaded: packets of the Classic queue are dropped even if they \
         are ECN-capable."
    };
    (pi2 mtu) => {
        "Length of the longest packet."
    };
    (pi2 min_backlog) => {
        "Bytes below which the base probability drops and marks no packet. The packet in question is not counted."
    };
    (pi2 classic_draw) => {
        "How Classic packets are chosen: by random numbers, or at regular gaps."
    };
    (pi2 drop_on_overload) => {
        "Whether the base probability may exceed 1/k. Otherwise it stops there: overload fills the buffer."
    };
    (pi2 drop_on_enqueue) => {
        "Whether packets are dropped or marked with the base probability when they arrive instead of when they leave."
    };
}
