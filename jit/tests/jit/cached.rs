//! Calls whose results are kept by keys: how often they are made, from several threads too, and how long the results
//! live.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Compiled, FfiFunction, HostFunction, Jit, Runtime};

use crate::ir::{int, runtimes};
use crate::wrapped::shown;

const PICK: &str = r#"
    pick(n: int64, k: int64) -> int64
        = { let f: Function = cached (k, k % 2 == 0) @"make"(n); let r: int64 = @(f)(); return r; };
    other(n: int64) -> int64 = { let f: Function = cached (n) @"make"(n); let r: int64 = @(f)(); return r; };
    kept(n: int64) -> Function = { let f: Function = cached (n) @"make"(n); return f; };
    closure(n: int64) -> Function
        = {
            return function(k: int64) -> int64
                { let f: Function = cached (k) @"make"(n); let r: int64 = @(f)(); return r; };
        };
"#;

/// Counts of functions that `make` has made and that were freed.
#[derive(Default)]
struct Counts {
    made: AtomicUsize,
    freed: AtomicUsize,
    /// Called by `make` for a key before it makes its function.
    before: OnceLock<(i64, HostFunction)>,
}

impl Counts {
    fn get(&self) -> (usize, usize) {
        (self.made.load(Ordering::SeqCst), self.freed.load(Ordering::SeqCst))
    }
}

/// A function that was made.
struct Made(Arc<Counts>, i64);

impl Drop for Made {
    fn drop(&mut self) {
        self.0.freed.fetch_add(1, Ordering::SeqCst);
    }
}

fn compile(runtime: &'static Runtime, counts: &Arc<Counts>) -> Compiled {
    let counts = counts.clone();
    let make = move |n: i64| -> Result<FfiFunction, Box<dyn Error>> {
        if n < 0 {
            return Err("no variant".into());
        }
        if let Some((key, function)) = counts.before.get()
            && *key == n
            && counts.made.load(Ordering::SeqCst) == 0
        {
            counts.made.fetch_add(1, Ordering::SeqCst);
            function.call((n + 1, n))?;
        }
        counts.made.fetch_add(1, Ordering::SeqCst);
        let made = Made(counts.clone(), n);
        let number = move || {
            let Made(_, number) = &made;
            *number
        };
        Ok(FfiFunction::wrap("made", number, runtime)?)
    };
    let jit = Jit::with_runtime(runtime).unwrap().function("make", make).unwrap();
    // SAFETY: the functions that bodies call are those above.
    let jit = unsafe { jit.calls() };
    jit.compile(&PICK.parse::<Library>().unwrap()).unwrap()
}

#[test]
fn equal_keys_make_one_call() {
    for runtime in runtimes() {
        let counts = Arc::new(Counts::default());
        let compiled = compile(runtime, &counts);
        let pick = compiled.function("pick").unwrap();
        assert_eq!(
            [(10, 1), (11, 1), (12, 2), (13, 1), (14, 2)].map(|args| int(pick.call(args))),
            [10, 10, 12, 10, 12]
        );
        assert_eq!(counts.get(), (2, 0));
        // Each statement keeps its own.
        let other = compiled.function("other").unwrap();
        assert_eq!((int(other.call((1,))), counts.get()), (1, (3, 0)));
        let error = "RuntimeError: no variant";
        assert_eq!([shown(pick.call((-1, 3))), shown(pick.call((-1, 3)))], [error; 2]);
        assert_eq!((int(pick.call((15, 3))), counts.get()), (15, (4, 0)));
        // The closures that one statement makes share a site.
        let [one, two] = [20, 21].map(|n| {
            let made = compiled.function("closure").unwrap().call((n,)).unwrap();
            FfiFunction::try_from(made).unwrap()
        });
        assert_eq!([int(one.call((7,))), int(two.call((7,))), int(two.call((8,)))], [20, 20, 21]);
        drop((compiled, pick, other, one));
        assert_eq!(counts.get(), (6, 0));
        drop(two);
        assert_eq!(counts.get(), (6, 6));
    }
}

