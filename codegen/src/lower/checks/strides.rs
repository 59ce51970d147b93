//! Declared strides. A tensor is usual if its strides are not NULL, no extent is 0, leading ones included, and every
//! extent whose stride has a rule is above 1. The strides of a usual tensor are loaded and checked. A cold block checks
//! other tensors: NULL means compact strides, and the stride of an extent of 1 or of an empty tensor is ignored.

use crate::declaration::{Dim, Expr};
use crate::ir::{Block, Cond, Type, Value};
use crate::lower::checks::binding::{self, Found};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::scope;
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::print::path;
use crate::resolve::step::{Linear, Place, Rule, Step};
use crate::trace::explain;

/// A dim and the rule of its stride.
type Stride<'a> = (usize, &'a Rule);

/// The dims whose extents are tested, each with the number that the extent of a usual tensor exceeds.
type Above = Vec<(usize, i64)>;

/// A symbol that strides bind, and the parameters of the block after them: its value and, if other occurrences mention
/// the symbol, its origin.
type Joined = (SymbolId, Value, Option<Value>);

/// Emits the checks of declared strides if the steps start with strides of a tensor that is not optional. Returns
/// the number of steps that it has emitted.
pub(super) fn declared_strides<'a>(c: &mut Checker<'a, '_>, steps: &'a [Step<'a>]) -> usize {
    let Some((value, _)) = steps.first().and_then(stride) else { return 0 };
    let same = steps.iter().map_while(stride).take_while(|(of, _)| *of == value);
    let strides: Vec<Stride<'a>> = same.map(|(_, stride)| stride).collect();
    let Some(above) = extents_above(c, value, &strides) else { return 0 };
    let [unusual, join] = [c.e.b.cold_block("unusual"), c.e.b.block("next")];
    let symbols = scope::unbound_in(c, &steps[..strides.len()]);
    let joined: Vec<Joined> = symbols.into_iter().map(|symbol| joined(c, symbol, join)).collect();
    // The shape is tested first, so that later tensors of the same shape can use the result.
    let pointer = c.e.tensor(value).strides_pointer();
    if c.e.tensor(value).has_free_leading_dims() {
        let leading = c.e.tensor(value).leading();
        let has_elements = c.e.b.compare_const(Cond::Ne, leading, 0);
        c.e.b.guard(has_elements, unusual);
    }
    let shape = require_usual(c, value, &above, unusual);
    let some = c.e.b.compare_const(Cond::Ne, pointer, 0);
    c.e.b.guard(some, unusual);
    let usual = joining(c, join, &joined, |c| {
        usual_declared(c, (value, pointer), &strides, shape);
    });
    c.e.b.switch_to(unusual);
    let unusual = joining(c, join, &joined, |c| unusual_declared(c, value, &strides));
    c.e.b.switch_to(join);
    let bound = usual.into_iter().zip(unusual);
    for ((symbol, known, origin), bound) in joined.into_iter().zip(bound) {
        let state = match (origin, bound) {
            (None, _) => SymbolState::Bound(known, Origin::UNNAMED),
            (Some(origin), (true, true)) => SymbolState::Bound(known, Origin::Computed(origin)),
            (Some(origin), _) => SymbolState::Maybe(known, origin),
        };
        c.e.known.set_symbol(symbol, state);
        if let (Some(shape), (true, false)) = (shape, bound) {
            c.shapes.bound.push((symbol, shape));
        }
    }
    strides.len()
}

