//! Judging machines that are made up: no privilege is needed, and nothing is touched.

use std::net::IpAddr;

use super::*;

const UP: u32 = libc::IFF_UP.cast_unsigned();

fn link(index: u32, name: &str) -> Link {
    let address = Some([2, 0, 0, 0, 0, 1]);
    Link { index, name: name.into(), flags: UP, mtu: 1500, address, receive_queues: 1, ..Link::default() }
}

fn machine() -> Machine {
    let lo = Link { flags: UP | libc::IFF_LOOPBACK.cast_unsigned(), ..link(1, "lo") };
    Machine {
        links: vec![lo, link(2, "lan0"), link(3, "wan0")],
        addresses: Vec::new(),
        kernel: (6, 18),
        capabilities: CapabilitySet::all(),
        root: true,
    }
}

fn wanted() -> Wanted {
    Wanted {
        inside: "lan0".into(),
        outside: "wan0".into(),
        outbound: None,
        inbound: None,
        method: Method::AfPacket,
        fail_open: Some("fb-lan0".into()),
        realtime: false,
        lock_memory: false,
    }
}

/// The message about a machine and a wish that were changed from good ones.
fn complaint(change: impl FnOnce(&mut Machine, &mut Wanted)) -> String {
    let (mut machine, mut wanted) = (machine(), wanted());
    change(&mut machine, &mut wanted);
    machine.judge(&wanted).expect_err("it is bad").to_string()
}

fn address(interface: u32, ip: &str) -> Address {
    Address { interface, ip: ip.parse::<IpAddr>().expect("an address"), prefix: 24 }
}

#[test]
fn a_good_machine_passes() {
    let machine = machine();
    let [inside, outside] = machine.judge(&wanted()).expect("all is well");
    assert_eq!((inside.index, outside.index), (2, 3));
}

#[test]
fn names_are_judged_and_the_nearest_is_suggested() {
    let text = complaint(|_, wanted| wanted.outside = "wan1".into());
    assert!(text.starts_with("interfaces.outside: there is no interface `wan1`: did you mean `wan0`?"), "{text}");
    let text = complaint(|_, wanted| wanted.inside = "quux".into());
    assert!(text.contains("no interface `quux`: `ip link`"), "{text}");
    let text = complaint(|_, wanted| wanted.outside = "lan0".into());
    assert!(text.contains("both `lan0`"), "{text}");
    let text = complaint(|_, wanted| wanted.outside = "lo".into());
    assert!(text.contains("`lo` is the loopback interface"), "{text}");
}

#[test]
fn the_state_of_an_interface_is_judged() {
    let text = complaint(|machine, _| machine.links[2].flags = 0);
    assert!(text.contains("`ip link set wan0 up`"), "{text}");
    let text = complaint(|machine, _| machine.links[1].address = None);
    assert!(text.contains("`lan0` is not an Ethernet interface"), "{text}");
    let text = complaint(|machine, _| machine.links[1].mtu = 9000);
    assert!(text.contains("`lan0` (9000) and `wan0` (1500)") && text.contains("set lan0 mtu 1500"), "{text}");
}

#[test]
fn an_address_is_refused_unless_it_came_by_itself() {
    for ip in ["10.0.0.1", "169.254.0.1", "2001:db8::1", "fd00::1"] {
        let text = complaint(|machine, _| machine.addresses.push(address(3, ip)));
        assert!(text.contains(&format!("{ip}/24")) && text.contains("ip addr flush dev wan0"), "{text}");
    }
    let mut machine = machine();
    machine.addresses = vec![address(2, "fe80::1"), address(1, "127.0.0.1")];
    machine.judge(&wanted()).expect("all is well");
}

