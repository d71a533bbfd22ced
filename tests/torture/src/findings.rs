//! A case that broke a law, as files: the input, and the command that repeats it.

use std::fs;
use std::io;
use std::path::Path;

use crate::worker::Case;

/// The files of a case: `NAME.toml`, for a capture also `NAME.pcap`, and `NAME.txt` with the failure.
pub struct Finding<'c> {
    case: &'c Case,
    fault: String,
}

impl<'c> Finding<'c> {
    pub fn of(case: &'c Case, fault: &str) -> Self {
        Self { case, fault: fault.to_owned() }
    }

    /// Saves it under a name that faults alike share, but for a number.
    pub fn save_by_name(&self, out: &Path) -> io::Result<String> {
        let words: Vec<String> = signature(&self.fault)
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(8)
            .map(str::to_lowercase)
            .collect();
        let stem = format!("{}-{}", self.case.kind, words.join("-"));
        let free =
            (1..).map(|number| format!("{stem}-{number}")).find(|name| !out.join(format!("{name}.txt")).exists());
        let name = free.unwrap_or(stem);
        self.save(out, &name).map(|()| name)
    }

    pub fn save(&self, out: &Path, name: &str) -> io::Result<()> {
        let Self { case, fault } = self;
        let file = |extension: &str| out.join(format!("{name}.{extension}"));
        fs::write(file("toml"), &case.text)?;
        match &case.capture {
            Some(bytes) => fs::write(file("pcap"), bytes)?,
            None => drop(fs::remove_file(file("pcap"))),
        }
        let repeat = format!("cargo run --package forebay-torture -- --repeat {}", file("toml").display());
        fs::write(file("txt"), format!("{fault}\n\nrepeat: {repeat}\n"))
    }

    /// The case that was saved under this name, if one was.
    pub fn read(folder: &Path, name: &str) -> io::Result<Case> {
        let text = fs::read_to_string(folder.join(format!("{name}.toml")))?;
        let capture = fs::read(folder.join(format!("{name}.pcap"))).ok();
        Ok(Case::new(if capture.is_some() { "capture" } else { "scenario" }, text, capture))
    }
}

/// The common part of equal faults: the message without names and numbers.
pub fn signature(fault: &str) -> String {
    let mut signature = String::new();
    for (index, part) in fault.split('`').enumerate() {
        let part = if index % 2 == 1 { "_" } else { part };
        signature.extend(part.chars().take_while(|c| *c != '\n').filter(|c| !c.is_ascii_digit()));
    }
    signature.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_make_no_other_fault() {
        assert_eq!(signature("drops: `q-1`: 3 and 4"), signature("drops: `bottleneck`: 17 and 2"));
        assert_ne!(signature("drops: `q`"), signature("marks: `q`"));
    }
}
