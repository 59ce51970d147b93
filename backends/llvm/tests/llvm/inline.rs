//! Tests that kernels in the module of their wrapper are inlined.

use codegen::Backend;
use codegen::ir::{Builder, Cond, Linkage, Module, Signature, SymbolKind, Type};
use inkwell::IntPredicate;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage as NativeLinkage, Module as Native};
use tvm_ffi_codegen_llvm::{Input, Llvm, Optimize, emit, link, object, optimize, signature};

use crate::functions;
use crate::jit::{empty, host};

/// `(x, y, n)`.
fn kernel_type() -> Signature {
    Signature::new(&[Type::Ptr, Type::Ptr, Type::I64], None)
}

/// Returns a wrapper of `add_one`: checks that branch to a cold block, then the call.
fn wrapper() -> Module {
    let mut module = Module::default();
    let kernel = module.declare("kernel", Linkage::Import, SymbolKind::Function(kernel_type()));
    let signature = Signature::new(&[Type::Ptr, Type::I32], Some(Type::I32));
    let mut b = Builder::function(&mut module, "wrapper", Linkage::Export, signature);
    let fail = b.cold_block("fail");
    let ok = b.compare_const(Cond::Eq, b.param(1), 2);
    b.guard(ok, fail);
    let args = b.param(0);
    let [x, y] = [8, 24].map(|offset| b.load(Type::Ptr, args, offset));
    let [n, m] = [x, y].map(|tensor| b.load(Type::I64, tensor, 24));
    let ok = b.compare(Cond::Eq, n, m);
    b.guard(ok, fail);
    let [x, y] = [x, y].map(|tensor| b.load(Type::Ptr, tensor, 0));
    b.call(kernel, &[x, y, n]);
    let zero = b.i32(0);
    b.ret(Some(zero));
    b.switch_to(fail);
    let minus = b.i32(-1);
    b.ret(Some(minus));
    let function = b.finish();
    module.functions.push(function);
    codegen::ir::verify(&module).unwrap();
    module
}

/// `for i in 0..n: y[i] = x[i] + 1`, written with inkwell.
fn define_kernel(module: &Native<'static>) {
    let context = module.get_context();
    let function = module.add_function("kernel", signature(context, &kernel_type()), None);
    function.set_linkage(NativeLinkage::Internal);
    let b = context.create_builder();
    let [entry, body, done] =
        ["entry", "body", "done"].map(|name| context.append_basic_block(function, name));
    let param = |i| function.get_nth_param(i).unwrap();
    let (float, long) = (context.f32_type(), context.i64_type());
    let n = param(2).into_int_value();
    b.position_at_end(entry);
    let some = b.build_int_compare(IntPredicate::SGT, n, long.const_zero(), "some").unwrap();
    b.build_conditional_branch(some, body, done).unwrap();
    b.position_at_end(body);
    let i = b.build_phi(long, "i").unwrap();
    let index = i.as_basic_value().into_int_value();
    let [x, y] = [0, 1].map(|p| {
        // SAFETY: the type indexed is a scalar, and the index an integer.
        unsafe { b.build_gep(float, param(p).into_pointer_value(), &[index], "at") }.unwrap()
    });
    let value = b.build_load(float, x, "value").unwrap().into_float_value();
    let sum = b.build_float_add(value, float.const_float(1.0), "sum").unwrap();
    b.build_store(y, sum).unwrap();
    let next = b.build_int_nsw_add(index, long.const_int(1, false), "next").unwrap();
    let more = b.build_int_compare(IntPredicate::SLT, next, n, "more").unwrap();
    b.build_conditional_branch(more, body, done).unwrap();
    i.add_incoming(&[(&long.const_zero(), entry), (&next, body)]);
    b.position_at_end(done);
    b.build_return(None).unwrap();
}

#[test]
fn an_internal_kernel_is_inlined_and_vectorised() {
    let module = empty();
    define_kernel(&module);
    emit(&module, &wrapper()).unwrap();
    optimize(&module, &host(Optimize::O2)).unwrap();
    let text = module.print_to_string().to_string();
    assert!(!text.contains("kernel") && text.contains("<4 x float>"), "{text}");
}

