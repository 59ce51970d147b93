//! Types of results that a call does not write: that of the callee, in the words of the caller.
//!
//! A symbol of the callee stands for what its arguments say of it: the extent that the caller declares of the tensor
//! that it passes, or the number itself. Extents of which the arguments say nothing may be any.

use rustc_hash::FxHashMap;

use super::Explained;
use super::ids::Home;
use super::knowledge::Known;
use super::names::Meaning;
use super::statement::Block;
use super::well_formed::deeper_than;
use super::words;
use crate::declaration::limit::Limit;
use crate::declaration::reserved::spelled;
use crate::declaration::{
    Call, Dim, Element, Expr, FunctionCall, FunctionRef, Local, Member, ParamType, ResultType,
    Shape, Signature, Strides, Tensor,
};

impl<'a> Block<'_, 'a> {
    /// Returns the type of the result of a call: the written one, else that of the callee.
    pub(super) fn result_type(&self, result: &'a Local, call: &Call) -> Explained<&'a ParamType> {
        if let Some(ty) = &result.ty {
            return Ok(ty);
        }
        let name = spelled(&result.name);
        let callee = match call {
            Call::Function(FunctionCall { callee: FunctionRef::Symbol(callee), args, .. }) => {
                self.items.functions.get(&callee[..]).map(|callee| (&callee.signature, args))
            }
            Call::Function(FunctionCall {
                callee: FunctionRef::Name(_) | FunctionRef::Value(_),
                ..
            })
            | Call::Kernel(_) => None,
        };
        let Some((signature, args)) = callee else {
            return Err(format!(
                "only a function of this library says what it returns: write the type, `let {name}: … = {call}`"
            ));
        };
        let mut ty = returned(signature)
            .ok_or_else(|| format!("`{}` returns nothing that could be named", signature.name))?;
        Words::new(self, signature, args).translate(&mut ty);
        Ok(result.inferred.keep(ty))
    }

    /// Returns the type of the tensor that an argument names.
    fn tensor_named(&self, arg: &Expr) -> Option<&Tensor> {
        let value = self.names.value_of(arg);
        let home =
            value.map(Home::Value).or_else(|| self.names.output_of(arg).map(Home::Output))?;
        self.names.tensor_of(home)
    }

    /// Returns true for an expression whose symbols are known here in every call.
    fn is_extent(&self, expr: &Expr) -> bool {
        let mut known = true;
        expr.names(&mut |name| {
            let symbol = self.names.meaning(name);
            known &=
                matches!(symbol, Some(Meaning::Symbol(of)) if self.knowledge[of] == Known::Always);
        });
        known
    }
}

/// Returns the type of what a function returns, in its own words; `None` for None.
fn returned(signature: &Signature) -> Option<ParamType> {
    match &signature.result {
        ResultType::None => None,
        ResultType::Value(ty) => Some(ty.clone()),
        ResultType::Allocated(outputs) => match &outputs[..] {
            [output] => Some(output.tensor.clone().into()),
            outputs => Some(ParamType::tuple(outputs.iter().map(|output| Element {
                name: (!Member::is_name(&output.name)).then(|| output.name.clone()),
                ty: output.tensor.clone().into(),
            }))),
        },
    }
}

/// What the arguments of a call say of the symbols of the callee.
struct Words<'s> {
    signature: &'s Signature,
    /// Extents by the names of the callee.
    extents: FxHashMap<&'s str, Expr>,
    /// Tensors of the caller that have the element types which the callee has names for.
    dtypes: FxHashMap<&'s str, &'s Tensor>,
}

impl<'s> Words<'s> {
    fn new(block: &'s Block<'_, '_>, signature: &'s Signature, args: &'s [Expr]) -> Words<'s> {
        let mut words =
            Words { signature, extents: FxHashMap::default(), dtypes: FxHashMap::default() };
        for (param, arg) in signature.arguments().iter().zip(args) {
            if let ParamType::Scalar(scalar) = &param.ty
                && scalar.is_int()
                && matches!(arg, Expr::Int(_) | Expr::Name(_))
                && block.is_extent(arg)
            {
                words.extents.insert(&param.name, arg.clone());
            }
            let ParamType::Tensor(own) = &param.ty else { continue };
            let Some(given) = block.tensor_named(arg) else { continue };
            if let (Shape::Dims(own), Shape::Dims(given)) = (&own.shape, &given.shape) {
                let named = own.iter().zip(given).filter_map(|(own, given)| match (own, given) {
                    (Dim::Expr(Expr::Name(name)), Dim::Expr(extent)) => Some((name, extent)),
                    (Dim::Any | Dim::Expr(_), Dim::Any | Dim::Expr(_)) => None,
                });
                for (name, extent) in named.filter(|(_, extent)| block.is_extent(extent)) {
                    words.extents.entry(name).or_insert_with(|| extent.clone());
                }
            }
            if let Some(symbol) = own.bound_symbol() {
                words.dtypes.insert(symbol, given);
            }
        }
        words
    }

    /// Replaces the words of the callee in a type.
    fn translate(&self, ty: &mut ParamType) {
        match ty {
            ParamType::Scalar(_)
            | ParamType::Leaf(_)
            | ParamType::Object(_)
            | ParamType::Literal(_) => {}
            ParamType::Tensor(tensor) => self.tensor(tensor),
            ParamType::Shape(shape) => self.shape(shape),
            ParamType::Sequence(_, of) | ParamType::Optional(of) => self.translate(of),
            ParamType::Mapping(_, types) => types.iter_mut().for_each(|ty| self.translate(ty)),
            ParamType::Tuple(elements) => {
                elements.iter_mut().for_each(|element| self.translate(&mut element.ty));
            }
            ParamType::Union(types) => types.iter_mut().for_each(|ty| self.translate(ty)),
        }
    }

    fn tensor(&self, tensor: &mut Tensor) {
        if tensor.shape.folds() {
            tensor.strides = Strides::Any;
        }
        self.shape(&mut tensor.shape);
        if let Strides::List(dims) = &mut tensor.strides {
            self.dims(dims);
        }
        let Some(symbol) = tensor.used_symbol() else { return };
        let of = self.dtypes.get(symbol).copied().unwrap_or(self.signature.listing(tensor));
        // A tensor of the caller has its own name for its element type.
        let is_callers = self.dtypes.contains_key(symbol);
        let symbol = of.dtype_symbol.clone().filter(|_| is_callers);
        if symbol.is_none() {
            (tensor.dtypes, tensor.any_dtype) = (of.dtypes.clone(), of.any_dtype);
        }
        tensor.dtype_symbol = symbol;
    }

    fn shape(&self, shape: &mut Shape) {
        match shape {
            Shape::AnyRank => {}
            Shape::Dims(dims) | Shape::Trailing { folds: false, dims } => self.dims(dims),
            Shape::Trailing { folds: true, dims } if dims.len() < 2 => *shape = Shape::AnyRank,
            Shape::Trailing { folds, dims } => {
                // The product of the leading extents is a symbol of the callee.
                *folds = false;
                dims.remove(0);
                self.dims(dims);
            }
        }
    }

    fn dims(&self, dims: &mut [Dim]) {
        for dim in dims {
            if let Dim::Expr(expr) = dim {
                let known = words::replaced(expr, &self.extents);
                let known = known.filter(|extent| !deeper_than(extent, Limit::Nesting.max()));
                *dim = known.map_or(Dim::Any, Dim::Expr);
            }
        }
    }
}
