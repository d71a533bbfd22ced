//! Parts that run in separate processes.

use std::env;
use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

use forebay_live::checks::{Method, Wanted, check};
use forebay_live::io::{Halves, Interface, Receive, af_packet};
use forebay_live::privileges::{self, CapabilitySet, Otherwise};
use forebay_live::setup::{Bridge, Entrances, Offloads, Reader};
use forebay_live::sys::ethtool::Ethtool;
use forebay_live::sys::signals::Signals;
use forebay_units::Rate;

use crate::network::clock;

/// Says a line to the test.
fn say(line: &str) {
    println!("> {line}");
    io::stdout().flush().expect("the test listens");
}

/// Runs the part that the environment names.
pub fn run() {
    let variable = |name| env::var(name).unwrap_or_default();
    let argument = variable("FOREBAY_ARGUMENT");
    let result = match variable("FOREBAY_PART").as_str() {
        "check" => check(&wanted(&argument)).map(|_| say("ok")).map_err(Into::into),
        "features" => features(&argument),
        "checksums" => finish_checksums(&argument),
        "hold" => hold(&argument),
        "send" => send(&argument),
        "receive" => receive(&argument),
        "forward" => forward(&argument),
        "drop" => drop_privileges(&argument),
        other => panic!("no part `{other}`"),
    };
    if let Err(error) = result {
        say(&format!("error {error}"));
    }
}

/// The request in a line such as `lan0 wan0 rate=100 fail_open=fb-lan0`.
fn wanted(line: &str) -> Wanted {
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    Wanted {
        inside: words[0].into(),
        outside: words[1].into(),
        outbound: value("rate").map(|rate| Rate::megabits(rate.parse().expect("a number"))),
        inbound: None,
        method: if words.contains(&"af_xdp") { Method::AfXdp } else { Method::AfPacket },
        fail_open: value("fail_open").map(Into::into),
        realtime: false,
        lock_memory: false,
    }
}

fn features(interfaces: &str) -> Result<(), Box<dyn Error>> {
    let ethtool = Ethtool::open()?;
    for interface in interfaces.split_whitespace() {
        for feature in ethtool.features(interface)? {
            say(&format!("{interface} {} {} {}", feature.name, feature.active, feature.requested));
        }
    }
    Ok(())
}

/// Has an interface's host fill in checksums itself, since raw frames are sent on as they are.
fn finish_checksums(interface: &str) -> Result<(), Box<dyn Error>> {
    let ethtool = Ethtool::open()?;
    let features = ethtool.features(interface)?;
    let checksums = features.iter().filter(|feature| feature.name.starts_with("tx-checksum-") && feature.changeable);
    ethtool.set_features(interface, &checksums.map(|feature| (feature.bit, false)).collect::<Vec<_>>())?;
    Ok(())
}

/// Does the whole setup and holds it until a request to end, or a kill. With `here` it keeps its privileges and
/// restores the offloads itself.
fn hold(argument: &str) -> Result<(), Box<dyn Error>> {
    let here = argument.contains("here");
    let mut restorer = Command::new(env!("CARGO_BIN_EXE_forebay-live"));
    restorer.arg("restore-offloads");
    let checked = check(&wanted(argument))?;
    let _offloads = Offloads::turn_off(&checked, (!here).then_some(restorer))?;
    let open = |name| af_packet::open(&Interface::find(name)?, af_packet::Options::default());
    let (mut inside, mut outside) = (open(&checked.inside.name)?, open(&checked.outside.name)?);
    let rings: [&mut dyn Receive; 2] = [&mut *inside.receive, &mut *outside.receive];
    let entrances = checked.fail_open.is_some().then(|| Entrances::shut(&checked, rings)).transpose()?;
    let mut bridge = Bridge::ensure(&checked)?;
    let mut reader = Reader::open()?;
    if argument.ends_with(" fail") {
        return Err("it fails late".into());
    }
    if let Some(bridge) = &mut bridge {
        bridge.keep();
    }
    if !here {
        privileges::drop(CapabilitySet::empty(), Otherwise::Kill)?;
    }
    let found = reader.read(&checked, entrances.as_ref())?;
    let bridges = [&found.inside, &found.outside].map(|port| port.bridge.clone());
    assert_eq!(bridges, [checked.fail_open.clone(), checked.fail_open.clone()]);
    assert_eq!(found.entrances_shut, checked.fail_open.as_ref().map(|_| true));
    assert!(found.inside.up && found.inside.offloads_on.is_empty(), "{found:?}");
    say("ready");
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    assert_ne!(line.trim(), "panic", "as it was told");
    Ok(())
}

