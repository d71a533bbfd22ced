//! From a run of `htsim_uec` to a scenario: its connection matrix, its topology and its options.
//!
//! `htsim_uec` is the reference simulator of the Ultra Ethernet Consortium (revision 40ccb05 of 2025): names, defaults
//! and rules are its own. An option that has no counterpart is an error if it changes results, else a comment.

mod options;
mod scenario;
#[cfg(test)]
mod tests;
mod topology;

use self::options::Options;
use self::topology::Network;
use crate::from_tc::text::{Fault, Word};
use crate::patterns::matrix::Matrix;
use crate::{Scenario, ScenarioError, Words};

/// A file of htsim.
#[derive(Clone, Copy, Debug)]
pub struct HtsimFile<'t> {
    /// Its text.
    pub text: &'t str,
    /// Its name, for messages. The scenario names the matrix so.
    pub name: &'t str,
}

/// A run of `htsim_uec`.
#[derive(Clone, Copy, Debug)]
pub struct HtsimRun<'t> {
    /// The connection matrix (`-tm`).
    pub matrix: HtsimFile<'t>,
    /// The topology (`-topo`). Default: a fat-tree for the nodes of the matrix.
    pub topology: Option<HtsimFile<'t>>,
    /// All other options, with spaces between them.
    pub options: &'t str,
}

/// The scenario, as TOML, of a run of `htsim_uec`. It names the file of the matrix.
///
/// # Errors
/// The first thing in the files or options that is wrong or has no counterpart, with its place.
pub fn scenario_from_htsim(run: &HtsimRun<'_>) -> Result<String, ScenarioError> {
    let in_options = |fault: Fault| shown(fault, run.options, "options of htsim");
    let matrix = Matrix::parse(run.matrix.text).map_err(|reason| of_matrix(run.matrix, reason))?;
    let options = Options::read(&words(run.options, 0)).map_err(in_options)?;
    let network = match run.topology {
        Some(file) => Network::parse(file.text, matrix.nodes).map_err(|fault| shown(fault, file.text, file.name)),
        None => Network::by_default(matrix.nodes, &options).map_err(in_options),
    }?;
    options.check(&network, run.topology.is_some()).map_err(in_options)?;
    let text = scenario::text(run, &options, &network);
    // The matrix is at hand: the folder of the scenario is not known yet.
    Scenario::load_with(&text, "the scenario", &[], &|_| Ok(run.matrix.text.to_owned()))?;
    Ok(text)
}

fn shown(Fault { span, message, label, help }: Fault, text: &str, file: &str) -> ScenarioError {
    ScenarioError::in_text(text, file, span, Words { message, label, help })
}

/// A fault of the matrix, at the line that its reason names.
fn of_matrix(file: HtsimFile<'_>, reason: String) -> ScenarioError {
    let number = reason.strip_prefix("line ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    let before: usize =
        file.text.split_inclusive('\n').take(number.map_or(0, |line: usize| line - 1)).map(str::len).sum();
    let length = file.text[before..].find('\n').unwrap_or(file.text.len() - before);
    let span = if number.is_some() { before..before + length } else { 0..0 };
    let label = "a scenario reads this file as `pattern.matrix`".to_owned();
    shown(Fault { span, message: reason, label, help: None }, file.text, file.name)
}

/// The words of a text that begins at `offset` of its file.
fn words(text: &str, offset: usize) -> Vec<Word> {
    let word = |word: &str| {
        let start = offset + (word.as_ptr() as usize - text.as_ptr() as usize);
        Word { text: word.to_owned(), span: start..start + word.len() }
    };
    text.split_whitespace().map(word).collect()
}

/// A whole number in a word.
fn whole(word: &Word, range: std::ops::RangeInclusive<u64>) -> Result<u64, Fault> {
    let expected = || format!("expected a whole number from {} to {}", range.start(), range.end());
    let number = word.text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| word.fault(format!("`{}` is out of range", word.text), expected()))
}
