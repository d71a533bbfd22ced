//! The flow table's hash, for experiments about its collisions.

use std::net::{Ipv4Addr, SocketAddr};

use forebay_qdisc::{hash_flow, table_index};
use forebay_scenario::replay::FlowIdentity;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The entry of a flow table of so many `entries` to which each IPv4 five-tuple belongs, under a salt.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a five-tuple is five arrays")]
pub(crate) fn flow_table_entries<'py>(
    py: Python<'py>,
    source: PyReadonlyArray1<'py, u32>,
    destination: PyReadonlyArray1<'py, u32>,
    source_port: PyReadonlyArray1<'py, u16>,
    destination_port: PyReadonlyArray1<'py, u16>,
    protocol: PyReadonlyArray1<'py, u8>,
    salt: u64,
    entries: u32,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (sources, destinations) = (source.as_slice()?, destination.as_slice()?);
    let (source_ports, destination_ports) = (source_port.as_slice()?, destination_port.as_slice()?);
    let protocols = protocol.as_slice()?;
    let flows = sources.len();
    if [destinations.len(), source_ports.len(), destination_ports.len(), protocols.len()] != [flows; 4] {
        return Err(PyValueError::new_err("the arrays must be equally long"));
    }
    if entries == 0 {
        return Err(PyValueError::new_err("a flow table has at least one entry"));
    }
    let indices = (0..flows)
        .map(|flow| {
            let identity = FlowIdentity::Ports {
                protocol: protocols[flow],
                source: SocketAddr::new(Ipv4Addr::from(sources[flow]).into(), source_ports[flow]),
                destination: SocketAddr::new(Ipv4Addr::from(destinations[flow]).into(), destination_ports[flow]),
            };
            table_index(hash_flow(identity.key(), salt), entries)
        })
        .collect();
    Ok(PyArray1::from_vec(py, indices))
}
