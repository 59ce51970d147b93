//! Tests of object files of every target.

use std::collections::{BTreeMap, BTreeSet};

use codegen::{Backend, ir};
use object::{
    BinaryFormat, Object, ObjectComdat, ObjectSection, ObjectSymbol, RelocationFlags,
    RelocationTarget, SectionKind, SymbolKind, elf,
};
use tvm_ffi_codegen_cranelift::{Cranelift, Error, Settings, isa, signature};

use crate::sample::{self, TRIPLES};
use crate::{functions, once, operators};

fn bytes(triple: &str) -> Vec<u8> {
    compiled(triple, &sample::module()).remove(0)
}

/// Compiles a module to objects: here one.
pub(crate) fn compiled(triple: &str, module: &ir::Module) -> Vec<Vec<u8>> {
    vec![Cranelift::new(triple.parse().unwrap()).object(module, &[]).unwrap()]
}

/// Runs a check on the sample compiled for each target.
pub(crate) fn each(check: impl Fn(&str, &object::File<'_>)) {
    for triple in TRIPLES {
        let bytes = bytes(triple);
        check(triple, &object::File::parse(&*bytes).unwrap());
    }
}

#[test]
fn exports_and_imports_are_what_the_source_says() {
    each(|triple, file| {
        let under = if file.format() == BinaryFormat::MachO { "_" } else { "" };
        let plain = |name: &str| name.strip_prefix(under).unwrap().to_owned();
        let named = || file.symbols().filter(|symbol| symbol.name().is_ok_and(|n| !n.is_empty()));
        let defined = named().filter(|s| s.is_global() && s.is_definition());
        let exports: BTreeMap<String, SectionKind> = defined
            .map(|s| {
                let section = file.section_by_index(s.section_index().unwrap()).unwrap();
                (plain(s.name().unwrap()), section.kind())
            })
            .collect();
        let expected = [
            ("blob", SectionKind::ReadOnlyData),
            ("context", SectionKind::Data),
            ("entry", SectionKind::Text),
            ("other", SectionKind::Text),
            ("table", SectionKind::ReadOnlyData),
        ];
        assert!(exports.iter().map(|(n, k)| (n.as_str(), *k)).eq(expected), "{triple} {exports:?}");
        let undefined = named().filter(|s| s.is_undefined()).map(|s| plain(s.name().unwrap()));
        let mut undefined: Vec<String> = undefined.collect();
        undefined.sort();
        assert_eq!(undefined, ["kernel", "outside"], "{triple}");
    });
}

#[test]
fn coff_directives_export() {
    let directives = |triple| {
        let bytes = bytes(triple);
        let file = object::File::parse(&*bytes).unwrap();
        let section = file.section_by_name(".drectve").unwrap();
        String::from_utf8(section.data().unwrap().to_vec()).unwrap()
    };
    let msvc = " /EXPORT:\"table\",DATA /EXPORT:\"context\",DATA /EXPORT:\"blob\",DATA \
                /EXPORT:\"other\" /EXPORT:\"entry\"";
    assert_eq!(directives("x86_64-pc-windows-msvc"), msvc);
    assert_eq!(directives("aarch64-pc-windows-msvc"), msvc);
    let gnu = " -export:\"table\",data -export:\"context\",data -export:\"blob\",data \
               -export:\"other\" -export:\"entry\"";
    assert_eq!(directives("x86_64-pc-windows-gnu"), gnu);
}

/// Symbols of a shared library may be preempted one by one, and linkers refuse relative references to such symbols: our
/// own code uses locals, and the global offset table for everything else.
#[test]
fn elf_code_never_refers_to_its_own_exports() {
    each(|triple, file| {
        if file.format() != BinaryFormat::Elf {
            return;
        }
        let text = file.section_by_name(".text").unwrap();
        let mut targets = Vec::new();
        for (_, relocation) in text.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                panic!("{triple}: {relocation:?}")
            };
            let symbol = file.symbol_by_index(index).unwrap();
            assert!(symbol.is_local() || symbol.is_undefined(), "{triple}: {:?}", symbol.name());
            targets.push(symbol.name().unwrap().to_owned());
        }
        for name in ["kernel", "outside", "message", "table.local", "context.local"] {
            assert!(targets.iter().any(|target| target == name), "{triple}: {name} {targets:?}");
        }
    });
}

