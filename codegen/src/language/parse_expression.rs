//! The parser: expressions.
//!
//! [`MAX_NESTING`](super::MAX_NESTING) bounds recursion twice: the parser counts open parentheses, brackets and unary
//! operators, and every expression carries its height, which also bounds chains such as `a + b + c`, parsed in a loop.

use super::parser::{Parsed, Parser};
use super::reserved::{self, Word};
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{BinaryOp, Builtin, Comparison, DeviceAttribute, Expr, Logic, Member};

/// The precedence of an operator, loosest first; atoms have the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precedence {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Unary,
    Postfix,
}

impl Precedence {
    /// Returns the next tighter precedence.
    fn tighter(self) -> Precedence {
        match self {
            Precedence::Or => Precedence::And,
            Precedence::And => Precedence::Not,
            Precedence::Not => Precedence::Comparison,
            Precedence::Comparison => Precedence::Sum,
            Precedence::Sum => Precedence::Product,
            Precedence::Product => Precedence::Unary,
            Precedence::Unary | Precedence::Postfix => Precedence::Postfix,
        }
    }
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Infix {
    Arithmetic(BinaryOp),
    Comparison(Comparison),
    Logic(Logic),
}

impl Infix {
    /// The operators that are signs.
    const SIGNS: [(Token, Infix); 11] = [
        (Token::Plus, Infix::Arithmetic(BinaryOp::Add)),
        (Token::Minus, Infix::Arithmetic(BinaryOp::Sub)),
        (Token::Star, Infix::Arithmetic(BinaryOp::Mul)),
        (Token::Slash, Infix::Arithmetic(BinaryOp::Div)),
        (Token::Percent, Infix::Arithmetic(BinaryOp::Rem)),
        (Token::Eq, Infix::Comparison(Comparison::Eq)),
        (Token::Ne, Infix::Comparison(Comparison::Ne)),
        (Token::Lt, Infix::Comparison(Comparison::Lt)),
        (Token::Le, Infix::Comparison(Comparison::Le)),
        (Token::Gt, Infix::Comparison(Comparison::Gt)),
        (Token::Ge, Infix::Comparison(Comparison::Ge)),
    ];

    /// Returns the operator that is this word.
    pub(super) fn named(word: &str) -> Option<Infix> {
        let logic = [Logic::And, Logic::Or].into_iter().find(|op| op.text() == word);
        logic.map(Infix::Logic)
    }

    pub(super) fn precedence(self) -> Precedence {
        match self {
            Infix::Arithmetic(BinaryOp::Add | BinaryOp::Sub) => Precedence::Sum,
            Infix::Arithmetic(BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem) => Precedence::Product,
            Infix::Comparison(_) => Precedence::Comparison,
            Infix::Logic(Logic::And) => Precedence::And,
            Infix::Logic(Logic::Or) => Precedence::Or,
        }
    }

