//! Containers that others change while a function checks them: the function must succeed or raise an error, and balance
//! its references. Writers are other threads, or a trap between any two instructions of a call. Changed memory stays
//! readable: no test frees the memory of a container, which no reader could survive.

#[cfg(target_arch = "x86_64")]
mod between;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use abi_spec::TypeIndex;
use codegen::Library;
use jit::abi::{Any, SafeCall};
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::ffi::{Ffi, installed};
use tvm_ffi_codegen_tests::frame::Frame;
use tvm_ffi_codegen_tests::route::{BACKENDS, lowering, request};

/// Positions of words in an object: after the three of the header, a container has the address of its elements and
/// their number. A tensor has its rank and its shape.
const ELEMENTS: usize = 3;
const SIZE: usize = 4;
const RANK: usize = 5;
const SHAPE: usize = 6;

/// New value of a word.
#[derive(Clone, Copy)]
enum To {
    Number(u64),
    /// Address of an argument.
    Argument(usize),
    /// Elements of an argument.
    ElementsOf(usize),
}

/// A declaration, its arguments, of which the first is passed, and the words that change: paths of words from the first
/// argument through addresses.
type Row = (&'static str, &'static str, &'static [(&'static [usize], To)]);

const ROWS: [Row; 8] = [
    (
        "f(a: Array[int8]) -> int64 = { return a.size; };",
        "(array(1, 2, 3, 4), array(5, \"a\", 7, 8))",
        &[
            (&[ELEMENTS, 5], To::Number(300)),
            (&[ELEMENTS, 6], To::Number(3)),
            (&[SIZE], To::Number(2)),
            (&[ELEMENTS], To::ElementsOf(1)),
        ],
    ),
    (
        "f(a: List[Optional[Tensor([n, m], float32)]]) -> int64 = { return a.size; };",
        "(list(float32[2, 3]{object}, none, float32[2, 3]{object}), float32[2, 4]{object})",
        &[
            (&[ELEMENTS, 5], To::Argument(1)),
            (&[ELEMENTS, 1, SHAPE, 1], To::Number(7)),
            (&[SIZE], To::Number(1)),
        ],
    ),
    (
        "f(a: Array[Tensor([...], float32)]) -> int64 = { return a.size; };",
        "(array(float32[2, 3]{object}, float32[2, 3]{object}), int32[2]{object})",
        &[
            (&[ELEMENTS, 3], To::Argument(1)),
            (&[ELEMENTS, 1, RANK], To::Number((32 << 8 | 2) << 32 | 1 << 48 | 1)),
            (&[ELEMENTS, 1, SHAPE, 0], To::Number(u64::MAX)),
        ],
    ),
    (
        "f(a: List[List[Union[int64, str]]]) -> int64 = { return a.size; };",
        "(list(list(1, \"a text of the heap\"), list(2, 3)), list(1, none))",
        &[
            (&[ELEMENTS, 1], To::Argument(1)),
            (&[ELEMENTS, 3, SIZE], To::Number(0)),
            (&[ELEMENTS, 3, ELEMENTS, 0], To::Number(0)),
        ],
    ),
    (
        "f(a: Tuple[int64, Tensor([n], float32)]) -> Any = { return a; };",
        "(array(4, float32[3]{object}), float64[3]{object})",
        &[(&[SIZE], To::Number(1)), (&[ELEMENTS, 3], To::Argument(1))],
    ),
    (
        "f(a: Map[str, int64]) -> Any = { return a; };",
        "(map(\"a\": 1, \"b\": 2, \"c\": 3))",
        &[
            (&[ELEMENTS, 2], To::Number(0)),
            (&[ELEMENTS, 4], To::Number(1)),
            (&[SIZE], To::Number(1)),
        ],
    ),
    (
        "f(a: Dict[str, Tensor([n], float32)]) -> int64 = { return 1; };",
        "(dict(\"a\": float32[3]{object}, \"b\": float32[3]{object}), float32[4]{object})",
        &[
            (&[ELEMENTS, 3], To::Argument(1)),
            (&[ELEMENTS, 7, SHAPE, 0], To::Number(5)),
            (&[SIZE], To::Number(1)),
        ],
    ),
    (
        "f(a: Dict[int64, List[int64]]) -> int64 = { return 1; };",
        "(dict(1: list(1, 2), 2: list(3, 4)), list(none))",
        &[(&[ELEMENTS, 3], To::Argument(1)), (&[ELEMENTS, 7, SIZE], To::Number(0))],
    ),
];

