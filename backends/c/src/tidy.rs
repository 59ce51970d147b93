//! Shortens lists of statements: `if`s in the place of jumps over what follows, and no jump or label that says nothing.

use std::slice;

use codegen::ir::Block;

use crate::expression::{Expression, Level};
use crate::statement::{Statement, UNLIKELY};

/// The largest number of characters of a call and a result after it in one line.
const LONGEST: usize = 120;

/// The largest number of characters of two conditions in one `if`.
const LONGEST_CONDITION: usize = 112;

/// The largest number of `if`s in each other that [`nest`] makes.
const DEEPEST: usize = 3;

/// Turns `if (c) goto end; …; end:` into `if (!c) { … }`, where nothing else enters the statements in between.
pub(crate) fn nest(list: Vec<Statement>) -> Vec<Statement> {
    // The statements after the current one, in reverse.
    let mut after: Vec<Statement> = Vec::with_capacity(list.len());
    // The place of the next label in `after`.
    let mut next = None;
    // The depth of the statements behind it.
    let mut deepest = 0;
    for statement in list.into_iter().rev() {
        let statement = match statement {
            Statement::If { condition, unlikely, mut then, otherwise } if otherwise.is_empty() => {
                then = nest(then);
                match joined(&then, &after, next) {
                    Some(body) if deepest.max(depth(&then)) < DEEPEST => {
                        let mut otherwise = after.split_off(body);
                        otherwise.reverse();
                        otherwise.extend(after.last().cloned());
                        Statement::If { condition, unlikely, then, otherwise }
                    }
                    Some(_) | None => Statement::If { condition, unlikely, then, otherwise },
                }
            }
            Statement::Loop { head, body } => Statement::Loop { head, body: nest(body) },
            Statement::If { .. }
            | Statement::Line(_)
            | Statement::Assign { .. }
            | Statement::Evaluate(_)
            | Statement::Label(_)
            | Statement::Goto(_)
            | Statement::Break
            | Statement::Continue
            | Statement::Return(_) => statement,
        };
        if matches!(statement, Statement::Label(_)) {
            (next, deepest) = (Some(after.len()), 0);
        }
        deepest = deepest.max(depth(slice::from_ref(&statement)));
        after.push(statement);
    }
    after.reverse();
    after
}

/// Returns the place in `after` of the first statement behind the `goto` to the label at `next`, if `then` ends in a
/// `goto` to it as well.
fn joined(then: &[Statement], after: &[Statement], next: Option<usize>) -> Option<usize> {
    let (Some(Statement::Goto(end)), next) = (then.last(), next?) else { return None };
    let is_label = matches!(&after[next], Statement::Label(label) if label == end);
    let falls = matches!(after.get(next + 1), Some(Statement::Goto(target)) if target == end);
    (is_label && falls).then_some(next + 2)
}

/// Returns the number of `if`s and loops in each other.
fn depth(list: &[Statement]) -> usize {
    let of = |statement: &Statement| match statement {
        Statement::If { then, otherwise, .. } => 1 + depth(then).max(depth(otherwise)),
        Statement::Loop { body, .. } => 1 + depth(body),
        Statement::Line(_)
        | Statement::Assign { .. }
        | Statement::Evaluate(_)
        | Statement::Label(_)
        | Statement::Goto(_)
        | Statement::Break
        | Statement::Continue
        | Statement::Return(_) => 0,
    };
    list.iter().map(of).max().unwrap_or(0)
}

/// The place of a list: what follows it, and the loop around it.
#[derive(Clone, Default)]
struct Place {
    /// The blocks that run if the list ends without a jump.
    next: Vec<Block>,
    /// The head of the innermost loop, and the blocks that run after it.
    around: Option<(Block, Vec<Block>)>,
}

/// Drops jumps to what follows anyway, writes `break` and `continue` where they do, and drops unused labels.
pub(crate) fn tidy(list: Vec<Statement>) -> Vec<Statement> {
    let mut list = shorten(list, &Place::default());
    if matches!(list.last(), Some(Statement::Return(None))) {
        list.pop();
    }
    let mut used = Vec::new();
    targets(&list, &mut used);
    used.sort_unstable();
    labels(list, &used)
}

fn shorten(list: Vec<Statement>, place: &Place) -> Vec<Statement> {
    let mut next = place.next.clone();
    let mut after = Vec::with_capacity(list.len());
    for statement in list.into_iter().rev() {
        let place = Place { next: next.clone(), around: place.around.clone() };
        let follows = match &statement {
            Statement::Goto(block) => vec![*block],
            Statement::Label(block) => [&next[..], &[*block]].concat(),
            Statement::Line(_)
            | Statement::Assign { .. }
            | Statement::Evaluate(_)
            | Statement::If { .. }
            | Statement::Loop { .. }
            | Statement::Break
            | Statement::Continue
            | Statement::Return(_) => Vec::new(),
        };
        let statement = shortened(statement, &place);
        if let (Some(Statement::Evaluate(call)), Some(Statement::Return(Some(value)))) =
            (&statement, after.last())
            && call.text.len() + value.text.len() < LONGEST
            // C++ converts no number that is computed to an address.
            && value.text != "0"
        {
            let both = Expression::comma(call, value);
            after.pop();
            after.push(Statement::Return(Some(both)));
        } else {
            after.extend(statement);
        }
        next = follows;
    }
    after.reverse();
    after
}

