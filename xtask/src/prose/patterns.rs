//! The patterns of hard English, each with its remedy and with sentences that it must and must not match.

use regex::Regex;

use super::passages::Passage;

/// A sentence with more words is split.
pub const MAX_WORDS: usize = 35;

/// A pattern of words in one sentence.
pub struct Pattern {
    pub name: &'static str,
    pub remedy: &'static str,
    /// The words to find, in any case of letters. A sentence starts at `^`; inline code is `\u{FFFC}`.
    regex: &'static str,
    /// Sentences in which the pattern is allowed.
    unless: &'static str,
}

/// Matches nothing: a sentence is never empty.
const NEVER: &str = r"^$";

/// Programs and parts of them, which neither speak nor think. Papers, RFCs and people may.
const THINGS: &str = "adapter|buffer|bridge|check|class|command|compiler|controller|crossbar|daemon|device|discipline|\
    driver|engine|experiment|file|flow|forebay|frame|host|it|kernel|law|link|machine|message|model|module|\
    network|node|option|packet|port|process|program|queue|receiver|router|run|scenario|scheduler|schema|scheme|\
    sender|server|sketch|simulator|source|station|switch|table|test|transport|type";

pub const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "headless what",
        remedy: "start with the noun that *what* replaces",
        regex: r"(^|[:;] )what\b",
        // The first heading of every manual page.
        unless: r"\?\W*$|^what it does$",
    },
    Pattern {
        name: "headless who",
        remedy: "name the person or the component",
        regex: r"^(who|whom)\b|\bwhoever\b",
        unless: r"^who\b.*\?\W*$",
    },
    Pattern {
        name: "fronted of",
        remedy: "start with the subject: \"The end of X\", not \"Of X, the end\"",
        regex: r"^(?-i:Of) ((what|which|whom)\b|[^,]+$)",
        unless: NEVER,
    },
    Pattern {
        name: "beside",
        remedy: "use \"next to\" for a place, \"compared with\", \"against\" or \"in addition to\" for the rest",
        regex: r"\bbeside\b",
        unless: NEVER,
    },
    Pattern {
        name: "has to",
        remedy: "use \"must\", or state the fact",
        regex: r"\b(has|have|had|having) to\b",
        unless: r"\b(has|have|had) to do with\b",
    },
    Pattern {
        name: "passive duty",
        remedy: "use \"must be\", \"is\", or an infinitive: \"the memory to free\"",
        regex: r"\b(is|are|was|were) to be\b",
        unless: NEVER,
    },
    Pattern {
        name: "archaic word",
        remedy: "use \"again\", \"forever\", \"fix\", \"no process\", \"without a message\"",
        regex: r"\b(anew|for ever|mend(s|ed|ing)?|thereof|therein|whence|nobody|somebody|with(out)? a word|as ever)\b",
        unless: NEVER,
    },
    Pattern {
        name: "vague some",
        remedy: "use \"about\"",
        regex: r"\bsome (\d[\d.]*|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|hundred|thousand)\b",
        unless: NEVER,
    },
    Pattern {
        name: "stands or lies",
        remedy: "use \"is\", \"is stored in\", \"means\"",
        regex: concat!(
            r"\b(stands?|stood|standing|lies?|lying) (in|on|at|under|over|above|below|behind|before|between|beside|",
            r"within|by|for|outside|inside|near|next|there|here|with|among)\b"
        ),
        unless: NEVER,
    },
    Pattern {
        name: "animate machine",
        remedy: "software returns, reports, prints, stores, detects, signals or requires",
        regex: concat!(
            r"(\u{FFFC}|\b(THINGS)) ((never|not|already|also|only|does|do|can|cannot|must|may|will|then|itself) )*",
            r"(tells?|told|knows?|knew|says?|said|learns?|wants?|believes?|thinks?|forgets?|remembers?)\b",
            r"|\b(is|are|was|were|be|been|being) (not |never |then |also )?(told|answered with)\b"
        ),
        unless: NEVER,
    },
];

