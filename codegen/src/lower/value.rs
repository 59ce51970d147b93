//! Values in memory, and constants and variables of a module.

use abi_spec::layout::{ANY, any};
use abi_spec::{Scalar, TypeIndex};

use crate::ir::{
    Block, Builder, Cond, Convert, Data, Linkage, Module, Pointee, Signature, Symbol, SymbolKind,
    Type, Value,
};
use crate::resolve::c_type::abi_type;

/// Consecutive bytes, numbers or arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The address of the first item.
    pub(crate) data: Value,
    /// The number of items, an `I64`.
    pub(crate) size: Value,
}

/// The words of a `TVMFFIAny`, of 64 bits each.
#[derive(Clone, Copy)]
pub(crate) struct AnyWords {
    /// The type index and the 32 bits after it, an `I64`.
    pub(crate) head: Value,
    pub(crate) payload: Value,
}

/// Writes all 16 bytes of a `TVMFFIAny` to byte `at` of an area.
pub(crate) fn write_words(b: &mut Builder<'_>, words: AnyWords, to: Value, at: i32) {
    // The type index and the padding are adjacent: one aligned store writes both.
    b.store(words.head, to, at + any::TYPE_INDEX.offset);
    b.store(words.payload, to, at + any::PAYLOAD.offset);
}

/// Writes a type index and a payload.
pub(crate) fn write_any(b: &mut Builder<'_>, to: Value, index: TypeIndex, payload: Value) {
    let head = b.i64(index.0.into());
    write_words(b, AnyWords { head, payload }, to, 0);
}

/// Writes None.
pub(crate) fn write_none(b: &mut Builder<'_>, to: Value) {
    let zero = b.i64(0);
    write_any(b, to, TypeIndex::NONE, zero);
}

/// Copies the type index and the payload of a `TVMFFIAny` from a byte of an area to a byte of another.
pub(crate) fn copy_any(
    b: &mut Builder<'_>,
    (from, from_at): (Value, i32),
    (to, to_at): (Value, i32),
) {
    for field in [any::TYPE_INDEX, any::PAYLOAD] {
        let word = b.load(Type::I64, from, from_at + field.offset);
        b.store(word, to, to_at + field.offset);
    }
}

/// Writes a text that [needs no object](crate::resolve::accepted::needs_object) as a `TVMFFIAny`: a `const char*`, or a
/// small string if the text contains NUL.
pub(crate) fn write_text(b: &mut Builder<'_>, text: &str, to: Value, at: i32) {
    let (head, payload) = if text.contains('\0') {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let head = i64::from(TypeIndex::SMALL_STR.0) | (text.len() as i64) << 32;
        (b.i64(head), b.i64(i64::from_le_bytes(bytes)))
    } else {
        let data = constant_bytes(b, [text.as_bytes(), &[0]].concat());
        (b.i64(TypeIndex::RAW_STR.0.into()), data)
    };
    write_words(b, AnyWords { head, payload }, to, at);
}

/// Returns the address of constant bytes; equal constants of a module are one.
pub(crate) fn constant_bytes(b: &mut Builder<'_>, bytes: Vec<u8>) -> Value {
    let symbol = b.module.constant("tvm_ffi_codegen.constant.", bytes);
    b.address(symbol)
}

/// Returns the address of a [variable].
pub(crate) fn cache(b: &mut Builder<'_>, name: &str) -> Value {
    let symbol = variable(b.module, name);
    b.address(symbol)
}

/// Returns the variable of a name: 8 bytes, initially 0. The first call adds it to the module.
pub(crate) fn variable(module: &mut Module, name: &str) -> Symbol {
    zeros(module, name, 8)
}

/// Returns the variable of a name: `size` bytes, initially 0. The first call adds it to the module.
pub(crate) fn zeros(module: &mut Module, name: &str, size: usize) -> Symbol {
    let known = module.find(name).is_some();
    let symbol = module.declare(name, Linkage::Local, SymbolKind::Data);
    if !known {
        module.data.push(Data::variable(symbol, vec![0; size], 8));
    }
    symbol
}

