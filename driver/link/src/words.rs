//! Names of inputs in what linkers say.

use super::{Input, base_name};

/// Returns the path by which a linker knows an input. Paths are distinct and no options.
pub(super) fn path(index: usize, input: &Input) -> String {
    format!("{index}/{}", base_name(input.name()))
}

/// Puts the names of inputs into the place of their [paths](path) in a text.
pub(super) fn with_names(text: &str, inputs: &[Input]) -> String {
    let places = inputs.iter().enumerate().map(|(i, input)| (path(i, input), input.name()));
    let said: Vec<_> = places.filter(|(path, _)| text.contains(path)).collect();
    replace(text, &said)
}

/// Puts names into the places of paths, the last ones first: `1/a.o` is a part of `11/a.o`.
fn replace(text: &str, places: &[(String, &str)]) -> String {
    let Some(((path, name), others)) = places.split_last() else { return text.to_owned() };
    let parts: Vec<String> = text.split(path).map(|part| replace(part, others)).collect();
    parts.join(name)
}

/// Removes the numbers that Wild gives to files, as in `1/a.o (257 (1/1))`.
#[cfg(feature = "libwild")]
pub(super) fn without_numbers(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || " (/".contains(c);
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(" (") {
        let end = after.split_once("))").filter(|(numbers, _)| numbers.chars().all(is_part));
        kept.extend([before, if end.is_some() { "" } else { " (" }]);
        rest = end.map_or(after, |(_, rest)| rest);
    }
    kept + rest
}

/// Leaves out the sentences about variables of the environment that Wild reads: with them it is not started here.
#[cfg(feature = "libwild")]
pub(super) fn without_advice(text: &str) -> String {
    let line = |line: &str| {
        let sentences = line.split(". ").filter(|sentence| !sentence.contains("WILD_"));
        sentences.collect::<Vec<_>>().join(". ")
    };
    let is_advice = |line: &&str| line.contains("WILD_") && !line.contains(". ");
    text.lines().filter(|line| !is_advice(line)).map(line).collect::<Vec<_>>().join("\n")
}
