//! Names of congestion control in other systems that are looked for in the wrong place, or have no counterpart here.

const LAW: &str = "it is a controller of TCP: write it as in `transport.tcp = { congestion_control = \"cubic\" }`";
const MISSING: &str = "not implemented: `cubic` is the default of Linux, `forebay explain tcp` lists the others";

const TWO_CUBICS: &str = "`cubic` is the CUBIC of today's Linux, `linux_2_6_cubic` that of 2007, which ns-2 2.35 runs";

const BBR2: &str = "version 3 replaces it: `transport.tcp = { congestion_control = \"bbr3\" }`";

/// Names in other systems, each with the remedy.
pub const COUNTERPARTS: &[(&str, &str)] = &[
    ("cubic", LAW),
    ("bic", LAW),
    ("reno", LAW),
    ("newreno", LAW),
    ("vegas", LAW),
    ("westwood", LAW),
    ("linux_cubic", TWO_CUBICS),
    ("bbr", LAW),
    ("bbr2", BBR2),
    ("bbr3", LAW),
    ("dctcp", LAW),
    ("prague", LAW),
    ("ledbat", LAW),
    ("htcp", MISSING),
    ("illinois", MISSING),
];
