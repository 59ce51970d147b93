//! The types of kernels that `Jit::define` hands out, and what it costs to compute them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write as _;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Error, Jit, Runtime, Signatures};

/// The system's allocator, with the number of allocations of this thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends may allocate after its thread-locals are gone.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `f`; returns the number of its allocations.
fn allocations(f: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.with(Cell::get);
    f();
    ALLOCATIONS.with(Cell::get) - before
}

/// A library whose functions call `kernels` kernels, four each.
fn library(kernels: usize) -> Library {
    let mut text = String::new();
    for function in 0..kernels / 4 {
        let calls = (0..4).map(|call| format!("k{}(x.data, n, {call});", 4 * function + call));
        let calls: Vec<String> = calls.collect();
        let calls = calls.join(" ");
        write!(text, "f{function}(x: Tensor([n], float32)) -> None = {{ {calls} }};").unwrap();
    }
    text.parse().unwrap()
}

fn define(
    library: &Library,
    with: impl FnOnce(&Signatures) -> Result<(), Error>,
) -> Result<(), Error> {
    let jit = Jit::with_runtime(Runtime::builtin()).unwrap();
    // SAFETY: nothing is defined.
    unsafe { jit.define(library, |_, signatures| with(signatures)) }.map(drop)
}

/// The type of each of 800 kernels costs what it costs to resolve the library once, and to copy the types.
#[test]
fn types_of_many_kernels_take_one_look_at_the_library() {
    let ask_for_all = |kernels: usize| {
        let library = library(kernels);
        let ask = |signatures: &Signatures| {
            (0..kernels).try_for_each(|k| signatures.get(&format!("k{k}")).map(drop))
        };
        define(&library, ask).unwrap();
        let resolve = allocations(|| drop(library.kernels().unwrap()));
        (resolve, allocations(|| define(&library, ask).unwrap()))
    };
    for kernels in [80, 800] {
        let (resolve, all) = ask_for_all(kernels);
        assert!(
            all < 2 * resolve + 20 * kernels + 1000,
            "{kernels} kernels: {all}, resolving {resolve}"
        );
    }
}

#[test]
fn types_are_those_of_the_calls() {
    let none = "h() -> None = {};".parse().unwrap();
    let error = define(&none, |signatures| {
        assert!(signatures.is_empty());
        signatures.get("first").map(drop)
    });
    assert_eq!(error.unwrap_err().to_string(), "no kernel `first` is declared");
    let library: Library = "
        f(x: Tensor([n], float32), a: int8) -> int64 = second(x.data, a);
        g(x: float64) -> None = { first(x); third(null, int32(1)); };
    "
    .parse()
    .unwrap();
    define(&library, |signatures| {
        let found: Vec<String> = signatures.iter().map(|(symbol, _)| symbol.to_owned()).collect();
        assert_eq!(
            (found, signatures.len()),
            (vec!["second".into(), "first".into(), "third".into()], 3)
        );
        let [second, first, third] =
            ["second", "first", "third"].map(|symbol| signatures.get(symbol).unwrap());
        assert_eq!((second.params.len(), first.params.len(), third.params.len()), (2, 1, 2));
        assert_eq!((second.returns.len(), first.returns.len()), (1, 0));
        assert_eq!(
            signatures.get("second "),
            Err(Error::Unknown { what: "kernel", name: "second ".into() })
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_is_not_valid_defines_nothing() {
    let mut library = library(4);
    library.functions[0].signature.name = "not a name\0".to_owned();
    let error = define(&library, |_| unreachable!("nothing is defined")).unwrap_err();
    assert!(matches!(error, Error::Declaration(_)), "{error}");
}
