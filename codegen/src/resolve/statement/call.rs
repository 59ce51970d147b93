//! Resolves calls, allocations and returns.

use std::borrow::Cow;

use abi_spec::Scalar;

use super::{Block, converted};
use crate::declaration::{self, Expr, FunctionCall, Local, ParamType, ResultType, Tensor};
use crate::resolve::Explained;
use crate::resolve::body::{Action, KernelCall, KernelResult, PackedCall, Received, Returned};
use crate::resolve::c_type::ResultConvention;
use crate::resolve::fits::{check_extent, check_int64, check_number};
use crate::resolve::ids::ValueId;
use crate::resolve::named::Output;
use crate::resolve::names::{Meaning, Names};
use crate::resolve::order::receive;
use crate::resolve::prototype;
use crate::resolve::term::{Kind, Node, Property, Term};
use crate::resolve::value::is_of_caller;

impl<'a> Block<'_, 'a> {
    pub(super) fn call(
        &mut self,
        result: Option<&'a declaration::Local>,
        call: &'a declaration::Call,
    ) -> Explained<Action<'a>> {
        let called = call;
        match call {
            declaration::Call::Kernel(call) => self.kernel(result, called, call),
            declaration::Call::Function(FunctionCall { callee, args, into, keys }) => {
                let keys = keys.iter().map(|key| self.key(key)).collect::<Explained<Vec<_>>>()?;
                let keys = keys.concat();
                let (callee, path) = self.callee(callee)?;
                let packed =
                    args.iter().map(|arg| self.packed(arg)).collect::<Explained<Vec<_>>>()?;
                let mut call = PackedCall { callee, args: packed, values: None };
                self.check_call(&call, result.and_then(|result| result.ty.as_ref()))?;
                self.check_access(&call, args)?;
                if !into.is_empty() {
                    if let Some(Local { name, .. }) = result {
                        let reason = "a call that writes `into` tensors has no result";
                        return Err(format!("{reason}, which `{name}` could name"));
                    }
                    self.give(&mut call, into, &path)?;
                }
                self.enter(&mut call, args, into);
                let result = match result {
                    Some(result) => {
                        let ty = self.result_type(result, called)?;
                        Some(self.received(path, result, ty)?)
                    }
                    None => None,
                };
                if !keys.is_empty() {
                    require_object(result.as_ref(), self.names)?;
                }
                Ok(Action::Call { call, keys, result })
            }
        }
    }

    /// Resolves a key of a cached call to the words that are compared: whether an optional value is there is a word of
    /// its own, since a value that is not reads as 0.
    fn key(&self, expr: &Expr) -> Explained<Vec<Term>> {
        let term = self.term(expr)?;
        let is_word = match term.kind {
            Kind::Int | Kind::Bool | Kind::Unsigned | Kind::DType | Kind::Device => true,
            Kind::Ptr => self.names.is_data(&term),
            Kind::Float | Kind::Text | Kind::Several => false,
        };
        if is_word {
            let value = self.names.value_of(expr).filter(|of| self.names.values[*of].optional);
            let there = value.map(|of| Term::new(Kind::Bool, Node::Property(of, Property::IsSome)));
            return Ok(there.into_iter().chain([term]).collect());
        }
        Err(format!(
            "`{expr}` is no key: keys are integers, truths, element types, addresses and devices"
        ))
    }

    /// Receives the result of a call and defines its name.
    pub(super) fn received(
        &mut self,
        path: String,
        result: &'a declaration::Local,
        ty: &'a ParamType,
    ) -> Explained<Received<'a>> {
        let received = self.receive(format!("result of {path}"), ty)?;
        self.names.define(&result.name, Meaning::Value(received.value))?;
        Ok(received)
    }

    /// Receives a value that must be of a type.
    pub(in crate::resolve) fn receive(
        &mut self,
        path: String,
        ty: &'a ParamType,
    ) -> Explained<Received<'a>> {
        receive(self.names, &mut self.knowledge, &self.facts, path, ty)
            .map_err(|(_, reason)| reason)
    }

    pub(super) fn kernel(
        &mut self,
        result: Option<&'a declaration::Local>,
        called: &declaration::Call,
        call: &'a declaration::KernelCall,
    ) -> Explained<Action<'a>> {
        let ty = |result| self.result_type(result, called).map(|ty| (result, ty));
        let result = result.map(ty).transpose()?;
        let args =
            call.args.iter().map(|expr| self.argument(expr)).collect::<Explained<Vec<_>>>()?;
        let status = call.status.as_deref();
        let yields = ResultConvention::of(result.map(|(_, ty)| ty), status.is_some());
        let callee = self.names.kernel(call)?;
        callee.address().map_or(Ok(()), |address| self.check(address).map(drop))?;
        let prototype = prototype::of_call(self.names, call, &args, &yields);
        let (name, signature) = (callee.name(), prototype.signature());
        let result = match result {
            None => KernelResult::None,
            Some((result, ty @ ParamType::Scalar(_))) => {
                KernelResult::Scalar(self.received(name, result, ty)?.value)
            }
            Some((result, ty)) => KernelResult::Written(self.received(name, result, ty)?),
        };
        let inquiry = self.names.inquiry_after(call);
        let call = KernelCall { callee, signature, prototype, args, yields, status, inquiry };
        Ok(Action::Kernel { call, result })
    }

    pub(super) fn allocate(
        &mut self,
        name: &'a str,
        tensor: &'a Tensor,
        on: Option<&'a Expr>,
    ) -> Explained<Action<'a>> {
        tensor.extents().try_for_each(|extent| self.names.no_element(extent))?;
        let extents: Vec<Term> =
            tensor.extents().map(|extent| self.integer(extent)).collect::<Explained<_>>()?;
        extents.iter().try_for_each(check_extent)?;
        let home = on.map(|on| self.home(on)).transpose()?;
        let dtype_of = self.names.dtype_of(tensor)?;
        let tensor = Cow::Borrowed(tensor);
        let output = self.names.outputs.push(Output { name, tensor, extents, home, dtype_of });
        self.names.define(name, Meaning::Output(output))?;
        Ok(Action::Allocate(output))
    }

    pub(super) fn returned(&mut self, value: Option<&'a Expr>) -> Explained<Returned<'a>> {
        match (&self.names.function.signature.result, value) {
            (ResultType::None, None) => Ok(Returned::None),
            (ResultType::None, Some(Expr::None)) => Ok(Returned::None),
            (ResultType::None, Some(value)) => Err(format!("nothing is returned, not `{value}`")),
            (ResultType::Allocated(_), None) => Ok(Returned::Outputs),
            (ResultType::Allocated(outputs), Some(_)) => {
                let names: Vec<String> =
                    outputs.iter().map(|output| format!("`{}`", output.name)).collect();
                Err(format!("the result is {}: `return;`", names.join(", ")))
            }
            (ResultType::Value(ty), None) => Err(format!("the result is of type `{ty}`")),
            (ResultType::Value(ty @ ParamType::Scalar(scalar)), Some(value)) => {
                self.scalar(*scalar, ty, value)
            }
            (ResultType::Value(ty), Some(value)) => self.value(ty, value),
        }
    }

    /// Resolves a value to return. It is received, so that its type is checked at run time, unless the type is known.
    fn value(&mut self, ty: &'a ParamType, value: &'a Expr) -> Explained<Returned<'a>> {
        let packed = self.packed(value)?;
        if !self.may_be(&packed, ty) {
            return Err(format!("the result is of type `{ty}`, which `{value}` is not"));
        }
        if self.is_known_to_be(&packed, ty) {
            return Ok(Returned::Packed(packed, None));
        }
        let received = self.receive("result".to_owned(), ty)?;
        Ok(Returned::Packed(packed, Some(received)))
    }

    /// Resolves a scalar to return. An address or a value may be of its type at run time.
    fn scalar(
        &mut self,
        scalar: Scalar,
        ty: &'a ParamType,
        value: &'a Expr,
    ) -> Explained<Returned<'a>> {
        let term = self.term(value)?;
        let values = &self.names.values;
        let is_passed = |of: &ValueId| !values[*of].optional && is_of_caller(values, *of);
        if term.kind == Kind::Unsigned
            && self.names.value_of(value).is_some_and(|of| is_passed(&of))
        {
            // One above `int64` is returned as it came.
            return self.value(ty, value);
        }
        let fits = match term.kind {
            Kind::Bool => scalar == Scalar::Bool || scalar.is_int() || scalar.is_float(),
            Kind::Int | Kind::Unsigned => {
                scalar.is_int() || scalar.is_float() || scalar == Scalar::Bool
            }
            Kind::Float => scalar.is_float(),
            Kind::Ptr if self.names.value_of(value).is_none_or(|of| self.is_scalar(of)) => {
                scalar == Scalar::Ptr
            }
            Kind::Ptr | Kind::DType | Kind::Device | Kind::Text | Kind::Several => {
                return self.value(ty, value);
            }
        };
        if !fits {
            return Err(format!("`{value}` is no `{scalar}`"));
        }
        check_int64(value, &term)?;
        check_number(&term, scalar)?;
        let name = format!("{scalar}({value})");
        Ok(Returned::Scalar(converted(term, scalar, name), scalar))
    }

    fn is_scalar(&self, value: ValueId) -> bool {
        matches!(self.names.values[value].ty, ParamType::Scalar(_))
    }
}

/// Checks that a result is an object, which can be kept.
fn require_object(result: Option<&Received<'_>>, names: &Names<'_>) -> Explained<()> {
    let Some(received) = result else {
        return Err(
            "the result of a cached call has a name: `let f: Function = cached …`".to_owned()
        );
    };
    match names.values[received.value].ty {
        ParamType::Object(_)
        | ParamType::Tensor(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_) => Ok(()),
        ty @ (ParamType::Scalar(_)
        | ParamType::Leaf(_)
        | ParamType::Shape(_)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Literal(_)) => Err(format!(
            "a cached call keeps an object, such as a `Function`, and `{ty}` is no class of objects"
        )),
    }
}
