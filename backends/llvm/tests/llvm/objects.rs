//! Tests of object files of every target.

use std::collections::BTreeMap;

use codegen::{Backend, ir};
use inkwell::context::Context;
use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use tvm_ffi_codegen_llvm::object::{Contents, compile_of};
use tvm_ffi_codegen_llvm::{Error, Llvm, Optimize, optimize};

use crate::operators;
use crate::sample::{self, TRIPLES};

const LEVELS: [Optimize; 4] = [Optimize::O0, Optimize::O1, Optimize::O2, Optimize::O3];

/// A target at a level.
pub(crate) fn target(triple: &str, optimize: Optimize) -> Llvm {
    Llvm { triple: triple.parse().unwrap(), optimize, ..Llvm::default() }
}

fn bytes(triple: &str, optimize: Optimize) -> Vec<u8> {
    target(triple, optimize).object(&sample::module(), &[]).unwrap()
}

/// Compiles a module to objects: one for each level.
pub(crate) fn compiled(triple: &str, module: &ir::Module) -> Vec<Vec<u8>> {
    LEVELS.map(|level| target(triple, level).object(module, &[]).unwrap()).into()
}

/// Runs a check on the sample compiled for each target at each level.
pub(crate) fn each(check: impl Fn(&str, &object::File<'_>)) {
    for triple in TRIPLES {
        for level in LEVELS {
            let bytes = bytes(triple, level);
            check(&format!("{triple} {level:?}"), &object::File::parse(&*bytes).unwrap());
        }
    }
}

#[test]
fn exports_and_imports_are_what_the_source_says() {
    each(|target, file| {
        let under = if file.format() == BinaryFormat::MachO { "_" } else { "" };
        let plain = |name: &str| name.strip_prefix(under).unwrap().to_owned();
        let named = || {
            // Symbols that LLVM adds for COFF: the mark of floats, a constant, and the address of an import.
            let real = |name: &str| {
                !["", "_fltused", "__real@3fe0000000000000", ".refptr.outside"].contains(&name)
            };
            file.symbols().filter(move |symbol| symbol.name().is_ok_and(real))
        };
        let defined = named().filter(|s| s.is_global() && s.is_definition());
        let exports: BTreeMap<String, SectionKind> = defined
            .filter_map(|s| {
                let section = file.section_by_index(s.section_index()?).unwrap();
                Some((plain(s.name().unwrap()), section.kind()))
            })
            .collect();
        let names: Vec<&str> = exports.keys().map(String::as_str).collect();
        assert_eq!(names, ["blob", "context", "entry", "other", "table"], "{target}");
        let writable = [SectionKind::Data, SectionKind::UninitializedData];
        for (name, kind) in &exports {
            let text = ["entry", "other"].contains(&name.as_str());
            assert_eq!(*kind == SectionKind::Text, text, "{target} {name}");
            assert_eq!(writable.contains(kind), name == "context", "{target} {name} {kind:?}");
        }
        let undefined = named().filter(|s| s.is_undefined()).map(|s| plain(s.name().unwrap()));
        let mut undefined: Vec<String> = undefined.collect();
        undefined.sort();
        assert_eq!(undefined, ["kernel", "outside"], "{target}");
    });
}

#[test]
fn coff_directives_export() {
    for (triple, export, data) in [
        ("x86_64-pc-windows-msvc", "/EXPORT:", ",DATA"),
        ("aarch64-pc-windows-msvc", "/EXPORT:", ",DATA"),
        ("x86_64-pc-windows-gnu", "-export:", ",data"),
    ] {
        let bytes = bytes(triple, Optimize::O2);
        let file = object::File::parse(&*bytes).unwrap();
        let section = file.section_by_name(".drectve").unwrap();
        let text = String::from_utf8(section.data().unwrap().to_vec()).unwrap();
        let mut words: Vec<String> = text
            .split_ascii_whitespace()
            .filter(|word| word.starts_with(export))
            .map(|word| word.replace('"', ""))
            .collect();
        words.sort();
        let expected =
            [("blob", data), ("context", data), ("entry", ""), ("other", ""), ("table", data)]
                .map(|(name, data)| format!("{export}{name}{data}"));
        assert_eq!(words, expected, "{triple}");
    }
}

/// Symbols of a shared library may be preempted one by one: our own code uses locals, so that a library that was loaded
/// earlier cannot take the place of its exports.
#[test]
fn elf_code_never_refers_to_its_own_exports() {
    each(|target, file| {
        if file.format() != BinaryFormat::Elf {
            return;
        }
        let text = file.section_by_name(".text").unwrap();
        let mut imported = Vec::new();
        for (_, relocation) in text.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let symbol = file.symbol_by_index(index).unwrap();
            assert!(symbol.is_local() || symbol.is_undefined(), "{target}: {:?}", symbol.name());
            if symbol.is_undefined() {
                imported.push(symbol.name().unwrap().to_owned());
            }
        }
        imported.sort();
        imported.dedup();
        assert_eq!(imported, ["kernel", "outside"], "{target}");
    });
}