/// A linker calls a kernel of the same library directly; an address comes from the global offset table.
#[test]
fn elf_code_leaves_calls_of_imports_to_the_linker() {
    let source: ir::Module = "\
import func @kernel(ptr)

export func @f(%p: ptr) {
entry:
    call @kernel(%p)
    %address: ptr = address @kernel
    store %address, %p+0 align 8
    return
}
"
    .parse()
    .unwrap();
    for (triple, kinds) in [
        ("x86_64-unknown-linux-gnu", &[elf::R_X86_64_PLT32, elf::R_X86_64_GOTPCREL][..]),
        (
            "aarch64-unknown-linux-gnu",
            &[elf::R_AARCH64_CALL26, elf::R_AARCH64_ADR_GOT_PAGE, elf::R_AARCH64_LD64_GOT_LO12_NC],
        ),
    ] {
        let bytes = compiled(triple, &source).remove(0);
        let file = object::File::parse(&*bytes).unwrap();
        let text = file.section_by_name(".text").unwrap();
        let found: Vec<elf::RelocationType> = text
            .relocations()
            .map(|(_, relocation)| {
                let RelocationFlags::Elf { r_type } = relocation.flags() else {
                    panic!("{triple}: {relocation:?}")
                };
                r_type
            })
            .collect();
        assert_eq!(found, kinds, "{triple}");
    }
}

#[test]
fn an_alias_stands_where_the_export_does() {
    let bytes = bytes("x86_64-unknown-linux-gnu");
    let file = object::File::parse(&*bytes).unwrap();
    for name in ["table", "context", "other"] {
        let find = |name: &str| file.symbols().find(|s| s.name() == Ok(name)).unwrap();
        let (export, local) = (find(name), find(&format!("{name}.local")));
        assert_eq!(export.address(), local.address(), "{name}");
        assert_eq!(export.section(), local.section(), "{name}");
        assert!(export.size() == local.size() && export.size() > 0, "{name}");
    }
}

#[test]
fn elf_has_unwind_tables_and_no_executable_stack() {
    each(|triple, file| {
        let elf = file.format() == BinaryFormat::Elf;
        assert_eq!(file.section_by_name(".note.GNU-stack").is_some(), elf, "{triple}");
        assert_eq!(file.section_by_name(".eh_frame").is_some(), elf, "{triple}");
    });
}

/// Linkers accept only distances from symbols that cannot be preempted in a read-only segment.
#[test]
fn unwind_tables_need_no_relocation_at_run_time() {
    for (triple, kind) in [
        ("x86_64-unknown-linux-gnu", elf::R_X86_64_PC32),
        ("aarch64-unknown-linux-gnu", elf::R_AARCH64_PREL32),
        ("riscv64gc-unknown-linux-gnu", elf::R_RISCV_32_PCREL),
    ] {
        let bytes = bytes(triple);
        let file = object::File::parse(&*bytes).unwrap();
        let symbols = file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0);
        let starts: BTreeSet<u64> = symbols.map(|s| s.address()).collect();
        let frames = file.section_by_name(".eh_frame").unwrap();
        let mut found = BTreeSet::new();
        for (_, relocation) in frames.relocations() {
            assert_eq!(relocation.flags(), RelocationFlags::Elf { r_type: kind }, "{triple}");
            let RelocationTarget::Symbol(index) = relocation.target() else { panic!("{triple}") };
            let symbol = file.symbol_by_index(index).unwrap();
            assert_eq!(symbol.kind(), SymbolKind::Section, "{triple}");
            found.insert(relocation.addend() as u64);
        }
        assert_eq!(found, starts, "{triple}");
    }
}