/// Returns the kernel as clang emits it, with clang's attributes for the generic processor of a target.
fn clang(triple: &str, attributes: &str) -> String {
    format!(
        "target triple = \"{triple}\"
        define void @kernel(ptr noundef %x, ptr noundef %y, i64 noundef %n) #0 {{
          %some = icmp sgt i64 %n, 0
          br i1 %some, label %body, label %done
        body:
          %i = phi i64 [ %next, %body ], [ 0, %0 ]
          %x.at = getelementptr inbounds float, ptr %x, i64 %i
          %value = load float, ptr %x.at, align 4
          %sum = fadd float %value, 1.0
          %y.at = getelementptr inbounds float, ptr %y, i64 %i
          store float %sum, ptr %y.at, align 4
          %next = add nuw nsw i64 %i, 1
          %more = icmp slt i64 %next, %n
          br i1 %more, label %body, label %done
        done:
          ret void
        }}
        attributes #0 = {{ nounwind {attributes} }}"
    )
}

const CLANG: [(&str, &str); 4] = [
    (
        "x86_64-unknown-linux-gnu",
        r#""target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic""#,
    ),
    (
        "aarch64-unknown-linux-gnu",
        r#""target-cpu"="generic" "target-features"="+fp-armv8,+neon,+v8a,-fmv""#,
    ),
    (
        "aarch64-apple-darwin",
        r#""target-cpu"="apple-m1" "target-features"="+aes,+altnzcv,+ccdp,+ccidx,+ccpp,+complxnum,+crc,+dit,+dotprod,+flagm,+fp-armv8,+fp16fml,+fptoint,+fullfp16,+jsconv,+lse,+neon,+pauth,+perfmon,+predres,+ras,+rcpc,+rdm,+sb,+sha2,+sha3,+specrestrict,+ssbs,+v8.1a,+v8.2a,+v8.3a,+v8.4a,+v8a""#,
    ),
    (
        "riscv64-unknown-linux-gnu",
        r#""target-cpu"="generic-rv64" "target-features"="+64bit,+a,+c,+d,+f,+i,+m,+relax,+zaamo,+zalrsc,+zca,+zcd,+zicsr,+zmmul""#,
    ),
];

#[test]
fn a_linked_kernel_is_inlined_and_vectorised() {
    for (triple, attributes) in CLANG {
        let llvm = Llvm { triple: triple.parse().unwrap(), ..Llvm::default() };
        let (context, text) = (Context::create(), clang(triple, attributes));
        let input = Input { name: "kernel.ll", bytes: text.as_bytes(), exports: &[] };
        let module = llvm.module(&context, &wrapper(), &[input]).unwrap();
        object::compile(&module, &llvm).unwrap();
        let text = module.print_to_string().to_string();
        assert!(!text.contains("kernel"), "{text}");
        // The generic riscv64 has no vectors.
        assert_eq!(text.contains("<4 x float>"), !triple.starts_with("riscv"), "{text}");
    }
}

/// Bitcode keeps the processor, so that kernels for it are inlined by whoever links and optimises both, for a target
/// that names none.
#[test]
fn kernels_of_a_processor_are_inlined_into_its_wrappers() {
    const KERNEL: &str = "
        define i64 @kernel(i64 %x) #0 { %y = add i64 %x, 1 ret i64 %y }
        attributes #0 = { \"target-cpu\"=\"x86-64-v3\" \"target-features\"=\"+avx2,+fma\" }";
    let baseline = Llvm { triple: "x86_64-unknown-linux-gnu".parse().unwrap(), ..Llvm::default() };
    let features = |all: &[&str]| all.iter().map(|one| one.parse().unwrap()).collect();
    let rows = [
        ("generic", &[][..], false),
        ("x86-64-v3", &[], true),
        ("x86-64-v3", &["-avx2"], false),
        ("x86-64-v2", &["+avx2", "+fma"], false),
        ("generic", &["+avx512f"], false),
    ];
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let kernel = SymbolKind::Function(signature);
    let kernel = module.declare("kernel", Linkage::Import, kernel);
    functions::define(&mut module, "user", &[Type::I64], |b, v| b.call_value(kernel, &[v[0]]));
    for (cpu, names, is_inlined) in rows {
        let llvm = Llvm { cpu: cpu.into(), features: features(names), ..baseline.clone() };
        let bitcode = llvm.bitcode(&module, &[]).unwrap();
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(&bitcode, "");
        let native = Native::parse_bitcode_from_buffer(&buffer, &context).unwrap();
        let kernel = Input { name: "kernel.ll", bytes: KERNEL.as_bytes(), exports: &[] };
        link(&native, &[kernel]).unwrap();
        optimize(&native, &baseline).unwrap();
        assert_eq!(native.get_function("kernel").is_none(), is_inlined, "{cpu} {names:?}");
    }
}
