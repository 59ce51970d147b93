//! Tests of the text form.

use codegen::Backend;
use codegen::ir::{Builder, Linkage, Module, Signature, SymbolKind, Type};
use tvm_ffi_codegen_cranelift::Cranelift;

use crate::sample;

fn text(triple: &str) -> String {
    Cranelift::new(triple.parse().unwrap()).text(&sample::module(), &[]).unwrap()
}

#[test]
fn sample_prints_with_a_legend_and_names() {
    let text = text("x86_64-unknown-linux-gnu");
    let (head, entry) =
        (&text[..text.find("\n\n").unwrap()], &text[text.find("; export @entry").unwrap()..]);
    let lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines[0], r#"; local @message, 9 bytes, align 8: "\"hello\"\n\x00""#);
    assert!(lines[2].starts_with(r#"; export @context, 8 bytes, align 8, writable: "\x00\x00"#));
    assert!(lines[3].starts_with(r#"; export @blob, 100 bytes, align 8: "\xab"#));
    assert!(lines[3].ends_with(r#"\xab"…"#));
    assert_eq!(entry, ENTRY);
}

/// The last function of the sample.
const ENTRY: &str = "\
; export @entry
; fn0 = @kernel (i64, i32, f64) -> i32 system_v
; gv0 = @outside
; gv1 = @message
; gv2 = @table
; gv3 = @context
; fn1 = @helper (i64, i64) -> i64 system_v
; fn2 = @other (i64, i64) -> i64 system_v
function u0:3(i64, i32) -> i64 system_v {
    gv0 = symbol userextname0
    gv1 = symbol colocated userextname1
    gv2 = symbol userextname2
    gv3 = symbol userextname3
    sig0 = (i64, i32, f64) -> i32 system_v
    sig1 = (i64, i64) -> i64 system_v
    fn0 = u0:0 sig0
    fn1 = colocated u0:1 sig1
    fn2 = u0:2 sig1

block0(v0: i64, v1: i32):  ; entry: p0, p1
    v2 = symbol_value.i64 gv0
    v3 = load.i64 notrap aligned v2
    v4 = symbol_value.i64 gv1
    v5 = load.i64 notrap aligned v4
    v6 = symbol_value.i64 gv2
    v7 = load.i64 notrap aligned v6
    v8 = symbol_value.i64 gv3
    v9 = load.i64 notrap aligned v8
    v10 = f64const 0x1.0000000000000p-1
    v11 = call fn0(v0, v1, v10)  ; v10 = 0x1.0000000000000p-1, status
    v12 = iconst.i32 0
    v13 = icmp ne v11, v12  ; v12 = 0
    brif v13, block1, block2

block1 cold:  ; bad1
    return v5

block2:  ; good2
    v14 = call fn1(v3, v7)
    v15 = call fn2(v14, v9)
    v16 = func_addr.i64 fn2
    v17 = call_indirect sig1, v16(v15, v15)
    return v17
}
";

#[test]
fn names_of_unreachable_values_are_left_out() {
    let mut module = Module::default();
    let mut b = Builder::function(&mut module, "short", Linkage::Export, Signature::default());
    b.ret(None);
    let unreachable = b.block("unreachable");
    b.switch_to(unreachable);
    let gone = b.i64(1);
    b.hint(gone, "gone");
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
    let text = Cranelift::default().text(&module, &[]).unwrap();
    assert!(text.ends_with("{\nblock0:  ; entry\n    return\n}\n"), "{text}");
}

#[test]
fn cranelift_reads_it_back() {
    for triple in
        ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "riscv64gc-unknown-linux-gnu"]
    {
        let text = text(triple);
        let functions = cranelift_reader::parse_functions(&text).unwrap();
        let printed: Vec<String> = functions.iter().map(ToString::to_string).collect();
        assert_eq!(printed.len(), 3);
        for function in printed {
            for line in function.lines().filter(|line| !line.is_empty()) {
                let line = line.split("  ;").next().unwrap();
                assert!(text.contains(line), "{line} is not in\n{text}");
            }
        }
    }
}

#[test]
fn text_is_the_same_every_time() {
    assert_eq!(text("aarch64-unknown-linux-gnu"), text("aarch64-unknown-linux-gnu"));
}

#[test]
fn a_callee_used_often_is_declared_once() {
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let kernel = SymbolKind::Function(signature.clone());
    let kernel = module.declare("kernel", Linkage::Import, kernel);
    let mut b = Builder::function(&mut module, "often", Linkage::Export, signature);
    let result = (0..3).fold(b.param(0), |x, _| b.call_value(kernel, &[x]));
    b.ret(Some(result));
    let function = b.finish();
    module.functions.push(function);
    let text = Cranelift::default().text(&module, &[]).unwrap();
    assert_eq!(text.matches(" u0:").count(), 2, "{text}");
    assert_eq!(text.matches("call fn0(").count(), 3, "{text}");
}
