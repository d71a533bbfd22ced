//! Rows of a table as JSON, byte for byte as Python's `json.dumps` writes them.

use std::fmt::Write;

use forebay_records as records;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::column::Column;

/// The values of a column in whichever form there are.
pub(crate) enum Cells<'py> {
    Column(Bound<'py, Column>),
    Floats(PyReadonlyArray1<'py, f64>),
    Integers(PyReadonlyArray1<'py, i64>),
    Texts(Vec<String>),
}

// Not derived: to ask for an array loads NumPy.
impl<'a, 'py> FromPyObject<'a, 'py> for Cells<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(column) = object.cast::<Column>() {
            Ok(Self::Column(column.to_owned()))
        } else if let Ok(texts) = object.extract() {
            Ok(Self::Texts(texts))
        } else if let Ok(values) = object.cast::<PyArray1<f64>>() {
            Ok(Self::Floats(values.readonly()))
        } else {
            Ok(Self::Integers(object.cast::<PyArray1<i64>>()?.readonly()))
        }
    }
}

/// The rows from `start` up to `stop` of a table with these columns, as JSON objects with commas between them. A number
/// that is not finite is null.
///
/// Raises IndexError if a column has fewer rows than `stop`.
#[pyfunction]
pub(crate) fn json_rows(columns: Vec<(String, Cells<'_>)>, start: usize, stop: usize) -> PyResult<String> {
    if start > stop || columns.iter().any(|(_, cells)| cells.rows() < stop) {
        return Err(PyIndexError::new_err("row index out of range"));
    }
    let keys: Vec<String> = columns
        .iter()
        .map(|(name, _)| {
            let mut key = String::new();
            write_text(&mut key, name);
            key
        })
        .collect();
    let mut text = String::new();
    for row in start..stop {
        text.push_str(if row == start { "{" } else { ", {" });
        for ((key, (_, cells)), place) in keys.iter().zip(&columns).zip(0..) {
            text.push_str(if place == 0 { "" } else { ", " });
            text.push_str(key);
            text.push_str(": ");
            cells.write(&mut text, row);
        }
        text.push('}');
    }
    Ok(text)
}

impl Cells<'_> {
    fn rows(&self) -> usize {
        match self {
            Self::Column(column) => column.get().values.len(),
            Self::Floats(values) => values.as_array().len(),
            Self::Integers(values) => values.as_array().len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    fn write(&self, out: &mut String, row: usize) {
        match self {
            Self::Column(column) => match &column.get().values {
                records::Column::Text(texts) => write_text(out, &texts[row]),
                records::Column::Float(numbers) => write_float(out, numbers[row]),
                records::Column::Count(counts) => write_integer(out, counts[row].cast_signed()),
            },
            Self::Floats(values) => write_float(out, values.as_array()[row]),
            Self::Integers(values) => write_integer(out, values.as_array()[row]),
            Self::Texts(texts) => write_text(out, &texts[row]),
        }
    }
}

fn write_integer(out: &mut String, value: i64) {
    // Nothing goes wrong when a string is written to.
    let _ = write!(out, "{value}");
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// As Python's `repr` has it: the shortest digits that are this number, with an exponent where it is below -4 or above
/// 15.
fn write_float(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str("null");
    } else if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        // Whole numbers have `.0`, here as there.
        let _ = write!(out, "{value:?}");
    } else {
        let from = out.len();
        let _ = write!(out, "{value:e}");
        // Python writes the sign of the exponent, and two digits of it or more.
        let Some(at) = out[from..].find('e').map(|at| from + at + 1) else { return };
        let is_negative = out[at..].starts_with('-');
        let digits = out[at + usize::from(is_negative)..].to_owned();
        out.truncate(at);
        let _ = write!(out, "{}{digits:0>2}", if is_negative { '-' } else { '+' });
    }
}
