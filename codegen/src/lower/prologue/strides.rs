//! Declared strides. A tensor is usual if its strides are not NULL, no extent is 0, leading ones included, and every extent whose stride has a
//! rule is above 1. The strides of a usual tensor are loaded and checked. A cold block checks other tensors: NULL means
//! compact strides, and the stride of an extent of 1 or of an empty tensor is ignored.

use crate::declaration::{Dim, Expr};
use crate::ir::{Block, Cond, Type, Value};
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::lower::prologue::binding::Found;
use crate::lower::wrapper::Wrapper;
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::step::{Linear, Place, Rule, Step};

/// A dim and the rule of its stride.
type Stride<'a> = (usize, &'a Rule);

/// The dims whose extents are tested, each with the number that the extent of a usual tensor exceeds.
type Above = Vec<(usize, i64)>;

/// A symbol that strides bind, and the parameters of the block after them: its value and, if other occurrences mention
/// the symbol, its origin.
type Joined = (SymbolId, Value, Option<Value>);

impl<'a> Wrapper<'a, '_> {
    /// Emits the checks of declared strides if the steps start with strides of a tensor that is not optional. Returns
    /// the number of steps that it has emitted.
    pub(crate) fn declared_strides(&mut self, steps: &'a [Step<'a>]) -> usize {
        let Some((value, _)) = steps.first().and_then(stride) else { return 0 };
        let same = steps.iter().map_while(stride).take_while(|(of, _)| *of == value);
        let strides: Vec<Stride<'a>> = same.map(|(_, stride)| stride).collect();
        let Some(above) = self.extents_above(value, &strides) else { return 0 };
        let [unusual, join] = [self.b.cold_block("unusual"), self.b.block("next")];
        let symbols = self.unbound_in(&steps[..strides.len()]);
        let joined: Vec<Joined> =
            symbols.into_iter().map(|symbol| self.joined(symbol, join)).collect();
        // The shape is tested first, so that later tensors of the same shape can use the result.
        let pointer = self.strides_pointer(value);
        if self.has_free_leading_dims(value) {
            let leading = self.leading(value);
            let has_elements = self.b.compare_const(Cond::Ne, leading, 0);
            self.b.guard(has_elements, unusual);
        }
        let shape = self.require_usual(value, &above, unusual);
        let some = self.b.compare_const(Cond::Ne, pointer, 0);
        self.b.guard(some, unusual);
        let usual = self.joining(join, &joined, |w| {
            w.usual_declared((value, pointer), &strides, shape);
        });
        self.b.switch_to(unusual);
        let unusual = self.joining(join, &joined, |w| w.unusual_declared(value, &strides));
        self.b.switch_to(join);
        let bound = usual.into_iter().zip(unusual);
        for ((symbol, known, origin), bound) in joined.into_iter().zip(bound) {
            self.symbols[symbol] = match (origin, bound) {
                (None, _) => SymbolState::Bound(known, Origin::UNNAMED),
                (Some(origin), (true, true)) => SymbolState::Bound(known, Origin::Told(origin)),
                (Some(origin), _) => SymbolState::Maybe(known, origin),
            };
            if let (Some(shape), (true, false)) = (shape, bound) {
                self.shapes.bound.push((symbol, shape));
            }
        }
        strides.len()
    }

    /// Returns the extents that are tested. `None` if a tensor of this type is never usual, if no stride has a rule, or if
    /// the tensor may be absent.
    fn extents_above(&self, value: ValueId, strides: &[Stride<'_>]) -> Option<Above> {
        let dims = self.function.tensor(value)?.shape.dims();
        let matters = |(_, rule): &&Stride<'_>| !matches!(rule, Rule::Any);
        strides.iter().find(matters).filter(|_| self.mask(value).is_none())?;
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
    fn require_usual(&mut self, value: ValueId, above: &Above, unusual: Block) -> Option<usize> {
        let key = self.shape_of(value, above);
        let tested = &self.shapes.tested;
        let known = key.as_ref().and_then(|key| tested.iter().position(|(known, _)| known == key));
        if let Some(known) = known {
            let usual = tested[known].1;
            self.b.guard(usual, unusual);
            return Some(known);
        }
        let mut all = None;
        for &(dim, least) in above {
            let extent = self.extent(value, dim);
            let is_above = self.b.compare_const(Cond::Sgt, extent, least);
            if key.is_none() {
                self.b.guard(is_above, unusual);
            } else {
                all = Some(all.map_or(is_above, |all| self.b.and(all, is_above)));
            }
        }
        let (key, all) = (key?, all?);
        self.b.guard(all, unusual);
        self.shapes.tested.push((key, all));
        Some(self.shapes.tested.len() - 1)
    }

    /// Returns the key of a shape: the symbols that the tested extents equal, each with the number to exceed. `None` if
    /// an extent equals no symbol, or if not every call makes the test.
    fn shape_of(&mut self, value: ValueId, above: &Above) -> Option<Vec<(SymbolId, i64)>> {
        // Free leading dims may be empty, so that equal extents do not make a tensor usual.
        if !self.is_once(value) || self.has_free_leading_dims(value) {
            return None;
        }
        let symbols = &self.tensor_state(value).symbols;
        let symbol = |dim: usize| symbols.iter().find(|(at, _)| *at == dim);
        let key = above.iter().map(|&(dim, least)| symbol(dim).map(|&(_, symbol)| (symbol, least)));
        let mut key: Vec<_> = key.collect::<Option<_>>()?;
        key.sort_unstable();
        Some(key)
    }

    /// Emits the checks of the strides of a usual tensor. A symbol that an earlier usual tensor of the same shape has
    /// bound is known to be bound.
    fn usual_declared(
        &mut self,
        (value, pointer): (ValueId, Value),
        strides: &[Stride<'_>],
        shape: Option<usize>,
    ) {
        for &(dim, rule) in strides.iter().filter(|(_, rule)| !matches!(rule, Rule::Any)) {
            let loaded = self.b.load(Type::I64, pointer, 8 * dim as i32);
            let hint = self.hint(value, "strides", Some(dim));
            self.b.hint(loaded, hint);
            if let Rule::Symbol(symbol) | Rule::Solve { symbol, .. } = rule
                && let SymbolState::Maybe(known, origin) = self.symbols[*symbol]
                && shape.is_some_and(|shape| self.shapes.bound.contains(&(*symbol, shape)))
            {
                self.symbols[*symbol] = SymbolState::Bound(known, Origin::Told(origin));
            }
            let place = Place::Stride { value, dim };
            self.check_number(&Found { place, value: loaded, counts: None }, rule);
        }
    }

    /// Emits the checks of the strides of a tensor that is not usual. A symbol that no other occurrence mentions is bound to
    /// its compact value at once.
    fn unusual_declared(&mut self, value: ValueId, strides: &[Stride<'_>]) {
        for &(dim, rule) in strides {
            self.occurrence(Place::Stride { value, dim }, rule);
        }
        for &(dim, rule) in strides {
            let (symbol, linear) = match rule {
                Rule::Symbol(symbol) => (*symbol, &Linear::identity(*symbol)),
                Rule::Solve { symbol, linear, .. } => (*symbol, linear),
                Rule::Any | Rule::Equal { .. } => continue,
            };
            if self.function.symbols[symbol].is_alone() {
                self.settle_symbol(symbol, Place::Stride { value, dim }, linear);
            }
        }
    }

    /// Adds the parameters of a symbol to the block after the strides.
    fn joined(&mut self, symbol: SymbolId, join: Block) -> Joined {
        let value = self.carried(join, symbol, "");
        let is_alone = self.function.symbols[symbol].is_alone();
        (symbol, value, (!is_alone).then(|| self.carried(join, symbol, "origin")))
    }

    /// Emits the code of `body` and a jump to the block after the strides, which passes the symbols. Returns for each
    /// symbol whether `body` binds it in every call.
    fn joining(
        &mut self,
        join: Block,
        joined: &[Joined],
        body: impl FnOnce(&mut Self),
    ) -> Vec<bool> {
        let before = self.mark();
        body(self);
        let mut args = Vec::with_capacity(2 * joined.len());
        for &(symbol, _, told) in joined {
            let [value, origin] = self.carry_one(symbol);
            args.push(value);
            args.extend(told.map(|_| origin));
        }
        self.b.jump(join, &args);
        let bound = joined.iter().map(|&(symbol, ..)| self.symbols[symbol].is_bound()).collect();
        self.go_back(before);
        bound
    }
}

/// Returns the tensor, the dim and the rule of a step that checks a stride.
fn stride<'a>(step: &'a Step<'_>) -> Option<(ValueId, Stride<'a>)> {
    if let Step::Occurrence { place: Place::Stride { value, dim }, rule } = step {
        Some((*value, (*dim, rule)))
    } else {
        None
    }
}
