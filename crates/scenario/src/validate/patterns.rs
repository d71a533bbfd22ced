//! Groups of flows with a pattern.

use forebay_document::{Invalid, Path};
use forebay_units::Span;

use super::check::{Validity, require};
use super::reach::Reach;
use crate::applications::Application;
use crate::plan::outline::Outline;
use crate::schema::{Direction, FlowGroup};

/// Checks a group with a pattern, and that no other has `hosts`.
pub(super) fn validate(group: &FlowGroup, outline: &Outline<'_>, reach: Option<&Reach<'_>>, at: &Path) -> Validity {
    let Some(pattern) = &group.pattern else {
        let message = || format!("`{}` has `hosts` and no `pattern`", group.name);
        let label = "expected `pattern`, or `from` and `to` with the names of hosts";
        return require(group.hosts.is_none(), || at.key("hosts"), message, label);
    };
    let path = at.key("pattern");
    let Some(reach) = reach else {
        let message = "`pattern` needs a topology whose hosts have names";
        let label = "expected `leaf_spine`, `fat_tree`, `graph` or `ethernet`";
        return Err(Invalid::new(path, message, label));
    };
    keys_of_other_groups(group, at)?;
    let carries = group.transport.is_reliable();
    let message = || "the flows of a pattern end with their last byte".to_owned();
    require(
        carries,
        || at.key("transport"),
        message,
        "expected a transport that sends so many bytes: `tcp`, `uec`, `ndp`, `homa`, `pfabric`, `roce`",
    )?;
    let is_managed = outline.ethernet.as_ref().is_some_and(|ethernet| ethernet.congestion_management.is_some());
    let message = || "`pattern` and `congestion_management` of Ethernet frames do not go together yet".to_owned();
    require(!is_managed, || path.clone(), message, "expected one of them")?;
    let hosts = at.key("hosts");
    for (index, name) in group.hosts.iter().flat_map(|hosts| &hosts.0).enumerate() {
        reach.check_host(name, &hosts.index(index))?;
        let is_known = group.hosts.as_ref().is_some_and(|hosts| hosts.0[..index].contains(name));
        require(!is_known, || hosts.index(index), || format!("`{name}` is given twice"), "the second one")?;
    }
    let Some((traffic, setting)) = outline.pattern(group) else { return Ok(()) };
    let few = || format!("`{}` has {} hosts", pattern.name(), setting.hosts.len());
    require(setting.hosts.len() > 1, || hosts.clone(), few, "expected at least two")?;
    let names: Vec<&str> = setting.hosts.iter().map(|host| host.name).collect();
    if let Some([from, to]) = reach.apart(&names) {
        let message = format!("`{to}` cannot be reached from `{from}`");
        let label = "expected hosts that all reach each other: no path of links and routers leads there";
        return Err(Invalid::new(hosts, message, label));
    }
    traffic.check(&setting, &path.key(pattern.name()), at)?;
    let message = || format!("messages of `{}` wait for each other, and TCP connections do not", pattern.name());
    let label = "expected `uec`, `ndp`, `homa`, `pfabric` or `roce`: their adapter sees all messages of a host";
    require(group.transport.is_rdma() || !traffic.waits_for_messages(), || at.key("transport"), message, label)
}

/// Refuses the keys that say otherwise where flows go and what they send.
fn keys_of_other_groups(group: &FlowGroup, at: &Path) -> Validity {
    let given = [
        ("count", group.count.is_some(), "the pattern makes the flows"),
        ("from", group.from.is_some(), "`hosts` are those of the pattern"),
        ("to", group.to.is_some(), "`hosts` are those of the pattern"),
        ("app", group.app != Application::Unlimited, "the pattern has the `size` of each flow"),
        ("stagger", group.stagger > Span::ZERO, "a distribution of `start` makes flows start at different times"),
        ("direction", group.direction != Direction::Forward, "hosts send and receive by the pattern"),
        ("access", group.access.is_some(), "hosts have the links that `topology` describes"),
        ("hosts_of", group.hosts_of.is_some(), "`hosts` are those of the pattern"),
        ("enters", group.enters.is_some(), "`hosts` are those of the pattern"),
    ];
    let refused = given.into_iter().find(|(_, is_given, _)| *is_given);
    refused.map_or(Ok(()), |(key, _, reason)| {
        let message = format!("`{key}` does not go together with `pattern`");
        Err(Invalid::new(at.key(key), message, format!("expected none: {reason}")))
    })
}