#[test]
fn same_source_same_bytes() {
    for triple in TRIPLES {
        for level in [Optimize::O0, Optimize::O2] {
            assert!(bytes(triple, level) == bytes(triple, level), "{triple}");
        }
        let target = target(triple, Optimize::O0);
        let bitcode = || target.bitcode(&sample::module(), &[]).unwrap();
        assert!(bitcode() == bitcode(), "{triple}");
    }
}

/// Returns the attributes of a byte and a word in a declaration and in a definition.
#[test]
fn integers_are_extended_as_the_platform_says() {
    let byte = ir::AbiType { ty: ir::Type::I8, extend: ir::Extend::Zero };
    let params = vec![byte, ir::Type::I32.into()];
    let signature = ir::Signature { params, result: Some(byte), reads: Box::default() };
    let mut module = ir::Module::default();
    let kind = ir::SymbolKind::Function(signature.clone());
    let callee = module.declare("callee", ir::Linkage::Import, kind);
    let mut b = ir::Builder::function(&mut module, "f", ir::Linkage::Export, signature);
    let value = b.call(callee, &[b.param(0), b.param(1)]);
    b.ret(value);
    let function = b.finish();
    module.functions.push(function);
    for (triple, declared, defined) in [
        (
            "x86_64-unknown-linux-gnu",
            "i8 @callee(i8 zeroext, i32)",
            "zeroext i8 @f(i8 zeroext %p0, i32 %p1)",
        ),
        ("x86_64-pc-windows-msvc", "i8 @callee(i8, i32)", "dllexport i8 @f(i8 %p0, i32 %p1)"),
        ("aarch64-unknown-linux-gnu", "i8 @callee(i8, i32)", "i8 @f(i8 %p0, i32 %p1)"),
        (
            "aarch64-apple-darwin",
            "zeroext i8 @callee(i8 zeroext, i32)",
            "zeroext i8 @f(i8 zeroext %p0, i32 %p1)",
        ),
        (
            "riscv64gc-unknown-linux-gnu",
            "zeroext i8 @callee(i8 zeroext, i32 signext)",
            "zeroext i8 @f(i8 zeroext %p0, i32 signext %p1)",
        ),
    ] {
        let text = target(triple, Optimize::O0).text(&module, &[]).unwrap();
        assert!(text.contains(&format!("declare {declared}\n")), "{triple} {text}");
        assert!(text.contains(&format!("define {defined}")), "{triple} {text}");
    }
}

#[test]
fn unsupported_targets_are_errors() {
    for (triple, reason) in [
        ("i686-unknown-linux-gnu", "not a known machine"),
        ("aarch64_be-unknown-linux-gnu", "not a known machine"),
        ("riscv64imac-unknown-none-elf", "not a known machine"),
        ("wasm32-unknown-unknown", "not a known machine"),
        ("powerpc64le-unknown-linux-gnu", "not a known machine"),
        ("riscv64gc-apple-darwin", "no such object format for this machine"),
    ] {
        let target = target(triple, Optimize::O0);
        let error = Error::Target { triple: target.triple.clone(), reason: reason.into() };
        assert_eq!(target.object(&sample::module(), &[]), Err(error.clone()));
        assert_eq!(target.text(&sample::module(), &[]), Err(error));
    }
}

