//! Data with addresses, symbols that every module defines, and atomic accesses, in process.

use std::thread;

use crate::ir::{arg, int, runtimes, succeed, wrapper};
use tvm_ffi_codegen::ir::{
    Binary, Builder, Cond, Data, Linkage, Module, Relocation, Signature, SymbolKind, Type, verify,
};
use tvm_ffi_codegen_jit::Jit;

/// A wrapper that adds its argument to a counter atomically, through a function whose address is in a table.
fn adder(name: &str) -> Module {
    let mut module = Module::default();
    let unary = Signature::new(&[Type::I64], Some(Type::I64));
    let add = module.declare("add", Linkage::Once, SymbolKind::Function(unary.clone()));
    let [counter, table] =
        ["counter", "table"].map(|name| module.declare(name, Linkage::Once, SymbolKind::Data));
    module.data.push(Data::variable(counter, vec![0; 8], 8));
    let relocations = vec![Relocation { offset: 0, symbol: add, addend: 0 }];
    module.data.push(Data { relocations, ..Data::constant(table, vec![0; 8], 8) });
    let mut b = Builder::define(&mut module, add);
    let (place, amount) = (b.address(counter), b.param(0));
    let old = b.atomic_load(Type::I64, place, 0);
    let old = b.loop_with(
        old,
        |b, old| {
            let sum = b.binary(Binary::Add, old, amount);
            let found = b.compare_exchange(place, old, sum);
            b.compare(Cond::Ne, found, old)
        },
        |b, _| b.atomic_load(Type::I64, place, 0),
    );
    let sum = b.binary(Binary::Add, old, amount);
    b.ret(Some(sum));
    let function = b.finish();
    module.functions.push(function);
    wrapper(&mut module, name, |b| {
        let amount = arg(b, Type::I64, 0);
        let table = b.address(table);
        let callee = b.load(Type::Ptr, table, 0);
        let sum = b.call_indirect(unary, callee, &[amount]).expect("it has a result");
        succeed(b, 1, sum);
    });
    verify(&module).unwrap();
    module
}

/// A symbol that a linker merges exists once in each module here, so the counters are separate.
#[test]
fn modules_of_one_jit_share_nothing_and_threads_share_a_module() {
    const TURNS: i64 = 2_000;
    for runtime in runtimes() {
        let mut jit = Jit::with_runtime(runtime).unwrap();
        for name in ["one", "two"] {
            // SAFETY: the wrappers are sound for integers, and get integers.
            jit = unsafe { jit.emit(&adder(name)) }.unwrap();
        }
        let compiled = jit.finish().unwrap();
        let [one, two] = ["one", "two"].map(|name| compiled.function(name).unwrap());
        let add = || (0..TURNS).for_each(|_| drop(one.call((3_i64,)).unwrap()));
        thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(add))));
        assert_eq!(int(one.call((0_i64,))), 6 * TURNS);
        assert_eq!(int(two.call((5_i64,))), 5);
    }
}
