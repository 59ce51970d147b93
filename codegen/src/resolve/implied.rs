//! Checks of a function of the library that the declaration of its caller implies. A call whose arguments pass all of
//! them enters the function behind its checks.
//!
//! The types of both are compared as they are written, after the symbols of the callee are replaced by what the caller
//! says of them. Whatever cannot be told so is checked by the call.

use std::borrow::Cow;

use abi_spec::{DType, DeviceType, Scalar};
use rustc_hash::FxHashMap;

use super::body::{Callee, Packed, PackedCall, Plain};
use super::c_type::abi_type;
use super::ids::{Home, ValueId};
use super::knowledge::Known;
use super::names::Meaning;
use super::statement::Block;
use super::value::{self, Source};
use super::{into, words};
use crate::declaration::{
    self, Device, Dim, Expr, Literal, Member, Param, ParamType, ResultType, Shape, Signature,
    Strides, Tensor,
};
use crate::ir::{self, AbiType};
use crate::trace::explain;

/// Largest number of statements of a function that has a second body behind its checks. In a longer one the checks are
/// a small part of a call.
const MAX_STATEMENTS: usize = 8;

impl<'a> Block<'_, 'a> {
    /// Makes a call enter a function of this library behind its checks if the arguments are known to pass them. `given`
    /// are the arguments as they are written, then the tensors to write.
    pub(super) fn enter(&self, call: &mut PackedCall<'a>, args: &[Expr], tensors: &[Expr]) {
        let Callee::Symbol { name, entry: Some(entry) } = &mut call.callee else { return };
        let declared = self.items.functions[*name];
        let derived = if entry.into { into::declaration(declared).ok() } else { Some(declared) };
        let Some(callee) = derived.filter(|callee| self.is_short(callee)) else { return };
        let omitted = into::omitted(&declared.signature, args.len());
        let defaults = declared.signature.arguments().iter().skip(args.len());
        let defaults = defaults.filter_map(|param| param.default.as_ref()).map(number);
        let args_of_call = call.args[..args.len()].iter().chain(&omitted);
        let tensors_of_call = &call.args[call.args.len() - tensors.len()..];
        let written = args.iter().cloned().map(Some).chain(defaults);
        let written = written.chain(tensors.iter().cloned().map(Some));
        let given = written.zip(args_of_call.chain(tensors_of_call));
        if Implied::new(self, &callee.signature).all(given) {
            let caller = &self.names.function.signature.name;
            explain!("{caller}: @{name} is entered behind its checks, which the arguments pass");
            entry.checked = true;
            call.values = signature_of_values(callee);
            if !entry.into {
                call.args.extend(omitted);
            }
        }
    }

    /// Returns true if a function has a second body behind its checks. What a closure holds has been checked when lists
    /// were what they were then, so that calls of closures enter nothing.
    fn is_short(&self, callee: &declaration::Function) -> bool {
        let makes =
            callee.body.statements().any(|statement| !statement.kind.functions().is_empty());
        let is_variadic = callee.signature.most().is_none();
        let short = callee.body.statements().count() <= MAX_STATEMENTS;
        short && !makes && !is_variadic && !self.names.is_closure
    }
}

/// Returns the type of the code of a function behind its checks if it takes values instead of an array of arguments:
/// its parameters are tensors and numbers, and its body neither hands one on as a value of the FFI nor asks for its
/// object.
pub(crate) fn signature_of_values(function: &declaration::Function) -> Option<ir::Signature> {
    let hands_on = function.body.statements().any(|statement| statement.kind.hands_on());
    if hands_on || function.body.asks_object() {
        return None;
    }
    let of = |param: &Param| match &param.ty {
        ParamType::Tensor(_) => Some(AbiType::from(ir::Type::Ptr)),
        ParamType::Scalar(scalar) => Some(abi_type(*scalar)),
        ParamType::Leaf(_)
        | ParamType::Object(_)
        | ParamType::Literal(_)
        | ParamType::Shape(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Union(_)
        | ParamType::Optional(_) => None,
    };
    let params = function.signature.arguments().iter().map(of).collect::<Option<Vec<_>>>()?;
    let result = function.signature.result != ResultType::None;
    let params = params.into_iter().chain(result.then(|| AbiType::from(ir::Type::Ptr))).collect();
    Some(ir::Signature { params, result: Some(ir::Type::I32.into()), reads: Box::default() })
}

/// The element type of a tensor of the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dtype<'s> {
    /// This one.
    One(DType),
    /// The one that the caller has a name for.
    Named(&'s str),
    /// The element type of the argument with this index.
    Of(usize),
}

/// A tensor of the caller.
struct CallerTensor<'s> {
    tensor: &'s Tensor,
    dtype: Dtype<'s>,
    /// Element types that it may have; `None` for any.
    accepted: Option<Vec<DType>>,
    /// Alignment of its first element in bytes.
    align: u64,
    device: Device,
    /// True if the caller has compared its device with those of all other such tensors.
    compared: bool,
}

