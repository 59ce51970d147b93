//! Reduction of a file with which a command fails to a small one with which it still does, as `llvm-reduce` and
//! `cargo fuzz tmin` do it.
//!
//! A pass numbers the changes that it could make and makes those of a range: all, then halves, quarters, down to single
//! ones. A candidate that still fails and is smaller is the next to be changed, until a round of all passes changes
//! nothing. The same file and a command that always does the same have the same result.

mod declaration;
mod edit;
mod function;
mod host_ir;
mod instruction;
mod process;
mod size;
mod text;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use codegen::Library;

use host_ir::HostIr;
pub use process::{Failure, Process};
use size::Size;
use text::Text;

/// Language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Declarations, `.ffi`.
    Declarations,
    /// A module of host IR, `.hir`. The lines that start with `#` are kept, each as long as it matters.
    HostIr,
}

/// Result of a reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// Text of the smallest file that was found.
    pub text: String,
    /// Number of runs of the command.
    pub runs: u64,
    /// True if nothing more could be changed; false if the runs were used up before.
    pub is_finished: bool,
}

/// Function that runs the command with the text of a candidate, and returns true if it fails as it did before.
pub type Fails<'a> = &'a mut dyn FnMut(&str) -> Result<bool, String>;

/// Function that gets a line of progress.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

/// Reduces a text with at most `limit` runs of the command. Candidates are as valid as the text: declarations resolve,
/// modules verify. A text that does not parse loses paragraphs, lines and words.
///
/// # Errors
/// If the command does not fail with the text as it is printed, or cannot be run.
pub fn reduce(
    text: &str,
    language: Language,
    limit: u64,
    fails: Fails<'_>,
    tell: Tell<'_>,
) -> Result<Reduced, String> {
    let reason = match language {
        Language::Declarations => match Library::read(text) {
            Ok(file) => return from(file, limit, fails, tell),
            Err(reason) => reason,
        },
        Language::HostIr => match HostIr::read(text) {
            Ok(file) => return from(file, limit, fails, tell),
            Err(reason) => reason,
        },
    };
    tell(&format!("removing lines and words of a file that cannot be parsed: {reason}"));
    from(Text(text.to_owned()), limit, fails, tell)
}

/// A parsed file.
trait Subject: Clone + 'static {
    /// Passes, in the order in which they run.
    const PASSES: &'static [Pass<Self>];

    /// Parses a text.
    fn read(text: &str) -> Result<Self, String>;

    /// Prints the text.
    fn text(&self) -> String;

    /// Returns true if backends accept the file.
    fn is_valid(&self) -> bool;
}

/// Name of a pass, and the function that makes its changes.
type Pass<S> = (&'static str, fn(&mut S, &mut Changes));

/// Numbers of the changes that a candidate makes.
struct Changes {
    made: Range<usize>,
    next: usize,
}

impl Changes {
    /// Numbers a change; returns true if it is to be made.
    fn makes_next(&mut self) -> bool {
        let number = self.next;
        self.next += 1;
        self.made.contains(&number)
    }
}

/// State of a reduction.
struct Reduction<'a, S> {
    best: S,
    text: String,
    keeps_valid: bool,
    /// Hashes of the candidates that are no better.
    refused: HashSet<u64>,
    runs: u64,
    limit: u64,
    fails: Fails<'a>,
}

fn from<S: Subject>(
    file: S,
    limit: u64,
    fails: Fails<'_>,
    tell: Tell<'_>,
) -> Result<Reduced, String> {
    let (text, keeps_valid) = (file.text(), file.is_valid());
    if !fails(&text)? {
        return Err("the command does not fail with the file as it is printed".to_owned());
    }
    let refused = HashSet::new();
    let mut state = Reduction { best: file, text, keeps_valid, refused, runs: 1, limit, fails };
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for pass in S::PASSES {
            if state.pass(pass)? {
                changed = true;
                tell(&format!("{} runs, {} bytes after {}", state.runs, state.text.len(), pass.0));
            }
        }
    }
    let Reduction { text, runs, .. } = state;
    Ok(Reduced { text, runs, is_finished: runs < limit })
}

impl<S: Subject> Reduction<'_, S> {
    /// Returns the file with the changes of a range, and how many changes there are.
    fn changed(&self, pass: &Pass<S>, made: Range<usize>) -> (S, usize) {
        let (mut file, mut changes) = (self.best.clone(), Changes { made, next: 0 });
        pass.1(&mut file, &mut changes);
        (file, changes.next)
    }

    /// Makes the changes of a pass: all together, then in halves, quarters, and so on. Returns true if some were made.
    fn pass(&mut self, pass: &Pass<S>) -> Result<bool, String> {
        let mut changed = false;
        let mut size = self.changed(pass, 0..0).1;
        while size > 0 {
            let mut start = 0;
            loop {
                let (file, count) = self.changed(pass, start..start + size);
                if start >= count {
                    break;
                }
                // The changes that were made are gone from the list, so that those after them have their numbers now.
                if self.accepts(&file)? {
                    changed = true;
                } else {
                    start += size;
                }
            }
            size /= 2;
        }
        Ok(changed)
    }

    /// Keeps a candidate that is smaller, as valid, and fails; returns true for one.
    fn accepts(&mut self, file: &S) -> Result<bool, String> {
        let text = file.text();
        if self.runs >= self.limit || Size::of(&text) >= Size::of(&self.text) {
            return Ok(false);
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        if !self.refused.insert(hasher.finish()) {
            return Ok(false);
        }
        // The text is what the command gets, and need not have the meaning of the values that were changed.
        let Ok(file) = S::read(&text) else { return Ok(false) };
        if self.keeps_valid && !file.is_valid() {
            return Ok(false);
        }
        self.runs += 1;
        let fails = (self.fails)(&text)?;
        if fails {
            (self.best, self.text) = (file, text);
        }
        Ok(fails)
    }
}
