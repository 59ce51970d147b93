//! Expressions: text with its precedence, so that no pair of parentheses is missing or of no use.

use codegen::ir;

/// The precedence of an expression, from the loosest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// `a ? b : c`
    Select,
    /// `a || b`
    Or,
    /// `a && b`
    And,
    /// `a | b`, `a ^ b`, `a & b`, `a << b`: compilers warn about these without parentheses.
    Bits,
    /// `a == b`, `a < b`
    Comparison,
    /// `a + b`
    Sum,
    /// `a * b`
    Product,
    /// `-a`, `(type)a`, `*a`
    Unary,
    /// Names, numbers, calls, `a[b]`, `a.b`.
    Primary,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) text: String,
    pub(crate) level: Level,
    /// The complement, where it is written otherwise than with `!`.
    pub(crate) inverse: Option<(String, Level)>,
    /// The variables that it reads.
    pub(crate) reads: Vec<ir::Value>,
    /// True if it calls a function that does more than compute.
    pub(crate) calls: bool,
    /// The parts of the declaration that it is for, in a listing.
    pub(crate) topics: Vec<ir::TopicId>,
}

impl Expression {
    pub(crate) fn new(level: Level, text: impl Into<String>) -> Self {
        let (reads, topics) = (Vec::new(), Vec::new());
        Expression { text: text.into(), level, inverse: None, reads, calls: false, topics }
    }

    pub(crate) fn primary(text: impl Into<String>) -> Self {
        Expression::new(Level::Primary, text)
    }

    /// Returns a number.
    pub(crate) fn number(value: i64) -> Self {
        let level = if value < 0 { Level::Unary } else { Level::Primary };
        Expression::new(level, value.to_string())
    }

    /// Returns the variable of a value.
    pub(crate) fn variable(value: ir::Value, name: &str) -> Self {
        Expression { reads: vec![value], ..Expression::primary(name) }
    }

    /// Returns `left op right`.
    pub(crate) fn binary(level: Level, op: &str, left: &Expression, right: &Expression) -> Self {
        // Subtraction and division associate to the left; the others are written with parentheses, which tell more.
        let (least_left, least_right) = match level {
            Level::Or | Level::And if left.level == level => (level, Level::Comparison),
            Level::Or | Level::And => (Level::Comparison, Level::Comparison),
            Level::Comparison => (Level::Sum, Level::Sum),
            Level::Sum => (Level::Sum, Level::Product),
            Level::Select | Level::Bits | Level::Product | Level::Unary | Level::Primary => {
                (Level::Unary, Level::Unary)
            }
        };
        let text = format!("{} {op} {}", left.at(least_left), right.at(least_right));
        Expression::new(level, text).reading([left, right])
    }

    /// Returns `cond ? then : otherwise`.
    pub(crate) fn select(cond: &Expression, then: &Expression, otherwise: &Expression) -> Self {
        let [first, second, third] = [cond, then, otherwise].map(|operand| operand.at(Level::Or));
        let text = format!("{first} ? {second} : {third}");
        Expression::new(Level::Select, text).reading([cond, then, otherwise])
    }

    /// Returns `(type)operand`, without an inner conversion to a signed integer of the same size.
    pub(crate) fn cast(ty: &str, operand: &Expression) -> Self {
        let inner = match ty {
            "int64_t" | "uint64_t" => Some("(int64_t)"),
            "int32_t" | "uint32_t" => Some("(int32_t)"),
            _ => None,
        };
        let text = operand.at(Level::Unary);
        let text =
            format!("({ty}){}", inner.and_then(|inner| text.strip_prefix(inner)).unwrap_or(&text));
        Expression::new(Level::Unary, text).reading([operand])
    }

    /// Returns `function(operands)`.
    pub(crate) fn call(function: &str, operands: &[Expression]) -> Self {
        let list: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
        Expression::primary(format!("{function}({})", list.join(", "))).reading(operands)
    }

    /// Returns `first, second`, which stands in no other expression.
    pub(crate) fn comma(first: &Expression, second: &Expression) -> Self {
        let text = format!("{}, {}", first.text, second.text);
        Expression::new(Level::Select, text).reading([first, second])
    }

    /// Returns true for a number that is written alike whether the type has a sign or not.
    pub(crate) fn is_number(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Adds the part of the declaration that the expression itself is for, behind those of its operands.
    pub(crate) fn about(mut self, topic: ir::TopicId) -> Self {
        if topic != ir::TopicId::default() {
            self.topics.retain(|known| *known != topic);
            self.topics.push(topic);
        }
        self
    }

    /// Adds the variables, calls and topics of operands.
    pub(crate) fn reading<'e>(
        mut self,
        operands: impl IntoIterator<Item = &'e Expression>,
    ) -> Self {
        for operand in operands {
            self.reads.extend_from_slice(&operand.reads);
            self.calls |= operand.calls;
            for &topic in &operand.topics {
                self = self.about(topic);
            }
        }
        self
    }

    /// Returns the text, in parentheses if it binds looser than `least`.
    pub(crate) fn at(&self, least: Level) -> String {
        if self.level < least { format!("({})", self.text) } else { self.text.clone() }
    }

    /// Returns the text of an address for a conversion to another pointer: one conversion is enough.
    pub(crate) fn pointer(&self) -> String {
        let text = self.at(Level::Unary);
        text.strip_prefix("(void *)").unwrap_or(&text).to_owned()
    }

    /// Returns the complement of a truth value.
    pub(crate) fn negated(&self) -> Expression {
        let not = |operand: String| (format!("!{operand}"), Level::Unary);
        let (text, level) = match (&self.inverse, self.text.strip_prefix('!')) {
            (Some(inverse), _) => inverse.clone(),
            (None, Some(plain)) if self.level == Level::Unary => (plain.to_owned(), Level::Unary),
            (None, _) => not(self.at(Level::Unary)),
        };
        let inverse = Some((self.text.clone(), self.level));
        Expression { text, level, inverse, ..self.clone() }
    }
}
