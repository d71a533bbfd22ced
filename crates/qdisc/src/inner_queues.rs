//! Configurations of disciplines that have queues inside them: one interface for all, and the traffic classes that
//! decide between the queues.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize};

use crate::{ParameterError, Rate, require};

/// Limit of the FIFO queue in the place of a queue that a configuration leaves out: drop-tail's default.
pub(crate) const FIFO_LIMIT: QueueSize = QueueSize::Packets(1000);

/// A configuration with queues inside it. `Q` describes a queue.
pub trait InnerQueues<Q> {
    /// The queues, in the order in which the discipline takes them.
    fn inner_queues(&self) -> Vec<InnerQueue<'_, Q>>;

    /// The rate for which the queue of this `index` is built, inside a link of `link_rate`.
    fn inner_rate(&self, index: usize, link_rate: Rate) -> Rate;

    /// Checks the configuration's own parameters for a link of `link_rate`; the queues have checks of their own.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    fn check(&self, link_rate: Rate) -> Result<(), PlacedError>;

    /// The limit of everything queued, where the queues have none of their own.
    fn limit(&self) -> Option<QueueSize> {
        None
    }

    /// The longest packet that may leave on a link of `link_rate`, if longer ones are dropped on arrival.
    fn longest_packet(&self, _link_rate: Rate) -> Option<Bytes> {
        None
    }
}

/// A queue inside another one, as a configuration describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct InnerQueue<'c, Q> {
    /// Its place in the configuration, from 0. It separates its salt and its random stream from those of others.
    pub index: usize,
    /// The keys that lead from the configuration to it: `classes.1.queue`.
    pub keys: String,
    /// Its description. `None`: a FIFO queue of `fifo_limit`.
    pub queue: Option<&'c Q>,
    /// The limit of the FIFO queue.
    pub fifo_limit: QueueSize,
}

/// A parameter outside its bound, and the table that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedError {
    /// The keys that lead from the configuration to the table, `classes.1`; empty for the configuration itself.
    pub table: String,
    /// The parameter and its bound.
    pub error: ParameterError,
}

impl From<PlacedError> for ParameterError {
    fn from(placed: PlacedError) -> Self {
        placed.error
    }
}

impl From<ParameterError> for PlacedError {
    /// A parameter of the configuration itself.
    fn from(error: ParameterError) -> Self {
        Self { table: String::new(), error }
    }
}

/// A list of classes, each of which takes the packets of some traffic classes, and its words in messages.
pub(crate) struct ClassList {
    pub key: &'static str,
    pub default_key: &'static str,
    none: &'static str,
    too_many: &'static str,
    unknown: &'static str,
    repeated: &'static str,
    shared: &'static str,
}

/// The list `classes`.
pub(crate) const CLASSES: ClassList = ClassList {
    key: "classes",
    default_key: "default_class",
    none: "name at least one class",
    too_many: "name at most 256 classes",
    unknown: "be the name of one of `classes`",
    repeated: "differ from class to class",
    shared: "give each traffic class to one class only",
};

/// The list `bands`.
pub(crate) const BANDS: ClassList = ClassList {
    key: "bands",
    default_key: "default_band",
    none: "name at least one band",
    too_many: "name at most 256 bands",
    unknown: "be the name of one of `bands`",
    repeated: "differ from band to band",
    shared: "give each traffic class to one band only",
};

/// The band of each of Linux's 16 priorities (`sch_default_prio2band`).
pub(crate) const PRIORITY_MAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// The number of bands without a list.
pub(crate) const DEFAULT_BANDS: usize = 3;

/// The band of each traffic class. Without a list these are Linux's three, and the last four bits of the traffic class
/// are the priority.
pub(crate) fn band_map(bands: &[(&str, &[u8])], default: Option<&str>) -> Result<Vec<u8>, PlacedError> {
    if bands.is_empty() {
        let bound = "be left out without `bands`";
        require(default.is_none(), BANDS.default_key, bound)?;
        return Ok((0..256).map(|traffic_class| PRIORITY_MAP[traffic_class % PRIORITY_MAP.len()]).collect());
    }
    BANDS.full_map(bands, default)
}

/// The queues of bands, in order: those of a list, or of Linux's three.
pub(crate) fn band_queues<'c, Q: 'c>(
    queues: impl ExactSizeIterator<Item = Option<&'c Q>>,
    fifo_limit: QueueSize,
) -> Vec<InnerQueue<'c, Q>> {
    let missing = if queues.len() == 0 { DEFAULT_BANDS } else { 0 };
    BANDS.inner_queues(queues.chain((0..missing).map(|_| None)), fifo_limit)
}

