//! Calls of functions of the runtime's registry from a prologue. Functions come in pairs, for `Map` and for `Dict`; a
//! condition selects one of a pair.

use abi_spec::layout::{ANY, BYTE_ARRAY, any, byte_array};
use abi_spec::runtime;

use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::emitter::frame::Slot;
use crate::lower::failure::site::Failed;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::CalleeKind;
use crate::lower::value::{AnyWords, Span, cache, constant_bytes};
use crate::lower::wrapper::Wrapper;

/// A function object: one of a pair in the registry, or an iterator that such a function has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global {
    pub(crate) object: Value,
    /// A `Bool`: true if it is the first of the pair.
    first: Value,
    names: [&'static str; 2],
}

impl Global {
    /// Returns the handle of a function that this one has made. Errors name the maker.
    pub(crate) fn made(self, object: Value) -> Global {
        Global { object, ..self }
    }
}

impl Wrapper<'_, '_> {
    /// Returns one of a pair of functions. The first call looks it up and caches it. `outer` is the number of
    /// references that the frame holds before the loop.
    pub(crate) fn global(
        &mut self,
        first: Value,
        names: [&'static str; 2],
        outer: usize,
    ) -> Global {
        let caches =
            names.map(|name| cache(&mut self.b, &format!("tvm_ffi_codegen.function.{name}")));
        let cache = self.b.select(first, caches[0], caches[1]);
        let known = self.b.atomic_load(Type::Ptr, cache, 0);
        let (look_up, join) = (self.b.cold_block("look_up"), self.b.block("found"));
        let object = self.b.block_param(join, Type::Ptr, "function");
        let is_known = self.b.compare_const(Cond::Ne, known, 0);
        let usual = self.b.block("usual");
        self.b.branch(is_known, usual, look_up);
        self.b.switch_to(usual);
        self.b.jump(join, &[known]);
        self.b.switch_to(look_up);
        let found = self.look_up(first, names, outer);
        self.b.atomic_store(found, cache, 0);
        self.b.jump(join, &[found]);
        self.b.switch_to(join);
        Global { object, first, names }
    }

    /// Emits the look-up in the registry.
    fn look_up(&mut self, first: Value, names: [&'static str; 2], outer: usize) -> Value {
        let Span { data, size } = self.name_of(first, names);
        let array = self.slot(Slot::Scratch, BYTE_ARRAY.size + 8);
        let out = self.b.ptr_offset(array, BYTE_ARRAY.size.into());
        self.b.store(data, array, byte_array::DATA.offset);
        self.b.store(size, array, byte_array::SIZE.offset);
        let null = self.b.null();
        self.b.store(null, out, 0);
        let get = crate::lower::runtime(self.b.module, &runtime::FUNCTION_GET_GLOBAL);
        let status = self.b.call_value(get, &[array, out]);
        self.require_status(status, first, names, outer);
        let found = self.b.load(Type::Ptr, out, 0);
        let some = self.b.compare_const(Cond::Ne, found, 0);
        let (missing, next) = (self.b.cold_block("missing"), self.b.block("next"));
        self.b.branch(some, next, missing);
        self.b.switch_to(missing);
        self.fail_call(first, names, None, outer);
        self.b.switch_to(next);
        found
    }

    /// Returns address and size of the selected name.
    fn name_of(&mut self, first: Value, names: [&'static str; 2]) -> Span {
        let [a, b] = names.map(|name| constant_bytes(&mut self.b, name.into()));
        let [c, d] = names.map(|name| self.b.i64(name.len() as i64));
        let data = self.b.select(first, a, b);
        Span { data, size: self.b.select(first, c, d) }
    }

    /// Emits a call with one argument, given by its type index and payload. Returns the address of the result: `wanted`,
    /// or a slot that the next call overwrites.
    pub(crate) fn call_global(
        &mut self,
        function: Global,
        words: AnyWords,
        wanted: Option<Value>,
        outer: usize,
    ) -> Value {
        let argument = self.slot(Slot::Scratch, 2 * ANY.size);
        self.b.store(words.head, argument, any::TYPE_INDEX.offset);
        self.b.store(words.payload, argument, any::PAYLOAD.offset);
        let result = wanted.unwrap_or_else(|| self.b.ptr_offset(argument, ANY.size.into()));
        self.clear_any(result);
        let call = crate::lower::runtime(self.b.module, &runtime::FUNCTION_CALL);
        let one = self.b.i32(1);
        let status = self.b.call_value(call, &[function.object, argument, one, result]);
        self.require_status(status, function.first, function.names, outer);
        result
    }

    /// Leaves with the error of a call unless its status is 0.
    fn require_status(
        &mut self,
        status: Value,
        first: Value,
        names: [&'static str; 2],
        outer: usize,
    ) {
        let (failed, next) = (self.b.cold_block("failed"), self.b.block("next"));
        let passed = self.b.compare_const(Cond::Eq, status, 0);
        self.b.branch(passed, next, failed);
        self.b.switch_to(failed);
        self.fail_call(first, names, Some(status), outer);
        self.b.switch_to(next);
    }

    /// Emits the code after a failed call or look-up. The error of the callee is passed on; without a status, the error
    /// says that the function is missing. In a union the error is dropped, since another alternative may match.
    fn fail_call(
        &mut self,
        first: Value,
        names: [&'static str; 2],
        status: Option<Value>,
        outer: usize,
    ) {
        if let Some(other) = self.exits.other {
            self.release_own(outer);
            if status.is_some() {
                let error = self.take_error();
                let is_left = self.b.compare_const(Cond::Ne, error, 0);
                self.b.if_then(is_left, |b| b.release_object(error));
            }
            return self.b.jump(other, &[]);
        }
        let complaint = if status.is_some() { Complaint::Failed } else { Complaint::Missing };
        let callee = if status.is_some() { CalleeKind::Kernel } else { CalleeKind::None };
        let failed = Failed { callee, ..Failed::of(complaint, "") };
        let Span { data, size } = self.name_of(first, names);
        let mut values = vec![data, size];
        values.extend(status.map(|status| self.b.convert(Convert::Sext, status, Type::I64)));
        self.raise_at(&failed, &values);
    }
}
