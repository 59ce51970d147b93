//! What is refused, and why.

use super::*;
use crate::ir::{
    Binary, Block, Builder, Cond, Convert, Inst, Relocation, Target, Terminator, Type, Value,
};

/// A change, and what is wrong then.
type Case<'a, T> = (&'a dyn Fn(&mut T), &'a str);

/// A sound module: `f(n: i64, p: ptr) -> i64` with three blocks, an import and two data objects.
fn sound() -> Module {
    let mut module = Module::default();
    let kernel = SymbolKind::Function(Signature::new(&[Type::I64], None));
    let kernel = module.declare("kernel", Linkage::Import, kernel);
    for (name, writable) in [("table", false), ("state", true)] {
        let symbol = module.declare(name, Linkage::Local, SymbolKind::Data);
        module.data.push(Data { writable, ..Data::constant(symbol, vec![0; 24], 8) });
    }
    let signature = Signature::new(&[Type::I64, Type::Ptr], Some(Type::I64));
    let mut b = Builder::function(&mut module, "f", Linkage::Export, signature);
    let (n, one) = (b.param(0), b.i64(1));
    let (sum, less) = (b.binary(Binary::Add, n, one), b.compare(Cond::Slt, n, one));
    let (then, join) = (b.block("then"), b.block("join"));
    let result = b.block_param(join, Type::I64, "result");
    b.branch(less, then, (join, [sum]));
    b.switch_to(then);
    b.call(kernel, &[n]);
    b.store(sum, b.param(1), 8);
    b.jump(join, &[n]);
    b.switch_to(join);
    b.ret(Some(result));
    let function = b.finish();
    module.functions.push(function);
    module
}

/// The values of [`sound`] by their numbers: parameters, one, sum, less, the result.
const N: Value = Value(0);
const P: Value = Value(1);
const ONE: Value = Value(2);
const SUM: Value = Value(3);
const LESS: Value = Value(4);
const RESULT: Value = Value(5);

/// What is wrong with the module after a change.
fn fault(change: impl FnOnce(&mut Module)) -> String {
    let mut module = sound();
    change(&mut module);
    verify(&module).unwrap_err().reason
}

/// What is wrong with an instruction at the end of the entry block, whose result is of a type.
fn inst(ty: Option<Type>, inst: Inst) -> String {
    fault(|module| {
        let function = &mut module.functions[0];
        let value = Value(function.values.len() as u32);
        let data = ty.map(|ty| crate::ir::ValueData { ty, hint: crate::ir::Hint::default() });
        function.values.extend(data);
        function.blocks[0].insts.push((ty.map(|_| value), inst));
    })
}

fn end(module: &mut Module, block: usize) -> &mut Terminator {
    module.functions[0].blocks[block].end.as_mut().expect("the block has ended")
}

#[test]
fn the_sound_module_is_accepted() {
    verify(&sound()).unwrap();
}

#[test]
fn symbols_are_defined_as_their_linkage_says() {
    let linkage = |module: &mut Module, name: &str, linkage| {
        let symbol = module.find(name).unwrap();
        module.symbols[symbol.index()].linkage = linkage;
    };
    let cases: [Case<'_, Module>; 8] = [
        (&|m| linkage(m, "kernel", Linkage::Local), "kernel is defined 0 times, not 1"),
        (&|m| linkage(m, "kernel", Linkage::Once), "kernel is defined 0 times, not 1"),
        (&|m| linkage(m, "f", Linkage::Import), "f is defined 1 times, not 0"),
        (&|m| m.functions.push(m.functions[0].clone()), "f is defined 2 times, not 1"),
        (&|m| m.data[1].symbol = m.data[0].symbol, "table is defined 2 times, not 1"),
        (&|m| m.data[0].symbol = Symbol(0), "kernel is defined as something else"),
        (&|m| m.data[0].symbol = Symbol(9), "symbol9 is not of the module"),
        (&|m| m.functions[0].symbol = m.data[0].symbol, "table is defined as something else"),
    ];
    for (change, reason) in cases {
        assert_eq!(fault(change), reason);
    }
}

#[test]
fn constructors_run_without_arguments() {
    for (symbol, reason) in [
        (Symbol(0), "kernel cannot be a constructor"),
        (Symbol(1), "table cannot be a constructor"),
        (Symbol(3), "f cannot be a constructor"),
        (Symbol(9), "symbol9 is not of the module"),
    ] {
        assert_eq!(fault(|module| module.constructors.push(symbol)), reason);
    }
}

