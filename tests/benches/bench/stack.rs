//! Stack of calls, measured on a painted stack.

use std::ptr;

use jit::abi::Any;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};

use crate::answers::Answers;
use crate::cases::{Call, timed};
use crate::functions::{Arguments, Function, Functions};
use crate::report::{Plot, Report, Section, Table};
use crate::samples::{Samples, Series};

/// Bytes of paint, and of the thread's stack.
const PAINTED: usize = 1 << 20;
const STACK: usize = 4 << 20;
const PAINT: u64 = 0x5a5a_c3c3_a5a5_3c3c;

/// Runs this part.
pub(crate) fn run(all: &[Functions], answers: &Answers, report: &mut Report) {
    let (ffi, calls) = (Ffi::new(ffi::installed()), timed());
    let arguments = Arguments::new(&calls, &ffi);
    let (context, object) = (ptr::null_mut(), ptr::null_mut());
    let empty = touched(Function { direct: nothing, context, object }, &[], &ffi);
    let mut table = Table {
        title: "Stack that a call touches".to_owned(),
        unit: "bytes",
        note:
            "The frames of the function and of all that it calls, on a call that is not the first."
                .to_owned(),
        plot: Plot::Marks,
        ..Table::default()
    };
    for (index, call) in calls.iter().enumerate() {
        for functions in all {
            let (row, column) = (call.name(), functions.peer.clone());
            let Some(function) = functions.by_case.get(call.case) else { continue };
            if let Some(fault) = answers.fault(&functions.peer, &row) {
                table.absent.push([row, column, fault.to_owned()]);
                continue;
            }
            touched(*function, arguments.of(index), &ffi);
            let bytes = touched(*function, arguments.of(index), &ffi);
            let samples = Samples(vec![(bytes - empty) as f64]);
            table.series.push(Series { row, column, samples });
        }
    }
    add_most(&mut table, &calls, all);
    let (title, tables) = ("Stack".to_owned(), vec![table]);
    report.sections.push(Section { title, tables, ..Section::default() });
}

/// Adds rows of the most stack of any call.
fn add_most(table: &mut Table, calls: &[Call], all: &[Functions]) {
    let ways = [("most, of calls that succeed", false), ("most, of calls that fail", true)];
    for (functions, (row, fails)) in all.iter().flat_map(|all| ways.map(|way| (all, way))) {
        let rows = calls.iter().filter(|call| call.fails == fails).map(Call::name);
        let bytes = rows.filter_map(|row| Some(table.cell(&row, &functions.peer)?.max()));
        let Some(most) = bytes.reduce(f64::max) else { continue };
        let (row, column, samples) = (row.to_owned(), functions.peer.clone(), Samples(vec![most]));
        table.series.push(Series { row, column, samples });
    }
}

/// A function that does nothing, so that a call of it touches the stack that every call touches.
unsafe extern "C" fn nothing(_: *mut std::ffi::c_void, _: *const Any, _: i32, _: *mut Any) -> i32 {
    0
}

/// A call for a thread; the pointers stay valid while it runs.
#[derive(Clone, Copy)]
struct Job {
    function: Function,
    args: *const Any,
    count: i32,
}

// SAFETY: only one thread uses it, while the other waits.
unsafe impl Send for Job {}

/// Returns the bytes of stack that a call touches, with its return address.
fn touched(function: Function, args: &[Any], ffi: &Ffi) -> usize {
    let (job, ffi) = (Job { function, args: args.as_ptr(), count: args.len() as i32 }, *ffi);
    let run = move || {
        let bytes = on_painted_stack(job);
        ffi.take_error();
        bytes
    };
    // The smaller of two calls in one thread: the first error of a thread needs extra stack.
    let twice = move || run().min(run());
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let thread = builder.spawn_scoped(scope, twice).expect("a thread can be made");
        thread.join().expect("nothing panics there")
    })
}

/// Returns the stack pointer; memory below is free for callees.
#[inline(always)]
fn stack_pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags))
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags))
    };
    pointer
}

/// Paints the stack below this frame, calls, and returns the depth of damaged paint.
#[inline(never)]
fn on_painted_stack(job: Job) -> usize {
    let (mut result, top) = (Any::NONE, stack_pointer() & !7);
    let word = |index: usize| (top - 8 * (index + 1)) as *mut u64;
    for index in 0..PAINTED / 8 {
        // SAFETY: the thread's stack reaches further down than this, and nothing down there is in use:
        // a function that calls others keeps nothing below its end of the stack.
        unsafe { ptr::write_volatile(word(index), PAINT) };
    }
    // SAFETY: the arguments are valid, and the result is a place for one.
    unsafe { (job.function.direct)(job.function.context, job.args, job.count, &mut result) };
    let mut deepest = PAINTED / 8;
    // SAFETY: as above.
    while deepest > 0 && unsafe { ptr::read_volatile(word(deepest - 1)) } == PAINT {
        deepest -= 1;
    }
    8 * deepest
}
