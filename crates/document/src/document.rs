//! A file with the overrides of a command line.

use crate::deserialize::deserialize;
use crate::error::{DocumentError, Problem, did_you_mean};
use crate::invalid::Invalid;
use crate::overrides;
use crate::tree::Node;

/// The kind of file of a document, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name: `"scenario"` makes "the scenario has no such key".
    pub name: &'static str,
    /// An override that changes such a file: `"flows.tcp.count=10"`.
    pub override_example: &'static str,
    /// Names that its type has and such a file cannot use: messages do not offer them.
    pub not_offered: &'static [&'static str],
    /// Names that other systems have, each with the remedy here: they come before a name that merely looks alike.
    pub foreign: &'static [&'static [(&'static str, &'static str)]],
    /// Keys that are looked for in the wrong place or under the name of another system, each with the remedy.
    pub misplaced: &'static [(&'static str, &'static str)],
}

impl Kind {
    /// The remedy for an unknown name: that of a foreign name, or else the nearest of `names`.
    #[must_use]
    pub fn remedy<'a>(&self, written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
        let mut known = self.foreign.iter().copied().flatten();
        let known = known.find(|(name, _)| name.eq_ignore_ascii_case(written));
        known.map(|(_, remedy)| (*remedy).to_owned()).or_else(|| did_you_mean(written, names))
    }

    /// The remedy for a key that the table does not have: the nearest of `keys`, or else the place where it belongs.
    pub(crate) fn remedy_for_key(&self, written: &str, keys: &'static [&'static str]) -> Option<String> {
        let misplaced = || self.misplaced.iter().find(|(key, _)| *key == written);
        did_you_mean(written, keys.iter().copied()).or_else(|| misplaced().map(|(_, remedy)| (*remedy).to_owned()))
    }
}

/// A TOML text with overrides, every value of which has its place.
#[derive(Clone, Debug)]
pub struct Document<'t> {
    source: Source<'t>,
    root: Node,
}

/// The texts that a place may be in.
#[derive(Clone, Copy, Debug)]
struct Source<'t> {
    kind: Kind,
    file: &'t str,
    text: &'t str,
    overrides: &'t [(String, String)],
}

impl Source<'_> {
    fn parse(&self) -> Result<Node, Problem> {
        let mut root = Node::parse(self.text)?;
        for (index, (path, value)) in self.overrides.iter().enumerate() {
            overrides::apply(&mut root, self.kind, index + 1, path, value)?;
        }
        Ok(root)
    }

    /// The problem in the text in which it stands.
    fn shown(&self, problem: Problem) -> DocumentError {
        match problem.place.text.checked_sub(1).and_then(|index| self.overrides.get(index)) {
            Some((path, value)) => DocumentError::new(problem, "--set", &overrides::text(path, value)),
            None => DocumentError::new(problem, self.file, self.text),
        }
    }
}

impl<'t> Document<'t> {
    /// Reads the TOML `text`. `file` is its name in messages; `overrides` are pairs of a key path and a value,
    /// `("flows.tcp.count", "10")`, put in before anything is checked.
    ///
    /// # Errors
    /// If the text is not TOML, or an override leads nowhere.
    pub fn parse(
        kind: Kind,
        file: &'t str,
        text: &'t str,
        overrides: &'t [(String, String)],
    ) -> Result<Self, DocumentError> {
        let source = Source { kind, file, text, overrides };
        let root = source.parse().map_err(|problem| source.shown(problem))?;
        Ok(Self { source, root })
    }

    /// Checks that every text can be printed: names are used in tables, messages and file names. A `description` may
    /// have several lines.
    ///
    /// # Errors
    /// The first text that cannot.
    pub fn check_texts(&self) -> Result<(), DocumentError> {
        self.root.check_texts(self.source.kind.name).map_err(|problem| self.source.shown(problem))
    }

    /// Reads the document as `T`. Alternatives (Rust enums) are tables with one key, `queue.red = { … }`; a bare name,
    /// `queue = "red"`, means that key with an empty table.
    ///
    /// # Errors
    /// The first key or value that does not fit.
    pub fn read<'de, T: serde::Deserialize<'de>>(&'de self) -> Result<T, DocumentError> {
        deserialize(&self.root, self.source.kind).map_err(|problem| self.source.shown(problem))
    }