#[test]
fn data_is_laid_out_well() {
    let at = |offset: u32| Relocation { offset, symbol: Symbol(0), addend: 0 };
    let cases: [Case<'_, Data>; 12] = [
        (&|d| d.align = 3, "table has alignment 3"),
        (&|d| d.align = 0, "table has alignment 0"),
        (&|d| (d.large, d.writable) = (true, true), "table is no constant, and large"),
        (&|d| (d.large, d.relocations) = (true, vec![at(0)]), "table is no constant, and large"),
        (&|d| d.listed = true, "table is no constant of bytes, and listed"),
        (
            &|d| (d.align, d.listed, d.large) = (1, true, true),
            "table is no constant of bytes, and listed",
        ),
        (&|d| (d.align, d.relocations) = (4, vec![at(0)]), "table holds addresses at alignment 4"),
        (&|d| d.relocations = vec![at(4)], "table has an address at 4"),
        (&|d| d.relocations = vec![at(8), at(8)], "table has an address at 8"),
        (&|d| d.relocations = vec![at(24)], "table has no room for an address at 24"),
        (
            &|d| (d.bytes[9], d.relocations) = (1, vec![at(8)]),
            "table has no room for an address at 8",
        ),
        (
            &|d| d.relocations = vec![Relocation { symbol: Symbol(9), ..at(0) }],
            "table refers to symbol9",
        ),
    ];
    for (change, reason) in cases {
        assert_eq!(fault(|module| change(&mut module.data[0])), reason);
    }
}

#[test]
fn what_a_function_names_exists() {
    let jump = |block| Terminator::Jump(Target { block, args: Vec::new() });
    let address = |symbol| (Some(ONE), Inst::Address { symbol });
    let cases: [Case<'_, Function>; 7] = [
        (&|f| f.blocks[0].params.push(Value(99)), "v99 does not exist"),
        (&|f| f.blocks[0].insts[0].0 = Some(Value(99)), "v99 does not exist"),
        (&|f| f.blocks[2].end = Some(Terminator::Return(Some(Value(99)))), "v99 does not exist"),
        (&|f| f.blocks[1].end = Some(jump(Block(7))), "block7 does not exist"),
        (&|f| f.blocks[0].insts.push(address(Symbol(9))), "symbol9 does not exist"),
        (&|f| f.values[0].hint.name = Some(5), "name 5 does not exist"),
        (&|f| f.blocks.clear(), "there are no blocks"),
    ];
    for (change, reason) in cases {
        let mut module = sound();
        change(&mut module.functions[0]);
        let error = verify(&module).unwrap_err();
        assert_eq!((error.reason.as_str(), error.function.as_deref()), (reason, Some("func @f")));
    }
}

#[test]
fn functions_are_what_their_symbol_says() {
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let change = |module: &mut Module| module.functions[0].signature = signature.clone();
    assert_eq!(fault(change), "signature differs from its symbol's");
    let change = |module: &mut Module| module.functions[0].blocks[0].params.truncate(1);
    assert_eq!(fault(change), "entry parameters differ from the signature");
}

#[test]
fn blocks_are_in_order_and_reached() {
    let reason = "blocks are not in reverse postorder, or unreachable";
    let swap = |module: &mut Module| {
        let blocks = &mut module.functions[0].blocks;
        blocks.swap(1, 2);
        let entry = Terminator::Branch {
            cond: LESS,
            then: Block(2).into(),
            otherwise: (Block(1), [SUM]).into(),
        };
        blocks[0].end = Some(entry);
        blocks[2].end = Some(Terminator::Jump((Block(1), [N]).into()));
    };
    assert_eq!(fault(swap), reason);
    let forget = |module: &mut Module| *end(module, 0) = Terminator::Return(Some(N));
    assert_eq!(fault(forget), reason);
    let forget = |module: &mut Module| module.functions[0].blocks[2].end = None;
    assert_eq!(fault(forget), "a block has no terminator");
    let again = |module: &mut Module| *end(module, 1) = Terminator::Jump(Block(0).into());
    assert_eq!(fault(again), "jump to the entry");
}

#[test]
fn values_are_defined_once_and_before_their_uses() {
    let twice = |module: &mut Module| module.functions[0].blocks[0].insts[1].0 = Some(ONE);
    assert_eq!(fault(twice), "v2 is defined twice");
    let early = |module: &mut Module| module.functions[0].blocks[0].insts.swap(0, 1);
    assert_eq!(fault(early), "v2 does not dominate its use");
    let beside =
        |module: &mut Module| *end(module, 1) = Terminator::Jump((Block(2), [RESULT]).into());
    assert_eq!(fault(beside), "v5 does not dominate its use");
    let gone = |module: &mut Module| {
        module.functions[0].blocks[0].insts.remove(0);
    };
    assert_eq!(fault(gone), "v2 is used but never defined");
    let slot = |module: &mut Module| {
        let slot = Inst::StackSlot { size: 8, align: 8 };
        module.functions[0].blocks[1].insts.push((None, slot));
    };
    assert_eq!(fault(slot), "stack slot outside the entry");
}

