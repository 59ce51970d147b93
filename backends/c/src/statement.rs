//! Statements, and their text: a list with labels and `goto`, and the `if`s, loops, `break`s and `continue`s that it
//! amounts to.

use codegen::ir::{Block, TopicId};

use crate::debug::Places;
use crate::expression::Expression;

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// A line of text, with its end.
    Line(String),
    /// `name = value;`
    Assign {
        name: String,
        value: Expression,
    },
    /// An expression whose value nobody needs.
    Evaluate(Expression),
    /// `if (condition) { then } else { otherwise }`.
    If {
        condition: Expression,
        /// True if the condition seldom holds.
        unlikely: bool,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// `for (;;) { body }`; the label of its head stands before it.
    Loop {
        head: Block,
        body: Vec<Statement>,
    },
    /// The label of a block.
    Label(Block),
    Goto(Block),
    Break,
    Continue,
    Return(Option<Expression>),
}

/// The macro for conditions that seldom hold.
pub(crate) const UNLIKELY: &str = "FFI_UNLIKELY";

/// The parts of the declaration that lines are for, by the place of the line in the text.
pub(crate) type Topics = Vec<(usize, Vec<TopicId>)>;

/// The printer of statements.
pub(crate) struct Printer<'a> {
    /// The label of each block.
    pub(crate) labels: &'a [String],
    pub(crate) text: &'a mut String,
    pub(crate) topics: Topics,
    /// The places of lines in a source; `None` if the function has none.
    pub(crate) places: Option<Places<'a>>,
}

impl Printer<'_> {
    /// Notes what the line that follows is for.
    fn note(&mut self, expression: &Expression) {
        // The last topic is that of the instruction, the others are those of its operands.
        if let (Some(places), Some(&topic)) = (&mut self.places, expression.topics.last()) {
            places.go_to(topic);
        }
        if !expression.topics.is_empty() {
            self.topics.push((self.text.len(), expression.topics.clone()));
        }
    }

    /// Writes statements `depth` blocks deep.
    pub(crate) fn list(&mut self, list: &[Statement], depth: usize) {
        for (i, statement) in list.iter().enumerate() {
            self.statement(statement, depth);
            // A label needs a statement.
            if matches!(statement, Statement::Label(_)) && i + 1 == list.len() {
                self.line(depth, ";");
            }
        }
    }

    pub(crate) fn line(&mut self, depth: usize, line: &str) {
        if let Some(places) = &mut self.places {
            places.line(self.text, line);
        }
        for _ in 0..depth {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn statement(&mut self, statement: &Statement, depth: usize) {
        match statement {
            Statement::Line(line) => self.line(depth, line),
            Statement::Assign { name, value } => {
                self.note(value);
                self.line(depth, &format!("{name} = {};", value.text));
            }
            Statement::Evaluate(value) => {
                self.note(value);
                self.line(depth, &format!("{};", value.text));
            }
            Statement::Label(block) => {
                let label = format!("{}:", self.labels[block.index()]);
                self.line(depth - 1, &label);
            }
            Statement::Goto(_) | Statement::Break | Statement::Continue | Statement::Return(_) => {
                self.note_returned(statement);
                let line = self.leave(statement).unwrap_or_default();
                self.line(depth, &line);
            }
            Statement::Loop { body, .. } => self.repeat(body, depth),
            Statement::If { condition, unlikely, then, otherwise } => {
                self.note(condition);
                let condition = if *unlikely {
                    format!("{UNLIKELY}({})", condition.text)
                } else {
                    condition.text.clone()
                };
                self.choice(&condition, then, otherwise, depth);
            }
        }
    }

    fn note_returned(&mut self, statement: &Statement) {
        if let Statement::Return(Some(value)) = statement {
            self.note(value);
        }
    }

    /// Returns the text of a statement that goes elsewhere.
    fn leave(&self, statement: &Statement) -> Option<String> {
        match statement {
            Statement::Goto(block) => Some(format!("goto {};", self.labels[block.index()])),
            Statement::Break => Some("break;".to_owned()),
            Statement::Continue => Some("continue;".to_owned()),
            Statement::Return(None) => Some("return;".to_owned()),
            Statement::Return(Some(value)) => Some(format!("return {};", value.text)),
            Statement::Line(_)
            | Statement::Assign { .. }
            | Statement::Evaluate(_)
            | Statement::If { .. }
            | Statement::Loop { .. }
            | Statement::Label(_) => None,
        }
    }

    /// Writes a loop; one that starts with a way out is a `while`.
    fn repeat(&mut self, body: &[Statement], depth: usize) {
        let (head, body) = match body {
            [Statement::If { condition, then, otherwise, .. }, rest @ ..]
                if matches!(then[..], [Statement::Break]) && otherwise.is_empty() =>
            {
                self.note(condition);
                (format!("while ({}) {{", condition.negated().text), rest)
            }
            _ => ("for (;;) {".to_owned(), body),
        };
        self.line(depth, &head);
        self.list(body, depth + 1);
        self.line(depth, "}");
    }

    fn choice(
        &mut self,
        condition: &str,
        then: &[Statement],
        otherwise: &[Statement],
        depth: usize,
    ) {
        if let ([only], []) = (then, otherwise)
            && let Some(leave) = self.leave(only)
        {
            self.note_returned(only);
            let line = format!("if ({condition}) {leave}");
            return self.line(depth, &line);
        }
        self.line(depth, &format!("if ({condition}) {{"));
        self.list(then, depth + 1);
        if !otherwise.is_empty() {
            self.line(depth, "} else {");
            self.list(otherwise, depth + 1);
        }
        self.line(depth, "}");
    }
}
