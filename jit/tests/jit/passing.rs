//! Errors of callees pass through wrappers: the same object, with one more line in its backtrace.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use abi_spec::TypeIndex;

use crate::ir::runtimes;
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::abi::{Any, ByteArray, ErrorCell, Object};
use tvm_ffi_codegen_jit::{HostFunction, Jit, Runtime};

/// A kernel that raises its argument.
extern "C" fn fails(error: *mut Object, set: extern "C" fn(*mut Object)) -> i32 {
    set(error);
    -1
}

type Text = *const ByteArray;
type Create = unsafe extern "C" fn(Text, Text, Text, *mut *mut Object) -> i32;
type Take = unsafe extern "C" fn(*mut *mut Object);
type Release = unsafe extern "C" fn(*mut Object) -> i32;

/// The functions of a runtime that errors need.
struct Errors {
    create: Create,
    set: *const c_void,
    take: Take,
    release: Release,
}

impl Errors {
    fn of(runtime: &Runtime) -> Errors {
        let symbol = |name| runtime.symbol(name).expect("every runtime has it");
        // SAFETY: the types are those of `c_api.h`.
        unsafe {
            Errors {
                create: std::mem::transmute::<*const c_void, Create>(symbol("TVMFFIErrorCreate")),
                set: symbol("TVMFFIErrorSetRaised"),
                take: std::mem::transmute::<*const c_void, Take>(symbol(
                    "TVMFFIErrorMoveFromRaised",
                )),
                release: std::mem::transmute::<*const c_void, Release>(symbol(
                    "TVMFFIObjectDecRef",
                )),
            }
        }
    }

    /// A KeyError with this backtrace, owned.
    fn make(&self, backtrace: &str) -> *mut Object {
        let mut error = ptr::null_mut();
        let texts = ["KeyError", "its own words", backtrace].map(|t| ByteArray::new(t.as_bytes()));
        // SAFETY: the texts and the place are valid.
        let status = unsafe { (self.create)(&texts[0], &texts[1], &texts[2], &mut error) };
        assert_eq!(status, 0);
        error
    }

    /// Raises the error in a kernel of the function and takes it from the slot. It is the same object, with no other
    /// reference.
    fn raise(&self, function: &HostFunction, error: *mut Object) {
        let args =
            [error.cast(), self.set.cast_mut()].map(|at| Any::ptr(TypeIndex::OPAQUE_PTR, at));
        let (mut taken, mut result) = (ptr::null_mut(), Any::NONE);
        // SAFETY: the arguments are valid; the error is live, and ours twice once it is taken.
        unsafe {
            let status = function.call_raw(ptr::null_mut(), args.as_ptr(), 2, &mut result);
            assert_eq!(status, -1);
            (self.take)(&mut taken);
            assert_eq!(taken, error);
            (self.release)(taken);
            assert_eq!((*error).combined_ref_count.load(Ordering::SeqCst), 1 << 32 | 1);
        }
    }

    /// Raises the error and returns its backtrace afterwards.
    fn pass(&self, function: &HostFunction, error: *mut Object) -> String {
        self.raise(function, error);
        // SAFETY: the error is live, and nobody else uses it.
        unsafe {
            let cell = &*error.add(1).cast::<ErrorCell>();
            assert_eq!(cell.kind.bytes(), b"KeyError");
            assert_eq!(cell.message.bytes(), b"its own words");
            String::from_utf8_lossy(cell.backtrace.bytes()).into_owned()
        }
    }
}

const FRAME: &str = "  File \"graph.py\", line 7, in passes\n";

/// Runs a test with a function that passes errors on, for every runtime.
fn passing(test: impl Fn(&Errors, &HostFunction)) {
    let text = "@\"graph.py\":7 passes(error: ptr, set: ptr) -> None = try fails(error, set);";
    let library: Library = text.parse().unwrap();
    for runtime in runtimes() {
        let jit = Jit::with_runtime(runtime).unwrap();
        // SAFETY: the kernel takes an error and the function of the runtime.
        let jit = unsafe { jit.kernel("fails", fails as extern "C" fn(_, _) -> _) };
        let function = jit.compile(&library).unwrap().function("passes").unwrap();
        test(&Errors::of(runtime), &function);
    }
}

#[test]
fn an_error_gets_a_line_each_time_it_passes() {
    passing(|errors, function| {
        let open = "  File \"kernel.py\", line 3, in inner";
        for start in ["", open, &format!("{open}\n")] {
            let error = errors.make(start);
            let mut expected = start.to_owned();
            if start == open {
                expected.push('\n');
            }
            for _ in 0..3 {
                expected.push_str(FRAME);
                assert_eq!(errors.pass(function, error), expected);
            }
            // SAFETY: the reference is ours.
            unsafe { (errors.release)(error) };
        }
    });
}

#[test]
fn a_long_backtrace_takes_no_more() {
    passing(|errors, function| {
        let error = errors.make("");
        for _ in 0..3000 {
            errors.pass(function, error);
        }
        let backtrace = errors.pass(function, error);
        assert_eq!(backtrace.len(), FRAME.len() * (1_usize << 16).div_ceil(FRAME.len()));
        // SAFETY: the reference is ours.
        unsafe { (errors.release)(error) };
    });
}

/// Errors that are made by hand may lack the function that changes their backtrace.
#[test]
fn an_error_that_cannot_change_passes_as_it_is() {
    passing(|errors, function| {
        let error = errors.make("");
        // SAFETY: the error is ours, and no reference to its cell is left.
        unsafe {
            let cell = error.add(1).cast::<ErrorCell>();
            (&raw mut (*cell).update_backtrace).cast::<*const c_void>().write(ptr::null());
        }
        errors.raise(function, error);
        // SAFETY: the reference is ours.
        unsafe { (errors.release)(error) };
    });
}
