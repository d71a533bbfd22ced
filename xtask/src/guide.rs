//! The tables in the guide's page "Choose a discipline".
//!
//! The page is written by hand; its tables come from the source. A table is between the comments `<!-- disciplines:
//! GROUP -->` and `<!-- end -->`, and has a row for each discipline of that group.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};
use forebay_scenario::Choice;

/// The page, relative to the root.
pub const PAGE: &str = "docs/guide/choose-a-discipline.md";
const BEGIN: &str = "<!-- disciplines: ";
const END: &str = "<!-- end -->";

/// The page with its updated tables. Each group has exactly one.
pub fn filled(page: &str, choices: &[Choice]) -> Result<String> {
    let mut tables = BTreeSet::new();
    let mut pieces = page.split(BEGIN);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (group, rest) = piece.split_once(" -->\n").context("a table's first comment has no end")?;
        let (_, rest) = rest.split_once(END).with_context(|| format!("the table of {group} has no `{END}`"))?;
        ensure!(tables.insert(group), "{PAGE}: two tables of `{group}`");
        let rows = choices.iter().filter(|choice| choice.group == Some(group)).map(row).collect::<Result<String>>()?;
        ensure!(!rows.is_empty(), "{PAGE}: no discipline is in the group `{group}`");
        let _ = write!(out, "{BEGIN}{group} -->\n{HEAD}{rows}{END}{rest}");
    }
    match choices.iter().filter_map(|choice| choice.group).find(|group| !tables.contains(group)) {
        Some(group) => bail!("{PAGE}: there is no table `{BEGIN}{group} -->`"),
        None => Ok(out),
    }
}

const HEAD: &str = "| discipline | when to use it | state |\n|---|---|---|\n";

fn row(choice: &Choice) -> Result<String> {
    let name = &choice.name;
    let lacks = |heading: &str| format!("`{name}`: the section `{heading}` is missing");
    let when = choice.when_to_use().with_context(|| lacks("When to use it"))?;
    let state = choice.state().with_context(|| lacks("Cost"))?;
    Ok(format!("| [`{name}`](../reference/disciplines/{name}.md) | {when} | {state} |\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(name: &str, group: &'static str) -> Choice {
        let section = |heading: &str, text: &str| (heading.to_owned(), text.to_owned());
        Choice {
            kind: "discipline",
            name: name.into(),
            group: Some(group),
            summary: String::new(),
            sections: vec![
                section("When to use it", "Use it for bulk. Not for voice."),
                section("Cost", "No state. O(1) a packet."),
            ],
            parameters: Vec::new(),
        }
    }

    fn page(groups: &[&str]) -> String {
        groups.iter().map(|group| format!("Some words.\n\n{BEGIN}{group} -->\nold rows\n{END}\n\n")).collect()
    }

    #[test]
    fn a_table_has_a_row_for_each_discipline_of_its_group() {
        let choices = [choice("red", "early"), choice("drr", "fair"), choice("blue", "early")];
        let text = filled(&page(&["early", "fair"]), &choices).unwrap();
        let row =
            |name: &str| format!("| [`{name}`](../reference/disciplines/{name}.md) | Use it for bulk. | No state. |\n");
        let early = format!("{BEGIN}early -->\n{HEAD}{}{}{END}\n\n", row("red"), row("blue"));
        assert!(text.contains(&early), "{text}");
        assert!(text.contains(&format!("{BEGIN}fair -->\n{HEAD}{}{END}\n\n", row("drr"))), "{text}");
        assert!(!text.contains("old rows"));
        assert_eq!(filled(&text, &choices).unwrap(), text);
    }

    #[test]
    fn a_group_without_a_table_and_a_table_without_a_group_are_refused() {
        let choices = [choice("red", "early"), choice("drr", "fair")];
        let refused = |groups: &[&str]| filled(&page(groups), &choices).unwrap_err().to_string();
        assert!(refused(&["early"]).contains("there is no table `<!-- disciplines: fair -->`"));
        assert!(refused(&["early", "fair", "late"]).contains("no discipline is in the group `late`"));
        assert!(refused(&["early", "fair", "early"]).contains("two tables of `early`"));
    }
}
