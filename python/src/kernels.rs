//! Kernels of `surface.ffi`: the C functions that the wrappers call, which convert the arguments to types of Rust.
//!
//! The wrappers have checked all arguments, so pointers are valid while a call runs.

use std::ffi::c_void;

use abi_spec::TypeIndex;
use jit::abi::Any;

use crate::fault::Fault;
use crate::import_triton::import_triton;
use crate::{check, command_line, describe, emit, ffi, inspect, jit as in_process, link, shapes};

/// # Safety
/// Called by the wrapper of `check`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_check(
    text: *const u8,
    size: i64,
    allow: *mut c_void,
    result: *mut Any,
) -> i32 {
    let kernel = || {
        // SAFETY: the wrapper passes a text, and an array or NULL.
        let (text, allow) =
            unsafe { (ffi::text(text, size)?, ffi::optional(allow, TypeIndex::ARRAY)?) };
        check::check(text, &allow)
    };
    // SAFETY: the wrapper passes a pointer to None.
    unsafe { ffi::run(result, kernel) }
}

/// # Safety
/// Called by the wrapper of `describe`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_describe(
    text: *const u8,
    size: i64,
    result: *mut Any,
) -> i32 {
    // SAFETY: the wrapper passes a text, and a pointer to None.
    unsafe { ffi::run(result, || describe::describe(ffi::text(text, size)?)) }
}

/// # Safety
/// Called by the wrapper of `shapes`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_shapes(
    text: *const u8,
    size: i64,
    result: *mut Any,
) -> i32 {
    // SAFETY: the wrapper passes a text, and a pointer to None.
    unsafe { ffi::run(result, || shapes::shapes(ffi::text(text, size)?)) }
}

/// # Safety
/// Called by the wrapper of `emit`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_emit(
    text: *const u8,
    size: i64,
    options: *mut c_void,
    result: *mut Any,
) -> i32 {
    let kernel = || {
        // SAFETY: the wrapper passes a text, and a map or NULL.
        let (text, options) =
            unsafe { (ffi::text(text, size)?, ffi::optional(options, TypeIndex::MAP)?) };
        emit::emit(text, &options)
    };
    // SAFETY: the wrapper passes a pointer to None.
    unsafe { ffi::run(result, kernel) }
}

/// # Safety
/// Called by the wrapper of `link`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_link(
    objects: *mut c_void,
    options: *mut c_void,
    result: *mut Any,
) -> i32 {
    let kernel = || {
        // SAFETY: the wrapper passes an array, and a map or NULL.
        let (objects, options) = unsafe {
            (ffi::object(objects, TypeIndex::ARRAY)?, ffi::optional(options, TypeIndex::MAP)?)
        };
        link::link(&objects, &options)
    };
    // SAFETY: the wrapper passes a pointer to None.
    unsafe { ffi::run(result, kernel) }
}

/// # Safety
/// Called by the wrapper of `jit`, whose caller vouches for the kernels.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_jit(
    text: *const u8,
    size: i64,
    kernels: *mut c_void,
    options: *mut c_void,
    result: *mut Any,
) -> i32 {
    let kernel = || {
        // SAFETY: the wrapper passes a text, and maps or NULL; its documentation leaves the rest to its caller.
        unsafe {
            let (kernels, options) =
                (ffi::optional(kernels, TypeIndex::MAP)?, ffi::optional(options, TypeIndex::MAP)?);
            in_process::jit(ffi::text(text, size)?, &kernels, &options)
        }
    };
    // SAFETY: the wrapper passes a pointer to None.
    unsafe { ffi::run(result, kernel) }
}

/// # Safety
/// Called by the wrapper of `functions`, whose caller vouches for the kernels.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_functions(
    text: *const u8,
    size: i64,
    kernels: *mut c_void,
    options: *mut c_void,
    kept: *mut c_void,
    result: *mut Any,
) -> i32 {
    let kernel = || {
        // SAFETY: the wrapper passes a text, maps or NULL, and a function or NULL; its documentation leaves the rest to
        // its caller.
        unsafe {
            let (kernels, options) =
                (ffi::optional(kernels, TypeIndex::MAP)?, ffi::optional(options, TypeIndex::MAP)?);
            let kept = ffi::optional(kept, TypeIndex::FUNCTION)?;
            in_process::functions(ffi::text(text, size)?, &kernels, &options, kept)
        }
    };
    // SAFETY: the wrapper passes a pointer to None.
    unsafe { ffi::run(result, kernel) }
}

/// # Safety
/// Called by the wrapper of `inspect`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_inspect(file: *const Any, result: *mut Any) -> i32 {
    // SAFETY: the wrapper passes a text or bytes, and a pointer to None.
    unsafe { ffi::run(result, || inspect::inspect(&ffi::value(*file)?)) }
}

/// # Safety
/// Called by the wrapper of `import_triton`.
#[unsafe(no_mangle)]
#[allow(
    clippy::too_many_arguments,
    reason = "four texts and one that may be missing, as C has them"
)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_import_triton(
    metadata: *const u8,
    metadata_size: i64,
    code: *const u8,
    code_size: i64,
    signature: *const u8,
    signature_size: i64,
    grid: *const u8,
    grid_size: i64,
    has_ttir: u8,
    ttir: *const u8,
    ttir_size: i64,
    result: *mut Any,
) -> i32 {
    let kernel = || {
        // SAFETY: the wrapper passes texts; `ttir` is empty if there is none.
        let text = |data, size| unsafe { ffi::text(data, size) };
        let (metadata, signature) =
            (text(metadata, metadata_size)?, text(signature, signature_size)?);
        let (grid, ttir) = (text(grid, grid_size)?, text(ttir, ttir_size)?);
        // SAFETY: the wrapper passes bytes.
        let code = unsafe { ffi::contents(code, code_size) };
        import_triton(metadata, code, signature, grid, (has_ttir != 0).then_some(ttir))
    };
    // SAFETY: the wrapper passes a pointer to None.
    unsafe { ffi::run(result, kernel) }
}

/// # Safety
/// Called by the wrapper of `command_line`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_command_line(
    program: *mut c_void,
    arguments: *mut c_void,
) -> i64 {
    let run = || {
        // SAFETY: the wrapper passes two arrays.
        let [program, arguments] = unsafe {
            [ffi::object(program, TypeIndex::ARRAY)?, ffi::object(arguments, TypeIndex::ARRAY)?]
        };
        command_line::run(&program, &arguments)
    };
    command_line::exit_code(run)
}

/// # Safety
/// Called by the wrapper of `version`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_version(result: *mut Any) -> i32 {
    // SAFETY: the wrapper passes a pointer to None.
    unsafe { ffi::run(result, || ffi::string(env!("CARGO_PKG_VERSION"))) }
}

/// # Safety
/// Called by the wrapper of `take_error`.
#[unsafe(no_mangle)]
unsafe extern "C" fn tvm_ffi_codegen_kernel_take_error(result: *mut Any) -> i32 {
    let kernel = || match ffi::take_error() {
        Some(Fault { kind, message }) => ffi::string(&format!("{kind}: {message}")),
        // SAFETY: None is no object.
        None => unsafe { ffi::value(Any::NONE) },
    };
    // SAFETY: the wrapper passes a pointer to None.
    unsafe { ffi::run(result, kernel) }
}
