//! Frames through every way of moving them, between interfaces in network namespaces of the test's own.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod lab;

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_live::io::{Halves, Interface, OpenError, Receive, Transmit, VlanTag, af_packet, af_xdp, tap};
use forebay_live::sys::clock;
use forebay_units::{Span, Time};
use lab::Lab;

/// A way of moving packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    AfPacket,
    AfXdp,
    Tap,
}

const TAG: [u8; 4] = [0x81, 0x00, 0x60, 0x07];
const PATIENCE: Span = Span::from_seconds(10);

/// The interfaces under test, and what sends to them and receives from them.
struct Bench {
    method: Method,
    lab: Lab,
    a: Halves,
    b: Halves,
    end_a: Halves,
    end_b: Halves,
}

impl Bench {
    fn new(method: Method, mtu: u32) -> Option<Self> {
        let lab = Lab::new(mtu)?;
        let a = open(&lab, method, "a1").unwrap();
        let b = open(&lab, method, "b1").unwrap();
        let (end_a, end_b) = match method {
            // The kernel's side of the interface itself.
            Method::Tap => (lab::open_packet(&lab.middle, "tap-a1"), lab::open_packet(&lab.middle, "tap-b1")),
            _ => (lab.end("a0"), lab.end("b0")),
        };
        Some(Self { method, lab, a, b, end_a, end_b })
    }

    /// Switches the first interface under test off or on.
    fn switch(&self, state: &str) {
        let name = if self.method == Method::Tap { "tap-a1" } else { "a1" };
        lab::ip(&["-n", &self.lab.middle, "link", "set", name, state]).unwrap();
    }
}

fn open(lab: &Lab, method: Method, name: &str) -> Result<Halves, OpenError> {
    match method {
        Method::AfPacket => lab::open(&lab.middle, name, |interface| af_packet::open(interface, Default::default())),
        Method::AfXdp => lab::open(&lab.middle, name, |interface| af_xdp::open(interface, Default::default())),
        Method::Tap => lab::within(&lab.middle, || {
            let mtu = Interface::find(name)?.mtu;
            let options = tap::Options { mtu, ..Default::default() };
            Ok(tap::open(&format!("tap-{name}"), options)?.1)
        }),
    }
}

/// Sends all of `frames`, however often it takes.
fn send_all(transmit: &mut dyn Transmit, frames: &[Vec<u8>]) {
    let mut left: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    let end = clock::now() + PATIENCE;
    while !left.is_empty() {
        let sent = transmit.send(&left).unwrap();
        left.drain(..sent);
        assert!(clock::now() < end, "{} frames were not taken", left.len());
    }
}

/// The next `count` frames that are ours, as they were on the wire, or fewer where no more came for a while.
fn receive(receive: &mut dyn Receive, count: usize, patience: Span) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut end = clock::now() + patience;
    while frames.len() < count && clock::now() < end {
        let before = frames.len();
        take(receive, &mut frames);
        if frames.len() == before {
            clock::wait(&[receive.fd()], end).unwrap();
        } else {
            end = clock::now() + patience;
        }
    }
    frames
}

/// Our interfaces.
fn take(receive: &mut dyn Receive, frames: &mut Vec<Vec<u8>>) {
    let shown = receive.receive(64, &mut |frame| {
        let bytes = lab::whole(&frame);
        assert_eq!(frame.wire_bytes as usize, frame.bytes.len(), "nothing is cut");
        assert!(!frame.checksum_unfinished);
        if bytes[12..14] == lab::EXPERIMENT || bytes[16..18] == lab::EXPERIMENT {
            frames.push(bytes);
        }
    });
    shown.unwrap();
}

/// Forwards from one half to the other until `stop` is set.
fn forward(from: &mut dyn Receive, to: &mut dyn Transmit, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let mut frames = Vec::new();
        take(from, &mut frames);
        send_all(to, &frames);
        if frames.is_empty() {
            clock::wait(&[from.fd()], clock::now() + Span::from_milliseconds(10)).unwrap();
        }
    }
}

