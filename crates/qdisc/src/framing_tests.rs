//! Lengths on the link, by keyword and one parameter at a time.

use super::*;

fn framing(link_layer: Option<LinkLayer>) -> Framing {
    Framing::new(link_layer, 0, None, None, None).unwrap()
}

fn adjusted(framing: Framing, len_bytes: u32) -> u32 {
    framing.adjusted_bytes(framing.network_bytes(len_bytes, || 14))
}

#[test]
fn each_keyword_has_its_lengths() {
    use LinkLayer::*;
    // Of IP packets of 1500, 40 and 64 bytes.
    for (link_layer, expected) in [
        (Ethernet, [1538, 84, 102]),
        (Docsis, [1518, 64, 82]),
        (Conservative, [33 * 53, 2 * 53, 3 * 53]),
        (IpoaVcmux, [32 * 53, 53, 2 * 53]),
        (IpoaLlcsnap, [32 * 53, 2 * 53, 2 * 53]),
        (BridgedVcmux, [32 * 53, 2 * 53, 2 * 53]),
        (BridgedLlcsnap, [32 * 53, 2 * 53, 2 * 53]),
        (PppoaVcmux, [32 * 53, 2 * 53, 2 * 53]),
        (PppoaLlc, [32 * 53, 2 * 53, 2 * 53]),
        (PppoeVcmux, [32 * 53, 2 * 53, 2 * 53]),
        (PppoeLlcsnap, [33 * 53, 2 * 53, 3 * 53]),
        (PppoePtm, [1530 + 24, 70 + 2, 94 + 2]),
        (BridgedPtm, [1522 + 24, 62 + 1, 86 + 2]),
    ] {
        let framing = framing(Some(link_layer));
        assert_eq!([1500, 40, 64].map(|bytes| adjusted(framing, bytes + 14)), expected, "{link_layer:?}");
    }
}

/// The overhead of each keyword is exact: one byte more takes another cell, or shows in the length.
#[test]
fn each_keyword_has_its_overhead() {
    use LinkLayer::*;
    let of_atm = [
        (Conservative, 48),
        (IpoaVcmux, 8),
        (IpoaLlcsnap, 16),
        (BridgedVcmux, 24),
        (BridgedLlcsnap, 32),
        (PppoaVcmux, 10),
        (PppoaLlc, 14),
        (PppoeVcmux, 32),
        (PppoeLlcsnap, 40),
    ];
    for (link_layer, overhead) in of_atm {
        let cells = |bytes: u32| framing(Some(link_layer)).adjusted_bytes(bytes - overhead) / 53;
        assert_eq!([96, 97].map(cells), [2, 3], "{link_layer:?}");
    }
}

#[test]
fn atm_and_ptm_count_cells_and_bytes_begun() {
    let with = |cells| Framing::new(None, 0, None, None, Some(cells)).unwrap();
    let [atm, ptm] = [CellFraming::Atm, CellFraming::Ptm].map(with);
    assert_eq!([1500, 48, 49, 1, 0].map(|bytes| atm.adjusted_bytes(bytes)), [1696, 53, 106, 53, 0]);
    assert_eq!([1500, 64, 65, 1, 0].map(|bytes| ptm.adjusted_bytes(bytes)), [1524, 65, 67, 2, 0]);
}

#[test]
fn a_raw_packet_counts_as_it_is_and_others_without_the_header_of_their_link() {
    let raw = framing(None);
    assert_eq!([1514, 60].map(|bytes| adjusted(raw, bytes)), [1514, 60]);
    let zero = Framing::new(None, 0, Some(0), None, None).unwrap();
    assert_eq!([1514, 60, 10].map(|bytes| adjusted(zero, bytes)), [1500, 46, 0]);
    // `mpu` and `framing` alone do not make it another length.
    let with_mpu = Framing::new(None, 0, None, Some(64), Some(CellFraming::Atm)).unwrap();
    assert_eq!([1514, 60].map(|bytes| adjusted(with_mpu, bytes)), [32 * 53, 2 * 53]);
}

#[test]
fn the_minimum_comes_after_the_overhead_and_before_the_cells() {
    let mut framing = Framing::new(None, 0, Some(10), Some(64), None).unwrap();
    assert_eq!([53, 54, 55].map(|bytes| framing.adjusted_bytes(bytes)), [64, 64, 65]);
    framing.framing = CellFraming::Atm;
    assert_eq!([40, 86, 87].map(|bytes| framing.adjusted_bytes(bytes)), [106, 106, 159]);
    let negative = Framing::new(None, 0, Some(-20), None, None).unwrap();
    assert_eq!([100, 20, 7].map(|bytes| negative.adjusted_bytes(bytes)), [80, 0, 0]);
}

#[test]
fn a_given_value_takes_the_place_of_the_presets_and_tags_are_added() {
    let new = |vlan_tags, overhead, mpu, framing| {
        let link_layer = Some(LinkLayer::Ethernet);
        let framing = Framing::new(link_layer, vlan_tags, overhead, mpu, framing).unwrap();
        [1500, 40].map(|bytes| framing.adjusted_bytes(bytes))
    };
    assert_eq!(new(1, None, None, None), [1542, 84]);
    assert_eq!(new(2, Some(18), None, None), [1526, 84]);
    assert_eq!(new(0, None, Some(60), None), [1538, 78]);
    assert_eq!(new(0, None, None, Some(CellFraming::Ptm)), [1538 + 25, 84 + 2]);
    // A tag alone is an overhead.
    let tagged = Framing::new(None, 1, None, None, None).unwrap();
    assert_eq!(adjusted(tagged, 1514), 1504);
}

#[test]
fn each_parameter_has_bounds() {
    let refused = |link_layer, vlan_tags, overhead, mpu| {
        Framing::new(link_layer, vlan_tags, overhead, mpu, None).err().map(|error| error.field)
    };
    for overhead in [-64, 256] {
        assert_eq!(refused(None, 0, Some(overhead), None), None);
    }
    for overhead in [-65, 257, i32::MIN, i32::MAX] {
        assert_eq!(refused(None, 0, Some(overhead), None), Some("overhead"));
    }
    assert_eq!(refused(Some(LinkLayer::Ethernet), 1, Some(252), None), None);
    assert_eq!(refused(Some(LinkLayer::Ethernet), 1, Some(253), None), Some("overhead"));
    assert_eq!([256, 257].map(|mpu| refused(None, 0, None, Some(mpu))), [None, Some("mpu")]);
    assert_eq!(
        [8, 9, u32::MAX].map(|tags| refused(None, tags, None, None)),
        [None, Some("vlan_tags"), Some("vlan_tags")]
    );
}