    /// Rewrites the tree of values before it is read. Returns the tree as it was.
    ///
    /// # Errors
    /// The value that `rewrite` refuses, by its path in the tree as it was.
    pub fn rewrite(&mut self, rewrite: impl FnOnce(&mut Node) -> Result<(), Invalid>) -> Result<Node, DocumentError> {
        let mut root = self.root.clone();
        rewrite(&mut root).map_err(|invalid| self.refused(invalid))?;
        Ok(std::mem::replace(&mut self.root, root))
    }

    /// The error about a value that was read and is refused: it shows the value's place, in the file or in the override
    /// that brought it in.
    #[must_use]
    pub fn refused(&self, invalid: Invalid) -> DocumentError {
        self.source.shown(invalid.placed_in(&self.root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Path;

    const MENU: Kind =
        Kind { name: "menu", override_example: "soup=cold", not_offered: &[], foreign: &[], misplaced: &[] };

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Menu {
        dishes: Vec<Dish>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Dish {
        Soup(Soup),
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(default)]
    struct Soup {
        spoons: u8,
    }

    impl Default for Soup {
        fn default() -> Self {
            Self { spoons: 1 }
        }
    }

    const TEXT: &str = "dishes = [\n\"soup\", { soup = { spoons = 2 } }]";

    fn overrides(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect()
    }

    fn refused(text: &str, pairs: &[(&str, &str)]) -> String {
        let overrides = overrides(pairs);
        let error = Document::parse(MENU, "menu.toml", text, &overrides)
            .and_then(|document| document.read::<Menu>().map(|_| ()))
            .unwrap_err();
        format!("{error}; {}; {}", error.label, error.help.as_deref().unwrap_or_default())
    }

    #[test]
    fn a_bare_name_stands_for_its_defaults() {
        let document = Document::parse(MENU, "menu.toml", TEXT, &[]).unwrap();
        let dishes = vec![Dish::Soup(Soup { spoons: 1 }), Dish::Soup(Soup { spoons: 2 })];
        assert_eq!(document.read::<Menu>().unwrap(), Menu { dishes });
    }

    #[test]
    fn messages_name_the_kind_of_file() {
        assert_eq!(refused("", &[]), "menu.toml:1:1: missing key `dishes`; the menu needs `dishes`; ");
        assert_eq!(
            refused("dishs = []", &[]),
            "menu.toml:1:1: unknown key `dishs`; the menu has no such key; did you mean `dishes`?\nkeys of the menu: \
             `dishes`"
        );
        assert_eq!(
            refused(TEXT, &[("", "1")]),
            "--set:1:1: an override must be written as key.path=value; a key is missing here; for example soup=cold"
        );
        assert!(refused(TEXT, &[(&".a".repeat(40)[1..], "1")]).starts_with("--set:1:1: no menu is that deep"));
    }

    #[test]
    fn what_is_refused_later_is_shown_where_it_stands() {
        let overrides = overrides(&[("dishes.0.soup.spoons", "9")]);
        let document = Document::parse(MENU, "menu.toml", TEXT, &overrides).unwrap();
        let at = |path: &str| document.refused(Invalid::new(Path::default().below(path), "no", "")).to_string();
        assert_eq!(at("dishes.0.soup.spoons"), "--set:1:22: no");
        assert_eq!(at("dishes.1.soup.spoons"), "menu.toml:2:29: no");
        assert_eq!(at("dishes.1.soup.bowl"), "menu.toml:2:18: no", "nearest above");
    }

    #[test]
    fn names_that_a_file_cannot_use_are_not_offered() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Drink {
            Water,
            Wine,
            Whey,
        }
        let kind = Kind { not_offered: &["wine"], ..MENU };
        let refused = |text| {
            let read = Document::parse(kind, "menu.toml", text, &[]).unwrap().read::<Drink>();
            read.unwrap_err().render(false)
        };
        assert_eq!(kind.remedy("tea", ["water"]).as_deref(), None);
        let foreign = Kind { foreign: &[&[("tea", "boil `water`")]], ..kind };
        assert_eq!(foreign.remedy("tea", ["water", "teas"]).as_deref(), Some("boil `water`"));
        let error = refused("wyne = {}");
        assert!(error.contains("`water`, `whey`") && !error.contains("wine"), "{error}");
        let error = refused("water = {}\nwhey = {}");
        assert!(error.contains("`water`, `whey`") && !error.contains("wine"), "{error}");
        let read = Document::parse(kind, "menu.toml", "whey = {}", &[]).unwrap().read().unwrap();
        assert!(matches!(read, Drink::Whey));
    }
}