/// The class of each traffic class, where the list gives it to one.
pub(crate) type ClassMap = [Option<u8>; 256];

impl ClassList {
    /// The queues of the classes, in order. One that is `None` is a FIFO queue of `fifo_limit`.
    pub fn inner_queues<'c, Q: 'c>(
        &self,
        queues: impl Iterator<Item = Option<&'c Q>>,
        fifo_limit: QueueSize,
    ) -> Vec<InnerQueue<'c, Q>> {
        let keys = |index| format!("{}.{index}.queue", self.key);
        queues.enumerate().map(|(index, queue)| InnerQueue { index, keys: keys(index), queue, fifo_limit }).collect()
    }

    /// Requires `holds` of the parameter `field` of the class at `index`.
    pub fn require(
        &self,
        holds: bool,
        index: usize,
        field: &'static str,
        bound: &'static str,
    ) -> Result<(), PlacedError> {
        let at = |error| PlacedError { table: format!("{}.{index}", self.key), error };
        require(holds, field, bound).map_err(at)
    }

    /// The class of each traffic class. `classes` are the names with their traffic classes.
    pub fn map(&self, classes: &[(&str, &[u8])]) -> Result<ClassMap, PlacedError> {
        require(!classes.is_empty(), self.key, self.none)?;
        require(classes.len() <= 256, self.key, self.too_many)?;
        let mut map = [None; 256];
        for (index, (name, traffic_classes)) in classes.iter().enumerate() {
            let repeated = classes[..index].iter().any(|(other, _)| other == name);
            self.require(!repeated, index, "name", self.repeated)?;
            for traffic_class in *traffic_classes {
                let taken = map[usize::from(*traffic_class)].replace(index as u8);
                self.require(taken.is_none(), index, "classes", self.shared)?;
            }
        }
        Ok(map)
    }

    /// The index of the class of this name, for the key of the default class.
    pub fn default(&self, classes: &[(&str, &[u8])], name: &str) -> Result<usize, ParameterError> {
        let found = classes.iter().position(|(other, _)| *other == name);
        found.ok_or(ParameterError { field: self.default_key, bound: self.unknown })
    }

    /// The class of each traffic class. Those that none lists belong to the default class, which is the last unless
    /// `default` names another one.
    pub fn full_map(&self, classes: &[(&str, &[u8])], default: Option<&str>) -> Result<Vec<u8>, PlacedError> {
        let map = self.map(classes)?;
        let last = classes.len() - 1;
        let default = default.map_or(Ok(last), |name| self.default(classes, name))?;
        let mut full = vec![default as u8; 256];
        for (class, listed) in full.iter_mut().zip(map) {
            *class = listed.unwrap_or(*class);
        }
        Ok(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_table_of_its_parameter() {
        let refused = |classes: &[(&str, &[u8])]| {
            let placed = CLASSES.full_map(classes, None).unwrap_err();
            (placed.table, placed.error.field)
        };
        assert_eq!(refused(&[]), (String::new(), "classes"));
        assert_eq!(refused(&[("a", &[1]), ("a", &[])]), ("classes.1".into(), "name"));
        assert_eq!(refused(&[("a", &[1]), ("b", &[2, 1])]), ("classes.1".into(), "classes"));
        assert_eq!(refused(&[("a", &[1, 1])]), ("classes.0".into(), "classes"));
        let placed = CLASSES.full_map(&[("a", &[])], Some("b")).unwrap_err();
        assert_eq!((placed.table.as_str(), placed.error.field), ("", "default_class"));
        for bands in [&[][..], &[("a", &[][..])]] {
            let placed = band_map(bands, Some("b")).unwrap_err();
            assert_eq!((placed.table.as_str(), placed.error.field), ("", "default_band"));
        }
    }

    #[test]
    fn without_a_list_bands_are_linuxs_three() {
        let map = band_map(&[], None).unwrap();
        let of_band = |band| (0..16).filter(|class| map[*class] == band).collect::<Vec<_>>();
        assert_eq!([0, 1, 2].map(of_band), [vec![6, 7], vec![0, 4, 8, 9, 10, 11, 12, 13, 14, 15], vec![1, 2, 3, 5]]);
        assert!((16..256).all(|class| map[class] == map[class % 16]));
        let of = |queues: &[Option<&'static u8>]| band_queues(queues.iter().copied(), FIFO_LIMIT).len();
        assert_eq!((of(&[]), of(&[None]), of(&[None, Some(&1), None, None])), (3, 1, 4));
    }
}