/// Returns the extents that are tested. `None` if a tensor of this type is never usual, if no stride has a rule, or if
/// the tensor may be absent.
fn extents_above(c: &Checker<'_, '_>, value: ValueId, strides: &[Stride<'_>]) -> Option<Above> {
    let dims = c.e.function.tensor(value)?.shape.dims();
    let matters = |(_, rule): &&Stride<'_>| !matches!(rule, Rule::Any);
    strides.iter().find(matters).filter(|_| c.e.known.mask(value).is_none())?;
    let mut above = Vec::with_capacity(dims.len());
    for (dim, extent) in dims.iter().enumerate() {
        let least = i64::from(strides.iter().filter(matters).any(|(at, _)| *at == dim));
        match extent {
            Dim::Expr(Expr::Int(known)) if *known <= least => return None,
            Dim::Expr(Expr::Int(_)) => {}
            Dim::Expr(_) | Dim::Any => above.push((dim, least)),
        }
    }
    Some(above)
}

/// Branches to `unusual` unless the extents are those of a usual tensor. Returns the index of the shape in
/// `shapes.tested`; `None` if the shape has no key.
fn require_usual(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    above: &Above,
    unusual: Block,
) -> Option<usize> {
    let key = shape_of(c, value, above);
    let tested = &c.shapes.tested;
    let known = key.as_ref().and_then(|key| tested.iter().position(|(known, _)| known == key));
    if let Some(known) = known {
        let usual = tested[known].1;
        let function = c.e.function;
        explain!(
            "{}: {} is usual if an earlier tensor of its shape is: the extents are not tested again",
            function.declared.signature.name,
            path(&function.values[value].path),
        );
        c.e.b.guard(usual, unusual);
        return Some(known);
    }
    let mut all = None;
    for &(dim, least) in above {
        let extent = c.e.tensor(value).extent(dim);
        let is_above = c.e.b.compare_const(Cond::Sgt, extent, least);
        if key.is_none() {
            c.e.b.guard(is_above, unusual);
        } else {
            all = Some(all.map_or(is_above, |all| c.e.b.and(all, is_above)));
        }
    }
    let (key, all) = (key?, all?);
    c.e.b.guard(all, unusual);
    c.shapes.tested.push((key, all));
    Some(c.shapes.tested.len() - 1)
}

/// Returns the key of a shape: the symbols that the tested extents equal, each with the number to exceed. `None` if
/// an extent equals no symbol, or if not every call makes the test.
fn shape_of(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    above: &Above,
) -> Option<Vec<(SymbolId, i64)>> {
    // Free leading dims may be empty, so that equal extents do not make a tensor usual.
    if !c.e.is_once(value) || c.e.tensor(value).has_free_leading_dims() {
        return None;
    }
    let symbols = &c.e.known.tensor(value).symbols;
    let symbol = |dim: usize| symbols.iter().find(|(at, _)| *at == dim);
    let key = above.iter().map(|&(dim, least)| symbol(dim).map(|&(_, symbol)| (symbol, least)));
    let mut key: Vec<_> = key.collect::<Option<_>>()?;
    key.sort_unstable();
    Some(key)
}

/// Emits the checks of the strides of a usual tensor. A symbol that an earlier usual tensor of the same shape has
/// bound is known to be bound.
fn usual_declared(
    c: &mut Checker<'_, '_>,
    (value, pointer): (ValueId, Value),
    strides: &[Stride<'_>],
    shape: Option<usize>,
) {
    for &(dim, rule) in strides.iter().filter(|(_, rule)| !matches!(rule, Rule::Any)) {
        let place = Place::Stride { value, dim };
        let outside = c.e.begin_topic(place.topic());
        let loaded = c.e.b.load(Type::I64, pointer, 8 * dim as i32);
        let hint = c.e.hint(value, "strides", Some(dim));
        c.e.b.hint(loaded, hint);
        if let Rule::Symbol(symbol) | Rule::Solve { symbol, .. } = rule
            && let SymbolState::Maybe(known, origin) = c.e.known.symbol(*symbol)
            && shape.is_some_and(|shape| c.shapes.bound.contains(&(*symbol, shape)))
        {
            c.e.known.set_symbol(*symbol, SymbolState::Bound(known, Origin::Computed(origin)));
        }
        binding::check_number(c, &Found { place, value: loaded, counts: None }, rule);
        c.e.b.set_topic(outside);
    }
}

/// Emits the checks of the strides of a tensor that is not usual. A symbol that no other occurrence mentions is bound
/// to its compact value at once.
fn unusual_declared(c: &mut Checker<'_, '_>, value: ValueId, strides: &[Stride<'_>]) {
    for &(dim, rule) in strides {
        binding::occurrence(c, Place::Stride { value, dim }, rule);
    }
    for &(dim, rule) in strides {
        let (symbol, linear) = match rule {
            Rule::Symbol(symbol) => (*symbol, &Linear::identity(*symbol)),
            Rule::Solve { symbol, linear, .. } => (*symbol, linear),
            Rule::Any | Rule::Equal { .. } => continue,
        };
        if c.e.function.symbols[symbol].is_alone() {
            binding::settle_symbol(c, symbol, Place::Stride { value, dim }, linear);
        }
    }
}

/// Adds the parameters of a symbol to the block after the strides.
fn joined(c: &mut Checker<'_, '_>, symbol: SymbolId, join: Block) -> Joined {
    let value = scope::carried(c, join, symbol, "");
    let is_alone = c.e.function.symbols[symbol].is_alone();
    (symbol, value, (!is_alone).then(|| scope::carried(c, join, symbol, "origin")))
}

/// Emits the code of `body` and a jump to the block after the strides, which passes the symbols. Returns for each
/// symbol whether `body` binds it in every call.
fn joining(
    c: &mut Checker<'_, '_>,
    join: Block,
    joined: &[Joined],
    body: impl FnOnce(&mut Checker<'_, '_>),
) -> Vec<bool> {
    let before = c.e.known.mark();
    body(c);
    let mut args = Vec::with_capacity(2 * joined.len());
    for &(symbol, _, told) in joined {
        let [value, origin] = scope::carry_one(c, symbol);
        args.push(value);
        args.extend(told.map(|_| origin));
    }
    c.e.b.jump(join, &args);
    let bound = joined.iter().map(|&(symbol, ..)| c.e.known.symbol(symbol).is_bound()).collect();
    c.e.known.go_back(before);
    bound
}

/// Returns the tensor, the dim and the rule of a step that checks a stride.
fn stride<'a>(step: &'a Step<'_>) -> Option<(ValueId, Stride<'a>)> {
    if let Step::Occurrence { place: Place::Stride { value, dim }, rule } = step {
        Some((*value, (*dim, rule)))
    } else {
        None
    }
}
