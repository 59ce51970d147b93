//! Containers that others change while a function checks them: the function must succeed or raise an error, and balance
//! its references. Here other threads write; `tests/suite/mutated` changes a word between any two instructions. Changed
//! memory stays readable: no row frees the memory of a container, which no reader could survive.

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

use crate::argument::parse_list;
use crate::ffi::{Ffi, installed};
use crate::frame::Frame;
use crate::gate::backends;
use crate::route::{lowering, request};
use crate::volume::{Report, scramble};

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed; another one changes the words in another order.
    pub seed: u64,
    /// Minimal number of calls of each declaration in the code of each backend.
    pub calls: u32,
}

/// Positions of words in an object: after the three of the header, a container has the address of its elements and
/// their number. A tensor has its rank and its shape.
const ELEMENTS: usize = 3;
const SIZE: usize = 4;
const RANK: usize = 5;
const SHAPE: usize = 6;

/// New value of a word.
#[derive(Clone, Copy, Debug)]
pub enum To {
    /// A number.
    Number(u64),
    /// Address of an argument.
    Argument(usize),
    /// Elements of an argument.
    ElementsOf(usize),
}

/// A declaration, its arguments, of which the first is passed, and the words that change: paths of words from the first
/// argument through addresses.
pub type Row = (&'static str, &'static str, &'static [(&'static [usize], To)]);

/// The rows.
pub const ROWS: [Row; 8] = [
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

/// The most time for both a success and a failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// Calls every declaration in the code of every backend while threads, or the runtime in a thread, change its argument.
///
/// # Panics
/// If a declaration does not compile, or the runtime lacks a class.
pub fn run(plan: &Plan) -> Report {
    let mut report = Report::default();
    for (declaration, arguments, changes) in ROWS {
        everywhere(declaration, |backend, function| {
            let (place, frame) = (format!("{backend}: {declaration}"), frame(arguments));
            let words: Vec<_> = changes.iter().map(|(path, to)| word(&frame, path, *to)).collect();
            calls(plan, &place, function, &frame, 2, &mut report, |number| {
                let number = scramble(number);
                let (place, values) = words[(number >> 32) as usize % words.len()];
                // The first value occurs more often, so that sometimes all words have it.
                place.store(values[usize::from(number.is_multiple_of(4))], Ordering::Relaxed);
            });
            words.iter().for_each(|(place, values)| place.store(values[0], Ordering::Relaxed));
            balance(&place, &frame, &mut report);
        });
    }
    for (declaration, setter, arguments, payload) in SET {
        everywhere(declaration, |backend, function| {
            let (place, frame) = (format!("{backend}: {declaration}"), frame(arguments));
            let args = Shared(frame.args.clone());
            let (element, _) = word(&frame, &[ELEMENTS, payload], To::Number(0));
            let first = element.load(Ordering::Relaxed) as *mut c_void;
            calls(plan, &place, function, &frame, 1, &mut report, |number| {
                args.set(setter, args.get(2 + scramble(number) as usize % 2));
            });
            args.set(setter, Any::ptr(TypeIndex::TENSOR, first));
            balance(&place, &frame, &mut report);
        });
    }
    report
}

/// Calls a function with the first argument while `change` runs repeatedly in `threads` other threads, with a different
/// number each time.
fn calls(
    plan: &Plan,
    place: &str,
    function: SafeCall,
    frame: &Frame,
    threads: u64,
    report: &mut Report,
    change: impl Fn(u64) + Sync,
) {
    let (ffi, stop, mut ended) = (Ffi::new(installed()), AtomicBool::new(false), BTreeMap::new());
    thread::scope(|scope| {
        for thread in 0..threads {
            let (stop, change) = (&stop, &change);
            scope.spawn(move || {
                let numbers = (0..).map(|turn| plan.seed.wrapping_add(turn * threads + thread));
                numbers.take_while(|_| !stop.load(Ordering::Relaxed)).for_each(change);
            });
        }
        let end = Instant::now() + PATIENCE;
        let mut left = u64::from(plan.calls);
        while left > 0 || (!has_both(&ended) && Instant::now() < end) {
            *ended.entry(call(function, frame, &ffi)).or_insert(0) += 1;
            left = left.saturating_sub(1);
        }
        stop.store(true, Ordering::Relaxed);
    });
    report.declarations += 1;
    report.calls += ended.values().sum::<u64>();
    report.accepted += ended.get(&Ok(String::new())).copied().unwrap_or_default();
    let wrong = ended.keys().filter_map(|end| end.as_ref().err());
    report.wrong.extend(wrong.map(|wrong| format!("{place}: {wrong}")));
    if !has_both(&ended) {
        report.wrong.push(format!("{place}: nothing but {ended:?}"));
    }
}

/// Returns true for a success and a failure.
fn has_both(ended: &BTreeMap<Result<String, String>, u64>) -> bool {
    ended.contains_key(&Ok(String::new())) && ended.len() > 1
}

fn balance(place: &str, frame: &Frame, report: &mut Report) {
    if !frame.is_balanced() {
        report.wrong.push(format!("{place}: references were kept or lost"));
    }
}

/// Makes a call and returns the kind of its error, empty for a success.
///
/// # Errors
/// If status and error contradict each other.
pub fn call(function: SafeCall, frame: &Frame, ffi: &Ffi) -> Result<String, String> {
    let mut result = Any::NONE;
    // SAFETY: the arguments are live, and whatever they hold is.
    let status = unsafe { function(ptr::null_mut(), frame.as_ptr(), 1, &mut result) };
    if result.ty().is_object() {
        // SAFETY: the result is owned.
        unsafe { ffi.release(result.pointer().cast()) };
    }
    match (status, ffi.take_error()) {
        (0, None) => Ok(String::new()),
        (-1, Some((kind, _))) => Ok(kind),
        (status, error) => Err(format!("status {status}, error {error:?}")),
    }
}

/// Runs a check on the code of every backend.
///
/// # Panics
/// If the declaration does not compile.
pub fn everywhere(declaration: &str, mut run: impl FnMut(&str, SafeCall)) {
    installed();
    let library: Library = declaration.parse().unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    for backend in backends() {
        let path = folder.path().join(format!("{backend}.so"));
        let module = driver::lower(&library, &lowering(&library, backend)).unwrap();
        request(backend, driver::Form::Shared).write_module(&module, &path).unwrap();
        // SAFETY: the library has no initialisers, and the function this type.
        let loaded = unsafe { Loaded::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.unwrap();
        // SAFETY: as above.
        run(backend, *unsafe { loaded.get::<SafeCall>("__tvm_ffi_f") }.unwrap());
    }
}

/// Builds the arguments of a row.
///
/// # Panics
/// If they do not parse, or the runtime lacks a class.
pub fn frame(arguments: &str) -> Frame {
    let (arguments, _) = parse_list(arguments).unwrap_or_else(|error| panic!("{error}"));
    Frame::new(&arguments, &Ffi::new(installed())).expect("the runtime has all it takes")
}

/// Returns a word, its initial and its new value.
///
/// # Panics
/// If the path is empty.
pub fn word(frame: &Frame, path: &[usize], to: To) -> (&'static AtomicU64, [u64; 2]) {
    let address = |argument: usize| frame.args[argument].pointer().cast::<u64>();
    let (last, path) = path.split_last().expect("a path is not empty");
    // SAFETY: the rows name words of live objects, which only the caller writes to and no Rust code reads.
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
