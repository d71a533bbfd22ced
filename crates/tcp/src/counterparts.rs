//! Names of congestion control in other systems that are looked for in the wrong place, or have no counterpart here.

const LAW: &str = "it is a law of TCP: `transport.tcp = { congestion_control = \"cubic\" }`";
const MISSING: &str = "not implemented: `cubic` is the default of Linux, `forebay explain tcp` lists the others";

/// Names in other systems, each with the remedy.
pub const COUNTERPARTS: &[(&str, &str)] = &[
    ("cubic", LAW),
    ("bic", LAW),
    ("reno", LAW),
    ("newreno", LAW),
    ("bbr", MISSING),
    ("bbr2", MISSING),
    ("bbr3", MISSING),
    ("dctcp", MISSING),
    ("prague", MISSING),
    ("vegas", MISSING),
    ("westwood", MISSING),
    ("htcp", MISSING),
    ("illinois", MISSING),
];
