//! The imports of a file of Rust: its modules, its `use` declarations, its paths, the names that it defines.
//!
//! The text is split into tokens, not parsed: a path is a path wherever it stands. Code behind `#[cfg(test)]` is left
//! out. Paths that a macro builds from its arguments (`crate::$module::build`) are not seen.

use std::collections::BTreeSet;

/// The imports of one module, inline modules apart.
#[derive(Debug, Default)]
pub struct Module {
    pub uses: Vec<Use>,
    /// Paths of two names or more outside `use` declarations.
    pub paths: Vec<(Vec<String>, usize)>,
    /// Names of the items that it defines.
    pub items: BTreeSet<String>,
    /// All names outside `use` declarations.
    pub names: BTreeSet<String>,
    pub modules: Vec<Declaration>,
}

/// One name that a `use` declaration brings in.
#[derive(Debug, PartialEq, Eq)]
pub struct Use {
    /// For a glob, the path before the star.
    pub path: Vec<String>,
    /// The name under which it is known here; none for a glob.
    pub name: Option<String>,
    pub public: bool,
    pub line: usize,
}

/// `mod name;` or `mod name { … }`.
#[derive(Debug)]
pub struct Declaration {
    pub name: String,
    /// From the attribute `path`.
    pub path: Option<String>,
    pub inline: Option<Module>,
}