/// Every size, each with a tag and without, arrives as it was sent, in order.
fn frames_pass_unchanged(method: Method) {
    let Some(mut bench) = Bench::new(method, 1500) else { return };
    let plain = (60..=1514).map(|bytes| lab::frame(bytes as u32, bytes, None));
    let tagged = (64..=1518).step_by(7).map(|bytes| lab::frame(bytes as u32, bytes, Some(TAG)));
    let frames: Vec<Vec<u8>> = plain.chain(tagged).collect();
    for some in frames.chunks(50) {
        send_all(&mut *bench.end_a.transmit, some);
        let seen = receive(&mut *bench.a.receive, some.len(), PATIENCE);
        assert!(seen == *some, "{method:?}: what came in is not what was sent");
        send_all(&mut *bench.b.transmit, &seen);
        let came_out = receive(&mut *bench.end_b.receive, some.len(), PATIENCE);
        assert!(came_out == *some, "{method:?}: what came out is not what was sent");
    }
    assert_eq!(bench.a.receive.dropped_by_kernel(), 0);
}

/// Frames sent on an interface do not come back as received from it, and an empty ring gives nothing.
fn nothing_comes_from_nothing(method: Method) {
    let Some(mut bench) = Bench::new(method, 1500) else { return };
    assert_eq!(bench.b.receive.receive(64, &mut |_| panic!("nothing was sent")).unwrap(), 0);
    send_all(&mut *bench.b.transmit, &[lab::frame(1, 100, None)]);
    assert_eq!(receive(&mut *bench.end_b.receive, 1, PATIENCE).len(), 1);
    assert!(receive(&mut *bench.b.receive, 1, Span::from_milliseconds(50)).is_empty());
}

/// Both directions run at once, each half on another thread than its twin, and no frame is lost.
fn both_directions_at_once(method: Method) {
    const FRAMES: u32 = 100_000;
    let Some(bench) = Bench::new(method, 1500) else { return };
    let Bench { lab: _lab, mut a, mut b, end_a, end_b, .. } = bench;
    let stop = AtomicBool::new(false);
    let (a_to_b, b_to_a) = std::thread::scope(|scope| {
        let (a_in, b_in) = (&mut *a.receive, &mut *b.receive);
        let (a_out, b_out) = (&mut *a.transmit, &mut *b.transmit);
        let stop = &stop;
        scope.spawn(move || forward(a_in, b_out, stop));
        scope.spawn(move || forward(b_in, a_out, stop));
        let Halves { receive: mut from_b, transmit: mut to_a } = end_a;
        let Halves { receive: mut from_a, transmit: mut to_b } = end_b;
        let one = scope.spawn(move || exchange(&mut *to_a, &mut *from_a, FRAMES));
        let other = scope.spawn(move || exchange(&mut *to_b, &mut *from_b, FRAMES / 4));
        let results = (one.join().unwrap(), other.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        results
    });
    assert_eq!((a_to_b, b_to_a), (FRAMES, FRAMES / 4), "{method:?}");
    assert_eq!(a.receive.dropped_by_kernel() + b.receive.dropped_by_kernel(), 0);
}

/// Sends `count` numbered frames, at most some hundreds on their way at a time; returns how many arrived in order.
fn exchange(transmit: &mut dyn Transmit, from: &mut dyn Receive, count: u32) -> u32 {
    const ON_THEIR_WAY: u32 = 256;
    const AT_ONCE: u32 = 32;
    let (mut sent, mut arrived) = (0, 0);
    let mut end = clock::now() + PATIENCE;
    while arrived < count && clock::now() < end {
        if sent < count && sent - arrived <= ON_THEIR_WAY {
            let last = count.min(sent + AT_ONCE);
            let frames: Vec<Vec<u8>> = (sent..last).map(|number| lab::frame(number, 200, None)).collect();
            send_all(transmit, &frames);
            sent = last;
        }
        let mut frames = Vec::new();
        take(from, &mut frames);
        if frames.is_empty() {
            clock::wait(&[from.fd()], clock::now() + Span::from_milliseconds(1)).unwrap();
            continue;
        }
        for bytes in frames {
            assert_eq!(bytes, lab::frame(arrived, 200, None), "out of order, lost or changed");
            arrived += 1;
        }
        end = clock::now() + PATIENCE;
    }
    arrived
}

/// A frame too long for the interface is refused alone.
fn a_long_frame_is_refused_alone(method: Method) {
    let Some(mut bench) = Bench::new(method, 1000) else { return };
    let (fits, long) = (lab::frame(1, 1014, None), lab::frame(2, 1015, None));
    let frames = [&fits[..], &long[..], &fits[..]];
    assert_eq!(bench.b.transmit.send(&frames).unwrap(), 1);
    let error = bench.b.transmit.send(&frames[1..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{method:?}: {error}");
    assert_eq!(bench.b.transmit.send(&frames[2..]).unwrap(), 1);
    assert_eq!(receive(&mut *bench.end_b.receive, 2, PATIENCE), vec![fits.clone(), fits]);
}

/// An interface that goes down is an error and no panic, and works again when it is up.
fn an_interface_goes_down(method: Method) {
    let Some(mut bench) = Bench::new(method, 1500) else { return };
    bench.switch("down");
    let end = clock::now() + PATIENCE;
    let error = loop {
        assert!(clock::now() < end, "{method:?}: an interface that is down was not noticed");
        if let Err(error) = bench.a.receive.receive(64, &mut |_| ()) {
            break error;
        }
    };
    assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN), "{method:?}: {error}");
    let frame = lab::frame(1, 100, None);
    // A frame or two may have been taken before the report.
    let error = (0..3).find_map(|_| bench.a.transmit.send(&[&frame]).err()).expect("it is down");
    assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN), "{method:?}: {error}");
    bench.switch("up");
    send_all(&mut *bench.end_a.transmit, std::slice::from_ref(&frame));
    assert_eq!(receive(&mut *bench.a.receive, 1, PATIENCE), [frame], "{method:?}");
}

