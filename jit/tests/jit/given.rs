//! Closures that bodies call: by name and by symbol, from several threads, and how long they live.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tvm_ffi_codegen::{Inquiry, Library};
use tvm_ffi_codegen_jit::{Compiled, Error, FfiFunction, Jit, Runtime};

use crate::ir::{int, runtimes};
use crate::wrapped::shown;

const CALLS: &str = r#"
    by_name(n: int64) -> int64 = { let r: int64 = @"host.add"(n, 1); return r; };
    by_symbol(n: int64) -> int64 = { let r: int64 = @add(n, 2); return r; };
    later(n: int64) -> Function = { return function () -> int64 { let r: int64 = @"host.add"(n, 3); return r; }; };
"#;

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn compile(runtime: &'static Runtime, freed: &Arc<AtomicUsize>) -> Compiled {
    let add = |freed: &Arc<AtomicUsize>| {
        let counted = Counted(freed.clone());
        move |a: i64, b: i64| {
            let _ = &counted;
            a.checked_add(b).ok_or("too large")
        }
    };
    let jit = Jit::with_runtime(runtime).unwrap();
    let jit = jit.function("host.add", add(freed)).unwrap().function("add", |_: i64| 0).unwrap();
    // The later one counts.
    let jit = jit.function("add", add(freed)).unwrap();
    jit.compile(&CALLS.parse::<Library>().unwrap()).unwrap()
}

#[test]
fn bodies_call_closures() {
    for runtime in runtimes() {
        let freed = Arc::new(AtomicUsize::new(0));
        let count = || freed.load(Ordering::SeqCst);
        let compiled = compile(runtime, &freed);
        assert_eq!(compiled.names().collect::<Vec<_>>(), ["by_name", "by_symbol", "later"]);
        let [by_name, by_symbol, later] =
            ["by_name", "by_symbol", "later"].map(|name| compiled.function(name).unwrap());
        assert_eq!((int(by_name.call((1,))), int(by_symbol.call((1,)))), (2, 3));
        for function in [&by_name, &by_symbol] {
            assert_eq!(shown(function.call((i64::MAX,))), "RuntimeError: too large");
        }
        let inner = FfiFunction::try_from(later.call((1,)).unwrap()).unwrap();
        drop((by_symbol, later, compiled));
        assert_eq!(int(by_name.call((5,))), 6);
        drop(by_name);
        assert_eq!((count(), int(inner.call(()))), (0, 4));
        drop(inner);
        assert_eq!(count(), 2);
    }
}

#[test]
fn names_of_closures() {
    let jit = || Jit::with_runtime(Runtime::builtin()).unwrap().function("g", |n: i64| n).unwrap();
    let by_symbol = "f(n: int64) -> int64 = { let r: int64 = @g(n); return r; };";
    let own = format!("{by_symbol} g(n: int64) -> int64 = {{ return n * 2; }};");
    let compiled = jit().compile(&own.parse::<Library>().unwrap()).unwrap();
    assert_eq!(int(compiled.function("f").unwrap().call((2,))), 4, "that of the library");
    // Others are still vouched for.
    let other = "f(n: int64) -> int64 = { let r: int64 = @\"h\"(n); return r; };";
    let error = jit().compile(&other.parse::<Library>().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "nobody vouches for `@\"h\"`: see `Jit::calls`");
    let nested = "f() -> Function = { return function () -> None { @\"h\"(); }; };";
    let error = jit().compile(&nested.parse::<Library>().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "nobody vouches for `@\"h\"`: see `Jit::calls`");
    let other = by_symbol.replace("@g", "@h");
    let error = jit().compile(&other.parse::<Library>().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "undefined: `__tvm_ffi_h`");
    // A closure that calls nothing is dropped with the code.
    let freed = Arc::new(AtomicUsize::new(0));
    let counted = Counted(freed.clone());
    let jit = jit()
        .function("unused", move || {
            let _ = &counted;
        })
        .unwrap();
    drop(jit.compile(&by_symbol.parse::<Library>().unwrap()).unwrap());
    assert_eq!(freed.load(Ordering::SeqCst), 1);
}

