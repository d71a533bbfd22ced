//! The parameters that several disciplines share with RED or CoDel: each has its text and type here, once.

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
                pub $name: parameter_type!($name) = $value;
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
            [$($field)* $(#[$meta])* pub $name: parameter_type!($name) = $value;]
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
            fn inner(&self) -> $inner {
                $inner { $($shared: self.$shared,)* ..$inner::default() }
            }
        }
    };
}

macro_rules! parameter_type {
    (weight) => { f64 };
    (max_probability) => { f64 };
    (min_threshold) => { QueueSize };
    (max_threshold) => { QueueSize };
    (limit) => { QueueSize };
    (mean_packet_size) => { Bytes };
    (max_packet_size) => { Bytes };
    (target) => { Span };
    (interval) => { Span };
    (ce_threshold) => { Option<Span> };
    ($switch:ident) => { bool };
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
}
