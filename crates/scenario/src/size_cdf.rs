//! Flow sizes by a cumulative distribution: those that have a name, and files.
//!
//! A line of a file is a point: a size in bytes and the share of flows that are at most so large, with a comma or
//! blanks between them. Shares go from 0 to 1, or to 100 in per cent. Lines that begin with `#` are comments, and the
//! first line may have names of the columns.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use forebay_document::{Invalid, Node, Path};
use forebay_engine::{CdfPoint, Distribution};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// More bytes than any link carries in the longest run.
pub(crate) const LARGEST_SIZE: f64 = 1e15;

/// Sizes, linear between the points of a cumulative distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCdf(Arc<[CdfPoint]>);

macro_rules! named {
    ($($(#[$when:meta])? $name:literal)*) => {
        /// Names of the distributions that are part of the program.
        pub(crate) const NAMES: &[&str] = &[$($(#[$when])? $name),*];

        const FILES: &[&str] = &[$($(#[$when])? include_str!(concat!("../data/workloads/", $name, ".csv"))),*];
    };
}

// The page of the lab lacks the two with the most points, which take 13 KB of its transfer.
named! {
    "alistorage2019"
    "datamining_abm"
    "datamining_vl2"
    "fb_cache_follower"
    "fb_hadoop2015"
    "fb_hadoop_hpcc"
    "fb_keyvalue_tg"
    "fb_web_server"
    #[cfg(not(target_family = "wasm"))]
    "google_rpc2008"
    "google_rpc2008_conweave"
    "homa_w1_fb_keyvalue"
    "homa_w2_google_search"
    #[cfg(not(target_family = "wasm"))]
    "homa_w3_google_all"
    "homa_w4_fb_hadoop"
    "homa_w5_dctcp_packets"
    "solar2022"
    "websearch"
}

/// The distribution of each name, read once.
static NAMED: LazyLock<Vec<SizeCdf>> = LazyLock::new(|| {
    // Some begin with a share above 0.
    let read = |text: &&str| Points::read(text).and_then(|(points, _)| points.scaled());
    let read = |text: &&str| SizeCdf(read(text).expect("a file of the program is a distribution").into());
    FILES.iter().map(read).collect()
});

impl SizeCdf {
    /// The distribution of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let place = NAMES.iter().position(|known| *known == name)?;
        Some(NAMED[place].clone())
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first line that is wrong, with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (points, lines) = Points::read(text)?;
        let at = |line: Option<&usize>, reason: String| {
            line.map_or_else(String::new, |line| format!("line {line}: ")) + &reason
        };
        points.check_first().map_err(|reason| at(lines.first(), reason))?;
        points.scaled().map(|points| Self(points.into())).map_err(|reason| at(lines.last(), reason))
    }

    /// The points.
    #[must_use]
    pub fn points(&self) -> &[CdfPoint] {
        &self.0
    }

    /// The smallest and the largest size in bytes.
    #[must_use]
    pub fn bounds(&self) -> [f64; 2] {
        [self.0.first(), self.0.last()].map(|point| point.map_or(0.0, |point| point.value))
    }

    /// The same for the engine.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        Distribution::Empirical(Arc::clone(&self.0))
    }
}

/// Points that rise.
#[derive(Default)]
struct Points(Vec<CdfPoint>);

impl Points {
    /// The points of a text, and the line of each.
    fn read(text: &str) -> Result<(Self, Vec<usize>), String> {
        let (mut points, mut numbers) = (Self::default(), Vec::new());
        let is_content = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
        let lines = text.lines().zip(1..).filter(|(line, _)| is_content(line));
        for (place, (line, number)) in lines.enumerate() {
            let cells = line.split([',', ';', ' ', '\t']).filter(|cell| !cell.is_empty());
            let cells: Option<Vec<f64>> = cells.map(|cell| cell.parse().ok()).collect();
            match cells.as_deref() {
                Some(&[value, share]) => {
                    points.add(value, share).map_err(|reason| format!("line {number} is {line:?}: {reason}"))?;
                    numbers.push(number);
                }
                None if place == 0 && line.contains(char::is_alphabetic) => {}
                _ => {
                    return Err(format!(
                        "line {number} is {line:?}: expected two numbers, a size in bytes and a share"
                    ));
                }
            }
        }
        Ok((points, numbers))
    }

    fn add(&mut self, value: f64, share: f64) -> Result<(), String> {
        if !(0.0..=LARGEST_SIZE).contains(&value) {
            return Err(format!("a size of {value} B is out of bounds: expected 0 to 1000000 GB"));
        }
        if !(0.0..=100.0).contains(&share) {
            return Err(format!("a share of {share} is out of bounds: expected 0 to 1, or to 100 in per cent"));
        }
        if let Some(before) = self.0.last() {
            if value <= before.value {
                return Err(format!("{value} B come after {} B: sizes must rise", before.value));
            }
            if share <= before.share {
                return Err(format!("a share of {share} comes after {}: shares must rise", before.share));
            }
        }
        self.0.push(CdfPoint { value, share });
        Ok(())
    }

    fn check_first(&self) -> Result<(), String> {
        match self.0.first() {
            Some(first) if first.share != 0.0 => Err(format!(
                "the first share is {}: expected 0; add a point before it, with 0 and a size below that of all flows",
                first.share
            )),
            _ => Ok(()),
        }
    }

    /// The points with shares up to 1.
    fn scaled(mut self) -> Result<Vec<CdfPoint>, String> {
        let points = self.0.len();
        match self.0.last() {
            Some(_) if points < 2 => Err("there is only one point: expected at least 2".to_owned()),
            Some(last) if last.share == 1.0 => Ok(self.0),
            Some(last) if last.share == 100.0 => {
                self.0.iter_mut().for_each(|point| point.share /= 100.0);
                Ok(self.0)
            }
            Some(last) => Err(format!("the last share is {}: expected 1, or 100 in per cent", last.share)),
            None => Err("there is no point: expected at least 2".to_owned()),
        }
    }
}

/// Whether the value of `cdf` is the name of a file: no distribution has a dot or a slash in its name.
fn is_file(name: &str) -> bool {
    name.contains(['.', '/', '\\'])
}

/// Replaces the name of each file of sizes in the flows by its points, so that a scenario needs no other file from then
/// on. `read` returns the text of the file of that name, or the reason why it cannot be read.
///
/// # Errors
/// A file that cannot be read, or is no distribution.
pub(crate) fn inline(root: &mut Node, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), Invalid> {
    let Some(flows) = root.at_mut(&["flows"]) else { return Ok(()) };
    flows.walk(&Path::default().key("flows"), &mut |table, path| {
        let Some(name) = table.text("cdf").filter(|name| is_file(name)).map(str::to_owned) else { return Ok(()) };
        let refused = |message: String, label: &str| Err(Invalid::new(path.key("cdf"), message, label));
        let text = match read(&name) {
            Ok(text) => text,
            Err(error) => {
                let label = "expected a file, relative to the folder of the scenario, or a name";
                return refused(format!("cannot read `{name}`: {error}"), label);
            }
        };
        let sizes = match SizeCdf::parse(&text) {
            Ok(sizes) => sizes,
            Err(reason) => return refused(format!("`{name}` is no distribution of sizes: {reason}"), "this file"),
        };
        let Some(cdf) = table.at_mut(&["cdf"]) else { return Ok(()) };
        let point = |point: &CdfPoint| cdf.list_of([point.value, point.share].into_iter().map(|it| cdf.with_float(it)));
        *cdf = cdf.list_of(sizes.points().iter().map(point));
        Ok(())
    })
}

impl<'de> Deserialize<'de> for SizeCdf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrPoints;
        impl<'de> Visitor<'de> for NameOrPoints {
            type Value = SizeCdf;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a distribution, a file, or points [bytes, share]")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<SizeCdf, E> {
                SizeCdf::named(name).ok_or_else(|| E::unknown_variant(name, NAMES))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SizeCdf, A::Error> {
                let mut points = Points::default();
                while let Some((value, share)) = list.next_element()? {
                    let number = points.0.len() + 1;
                    points.add(value, share).map_err(|reason| A::Error::custom(format!("point {number}: {reason}")))?;
                }
                points.check_first().map_err(A::Error::custom)?;
                points.scaled().map(|points| SizeCdf(points.into())).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(NameOrPoints)
    }
}

impl JsonSchema for SizeCdf {
    fn schema_name() -> Cow<'static, str> {
        "SizeCdf".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A cumulative distribution of sizes, linear between its points: a name, a file, or points.",
            "oneOf": [
                { "type": "string", "enum": NAMES },
                {
                    "type": "string",
                    "pattern": "[./]",
                    "description": "A file, relative to the scenario, with a size in bytes and a share in each line.",
                },
                {
                    "type": "array",
                    "minItems": 2,
                    "items": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 },
                    "description": "Points [bytes, share], which rise from a share of 0 to 1, or to 100 in per cent.",
                },
            ],
        })
    }
}

#[cfg(test)]
#[path = "size_cdf_tests.rs"]
mod tests;
