//! Tests of modules that have no text form: dangling symbols and values, and symbols that are defined otherwise than
//! declared. All other tests are in `codegen/filetests/verify`.

use super::*;
use crate::ir::{
    Block, Inst, Placed, Relocation, SourceLocation, Target, Terminator, Topic, TopicId, Type,
    Value,
};

/// A change of the sound module, and the error that it causes.
type Case<'a, T> = (&'a dyn Fn(&mut T), &'a str);

/// Returns a module without a fault: two imports, a constructor, data, and `f(n: i64, p: ptr) -> i64`.
fn sound() -> Module {
    include_str!("../../../filetests/verify/sound.hir").parse().expect("it is host IR")
}

/// The index of `f` among the functions.
const F: usize = 1;

/// Returns the error of the module after a change.
fn fault(change: impl FnOnce(&mut Module)) -> Malformed {
    let mut module = sound();
    verify(&module).unwrap();
    change(&mut module);
    verify(&module).unwrap_err()
}

/// Returns a symbol by its name.
fn symbol(module: &Module, name: &str) -> Symbol {
    module.find(name).expect("the module has it")
}

#[test]
fn symbols_are_defined_as_their_linkage_says() {
    let linkage = |module: &mut Module, name: &str, linkage| {
        let symbol = symbol(module, name);
        module.symbols[symbol.index()].linkage = linkage;
    };
    let cases: [Case<'_, Module>; 8] = [
        (&|m| linkage(m, "kernel", Linkage::Local), "kernel is defined 0 times, not 1"),
        (&|m| linkage(m, "kernel", Linkage::Once), "kernel is defined 0 times, not 1"),
        (&|m| linkage(m, "f", Linkage::Import), "f is defined 1 times, not 0"),
        (&|m| m.data[0].symbol = symbol(m, "kernel"), "kernel is defined as something else"),
        (&|m| m.data[0].symbol = Symbol(99), "symbol99 is not of the module"),
        (&|m| m.functions[F].symbol = m.data[0].symbol, "table is defined as something else"),
        (&|m| m.constructors.push(Symbol(99)), "symbol99 is not of the module"),
        (
            &|m| m.data[0].relocations[0] = Relocation { offset: 0, symbol: Symbol(99), addend: 0 },
            "table refers to symbol99",
        ),
    ];
    for (change, reason) in cases {
        assert_eq!(fault(change).reason, reason);
    }
}

#[test]
fn what_a_function_names_exists() {
    let jump = |block| Terminator::Jump(Target { block, args: Vec::new() });
    let address = |symbol| Placed {
        result: Some(Value(2)),
        ..Placed::from(Inst::Address { symbol, offset: 0 })
    };
    let lost = Topic {
        location: Some(SourceLocation { file: 0, line: 1, column: 0 }),
        ..Topic::default()
    };
    let cases: [Case<'_, Function>; 9] = [
        (&|f| f.blocks[0].params.push(Value(99)), "v99 does not exist"),
        (&|f| f.blocks[0].insts[0].result = Some(Value(99)), "v99 does not exist"),
        (&|f| f.blocks[2].end = Some(Terminator::Return(Some(Value(99)))), "v99 does not exist"),
        (&|f| f.blocks[1].end = Some(jump(Block(7))), "block7 does not exist"),
        (&|f| f.blocks[0].insts.push(address(Symbol(99))), "symbol99 does not exist"),
        (&|f| f.values[0].hint.name = Some(99), "name 99 does not exist"),
        (&|f| f.blocks[0].insts[0].topic = TopicId::new(9), "topic9 does not exist"),
        (&|f| f.blocks[1].end_topic = TopicId::new(1), "topic1 does not exist"),
        (&|f| f.topics.push(lost), "file 0 does not exist"),
    ];
    for (change, reason) in cases {
        let error = fault(|module| change(&mut module.functions[F]));
        assert_eq!((error.reason.as_str(), error.function.as_deref()), (reason, Some("func @f")));
    }
}

#[test]
fn files_have_names() {
    for name in ["", "a\nb", "a\"b", "a\0"] {
        let error = fault(|module| {
            module.file(name);
        });
        assert_eq!(error.reason, format!("{name:?} is no name of a source file"));
    }
}

#[test]
fn functions_are_what_their_symbol_says() {
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let error = fault(|module| module.functions[F].signature = signature);
    assert_eq!(error.reason, "signature differs from its symbol's");
}

#[test]
fn values_that_are_used_are_defined() {
    let error = fault(|module| {
        module.functions[F].blocks[0].insts.remove(1);
    });
    assert_eq!(error.reason, "v3 is used but never defined");
}

#[test]
fn the_function_is_shown() {
    let error = fault(|module| {
        module.functions[F].blocks[2].end = Some(Terminator::Return(None));
    });
    let text =
        "malformed host IR: wrong type returned\nexport func @f(%n: i64, %p: ptr) -> i64 {\n";
    assert!(error.to_string().starts_with(text), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string());
}
