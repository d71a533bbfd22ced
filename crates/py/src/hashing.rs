//! The hashes of flow tables and of SFB's bins, for experiments about their collisions.

use std::net::{Ipv4Addr, SocketAddr};

use forebay_qdisc::{FlowKey, Rate, Sfb, SfbConfig, hash_flow, table_index};
use forebay_replay::FlowIdentity;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The entry of a flow table of this many `entries` to which each IPv4 five-tuple belongs, under a salt.
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
    let keys = flow_keys(&source, &destination, &source_port, &destination_port, &protocol)?;
    if entries == 0 {
        return Err(PyValueError::new_err("a flow table has at least one entry"));
    }
    let indices = keys.into_iter().map(|key| table_index(hash_flow(key, salt), entries)).collect();
    Ok(PyArray1::from_vec(py, indices))
}

/// The bins of an SFB queue to which each IPv4 five-tuple belongs, under a salt: `levels` of them for each flow in
/// turn, numbered within their level.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a five-tuple is five arrays")]
pub(crate) fn sfb_bins<'py>(
    py: Python<'py>,
    source: PyReadonlyArray1<'py, u32>,
    destination: PyReadonlyArray1<'py, u32>,
    source_port: PyReadonlyArray1<'py, u16>,
    destination_port: PyReadonlyArray1<'py, u16>,
    protocol: PyReadonlyArray1<'py, u8>,
    salt: u64,
    levels: u32,
    bins: u32,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let keys = flow_keys(&source, &destination, &source_port, &destination_port, &protocol)?;
    let config = SfbConfig { levels, bins, ..SfbConfig::default() };
    let sfb = Sfb::new(&config, Rate::megabits(1), salt);
    let sfb = sfb.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyArray1::from_vec(py, keys.into_iter().flat_map(|key| sfb.bins_of(key)).collect()))
}

fn flow_keys(
    source: &PyReadonlyArray1<'_, u32>,
    destination: &PyReadonlyArray1<'_, u32>,
    source_port: &PyReadonlyArray1<'_, u16>,
    destination_port: &PyReadonlyArray1<'_, u16>,
    protocol: &PyReadonlyArray1<'_, u8>,
) -> PyResult<Vec<FlowKey>> {
    let (sources, destinations) = (source.as_slice()?, destination.as_slice()?);
    let (source_ports, destination_ports) = (source_port.as_slice()?, destination_port.as_slice()?);
    let protocols = protocol.as_slice()?;
    let flows = sources.len();
    if [destinations.len(), source_ports.len(), destination_ports.len(), protocols.len()] != [flows; 4] {
        return Err(PyValueError::new_err("the arrays must be equally long"));
    }
    let key = |flow: usize| {
        let identity = FlowIdentity::Ports {
            protocol: protocols[flow],
            source: SocketAddr::new(Ipv4Addr::from(sources[flow]).into(), source_ports[flow]),
            destination: SocketAddr::new(Ipv4Addr::from(destinations[flow]).into(), destination_ports[flow]),
        };
        identity.key()
    };
    Ok((0..flows).map(key).collect())
}
