//! The command line of the live data plane.

fn main() {}