#[test]
fn processors_are_known_or_refused() {
    let with = |triple: &str, cpu: &str| Llvm { cpu: cpu.into(), ..target(triple, Optimize::O2) };
    for (triple, cpu) in [
        ("x86_64-unknown-linux-gnu", "x86-64-v4"),
        ("aarch64-unknown-linux-gnu", "neoverse-v2"),
        ("riscv64gc-unknown-linux-gnu", "sifive-u74"),
    ] {
        assert!(!with(triple, cpu).object(&sample::module(), &[]).unwrap().is_empty());
    }
    for cpu in ["", "i386", "x86-65", "help", "native"] {
        let error =
            with("x86_64-unknown-linux-gnu", cpu).object(&sample::module(), &[]).unwrap_err();
        let expected = format!("unsupported target x86_64-unknown-linux-gnu: no processor `{cpu}`");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn features_are_known_or_refused() {
    let with = |triple: &str, feature: &str| Llvm {
        features: vec![feature.parse().unwrap()],
        ..target(triple, Optimize::O2)
    };
    for (triple, feature) in [
        ("x86_64-unknown-linux-gnu", "+avx512f"),
        ("x86_64-unknown-linux-gnu", "+sse2"),
        ("aarch64-unknown-linux-gnu", "+sve2"),
        ("riscv64gc-unknown-linux-gnu", "+v"),
        ("riscv64gc-unknown-linux-gnu", "-c"),
    ] {
        assert!(!with(triple, feature).object(&sample::module(), &[]).unwrap().is_empty());
    }
    for (triple, feature) in [
        ("x86_64-unknown-linux-gnu", "+sve2"),
        ("x86_64-unknown-linux-gnu", "-sse2"),
        ("x86_64-unknown-linux-gnu", "+soft-float"),
        ("aarch64-unknown-linux-gnu", "-fp-armv8"),
        ("aarch64-unknown-linux-gnu", "+call-saved-x9"),
        ("riscv64gc-unknown-linux-gnu", "-d"),
        ("riscv64gc-unknown-linux-gnu", "+zvl256b"),
        ("riscv64gc-unknown-linux-gnu", "+32bit"),
    ] {
        let error = with(triple, feature).object(&sample::module(), &[]).unwrap_err();
        let expected = format!("unsupported target {triple}: no feature `{}`", &feature[1..]);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn every_operator_is_compiled() {
    let modules = operators::modules();
    for (triple, level) in TRIPLES.into_iter().flat_map(|t| [(t, Optimize::O0), (t, Optimize::O2)])
    {
        for module in &modules {
            let bytes = target(triple, level).object(module, &[]);
            let bytes = bytes.unwrap_or_else(|error| panic!("{triple}: {error}"));
            let file = object::File::parse(&*bytes).unwrap();
            // A libcall would be a symbol that no runtime of ours has. Visual C++'s startup code has the one that marks
            // floats.
            let undefined = file.symbols().filter(|symbol| {
                symbol.is_undefined() && !["", "_fltused"].contains(&symbol.name().unwrap())
            });
            assert_eq!(undefined.count(), 0, "{triple}");
        }
    }
}

/// At `-O1` cold functions are not optimised; at higher levels they are optimised for size.
#[test]
fn cold_functions_are_optimized_by_level() {
    for (level, word, steps) in
        [(Optimize::O1, "optnone", 2), (Optimize::O2, "minsize", 1), (Optimize::O3, "minsize", 1)]
    {
        let mut source = ir::Module::default();
        let signature = ir::Signature::new(&[ir::Type::I64], Some(ir::Type::I64));
        for (name, cold) in [("hot", false), ("cold", true)] {
            let export = ir::Linkage::Export;
            let mut b = ir::Builder::function(&mut source, name, export, signature.clone());
            if cold {
                b.set_cold();
            }
            let once = b.binary_const(ir::Binary::Add, b.param(0), 1);
            let twice = b.binary_const(ir::Binary::Add, once, 1);
            b.ret(Some(twice));
            let function = b.finish();
            source.functions.push(function);
        }
        let (context, llvm) = (Context::create(), target("x86_64-unknown-linux-gnu", level));
        let module = llvm.module(&context, &source, &[]).unwrap();
        optimize(&module, &llvm).unwrap();
        let text = module.print_to_string().to_string();
        let body = |name: &str| text[text.find(&format!("@{name}(")).unwrap()..].to_owned();
        let body = |name| body(name).split('}').next().unwrap().matches("add i64").count();
        assert_eq!([body("hot"), body("cold")], [1, steps], "{level:?}\n{text}");
        for other in ["optnone", "minsize"] {
            assert_eq!(text.contains(other), other == word, "{level:?}\n{text}");
        }
    }
}

/// A thread keeps its code generator. What it compiles is what another thread compiles first.
#[test]
fn a_kept_code_generator_is_as_a_new_one() {
    let targets = || {
        let levels = |triple| LEVELS.map(|level| target(triple, level));
        let mut all: Vec<Llvm> = TRIPLES.into_iter().flat_map(levels).collect();
        let first = all[0].clone();
        all.push(Llvm { features: vec!["+avx512f".parse().unwrap()], ..first.clone() });
        all.push(Llvm { cpu: "x86-64-v4".into(), ..first.clone() });
        all.push(first);
        all
    };
    for llvm in targets() {
        let compile = |llvm: &Llvm| llvm.object(&sample::module(), &[]).unwrap();
        let fresh = std::thread::scope(|scope| scope.spawn(|| compile(&llvm)).join().unwrap());
        assert!(compile(&llvm) == fresh && compile(&llvm) == fresh, "{llvm:?}");
    }
}

/// Host functions alone are optimised by passes of their own, which inline, and move what a loop does not change out of
/// it.
#[test]
fn host_functions_alone_are_optimized() {
    let mut source = ir::Module::default();
    let unary = ir::Signature::new(&[ir::Type::I64], Some(ir::Type::I64));
    let mut b = ir::Builder::function(&mut source, "helper", ir::Linkage::Local, unary.clone());
    let product = b.binary_const(ir::Binary::Mul, b.param(0), 3);
    b.ret(Some(product));
    let (helper, function) = (b.symbol(), b.finish());
    source.functions.push(function);
    let step = source.declare("step", ir::Linkage::Import, ir::SymbolKind::Function(unary.clone()));
    let mut b = ir::Builder::function(&mut source, "host", ir::Linkage::Export, unary);
    let (body, done) = (b.block("body"), b.block("done"));
    let zero = b.i64(0);
    b.jump(body, &[zero]);
    let at = b.block_param(body, ir::Type::I64, "at");
    b.switch_to(body);
    let product = b.call_value(helper, &[b.param(0)]);
    b.call_value(step, &[product]);
    let next = b.binary_const(ir::Binary::Add, at, 1);
    let more = b.compare(ir::Cond::Slt, next, b.param(0));
    b.branch(more, (body, [next]), done);
    b.switch_to(done);
    b.ret(Some(next));
    let function = b.finish();
    source.functions.push(function);
    ir::verify(&source).unwrap();
    for level in [Optimize::O1, Optimize::O2] {
        let (context, llvm) = (Context::create(), target("x86_64-unknown-linux-gnu", level));
        let module = llvm.module(&context, &source, &[]).unwrap();
        compile_of(&module, &llvm, Contents::Hosts).unwrap();
        let text = module.print_to_string().to_string();
        assert!(!text.contains("@helper"), "{level:?}\n{text}");
        let (before, looped) = text.split_once(" = phi ").unwrap_or_else(|| panic!("{text}"));
        assert!(before.contains("mul i64") && !looped.contains("mul i64"), "{level:?}\n{text}");
    }
}