/// The table, ready to search.
pub struct Matcher {
    compiled: Vec<(&'static Pattern, Regex, Regex)>,
}

/// A pattern in a sentence.
pub struct Match {
    pub name: &'static str,
    pub remedy: &'static str,
    /// The offset in the passage.
    pub at: usize,
}

impl Matcher {
    pub fn new() -> Result<Self, regex::Error> {
        let compile = |pattern: &'static Pattern| {
            let regex = pattern.regex.replace("THINGS", THINGS);
            Ok((pattern, Regex::new(&format!("(?i){regex}"))?, Regex::new(&format!("(?i){}", pattern.unless))?))
        };
        Ok(Matcher { compiled: PATTERNS.iter().map(compile).collect::<Result<_, regex::Error>>()? })
    }

    /// The patterns in one sentence without code at its beginning; offsets count from its start.
    pub fn in_sentence(&self, sentence: &str) -> Vec<Match> {
        let bare = sentence.trim_start_matches(|c: char| !c.is_alphanumeric() && c != super::source::CODE);
        let skipped = sentence.len() - bare.len();
        let found = self.compiled.iter().filter_map(|(pattern, regex, unless)| {
            let found = regex.find(bare).filter(|_| !unless.is_match(bare))?;
            Some(Match { name: pattern.name, remedy: pattern.remedy, at: skipped + found.start() })
        });
        found.collect()
    }
}

/// The number of words in a sentence. Symbols do not count, nor do the names of an enumeration such as "`a`, `b`".
pub fn words(sentence: &str) -> usize {
    let enumerated = format!("{},", super::source::CODE);
    let is_word =
        |word: &&str| *word != enumerated && word.chars().any(|c| c.is_alphanumeric() || c == super::source::CODE);
    sentence.split_whitespace().filter(is_word).count()
}

/// The sentences of a passage with their offsets.
pub fn sentences(passage: &Passage) -> Vec<(usize, &str)> {
    const ABBREVIATIONS: &[&str] =
        &["e.g.", "i.e.", "vs.", "cf.", "Fig.", "Figs.", "Sec.", "Eq.", "al.", "No.", "approx."];
    let text = passage.text.as_str();
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if at < start {
            // The closing quote or parenthesis of the last sentence.
            continue;
        }
        let closed = text[end..].trim_start_matches(['"', '”', ')', '*', '\'']);
        let next = closed.trim_start();
        let boundary = closed.len() > next.len() && !next.starts_with(char::is_lowercase);
        let word = text[start..end].rsplit(char::is_whitespace).next().unwrap_or_default();
        let abbreviation = ABBREVIATIONS.contains(&word.trim_start_matches('('));
        let ends = match c {
            '.' | '!' | '?' => boundary && !abbreviation,
            ';' => passage.table_cell,
            _ => false,
        };
        if ends {
            let next_start = text.len() - next.len();
            sentences.push((start, text[start..next_start].trim_end()));
            start = next_start;
        }
    }
    sentences.push((start, text[start..].trim_end()));
    sentences.retain(|(_, sentence)| !sentence.is_empty());
    sentences
}

#[cfg(test)]
mod tests {
    use super::super::source::{CODE, Kind};
    use super::*;

