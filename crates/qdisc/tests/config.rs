//! Configurations as they are written in a scenario.
#![cfg(feature = "config")]

use forebay_qdisc::dbl::{DblFunction, DblPreset, DblTable, InputPortAction};
use forebay_qdisc::framing::{CellFraming, LinkLayer};
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
    AfdConfig AfqConfig AifoConfig AredConfig BlueConfig BreatheConfig CakeConfig ChokeConfig CobaltConfig CodelConfig
    CsfqConfig DblConfig DropTailConfig DrrConfig DualPi2Config FengRedConfig FqCodelConfig FqPieConfig FredConfig
    PenaltyBoxConfig PiConfig Pi2Config PieConfig PifoConfig RedConfig RedPdConfig SfbConfig SfqConfig SfqRedConfig
    SfredConfig SpPifoConfig SredConfig WfqConfig
}

#[test]
fn tbf_is_written_with_or_without_a_queue() {
    assert_eq!(toml::from_str::<TbfConfig<DropTailConfig>>(""), Ok(TbfConfig::default()));
    let text = "rate = '9 Mbps'\nburst = '4 KB'\npeakrate = '20 Mbps'\nmtu = '1514 B'\nlatency = '50 ms'\nqueue = {}";
    let config = TbfConfig {
        rate: Some(Rate::megabits(9)),
        burst: Some(Bytes(4000)),
        peakrate: Some(Rate::megabits(20)),
        mtu: Some(Bytes(1514)),
        limit: None,
        latency: Some(Span::from_milliseconds(50)),
        queue: Some(Box::new(DropTailConfig::default())),
    };
    assert_eq!(toml::from_str::<TbfConfig<DropTailConfig>>(text), Ok(config));
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
        link_layer: Some(LinkLayer::PppoeLlcsnap),
        overhead: Some(-4),
        mpu: Some(64),
        framing: Some(CellFraming::Atm),
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
fn the_rules_of_dualpi2_have_names() {
    let text = r#"
        preset = "rfc"
        delay = "older_head"
        ecn_mask = "any_ect"
        l4s_aqm = "step"
        step_threshold_packets = 5
        scheduler = "time_shifted_fifo"
        time_shift = "20 ms"
        classic_draw = "random"
        l4s_draw = "recur"
    "#;
    let expected = DualPi2Config {
        preset: Pi2Preset::Rfc,
        delay: Some(DualPi2Delay::OlderHead),
        ecn_mask: DualPi2EcnMask::AnyEct,
        l4s_aqm: Some(DualPi2L4sAqm::Step),
        step_threshold_packets: Some(5),
        scheduler: Some(DualPi2Scheduler::TimeShiftedFifo),
        time_shift: Some(Span::from_milliseconds(20)),
        classic_draw: Some(Pi2Draw::Random),
        l4s_draw: Some(Pi2Draw::Recur),
        ..DualPi2Config::default()
    };
    assert_eq!(toml::from_str::<DualPi2Config>(text), Ok(expected));
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
fn bands_are_written_with_or_without_a_list() {
    assert_eq!(toml::from_str::<PrioConfig<DropTailConfig>>(""), Ok(PrioConfig::default()));
    let text =
        "default_band = 'a'\nlimit = '9 packets'\nbands = [{ name = 'a', classes = [7] }, { name = 'b', queue = {} }]";
    let b = PrioBand { queue: Some(DropTailConfig::default()), ..PrioBand::new("b", &[]) };
    let config = PrioConfig {
        bands: vec![PrioBand::new("a", &[7]), b],
        default_band: Some("a".into()),
        limit: QueueSize::Packets(9),
    };
    assert_eq!(toml::from_str::<PrioConfig<DropTailConfig>>(text), Ok(config));
    assert_eq!(toml::from_str::<EtsConfig<DropTailConfig>>(""), Ok(EtsConfig::default()));
    let text = "strict = 1\nbands = [{ name = 'a', classes = [7] }, { name = 'b', quantum = '3 KB', queue = {} }]";
    let b = EtsBand { quantum: Some(Bytes(3000)), queue: Some(DropTailConfig::default()), ..EtsBand::new("b", &[]) };
    let config = EtsConfig { bands: vec![EtsBand::new("a", &[7]), b], strict: Some(1), ..EtsConfig::default() };
    assert_eq!(toml::from_str::<EtsConfig<DropTailConfig>>(text), Ok(config));
}

#[test]
fn a_schedule_names_the_classes_that_are_open() {
    let text = r#"
        classes = [{ name = "control", classes = [7] }, { name = "rest", queue = { limit = "50 packets" } }]
        schedule = [{ open = ["control"], interval = "200 us" }, { open = ["control", "rest"], interval = "1 ms" }]
    "#;
    let config: TaprioConfig<DropTailConfig> = toml::from_str(text).unwrap();
    assert_eq!((config.cycle_time, config.base_time, config.default_class.as_ref()), (None, Span::ZERO, None));
    let queue = Some(DropTailConfig { limit: QueueSize::Packets(50) });
    assert_eq!(
        config.classes,
        [TaprioClass::new("control", &[7]), TaprioClass { queue, ..TaprioClass::new("rest", &[]) }]
    );
    let interval = |open: &[&str], us| TaprioInterval::new(open, Span::from_microseconds(us));
    assert_eq!(config.schedule, [interval(&["control"], 200), interval(&["control", "rest"], 1000)]);
    assert!(toml::from_str::<TaprioConfig<DropTailConfig>>("classes = [{ name = 'a' }]").is_err());
}

#[test]
fn htb_is_written_as_a_list_with_parents() {
    let text = r#"
        classes = [
            { name = "home", rate = "20 Mbps" },
            { name = "voice", parent = "home", rate = "2 Mbps", classes = [46], priority = 0, quantum = "1514 B" },
            { name = "rest", parent = "home", rate = "18 Mbps", ceil = "20 Mbps", burst = "3 KB", cburst = "2 KB",
              queue = { limit = "50 packets" } },
        ]
    "#;
    let config: HtbConfig<DropTailConfig> = toml::from_str(text).unwrap();
    assert_eq!((config.default_class, config.direct_limit, config.r2q), (None, QueueSize::Packets(1000), 10));
    let child = |name, classes: &[u8], megabits| HtbClass {
        parent: Some("home".into()),
        ..HtbClass::new(name, classes, Rate::megabits(megabits))
    };
    let voice = HtbClass { priority: Some(0), quantum: Some(Bytes(1514)), ..child("voice", &[46], 2) };
    let rest = HtbClass {
        ceil: Some(Rate::megabits(20)),
        burst: Some(Bytes(3000)),
        cburst: Some(Bytes(2000)),
        queue: Some(DropTailConfig { limit: QueueSize::Packets(50) }),
        ..child("rest", &[], 18)
    };
    assert_eq!(config.classes, [HtbClass::new("home", &[], Rate::megabits(20)), voice, rest]);
    assert!(toml::from_str::<HtbConfig<DropTailConfig>>("classes = [{ name = 'a' }]").is_err());
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