/// Threads call one closure, raise errors in it and drop the last reference.
#[test]
fn threads_share_closures() {
    for runtime in runtimes() {
        let freed = Arc::new(AtomicUsize::new(0));
        let function = compile(runtime, &freed).function("by_name").unwrap();
        thread::scope(|scope| {
            for thread in 0..4 {
                let function = function.clone();
                scope.spawn(move || {
                    for i in 0..200 {
                        assert_eq!(int(function.call((thread * i,))), thread * i + 1);
                        assert_eq!(shown(function.call((i64::MAX,))), "RuntimeError: too large");
                    }
                });
            }
        });
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        thread::spawn(move || drop(function)).join().unwrap();
        assert_eq!(freed.load(Ordering::SeqCst), 2);
    }
}

/// Kernels that keep their errors: a function that the bodies call after them raises what they have kept, before their
/// results, which they have not written, are looked at.
#[test]
fn kernels_are_asked_for_errors() {
    thread_local!(static KEPT: Cell<Option<&'static str>> = const { Cell::new(None) });
    unsafe extern "C" fn writes(n: i64, _: *mut c_void) {
        KEPT.set((n < 0).then_some("kept"));
    }
    extern "C" fn returns(n: i64) -> i64 {
        KEPT.set((n < 0).then_some("kept"));
        n
    }
    let text = "
        text(n: int64) -> str = writes(n);
        inner(n: int64) -> Any
            = { let f = function (i: int64) -> str { let s: str = writes(i); return s; };
                let r: Any = @(f)(n); return r; };
        number(n: int64) -> int64 = returns(n);
        nothing(n: int64) -> None = { for i in 0..2 { let r: int64 = returns(n); } };
        failing(n: int64) -> None = try status(n);
        other(n: int64) -> int64 = unasked(n);
    ";
    extern "C" fn status(n: i64) -> i32 {
        KEPT.set((n < 0).then_some("kept"));
        -1
    }
    let kernels = ["writes", "returns", "status"];
    let library = text.parse::<Library>().unwrap();
    let library = library.with_inquiry(Inquiry::new("host.raise_kept", kernels));
    let shown_body = library.resolve().unwrap().to_string();
    assert_eq!(shown_body.matches(r#", then @"host.raise_kept""#).count(), 5, "{shown_body}");
    for runtime in runtimes() {
        let jit = Jit::with_runtime(runtime).unwrap();
        let what = r#"@"host.raise_kept""#.to_owned();
        let unvouched = Jit::with_runtime(runtime).unwrap().compile(&library).err();
        let expected = Some(Error::Unvouched { what, method: "calls" });
        assert_eq!(format!("{unvouched:?}"), format!("{expected:?}"));
        let raise = || KEPT.take().map_or(Ok(()), Err);
        let jit = jit.function("host.raise_kept", raise).unwrap();
        let returns = returns as extern "C" fn(_) -> _;
        // SAFETY: they keep nothing and read no memory.
        let jit = unsafe {
            jit.kernel("writes", writes as unsafe extern "C" fn(_, _))
                .kernel("returns", returns)
                .kernel("unasked", returns)
                .kernel("status", status as extern "C" fn(_) -> _)
                .calls()
        };
        let compiled = jit.compile(&library).unwrap();
        let call = |name: &str, n: i64| compiled.function(name).unwrap().call((n,));
        for name in ["text", "inner", "number", "nothing", "failing"] {
            assert_eq!(shown(call(name, -1)), "RuntimeError: kept", "{name}");
        }
        assert_eq!(int(call("number", 7)), 7);
        let mismatched = shown(call("text", 1));
        assert!(
            mismatched.starts_with("TypeError: Mismatched type of result when calling: `text"),
            "{mismatched}"
        );
        assert_eq!(
            shown(call("failing", 1)),
            "RuntimeError: Failed status when calling: `failing(n: int64)`, status = -1"
        );
        assert_eq!(int(call("other", -1)), -1);
        assert_eq!(KEPT.take(), Some("kept"));
    }
}