    fn join(self, lhs: Expr, rhs: Expr) -> Expr {
        match self {
            Infix::Arithmetic(op) => lhs.binary(op, rhs),
            Infix::Comparison(op) => lhs.compare(op, rhs),
            Infix::Logic(op) => lhs.logic(op, rhs),
        }
    }
}

/// An expression and its height: the number of nodes on the longest path from it to a leaf.
struct Tree {
    expr: Expr,
    height: usize,
}

impl Tree {
    fn leaf(expr: Expr) -> Tree {
        Tree { expr, height: 1 }
    }
}

impl Parser<'_> {
    /// Parses an expression.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        Ok(self.tree()?.expr)
    }

    fn tree(&mut self) -> Parsed<Tree> {
        self.operation(Precedence::Or)
    }

    /// Parses an expression whose operators bind at least as tightly as `least`.
    fn operation(&mut self, least: Precedence) -> Parsed<Tree> {
        let mut lhs = if least <= Precedence::Not && self.is_word("not") {
            self.advance();
            let operand = self.nested(|parser| parser.operation(Precedence::Not))?;
            self.above(operand.height, || Expr::Not(Box::new(operand.expr)))?
        } else {
            self.unary()?
        };
        let mut compared = false;
        while let Some(infix) = self.infix().filter(|infix| infix.precedence() >= least) {
            let precedence = infix.precedence();
            if precedence == Precedence::Comparison && std::mem::replace(&mut compared, true) {
                let found = format!("a second comparison `{}`", self.slice());
                return Err(self.syntax("`and` between comparisons", found));
            }
            self.advance();
            if infix == Infix::Arithmetic(BinaryOp::Div) {
                self.no_second_slash()?;
            }
            let rhs = self.operation(precedence.tighter())?;
            let height = lhs.height.max(rhs.height);
            lhs = self.above(height, || infix.join(lhs.expr, rhs.expr))?;
        }
        Ok(lhs)
    }

    /// Returns the binary operator that the current token is.
    pub(super) fn infix(&self) -> Option<Infix> {
        if self.token == Token::Word {
            return Infix::named(self.slice());
        }
        let found = Infix::SIGNS.iter().find(|(sign, _)| *sign == self.token);
        found.map(|(_, infix)| *infix)
    }

    /// Returns an expression whose highest operand has this height, or the error for too much nesting.
    fn above(&self, height: usize, expr: impl FnOnce() -> Expr) -> Parsed<Tree> {
        if height == Limit::Nesting.max() {
            return Err(self.excess(Limit::Nesting));
        }
        Ok(Tree { expr: expr(), height: height + 1 })
    }

    /// Parses a rule one level deeper.
    pub(super) fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == Limit::Nesting.max() {
            return Err(self.excess(Limit::Nesting));
        }
        self.depth += 1;
        let value = rule(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Parses a unary expression. A `-` directly before a literal belongs to the literal.
    fn unary(&mut self) -> Parsed<Tree> {
        let negative = self.accept(Token::Minus);
        if self.token == Token::Int {
            return self.integer(negative).map(Tree::leaf);
        }
        if self.token == Token::Float {
            return Ok(Tree::leaf(Expr::Float(self.float_literal(negative)?)));
        }
        if !negative {
            return self.postfix();
        }
        let operand = self.nested(Self::unary)?;
        self.above(operand.height, || Expr::Neg(Box::new(operand.expr)))
    }

    /// Parses an integer literal, which may exceed `int64`.
    fn integer(&mut self, negative: bool) -> Parsed<Expr> {
        if negative {
            return self.int_literal(negative).map(Expr::Int);
        }
        let magnitude = self.int(u64::MAX, "a number up to 18446744073709551615")?;
        Ok(i64::try_from(magnitude).map_or(Expr::Unsigned(magnitude), Expr::Int))
    }

    pub(super) fn int_literal(&mut self, negative: bool) -> Parsed<i64> {
        if negative {
            let magnitude = self.int(1 << 63, "a number down to -9223372036854775808")?;
            Ok(magnitude.cast_signed().wrapping_neg())
        } else {
            let magnitude = self.int(i64::MAX as u64, "a number up to 9223372036854775807")?;
            Ok(magnitude.cast_signed())
        }
    }

    pub(super) fn float_literal(&mut self, negative: bool) -> Parsed<f64> {
        let value = self.slice().parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| self.unexpected("a number in the range of float64"))?;
        self.advance();
        Ok(if negative { -value } else { value })
    }

    fn postfix(&mut self) -> Parsed<Tree> {
        let mut tree = self.atom()?;
        loop {
            if self.accept(Token::OpenBracket) {
                let index = self.nested(Self::tree)?;
                self.expect(Token::CloseBracket, "an operator or `]`")?;
                tree = self.above(tree.height.max(index.height), || {
                    Expr::Element(Box::new(tree.expr), Box::new(index.expr))
                })?;
            } else if self.accept(Token::Dot) {
                tree = self.after_point(tree)?;
            } else {
                return Ok(tree);
            }
        }
    }

    /// Parses a member, or the name of an element of a tuple.
    fn after_point(&mut self, tree: Tree) -> Parsed<Tree> {
        let name = self.label("a member such as `data` or `shape[0]`")?;
        let plain = Member::PLAIN.iter().find(|(member, _)| *member == name);
        let member = match (name, plain) {
            (_, Some((_, member))) => *member,
            ("shape", None) => Member::Shape(self.dim_index()?),
            ("strides", None) => Member::Strides(self.dim_index()?),
            ("global", None) if self.token == Token::OpenParen => return self.global(tree),
            ("device", None) if self.token == Token::Dot => {
                let Some(attribute) = self.device_attribute()? else {
                    return self
                        .above(tree.height, || Expr::Field(Box::new(tree.expr), "device".into()));
                };
                return self.above(tree.height, || tree.expr.device_attribute(attribute));
            }
            _ => {
                let name = name.to_owned();
                return self.above(tree.height, || Expr::Field(Box::new(tree.expr), name));
            }
        };
        self.above(tree.height, || tree.expr.member(member))
    }

    /// Parses the name of a device variable in parentheses, after an image and `.global`.
    fn global(&mut self, tree: Tree) -> Parsed<Tree> {
        let Expr::Name(image) = &tree.expr else {
            return Err(self.unexpected("an operator: only an image has `global(…)`"));
        };
        self.advance();
        let name = self.quoted("the name of a variable in quotes")?;
        self.expect(Token::CloseParen, "`)`")?;
        Ok(Tree::leaf(Expr::global(image.clone(), name)))
    }

    /// Parses an attribute of a device, after `device`; returns `None` before a member of an element of a tuple that is
    /// called `device`.
    fn device_attribute(&mut self) -> Parsed<Option<DeviceAttribute>> {
        if self.next_word() == Some("multiprocessors") {
            self.advance();
            self.advance();
            return Ok(Some(DeviceAttribute::Multiprocessors));
        }
        if !(self.next_word() == Some("attribute")
            && self.next_are([Token::Word, Token::OpenParen]))
        {
            return Ok(None);
        }
        self.advance();
        self.advance();
        self.advance();
        let id = self.int(i32::MAX as u64, "the number of an attribute")? as u32;
        self.expect(Token::CloseParen, "`)`")?;
        Ok(Some(DeviceAttribute::Other(id)))
    }

    /// Parses the index of a dim in brackets: `[3]`, or `[-1]` from the end.
    fn dim_index(&mut self) -> Parsed<i32> {
        self.expect(Token::OpenBracket, "`[`")?;
        let is_negative = self.accept(Token::Minus);
        let most = i32::MAX as u64 + u64::from(is_negative);
        let index = self.int(most, "an index")? as i64;
        self.expect(Token::CloseBracket, "`]`")?;
        Ok(if is_negative { -index } else { index } as i32)
    }

    fn atom(&mut self) -> Parsed<Tree> {
        if self.token == Token::Quoted {
            return self.quoted("an expression").map(|text| Tree::leaf(Expr::Text(text)));
        }
        if self.accept(Token::OpenParen) {
            return self.parenthesized();
        }
        if self.accept(Token::OpenBracket) {
            let after = "an operator, `,` or `]`";
            return self.several(Token::CloseBracket, after, Limit::Arguments, Expr::Array);
        }
        if self.starts_closure() && self.blocks > 0 {
            return self.closure().map(|function| Tree::leaf(Expr::function(function)));
        }
        if let Some(name) = self.peek_name() {
            return Ok(self.leaf(Expr::name(name)));
        }
        let word = if self.token == Token::Word { self.slice() } else { "_" };
        match reserved::classify(word) {
            Word::Keyword | Word::Name => Err(self.no_expression()),
            Word::Null => Ok(self.leaf(Expr::Null)),
            Word::None => Ok(self.leaf(Expr::None)),
            Word::Bool(truth) => Ok(self.leaf(Expr::Bool(truth))),
            Word::Shape => {
                self.advance();
                self.expect(Token::OpenParen, "`(`")?;
                let after = "an operator, `,` or `)`";
                self.several(Token::CloseParen, after, Limit::Rank, Expr::Shape)
            }
            Word::Builtin(builtin) => self.builtin(builtin),
            Word::Stream => {
                let operand = self.operand()?;
                self.above(operand.height, || Expr::Stream(Box::new(operand.expr)))
            }
            Word::CurrentDevice => {
                self.advance();
                self.expect(Token::OpenParen, "`(`")?;
                self.expect(Token::CloseParen, "`)`")?;
                Ok(Tree { expr: Expr::CurrentDevice, height: 1 })
            }
            Word::Scalar(scalar) => {
                let operand = self.operand()?;
                self.above(operand.height, || Expr::Cast(scalar, Box::new(operand.expr)))
            }
        }
    }

    /// Skips the current token and returns `expr`, the leaf that it stands for.
    fn leaf(&mut self, expr: Expr) -> Tree {
        self.advance();
        Tree::leaf(expr)
    }

    /// Parses expressions up to `close`, skips `close`, and returns one expression made of them.
    fn several(
        &mut self,
        close: Token,
        after: &str,
        limit: Limit,
        expr: fn(Vec<Expr>) -> Expr,
    ) -> Parsed<Tree> {
        let mut height = 0;
        let parts = self.nested(|parser| {
            parser.list(close, after, limit, |parser, _| {
                let part = parser.tree()?;
                height = height.max(part.height);
                Ok(part.expr)
            })
        })?;
        self.above(height, || expr(parts))
    }

    /// Parses the rest of a parenthesized expression after `(`, up to and including `)`.
    fn parenthesized(&mut self) -> Parsed<Tree> {
        let tree = self.nested(Self::tree)?;
        self.expect(Token::CloseParen, "an operator or `)`")?;
        Ok(tree)
    }

    /// Skips the current word and parses an operand in parentheses.
    fn operand(&mut self) -> Parsed<Tree> {
        self.advance();
        self.expect(Token::OpenParen, "`(`")?;
        self.parenthesized()
    }

    fn builtin(&mut self, builtin: Builtin) -> Parsed<Tree> {
        self.advance();
        self.expect(Token::OpenParen, "`(`")?;
        let first = self.nested(Self::tree)?;
        self.expect(Token::Comma, "an operator or `,`")?;
        let second = self.parenthesized()?;
        self.above(first.height.max(second.height), || {
            Expr::Call(builtin, Box::new(first.expr), Box::new(second.expr))
        })
    }
}
