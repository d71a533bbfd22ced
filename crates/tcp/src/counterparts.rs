//! Names of congestion control in other systems that are looked for in the wrong place, or have no counterpart here.

const LAW: &str = "it is a law of TCP: `transport.tcp = { congestion_control = \"cubic\" }`";
const BBR: &str = "it is a controller of TCP: `transport.tcp = { congestion_control = \"bbr\" }`, which is version 1";
const MISSING: &str = "not implemented: `cubic` is the default of Linux, `forebay explain tcp` lists the others";

const TWO_CUBICS: &str = "`cubic` is the CUBIC of today's Linux, `linux_2_6_cubic` that of 2007, which ns-2 2.35 runs";

/// Names in other systems, each with the remedy.
pub const COUNTERPARTS: &[(&str, &str)] = &[
    ("cubic", LAW),
    ("bic", LAW),
    ("reno", LAW),
    ("newreno", LAW),
    ("linux_cubic", TWO_CUBICS),
    ("bbr", BBR),
    ("bbr2", MISSING),
    ("bbr3", MISSING),
    ("dctcp", MISSING),
    ("prague", MISSING),
    ("vegas", MISSING),
    ("westwood", MISSING),
    ("htcp", MISSING),
    ("illinois", MISSING),
];
