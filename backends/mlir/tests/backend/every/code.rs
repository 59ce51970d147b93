//! Calls and control flow of the module with every instruction.

use codegen::ir::{
    AbiType, Binary, Builder, Cond, Extend, Linkage, Module, Signature, Symbol, SymbolKind, Type,
    Value,
};

pub(super) fn calls(module: &mut Module) {
    let narrow = |ty, extend| AbiType { ty, extend };
    let params = vec![
        narrow(Type::I8, Extend::Sign),
        narrow(Type::I8, Extend::Zero),
        narrow(Type::I16, Extend::Sign),
        narrow(Type::I16, Extend::Zero),
        Type::I32.into(),
        Type::I64.into(),
        Type::F32.into(),
        Type::F64.into(),
        Type::Ptr.into(),
    ];
    let signature =
        Signature { params, result: Some(narrow(Type::I16, Extend::Zero)), reads: Box::default() };
    let kernel = module.declare("kernel", Linkage::Import, SymbolKind::Function(signature.clone()));
    let mut b = Builder::function(module, "forward", Linkage::Export, signature.clone());
    let args: Vec<Value> = (0..signature.params.len()).map(|i| b.param(i)).collect();
    let direct = b.call_value(kernel, &args);
    let address = b.address(kernel);
    let indirect = b.call_indirect(signature.clone(), address, &args);
    let pointer = b.load(Type::Ptr, args[8], 0);
    let other = b.call_indirect(signature, pointer, &args);
    let sum = [indirect, other]
        .into_iter()
        .flatten()
        .fold(direct, |sum, value| b.binary(Binary::Add, sum, value));
    b.call_indirect(Signature::new(&[Type::I64], None), pointer, &args[5..6]);
    b.ret(Some(sum));
    let function = b.finish();
    module.functions.push(function);
}

/// A cold function, one that is never inlined, and a once-function.
fn callees(module: &mut Module, signature: &Signature) -> [Symbol; 3] {
    let kind = SymbolKind::Function(signature.clone());
    let external = module.declare("external", Linkage::Import, kind);
    let linkages =
        [("fail", Linkage::Local), ("square", Linkage::Local), ("common", Linkage::Once)];
    linkages.map(|(name, linkage)| {
        let mut b = Builder::function(module, name, linkage, signature.clone());
        if name == "fail" {
            b.set_cold();
        } else {
            b.set_no_inline();
        }
        let n = b.param(0);
        let square = b.binary(Binary::Mul, n, n);
        let value = b.call_value(external, &[square]);
        b.ret(Some(value));
        let function = b.finish();
        let symbol = function.symbol;
        module.functions.push(function);
        symbol
    })
}

/// A loop over block parameters, cold blocks on either side, a branch to one block with different
/// arguments, and calls of functions of every sort.
pub(super) fn flow(module: &mut Module) {
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let [fail, square, common] = callees(module, &signature);
    let mut b = Builder::function(module, "flow", Linkage::Export, signature);
    let n = b.param(0);
    let (negative, odd) = (b.cold_block("negative"), b.cold_block("odd"));
    let (head, body, done) = (b.block("head"), b.block("body"), b.block("done"));
    let (i, sum) = (b.block_param(head, Type::I64, "i"), b.block_param(head, Type::I64, "sum"));
    let (result, flag) =
        (b.block_param(done, Type::I64, "result"), b.block_param(done, Type::Bool, "flag"));
    let ok = b.compare_const(Cond::Sge, n, 0);
    b.guard(ok, negative);
    let bit = b.binary_const(Binary::And, n, 1);
    let even = b.compare_const(Cond::Eq, bit, 0);
    b.guard(even, odd);
    let zero = b.i64(0);
    b.jump(head, &[zero, zero]);
    b.switch_to(head);
    let again = b.compare(Cond::Slt, i, n);
    b.branch(again, body, (done, [sum, again]));
    b.switch_to(body);
    let squared = b.call_value(square, &[i]);
    let (next, total) = (b.binary_const(Binary::Add, i, 1), b.binary(Binary::Add, sum, squared));
    let large = b.compare_const(Cond::Ugt, squared, 100);
    b.branch(large, (head, [next, total]), (head, [next, sum]));
    b.switch_to(negative);
    let code = b.call_value(fail, &[n]);
    b.jump(done, &[code, ok]);
    b.switch_to(odd);
    let code = b.call_value(common, &[bit]);
    b.ret(Some(code));
    b.switch_to(done);
    let extra = b.widen_bool(flag, Type::I64);
    let value = b.binary(Binary::Sub, result, extra);
    b.ret(Some(value));
    let function = b.finish();
    module.functions.push(function);
}
