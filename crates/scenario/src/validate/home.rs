//! The names of a home.

use std::collections::BTreeSet;

use forebay_document::{Invalid, Path};

use super::check::{Validity, check_name, check_rate, require};
use crate::plan::home::OWN_NODES;
use crate::schema::Home;

pub(crate) fn validate(home: &Home, path: &Path) -> Validity {
    check_rate(home.gateway.rate, &path.key("gateway.rate"))?;
    let mut known: BTreeSet<&str> = OWN_NODES.into();
    let hosts: Vec<&String> = home.hosts.iter().map(|host| &host.name).collect();
    let servers: Vec<&String> = home.servers.iter().map(|server| &server.name).collect();
    for (key, names) in [("hosts", hosts), ("servers", servers)] {
        let at = path.key(key);
        let message = || format!("a home without {key}");
        require(!names.is_empty(), || at.clone(), message, "expected at least one")?;
        for (index, name) in names.into_iter().enumerate() {
            let at = at.index(index).key("name");
            check_name(name, &at)?;
            let arrow = || "a name contains `->`".into();
            require(!name.contains("->"), || at.clone(), arrow, "`->` separates the names in the name of a link")?;
            if !known.insert(name) {
                let message = format!("two nodes are named `{name}`");
                let help = OWN_NODES
                    .contains(&name.as_str())
                    .then(|| format!("`{}` are the nodes between hosts and servers", OWN_NODES.join("`, `")));
                return Err(Invalid::new(at, message, "expected another name").with_help(help));
            }
        }
    }
    Ok(())
}
