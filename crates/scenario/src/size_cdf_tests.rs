//! Distributions with a name, and files: their means, their draws, and what is refused.

use super::*;
use forebay_records::random::stream;
use proptest::prelude::*;

/// The means in bytes of linear interpolation, of `homa_w5_dctcp_packets` with 1460 B for each of 1719.7 packets.
const MEANS: [(&str, f64); 17] = [
    ("alistorage2019", 40_870.0),
    ("datamining_abm", 5_036_535.0),
    ("datamining_vl2", 12_658_199.0),
    ("fb_cache_follower", 686_866.0),
    ("fb_hadoop2015", 121_849.0),
    ("fb_hadoop_hpcc", 120_421.0),
    ("fb_keyvalue_tg", 342.0),
    ("fb_web_server", 62_229.0),
    ("google_rpc2008", 2_892.0),
    ("google_rpc2008_conweave", 2_968.0),
    ("homa_w1_fb_keyvalue", 185.0),
    ("homa_w2_google_search", 423.0),
    ("homa_w3_google_all", 2_890.0),
    ("homa_w4_fb_hadoop", 121_849.0),
    ("homa_w5_dctcp_packets", 2_510_778.0),
    ("solar2022", 39_424.0),
    ("websearch", 1_711_250.0),
];

#[test]
fn means_of_the_named_distributions_are_the_published_ones() {
    assert_eq!(MEANS.map(|(name, _)| name), *NAMES);
    for (name, published) in MEANS {
        let mean = SizeCdf::named(name).unwrap().distribution().mean();
        assert!((mean - published).abs() <= 0.51, "{name}: {mean} instead of {published}");
    }
}

#[test]
fn draws_have_the_stated_mean_and_shares() {
    let sizes = SizeCdf::named("websearch").unwrap();
    let (distribution, mut rng) = (sizes.distribution(), stream(1, "test"));
    let drawn: Vec<f64> = (0..400_000).map(|_| distribution.draw(&mut rng)).collect();
    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
    // The standard deviation of a size is 4.3 MB, so that of this mean is 7 KB.
    assert!((mean - 1_711_250.0).abs() < 25_000.0, "{mean}");
    for point in sizes.points() {
        let share = drawn.iter().filter(|size| **size <= point.value).count() as f64 / drawn.len() as f64;
        assert!((share - point.share).abs() < 0.003, "{point:?}: {share}");
    }
}

#[test]
fn files_of_several_styles_are_read() {
    let expected = SizeCdf::parse("0,0\n1000,0.5\n3000,1\n").unwrap();
    for text in [
        "bytes,cdf\n0,0\n1000,0.5\n3000,1\n",
        "# of a measurement\n\n0 0\n1000 50\n3000 100",
        "size share\n0\t0\n1e3\t0.5\n3e3\t1.0\n",
        "0, 0\r\n1000, 50\r\n3000, 100\r\n",
    ] {
        assert_eq!(SizeCdf::parse(text), Ok(expected.clone()), "{text:?}");
    }
    assert_eq!(expected.bounds(), [0.0, 3000.0]);
    assert_eq!(expected.distribution().mean(), 1250.0);
}

#[test]
fn what_is_no_distribution_is_refused_by_its_line() {
    for (text, message) in [
        ("", "there is no point: expected at least 2"),
        ("bytes,cdf\n", "there is no point"),
        ("5,1\n", "line 1: the first share is 1: expected 0"),
        ("5,0\n", "line 1: there is only one point: expected at least 2"),
        ("bytes,cdf\n0,0\n9,0.9\n", "line 3: the last share is 0.9: expected 1, or 100 in per cent"),
        ("0,0\n9,101\n", "line 2 is \"9,101\": a share of 101 is out of bounds"),
        ("0,0\n7,0.5\n7,1\n", "line 3 is \"7,1\": 7 B come after 7 B: sizes must rise"),
        ("0,0\n7,0.5\n9,0.5\n", "line 3 is \"9,0.5\": a share of 0.5 comes after 0.5: shares must rise"),
        ("# c\n3,0.1\n9,1\n", "line 2: the first share is 0.1: expected 0; add a point before it"),
        ("-1,0\n9,1\n", "line 1 is \"-1,0\": a size of -1 B is out of bounds"),
        ("0,0\n1e16,1\n", "a size of 10000000000000000 B is out of bounds: expected 0 to 1000000 GB"),
        ("0,0\nNaN,1\n", "line 2 is \"NaN,1\": a size of NaN B is out of bounds"),
        ("0,0\n9,1,3\n", "line 2 is \"9,1,3\": expected two numbers, a size in bytes and a share"),
        ("0,0\nnine,1\n", "line 2 is \"nine,1\": expected two numbers"),
    ] {
        let error = SizeCdf::parse(text).unwrap_err();
        assert!(error.contains(message), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[0-9a-z,.\\-# \n]{0,80}") {
        if let Err(reason) = SizeCdf::parse(&text) {
            prop_assert!(!reason.is_empty());
        }
    }

    /// Whatever rises is read, in both scales, and every draw is within its points.
    #[test]
    fn points_that_rise_are_read_as_they_are(
        steps in prop::collection::vec((1_u32..1_000_000, 1_u32..1000), 1..40),
        seed: u64,
    ) {
        let total: u32 = steps.iter().map(|(_, weight)| weight).sum();
        let (mut size, mut weight, mut lines) = (0_u64, 0, vec![(0_u64, 0.0)]);
        for &(more, of_weight) in &steps {
            size += u64::from(more);
            weight += of_weight;
            lines.push((size, f64::from(weight) / f64::from(total)));
        }
        let text = |scale: f64| -> String {
            lines.iter().map(|(size, share)| format!("{size},{}\n", share * scale)).collect()
        };
        let sizes = SizeCdf::parse(&text(1.0)).map_err(TestCaseError::fail)?;
        let read: Vec<_> = sizes.points().iter().map(|point| (point.value as u64, point.share)).collect();
        prop_assert_eq!(read, lines.clone());
        let in_per_cent = SizeCdf::parse(&text(100.0)).map_err(TestCaseError::fail)?;
        let distribution = sizes.distribution();
        prop_assert!((in_per_cent.distribution().mean() / distribution.mean() - 1.0).abs() < 1e-9);
        let mut rng = stream(seed, "test");
        for _ in 0..100 {
            let drawn = distribution.draw(&mut rng);
            prop_assert!((0.0..=size as f64).contains(&drawn), "{}", drawn);
        }
    }
}
