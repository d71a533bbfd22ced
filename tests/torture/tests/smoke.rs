//! A campaign of some seconds, always from the same seed: part of every test.

use std::process::Command;

#[test]
fn a_short_campaign_finds_nothing() {
    let out = concat!(env!("CARGO_TARGET_TMPDIR"), "/torture");
    let _ = std::fs::remove_dir_all(out);
    let campaign = Command::new(env!("CARGO_BIN_EXE_forebay-torture"))
        .args(["--seconds", "5", "--jobs", "1", "--seed", "1", "--out", out])
        .output()
        .expect("the campaign starts");
    let report = String::from_utf8_lossy(&campaign.stdout);
    assert!(campaign.status.success(), "{report}{}", String::from_utf8_lossy(&campaign.stderr));
    assert!(report.contains("valid scenarios reached"), "{report}");
}
