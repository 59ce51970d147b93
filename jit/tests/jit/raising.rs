//! Errors that kernels raise: their kinds, and the runtime that gets them.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::thread;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::abi::{Any, Object, SafeCall};
use tvm_ffi_codegen_jit::{FfiFunction, HostFunction, Jit, Runtime, TypeIndex, raise};

use crate::ir::runtimes;

const TEXT: &str = "
    fail(kind: str, message: str) -> None = try fail(kind.data, kind.size, message.data, message.size);
    twice(n: int64) -> None = try twice(n);
    quiet(n: int64) -> None = try quiet(n) errors { 3: KeyError \"three\" };
    plain(n: int64) -> int64 = { plain(n); return n; };
    allocated(n: int64) -> y: Tensor([n], float32) = { wrote(y.data); try twice(n); };
";

/// Makes a text of an address and a size.
///
/// # Safety
/// There are as many bytes of UTF-8.
unsafe fn text<'a>(data: *const u8, size: i64) -> &'a str {
    if size == 0 {
        return "";
    }
    // SAFETY: as required above.
    let bytes = unsafe { std::slice::from_raw_parts(data, size as usize) };
    std::str::from_utf8(bytes).unwrap()
}

extern "C" fn fail(kind: *const u8, kind_size: i64, message: *const u8, size: i64) -> i32 {
    // SAFETY: the declaration passes two texts.
    unsafe { raise(text(kind, kind_size), text(message, size)) }
}

/// The second error replaces the first.
extern "C" fn twice(n: i64) -> i32 {
    raise("TypeError", "the first");
    raise("ValueError", format_args!("n is {n}"))
}

extern "C" fn quiet(n: i64) -> i32 {
    n as i32
}

/// Leaves an error behind that nobody asks for.
extern "C" fn plain(n: i64) {
    raise("ValueError", n);
}

extern "C" fn wrote(_: *mut f32) {}

fn compile(runtime: &'static Runtime) -> impl Fn(&str) -> HostFunction {
    let (fail, twice): (extern "C" fn(_, _, _, _) -> _, extern "C" fn(_) -> _) = (fail, twice);
    let (quiet, plain): (extern "C" fn(_) -> _, extern "C" fn(_)) = (quiet, plain);
    // SAFETY: the kernels are sound for the arguments of the declarations.
    let jit = unsafe {
        let jit = Jit::with_runtime(runtime).unwrap().kernel("fail", fail).kernel("twice", twice);
        jit.kernel("quiet", quiet).kernel("plain", plain).kernel("wrote", wrote as extern "C" fn(_))
    };
    let compiled = jit.compile(&TEXT.parse::<Library>().unwrap()).unwrap();
    move |name| compiled.function(name).unwrap()
}

/// Kinds and messages arrive as they are, whatever is in them.
#[test]
fn any_text_is_a_kind() {
    for runtime in runtimes() {
        let fail = compile(runtime)("fail");
        let rows = [
            ("ValueError", "n = 6"),
            ("SyntaxError", "1:2: expected a name\n  f(\n   ^"),
            ("dsl.LayoutError", "dots"),
            ("Größe", "ungültig"),
            ("", ""),
            ("Error", "a NUL \0 inside"),
            ("Error", &"long ".repeat(10_000)),
        ];
        for (kind, message) in rows {
            let error = fail.call((kind, message)).unwrap_err();
            assert_eq!((&*error.kind, &*error.message), (kind, message));
        }
    }
}

#[test]
fn the_last_error_counts_and_is_released_with_what_the_function_owns() {
    for runtime in runtimes() {
        let functions = compile(runtime);
        for name in ["twice", "allocated"] {
            assert_eq!(
                functions(name).call((4,)).unwrap_err().to_string(),
                "ValueError: n is 4",
                "{name}"
            );
        }
    }
}

/// An error that a kernel without a status leaves is in the slot until it is taken: the next status finds it there, as
/// it does with every way to raise.
#[test]
fn errors_without_a_status_are_left() {
    for runtime in runtimes() {
        let functions = compile(runtime);
        let (quiet, plain) = (functions("quiet"), functions("plain"));
        assert_eq!(
            quiet.call((3,)).unwrap_err().to_string().split(" when").next(),
            Some("KeyError: three")
        );
        assert!(quiet.call((0,)).is_ok());
        assert_eq!(plain.call((7,)).unwrap().ty(), TypeIndex::INT);
        assert_eq!(quiet.call((3,)).unwrap_err().to_string(), "ValueError: 7");
    }
}

/// `outer` calls a function of another runtime, which fails, and then fails itself.
#[test]
fn the_error_is_in_the_runtime_of_the_calling_code() {
    static INNER: OnceLock<HostFunction> = OnceLock::new();
    extern "C" fn outer(n: i64) -> i32 {
        let inner = INNER.get().unwrap().call((n,)).unwrap_err();
        assert_eq!(inner.to_string(), format!("ValueError: n is {n}"));
        raise(&format!("outer.{}", inner.kind), inner.message)
    }
    let all = runtimes();
    let other = all.last().unwrap();
    INNER.set(compile(other)("twice")).unwrap();
    for runtime in all {
        // SAFETY: the kernel is sound for all integers.
        let jit = unsafe {
            Jit::with_runtime(runtime).unwrap().kernel("outer", outer as extern "C" fn(_) -> _)
        };
        let library: Library = "outer(n: int64) -> None = try outer(n);".parse().unwrap();
        let outer = jit.compile(&library).unwrap().function("outer").unwrap();
        for n in 0..3 {
            assert_eq!(
                outer.call((n,)).unwrap_err().to_string(),
                format!("outer.ValueError: n is {n}")
            );
        }
        // The slots of both runtimes are empty.
        for runtime in runtimes() {
            let quiet = compile(runtime)("quiet");
            assert!(quiet.call((1,)).unwrap_err().message.starts_with("Failed quiet"));
        }
    }
}

/// Slots belong to threads; code of both runtimes comes and goes meanwhile.
#[test]
fn threads_raise_at_the_same_time() {
    let all = runtimes();
    thread::scope(|scope| {
        for number in 0..4 {
            let runtime = all[number % all.len()];
            scope.spawn(move || {
                for turn in 0..50 {
                    let fail = compile(runtime)("fail");
                    let message = format!("{number}.{turn}");
                    assert_eq!(fail.call(("E", &message)).unwrap_err().message, message);
                }
            });
        }
    });
}

/// A runtime that is named gets the error, also where no code has called.
#[test]
fn a_runtime_may_be_named() {
    for runtime in runtimes() {
        let functions = compile(runtime);
        assert_eq!(runtime.raise("IndexError", "here"), -1);
        assert_eq!(functions("quiet").call((2,)).unwrap_err().to_string(), "IndexError: here");
    }
}

/// Reports that the host itself holds an error, as functions did up to 0.1.8.
unsafe extern "C" fn report_pending(_: *mut c_void, _: *const Any, _: i32, _: *mut Any) -> i32 {
    -2
}

/// Returns a function object of [`report_pending`].
fn pending(runtime: &'static Runtime) -> FfiFunction {
    type Create =
        unsafe extern "C" fn(*mut c_void, SafeCall, *const c_void, *mut *mut Object) -> i32;
    let create = runtime.symbol("TVMFFIFunctionCreate").unwrap();
    let mut object = ptr::null_mut();
    // SAFETY: this is the type of the function; the callee needs no context.
    unsafe {
        let create = std::mem::transmute::<*const c_void, Create>(create);
        assert_eq!(create(ptr::null_mut(), report_pending, ptr::null(), &mut object), 0);
        FfiFunction::from_raw(object, runtime).unwrap()
    }
}

/// Runtimes from 0.1.9 on read an error that the host itself holds from its kind.
#[test]
fn an_error_that_the_host_holds_has_a_kind() {
    for runtime in runtimes() {
        let library: Library =
            "f(g: Function) -> int64 = { let r: int64 = @(g)(); return r; };".parse().unwrap();
        // SAFETY: the function that the body calls is the one above.
        let jit = unsafe { Jit::with_runtime(runtime).unwrap().calls() };
        let function = jit.compile(&library).unwrap().function("f").unwrap();
        let error = function.call((&pending(runtime),)).unwrap_err();
        assert_eq!(error.to_string(), "EnvErrorAlreadySet: ");
    }
}