/// The callee calls the function that has called it, whose result is kept first.
#[test]
fn a_callee_may_come_back() {
    for runtime in runtimes() {
        let counts = Arc::new(Counts::default());
        let compiled = compile(runtime, &counts);
        let pick = compiled.function("pick").unwrap();
        assert!(counts.before.set((4, compiled.function("pick").unwrap())).is_ok());
        assert_eq!((int(pick.call((4, 4))), counts.get()), (5, (3, 1)));
        assert_eq!(int(pick.call((9, 4))), 5);
    }
}

/// Objects of a site lose the reference of the code with it; others that hold them can go on.
#[test]
fn what_is_kept_outlives_the_code_elsewhere() {
    for runtime in runtimes() {
        let counts = Arc::new(Counts::default());
        let compiled = compile(runtime, &counts);
        let get = |n: i64| compiled.function("kept").unwrap().call((n,)).unwrap();
        let held = FfiFunction::try_from(get(3)).unwrap();
        let again = FfiFunction::try_from(get(3)).unwrap();
        drop(FfiFunction::try_from(get(4)).unwrap());
        assert_eq!((held.as_raw(), counts.get()), (again.as_raw(), (2, 0)));
        drop(compiled);
        assert_eq!((int(held.call(())), counts.get()), (3, (2, 1)));
        drop((held, again));
        assert_eq!(counts.get(), (2, 2));
    }
}

/// Sites note what they have found last, but only so often: threads that each use keys of their own find them all the
/// same.
#[test]
fn threads_with_keys_of_their_own_find_them() {
    let counts = Arc::new(Counts::default());
    let compiled = compile(Runtime::builtin(), &counts);
    for turn in 0..3 {
        // A new key lets the note change again.
        let fresh = 100 + turn;
        assert_eq!(int(compiled.function("other").unwrap().call((fresh,))), fresh);
        thread::scope(|scope| {
            for key in 0..4 {
                let other = compiled.function("other").unwrap();
                scope.spawn(move || {
                    (0..5000).for_each(|_| assert_eq!(int(other.call((key,))), key))
                });
            }
        });
    }
    let (made, freed) = counts.get();
    assert_eq!(made - freed, 7);
}

#[test]
fn threads_share_what_is_kept() {
    const THREADS: i64 = 8;
    const KEYS: i64 = 2000;
    for runtime in runtimes() {
        let counts = Arc::new(Counts::default());
        let compiled = compile(runtime, &counts);
        thread::scope(|scope| {
            for at in 0..THREADS {
                let pick = compiled.function("pick").unwrap();
                scope.spawn(move || {
                    for turn in 0..3 * KEYS {
                        let key = (turn * 7 + at * (turn % 3)) % KEYS;
                        assert_eq!(int(pick.call((key, key))), key);
                    }
                });
            }
        });
        let (made, freed) = counts.get();
        assert_eq!(made - freed, KEYS as usize, "one is kept for each key");
        drop(compiled);
        assert_eq!(counts.get(), (made, made));
    }
}

/// Keys that differ in one word or one bit, and many of them.
#[test]
fn no_key_is_taken_for_another() {
    let counts = Arc::new(Counts::default());
    let compiled = compile(Runtime::builtin(), &counts);
    let other = compiled.function("other").unwrap();
    let keys = (0..63).flat_map(|bit| [1_i64 << bit, (1 << bit) ^ 1]).chain(100_000..200_000);
    let mut keys: Vec<i64> = keys.chain([i64::MAX]).collect();
    keys.sort_unstable();
    keys.dedup();
    for _ in 0..2 {
        for &key in &keys {
            assert_eq!(int(other.call((key,))), key);
        }
    }
    assert_eq!(counts.get(), (keys.len(), 0));
}
