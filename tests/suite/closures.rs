//! Functions with a context, as objects of the runtime.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use codegen::Library;
use jit::{Arg, Compiled, Context, Error, FfiFunction, Jit, Origin, Returned, Runtime};
use tvm_ffi_codegen_tests::ffi;

/// Context of the function: an addend, and a witness of the context's lifetime.
struct Adder {
    addend: i64,
    _witness: Arc<()>,
}

extern "C" fn add(context: *const Adder, n: i64) -> i64 {
    // SAFETY: the closure's context is an adder.
    unsafe { (*context).addend + n }
}

extern "C" fn first_byte(text: *const i8) -> i8 {
    // SAFETY: this file passes texts only.
    unsafe { *text }
}

const DECLARATIONS: &str = "
    add(self: ptr, n: int64) -> int64
        where n >= 0
        = add(self, n);
    first_byte(self: ptr) -> int8 = first_byte(self);
    twice(n: int64) -> int64 = twice(2 * n);
";

extern "C" fn twice(n: i64) -> i64 {
    n
}

/// Compiles the declarations; the code keeps `witness` alive.
fn compile(runtime: &'static Runtime, witness: &Arc<()>) -> Compiled {
    let library: Library = DECLARATIONS.parse().expect("the declarations are valid");
    let jit = Jit::with_runtime(runtime).unwrap().keep(witness.clone());
    // SAFETY: the kernels have the types that the declarations say, and no closure gets another
    // context than they expect.
    let jit = unsafe {
        jit.kernel("add", add as extern "C" fn(_, _) -> _)
            .kernel("first_byte", first_byte as extern "C" fn(_) -> _)
            .kernel("twice", twice as extern "C" fn(_) -> _)
    };
    jit.compile(&library).unwrap()
}

fn adder(compiled: &Compiled, addend: i64, witness: &Arc<()>) -> FfiFunction {
    let adder = Adder { addend, _witness: witness.clone() };
    // SAFETY: the kernel takes an adder and only reads it.
    let context = unsafe { Context::new(adder) };
    compiled.function("add").unwrap().into_ffi_function(context).unwrap()
}

fn int(returned: Result<Returned, jit::CallError>) -> i64 {
    returned.unwrap().try_into().unwrap()
}

fn runtimes() -> [&'static Runtime; 2] {
    [ffi::installed(), Runtime::builtin()]
}

#[test]
fn each_closure_has_its_own_context() {
    for runtime in runtimes() {
        let witness = Arc::new(());
        let compiled = compile(runtime, &witness);
        let (three, ten) = (adder(&compiled, 3, &witness), adder(&compiled, 10, &witness));
        assert_eq!(int(three.call((4,))), 7);
        assert_eq!(int(ten.call((4,))), 14);
        assert_eq!(int(three.clone().call((0,))), 3);
    }
}

#[test]
fn the_context_is_no_argument() {
    const CALLED: &str = "when calling: `add(self: ptr, n: int64)`";
    for runtime in runtimes() {
        let witness = Arc::new(());
        let three = adder(&compile(runtime, &witness), 3, &witness);
        let rows: [(&[Arg<'_>], String); 3] = [
            (&[(-1).into()], format!("ValueError: Violated n >= 0 {CALLED}, n = -1")),
            (
                &[],
                format!("TypeError: Mismatched number of arguments {CALLED}, expected 1 but got 0"),
            ),
            (
                &[0.5.into()],
                format!(
                    "TypeError: Mismatched type of n on argument #0 {CALLED}, expected int64 but got float"
                ),
            ),
        ];
        for (arguments, expected) in rows {
            assert_eq!(three.call(arguments).unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn code_and_context_live_as_long_as_the_function() {
    for runtime in runtimes() {
        let (code, context) = (Arc::new(()), Arc::new(()));
        let compiled = compile(runtime, &code);
        let function = adder(&compiled, 3, &context);
        let copy = function.clone();
        drop((compiled, function));
        assert_eq!((Arc::strong_count(&code), Arc::strong_count(&context)), (2, 2));
        assert_eq!(int(copy.call((4,))), 7);
        drop(copy);
        assert_eq!((Arc::strong_count(&code), Arc::strong_count(&context)), (1, 1));
    }
}

#[test]
fn raw_contexts_are_freed_once() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn free(_: *mut c_void) {
        FREED.fetch_add(1, Ordering::Relaxed);
    }
    let code = Arc::new(());
    let compiled = compile(Runtime::builtin(), &code);
    let text = c"text".as_ptr().cast_mut().cast();
    // SAFETY: the kernel reads the first byte of a text.
    let context = unsafe { Context::from_raw(text, Some(free)) };
    let function = compiled.function("first_byte").unwrap().into_ffi_function(context).unwrap();
    assert_eq!(int(function.call(())), i64::from(b't'));
    drop(function);
    assert_eq!(FREED.load(Ordering::Relaxed), 1);
}

#[test]
fn closures_need_a_context() {
    let compiled = compile(Runtime::builtin(), &Arc::new(()));
    let add = compiled.function("add").unwrap();
    let message = add.call((1,)).unwrap_err().to_string();
    assert_eq!(message, "RuntimeError: closure `add` needs a context");
    let error = add.into_ffi_function(Context::none()).unwrap_err();
    assert_eq!(error, Error::Context { function: "add".to_owned() });
}

#[test]
fn functions_without_a_context_become_objects_too() {
    for runtime in runtimes() {
        let code = Arc::new(());
        let twice = compile(runtime, &code).function("twice").unwrap();
        assert_eq!(int(twice.call((21,))), 42);
        let object = twice.into_ffi_function(Context::none()).unwrap();
        assert_eq!(int(object.call((21,))), 42);
        drop(object);
        assert_eq!(Arc::strong_count(&code), 1);
    }
}

#[test]
fn runtimes_say_what_they_are() {
    assert_eq!(*Runtime::builtin().origin(), Origin::BuiltIn);
    assert!(
        matches!(ffi::installed().origin(), Origin::Path(path) if path.ends_with("libtvm_ffi.so"))
    );
}

#[test]
fn ahead_of_time_there_are_no_closures() {
    let library: Library = DECLARATIONS.parse().expect("the declarations are valid");
    let error = library.resolve().unwrap().ahead_of_time().unwrap_err().to_string();
    assert_eq!(
        error,
        "add: self: `self` is the context of a closure, which exists in process only"
    );
}
