//! Caller stubs: C functions of `extern` declarations. A stub packs its C parameters as arguments of the wrapper and
//! calls it.

mod argument;

use abi_spec::TypeIndex;
use abi_spec::layout::{ANY, any};
use abi_spec::symbol::function_symbol;

use crate::ir::{
    Block, Builder, Cond, Convert, Linkage, Module, Signature, Symbol, SymbolKind, Type, Value,
};
use crate::lower::entries::raising::Raising;
use crate::lower::failure::records::Reporter;
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::{AnyWords, safe_call, write_any, write_none, write_words};
use crate::resolve::c_type::{CType, abi_type};
use crate::resolve::external::{CForm, CResult, External, ExternalParam};

/// A stub under construction.
struct Stub<'m> {
    b: Builder<'m>,
    raising: Raising<'m>,
    /// The address of the slots of the values that the stub owns. A slot is None until its value is made.
    made: Value,
    /// The number of slots that are used so far.
    used: u32,
    /// The number of slots.
    room: u32,
    /// The block that failures jump to, with the status.
    leave: Block,
}

/// Adds the caller stub of a function. The stub returns the status of the wrapper, or -1 once it has raised an error of
/// its own.
pub(crate) fn stub(module: &mut Module, external: &External<'_>, reporter: Reporter<'_>) {
    let name = &external.declared.signature.name;
    let kind = SymbolKind::Function(safe_call());
    let function = module.declare(&function_symbol(name), Linkage::Export, kind);
    let mut s = start(module, external, reporter);
    let status = s.b.block_param(s.leave, Type::I32, "status");
    let mut next = 0;
    let args = s.slots(external.params.len() as u32);
    for (index, param) in external.params.iter().enumerate() {
        let count = param.types().len();
        let given: Vec<Value> = (next..next + count).map(|at| s.b.param(at)).collect();
        next += count;
        let words = s.argument(param, &given);
        write_words(&mut s.b, words, args, index as i32 * ANY.size as i32);
    }
    let result = s.call(function, args, external.params.len());
    let to = external.result.ty().map(|_| s.b.param(next));
    s.finish(external.result, result, to);
    s.b.switch_to(s.leave);
    s.release_made(Routine::Leave);
    s.b.ret(Some(status));
    let function = s.b.finish();
    module.functions.push(function);
}

/// Begins a stub: declares it and initializes its slots to None.
fn start<'m>(module: &'m mut Module, external: &External<'_>, reporter: Reporter<'m>) -> Stub<'m> {
    let given = external.params.iter().flat_map(|param| param.types());
    let types = given.map(|(_, ty)| ty).chain(external.result.ty());
    // The signature does not say that narrow integers are extended, since not all callers extend them.
    let params: Vec<Type> = types.map(|ty: CType| ty.abi().ty).collect();
    let signature = Signature::new(&params, Some(Type::I32));
    let mut b = Builder::function(module, &external.symbol, Linkage::Export, signature);
    let is_made = |param: &&ExternalParam<'_>| matches!(param.given, CForm::Str | CForm::Shape);
    let room = external.params.iter().filter(is_made).count() as u32;
    let leave = b.cold_block("leave");
    let made = b.stack_slot(ANY.size * room.max(1), ANY.align);
    let none = b.i64(0);
    for index in 0..room {
        let at = b.ptr_offset(made, (index * ANY.size).into());
        write_any(&mut b, at, TypeIndex::NONE, none);
    }
    let raising = Raising::new(reporter);
    Stub { b, raising, made, used: 0, room, leave }
}

impl Stub<'_> {
    /// Calls the wrapper. Returns the address of its result.
    fn call(&mut self, function: Symbol, args: Value, count: usize) -> Value {
        let result = self.slots(1);
        write_none(&mut self.b, result);
        let (handle, count) = (self.b.null(), self.b.i32(count as i32));
        let status = self.b.call_value(function, &[handle, args, count, result]);
        self.go_on(status);
        self.release_made(Routine::Release);
        result
    }

    /// Writes the result to `to`, or releases it if `to` is NULL at run time, and returns 0.
    fn finish(&mut self, yielded: CResult, result: Value, to: Option<Value>) {
        if let Some(to) = to {
            let wanted = self.b.block("wanted");
            let dropped = self.b.block("dropped");
            let done = self.b.block("done");
            let wants = self.b.compare_const(Cond::Ne, to, 0);
            self.b.branch(wants, wanted, dropped);
            self.b.switch_to(wanted);
            self.hand_over(yielded, result, to);
            self.b.jump(done, &[]);
            self.b.switch_to(dropped);
            if yielded == CResult::Any {
                self.release(Routine::Release, result, 1);
            }
            self.b.jump(done, &[]);
            self.b.switch_to(done);
        }
        self.b.return_code(0);
    }

    /// Writes the result in its C type. A scalar fits the type, since the wrapper has converted it.
    fn hand_over(&mut self, yielded: CResult, result: Value, to: Value) {
        match yielded {
            CResult::None => {}
            CResult::Any => {
                let words = self.read(result);
                write_words(&mut self.b, words, to, 0);
            }
            CResult::Scalar(scalar) => {
                let ty = abi_type(scalar).ty;
                let at = any::PAYLOAD.offset;
                let native = if scalar.is_float() {
                    let wide = self.b.load(Type::F64, result, at);
                    self.b.round(wide, scalar, self.raising.reporter.linkage)
                } else if matches!(ty, Type::I64 | Type::Ptr) {
                    self.b.load(ty, result, at)
                } else {
                    let wide = self.b.load(Type::I64, result, at);
                    self.b.convert(Convert::Trunc, wide, ty)
                };
                self.b.store(native, to, 0);
            }
        }
    }

    /// Loads a `TVMFFIAny`.
    fn read(&mut self, from: Value) -> AnyWords {
        let head = self.b.load(Type::I64, from, any::TYPE_INDEX.offset);
        let payload = self.b.load(Type::I64, from, any::PAYLOAD.offset);
        AnyWords { head, payload }
    }

    /// Returns the address of a new array of values.
    fn slots(&mut self, count: u32) -> Value {
        self.b.stack_slot(ANY.size * count.max(1), ANY.align)
    }

    /// Calls a routine that releases the values that the stub owns.
    fn release_made(&mut self, routine: Routine) {
        if self.room > 0 {
            self.release(routine, self.made, self.room);
        }
    }

    /// Calls a routine that releases values.
    fn release(&mut self, routine: Routine, values: Value, count: u32) {
        let count = self.b.i64(count.into());
        self.raising.call(&mut self.b, routine, &[values, count]);
    }

    /// Leaves the stub if a status is not 0.
    fn go_on(&mut self, status: Value) {
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let next = self.b.block("next");
        self.b.branch(failed, (self.leave, [status]), next);
        self.b.switch_to(next);
    }

    /// Raises a complaint about a parameter unless a condition holds.
    fn require(&mut self, ok: Value, complaint: Complaint, subject: String, values: &[Value]) {
        let next = self.b.enter_cold_unless(ok, "refused");
        self.fail(&Failed::of(complaint, &subject), values);
        self.b.switch_to(next);
    }

    /// Raises a failure and leaves the stub.
    fn fail(&mut self, failed: &Failed, values: &[Value]) {
        let status = self.raising.raise(&mut self.b, failed, values);
        self.b.jump(self.leave, &[status]);
    }
}
