//! Stack of failing calls: measured by paint, and on threads with little stack.

use std::cell::Cell;
use std::ffi::c_void;
use std::hint::black_box;

use jit::abi::Any;
use jit::{HostFunction, Jit};
use tvm_ffi_codegen_tests::argument::{Argument, parse_list, print_list};
use tvm_ffi_codegen_tests::cases::{self, Case, Row};
use tvm_ffi_codegen_tests::ffi::{self, Ffi};
use tvm_ffi_codegen_tests::frame::Frame;
use tvm_ffi_codegen_tests::kernels::kernels;
use tvm_ffi_codegen_tests::outcome::End;
use tvm_ffi_codegen_tests::route::{Call, InProcess, Route};

use crate::guarded::Guarded;

/// Maximal bytes of stack of a failing call, all frames together, unless the runtime makes the error: see [`Measured`].
const FAILING: usize = 8 << 10;

/// Bytes of paint.
const PAINTED: usize = 256 << 10;

/// Unpainted bytes below the painter's frame, which the painter uses itself.
const GAP: usize = 512;

const PAINT: u64 = 0x5ca1_ab1e_0dd5_eed5;

thread_local! {
    /// Stack of the last call, in bytes.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Makes a call on painted stack.
#[inline(never)]
pub(crate) fn painted(call: &mut dyn FnMut() -> i32) -> i32 {
    let here = black_box(0u64);
    let top = ((&raw const here) as usize - GAP) & !7;
    let words = || (top - PAINTED..top).step_by(8).map(|at| at as *mut u64);
    for word in words() {
        // SAFETY: the thread has that much stack, and nothing lives below this frame.
        unsafe { word.write_volatile(PAINT) };
    }
    let status = call();
    // SAFETY: as above.
    let touched = words().find(|&word| unsafe { word.read_volatile() } != PAINT);
    let lowest = touched.map_or(top, |word| word as usize);
    DEPTH.set(top + GAP - lowest);
    status
}

/// Returns the bytes of stack that the last call took.
pub(crate) fn depth() -> usize {
    DEPTH.get()
}

/// Bytes that a call takes beyond an error which the runtime makes: the frames of the wrapper, and of what the runtime
/// does before.
const AROUND_ERROR: usize = 2 << 10;

/// Argument of the calls in which nothing happens but that a kernel has the runtime make an error.
const MAKES_ERROR: &str = "runtime(TVMFFIErrorSetRaisedFromCStr)";

/// A call of the table.
struct Measured {
    text: String,
    /// Bytes of stack, without those of the route.
    depth: usize,
    failed: bool,
    /// True if the runtime may be what fails: it parses names of element types, looks up classes, allocates tensors,
    /// and makes the errors of C code. Such an error comes with a backtrace of all callers, which takes 55 KiB if the
    /// code of the JIT is among them, and 6 KiB in a shared library.
    in_runtime: bool,
}

impl Measured {
    fn new(case: &Case, row: &Row, route: &dyn Route) -> Measured {
        let function = &case.function.signature.name;
        let call = Call { function, arguments: &row.arguments, count: row.count };
        let outcome = route.run(&[call]).remove(0);
        let failed = outcome.is_ok_and(|outcome| matches!(outcome.end, End::Error { .. }));
        let text = format!("{function}{}", print_list(&row.arguments));
        let declared = case.function.to_string();
        let allocates =
            declared.contains("alloc ") || !case.function.signature.outputs().is_empty();
        let asks = declared.contains("dtype") || declared.contains("Object[\"");
        let in_runtime = allocates || asks || text.contains(MAKES_ERROR);
        Measured { text, depth: DEPTH.get(), failed, in_runtime }
    }

    /// Returns true for a call that takes no more than it needs, if an error of the runtime needs this much.
    fn is_modest(&self, error: usize) -> bool {
        let deep = error..=error + AROUND_ERROR;
        self.depth <= FAILING || self.in_runtime && deep.contains(&self.depth)
    }
}

/// Makes all calls of the table and checks the stack of failing ones.
fn check(table: &[Case], route: &dyn Route) {
    let rows = table.iter().flat_map(|case| case.rows.iter().map(move |row| (case, row)));
    let mut calls: Vec<_> = rows.map(|(case, row)| Measured::new(case, row, route)).collect();
    let route_takes = calls.iter().map(|call| call.depth).min().unwrap_or_default();
    calls.iter_mut().for_each(|call| call.depth -= route_takes);
    calls.retain(|call| call.failed);
    let errors = calls.iter().filter(|call| call.text.contains(MAKES_ERROR));
    let error = errors.map(|call| call.depth).min().expect("the table has such calls");
    let small = calls.iter().filter(|call| call.depth <= FAILING);
    let deepest = small.clone().map(|call| call.depth).max().unwrap_or_default();
    println!(
        "{}: at most {deepest} bytes beyond {route_takes} for {} of {} failing calls; {error} for a runtime's error",
        route.name(),
        small.count(),
        calls.len()
    );
    let wrong = calls.iter().filter(|call| !call.is_modest(error));
    let wrong: Vec<_> = wrong.map(|call| format!("{} bytes: {}", call.depth, call.text)).collect();
    assert!(wrong.is_empty(), "{}\n{}", route.name(), wrong.join("\n"));
    assert!(deepest > 4 << 10, "{}: a message alone has more than {deepest} bytes", route.name());
}

#[test]
fn failing_calls_take_little_in_process() {
    let table = cases::table();
    let mut route = InProcess::new(&cases::library(&table), ffi::installed());
    route.around = painted;
    check(&table, &route);
}

#[cfg(feature = "llvm")]
#[test]
fn failing_calls_take_little_however_optimized() {
    use driver::Optimize::{O0, O1, O2};
    use tvm_ffi_codegen_tests::gate::Part;
    use tvm_ffi_codegen_tests::route::Shared;
    let table = cases::table();
    for level in [O0, O1, O2] {
        if level == O1 && !Part::Levels.runs() {
            continue;
        }
        println!("{level:?}");
        let mut route = Shared::optimized(&cases::library(&table), "llvm", level);
        route.around = painted;
        check(&table, &route);
    }
}

/// Calls that fail in different ways.
const CALLS: [(&str, &str); 6] = [
    ("f(a: int8) -> None = record_0();", "(300)"),
    (
        "f(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = record_0();",
        "(float32[2], float32[3])",
    ),
    ("f(a: float64) -> None where a > 0.1 = record_0();", "(0.09)"),
    (
        "f(u: Union[int8, str, Array[Union[int8, Tensor([2], float32)]]]) -> None = record_0();",
        "(array(1, 300))",
    ),
    (
        "f(xs: Array[Array[Optional[Tensor([n], float32)]]]) -> None = record_0();",
        "(array(array(float32[2]), array(none, float32[3])))",
    ),
    ("f(m: Map[str, int8]) -> None = record_0();", "(map(\"a\": 300))"),
];

/// A call for a thread.
struct Job {
    function: HostFunction,
    args: *const Any,
    count: i32,
    status: i32,
}

extern "C" fn work(job: *mut c_void) -> *mut c_void {
    // SAFETY: the job outlives the thread, and the arguments are valid.
    unsafe {
        let job = &mut *job.cast::<Job>();
        let mut result = Any::NONE;
        job.status = job.function.call_raw(std::ptr::null_mut(), job.args, job.count, &mut result);
    }
    std::ptr::null_mut()
}

/// Runs a job on a thread with this stack.
fn run(job: &mut Job, memory: *mut u8, size: usize) {
    // SAFETY: the attributes are set before they are used, the stack is nobody else's, and the thread ends
    // before this does.
    unsafe {
        let (mut attributes, mut thread) = (std::mem::zeroed(), std::mem::zeroed());
        assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
        assert_eq!(libc::pthread_attr_setstack(&mut attributes, memory.cast(), size), 0);
        let job = (&raw mut *job).cast::<c_void>();
        assert_eq!(libc::pthread_create(&mut thread, &attributes, work, job), 0);
        assert_eq!(libc::pthread_join(thread, std::ptr::null_mut()), 0);
        libc::pthread_attr_destroy(&mut attributes);
    }
}

fn compile(text: &str) -> HostFunction {
    let jit = Jit::with_runtime(ffi::installed()).expect("there is a code generator");
    let kernel = kernels().address("record_0").expect("it is there");
    // SAFETY: the kernel takes nothing.
    let jit = unsafe { jit.kernel_at("record_0", kernel) };
    let library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let compiled = jit.compile(&library).unwrap_or_else(|error| panic!("{text}: {error}"));
    compiled.function("f").expect("it is declared")
}

/// Returns a job with its frame and the expected kind of error.
fn job(text: &str, arguments: &[Argument]) -> (Job, Frame) {
    let frame = Frame::new(arguments, &Ffi::new(ffi::installed())).expect("the runtime has all");
    let (args, count) = (frame.as_ptr(), arguments.len() as i32);
    (Job { function: compile(text), args, count, status: 0 }, frame)
}

/// Returns the stack of a thread that calls a trivial function.
fn thread_takes() -> usize {
    let stack = Guarded::new(1 << 20);
    // SAFETY: nobody uses the memory yet.
    unsafe { stack.memory().write_bytes(0x5c, stack.size()) };
    let (mut job, _frame) = job("f() -> None = record_0();", &[]);
    run(&mut job, stack.memory(), stack.size());
    assert_eq!(job.status, 0);
    // SAFETY: the thread has ended.
    let bytes = unsafe { std::slice::from_raw_parts(stack.memory(), stack.size()) };
    stack.size() - bytes.iter().position(|&byte| byte != 0x5c).expect("it has used some")
}

#[test]
fn failing_calls_fit_small_threads() {
    let takes = thread_takes();
    for (text, arguments) in CALLS {
        let (arguments, _) = parse_list(arguments).unwrap_or_else(|error| panic!("{error}"));
        let (mut job, _frame) = job(text, &arguments);
        let size = takes + FAILING;
        // The stack ends at the inaccessible page.
        let stack = Guarded::new(size);
        run(&mut job, stack.memory(), stack.size());
        assert_eq!(job.status, -1, "{text}");
        assert!(stack.is_intact(), "{text}: something was written below the stack");
    }
}
