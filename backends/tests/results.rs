//! Tests of narrow results of C functions: callers do not rely on the upper bits of the register.

use codegen::ir::{AbiType, Convert, Extend, Linkage, Module, Signature, SymbolKind, Type};
use object::{Object, ObjectSection, SectionKind};

use crate::objects::compiled;
use crate::{functions, jit};

/// Returns a module with a function that widens the narrow result of `kernel(x)`.
fn widened(result: AbiType) -> Module {
    let mut module = Module::default();
    let signature =
        Signature { params: vec![Type::I64.into()], result: Some(result), reads: Box::default() };
    let kernel = module.declare("kernel", Linkage::Import, SymbolKind::Function(signature));
    functions::define(&mut module, "widened", &[Type::I64], |b, v| {
        let value = b.call_value(kernel, &[v[0]]);
        let op = if result.extend == Extend::Sign { Convert::Sext } else { Convert::Zext };
        b.convert(op, value, Type::I64)
    });
    module
}

/// Returns a result with other bits above it in the register.
extern "C" fn kernel(x: u64) -> u64 {
    x
}

/// The psABI of x86-64 leaves the bits above a result undefined.
#[cfg(target_arch = "x86_64")]
#[test]
fn results_are_extended_from_their_own_type() {
    let garbage = 0xfedc_ba98_7654_3280_u64;
    for (ty, extend, expected) in [
        (Type::I8, Extend::Sign, 0xffff_ffff_ffff_ff80),
        (Type::I8, Extend::Zero, 0x80),
        (Type::I16, Extend::Sign, 0x3280),
        (Type::I16, Extend::Zero, 0x3280),
        (Type::I32, Extend::No, 0x7654_3280),
    ] {
        let imports = [("kernel", kernel as *const u8)];
        for running in jit::run(&widened(AbiType { ty, extend }), &imports) {
            assert_eq!(running.call("widened", &[garbage]), expected, "{ty} {extend:?}");
        }
    }
}

/// AAPCS64 leaves them undefined too, on Linux and Windows; Apple's ABI defines them.
#[test]
fn code_for_aarch64_extends_what_it_is_given() {
    // sxtb and sxth, to 32 or 64 bits, of any register to any other.
    let extensions = [(Type::I8, 0x1c00), (Type::I16, 0x3c00)];
    let triples = ["aarch64-unknown-linux-gnu", "aarch64-pc-windows-msvc"];
    for (triple, (ty, shape)) in triples.into_iter().flat_map(|t| extensions.map(|e| (t, e))) {
        for bytes in compiled(triple, &widened(AbiType { ty, extend: Extend::Sign })) {
            let file = object::File::parse(&*bytes).unwrap();
            let text = file.sections().find(|section| section.kind() == SectionKind::Text).unwrap();
            let words =
                text.data().unwrap().chunks_exact(4).map(|word| {
                    u32::from_le_bytes(word.try_into().expect("four bytes")) & 0xffff_fc00
                });
            let words: Vec<u32> = words.collect();
            let extends = [0x1300_0000 | shape, 0x9340_0000 | shape];
            assert!(words.iter().any(|word| extends.contains(word)), "{triple} {ty}: {words:x?}");
        }
    }
}
