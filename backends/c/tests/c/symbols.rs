//! Tests of names: symbols that are no identifiers of C, or mean something to compilers.

use codegen::Backend;
use codegen::ir::{Builder, Cond, Linkage, Module, Signature, SymbolKind, Type, verify};
use tvm_ffi_codegen_c::{C, Error};

use crate::jit::{Running, run};
use crate::text;

extern "C" fn seven() -> i64 {
    7
}

/// Returns a module whose function `entry` calls an import.
fn calling(import: &str) -> Module {
    called_by("entry", import)
}

/// Returns a module whose function of a name calls an import; another function calls this one.
fn called_by(name: &str, import: &str) -> Module {
    let mut module = Module::default();
    let signature = Signature::new(&[], Some(Type::I64));
    let callee = module.declare(import, Linkage::Import, SymbolKind::Function(signature));
    let entry = Signature::new(&[Type::Ptr, Type::Ptr], None);
    let mut b = Builder::function(&mut module, name, Linkage::Export, entry.clone());
    let result = b.call_value(callee, &[]);
    b.store(result, b.param(1), 0);
    // A part that compilers may put apart.
    let (zero, unlikely) = (b.compare_const(Cond::Eq, result, 0), b.cold_block("unlikely"));
    let next = b.block("next");
    b.branch(zero, unlikely, next);
    b.switch_to(unlikely);
    b.call(callee, &[]);
    b.call(callee, &[]);
    b.jump(next, &[]);
    b.switch_to(next);
    b.ret(None);
    let function = b.finish();
    let inner = function.symbol;
    module.functions.push(function);
    let mut b = Builder::function(&mut module, "outer", Linkage::Export, entry);
    b.set_cold();
    b.call(inner, &[b.param(0), b.param(1)]);
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
    verify(&module).unwrap();
    module
}

#[test]
fn symbols_may_have_any_name_that_assemblers_take() {
    for name in [
        "with.dots",
        "class",
        "linux",
        "uint8_t",
        "ffi_at",
        "FFI_COLD",
        "_Bool",
        "a$b",
        "a b",
        "%s{}",
        "é€",
    ] {
        let module = calling(name);
        for running in run(&module, &[(name, seven as *const u8)]) {
            assert_eq!(running.call("entry", &[]), 7, "{name}");
        }
    }
}

#[test]
fn functions_may_have_any_name_that_assemblers_take() {
    for name in
        ["my.f", "my f", "my-f", "1", " ", "é€", "%s{}", "/*", "int", "[0]", "'", "main.cold"]
    {
        let module = called_by(name, "seven");
        text::check(&module);
        for running in run(&module, &[("seven", seven as *const u8)]) {
            assert_eq!(running.call(name, &[]), 7, "{name}");
            assert_eq!(running.call("outer", &[]), 7, "{name}");
        }
    }
}

/// Names of functions that compilers know without a header, of other types than here.
#[test]
fn compilers_know_no_symbol_by_its_name() {
    for name in ["exp", "printf", "main", "malloc", "memcpy", "y0", "index"] {
        text::check(&calling(name));
    }
}

#[test]
fn other_names_are_refused() {
    for name in ["", "a\"b", "a\\b", "a@b", "a;b", "a,b", "#", "??/", "new\nline"] {
        let error = C::default().text(&calling(name), &[]).unwrap_err();
        let reason = format!("no name of a symbol in C: `{}`", name.escape_debug());
        assert_eq!(error, Error::Native { backend: "c", reason });
    }
}

/// Names of values that are keywords, types, macros, functions of the same text, or alike once their dots are gone.
#[test]
fn values_may_have_any_name() {
    let names = [
        "int",
        "x.y",
        "x_y",
        "plain",
        "entry",
        "int64_t",
        "linux",
        "ffi_at",
        "1",
        "",
        "π",
        "class",
        "a-very-long-name-that-goes-on-for-more-than-the-sixty-three-characters-that-c-compares.1",
        "a-very-long-name-that-goes-on-for-more-than-the-sixty-three-characters-that-c-compares.2",
    ];
    let mut module = calling("plain");
    let entry = module.functions.pop().unwrap();
    let signature = Signature::new(&[Type::Ptr, Type::Ptr], None);
    let mut b = Builder::function(&mut module, "sum", Linkage::Export, signature);
    let mut sum = b.i64(0);
    for name in names {
        let word = b.load(Type::I64, b.param(0), 0);
        let name = Some(b.name(name));
        b.hint(word, codegen::ir::Hint { name, ..Default::default() });
        sum = b.binary(codegen::ir::Binary::Add, sum, word);
    }
    b.store(sum, b.param(1), 0);
    b.ret(None);
    let function = b.finish();
    module.functions.extend([entry, function]);
    let running: [Running; 2] = run(&module, &[("plain", seven as *const u8)]);
    for running in running {
        assert_eq!(running.call("sum", &[3]), 3 * names.len() as u64);
        assert_eq!(running.call("entry", &[]), 7);
    }
}
