//! Calls by symbol within one binary: a graph compiler on LLVM calls the host functions of its kernels. Caller and
//! wrappers are bitcode, linked before optimisation. LLVM then removes the checks that the caller's knowledge of its
//! tensors decides, and the calling convention.

use std::error::Error;

use backend_llvm::inkwell::context::Context;
use backend_llvm::inkwell::memory_buffer::MemoryBuffer;
use backend_llvm::inkwell::values::AnyValue;
use backend_llvm::{Input, Llvm, link, optimize};
use codegen::{Backend, Library, Options, lower};

/// The graph: `add_one` of 1024 floats. It writes `DLTensor`s and `TVMFFIAny`s to the stack as for any
/// host function. LLVM sees through them if
/// * tensors are passed as `DLTensor*` (type index 7), not as objects that the runtime made;
/// * ndim and dtype, which are checked as one word, are written as one: here one dimension, and dtype
///   `{2, 32, 1}`, a float of 32 bits and one lane;
/// * other fields are written with the types that the ABI gives them: a type index and a device type, which
///   are checked one after the other, have 32 bits;
/// * shapes are constants, data pointers are `nonnull` and `align` says what is promised of them.
const GRAPH: &str = "
    @shape = private constant [1 x i64] [i64 1024]
    declare i32 @__tvm_ffi_add_one(ptr, ptr, i32, ptr)
    define i32 @graph(ptr nonnull align 16 %x, ptr nonnull align 16 %y) {
        %tensors = alloca [2 x { ptr, i32, i32, i64, ptr, ptr, i64 }], align 8
        %second = getelementptr i8, ptr %tensors, i64 48
        store { ptr, i32, i32, i64, ptr, ptr, i64 }
            { ptr null, i32 1, i32 0, i64 WORD, ptr @shape, ptr null, i64 0 }, ptr %tensors, align 8
        store { ptr, i32, i32, i64, ptr, ptr, i64 }
            { ptr null, i32 1, i32 0, i64 WORD, ptr @shape, ptr null, i64 0 }, ptr %second, align 8
        store ptr %x, ptr %tensors, align 8
        store ptr %y, ptr %second, align 8
        %args = alloca [3 x { i32, i32, ptr }], align 8
        %arg = getelementptr i8, ptr %args, i64 16
        %result = getelementptr i8, ptr %args, i64 32
        store { i32, i32, ptr } { i32 7, i32 0, ptr null }, ptr %args, align 8
        store { i32, i32, ptr } { i32 7, i32 0, ptr null }, ptr %arg, align 8
        %first.at = getelementptr i8, ptr %args, i64 8
        store ptr %tensors, ptr %first.at, align 8
        %second.at = getelementptr i8, ptr %args, i64 24
        store ptr %second, ptr %second.at, align 8
        %status = call i32 @__tvm_ffi_add_one(ptr null, ptr %args, i32 2, ptr %result)
        ret i32 %status
    }";

fn main() -> Result<(), Box<dyn Error>> {
    // The kernel compiler's part, also available as `--emit bitcode` of the command line.
    let library: Library = "
        add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
            = add_one_kernel(x.data, y.data, n);
    "
    .parse()?;
    let llvm = Llvm::default();
    let wrapper = llvm.bitcode(&lower(&library.resolve()?, &Options::default()), &[])?;

    // The graph compiler's part. Linked functions become internal to the module.
    let graph = GRAPH.replace("WORD", &(1_u64 | 2 << 32 | 32 << 40 | 1 << 48).to_string());
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(graph.as_bytes(), "graph");
    let module = context.create_module_from_ir(buffer).map_err(|reason| reason.to_string())?;
    link(&module, &[Input { name: "add_one.bc", bytes: &wrapper, exports: &[] }])?;
    optimize(&module, &llvm)?;

    let graph = module.get_function("graph").ok_or("defined above")?;
    println!("{}", graph.print_to_string().to_string_lossy().trim());
    Ok(())
}
