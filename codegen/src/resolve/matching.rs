//! Resolves `match`: which arm has which type, and what is known in each.

use super::Located;
use super::body::{Action, Arm, Match};
use super::ids::ValueId;
use super::names::Meaning;
use super::order::receive_part;
use super::presence::Facts;
use super::statement::{Block, End};
use super::value::Source;
use crate::declaration::{self, Expr, Literal, ParamType};
use crate::error::Part;

/// Type of an arm; `None` for the arm of None.
type ArmType<'a> = Option<&'a ParamType>;

impl<'a> Block<'_, 'a> {
    /// Resolves statement number `index`, a `match`. Returns true if control does not continue after it.
    pub(super) fn match_type(
        &mut self,
        index: usize,
        value: &'a Expr,
        arms: &'a [declaration::Arm],
    ) -> Located<(Action<'a>, bool)> {
        let at = |reason| (Part::Statement(index), reason);
        let of = self.matched(value).map_err(at)?;
        let types = self.arm_types(of);
        check_arms(index, value, &types, arms)?;
        if let ParamType::Union(_) = self.names.values[of].ty {
            self.names.values[of].matched = true;
        }
        let changed = self.called;
        let (mut resolved, mut after) = (Vec::with_capacity(arms.len()), Vec::new());
        for (number, (ty, arm)) in types.into_iter().zip(arms).enumerate() {
            let at = |reason| (Part::Arm(index, number), reason);
            let is_none = ty.is_none();
            let (begin, outside) = (self.names.open_scope(), self.knowledge.clone());
            let mark = self.facts.mark();
            if !is_none && self.names.values[of].optional {
                self.facts.extend(Facts::there(of));
            }
            let value = self.arm_value(of, ty, arm).map_err(at)?;
            let body = self.block(&arm.body);
            self.names.close_scope(begin);
            outside.iter().for_each(|(symbol, known)| self.knowledge[symbol] = known.clone());
            let facts = self.facts.split_off(mark);
            let (body, end) = body?;
            after.extend((end != End::Unreachable).then_some(facts));
            resolved.push(Arm { is_none, value, body });
        }
        let left = after.is_empty();
        let both = after.into_iter().reduce(|one, other| one.either(&other));
        self.facts.extend(both.unwrap_or_default());
        Ok((Action::Match(Match { value: of, changed, arms: resolved }), left))
    }

    /// Returns the value that a `match` is about. Its type is a union or optional.
    fn matched(&self, value: &Expr) -> Result<ValueId, String> {
        let names = &self.names;
        let one = |of: &ValueId| !matches!(names.values[*of].source, Source::Rest(_));
        let found = names.value_of(value).filter(one);
        let Some(of) = found.filter(|&of| !self.arm_types(of).is_empty()) else {
            let what = match found {
                Some(of) => format!("which is of type `{}`", names.values[of].ty),
                None => "which is no value of its own".to_owned(),
            };
            return Err(format!(
                "`match` takes a union or an optional value, not `{value}`, {what}"
            ));
        };
        let outer = names.values[of].source.parent().and_then(|outer| names.values[outer].guard);
        match outer {
            Some(outer) => {
                let outer = &names.values[outer].path;
                Err(format!(
                    "`{value}` is not there where `{outer}` is None: match `{outer}` first"
                ))
            }
            None => Ok(of),
        }
    }

    /// Returns the types of the arms for a value; none if it has one type only.
    fn arm_types(&self, of: ValueId) -> Vec<ArmType<'a>> {
        let value = &self.names.values[of];
        let none = value.optional.then_some(None);
        if let ParamType::Union(types) = value.ty {
            return types.iter().map(Some).chain(none).collect();
        }
        if let ParamType::Literal(literals) = value.ty
            && literals.contains(&Literal::None)
        {
            return Vec::new();
        }
        none.map_or(Vec::new(), |none| vec![Some(value.ty), none])
    }

    /// Adds the value of an arm and defines its name. An arm without a name has a value only if its type has symbols,
    /// which the arm knows.
    fn arm_value(
        &mut self,
        of: ValueId,
        ty: ArmType<'a>,
        arm: &'a declaration::Arm,
    ) -> Result<Option<(ValueId, Vec<super::step::Step<'a>>)>, String> {
        let used = |ty: &&ParamType| arm.name.is_some() || !ty.exprs().is_empty();
        let Some(ty) = ty.filter(used) else { return Ok(None) };
        let path = self.names.values[of].path.clone();
        let received =
            receive_part(self.names, &mut self.knowledge, (of, path), ty, Source::Result);
        let received = received.map_err(|(_, reason)| reason)?;
        if let Some(name) = &arm.name {
            self.names.define(name, Meaning::Value(received.value))?;
        }
        Ok(Some((received.value, received.steps)))
    }
}

/// Checks that there is one arm for each type, in order.
fn check_arms(
    index: usize,
    value: &Expr,
    types: &[ArmType<'_>],
    arms: &[declaration::Arm],
) -> Located<()> {
    let spelled = |ty: ArmType<'_>| ty.map_or("None".to_owned(), ParamType::to_string);
    for (number, arm) in arms.iter().enumerate() {
        let found = spelled(arm.ty.as_ref());
        let reason = match types.get(number) {
            Some(ty) if spelled(*ty) == found => continue,
            Some(ty) => {
                format!("arm {number} of `{value}` is for `{}`, not `{found}`", spelled(*ty))
            }
            None => format!("`{value}` has {} types, which leaves none for this arm", types.len()),
        };
        return Err((Part::Arm(index, number), reason));
    }
    match types.get(arms.len()) {
        Some(ty) => {
            let reason = format!("`{value}` may be `{}`, for which there is no arm", spelled(*ty));
            Err((Part::Statement(index), reason))
        }
        None => Ok(()),
    }
}