    /// Sentences that each pattern must find, and sentences that it must leave alone.
    const EXAMPLES: &[(&str, &[&str], &[&str])] = &[
        (
            "headless what",
            &["What every call gets.", "What counts is the capacity.", "The table lists: what is held for a port."],
            &[
                "What will this queue do to my traffic?",
                "The report shows what changed.",
                "Whatever the rate is, it holds.",
            ],
        ),
        (
            "headless who",
            &[
                "Whoever keeps a time for each segment sees every ACK.",
                "Who sends first wins.",
                "It serves whoever asks.",
            ],
            &["Who drops the packet?", "Flows that send more get less."],
        ),
        (
            "fronted of",
            &[
                "Of the end of the warm-up a port has only its queue length.",
                "Of what the last ACK told, how much opens the window.",
            ],
            &["Of their 24 rows, 22 hold.", "Of course, the queue grows.", "The end of the warm-up."],
        ),
        (
            "beside",
            &["Speed beside ns-2.", "Beside five flows a flood took most of the link."],
            &["The speed compared with ns-2.", "Besides, it is fast."],
        ),
        (
            "has to",
            &["A port has to know its length.", "You had to build it again."],
            &["A port must store its length.", "The delay has nothing to do with the rate."],
        ),
        (
            "passive duty",
            &["The memory that is to be freed.", "Both were to be sent."],
            &["The memory to free.", "It needs to be fast."],
        ),
        (
            "archaic word",
            &[
                "It is measured anew.",
                "A loop that runs for ever.",
                "Nobody reads it.",
                "It is skipped without a word.",
            ],
            &["It is measured again.", "The recommended rate.", "One word of memory."],
        ),
        (
            "vague some",
            &["It gets some four of 105 Mb/s.", "It takes some 20 ms."],
            &["It gets about 4 of the 105 Mb/s.", "For some rates it holds."],
        ),
        (
            "stands or lies",
            &["The content lies in a ring.", "The name stands for a set of choices.", "The cell stands at the head."],
            &["The content is stored in a ring.", "A standing queue adds delay.", "It runs standalone."],
        ),
        (
            "animate machine",
            &[
                "The switch does not know the flow.",
                "\u{FFFC} tells its length.",
                "The cause is told first.",
                "It learns of the loss.",
            ],
            &[
                "The paper says 5 %.",
                "It holds unless this page says otherwise.",
                "You know the rate.",
                "The switch detects the flow.",
                "The delay is known.",
            ],
        ),
    ];

    #[test]
    fn every_pattern_finds_its_bad_examples_and_leaves_the_good_ones_alone() {
        let matcher = Matcher::new().unwrap();
        let names = |sentence: &str| matcher.in_sentence(sentence).iter().map(|m| m.name).collect::<Vec<_>>();
        for pattern in PATTERNS {
            let (_, bad, good) = EXAMPLES.iter().find(|(name, ..)| *name == pattern.name).expect(pattern.name);
            assert!(!bad.is_empty() && !good.is_empty(), "{}", pattern.name);
            for sentence in *bad {
                assert!(names(sentence).contains(&pattern.name), "{}: {sentence}", pattern.name);
            }
            for sentence in *good {
                assert_eq!(names(sentence), Vec::<&str>::new(), "{sentence}");
            }
        }
    }

    fn sentences_of(text: &str, table_cell: bool) -> Vec<String> {
        let mut passage = Passage::new(Kind::Page);
        passage.text.push_str(text);
        passage.table_cell = table_cell;
        sentences(&passage).into_iter().map(|(_, sentence)| sentence.to_owned()).collect()
    }

    #[test]
    fn a_sentence_ends_at_its_stop_and_not_at_an_abbreviation() {
        let text = "One at 1.5 Mb/s (e.g. Reno). Two, cf. Fig. 3! \"Three?\" four. (Five.) Six";
        let expected = ["One at 1.5 Mb/s (e.g. Reno).", "Two, cf. Fig. 3!", "\"Three?\" four.", "(Five.)", "Six"];
        assert_eq!(sentences_of(text, false), expected);
    }

    #[test]
    fn semicolons_separate_the_entries_of_a_table_cell_only() {
        assert_eq!(sentences_of("RED; DBL; BLUE", true).len(), 3);
        assert_eq!(sentences_of("RED drops; DBL limits", false).len(), 1);
    }

    #[test]
    fn symbols_and_enumerated_names_are_no_words() {
        assert_eq!(words(&format!("It has {CODE}, {CODE}, {CODE} and {CODE}")), 5);
        assert_eq!(words(&format!("{CODE} + 3 bytes = 1 – x")), 5);
    }
}
