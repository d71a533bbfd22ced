//! Cuts a file into passages of prose, each with its kind and the line numbers of its text.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::hash_comments::{self, Language};
use super::rust;
use super::source::{CODE, Kind, Source};

/// First lines of generated files: their sentences are checked in the source.
const GENERATED: &[&str] = &["<!-- Generated from the source", "# Generated from the schema"];

/// One block of text without markup: a paragraph, a list item, a heading or a table cell.
#[derive(Debug, PartialEq)]
pub struct Passage {
    pub kind: Kind,
    pub text: String,
    /// The line numbers, by the offset in `text` at which the line starts.
    starts: Vec<(usize, usize)>,
    /// Whether semicolons separate entries rather than clauses.
    pub table_cell: bool,
}

impl Passage {
    pub fn new(kind: Kind) -> Self {
        Passage { kind, text: String::new(), starts: Vec::new(), table_cell: false }
    }

    fn push(&mut self, line: usize, text: &str) {
        if self.starts.last().is_none_or(|(_, last)| *last != line) {
            self.starts.push((self.text.len(), line));
        }
        self.text.push_str(text);
    }

    /// The line of the file at which the text from `offset` on was written.
    pub fn line_at(&self, offset: usize) -> usize {
        let after = self.starts.partition_point(|(start, _)| *start <= offset);
        self.starts[after.saturating_sub(1)].1
    }
}

/// The passages of the file at `path`, in the order of the file. Unknown formats have none.
pub fn of_file(path: &str, text: &str) -> Vec<Passage> {
    sources(path, text).iter().flat_map(passages).collect()
}

/// The comments, strings and pages of the file at `path`.
pub fn sources(path: &str, text: &str) -> Vec<Source> {
    if GENERATED.iter().any(|line| text.starts_with(line)) {
        return Vec::new();
    }
    let file_name = path.rsplit('/').next().unwrap_or(path);
    let extension = file_name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let test =
        ["tests/", "fuzz/"].iter().any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")));
    match (extension, file_name) {
        ("md", _) => vec![numbered(Kind::Page, text)],
        ("ipynb", _) => notebook(text),
        ("rs", _) => rust::sources(text, test),
        ("py" | "pyi", _) => hash_comments::sources(text, Language::Python, test),
        ("toml", _) => hash_comments::sources(text, Language::Toml, test),
        ("yml" | "yaml" | "sh", _) | (_, "Makefile") => hash_comments::sources(text, Language::Other, test),
        _ => Vec::new(),
    }
}

fn numbered(kind: Kind, text: &str) -> Source {
    Source { kind, lines: text.lines().enumerate().map(|(index, line)| (index + 1, line.to_owned())).collect() }
}

/// The Markdown cells of a notebook. Each line of a cell is a line of the file.
fn notebook(text: &str) -> Vec<Source> {
    let Ok(notebook) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let cells = notebook["cells"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut file_lines = text.lines().enumerate();
    let mut sources = Vec::new();
    for cell in cells.iter().filter(|cell| cell["cell_type"] == "markdown") {
        let lines = cell["source"].as_array().map(Vec::as_slice).unwrap_or_default();
        let numbered = lines.iter().filter_map(|line| {
            let written = line.to_string();
            let (index, _) = file_lines.find(|(_, file_line)| file_line.trim().trim_end_matches(',') == written)?;
            Some((index + 1, line.as_str()?.trim_end().to_owned()))
        });
        sources.push(Source { kind: Kind::Page, lines: numbered.collect() });
    }
    sources
}

/// The blocks of a source: by the rules of Markdown for pages and `///` comments, by blank lines for the others.
fn passages(source: &Source) -> Vec<Passage> {
    let mut passages = match source.kind {
        Kind::Page | Kind::Doc => markdown(source),
        _ => plain(source),
    };
    passages.retain(|passage| passage.text.chars().any(char::is_alphabetic));
    passages
}

/// Collects the text of the blocks of a Markdown document.
struct Blocks<'a> {
    source: &'a Source,
    /// The offset of each line in the joined text.
    offsets: Vec<usize>,
    done: Vec<Passage>,
    current: Passage,
}

