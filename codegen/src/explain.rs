//! Explanations: each function of a library as lines of text that know what they are about, so that a page or an editor
//! can show a check in its declaration, its resolved form and its message side by side. [`ir::Module::lines`] and the
//! backends' listings give the rest of the way, with the same topics.
//!
//! A topic is a part of a declaration, by name: a value (`x`), a part of it (`x.shape0`, `x.data`), a constraint
//! (`where0`), a statement by its number (`statement2`), the call that is the whole body (`body`).
//!
//! [`ir::Module::lines`]: crate::ir::Module::lines

use crate::declaration::reserved::spelled_label;
use crate::declaration::{self, Body};
use crate::language::MARK;
use crate::lower::{self, Wrapper};
use crate::resolve::Resolved;
use crate::resolve::body::Entry;
use crate::resolve::print;
use crate::resolve::step::{Step, Topic};

/// A line of text, and what it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AboutLine {
    /// The text, without its end.
    pub text: String,
    /// The names of the topics.
    pub topics: Vec<String>,
}

/// A function in lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The symbol of the wrapper.
    pub symbol: String,
    /// The declaration, a parameter on each line; empty for a function that the body of another makes, whose text is
    /// there.
    pub declaration: Vec<AboutLine>,
    /// The resolved form.
    pub resolved: Vec<AboutLine>,
    /// The messages of the checks, each after the kind of its error, in the order of the checks. `…` stands for ` when
    /// calling: ` and the signature, a word in capitals for what only a call knows.
    pub messages: Vec<AboutLine>,
}

impl Resolved<'_> {
    /// Explains the functions in the order of their declarations; those that a body makes follow its function.
    ///
    /// ```
    /// let text = "f(x: Tensor([n], float32)) -> None where n > 1 = k(x.data, n);";
    /// let library: tvm_ffi_codegen::Library = text.parse()?;
    /// let explained = library.resolve()?.explain();
    /// let constraint = |line: &&tvm_ffi_codegen::AboutLine| line.topics == ["where0"];
    /// assert_eq!(explained[0].symbol, "__tvm_ffi_f");
    /// assert_eq!(explained[0].declaration.iter().find(constraint).unwrap().text, "    where n > 1");
    /// assert_eq!(
    ///     explained[0].messages.iter().find(constraint).unwrap().text,
    ///     "ValueError: Violated n > 1 …, n = VALUE"
    /// );
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn explain(&self) -> Vec<Explanation> {
        let of = |function| {
            let mut all: Vec<Explanation> =
                lower::wrappers(function, Entry::default()).into_iter().map(explanation).collect();
            all[0].declaration = declaration(function.declared);
            all
        };
        self.functions.iter().flat_map(of).collect()
    }
}

fn explanation(Wrapper { symbol, function, .. }: Wrapper<'_, '_>) -> Explanation {
    let lines = print::named_lines(function).into_iter();
    let resolved =
        lines.map(|(text, topic)| AboutLine { text, topics: topic.into_iter().collect() });
    let mut messages: Vec<AboutLine> = Vec::new();
    Step::visit_all(&function.steps, &mut |step| {
        let topics = vec![step.topic().name(&function.values)];
        for text in lower::messages(function, step) {
            if !messages.iter().any(|line| line.text == text) {
                messages.push(AboutLine { text, topics: topics.clone() });
            }
        }
    });
    Explanation { symbol, declaration: Vec::new(), resolved: resolved.collect(), messages }
}

/// Returns a declaration in lines.
fn declaration(function: &declaration::Function) -> Vec<AboutLine> {
    let signature = &function.signature;
    let about = |text: String, topic: Topic| {
        let topics = vec![topic.name_in_function()];
        AboutLine { text, topics }
    };
    let plain = |text: String| AboutLine { text, topics: Vec::new() };
    let mut lines: Vec<AboutLine> =
        function.docs.lines().map(|line| plain(format!("/// {line}"))).collect();
    lines.extend(function.location.as_ref().map(|location| plain(location.to_string())));
    let external = if function.external { "extern " } else { "" };
    let count = signature.params.len();
    let end = format!(") -> {}", signature.result);
    let name = spelled_label(&signature.name);
    if count == 0 {
        lines.push(plain(format!("{external}{name}({end}")));
    } else {
        lines.push(plain(format!("{external}{name}(")));
        for (index, param) in signature.params.iter().enumerate() {
            let comma = if index + 1 < count { "," } else { "" };
            let docs = param.docs.lines();
            lines.extend(docs.map(|line| plain(format!("    /// {line}"))));
            let topics = vec![param.name.clone()];
            lines.push(AboutLine { text: format!("    {param}{comma}"), topics });
        }
        lines.push(plain(end));
    }
    for (number, constraint) in signature.constraints.iter().enumerate() {
        let word = if number == 0 { "    where " } else { "        " };
        let comma = if number + 1 < signature.constraints.len() { "," } else { "" };
        lines.push(about(format!("{word}{constraint}{comma}"), Topic::constraint(number)));
    }
    match &function.body {
        Body::Call(call) => lines.push(about(format!("    = {call};"), Topic::BODY)),
        Body::Block(_) => lines.extend(statements(&function.body)),
    }
    lines
}

/// Returns the lines of a body, each about the statements that begin on it, or else about the one that goes on.
fn statements(body: &Body) -> Vec<AboutLine> {
    let text = format!("    = {body:#};");
    let is_marked = text.matches(MARK).count() == body.statements().count();
    let mut next = 0;
    let mut last = Vec::new();
    let mut line = |text: &str| {
        let begun = text.matches(MARK).count();
        if begun > 0 && is_marked {
            let numbers = next..next + begun;
            last = numbers.map(|number| Topic::statement(number).name_in_function()).collect();
        }
        next += begun;
        let text = text.replace(MARK, "");
        let topics =
            if text.trim_matches([' ', '}', ';']).is_empty() { Vec::new() } else { last.clone() };
        AboutLine { text, topics }
    };
    text.lines().map(&mut line).collect()
}