/// Ends this process when the test ends, however that was.
fn end_with_the_test() {
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}

/// Sends the time every other millisecond, and says it.
fn send(address: &str) -> Result<(), Box<dyn Error>> {
    end_with_the_test();
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    loop {
        let now = clock().as_nanos().to_string();
        socket.send_to(now.as_bytes(), (address, 9000))?;
        say(&now);
        thread::sleep(Duration::from_millis(2));
    }
}

/// Says what comes.
fn receive(address: &str) -> Result<(), Box<dyn Error>> {
    end_with_the_test();
    let socket = UdpSocket::bind((address, 9000))?;
    say("ready");
    loop {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer)?;
        say(std::str::from_utf8(&buffer[..length])?);
    }
}

/// Opens packet sockets, drops all privileges, then forwards both ways.
fn forward(argument: &str) -> Result<(), Box<dyn Error>> {
    let wanted = wanted(argument);
    let open = |name| -> Result<Halves, Box<dyn Error>> {
        Ok(af_packet::open(&Interface::find(name)?, af_packet::Options::default())?)
    };
    let (inside, outside) = (open(&wanted.inside)?, open(&wanted.outside)?);
    privileges::drop(CapabilitySet::empty(), Otherwise::Kill)?;
    end_with_the_test();
    say("ready");
    let ways = [(inside.receive, outside.transmit), (outside.receive, inside.transmit)];
    thread::scope(|scope| {
        for (mut receive, mut transmit) in ways {
            scope.spawn(move || {
                loop {
                    let mut frames = Vec::new();
                    receive.receive(64, &mut |frame| frames.push(frame.bytes.to_vec())).expect("it goes on receiving");
                    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
                    if frames.is_empty() {
                        thread::sleep(Duration::from_micros(200));
                    } else {
                        transmit.send(&frames).expect("it goes on sending");
                    }
                }
            });
        }
    });
    Ok(())
}

/// Drops all privileges, then does what is allowed and after it something that is not.
fn drop_privileges(forbidden: &str) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("0.0.0.0:0")?;
    listener.set_nonblocking(true)?;
    let (one, other) = std::os::unix::net::UnixDatagram::pair()?;
    let mut signals = Signals::block()?;
    let otherwise = if forbidden == "refuse" { Otherwise::Refuse } else { Otherwise::Kill };
    privileges::drop(CapabilitySet::empty(), otherwise)?;
    // All that a daemon does after it.
    one.send(b"frame")?;
    other.recv(&mut [0; 8])?;
    assert_eq!(listener.accept().expect_err("nobody calls").kind(), io::ErrorKind::WouldBlock);
    assert_eq!(signals.take(), None);
    let _ = signals.as_fd();
    thread::Builder::new()
        .name("another".into())
        .spawn(|| thread::sleep(Duration::from_millis(1)))?
        .join()
        .expect("ok");
    std::fs::read_to_string("/proc/self/status")?;
    drop(vec![1_u8; 1 << 24]);
    say("works");
    match forbidden {
        "spawn" => drop(Command::new("true").status()),
        "socket" => drop(UdpSocket::bind("0.0.0.0:0")),
        "directory" => drop(std::fs::create_dir("/nowhere")),
        _ => {
            let refused = |error: io::Error| assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
            refused(UdpSocket::bind("0.0.0.0:0").expect_err("no sockets"));
            refused(Command::new("true").spawn().expect_err("no processes"));
            refused(std::fs::create_dir("/nowhere").expect_err("no such call"));
            let denied = std::fs::read_to_string("/etc/shadow").expect_err("nobody reads this");
            assert_eq!(denied.kind(), io::ErrorKind::PermissionDenied);
            say("refused");
            let found = privileges::read_back()?;
            assert_eq!((found.users.as_slice(), found.capabilities), (&[privileges::NOBODY][..], 0));
            assert!(found.no_new_privileges && found.filtered);
            say("in force");
        }
    }
    Ok(())
}
