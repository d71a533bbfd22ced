//! Configurations as they are written in a scenario.
#![cfg(feature = "config")]

use forebay_qdisc::dbl::{DblFunction, DblPreset, DblTable, InputPortAction};
use forebay_qdisc::*;
use forebay_units::{Bytes, QueueSize};

macro_rules! empty_tables {
    ($($config:ident)*) => {
        #[test]
        fn an_empty_table_is_the_defaults() {
            $(assert_eq!(toml::from_str::<$config>(""), Ok($config::default()));)*
        }
    };
}

empty_tables! {
    AfdConfig AredConfig BlueConfig BreatheConfig CakeConfig ChokeConfig CobaltConfig CodelConfig CsfqConfig DblConfig
    DropTailConfig DrrConfig FengRedConfig FqCodelConfig FredConfig PenaltyBoxConfig PiConfig PieConfig RedConfig
    RedPdConfig SfbConfig SfqConfig SfqRedConfig SfredConfig SredConfig WfqConfig
}

#[test]
fn cake_is_written_by_the_keywords_of_tc() {
    let text = r#"
        bandwidth = "20 Mbps"
        tins = "diffserv4"
        isolation = "dual-srchost"
        rtt = "regional"
        link_layer = "pppoe-llcsnap"
        overhead = -4
        mpu = 64
        framing = "atm"
        ack_filter = "aggressive"
        limit = "2 MB"
        ingress = true
    "#;
    let expected = CakeConfig {
        bandwidth: Some(Rate::megabits(20)),
        tins: CakeTins::Diffserv4,
        isolation: CakeIsolation::DualSrchost,
        rtt: CakeRoundTrip(Span::from_milliseconds(30)),
        link_layer: Some(CakeLinkLayer::PppoeLlcsnap),
        overhead: Some(-4),
        mpu: Some(64),
        framing: Some(CakeFraming::Atm),
        ack_filter: CakeAckFilter::Aggressive,
        limit: Some(QueueSize::Bytes(2_000_000)),
        ingress: true,
        ..CakeConfig::default()
    };
    assert_eq!(toml::from_str::<CakeConfig>(text), Ok(expected.clone()));
    assert_eq!(toml::from_str::<CakeConfig>(&toml::to_string(&expected).unwrap()), Ok(expected));
    for (key, value) in [("tins", "diffserv5"), ("isolation", "triple_isolate"), ("rtt", "moon"), ("framing", "ptp")] {
        assert!(toml::from_str::<CakeConfig>(&format!("{key} = '{value}'")).is_err(), "{key}");
    }
}

#[test]
fn dbl_is_written_as_in_the_manual() {
    let text = r#"
        preset = "catalyst4500"
        limit = "512 KB"
        max_packet_size = "1500 B"
        mark_probability = 0.2
        rehash_interval = "10 s"
        flow_table = "shared"
        off_classes = [46]
        dbl_function.table = { queue_cells = [0, 100], active_flows = [0], dbl_cells = [[256], [32]] }
        input_ports = { limit = 3, action = "shutdown" }
    "#;
    let config: DblConfig = toml::from_str(text).unwrap();
    assert_eq!((config.preset, config.limit), (DblPreset::Catalyst4500, QueueSize::Bytes(512_000)));
    let table = DblTable { queue_cells: vec![0, 100], active_flows: vec![0], dbl_cells: vec![vec![256], vec![32]] };
    assert_eq!(config.dbl_function, DblFunction::Table(table));
    assert_eq!(config.input_ports.map(|ports| (ports.limit, ports.action)), Some((3, InputPortAction::Shutdown)));
    let linear: DblConfig = toml::from_str(r#"dbl_function = "linear""#).unwrap();
    assert_eq!(linear.dbl_function, DblFunction::Linear);
}

#[test]
fn classes_hold_a_queue_of_any_description() {
    let text = r#"
        default_class = "rest"
        classes = [
            { name = "voice", classes = [46], rate = "10 Mbps", burst = "2 KB", queue = { limit = "50 packets" } },
            { name = "rest", priority = 1, share = 3.0, queue = {} },
        ]
    "#;
    let config: CbqConfig<DropTailConfig> = toml::from_str(text).unwrap();
    assert_eq!(config.classes[0].burst, Bytes(2000));
    assert_eq!(config.classes[0].queue.limit, QueueSize::Packets(50));
    assert_eq!(
        config.classes[1],
        CbqClass { priority: 1, share: 3.0, ..CbqClass::new("rest", &[], Default::default()) }
    );
}

#[test]
fn unknown_keys_are_refused() {
    assert!(toml::from_str::<RedConfig>("min_treshold = \"5 packets\"").is_err());
    assert!(toml::from_str::<DblConfig>("input_ports = { limits = 3 }").is_err());
    assert!(
        toml::from_str::<CbqConfig<DropTailConfig>>("classes = [{ name = \"a\", queue = {}, shares = 1 }]").is_err()
    );
}

#[test]
fn what_is_written_reads_back() {
    let config = DblConfig { rehash_interval: Some(Span::from_seconds(1)), ..DblConfig::default() };
    assert_eq!(toml::from_str::<DblConfig>(&toml::to_string(&config).unwrap()), Ok(config));
    let classes = vec![CbqClass::new("a", &[1], DropTailConfig::default())];
    let config = CbqConfig { classes, default_class: None };
    assert_eq!(toml::from_str::<CbqConfig<DropTailConfig>>(&toml::to_string(&config).unwrap()), Ok(config));
}