#[test]
fn same_source_same_bytes() {
    for triple in TRIPLES {
        assert!(bytes(triple) == bytes(triple), "{triple}");
    }
}

/// Returns the extensions of a byte and a word as arguments and results.
#[test]
fn integers_are_extended_as_the_platform_says() {
    let byte = ir::AbiType { ty: ir::Type::I8, extend: ir::Extend::Zero };
    for (triple, expected) in [
        ("x86_64-unknown-linux-gnu", ["i8 uext", "i32"]),
        ("x86_64-pc-windows-msvc", ["i8", "i32"]),
        ("aarch64-unknown-linux-gnu", ["i8", "i32"]),
        ("aarch64-apple-darwin", ["i8 uext", "i32"]),
        ("riscv64gc-unknown-linux-gnu", ["i8 uext", "i32 sext"]),
    ] {
        let isa = isa(&triple.parse().unwrap(), Settings::OBJECT).unwrap();
        for (abi, expected) in [byte, ir::Type::I32.into()].into_iter().zip(expected) {
            let source =
                ir::Signature { params: vec![abi], result: Some(abi), reads: Box::default() };
            let native = signature(&*isa, &source);
            assert_eq!(native.params[0].to_string(), expected, "{triple}");
            assert_eq!(native.returns[0].to_string(), expected, "{triple}");
        }
    }
}

/// Apple packs arguments on the stack by their own sizes: what is narrow there is not extended, and a 16-bit float has
/// two bytes.
#[test]
fn arguments_on_the_stack_of_macos_are_packed() {
    let byte = ir::AbiType { ty: ir::Type::I8, extend: ir::Extend::Zero };
    let half = ir::AbiType { ty: ir::Type::I16, extend: ir::Extend::Float16 };
    let params = [[byte; 9], [half; 9]].concat();
    let source = ir::Signature { params, result: None, reads: Box::default() };
    for (triple, expected) in [
        ("aarch64-apple-darwin", ["i8 uext", "i8", "f32", "f16"]),
        ("aarch64-unknown-linux-gnu", ["i8", "i8", "f32", "f32"]),
    ] {
        let isa = isa(&triple.parse().unwrap(), Settings::OBJECT).unwrap();
        let native = signature(&*isa, &source);
        let shown = [7, 8, 16, 17].map(|index| native.params[index].to_string());
        assert_eq!(shown, expected, "{triple}");
    }
}

/// On riscv64 a ninth float takes an integer register.
#[test]
fn floats_beyond_their_registers_are_integers() {
    let mut params = vec![ir::Type::I64.into(); 2];
    params.extend([ir::Type::F64; 8].map(ir::AbiType::from));
    params.extend([ir::Type::F32, ir::Type::F64].map(ir::AbiType::from));
    let source = ir::Signature { params, result: None, reads: Box::default() };
    for (triple, expected) in [
        ("riscv64gc-unknown-linux-gnu", ["i32", "i64"]),
        ("aarch64-unknown-linux-gnu", ["f32", "f64"]),
    ] {
        let isa = isa(&triple.parse().unwrap(), Settings::OBJECT).unwrap();
        let native = signature(&*isa, &source);
        let last = [10, 11].map(|index| native.params[index].to_string());
        assert_eq!(last, expected, "{triple}");
        assert!(native.params[2..10].iter().all(|param| param.to_string() == "f64"), "{triple}");
    }
}

#[test]
fn unsupported_targets_are_errors() {
    for (triple, reason) in [
        ("i686-unknown-linux-gnu", "not a known machine"),
        ("riscv64gc-apple-darwin", "no such object format for this machine"),
        ("aarch64-unknown-linux-gnu_ilp32", "its addresses do not have 64 bits"),
        ("x86_64-unknown-linux-gnux32", "its addresses do not have 64 bits"),
        ("x86_64-unknown-uefi", "it has no shared libraries"),
    ] {
        let triple: target_lexicon::Triple = triple.parse().unwrap();
        let error = isa(&triple, Settings::OBJECT).err();
        assert_eq!(error, Some(Error::Target { triple, reason: reason.into() }));
    }
}

