//! The chapter `messages` of the guide, which is made from the table.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use super::{Complaint, TemplatePart, placeholder_name};

/// Heading of the lists.
const START: &str = "## Messages by kind\n";

/// Returns the list of messages of each kind, in alphabetical order.
fn lists() -> String {
    let kinds: BTreeSet<&str> = Complaint::ALL.iter().map(|complaint| complaint.kind()).collect();
    let list = |kind: &str| {
        let of_kind = Complaint::ALL.iter().filter(|complaint| complaint.kind() == kind);
        let messages: BTreeSet<String> = of_kind.map(|complaint| message(*complaint)).collect();
        let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
        format!("\n### {kind}\n\n```text\n{lines}```\n")
    };
    kinds.into_iter().map(list).collect()
}

/// Returns a template with the names that the chapter explains in place of its placeholders.
fn message(complaint: Complaint) -> String {
    let part = |part: &TemplatePart| match part {
        TemplatePart::Words(words) => words,
        TemplatePart::Subject => "TEXT",
        TemplatePart::Value(kind) => placeholder_name(*kind),
    };
    complaint.parts().iter().map(part).collect()
}

#[test]
fn the_guide_has_every_message() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/messages.md");
    let chapter = fs::read_to_string(&path).expect("the chapter can be read");
    let (head, found) = chapter.split_once(START).expect("the chapter has the heading");
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, format!("{head}{START}{}", lists())).expect("the chapter can be written");
    } else {
        assert_eq!(found, lists(), "INSTA_UPDATE=always writes {}", path.display());
    }
}
