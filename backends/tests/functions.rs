//! Functions of one shape, so that a test can call any of them.

use codegen::ir::{Builder, Cond, Linkage, Module, Signature, Type, Value};

/// Returns the signature of functions that `Running::call` calls: the addresses of input and output.
pub(crate) fn shape() -> Signature {
    Signature::new(&[Type::Ptr, Type::Ptr], None)
}

/// Adds an exported function that loads operands of these types from successive words, and stores the result of `body`.
pub(crate) fn define(
    module: &mut Module,
    name: &str,
    operands: &[Type],
    body: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value,
) {
    let mut b = Builder::function(module, name, Linkage::Export, shape());
    let words = operands.iter().enumerate();
    let values: Vec<Value> = words
        .map(|(i, &ty)| {
            let stored = if ty == Type::Bool { Type::I8 } else { ty };
            let value = b.load(stored, b.param(0), 8 * i as i32);
            if ty == Type::Bool { b.compare_const(Cond::Ne, value, 0) } else { value }
        })
        .collect();
    let mut result = body(&mut b, &values);
    if b.ty(result) == Type::Bool {
        result = b.widen_bool(result, Type::I8);
    }
    b.store(result, b.param(1), 0);
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
}

/// Calls a function of this shape, which reads `input` and writes one word; returns the word.
pub(crate) fn call(address: usize, input: &[u64]) -> u64 {
    let mut output = 0;
    // SAFETY: the tests in these folders define the function with this signature; it reads no more than the test
    // passes, and the owner of the code outlives the call.
    unsafe {
        let function: extern "C" fn(*const u64, *mut u64) = std::mem::transmute(address);
        function(input.as_ptr(), &mut output);
    }
    output
}