/// Functions that divide are optimised: by a constant they multiply.
#[test]
fn objects_divide_by_constants_without_dividing() {
    use ir::{Binary, Builder, Linkage, Module, Signature, Type};
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let mut b = Builder::function(&mut module, "f", Linkage::Export, signature);
    let seven = b.i64(7);
    let quotient = b.binary(Binary::Sdiv, b.param(0), seven);
    b.ret(Some(quotient));
    let function = b.finish();
    module.functions.push(function);
    let bytes = compiled("x86_64-unknown-linux-gnu", &module).remove(0);
    let file = object::File::parse(&*bytes).unwrap();
    let code = file.section_by_name(".text").unwrap().data().unwrap();
    // `cqo` extends a dividend.
    assert!(!code.windows(2).any(|bytes| bytes == [0x48, 0x99]), "{code:x?}");
}

#[test]
fn every_operator_is_compiled() {
    for (triple, module) in TRIPLES.into_iter().flat_map(|t| operators::modules().map(|m| (t, m))) {
        let target = Cranelift::new(triple.parse().unwrap());
        let bytes = target.object(&module, &[]).unwrap_or_else(|error| panic!("{triple}: {error}"));
        let file = object::File::parse(&*bytes).unwrap();
        // A libcall would be a symbol that no runtime of ours has.
        let undefined = file.symbols().filter(|s| s.is_undefined() && s.name() != Ok(""));
        assert_eq!(undefined.count(), 0, "{triple}");
    }
}

/// The loop that touches the pages of a frame comes after `push rbp; mov rbp, rsp`, and moves RSP: the frame counts
/// from there on.
#[test]
fn windows_knows_a_frame_before_its_pages_are_touched() {
    const PUSHED: [u8; 2] = [1, 0x50];
    let mut module = ir::Module::default();
    let touch = ir::SymbolKind::Function(ir::Signature::new(&[ir::Type::Ptr], None));
    let touch = module.declare("touch", ir::Linkage::Import, touch);
    functions::define(&mut module, "deep", &[ir::Type::I64], |b, v| {
        let slot = b.stack_slot(12 << 10, 8);
        b.store(v[0], slot, 0);
        b.call(touch, &[slot]);
        b.load(ir::Type::I64, slot, 0)
    });
    let bytes = compiled("x86_64-pc-windows-msvc", &module).remove(0);
    let file = object::File::parse(&*bytes).unwrap();
    let table = file.section_by_name(".xdata").unwrap().data().unwrap().to_vec();
    let (prologue, codes) = (table[1], &table[4..][..2 * usize::from(table[2])]);
    assert!(prologue > 20, "{table:x?}");
    // The last two set the frame and push RBP, with the area of saved registers between them.
    let frame = codes.windows(2).position(|code| code == [4, 3]).expect("a frame at 4");
    assert_eq!(codes[frame + 2], 4, "{codes:x?}");
    assert!(codes.ends_with(&PUSHED), "{codes:x?}");
}