/// Reads a file.
pub fn read(text: &str) -> Module {
    let tokens = tokens(text);
    Reader { tokens: &tokens, at: 0 }.module()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Text(&'a str),
    /// `::`
    Separator,
    Sign(char),
}

/// The tokens with their lines, without comments, numbers, characters and lifetimes.
fn tokens(text: &str) -> Vec<(Token<'_>, usize)> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let (token, length) = next_token(rest, first);
        tokens.extend(token.map(|token| (token, line)));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// The token at the beginning of `rest`, if it counts, and how long it is.
fn next_token(rest: &str, first: char) -> (Option<Token<'_>>, usize) {
    if rest.starts_with("//") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (None, comment_length(rest));
    }
    if rest.starts_with("::") {
        return (Some(Token::Separator), 2);
    }
    if let Some((content, length)) = string(rest) {
        return (Some(Token::Text(content)), length);
    }
    if first == '\'' {
        return (None, quote_length(rest));
    }
    if first.is_alphanumeric() || first == '_' {
        let name = rest.strip_prefix("r#").unwrap_or(rest);
        let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
        let token = (!first.is_numeric()).then_some(Token::Name(&name[..end]));
        return (token, rest.len() - name.len() + end);
    }
    ((!first.is_whitespace()).then_some(Token::Sign(first)), first.len_utf8())
}

/// Length of the comment at the beginning of `rest`; comments nest.
fn comment_length(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        let (step, change) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth += change;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Content and whole length of the string at the beginning of `rest`, if there is one.
fn string(rest: &str) -> Option<(&str, usize)> {
    let body = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    if let Some(raw) = body.strip_prefix('r') {
        let inner = raw.trim_start_matches('#');
        let close = format!("\"{}", &raw[..raw.len() - inner.len()]);
        let inner = inner.strip_prefix('"')?;
        let end = inner.find(&close).unwrap_or(inner.len());
        return Some((&inner[..end], rest.len() - inner.len() + (end + close.len()).min(inner.len())));
    }
    let inner = body.strip_prefix('"')?;
    let mut escaped = false;
    let end = inner.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let end = end.unwrap_or(inner.len());
    Some((&inner[..end], rest.len() - inner.len() + (end + 1).min(inner.len())))
}

/// Length of the character or of the lifetime's quote at the beginning of `rest`.
fn quote_length(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((escaped, c))) => {
            let after = escaped + c.len_utf8();
            rest[after..].find('\'').map_or(rest.len(), |end| after + end + 1)
        }
        (_, Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

struct Reader<'a> {
    tokens: &'a [(Token<'a>, usize)],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).map(|(token, _)| *token)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek(0);
        self.at += 1;
        token
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |(_, line)| *line)
    }

    /// The next token, if it is a name.
    fn name(&self, ahead: usize) -> Option<&'a str> {
        match self.peek(ahead) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Everything up to the end of the text, or to the brace that closes an inline module.
    fn module(&mut self) -> Module {
        let mut module = Module::default();
        let (mut depth, mut path) = (0_usize, None);
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign('#') => match self.attribute() {
                    Attribute::Test => self.skip_item(),
                    Attribute::Path(value) => path = Some(value),
                    Attribute::Other => {}
                },
                Token::Sign('}') if depth == 0 => {
                    self.at += 1;
                    return module;
                }
                Token::Sign(sign) => {
                    self.at += 1;
                    match sign {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                }
                Token::Name("pub") => {
                    self.at += self.visibility();
                    if self.name(0) == Some("use") {
                        self.at += 1;
                        self.use_tree(&[], true, &mut module.uses);
                    }
                }
                Token::Name("use") if !matches!(self.peek(1), Some(Token::Sign('<'))) => {
                    self.at += 1;
                    self.use_tree(&[], false, &mut module.uses);
                }
                Token::Name("mod") if self.name(1).is_some() => module.modules.extend(self.declaration(path.take())),
                Token::Name(_) | Token::Separator => self.path(depth == 0, &mut module),
                Token::Text(_) => self.at += 1,
            }
        }
        module
    }

    /// A path or a single name; at the top of the module, perhaps the name of an item.
    fn path(&mut self, top: bool, module: &mut Module) {
        const ITEMS: &[&str] = &["struct", "enum", "union", "trait", "type", "fn", "const", "static"];
        let line = self.line();
        // A path that begins with a separator goes on from something unknown, such as `<T as Trait>::Item`.
        let rooted = self.peek(0) != Some(Token::Separator);
        let Some(first) = self.name(usize::from(!rooted)) else {
            self.at += 1;
            return;
        };
        self.at += 1 + usize::from(!rooted);
        if top && first == "macro_rules" {
            module.items.extend(self.name(1).map(str::to_owned));
        } else if top && ITEMS.contains(&first) {
            module.items.extend(self.name(0).map(str::to_owned));
        }
        let mut path = vec![first.to_owned()];
        while let (Some(Token::Separator), Some(name)) = (self.peek(0), self.name(1)) {
            path.push(name.to_owned());
            self.at += 2;
        }
        module.names.extend(path.iter().cloned());
        if rooted && path.len() > 1 {
            module.paths.push((path, line));
        }
    }

    fn declaration(&mut self, path: Option<String>) -> Option<Declaration> {
        let name = self.name(1)?.to_owned();
        self.at += 2;
        let inline = match self.next() {
            Some(Token::Sign('{')) => Some(self.module()),
            Some(Token::Sign(';')) => None,
            _ => return None,
        };
        Some(Declaration { name, path, inline })
    }

    /// One branch of a `use` declaration, with all branches under it.
    fn use_tree(&mut self, prefix: &[String], public: bool, uses: &mut Vec<Use>) {
        let line = self.line();
        let mut path = prefix.to_vec();
        let mut name = None;
        let mut glob = false;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Name("as") => {
                    name = self.name(1).map(str::to_owned);
                    self.at += 2;
                    continue;
                }
                Token::Name(part) => path.push(part.to_owned()),
                // A path of another crate, which no module of this one can be: the empty name is found nowhere.
                Token::Separator if path.is_empty() => path.push(String::new()),
                Token::Sign('*') => glob = true,
                Token::Sign('{') => return self.use_group(&path, public, uses),
                Token::Sign(',' | '}' | ';') => break,
                _ => {}
            }
            self.at += 1;
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = if glob { None } else { name.or_else(|| path.last().cloned()) };
        if glob || name.is_some() {
            uses.push(Use { path, name, public, line });
        }
    }

    fn use_group(&mut self, path: &[String], public: bool, uses: &mut Vec<Use>) {
        self.at += 1;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign('}') => {
                    self.at += 1;
                    return;
                }
                Token::Sign(',') => self.at += 1,
                Token::Sign(';') => return,
                _ => self.use_tree(path, public, uses),
            }
        }
    }

    /// An attribute, `#[…]` or `#![…]`.
    fn attribute(&mut self) -> Attribute {
        self.at += 1;
        if self.peek(0) == Some(Token::Sign('!')) {
            self.at += 1;
        }
        if self.peek(0) != Some(Token::Sign('[')) {
            return Attribute::Other;
        }
        let start = self.at + 1;
        self.skip_group();
        let inside = self.tokens.get(start..self.at - 1).unwrap_or_default();
        let inside: Vec<Token<'_>> = inside.iter().map(|(token, _)| *token).collect();
        match inside.as_slice() {
            [Token::Name("test"), ..]
            | [Token::Name("cfg"), Token::Sign('('), Token::Name("test"), ..]
            | [Token::Name("cfg"), Token::Sign('('), Token::Name("all"), Token::Sign('('), Token::Name("test"), ..] => {
                Attribute::Test
            }
            [Token::Name("path"), Token::Sign('='), Token::Text(path)] => Attribute::Path((*path).to_owned()),
            _ => Attribute::Other,
        }
    }

    /// Skips from an opening bracket to behind the closing one.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.next() {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// How many tokens `pub` or `pub(…)` takes, if it is next.
    fn visibility(&self) -> usize {
        match (self.peek(0), self.peek(1)) {
            (Some(Token::Name("pub")), Some(Token::Sign('('))) => {
                let inside = self.tokens[self.at..].iter().take_while(|(token, _)| *token != Token::Sign(')'));
                inside.count() + 1
            }
            (Some(Token::Name("pub")), _) => 1,
            _ => 0,
        }
    }

    /// Skips the target of an attribute: an item, a statement, a field or an arm.
    fn skip_item(&mut self) {
        while self.peek(0) == Some(Token::Sign('#')) {
            self.attribute();
        }
        // A comma ends a field or an arm, but may be in the head of a function.
        let field = !matches!(self.name(0), Some(name) if ITEM_WORDS.contains(&name));
        // The braces of `use a::{b, c};` are not its end.
        let import = self.name(self.visibility()) == Some("use");
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign(';') => return self.at += 1,
                Token::Sign(',') if field => return self.at += 1,
                Token::Sign(')' | ']' | '}') => return,
                Token::Sign('{') => {
                    self.skip_group();
                    if !import {
                        return;
                    }
                }
                Token::Sign('(' | '[') => self.skip_group(),
                _ => self.at += 1,
            }
        }
    }
}

/// The relevant meaning of an attribute.
enum Attribute {
    /// For tests only.
    Test,
    /// The file of a module.
    Path(String),
    Other,
}

/// With what an item begins.
const ITEM_WORDS: &[&str] = &[
    "pub",
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "impl",
    "mod",
    "use",
    "const",
    "static",
    "type",
    "macro_rules",
    "unsafe",
    "async",
    "extern",
];

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
