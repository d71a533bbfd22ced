//! The state of a compiled law.

use pyo3::prelude::*;
use pyo3::types::PyList;

/// The fields of a state, each an `int64` or a `float64`, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    fields: Vec<(String, bool)>,
}

impl Record {
    /// A record of these fields: the name of each, and whether it is a `float64`.
    #[must_use]
    pub fn new(fields: Vec<(String, bool)>) -> Self {
        Self { fields }
    }

    /// The number of its 64-bit words.
    #[must_use]
    pub fn words(&self) -> usize {
        self.fields.len()
    }

    /// The word of the field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(field, _)| field == name)
    }

    /// A state whose fields have the values of `object`'s attributes.
    ///
    /// # Errors
    /// If it lacks one, or one is no number.
    pub fn read(&self, object: &Bound<'_, PyAny>) -> PyResult<State> {
        let word = |(name, is_float): &(String, bool)| -> PyResult<u64> {
            let value = object.getattr(name.as_str())?;
            if *is_float {
                value.extract::<f64>().map(f64::to_bits)
            } else {
                value.extract::<i64>().map(i64::cast_unsigned)
            }
        };
        let words = self.fields.iter().map(word).collect::<PyResult<_>>()?;
        Ok(State { words, record: self.clone() })
    }

    /// NumPy's type of it.
    pub(crate) fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields = self.fields.iter().map(|(name, is_float)| (name, if *is_float { "f8" } else { "i8" }));
        py.import("numpy")?.getattr("dtype")?.call1((PyList::new(py, fields.collect::<Vec<_>>())?,))
    }
}

/// The state of one law.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) words: Vec<u64>,
    record: Record,
}

impl State {
    /// The field in that word, as a number.
    #[must_use]
    pub fn value(&self, word: usize) -> Option<f64> {
        let (_, is_float) = self.record.fields.get(word)?;
        let bits = *self.words.get(word)?;
        Some(if *is_float { f64::from_bits(bits) } else { bits.cast_signed() as f64 })
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.words.len() * size_of::<u64>()) as u64
    }
}