/// Linkers take the first symbol in a COMDAT section for the section's own.
#[test]
fn coff_groups_start_with_the_symbol_of_their_section() {
    for triple in TRIPLES.into_iter().filter(|triple| triple.contains("windows")) {
        let bytes = compiled(triple, &once::user("one")).remove(0);
        let file = object::File::parse(&*bytes).unwrap();
        for section in file.comdats().flat_map(|group| group.sections().collect::<Vec<_>>()) {
            let inside = |symbol: &object::Symbol<'_, '_>| symbol.section_index() == Some(section);
            let kinds: Vec<SymbolKind> =
                file.symbols().filter(inside).map(|symbol| symbol.kind()).collect();
            let section = file.section_by_index(section).unwrap();
            assert_eq!(kinds[0], SymbolKind::Section, "{triple}");
            // GNU's linker takes what follows a `$` for the symbol of the group.
            assert!(!section.name().unwrap().contains('$'), "{triple}");
            if section.kind() == SectionKind::Text {
                assert_eq!(kinds[1..], [SymbolKind::Text], "{triple}");
            }
        }
        assert_eq!(file.comdats().count(), 3, "{triple}");
        // Unwind tables refer to sections.
        let sections = file.sections().filter(|section| section.name() != Ok(".pdata"));
        let relocations = sections.flat_map(|section| section.relocations().collect::<Vec<_>>());
        let names = relocations.map(|(_, relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { panic!("{triple}") };
            file.symbol_by_index(index).unwrap().name().unwrap().to_owned()
        });
        let names: BTreeSet<String> = names.collect();
        let expected = ["shared_next", "shared_table", "shared_word"];
        assert!(names.iter().eq(expected), "{triple} {names:?}");
    }
}

/// LLVM's names of features by target; Cranelift has a setting for each.
const FEATURES: [(&str, &str); 3] = [
    (
        "x86_64-unknown-linux-gnu",
        "sse3 ssse3 sse4.1 sse4.2 popcnt cx16 avx avx2 fma bmi bmi2 lzcnt avxvnni avx512f avx512dq avx512vl avx512bitalg \
         avx512vbmi avx512vnni",
    ),
    ("aarch64-unknown-linux-gnu", "lse fullfp16 dotprod i8mm pauth"),
    (
        "riscv64gc-unknown-linux-gnu",
        "m a f d v zba zbb zbc zbs zbkb zca zcb zcd zfa zfh zfhmin zicond zicsr zifencei zvbb zvfh",
    ),
];

#[test]
fn features_are_known_or_refused() {
    for (triple, names) in FEATURES {
        let with = |feature: &str| Cranelift {
            features: vec![feature.parse().unwrap()],
            ..Cranelift::new(triple.parse().unwrap())
        };
        for name in names.split(' ') {
            let object = with(&format!("+{name}")).object(&sample::module(), &[]);
            assert!(object.is_ok(), "{triple} +{name}: {object:?}");
            // Features that the C ABI needs cannot be left out.
            let without = with(&format!("-{name}")).object(&sample::module(), &[]);
            let refused = matches!(&without, Err(Error::Target { .. }));
            assert!(without.is_ok() || refused, "{triple} -{name}: {without:?}");
        }
        for name in ["avx3", "has_avx", "is_pic", "neon99"] {
            let error = with(&format!("+{name}")).object(&sample::module(), &[]).unwrap_err();
            let expected = format!("unsupported target {triple}: no feature `{name}`");
            assert_eq!(error.to_string(), expected);
        }
    }
}

/// A store with release ordering is any store on x86-64, and takes no fence.
#[test]
fn releases_take_no_fence() {
    const MFENCE: [u8; 3] = [0x0f, 0xae, 0xf0];
    let mut module = ir::Module::default();
    let signature = ir::Signature::new(&[ir::Type::Ptr, ir::Type::I64], None);
    let mut b = ir::Builder::function(&mut module, "entry", ir::Linkage::Export, signature);
    let (at, value) = (b.param(0), b.param(1));
    b.atomic_store(value, at, 0);
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
    for triple in TRIPLES.iter().filter(|triple| triple.starts_with("x86_64")) {
        let bytes = compiled(triple, &module).remove(0);
        let file = object::File::parse(&*bytes).unwrap();
        let code = file.sections().find(|section| section.kind() == SectionKind::Text).unwrap();
        let code = code.data().unwrap();
        assert!(!code.windows(3).any(|bytes| bytes == MFENCE), "{triple}: {code:02x?}");
    }
}