/// An interface that is down is not opened, and the error names the remedy.
fn an_interface_that_is_down_is_not_opened(method: Method) {
    let Some(lab) = Lab::new(1500) else { return };
    lab::ip(&["-n", &lab.middle, "link", "set", "a1", "down"]).unwrap();
    let Err(error) = open(&lab, method, "a1") else { panic!("{method:?}: opened an interface that is down") };
    let text = error.to_string();
    assert!(text.contains("a1") && text.contains("ip link set a1 up"), "{text}");
    let Err(error) = open(&lab, method, "zz") else { panic!("{method:?}: opened an interface that there is not") };
    assert!(error.to_string().contains("no such interface"), "{error}");
}

/// Frames without room in the ring are counted.
fn what_is_lost_is_counted(method: Method) {
    let Some(mut bench) = Bench::new(method, 1500) else { return };
    let frames: Vec<Vec<u8>> = (0..20_000).map(|number| lab::frame(number, 60, None)).collect();
    send_all(&mut *bench.end_a.transmit, &frames);
    let seen = receive(&mut *bench.a.receive, frames.len(), Span::from_milliseconds(200));
    assert!(!seen.is_empty() && seen.len() < frames.len(), "{method:?}: {}", seen.len());
    assert!(seen.iter().zip(&frames).all(|(seen, sent)| seen == sent), "{method:?}: the first are kept");
    let dropped = bench.a.receive.dropped_by_kernel();
    assert_eq!(seen.len() as u64 + dropped, frames.len() as u64, "{method:?}");
    assert_eq!(bench.a.receive.dropped_by_kernel(), dropped, "counted once");
}

macro_rules! for_each_method {
    ($($module:ident = $method:expr => $($test:ident)*;)*) => {$(
        mod $module {
            $(#[test]
            fn $test() {
                super::$test($method);
            })*
        }
    )*};
}

for_each_method! {
    packet_sockets = super::Method::AfPacket =>
        frames_pass_unchanged nothing_comes_from_nothing both_directions_at_once a_long_frame_is_refused_alone
        an_interface_goes_down an_interface_that_is_down_is_not_opened what_is_lost_is_counted;
    xdp_sockets = super::Method::AfXdp =>
        frames_pass_unchanged nothing_comes_from_nothing both_directions_at_once a_long_frame_is_refused_alone
        an_interface_goes_down an_interface_that_is_down_is_not_opened what_is_lost_is_counted;
    // Opening makes a TAP interface and switches it on.
    tap_interfaces = super::Method::Tap =>
        frames_pass_unchanged nothing_comes_from_nothing both_directions_at_once a_long_frame_is_refused_alone
        an_interface_goes_down;
}