#[test]
fn edges_and_returns_are_typed() {
    let few = |module: &mut Module| *end(module, 1) = Terminator::Jump(Block(2).into());
    assert_eq!(fault(few), "block2 takes [I64], not []");
    let other = |module: &mut Module| *end(module, 1) = Terminator::Jump((Block(2), [P]).into());
    assert_eq!(fault(other), "block2 takes [I64], not [Ptr]");
    let cond = |module: &mut Module| {
        if let Terminator::Branch { cond, .. } = end(module, 0) {
            *cond = N;
        }
    };
    assert_eq!(fault(cond), "v0 is i64, not bool");
    for value in [None, Some(LESS)] {
        let wrong = |module: &mut Module| *end(module, 2) = Terminator::Return(value);
        assert_eq!(fault(wrong), "wrong type returned");
    }
}

#[test]
fn accesses_are_typed_and_aligned() {
    use Type::{Bool, F64, I8, I64, Ptr};
    let i64 = Some(I64);
    let cases = [
        (
            None,
            Inst::Const { ty: I64, bits: 0 },
            "Const { ty: I64, bits: 0 } yields Some(I64), not None",
        ),
        (Some(Ptr), Inst::StackSlot { size: 8, align: 32 }, "stack slot of alignment 32"),
        (
            Some(Bool),
            Inst::Load { ty: Bool, base: P, offset: 0, align: 1 },
            "access to bool at alignment 1",
        ),
        (i64, Inst::Load { ty: I64, base: P, offset: 0, align: 3 }, "access to i64 at alignment 3"),
        (i64, Inst::Load { ty: I64, base: N, offset: 0, align: 8 }, "v0 is i64, not ptr"),
        (
            None,
            Inst::Store { value: LESS, base: P, offset: 0, align: 1 },
            "access to bool at alignment 1",
        ),
        (Some(I8), Inst::AtomicLoad { ty: I8, base: P, offset: 0 }, "atomic access to i8"),
        (Some(F64), Inst::AtomicLoad { ty: F64, base: P, offset: 0 }, "atomic access to f64"),
        (None, Inst::AtomicStore { value: LESS, base: P, offset: 0 }, "atomic access to bool"),
        (None, Inst::AtomicStore { value: N, base: N, offset: 0 }, "v0 is i64, not ptr"),
        (i64, Inst::CompareExchange { base: P, expected: N, new: P }, "v1 is ptr, not i64"),
    ];
    cases.into_iter().for_each(|(ty, wrong, reason)| assert_eq!(inst(ty, wrong), reason));
}

#[test]
fn operators_and_calls_are_typed() {
    use Type::{Bool, I32, I64, Ptr};
    let i64 = Some(I64);
    let cases = [
        (Some(Ptr), Inst::PtrAdd { base: P, offset: P }, "v1 is ptr, not i64"),
        (i64, Inst::Binary { op: Binary::Add, lhs: N, rhs: P }, "v1 is ptr, not i64"),
        (Some(Ptr), Inst::Binary { op: Binary::Add, lhs: P, rhs: P }, "Add of ptr"),
        (i64, Inst::Binary { op: Binary::Fadd, lhs: N, rhs: N }, "Fadd of i64"),
        (Some(Bool), Inst::Binary { op: Binary::Shl, lhs: LESS, rhs: LESS }, "Shl of bool"),
        (Some(Bool), Inst::Compare { cond: Cond::Slt, lhs: P, rhs: P }, "Slt of ptr"),
        (Some(Bool), Inst::Compare { cond: Cond::Feq, lhs: N, rhs: N }, "Feq of i64"),
        (i64, Inst::Select { cond: N, then: N, otherwise: N }, "v0 is i64, not bool"),
        (i64, Inst::Select { cond: LESS, then: N, otherwise: P }, "v1 is ptr, not i64"),
        (i64, Inst::Convert { op: Convert::Zext, value: N, to: I64 }, "Zext from i64 to i64"),
        (
            Some(I32),
            Inst::Convert { op: Convert::Sext, value: LESS, to: I32 },
            "Sext from bool to i32",
        ),
        (
            Some(I32),
            Inst::Convert { op: Convert::Bitcast, value: N, to: I32 },
            "Bitcast from i64 to i32",
        ),
        (
            Some(I32),
            Inst::Convert { op: Convert::PtrToInt, value: P, to: I32 },
            "PtrToInt from ptr to i32",
        ),
        (None, Inst::Call { callee: Symbol(1), args: vec![] }, "call of data table"),
        (None, Inst::Call { callee: Symbol(0), args: vec![P] }, "call of (i64) with [Ptr]"),
        (
            None,
            Inst::CallIndirect { signature: Box::default(), callee: N, args: vec![] },
            "v0 is i64, not ptr",
        ),
    ];
    cases.into_iter().for_each(|(ty, wrong, reason)| assert_eq!(inst(ty, wrong), reason));
}

#[test]
fn the_function_is_shown() {
    let mut module = sound();
    *end(&mut module, 2) = Terminator::Return(None);
    let error = verify(&module).unwrap_err();
    let text =
        "malformed host IR: wrong type returned\nexport func @f(%p0: i64, %p1: ptr) -> i64 {\n";
    assert!(error.to_string().starts_with(text), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string());
}
