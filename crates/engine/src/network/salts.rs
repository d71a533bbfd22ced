//! The salts of a network's feeders.

use crate::driver::ties::{Salts, salt_of_link};
use crate::host::endpoints::Numbers;
use crate::layout::EndpointId;
use crate::spec::LinkId;
use crate::spec::flows::Flows;
use crate::spec::links::Links;

/// The salts of all feeders: links, then endpoints.
pub(super) fn salts(seed: u64, links: &Links, flows: &Flows, numbers: &Numbers) -> Salts {
    let of_links = (0..links.all.len()).map(|link| salt_of_link(seed, links.name(link as LinkId)));
    let endpoints = 0..numbers.flow_of.len() as EndpointId;
    Salts::new(of_links.chain(endpoints.map(|endpoint| numbers.salt(endpoint, flows, seed))))
}
