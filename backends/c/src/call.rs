//! Calls: arguments and results in the types of a prototype, which the text has, the runtime's headers, or who stands
//! before.

use codegen::backend::{CType, RuntimeFunction};
use codegen::ir::{self, Pointee, Type};

use crate::body::Body;
use crate::expression::{Expression, Level};
use crate::prelude::Helper;
use crate::types::{self, ty, unsigned};

impl Body<'_, '_> {
    /// Returns a call of a function that the text declares or defines. `pointees` says what its parameters point to.
    pub(crate) fn called(
        &mut self,
        function: &str,
        signature: &ir::Signature,
        args: &[ir::Value],
        pointees: &[Option<Pointee>],
    ) -> Expression {
        let args = args.iter().zip(&signature.params).enumerate();
        let args = args.map(|(i, (&arg, &abi))| {
            let known = self.source.values[arg.index()].points_to;
            let sent = self.sent(arg, abi);
            let is_variable = sent.text == self.names[arg.index()];
            match pointees.get(i).copied().flatten() {
                Some(pointee) if !is_variable || known != Some(pointee) => {
                    let ty = self.functions.prelude.pointer(pointee);
                    Expression::new(Level::Unary, format!("({ty}){}", sent.pointer()))
                        .reading([&sent])
                }
                Some(_) | None => sent,
            }
        });
        let args: Vec<Expression> = args.collect();
        let call = Expression { calls: true, ..Expression::call(function, &args) };
        match signature.result {
            Some(abi) if !types::is_plain(abi) => Expression::cast(ty(abi.ty), &call),
            Some(_) | None => call,
        }
    }

    /// Returns a call of a function that the text does not declare. `known` is the prototype of one of the runtime.
    pub(crate) fn called_before(
        &mut self,
        function: &str,
        known: Option<&RuntimeFunction>,
        signature: &ir::Signature,
        args: &[ir::Value],
    ) -> Expression {
        let args = args.iter().zip(&signature.params).enumerate();
        let args = args.map(|(i, (&arg, &abi))| {
            let sent = self.sent(arg, abi);
            if abi.ty != Type::Ptr {
                return sent;
            }
            let text = match known.and_then(|known| known.params.get(i)) {
                Some(CType::Ptr(ty)) => format!("({ty}){}", sent.pointer()),
                Some(CType::Code(ty)) => {
                    let address = sent.pointer();
                    let address = address.strip_prefix("(uintptr_t)").unwrap_or(&address);
                    format!("({ty})(uintptr_t){address}")
                }
                Some(CType::Void | CType::I32 | CType::ByteArray) | None => {
                    format!("{}({})", self.functions.prelude.name(Helper::Pass), sent.text)
                }
            };
            Expression::new(Level::Unary, text).reading([&sent])
        });
        let args: Vec<Expression> = args.collect();
        Expression { calls: true, ..Expression::call(function, &args) }
    }
}

/// Returns the result of a function that the text does not declare, in the type of a variable. `known` is its
/// prototype.
pub(crate) fn converted(
    call: Expression,
    signature: &ir::Signature,
    known: Option<&RuntimeFunction>,
) -> Expression {
    let is_code = known.is_some_and(|known| matches!(known.result, CType::Code(_)));
    match signature.result {
        Some(abi) if is_code => {
            Expression::cast(ty(abi.ty), &Expression::cast(unsigned(abi.ty), &call))
        }
        Some(abi) if abi.ty == Type::Ptr || !types::is_plain(abi) => {
            Expression::cast(ty(abi.ty), &call)
        }
        Some(_) | None => call,
    }
}
