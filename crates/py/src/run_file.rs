//! The Parquet file of a finished run, from NumPy's arrays.

use forebay_records::StringColumn;
use forebay_records::run_file::{self as file, NestedTable};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::error::InternalError;

/// A value of the row itself.
#[derive(FromPyObject)]
pub(crate) enum Fact {
    Count(u64),
    Text(Option<String>),
}

/// A column of a table, with a value for each of its rows.
pub(crate) enum Values<'py> {
    Floats(PyReadonlyArray1<'py, f64>),
    Integers(PyReadonlyArray1<'py, i64>),
    Texts(StringColumn),
    /// Each value is a list, such as the samples of a time series.
    Samples(Vec<PyReadonlyArray1<'py, f64>>),
}

// Not derived: a derived one words an error for each kind that a value is not of, which takes longer than writing the
// column.
impl<'a, 'py> FromPyObject<'a, 'py> for Values<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(values) = object.cast::<PyArray1<f64>>() {
            Ok(Self::Floats(values.readonly()))
        } else if let Ok(values) = object.cast::<PyArray1<i64>>() {
            Ok(Self::Integers(values.readonly()))
        } else if object.get_item(0).is_ok_and(|first| first.is_instance_of::<PyArray1<f64>>()) {
            object.extract().map(Self::Samples)
        } else {
            let mut texts = StringColumn::new();
            for text in object.try_iter()? {
                texts.push(text?.cast::<PyString>()?.to_str()?);
            }
            Ok(Self::Texts(texts))
        }
    }
}

type Table<'py> = (String, Vec<(String, Values<'py>)>);

/// The bytes of a Parquet file with one row: `facts` are its plain columns, `tables` its lists of structs.
///
/// Raises `InternalError` for columns of one table that differ in length.
#[pyfunction]
pub(crate) fn run_file<'py>(
    py: Python<'py>,
    facts: Vec<(String, Fact)>,
    tables: Vec<Table<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let facts: Vec<_> = facts.iter().map(|(name, fact)| (&**name, fact.borrowed())).collect();
    let tables = tables.iter().map(borrowed).collect::<PyResult<Vec<_>>>()?;
    let bytes = file::write(&facts, &tables).map_err(|error| InternalError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

fn borrowed<'a>((name, columns): &'a Table<'_>) -> PyResult<NestedTable<'a>> {
    let columns = columns.iter().map(|(name, values)| Ok((&**name, values.borrowed()?))).collect::<PyResult<_>>()?;
    Ok(NestedTable { name, columns })
}

impl Fact {
    fn borrowed(&self) -> file::Fact<'_> {
        match self {
            Self::Count(count) => file::Fact::Count(*count),
            Self::Text(text) => file::Fact::Text(text.as_deref()),
        }
    }
}

impl Values<'_> {
    fn borrowed(&self) -> PyResult<file::Values<'_>> {
        Ok(match self {
            Self::Floats(values) => file::Values::Floats(values.as_slice()?),
            Self::Integers(values) => file::Values::Integers(values.as_slice()?),
            Self::Texts(texts) => file::Values::Texts(texts),
            Self::Samples(rows) => {
                file::Values::Samples(rows.iter().map(|row| row.as_slice()).collect::<Result<_, _>>()?)
            }
        })
    }
}