#[test]
fn bridges_of_others_are_left_alone() {
    let enslave = |machine: &mut Machine, name: &str, alias: Option<&str>| {
        machine.links.push(Link { alias: alias.map(Into::into), ..link(9, name) });
        machine.links[1].master = Some(9);
    };
    let text = complaint(|machine, _| enslave(machine, "br0", None));
    assert!(text.contains("`lan0` is a port of `br0`") && text.contains("nomaster"), "{text}");
    let text = complaint(|machine, _| machine.links[1].master = Some(77));
    assert!(text.contains("port of `another interface`"), "{text}");
    let text = complaint(|machine, _| machine.links.push(link(9, "fb-lan0")));
    assert!(text.contains("an interface `fb-lan0` exists that Forebay did not create"), "{text}");
    let mark = bridge_mark("lan0", "dmz0");
    let text = complaint(|machine, _| enslave(machine, "fb-lan0", Some(&mark)));
    assert!(text.contains("`fb-lan0` is the fail-open bridge of lan0 and dmz0"), "{text}");
    let mark = bridge_mark("lan0", "wan0");
    let text = complaint(|machine, wanted| {
        enslave(machine, "fb-lan0", Some(&mark));
        wanted.fail_open = None;
    });
    assert!(text.contains("`forebay-live teardown fb-lan0`"), "{text}");
    let text = complaint(|machine, wanted| {
        enslave(machine, "fb-lan0", Some(&mark));
        wanted.fail_open = Some("other".into());
    });
    assert!(text.contains("not of `other`"), "{text}");
    let mut machine = machine();
    enslave(&mut machine, "fb-lan0", Some(&mark));
    machine.judge(&wanted()).expect("it is our own");
}

#[test]
fn a_bridge_gets_a_name_that_an_interface_can_have() {
    assert_eq!(bridge_name("lan0"), "fb-lan0");
    assert_eq!(bridge_name("enp130s0f1np1v9"), "fb-enp130s0f1np");
    for name in ["", "..", "a/b", "a b", "a:b", "sixteen-letters-"] {
        let text = complaint(|_, wanted| wanted.fail_open = Some(name.into()));
        assert!(text.contains("is not a valid name of a bridge"), "{text}");
    }
}

#[test]
fn an_old_kernel_is_told_what_it_lacks() {
    let text = complaint(|machine, _| machine.kernel = (6, 1));
    assert!(text.contains("needs Linux 6.6, but this is 6.1"), "{text}");
    let text = complaint(|machine, wanted| {
        machine.kernel = (5, 4);
        wanted.method = Method::AfXdp;
    });
    assert!(text.contains("needs Linux 5.9, but this is 5.4"), "{text}");
    let (mut machine, mut wanted) = (machine(), wanted());
    machine.kernel = (4, 19);
    wanted.fail_open = None;
    machine.judge(&wanted).expect("packet sockets are old");
    assert_eq!(kernel_version("6.18.44-fc-v669\n"), Some((6, 18)));
    assert_eq!(kernel_version("5.9-rc1"), Some((5, 9)));
    assert_eq!(kernel_version("plan 9"), None);
}

#[test]
fn each_capability_is_asked_for_only_where_it_is_needed() {
    let without = |capability| CapabilitySet::all() - capability - CapabilitySet::SYS_ADMIN;
    for (capability, name) in [
        (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
        (CapabilitySet::BPF, "CAP_BPF"),
        (CapabilitySet::SETUID, "CAP_SETUID"),
    ] {
        let text = complaint(|machine, _| machine.capabilities = without(capability));
        assert!(text.contains(&format!("lacks {name}")), "{text}");
        assert!(text.contains(&format!("setcap {}+ep", name.to_lowercase())), "{text}");
    }
    for (capability, realtime, lock_memory) in
        [(CapabilitySet::SYS_NICE, true, false), (CapabilitySet::IPC_LOCK, false, true)]
    {
        let (mut machine, mut wanted) = (machine(), wanted());
        machine.capabilities = without(capability);
        machine.judge(&wanted).expect("not needed");
        (wanted.realtime, wanted.lock_memory) = (realtime, lock_memory);
        machine.judge(&wanted).expect_err("needed");
    }
    let text = complaint(|machine, _| machine.capabilities = CapabilitySet::empty());
    assert!(text.contains("lacks CAP_NET_RAW CAP_NET_ADMIN CAP_BPF CAP_SETGID CAP_SETUID"), "{text}");
}

#[test]
fn a_rate_is_compared_with_a_speed_that_is_known() {
    let link = link(3, "wan0");
    let rate = Some(Rate::megabits(1500));
    let text = check_speed("outbound.rate", rate, &link, Some(1000)).expect_err("too much").to_string();
    assert!(text.starts_with("outbound.rate: 1.5 Gbps is above the 1 Gbps of `wan0`"), "{text}");
    check_speed("outbound.rate", rate, &link, Some(2500)).expect("enough");
    check_speed("outbound.rate", rate, &link, None).expect("unknown");
    check_speed("outbound.rate", None, &link, Some(10)).expect("unqueued");
}
