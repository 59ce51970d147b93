//! Tests of the text form.

use codegen::Backend;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use tvm_ffi_codegen_llvm::{Optimize, verify};

use crate::objects::target;
use crate::sample::{self, TRIPLES};

fn text(triple: &str) -> String {
    target(triple, Optimize::O0).text(&sample::module(), &[]).unwrap()
}

#[test]
fn llvm_reads_it_back() {
    for triple in TRIPLES {
        let text = text(triple);
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "");
        let module = context.create_module_from_ir(buffer).unwrap();
        verify(&module).unwrap();
        assert_eq!(module.print_to_string().to_string(), text, "{triple}");
    }
}

#[test]
fn bitcode_is_the_same_module() {
    for triple in TRIPLES {
        let bytes = target(triple, Optimize::O0).bitcode(&sample::module(), &[]).unwrap();
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(&bytes, "");
        let module = inkwell::module::Module::parse_bitcode_from_buffer(&buffer, &context).unwrap();
        // Linkers that optimise several modules together need the name of a source.
        let expected = format!("source_filename = \"tvm_ffi_codegen\"\n{}", text(triple));
        assert_eq!(module.print_to_string().to_string(), expected, "{triple}");
    }
}

#[test]
fn sample_prints_with_names_alignment_and_weights() {
    let text = text("x86_64-unknown-linux-gnu");
    let (constants, rest) = text.split_once("\n@table.local").unwrap();
    let message =
        "@message = private unnamed_addr constant [9 x i8] c\"\\22hello\\22\\0A\\00\", align 8\n";
    assert!(constants.contains(message), "{text}");
    assert_eq!(format!("@table.local{rest}"), SAMPLE);
}

/// The sample, after the constants.
const SAMPLE: &str = r#"@table.local = internal alias [8 x i8], ptr @table
@context.local = internal alias [8 x i8], ptr @context
@other.local = internal alias i64 (i64, i64), ptr @other

declare i32 @kernel(i64, i32, double)

; Function Attrs: uwtable
define internal i64 @helper(i64 %p0, i64 %p1) #0 {
entry:
  %v2 = add i64 %p0, %p1
  ret i64 %v2
}

; Function Attrs: uwtable
define i64 @other(i64 %p0, i64 %p1) #0 {
entry:
  %v2 = add i64 %p0, %p1
  ret i64 %v2
}

; Function Attrs: uwtable
define i64 @entry(i64 %p0, i32 %p1) #0 {
entry:
  %v3 = load i64, ptr @outside, align 8
  %v5 = load i64, ptr @message, align 8
  %v7 = load i64, ptr @table.local, align 8
  %v9 = load i64, ptr @context.local, align 8
  %status = call i32 @kernel(i64 %p0, i32 %p1, double 5.000000e-01)
  %v13 = icmp ne i32 %status, 0
  br i1 %v13, label %bad1, label %good2, !prof !0

bad1:                                             ; preds = %entry
  ret i64 %v5

good2:                                            ; preds = %entry
  %v14 = call i64 @helper(i64 %v3, i64 %v7)
  %v15 = call i64 @other.local(i64 %v14, i64 %v9)
  %v17 = call i64 @other.local(i64 %v15, i64 %v15)
  ret i64 %v17
}

attributes #0 = { uwtable "probe-stack"="inline-asm" }

!0 = !{!"branch_weights", i32 1, i32 2000}
"#;

#[test]
fn text_is_the_same_every_time() {
    assert_eq!(text("aarch64-unknown-linux-gnu"), text("aarch64-unknown-linux-gnu"));
}