impl Blocks<'_> {
    fn push(&mut self, range: &Range<usize>, text: &str) {
        let index = self.offsets.partition_point(|start| *start <= range.start).saturating_sub(1);
        self.current.push(self.source.lines[index].0, text);
    }

    fn end_block(&mut self, table_cell: bool) {
        let mut block = std::mem::replace(&mut self.current, Passage::new(self.source.kind));
        block.table_cell = table_cell;
        self.done.push(block);
    }
}

fn markdown(source: &Source) -> Vec<Passage> {
    let text: String = source.lines.iter().flat_map(|(_, line)| [line.as_str(), "\n"]).collect();
    let starts = source.lines.iter().scan(0, |next, (_, line)| {
        let start = *next;
        *next += line.len() + 1;
        Some(start)
    });
    let offsets = starts.collect();
    let mut blocks = Blocks { source, offsets, done: Vec::new(), current: Passage::new(source.kind) };
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut skipped = false;
    for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                skipped = true;
                blocks.end_block(false);
            }
            Event::Start(Tag::MetadataBlock(_)) => skipped = true,
            Event::End(TagEnd::CodeBlock | TagEnd::MetadataBlock(_)) => skipped = false,
            Event::Text(text) if !skipped => blocks.push(&range, &text),
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => blocks.push(&range, &CODE.to_string()),
            Event::SoftBreak | Event::HardBreak => blocks.push(&range, " "),
            Event::End(TagEnd::TableCell) => blocks.end_block(true),
            Event::Start(tag) if is_block(&tag) => blocks.end_block(false),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::Image) => {
                blocks.end_block(false)
            }
            _ => {}
        }
    }
    blocks.end_block(false);
    blocks.done
}

fn is_block(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::Item
            | Tag::List(_)
            | Tag::Image { .. }
            | Tag::Table(_)
            | Tag::TableCell
    )
}

/// Blocks end at a blank line, before a list marker, before a `name:` of a docstring and where the indent decreases.
fn plain(source: &Source) -> Vec<Passage> {
    let mut done = Vec::new();
    let mut current = Passage::new(source.kind);
    let (mut indent, mut fenced, mut example) = (0, false, false);
    for (number, line) in &source.lines {
        let text = line.trim();
        let depth = line.len() - line.trim_start().len();
        if text.starts_with("```") {
            fenced = !fenced;
        }
        example = text.starts_with(">>>") || (example && !text.is_empty());
        let entry = text.starts_with("- ") || text.starts_with("* ") || text.starts_with("#: ") || starts_entry(text);
        if text.is_empty() || fenced || text.starts_with("```") || example || entry || depth < indent {
            done.push(std::mem::replace(&mut current, Passage::new(source.kind)));
        }
        if !(text.is_empty() || fenced || text.starts_with("```") || example) {
            if !current.text.is_empty() {
                current.push(*number, " ");
            }
            current.push(*number, &without_code(text.trim_start_matches(['-', '*', '#', ' '])));
            indent = depth;
        }
    }
    done.push(current);
    done
}

/// Whether the line begins the entry of a name, as in "rate: The rate of the link".
fn starts_entry(text: &str) -> bool {
    let name = text.split_once(": ").map_or("", |(name, _)| name.trim_matches(['`', '*']));
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.[], ".contains(c)) && name.len() < 30
}

