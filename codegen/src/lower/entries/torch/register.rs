//! Registration of the operators of a library: a constructor, and a function of the FFI that does it later.

use abi_spec::TypeIndex;
use abi_spec::symbol::function_symbol;

use super::terminated;
use crate::ir::{Binary, Builder, Cond, Linkage, Module, Signature, Symbol, Type};
use crate::lower::routines::Routine;
use crate::lower::routines::torch::register::{ABSENT, REFUSED, REGISTERED, REGISTRATION_SIZE};
use crate::lower::value::{cache, constant_bytes, ffi_function, write_any, write_none};
use crate::resolve::torch::{GETTER, TorchOperator};

/// Symbol of the function that registers the operators of a module, `int64_t function(void)`; it returns their state.
const REGISTER: &str = "tvm_ffi_codegen.torch.register";

/// Symbol of the constructor.
const CONSTRUCTOR: &str = "tvm_ffi_codegen.torch.constructor";

/// Symbol of the state of the operators.
const STATE: &str = "tvm_ffi_codegen.torch.state";

/// Adds the function of the FFI that registers operators, given with their kernels, and with `constructs` the
/// constructor that does so when the library is loaded.
pub(crate) fn register(
    module: &mut Module,
    namespace: &str,
    operators: &[(&TorchOperator<'_>, Symbol)],
    (linkage, constructs): (Linkage, bool),
) {
    let signature = Signature::new(&[], Some(Type::I64));
    let mut b = Builder::function(module, REGISTER, Linkage::Local, signature);
    b.set_cold();
    let (state, registration) = (cache(&mut b, STATE), b.stack_slot(REGISTRATION_SIZE, 8));
    let name = constant_bytes(&mut b, terminated(namespace));
    let begin = Routine::TorchBegin.declare(b.module, linkage);
    let begun = b.call_value(begin, &[state, name, registration]);
    let is_begun = b.compare_const(Cond::Ne, begun, 0);
    b.if_then(is_begun, |b| {
        for (number, (operator, kernel)) in operators.iter().enumerate() {
            let name = constant_bytes(b, terminated(operator.name));
            let schema = constant_bytes(b, terminated(&operator.schema));
            let (number, kernel) = (b.i64(number as i64), b.address(*kernel));
            let args = [registration, number, name, schema, kernel];
            Routine::TorchDefine.call(b, linkage, &args);
        }
        Routine::TorchEnd.call(b, linkage, &[state, registration]);
    });
    let state = b.atomic_load(Type::I64, state, 0);
    b.ret(Some(state));
    let function = b.finish();
    let register = function.symbol;
    module.functions.push(function);
    if constructs {
        constructor(module, register);
    }
    let names: Vec<&str> = operators.iter().map(|(operator, _)| operator.name).collect();
    getter(module, register, &format!("{namespace}:{}", names.join(",")), linkage);
}

/// Adds the constructor. What it cannot do, the getter says.
fn constructor(module: &mut Module, register: Symbol) {
    let signature = Signature::new(&[], None);
    let mut b = Builder::function(module, CONSTRUCTOR, Linkage::Local, signature);
    b.set_cold();
    b.call_value(register, &[]);
    b.ret(None);
    let function = b.finish();
    module.constructors.push(function.symbol);
    module.functions.push(function);
}

/// Adds the function of the FFI that registers the operators unless they are. It returns `told`, the namespace, a
/// colon, and the names with commas in between; None if there is no PyTorch in the process; the number of the first
/// operator that PyTorch has refused. Its callers know that it takes no
/// arguments, so it does not check their number.
fn getter(module: &mut Module, register: Symbol, told: &str, linkage: Linkage) {
    let mut b = ffi_function(module, &function_symbol(GETTER), Linkage::Export);
    b.set_cold();
    let result = b.param(3);
    let state = b.call_value(register, &[]);
    let (registered, other) = (b.block("registered"), b.block("other"));
    let (absent, refused) = (b.block("absent"), b.block("refused"));
    let is_registered = b.compare_const(Cond::Eq, state, REGISTERED as i64);
    b.branch(is_registered, registered, other);
    b.switch_to(registered);
    let text = constant_bytes(&mut b, terminated(told));
    let length = b.i64(told.len() as i64);
    let give = Routine::GiveText.declare(b.module, linkage);
    let status = b.call(give, &[text, length, result]);
    b.ret(status);
    b.switch_to(other);
    let is_absent = b.compare_const(Cond::Eq, state, ABSENT as i64);
    b.branch(is_absent, absent, refused);
    b.switch_to(absent);
    write_none(&mut b, result);
    b.return_code(0);
    b.switch_to(refused);
    let number = b.binary_const(Binary::Sub, state, REFUSED as i64);
    write_any(&mut b, result, TypeIndex::INT, number);
    b.return_code(0);
    let function = b.finish();
    module.functions.push(function);
}
