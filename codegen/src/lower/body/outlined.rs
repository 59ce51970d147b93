//! Functions with many calls of the FFI: each is one call of a routine, which looks the function up, calls it, and
//! says what fails. Written out, each would be nine blocks, and large functions are slow to compile.

use abi_spec::symbol::LIBRARY_CTX;

use crate::ir::{Data, Linkage, Relocation, SymbolKind, Value};
use crate::lower::body::call::cache_name;
use crate::lower::routines::Routine;
use crate::lower::routines::memory::named;
use crate::lower::value::variable;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::{Action, Callee, Function, PackedCall};
use crate::resolve::ids::ValueId;

/// How many calls are written out in a function; with more than these a call of the routine for each is cheaper.
const INLINE: usize = 16;

/// True if the routine makes the calls of a function. Those by symbol stay, since linkers inline them.
pub(crate) fn outlines_calls(function: &Function<'_>) -> bool {
    let statements = function.statements();
    let calls = statements.iter().filter(|statement| match &statement.action {
        Action::Call { call, .. } => Object::of(&call.callee).is_some(),
        Action::Let { .. }
        | Action::Kernel { .. }
        | Action::Allocate(_)
        | Action::Launch(_)
        | Action::If { .. }
        | Action::For { .. }
        | Action::Return(_)
        | Action::Raise { .. } => false,
    });
    calls.count() > INLINE
}

/// A function that is an object.
#[derive(Clone, Copy)]
pub(crate) enum Object<'a> {
    /// By its name.
    Named(&'a str),
    /// A value.
    Value(ValueId),
}

impl<'a> Object<'a> {
    fn of(callee: &Callee<'a>) -> Option<Object<'a>> {
        match callee {
            Callee::Symbol { .. } => None,
            Callee::Name(name) => Some(Object::Named(name)),
            Callee::Value(value) => Some(Object::Value(*value)),
        }
    }
}

impl<'a> Wrapper<'a, '_> {
    /// What is called, if the routine makes this call.
    pub(crate) fn outlined_callee(&self, call: &PackedCall<'a>) -> Option<Object<'a>> {
        Object::of(&call.callee).filter(|_| self.forms.calls)
    }

    /// Leaves a call to the routine. A result at NULL is released there.
    pub(crate) fn call_outlined(
        &mut self,
        call: &PackedCall<'a>,
        callee: Object<'a>,
        [args, count, result]: [Value; 3],
    ) {
        let (routine, function) = match callee {
            Object::Named(name) => (Routine::CallNamed, self.named(name)),
            Object::Value(value) => (Routine::CallObject, self.function_value(value)),
        };
        let site = self.site(&self.call_fault(call));
        let args = [site, function, args, count, result];
        let status = self.routine_value(routine, &args);
        self.require_made(status, "failed");
    }

    /// What the routine must know of a name.
    fn named(&mut self, name: &str) -> Value {
        let cache = variable(self.b.module, &cache_name(name));
        let module = &mut *self.b.module;
        let symbol = format!("tvm_ffi_codegen.named.{name}");
        let known = module.find(&symbol).is_some();
        let symbol = module.declare(&symbol, Linkage::Local, SymbolKind::Data);
        if !known {
            let context = module.declare(LIBRARY_CTX, Linkage::Export, SymbolKind::Data);
            let address = |(offset, symbol)| Relocation { offset, symbol, addend: 0 };
            let relocations = [(named::CACHE, cache), (named::CONTEXT, context)].map(address);
            let data = Data::constant(symbol, named::encode(name), 8);
            module.data.push(Data { relocations: relocations.into(), ..data });
        }
        self.b.address(symbol)
    }
}