/// Returns the signature of FFI functions, `int32_t (void*, const TVMFFIAny*, int32_t, TVMFFIAny*)`.
pub(crate) fn safe_call() -> Signature {
    Signature::new(&[Type::Ptr, Type::Ptr, Type::I32, Type::Ptr], Some(Type::I32))
}

/// Begins an FFI function.
pub(crate) fn ffi_function<'m>(
    module: &'m mut Module,
    name: &str,
    linkage: Linkage,
) -> Builder<'m> {
    let mut b = Builder::function(module, name, linkage, safe_call());
    for (i, name) in ["handle", "args", "num_args", "result"].into_iter().enumerate() {
        let param = b.param(i);
        b.hint(param, name);
    }
    for param in [b.param(1), b.param(3)] {
        b.points_to(param, Pointee::Struct(&ANY));
    }
    b
}

impl Builder<'_> {
    /// Converts a value of 64 bits to an `I64`.
    pub(crate) fn as_word(&mut self, value: Value) -> Value {
        match self.ty(value) {
            Type::F64 => self.convert(Convert::Bitcast, value, Type::I64),
            Type::Ptr => self.convert(Convert::PtrToInt, value, Type::I64),
            Type::Bool => self.widen_bool(value, Type::I64),
            Type::I64 | Type::I8 | Type::I16 | Type::I32 | Type::F32 => value,
        }
    }

    /// Truncates an `I64` to an integer type.
    pub(crate) fn truncate(&mut self, wide: Value, scalar: Scalar) -> Value {
        let ty = abi_type(scalar).ty;
        if ty == Type::I64 { wide } else { self.convert(Convert::Trunc, wide, ty) }
    }

    /// Emits a jump to `to` with arguments unless a condition holds.
    pub(crate) fn go_unless(&mut self, cond: Value, to: Block, args: &[Value]) {
        let (aside, next) = (self.block("aside"), self.block("next"));
        self.branch(cond, next, aside);
        self.switch_to(aside);
        self.jump(to, args);
        self.switch_to(next);
    }

    /// Branches to a new cold block if a condition holds, and makes it the current one. Returns the block to which the
    /// code goes otherwise.
    pub(crate) fn enter_cold_if(&mut self, cond: Value, label: &'static str) -> Block {
        let (cold, next) = (self.cold_block(label), self.block("next"));
        self.branch(cond, cold, next);
        self.switch_to(cold);
        next
    }

    /// Branches to a new cold block unless a condition holds, and makes it the current one. Returns the block to which
    /// the code goes otherwise.
    pub(crate) fn enter_cold_unless(&mut self, cond: Value, label: &'static str) -> Block {
        let (cold, next) = (self.cold_block(label), self.block("next"));
        self.branch(cond, next, cold);
        self.switch_to(cold);
        next
    }

    /// Emits a call of a function of the runtime; returns its result.
    pub(crate) fn runtime(
        &mut self,
        function: &abi_spec::runtime::Function,
        args: &[Value],
    ) -> Value {
        let symbol = crate::lower::runtime(self.module, function);
        self.call_value(symbol, args)
    }

    /// Emits the release of an object that is not NULL.
    pub(crate) fn release_object(&mut self, object: Value) {
        self.runtime(&abi_spec::runtime::OBJECT_DEC_REF, &[object]);
    }

    /// Returns a `Bool`: true if values of the type index are objects.
    pub(crate) fn is_object(&mut self, index: Value) -> Value {
        self.compare_const(Cond::Sge, index, TypeIndex::STATIC_OBJECT_BEGIN.0.into())
    }

    /// Emits a return of this code.
    pub(crate) fn return_code(&mut self, code: i32) {
        let code = self.i32(code);
        self.ret(Some(code));
    }
}