/// Returns what is left of a statement.
fn shortened(statement: Statement, place: &Place) -> Option<Statement> {
    match statement {
        Statement::Goto(block) if place.next.contains(&block) => None,
        Statement::Goto(block) => Some(match &place.around {
            Some((head, _)) if *head == block => Statement::Continue,
            Some((_, after)) if after.contains(&block) => Statement::Break,
            Some(_) | None => Statement::Goto(block),
        }),
        Statement::If { condition, unlikely, then, otherwise } => {
            let (then, otherwise) = (shorten(then, place), shorten(otherwise, place));
            match (then.is_empty(), otherwise.is_empty()) {
                (true, true) => None,
                (true, false) => {
                    let condition = condition.negated();
                    Some(Statement::If {
                        condition,
                        unlikely: false,
                        then: otherwise,
                        otherwise: then,
                    })
                }
                (false, _) => Some(Statement::If { condition, unlikely, then, otherwise }),
            }
        }
        Statement::Loop { head, body } => {
            let inner = Place { next: vec![head], around: Some((head, place.next.clone())) };
            Some(Statement::Loop { head, body: shorten(body, &inner) })
        }
        Statement::Line(_)
        | Statement::Assign { .. }
        | Statement::Evaluate(_)
        | Statement::Label(_)
        | Statement::Break
        | Statement::Continue
        | Statement::Return(_) => Some(statement),
    }
}

/// Writes an `if (b)` alone in an `if (a)` as `if (a && b)`.
fn merge(outer: &mut Expression, unlikely: &mut bool, then: &mut Vec<Statement>) {
    if let [Statement::If { condition, unlikely: seldom, then: inner, otherwise }] = &mut then[..]
        && otherwise.is_empty()
    {
        *outer = Expression::binary(Level::And, "&&", outer, condition);
        *unlikely |= *seldom;
        *then = std::mem::take(inner);
    }
}

/// Collects the targets of all `goto`s.
fn targets(list: &[Statement], found: &mut Vec<Block>) {
    for statement in list {
        match statement {
            Statement::Goto(block) => found.push(*block),
            Statement::If { then, otherwise, .. } => {
                targets(then, found);
                targets(otherwise, found);
            }
            Statement::Loop { body, .. } => targets(body, found),
            Statement::Line(_)
            | Statement::Assign { .. }
            | Statement::Evaluate(_)
            | Statement::Label(_)
            | Statement::Break
            | Statement::Continue
            | Statement::Return(_) => {}
        }
    }
}

/// Keeps the labels in a sorted list.
fn labels(list: Vec<Statement>, used: &[Block]) -> Vec<Statement> {
    let keep = |statement| match statement {
        Statement::Label(block) => used.binary_search(&block).ok().map(|_| statement),
        Statement::If { mut condition, mut unlikely, then, otherwise } => {
            let (mut then, otherwise) = (labels(then, used), labels(otherwise, used));
            if otherwise.is_empty() {
                merge(&mut condition, &mut unlikely, &mut then);
            }
            Some(Statement::If { condition, unlikely, then, otherwise })
        }
        Statement::Loop { head, body } => Some(Statement::Loop { head, body: labels(body, used) }),
        Statement::Line(_)
        | Statement::Assign { .. }
        | Statement::Evaluate(_)
        | Statement::Goto(_)
        | Statement::Break
        | Statement::Continue
        | Statement::Return(_) => Some(statement),
    };
    let mut kept: Vec<Statement> = Vec::with_capacity(list.len());
    for statement in list.into_iter().filter_map(keep).flat_map(select) {
        if !kept.last_mut().is_some_and(|last| join(last, &statement)) {
            kept.push(statement);
        }
    }
    kept
}

/// Writes `if (a) { if (b) goto c; x = y; } else { x = z; }` as `if (a && b) goto c; x = a ? y : z;`, where lines are
/// wide enough.
fn select(statement: Statement) -> Vec<Statement> {
    let Statement::If { condition, unlikely, then, otherwise } = &statement else {
        return vec![statement];
    };
    let [goto, Statement::Assign { name, value }] = &then[..] else { return vec![statement] };
    let [Statement::Assign { name: other, value: second }] = &otherwise[..] else {
        return vec![statement];
    };
    let Statement::If { condition: inner, unlikely: _, then: leave, otherwise: stay } = goto else {
        return vec![statement];
    };
    let leaves = matches!(leave[..], [Statement::Goto(_) | Statement::Return(_)]);
    let length = condition.text.len() + value.text.len() + second.text.len();
    if name != other || !leaves || !stay.is_empty() || condition.calls || length > LONGEST_CONDITION
    {
        return vec![statement];
    }
    let both = Expression::binary(Level::And, "&&", condition, inner);
    let mut first = condition.clone();
    if *unlikely {
        first = Expression::call(UNLIKELY, &[first]);
    }
    let value = Expression::select(&first, value, second);
    let leave = Statement::If {
        condition: both,
        unlikely: *unlikely,
        then: leave.clone(),
        otherwise: Vec::new(),
    };
    vec![leave, Statement::Assign { name: name.clone(), value }]
}

/// Writes `if (a) goto b; if (c) goto b;` as `if (a || c) goto b;`, where a line is wide enough.
fn join(first: &mut Statement, second: &Statement) -> bool {
    let (
        Statement::If { condition, unlikely, then, otherwise },
        Statement::If { condition: other, unlikely: seldom, then: next, otherwise: last },
    ) = (first, second)
    else {
        return false;
    };
    let ([Statement::Goto(to)], [Statement::Goto(next)]) = (&then[..], &next[..]) else {
        return false;
    };
    let is_short = condition.text.len() + other.text.len() <= LONGEST_CONDITION;
    // Compilers compute conditions that hold now and then together, which costs more than branches.
    let is_same = to == next && *unlikely && *seldom;
    let joins = is_same && is_short && otherwise.is_empty() && last.is_empty();
    if joins {
        *condition = Expression::binary(Level::Or, "||", condition, other);
    }
    joins
}