/// A declaration; the function of the runtime that sets an element; the container, the key, and two elements to set in
/// turn; the word of the elements that is the address of the changing one.
const SET: [(&str, &str, &str, usize); 2] = [
    (
        "f(a: List[Tensor([n], float32)]) -> Any = { return a; };",
        "ffi.ListSetItem",
        "(list(float32[3]{object}, float32[3]{object}), 0, float32[4]{object}, float32[3]{object})",
        1,
    ),
    (
        "f(a: Dict[str, Tensor([n], float32)]) -> Any = { return a; };",
        "ffi.DictSetItem",
        "(dict(\"a\": float32[3]{object}, \"b\": float32[3]{object}), \"b\", float32[4]{object}, float32[3]{object})",
        7,
    ),
];

/// Minimal number of calls, and the time limit for both a success and a failure.
const CALLS: u32 = 1_000;
const PATIENCE: Duration = Duration::from_secs(20);

/// Bounds of the number of instructions after which a word changes: from the preparation of the arguments to the
/// composition of the error.
#[cfg(target_arch = "x86_64")]
const FEW: u64 = 40;
#[cfg(target_arch = "x86_64")]
const MANY: u64 = 1_000;

/// Runs a test on the code of every backend.
fn everywhere(declaration: &str, run: impl Fn(&str, SafeCall)) {
    installed();
    let library: Library = declaration.parse().unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    for backend in BACKENDS {
        let path = folder.path().join(format!("{backend}.so"));
        let module = driver::lower(&library, &lowering(&library, backend)).unwrap();
        request(backend, driver::Form::Shared).write_module(&module, &path).unwrap();
        // SAFETY: the library has no initialisers, and the function this type.
        let loaded = unsafe { Loaded::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.unwrap();
        // SAFETY: as above.
        run(backend, *unsafe { loaded.get::<SafeCall>("__tvm_ffi_f") }.unwrap());
    }
}

/// Calls a function with the first argument while `change` runs repeatedly in `threads` other threads, with a different
/// number each time.
fn calls(
    place: &str,
    function: SafeCall,
    frame: &Frame,
    threads: u64,
    change: impl Fn(u64) + Sync,
) {
    let (ffi, stop, mut ended) = (Ffi::new(installed()), AtomicBool::new(false), BTreeMap::new());
    thread::scope(|scope| {
        for thread in 0..threads {
            let (stop, change) = (&stop, &change);
            scope.spawn(move || {
                let numbers = (0..).map(|turn| turn * threads + thread);
                numbers.take_while(|_| !stop.load(Ordering::Relaxed)).for_each(change);
            });
        }
        let end = Instant::now() + PATIENCE;
        let enough = |ended: &BTreeMap<String, u32>| {
            ended.contains_key("") && ended.len() > 1 && ended.values().sum::<u32>() >= CALLS
        };
        while !enough(&ended) && Instant::now() < end {
            *ended.entry(call(place, function, frame, &ffi)).or_default() += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(ended.contains_key("") && ended.len() > 1, "{place}: {ended:?}");
}

/// Makes a call and returns the kind of its error.
fn call(place: &str, function: SafeCall, frame: &Frame, ffi: &Ffi) -> String {
    let mut result = Any::NONE;
    // SAFETY: the arguments are live, and whatever they hold is.
    let status = unsafe { function(ptr::null_mut(), frame.as_ptr(), 1, &mut result) };
    if result.ty().is_object() {
        // SAFETY: the result is owned.
        unsafe { ffi.release(result.pointer().cast()) };
    }
    match (status, ffi.take_error()) {
        (0, None) => String::new(),
        (-1, Some((kind, _))) => kind,
        (status, error) => panic!("{place}: status {status}, error {error:?}"),
    }
}

fn frame(arguments: &str) -> Frame {
    let (arguments, _) = parse_list(arguments).unwrap_or_else(|error| panic!("{error}"));
    Frame::new(&arguments, &Ffi::new(installed())).expect("the runtime has all it takes")
}

/// Returns a word, its initial and its new value.
fn word(frame: &Frame, path: &[usize], to: To) -> (&'static AtomicU64, [u64; 2]) {
    let address = |argument: usize| frame.args[argument].pointer().cast::<u64>();
    let (last, path) = path.split_last().expect("a path is not empty");
    // SAFETY: the rows name words of live objects, which only this test writes to and no Rust code reads.
    unsafe {
        let base = path.iter().fold(address(0), |at, word| at.add(*word).cast::<*mut u64>().read());
        let place = AtomicU64::from_ptr(base.add(*last));
        let changed = match to {
            To::Number(number) => number,
            To::Argument(argument) => address(argument) as u64,
            To::ElementsOf(argument) => address(argument).add(ELEMENTS).read(),
        };
        (place, [place.load(Ordering::Relaxed), changed])
    }
}

/// Hashes a number.
fn scramble(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// Changes every word of every row, in both directions, at up to eighteen points of the call.
#[cfg(target_arch = "x86_64")]
#[test]
fn what_changes_between_two_instructions_is_accepted_or_refused() {
    for (declaration, arguments, changes) in ROWS {
        everywhere(declaration, |backend, function| {
            let (place, frame) = (format!("{backend}: {declaration}"), frame(arguments));
            let ffi = Ffi::new(installed());
            for (number, (path, to)) in changes.iter().enumerate() {
                let (word, [first, other]) = word(&frame, path, *to);
                for (before, after) in [(first, other), (other, first)] {
                    let place = format!("{place}, change {number} from {before:#x}");
                    let mut instructions = FEW + number as u64;
                    while instructions < MANY {
                        word.store(before, Ordering::Relaxed);
                        let changed = between::change(instructions, word, after, &mut || {
                            call(&place, function, &frame, &ffi);
                        });
                        assert!(frame.is_balanced(), "{place}: {instructions}");
                        instructions = if changed { instructions * 6 / 5 } else { MANY };
                    }
                }
                word.store(first, Ordering::Relaxed);
            }
        });
    }
}

#[test]
fn what_threads_change_is_accepted_or_refused() {
    for (declaration, arguments, changes) in ROWS {
        everywhere(declaration, |backend, function| {
            let (place, frame) = (format!("{backend}: {declaration}"), frame(arguments));
            let words: Vec<_> = changes.iter().map(|(path, to)| word(&frame, path, *to)).collect();
            calls(&place, function, &frame, 2, |number| {
                let number = scramble(number);
                let (place, values) = words[(number >> 32) as usize % words.len()];
                // The first value occurs more often, so that sometimes all words have it.
                place.store(values[usize::from(number.is_multiple_of(4))], Ordering::Relaxed);
            });
            words.iter().for_each(|(place, values)| place.store(values[0], Ordering::Relaxed));
            assert!(frame.is_balanced(), "{place}: references were kept or lost");
        });
    }
}

/// Arguments that other threads read and nobody writes to.
struct Shared(Vec<Any>);

// SAFETY: values are not written to, and the runtime's counts of references are atomic.
unsafe impl Sync for Shared {}

impl Shared {
    fn get(&self, index: usize) -> Any {
        self.0[index]
    }

    /// Sets the element under a key of a container to another argument.
    fn set(&self, setter: &str, element: Any) {
        let [container, key] = [self.0[0], self.0[1]];
        Ffi::new(installed()).call_global(setter, &[container, key, element]);
    }
}

#[test]
fn what_the_runtime_changes_is_accepted_or_refused() {
    for (declaration, setter, arguments, payload) in SET {
        everywhere(declaration, |backend, function| {
            let (place, frame) = (format!("{backend}: {declaration}"), frame(arguments));
            let args = Shared(frame.args.clone());
            let (element, _) = word(&frame, &[ELEMENTS, payload], To::Number(0));
            let first = element.load(Ordering::Relaxed) as *mut c_void;
            calls(&place, function, &frame, 1, |number| {
                args.set(setter, args.get(2 + scramble(number) as usize % 2));
            });
            args.set(setter, Any::ptr(TypeIndex::TENSOR, first));
            assert!(frame.is_balanced(), "{place}: references were kept or lost");
        });
    }
}