/// Comparison of a call with the signature of the callee.
struct Implied<'s, 'n, 'a> {
    block: &'s Block<'n, 'a>,
    signature: &'s Signature,
    /// Symbols and scalar parameters of the callee in the words of the caller.
    words: FxHashMap<&'s str, Expr>,
    /// Element types that the callee has names for.
    dtypes: FxHashMap<&'s str, Dtype<'a>>,
    /// Tensors of the callee that are on no known CPU, and whether the caller has compared their devices.
    compared: Vec<bool>,
}

impl<'s, 'n, 'a> Implied<'s, 'n, 'a> {
    fn new(block: &'s Block<'n, 'a>, signature: &'s Signature) -> Self {
        let (words, dtypes) = (FxHashMap::default(), FxHashMap::default());
        Implied { block, signature, words, dtypes, compared: Vec::new() }
    }

    /// Returns true if the arguments pass all checks. Each stands after the expression that it is written as; a default
    /// that is no number is not.
    fn all<'p>(mut self, given: impl Iterator<Item = (Option<Expr>, &'p Packed<'a>)>) -> bool
    where
        'a: 'p,
    {
        let params = self.signature.arguments().iter().enumerate();
        let mut all = params.zip(given);
        let passed =
            all.all(|((index, param), (expr, packed))| self.argument((index, param), expr, packed));
        let devices = self.compared.len() < 2 || self.compared.iter().all(|&compared| compared);
        passed && devices && self.signature.constraints.iter().all(|one| self.holds(&one.condition))
    }

