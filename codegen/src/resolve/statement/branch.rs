//! Resolves `if`.

use super::{Block, End};
use crate::declaration;
use crate::error::Part;
use crate::resolve::Located;
use crate::resolve::body::{Action, Branch};
use crate::resolve::presence::Facts;

/// What holds where a branch ends, and how control leaves it.
struct After {
    facts: Facts,
    end: End,
}

impl After {
    /// Returns what holds after either of two branches.
    fn or(self, other: After) -> After {
        match (self.end, other.end) {
            (End::Unreachable, _) => other,
            (_, End::Unreachable) => self,
            (end @ (End::Empty | End::After(_)), End::Empty | End::After(_)) => {
                After { facts: self.facts.either(&other.facts), end }
            }
        }
    }
}

impl<'a> Block<'_, 'a> {
    /// Resolves statement number `index`, an `if`. Returns true too if no block reaches its end.
    ///
    /// A condition is evaluated only where those before it do not hold.
    pub(super) fn choose(
        &mut self,
        index: usize,
        branches: &'a [declaration::Branch],
        otherwise: &'a [declaration::Statement],
    ) -> Located<(Option<Action<'a>>, bool)> {
        let mut resolved = Vec::with_capacity(branches.len());
        let mut ends = Vec::with_capacity(branches.len());
        for (number, branch) in branches.iter().enumerate() {
            let at = |reason| (Part::branch(index, number), reason);
            let look_ups = match number {
                0 => Vec::new(),
                _ => self.look_up_condition(&branch.condition).map_err(at)?,
            };
            let (condition, follows) = self.truth(&branch.condition).map_err(at)?;
            let mark = self.facts.mark();
            self.facts.extend(follows.holds);
            let (body, end) = self.block(&branch.body)?;
            ends.push((mark, After { facts: self.facts.split_off(mark), end }));
            self.facts.extend(follows.fails);
            resolved.push(Branch { look_ups, condition, body });
        }
        let (otherwise, mut last) = self.block(otherwise)?;
        for (mark, end) in ends.into_iter().rev() {
            let after = After { facts: self.facts.split_off(mark), end: last };
            let both = end.or(after);
            self.facts.extend(both.facts);
            last = both.end;
        }
        let action = Action::If { branches: resolved, otherwise };
        Ok((Some(action), last == End::Unreachable))
    }
}
