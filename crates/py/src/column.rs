//! A column of a result that makes Python's values only of what it is asked for: of a million flows all rows would take
//! gigabytes.

use std::collections::BTreeSet;

use forebay_records as records;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyString};

/// A column of a table: a sequence of numbers or texts. A part of it, `column[2:5]`, is a list.
#[pyclass(frozen, sequence, module = "forebay._core")]
pub(crate) struct Column {
    pub values: records::Column,
}

/// The requests to a column.
#[derive(FromPyObject)]
enum Wanted<'py> {
    Part(Bound<'py, PySlice>),
    Place(isize),
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.values.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, wanted: Wanted<'py>) -> PyResult<Bound<'py, PyAny>> {
        let length = self.__len__();
        match wanted {
            Wanted::Part(part) => {
                let part = part.indices(length as isize)?;
                let places = (0..part.slicelength).map(|step| (part.start + part.step * step as isize) as usize);
                list(py, &self.values, places).map(Bound::into_any)
            }
            Wanted::Place(place) => {
                let place = if place < 0 { place + length as isize } else { place };
                if !(0..length as isize).contains(&place) {
                    return Err(PyIndexError::new_err("row index out of range"));
                }
                list(py, &self.values, std::iter::once(place as usize))?.get_item(0)
            }
        }
    }

    /// The indices of rows whose text is one of `wanted`, in order, no more than `most`.
    fn places(&self, wanted: Vec<String>, most: usize) -> Vec<usize> {
        let records::Column::Text(texts) = &self.values else { return Vec::new() };
        let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
        texts.iter().zip(0..).filter(|(text, _)| wanted.contains(text)).map(|(_, place)| place).take(most).collect()
    }
}

fn list<'py>(
    py: Python<'py>,
    column: &records::Column,
    places: impl ExactSizeIterator<Item = usize>,
) -> PyResult<Bound<'py, PyList>> {
    match column {
        records::Column::Text(texts) => text_list(py, places.map(|place| &texts[place])),
        records::Column::Float(numbers) => PyList::new(py, places.map(|place| numbers[place])),
        records::Column::Count(counts) => PyList::new(py, places.map(|place| counts[place])),
    }
}

/// Texts as a list, in which equal texts next to each other are one object: nearly all rows of a table have the same
/// group.
pub(crate) fn text_list<'py, 'a>(
    py: Python<'py>,
    texts: impl ExactSizeIterator<Item = &'a str>,
) -> PyResult<Bound<'py, PyList>> {
    let mut last: Option<(&str, Bound<'py, PyString>)> = None;
    let object = |text: &'a str| match &last {
        Some((known, object)) if *known == text => object.clone(),
        _ => {
            let object = PyString::new(py, text);
            last = Some((text, object.clone()));
            object
        }
    };
    PyList::new(py, texts.map(object))
}
