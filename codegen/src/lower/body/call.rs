//! Calls of C functions, and of FFI functions by symbol, by name and by value.

use abi_spec::layout::any;
use abi_spec::symbol::{LIBRARY_CTX, function_symbol};
use abi_spec::{Scalar, runtime};

use crate::declaration::StatusError;
use crate::ir::{Cond, Convert, Linkage, SymbolKind, Type, Value};
use crate::lower::emitter::state::{ScalarState, ValueState};
use crate::lower::failure::message::Message;
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::CalleeKind;
use crate::lower::value::{cache, constant_bytes, safe_call};
use crate::lower::wrapper::Wrapper;
use crate::resolve::body::{Callee, KernelCall, KernelResult, PackedCall, Received};
use crate::resolve::ids::ValueId;

/// The last three arguments of a call of an FFI function.
#[derive(Clone, Copy)]
pub(crate) struct PackedArgs {
    /// Address of the arguments, each a `TVMFFIAny`.
    pub(crate) args: Value,
    /// Number of arguments, `I32`.
    pub(crate) count: Value,
    /// Address of the result, a `TVMFFIAny`; NULL where a routine drops the result.
    pub(crate) result: Value,
}

impl<'a> Wrapper<'a, '_> {
    /// Emits a call of a C function. Checks its status if it returns one, otherwise returns its result.
    pub(crate) fn call_kernel(&mut self, call: &KernelCall<'_>, args: &[Value]) -> Option<Value> {
        let kind = SymbolKind::Function(call.signature.clone());
        let kernel = self.b.module.declare(call.symbol, Linkage::Import, kind);
        let returned = self.b.call(kernel, args);
        match returned.filter(|_| call.status.is_some()) {
            Some(status) => {
                self.check_status(call, status);
                None
            }
            None => returned,
        }
    }

    /// Emits a statement that calls a C function.
    pub(crate) fn kernel(&mut self, call: &KernelCall<'_>, result: &'a KernelResult<'a>) {
        let mut args: Vec<Value> = call.args.iter().flat_map(|arg| self.pass(arg)).collect();
        match result {
            KernelResult::None => {
                self.call_kernel(call, &args);
            }
            KernelResult::Returned(value) => {
                if let Some(returned) = self.call_kernel(call, &args) {
                    self.returned_scalar(*value, returned);
                }
            }
            KernelResult::Written(received) => {
                let slot = self.own_none();
                args.push(slot);
                self.call_kernel(call, &args);
                self.receive(received, slot);
            }
        }
    }

    /// Binds a scalar that a C function has returned, in its C type. A `bool` is true unless its byte is 0.
    fn returned_scalar(&mut self, value: ValueId, returned: Value) {
        let ty = self.function.values[value].ty.scalar().unwrap_or(Scalar::Int64);
        let native = if ty == Scalar::Bool {
            let truth = self.b.compare_const(Cond::Ne, returned, 0);
            self.b.widen_bool(truth, Type::I8)
        } else {
            returned
        };
        self.set_state(value, ValueState::Scalar(ScalarState { native, ty, wide: None }));
    }

    /// Leaves with the kernel's error unless the status is 0.
    fn check_status(&mut self, call: &KernelCall<'_>, status: Value) {
        self.b.hint(status, "status");
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let (fail, next) = (self.b.cold_block("failed"), self.b.block("next"));
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        let fault = status_fault(call);
        let status = self.b.convert(Convert::Sext, status, Type::I64);
        let raised = self.fail_at(&fault, &[status]);
        self.exit(Some(raised));
        self.b.switch_to(next);
    }

    /// Emits a statement that calls an FFI function. Objects that were made for its arguments are released after the
    /// call.
    pub(crate) fn call(&mut self, call: &PackedCall<'a>, result: Option<&'a Received<'a>>) {
        let before = self.frame.owned();
        let outlined = self.outlined_callee(call);
        let unwanted = outlined.is_some() && result.is_none();
        let slot = if unwanted { self.b.null() } else { self.own_none() };
        let owned = self.frame.owned();
        let args = self.pack_all(&call.args);
        let count = self.b.i32(call.args.len() as i32);
        let args = PackedArgs { args, count, result: slot };
        if let Some(callee) = outlined {
            self.call_outlined(call, callee, args);
        } else {
            let status = self.call_packed(&call.callee, args);
            self.check_call(call, status, slot);
        }
        self.release_beyond(owned);
        self.keep_owned(owned);
        match result {
            Some(received) => {
                self.receive(received, slot);
                if self.is_plain(received.value) {
                    self.disown(1);
                }
            }
            None => {
                self.release_beyond(before);
                self.keep_owned(before);
            }
        }
    }

    /// Emits the call of an FFI function; returns its status.
    fn call_packed(&mut self, callee: &Callee<'a>, args: PackedArgs) -> Value {
        match callee {
            Callee::Symbol { name, own } => {
                let linkage = if *own { Linkage::Export } else { Linkage::Import };
                let kind = SymbolKind::Function(safe_call());
                let symbol = self.b.module.declare(&function_symbol(name), linkage, kind);
                let null = self.b.null();
                self.b.call_value(symbol, &[null, args.args, args.count, args.result])
            }
            Callee::Name(name) => {
                let function = self.function_named(name);
                self.call_object(function, args)
            }
            Callee::Value(value) => {
                let function = self.function_value(*value);
                self.call_object(function, args)
            }
        }
    }

    /// Emits the call of a function object; returns its status.
    fn call_object(&mut self, function: Value, args: PackedArgs) -> Value {
        let call = crate::lower::runtime(self.b.module, &runtime::FUNCTION_CALL);
        self.b.call_value(call, &[function, args.args, args.count, args.result])
    }

    /// Returns the function object of a value; leaves with an error if the value is an absent optional.
    pub(crate) fn function_value(&mut self, value: ValueId) -> Value {
        let function = self.values[value].word();
        let function = self.or_zero(value, function);
        self.require_function(value, function);
        function
    }

    /// Leaves with an error if an optional function is None.
    fn require_function(&mut self, value: ValueId, function: Value) {
        if self.mask(value).is_none() {
            return;
        }
        let path = self.function.values[value].path.clone();
        let some = self.b.compare_const(Cond::Ne, function, 0);
        let (missing, next) = (self.b.cold_block("no_function"), self.b.block("next"));
        self.b.branch(some, next, missing);
        self.b.switch_to(missing);
        let raised = self.fail_at(&Failed::of(Complaint::NoFunction, &path), &[]);
        self.exit(Some(raised));
        self.b.switch_to(next);
    }

    /// Returns the function object of a name. The first call looks it up, in the imports of the library and then in the
    /// registry, and caches it.
    pub(super) fn function_named(&mut self, name: &str) -> Value {
        let cache = cache(&mut self.b, &cache_name(name));
        let known = self.b.atomic_load(Type::Ptr, cache, 0);
        let [usual, found] = ["usual", "found"].map(|label| self.b.block(label));
        let look_up = self.b.cold_block("look_up");
        let function = self.b.block_param(found, Type::Ptr, "function");
        let is_known = self.b.compare_const(Cond::Ne, known, 0);
        self.b.branch(is_known, usual, look_up);
        self.b.switch_to(usual);
        self.b.jump(found, &[known]);
        self.b.switch_to(look_up);
        let new = self.look_up_named(name, cache);
        let (missing, there) = (self.b.cold_block("missing"), self.b.cold_block("new"));
        let some = self.b.compare_const(Cond::Ne, new, 0);
        self.b.branch(some, there, missing);
        self.b.switch_to(missing);
        let failed = self.b.i32(-1);
        self.exit(Some(failed));
        self.b.switch_to(there);
        self.b.jump(found, &[new]);
        self.b.switch_to(found);
        function
    }

    /// Emits the look-up of a name; returns the function object, or NULL once the error is raised.
    fn look_up_named(&mut self, name: &str, cache: Value) -> Value {
        let text = constant_bytes(&mut self.b, [name.as_bytes(), &[0]].concat());
        let length = self.b.i64(name.len() as i64);
        let context = self.b.module.declare(LIBRARY_CTX, Linkage::Weak, SymbolKind::Data);
        let context = self.b.address(context);
        let context = self.b.load(Type::Ptr, context, 0);
        let site = self.here();
        self.routine_value(Routine::LookUp, &[site, text, length, cache, context])
    }

    /// Leaves with the callee's error unless the status is 0.
    fn check_call(&mut self, call: &PackedCall<'_>, status: Value, slot: Value) {
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let (fail, next) = (self.b.cold_block("failed"), self.b.block("next"));
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        // A callee that fails may leave any bits in the result slot. They must not be released, so None is stored.
        let none = self.b.i64(0);
        crate::lower::value::write_any(&mut self.b, slot, abi_spec::TypeIndex::NONE, none);
        let fault = self.call_fault(call);
        let status = self.b.convert(Convert::Sext, status, Type::I64);
        let raised = self.fail_at(&fault, &[status]);
        self.exit(Some(raised));
        self.b.switch_to(next);
    }

    /// Checks that a value that a call has written is owned and conforms to its declared type. The checks are those of
    /// arguments.
    pub(crate) fn receive(&mut self, received: &'a Received<'a>, at: Value) {
        self.conform(received, at, |w| {
            w.checks.fail = w.owned_exit(received.value);
            w.require_owned(received.value, at);
        });
    }

    /// Checks that a value is owned. For a type that is never an object, only the padding is checked.
    fn require_owned(&mut self, value: ValueId, at: Value) {
        let wrong = if self.is_plain(value) {
            let length = self.b.load(Type::I32, at, any::SMALL_LEN.offset);
            self.b.compare_const(Cond::Ne, length, 0)
        } else {
            let owned = self.routine_value(Routine::IsOwned, &[at]);
            self.b.compare_const(Cond::Eq, owned, 0)
        };
        self.checks.never(&mut self.b, wrong);
    }

    /// Returns the error of a callee that fails without raising one.
    pub(crate) fn call_fault(&self, call: &PackedCall<'_>) -> Failed {
        let name = match &call.callee {
            Callee::Symbol { name, .. } | Callee::Name(name) => (*name).to_owned(),
            Callee::Value(value) => self.function.values[*value].path.clone(),
        };
        let failed = Failed::of(Complaint::Status, &format!("Failed {name}"));
        Failed { callee: CalleeKind::Function, ..failed }
    }
}

/// Returns the symbol of the variable that caches the function of a name.
pub(crate) fn cache_name(name: &str) -> String {
    format!("tvm_ffi_codegen.callee.{name}")
}

/// Returns the declared errors of a kernel, by status. They are raised if the kernel has left no error itself.
fn status_fault(call: &KernelCall<'_>) -> Failed {
    let errors = call.status.unwrap_or_default();
    let says = |error: &StatusError| {
        let message = Message::of(Complaint::Status, &error.message);
        if error.kind.is_empty() { message } else { message.with_kind(&error.kind) }
    };
    let own = |error: &StatusError| Some((error.status?, says(error)));
    let message = match errors.iter().find(|error| error.status.is_none()) {
        Some(error) => says(error),
        None => Message::of(Complaint::Status, &format!("Failed {}", call.symbol)),
    };
    let cases = errors.iter().filter_map(own).collect();
    Failed { callee: CalleeKind::Kernel, message, cases }
}