/// Replaces code between backticks by one character.
fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, piece) in text.replace("``", "`").split('`').enumerate() {
        if index % 2 == 0 {
            out.push_str(piece);
        } else {
            out.push(CODE);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(Kind, usize, String)> {
        let passages = of_file(path, text).into_iter();
        passages.map(|passage| (passage.kind, passage.line_at(0), passage.text.replace(CODE, "@"))).collect()
    }

    fn expected(passages: &[(Kind, usize, &str)]) -> Vec<(Kind, usize, String)> {
        passages.iter().map(|(kind, line, text)| (*kind, *line, (*text).to_owned())).collect()
    }

    #[test]
    fn a_page_is_its_headings_paragraphs_items_and_cells_without_code() {
        let page = "# Head\n\nOne `code`\ntwo [link](x.md).\n\n```sh\nbeside\n```\n\n- item\n- *other*\n\n\
                    | a | b |\n|---|---|\n| c; d | `e` |\n\n![picture](x.png)\n<!-- beside -->\n";
        let blocks = [
            (Kind::Page, 1, "Head"),
            (Kind::Page, 3, "One @ two link."),
            (Kind::Page, 10, "item"),
            (Kind::Page, 11, "other"),
            (Kind::Page, 13, "a"),
            (Kind::Page, 13, "b"),
            (Kind::Page, 15, "c; d"),
            (Kind::Page, 17, "picture"),
        ];
        assert_eq!(found("a.md", page), expected(&blocks));
        assert!(of_file("a.md", page).iter().any(|passage| passage.text == "c; d" && passage.table_cell));
    }

    #[test]
    fn a_generated_file_is_checked_in_its_source() {
        assert_eq!(found("a.md", &format!("{} by x -->\n\nText.\n", GENERATED[0])), []);
    }

    #[test]
    fn rust_has_docs_comments_and_messages_but_no_strings_of_tests() {
        let text = "//! Module.\n//! More.\n\n/// Doc `x`.\nfn f<'a>() { // trailing\n    let c = '\"';\n    \
                    bail!(\"the file {path} has \\\n        no end\"); g(\"key\"); h(r#\"a \"raw\" one here\"#)\n}\n\
                    #[cfg(test)]\nmod tests {\n    // Comment.\n    const A: &str = \"one two three\";\n}\n";
        let blocks = [
            (Kind::Doc, 1, "Module. More."),
            (Kind::Doc, 4, "Doc @."),
            (Kind::Comment, 5, "trailing"),
            (Kind::Message, 7, "the file @ has no end"),
            (Kind::Message, 8, "a \"raw\" one here"),
            (Kind::Comment, 12, "Comment."),
        ];
        assert_eq!(found("crates/a/src/b.rs", text), expected(&blocks));
        assert_eq!(found("crates/a/tests/b.rs", "const A: &str = \"one two three\";\n"), []);
    }

    #[test]
    fn python_has_docstrings_comments_and_joined_messages() {
        let text = "\"\"\"Module text is here.\n\nArgs:\n    rate: The rate.\n        More of it.\n\n    \
                    >>> beside\n\"\"\"\n\
                    # Comment.\nx = 'key'\nprint(\n    f\"the {rate} is \"\n    \"too high\"\n)\n";
        let blocks = [
            (Kind::Docstring, 1, "Module text is here."),
            (Kind::Docstring, 3, "Args:"),
            (Kind::Docstring, 4, "rate: The rate. More of it."),
            (Kind::Comment, 9, "Comment."),
            (Kind::Message, 12, "the @ is too high"),
        ];
        assert_eq!(found("python/forebay/a.py", text), expected(&blocks));
        let tests = [(Kind::Comment, 1, "A docstring of three words.")];
        let text = "\"\"\"A docstring of three words.\"\"\"\nx = 'one two three'\n";
        assert_eq!(found("tests/python/a.py", text), expected(&tests));
    }

    #[test]
    fn an_experiment_has_texts_but_the_words_of_a_paper_are_its_own() {
        let text = "# Comment.\nabout = \"\"\"The share\nof a flow.\"\"\"\n\
                    paper = \"beside five TCP flows\"\nkind = \"lines\"\n";
        let blocks = [(Kind::Comment, 1, "Comment."), (Kind::Experiment, 2, "The share of a flow.")];
        assert_eq!(found("experiments/a.toml", text), expected(&blocks));
    }

    #[test]
    fn a_make_target_is_explained_to_users() {
        let text = "# Comment.\nall: build ## Build all of it\n";
        assert_eq!(
            found("Makefile", text),
            expected(&[(Kind::Comment, 1, "Comment."), (Kind::Message, 2, "Build all of it")])
        );
    }

    #[test]
    fn a_notebook_has_the_lines_of_its_markdown() {
        let text = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \
                    \"source\": [\n    \"One\\n\",\n    \"two\"\n   ]\n  }\n ]\n}\n";
        assert_eq!(found("a.ipynb", text), expected(&[(Kind::Page, 6, "One two")]));
    }
}
