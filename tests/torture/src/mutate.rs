//! Damaged scenarios: bytes and tokens of valid ones put out of place.

use std::sync::LazyLock;

use crate::dice::Dice;

/// Insertions by mistake or malice.
static SCRAPS: LazyLock<Vec<String>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../crates/scenario/tests/scraps.json")).expect("a list of texts")
});

/// One of the valid texts with a few things changed.
pub fn damaged(dice: &mut Dice, valid: &[String]) -> String {
    let mut text = dice.pick(valid).cloned().unwrap_or_default();
    for _ in 0..=dice.few() {
        let mut tokens = tokens(&text);
        if dice.chance(0.6) {
            // Another number, in the same unit, is the most that may come of it and still be a scenario.
            tokens.retain(|token| text[token.clone()].starts_with(|c: char| c.is_ascii_digit()));
            let token = dice.pick(&tokens).cloned().unwrap_or(0..0);
            text.replace_range(token, &format!("{}", dice.word() >> dice.below(64)));
            continue;
        }
        let token = dice.pick(&tokens).cloned().unwrap_or(0..0);
        let other = dice.pick(&tokens).map_or(String::new(), |other| text[other.clone()].to_owned());
        match dice.below(5) {
            0 => text.replace_range(token, ""),
            1 => text.replace_range(token, &other),
            2 => text.insert_str(token.start, &other),
            3 => text.replace_range(token, dice.pick(&SCRAPS).map_or("", String::as_str)),
            _ => {
                // Anywhere, regardless of the text there.
                let borders: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                let at = dice.pick(&borders).copied().unwrap_or(0);
                let scrap = char::from(dice.word() as u8).to_string();
                let end = text[at..].chars().next().map_or(at, |there| at + there.len_utf8());
                text.replace_range(at..if dice.chance(0.5) { end } else { at }, &scrap);
            }
        }
    }
    text
}

/// Words and numbers, quoted or not, and every other character by itself.
fn tokens(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut tokens: Vec<std::ops::Range<usize>> = Vec::new();
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match tokens.last_mut() {
            Some(last) if word(c) && word(before) => last.end = at + c.len_utf8(),
            _ => tokens.push(at..at + c.len_utf8()),
        }
        before = c;
    }
    tokens.retain(|token| !text[token.clone()].trim().is_empty());
    tokens
}
