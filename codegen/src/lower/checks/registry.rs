//! Calls of functions of the runtime's registry from a prologue. Functions come in pairs, for `Map` and for `Dict`; a
//! condition selects one of a pair.

use abi_spec::layout::{ANY, BYTE_ARRAY, byte_array};
use abi_spec::runtime;

use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::emitter::frame::Slot;
use crate::lower::failure::site::Failed;
use crate::lower::failure::take_error;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::CalleeKind;
use crate::lower::value::{AnyWords, Span, cache, constant_bytes, write_none, write_words};

/// A function of the registry, or an iterator that such a function has made.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegistryFunction {
    pub(crate) object: Value,
    pair: Pair,
}

/// A pair of functions in the registry, and which of them is meant.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// A `Bool`: true if it is the first of the pair.
    first: Value,
    names: [&'static str; 2],
    /// The number of references that the frame holds before the loop.
    outer: usize,
}

impl RegistryFunction {
    /// Returns one of a pair of functions. The first call looks it up and caches it. `outer` is the number of
    /// references that the frame holds before the loop.
    pub(super) fn get(
        c: &mut Checker<'_, '_>,
        first: Value,
        names: [&'static str; 2],
        outer: usize,
    ) -> RegistryFunction {
        let pair = Pair { first, names, outer };
        let caches =
            names.map(|name| cache(&mut c.e.b, &format!("tvm_ffi_codegen.function.{name}")));
        let cache = c.e.b.select(first, caches[0], caches[1]);
        let known = c.e.b.atomic_load(Type::Ptr, cache, 0);
        let (look_up, join) = (c.e.b.cold_block("look_up"), c.e.b.block("found"));
        let object = c.e.b.block_param(join, Type::Ptr, "function");
        let is_known = c.e.b.compare_const(Cond::Ne, known, 0);
        let usual = c.e.b.block("usual");
        c.e.b.branch(is_known, usual, look_up);
        c.e.b.switch_to(usual);
        c.e.b.jump(join, &[known]);
        c.e.b.switch_to(look_up);
        let found = pair.look_up(c);
        c.e.b.atomic_store(found, cache, 0);
        c.e.b.jump(join, &[found]);
        c.e.b.switch_to(join);
        RegistryFunction { object, pair }
    }

    /// Returns the handle of a function that this one has made. Errors name the maker.
    pub(crate) fn made(self, object: Value) -> RegistryFunction {
        RegistryFunction { object, ..self }
    }

    /// Emits a call with one argument, given by its type index and payload. Returns the address of the result:
    /// `wanted`, or a slot that the next call overwrites.
    pub(super) fn call(
        self,
        c: &mut Checker<'_, '_>,
        words: AnyWords,
        wanted: Option<Value>,
    ) -> Value {
        let argument = c.e.slot(Slot::Scratch, 2 * ANY.size);
        write_words(&mut c.e.b, words, argument, 0);
        let result = wanted.unwrap_or_else(|| c.e.b.ptr_offset(argument, ANY.size.into()));
        write_none(&mut c.e.b, result);
        let call = crate::lower::runtime(c.e.b.module, &runtime::FUNCTION_CALL);
        let one = c.e.b.i32(1);
        let status = c.e.b.call_value(call, &[self.object, argument, one, result]);
        self.pair.require_status(c, status);
        result
    }
}

impl Pair {
    /// Emits the look-up in the registry.
    fn look_up(self, c: &mut Checker<'_, '_>) -> Value {
        let Span { data, size } = self.name(c);
        let array = c.e.slot(Slot::Scratch, BYTE_ARRAY.size + 8);
        let out = c.e.b.ptr_offset(array, BYTE_ARRAY.size.into());
        c.e.b.store(data, array, byte_array::DATA.offset);
        c.e.b.store(size, array, byte_array::SIZE.offset);
        let null = c.e.b.null();
        c.e.b.store(null, out, 0);
        let get = crate::lower::runtime(c.e.b.module, &runtime::FUNCTION_GET_GLOBAL);
        let status = c.e.b.call_value(get, &[array, out]);
        self.require_status(c, status);
        let found = c.e.b.load(Type::Ptr, out, 0);
        let some = c.e.b.compare_const(Cond::Ne, found, 0);
        let next = c.e.b.enter_cold_unless(some, "missing");
        self.fail(c, None);
        c.e.b.switch_to(next);
        found
    }

    /// Returns address and size of the selected name.
    fn name(self, c: &mut Checker<'_, '_>) -> Span {
        let texts = self.names.map(|name| constant_bytes(&mut c.e.b, name.into()));
        let sizes = self.names.map(|name| c.e.b.i64(name.len() as i64));
        let data = c.e.b.select(self.first, texts[0], texts[1]);
        Span { data, size: c.e.b.select(self.first, sizes[0], sizes[1]) }
    }

    /// Leaves with the error of a call unless its status is 0.
    fn require_status(self, c: &mut Checker<'_, '_>, status: Value) {
        let passed = c.e.b.compare_const(Cond::Eq, status, 0);
        let next = c.e.b.enter_cold_unless(passed, "failed");
        self.fail(c, Some(status));
        c.e.b.switch_to(next);
    }

    /// Emits the code after a failed call or look-up. The error of the callee is passed on; without a status, the error
    /// says that the function is missing. In a union the error is dropped, since another alternative may match.
    fn fail(self, c: &mut Checker<'_, '_>, status: Option<Value>) {
        if let Some(other) = c.exits.other() {
            c.e.release_own(self.outer);
            if status.is_some() {
                let error = take_error(&mut c.e);
                let is_left = c.e.b.compare_const(Cond::Ne, error, 0);
                c.e.b.if_then(is_left, |b| b.release_object(error));
            }
            return c.e.b.jump(other, &[]);
        }
        let complaint = if status.is_some() { Complaint::Failed } else { Complaint::Missing };
        let callee = if status.is_some() { CalleeKind::Kernel } else { CalleeKind::None };
        let failed = Failed { callee, ..Failed::of(complaint, "") };
        let Span { data, size } = self.name(c);
        let mut values = vec![data, size];
        values.extend(status.map(|status| c.e.b.convert(Convert::Sext, status, Type::I64)));
        c.exits.raise_at(&mut c.e, &failed, &values);
    }
}