    /// Returns true if an argument passes the checks of its parameter. Learns what its symbols stand for.
    fn argument(
        &mut self,
        (index, param): (usize, &'s Param),
        expr: Option<Expr>,
        packed: &Packed<'a>,
    ) -> bool {
        let (required, optional) = param.ty.required();
        match required {
            ParamType::Tensor(tensor) => {
                if let Packed::Plain(Plain::None) = packed {
                    return optional && self.knows_all(tensor);
                }
                let Some((expr, given)) = expr.zip(self.tensor_given(index, packed)) else {
                    return false;
                };
                // Symbols that an optional tensor determines may be unknown in the callee.
                (!optional || self.knows_all(tensor)) && self.tensor(tensor, &expr, given)
            }
            // It may be above `int64`, which the callee may refuse.
            ParamType::Scalar(Scalar::Uint64) => false,
            ParamType::Scalar(scalar) => {
                let passes =
                    self.is_scalar(*scalar, packed) || self.block.is_known_to_be(packed, &param.ty);
                passes && self.number_passes(param, *scalar, optional, expr)
            }
            ParamType::Leaf(_) | ParamType::Object(_) | ParamType::Literal(_) => {
                self.block.is_known_to_be(packed, &param.ty)
            }
            // Lists and dicts may change, and numbers of shapes are symbols.
            ParamType::Shape(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Tuple(_)
            | ParamType::Union(_)
            | ParamType::Optional(_) => false,
        }
    }

    /// Returns true for an integer that every `int64` parameter takes.
    fn is_scalar(&self, scalar: Scalar, packed: &Packed<'a>) -> bool {
        let Packed::Plain(Plain::Value(value)) = packed else { return false };
        let value = &self.block.names.values[*value];
        let narrow = value.ty.scalar().is_some_and(|of| of.is_int() && of != Scalar::Uint64);
        scalar == Scalar::Int64 && narrow && !value.optional
    }

    /// Compares an integer that is a symbol of the callee, or learns what the symbol stands for.
    fn number_passes(
        &mut self,
        param: &'s Param,
        scalar: Scalar,
        optional: bool,
        expr: Option<Expr>,
    ) -> bool {
        let Some(expr) = expr.filter(|expr| self.is_settled(expr)) else {
            return !self.signature.exprs().any(|one| one.mentions(&param.name));
        };
        if optional || !scalar.is_int() {
            self.words.insert(&param.name, expr);
            return true;
        }
        self.stands_for(&param.name, expr)
    }

    /// Returns true if a symbol stands for a number of the caller. An unknown symbol does from now on.
    fn stands_for(&mut self, symbol: &'s str, number: Expr) -> bool {
        match self.words.get(symbol) {
            Some(known) => *known == number,
            None => {
                self.words.insert(symbol, number);
                true
            }
        }
    }

    /// Returns true if every name in the type of a tensor is known.
    fn knows_all(&self, tensor: &Tensor) -> bool {
        let strides = tensor.strides.dims().iter().filter_map(Dim::expr);
        let mut known = tensor.dtype_symbol.is_none();
        for expr in tensor.extents().chain(strides) {
            expr.names(&mut |name| known &= self.words.contains_key(name));
        }
        known
    }

    /// Returns true if an expression of the caller has one value in all of the current scope.
    fn is_settled(&self, expr: &Expr) -> bool {
        let mut settled = true;
        expr.names(&mut |name| {
            settled &= match self.block.names.meaning(name) {
                Some(Meaning::Symbol(symbol)) => self.block.knowledge[symbol] == Known::Always,
                Some(Meaning::Local(_) | Meaning::Value(_) | Meaning::Output(_)) => true,
                Some(Meaning::Map(_) | Meaning::Dtype(_)) | None => false,
            };
        });
        settled
    }

    /// Returns what the caller declares of a tensor that it gives as an argument.
    fn tensor_given(&self, index: usize, packed: &Packed<'a>) -> Option<CallerTensor<'a>> {
        let names = &*self.block.names;
        let (tensor, listing, home): (&Tensor, _, _) = match packed {
            Packed::Plain(Plain::Value(value)) => {
                let declared = &names.values[*value];
                let fits = matches!(declared.source, Source::Argument(_) | Source::Result);
                let tensor = declared.tensor().filter(|_| fits && declared.guard.is_none())?;
                (tensor, value::listing(&names.values, *value)?, Home::Value(*value))
            }
            Packed::Plain(Plain::Output(output)) => {
                let declared = &names.outputs[*output];
                let Cow::Borrowed(tensor) = declared.tensor else { return None };
                let of = declared.dtype_of.and_then(|of| value::listing(&names.values, of));
                (tensor, of.unwrap_or(tensor), Home::Output(*output))
            }
            Packed::Plain(Plain::None | Plain::Term(_) | Plain::Text(_))
            | Packed::Array(_)
            | Packed::Function(_)
            | Packed::Shape(_) => return None,
        };
        let accepted = (!listing.any_dtype).then(|| listing.accepted());
        let dtype = match (&listing.dtype_symbol, accepted.as_deref()) {
            (Some(symbol), _) => Dtype::Named(symbol),
            (None, Some([one])) => Dtype::One(*one),
            (None, _) => Dtype::Of(index),
        };
        let (device, of) = names.device_of(home);
        let is_param = |value: ValueId| matches!(names.values[value].source, Source::Argument(_));
        let compared = matches!(of, Home::Value(value) if is_param(value));
        let align = tensor.align.or_else(|| listing.natural_alignment()).unwrap_or(1);
        Some(CallerTensor { tensor, dtype, accepted, align, device, compared })
    }

    /// Returns true if a tensor, written as `expr`, passes the checks of a type.
    fn tensor(&mut self, ty: &'s Tensor, expr: &Expr, given: CallerTensor<'a>) -> bool {
        let CallerTensor { tensor, dtype, accepted, align, device, compared } = given;
        if device != Device::Type(DeviceType::CPU) {
            self.compared.push(compared);
        }
        let listing = self.signature.listing(ty);
        let least = ty.align.or_else(|| listing.natural_alignment()).unwrap_or(1);
        let takes = listing.accepted();
        let takes_all = |accepted: Vec<DType>| accepted.iter().all(|dtype| takes.contains(dtype));
        let strides = match (&ty.strides, &tensor.strides) {
            (Strides::Any, _) | (Strides::Contiguous, Strides::Contiguous) => true,
            (Strides::Contiguous | Strides::List(_), _) => false,
        };
        strides
            && (ty.device == Device::Any || ty.device == device)
            && least <= align
            && (listing.any_dtype || accepted.is_some_and(takes_all))
            && self.dtype_passes(ty, dtype)
            && self.shape(&ty.shape, &tensor.shape, expr)
    }

    /// Compares the element type of a tensor with the one that the callee has a name for, or learns it.
    fn dtype_passes(&mut self, ty: &'s Tensor, dtype: Dtype<'a>) -> bool {
        match ty.dtype_symbol.as_deref() {
            Some(symbol) => *self.dtypes.entry(symbol).or_insert(dtype) == dtype,
            None => true,
        }
    }

    /// Returns true if the extents of a tensor, written as `expr`, pass the checks of a shape.
    fn shape(&mut self, shape: &'s Shape, given: &Shape, expr: &Expr) -> bool {
        let (Shape::Dims(dims), Shape::Dims(given)) = (shape, given) else {
            return *shape == Shape::AnyRank;
        };
        dims.len() == given.len()
            && dims.iter().zip(given).enumerate().all(|(index, (dim, given))| {
                let extent = match given {
                    Dim::Expr(extent) if self.is_settled(extent) => extent.clone(),
                    Dim::Expr(_) | Dim::Any => expr.member(Member::Shape(index as i32)),
                };
                match dim {
                    Dim::Any => true,
                    Dim::Expr(Expr::Name(symbol)) => self.stands_for(symbol, extent),
                    Dim::Expr(dim) => words::replaced(dim, &self.words) == Some(extent),
                }
            })
    }

    /// Returns true if a condition of the callee is one of the caller.
    fn holds(&self, condition: &Expr) -> bool {
        let Some(condition) = words::replaced(condition, &self.words) else { return false };
        let own = &self.block.names.function.signature.constraints;
        own.iter().any(|one| one.condition == condition)
    }
}

/// Returns a default that is a number as an expression.
fn number(literal: &Literal) -> Option<Expr> {
    match literal {
        Literal::Int(value) => Some(Expr::Int(*value)),
        Literal::None | Literal::Bool(_) | Literal::Float(_) | Literal::Str(_) => None,
    }
}
