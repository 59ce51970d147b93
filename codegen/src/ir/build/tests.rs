//! Tests of the builder: shared constants, dropped instructions, names of values.

use super::*;
use crate::ir::verify;

/// Builds a function and returns the text of its blocks.
fn built(body: impl FnOnce(&mut Builder<'_>)) -> String {
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I64, Type::Ptr], Some(Type::I64));
    let mut b = Builder::function(&mut module, "f", Linkage::Export, signature);
    body(&mut b);
    let function = b.finish();
    module.functions.push(function);
    verify(&module).unwrap();
    let text = module.to_string();
    let (_, body) = text.split_once("entry:\n").unwrap();
    body.strip_suffix("}\n").unwrap().to_owned()
}

#[test]
fn a_block_has_every_constant_once() {
    let text = built(|b| {
        let (one, two) = (b.i64(1), b.i64(2));
        assert_eq!(b.i64(1), one);
        assert_ne!(b.constant(Type::Ptr, 1), one);
        let next = b.block("next");
        let sum = b.binary(Binary::Add, one, two);
        b.jump(next, &[]);
        b.switch_to(next);
        let again = b.i64(1);
        assert_ne!(again, one);
        let sum = b.binary(Binary::Add, sum, again);
        b.ret(Some(sum));
    });
    let expected = "    %v2: i64 = const 1\n    %v3: i64 = const 2\n    %v5: i64 = add %v2, %v3\n    \
                    jump next1\nnext1:\n    %v6: i64 = const 1\n    %v7: i64 = add %v5, %v6\n    \
                    return %v7\n";
    assert_eq!(text, expected);
}

#[test]
fn a_block_has_every_address_once() {
    let text = built(|b| {
        let data = b.module.declare("data", Linkage::Import, SymbolKind::Data);
        let sum = [(0, 0), (0, 8), (-24, 0), (-24, 8)].map(|(within, offset)| {
            let place = b.address_in(data, within);
            b.load(Type::I64, place, offset)
        });
        let sum = sum.into_iter().reduce(|sum, next| b.binary(Binary::Add, sum, next));
        b.ret(sum);
    });
    assert_eq!(text.matches("address @data\n").count(), 1, "{text}");
    assert_eq!(text.matches("address @data-24\n").count(), 1, "{text}");
}

#[test]
fn what_nobody_reads_is_dropped_unless_it_does_something() {
    let text = built(|b| {
        let (n, place) = (b.param(0), b.param(1));
        b.stack_slot(8, 8);
        let product = b.binary(Binary::Mul, n, n);
        let flag = b.compare(Cond::Slt, product, n);
        b.select(flag, n, product);
        b.load(Type::I64, place, 0);
        b.atomic_load(Type::I64, place, 0);
        let offset = b.i64(16);
        let far = b.ptr_add(place, offset);
        b.store(n, far, 0);
        b.ret(Some(n));
    });
    let expected = "    %v6: i64 = load %p1+0 align 8\n    %v7: i64 = atomic_load %p1+0\n    \
                    %v8: i64 = const 16\n    %v9: ptr = ptr_add %p1, %v8\n    \
                    store %p0, %v9+0 align 8\n    return %p0\n";
    assert_eq!(text, expected);
}

/// A value that only the next iteration reads counts as read.
#[test]
fn values_that_go_around_a_loop_stay() {
    let text = built(|b| {
        let zero = b.i64(0);
        let n = b.param(0);
        let result = b.loop_with(
            zero,
            |b, i| b.compare(Cond::Slt, i, n),
            |b, i| b.binary_const(Binary::Add, i, 1),
        );
        b.ret(Some(result));
    });
    assert!(text.contains(" = add %") && text.contains("jump loop1(%v"), "{text}");
}

/// Equal names get numbers, which differ from names that end in the same number.
#[test]
fn values_have_names_of_their_own() {
    let text = built(|b| {
        let names = ["a", "a.2", "a", "a"].map(|name| b.name(name));
        let first = b.param(0);
        let last = names.into_iter().fold(first, |sum, name| {
            let sum = b.binary(Binary::Add, sum, first);
            b.hint(sum, Hint { name: Some(name), ..Hint::default() })
        });
        b.ret(Some(last));
    });
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "%a: i64 = add %p0, %p0",
            "%a.2: i64 = add %a, %p0",
            "%a.2_: i64 = add %a.2, %p0",
            "%a.3: i64 = add %a.2_, %p0",
            "return %a.3",
        ]
    );
}
