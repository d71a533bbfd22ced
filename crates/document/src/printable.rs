//! Text that a terminal shows as it is: no control characters, nothing that turns the direction of writing, nothing
//! that cannot be seen.

/// Whether `c` can be printed as it is.
fn is_printable(c: char) -> bool {
    // Characters that the standard library would escape; behind a letter, so that combining marks are recognised.
    matches!(c, '"' | '\'' | '\\') || !format!("a{c}").escape_debug().any(|escaped| escaped == '\\')
}

/// The first character of `text` that cannot be printed as it is.
pub(crate) fn unprintable(text: &str) -> Option<char> {
    text.chars().find(|&c| !is_printable(c))
}

/// `text` with what cannot be printed as `\u{1b}`. Ends of lines stay.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || is_printable(c) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

/// A text as long in bytes, so that places in it stay where they are, with a substitute for each character that cannot
/// be printed. Ends of lines and tabs stay.
pub(crate) fn substituted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let end_of_line = c == '\n' || (c == '\r' && characters.peek() == Some(&'\n'));
        if end_of_line || c == '\t' || is_printable(c) {
            shown.push(c);
        } else {
            shown.push_str(["?", "??", "\u{fffd}", "\u{fffd}?"][c.len_utf8() - 1]);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_any_script_are_printable_and_what_steers_a_terminal_is_not() {
        for text in ["tcp-0", "a->b/c \"'\\", "Übertragung", "e\u{301}", "流", "☃", "😀"] {
            assert_eq!(unprintable(text), None, "{text}");
            assert_eq!((&*escaped(text), &*substituted(text)), (text, text));
        }
        for c in
            ['\0', '\u{1b}', '\u{7f}', '\u{9b}', '\u{ad}', '\u{200b}', '\u{202e}', '\u{2028}', '\u{feff}', '\u{e0041}']
        {
            let text = format!("a{c}b\n");
            assert_eq!(unprintable(&text), Some(c), "{c:?}");
            assert_eq!(escaped(&text), format!("a{}b\n", c.escape_unicode()));
            assert_eq!(substituted(&text).len(), text.len());
            assert_eq!(unprintable(substituted(&text).trim_end()), None);
        }
        assert_eq!(substituted("a\r\n\tb\rc"), "a\r\n\tb?c");
    }
}