/// A TAP interface refuses frames without room, so that the sender gets an error.
#[test]
fn a_tap_interface_counts_what_it_refuses() {
    let Some(mut bench) = Bench::new(Method::Tap, 1500) else { return };
    let frames: Vec<Vec<u8>> = (0..6000).map(|number| lab::frame(number, 60, None)).collect();
    let refused = frames.iter().filter(|frame| bench.end_a.transmit.send(&[frame]).unwrap() == 0).count();
    let seen = receive(&mut *bench.a.receive, frames.len(), Span::from_milliseconds(200));
    assert_eq!((seen.len(), refused), (4096, 6000 - 4096));
    assert_eq!(bench.a.receive.dropped_by_kernel(), refused as u64);
}

/// A packet socket sees no tag in the frame: the kernel takes it out before, and passes it separately.
#[test]
fn a_tag_beside_the_frame_is_told() {
    let Some(mut bench) = Bench::new(Method::AfPacket, 1500) else { return };
    send_all(&mut *bench.end_a.transmit, &[lab::frame(1, 104, Some(TAG))]);
    let mut seen = Vec::new();
    clock::wait(&[bench.a.receive.fd()], clock::now() + PATIENCE).unwrap();
    bench.a.receive.receive(64, &mut |frame| seen.push((frame.bytes.len(), frame.vlan))).unwrap();
    assert_eq!(seen, [(100, VlanTag::new(TAG))]);
}

/// One AF_XDP socket takes the frames of one queue, so that several are refused.
#[test]
fn an_interface_with_several_queues_is_refused() {
    let Some(lab) = Lab::new(1500) else { return };
    let pair = ["type", "veth", "peer", "name", "c1", "numrxqueues", "2", "numtxqueues", "2"];
    let name = ["-n", &lab.middle, "link", "add", "name", "c0", "numrxqueues", "2", "numtxqueues", "2"];
    lab::ip(&[&name[..], &pair[..]].concat()).unwrap();
    lab::ip(&["-n", &lab.middle, "link", "set", "c0", "up"]).unwrap();
    let Err(error) = open(&lab, Method::AfXdp, "c0") else { panic!("two queues were accepted") };
    assert!(error.to_string().contains("ethtool -L c0 combined 1"), "{error}");
}

/// Before it is started, a prepared interface leaves the frames to the kernel; a second program is refused.
#[test]
fn an_xdp_program_is_attached_last_and_only_once() {
    let Some(lab) = Lab::new(1500) else { return };
    let prepare = || lab::open(&lab.middle, "a1", |interface| af_xdp::prepare(interface, Default::default())).unwrap();
    let Err(error) = prepare().start() else { panic!("attached to an interface of another namespace") };
    assert!(error.to_string().contains("another network namespace"), "{error}");
    let prepared = prepare();
    // Packet sockets see the frames that the kernel also handles.
    let (mut kernel, mut end) = (lab::open_packet(&lab.middle, "a1"), lab.end("a0"));
    let mut goes_to_the_kernel = || {
        send_all(&mut *end.transmit, &[lab::frame(1, 60, None)]);
        receive(&mut *kernel.receive, 1, Span::from_milliseconds(100)).len() == 1
    };
    assert!(goes_to_the_kernel());
    let halves = lab::within(&lab.middle, || prepared.start()).unwrap();
    assert!(!goes_to_the_kernel());
    let Err(error) = open(&lab, Method::AfXdp, "a1") else { panic!("two programs took one interface") };
    assert!(error.to_string().contains("another program holds it"), "{error}");
    drop(halves);
    assert!(goes_to_the_kernel());
    open(&lab, Method::AfXdp, "a1").unwrap();
}

#[test]
fn a_ring_and_a_wait_agree_on_what_is_readable() {
    let Some(mut bench) = Bench::new(Method::AfPacket, 1500) else { return };
    let ready = clock::wait(&[bench.a.receive.fd()], Time::ZERO).unwrap();
    assert!(!ready);
    send_all(&mut *bench.end_a.transmit, &[lab::frame(1, 60, None)]);
    assert!(clock::wait(&[bench.a.receive.fd().as_fd()], clock::now() + PATIENCE).unwrap());
}
