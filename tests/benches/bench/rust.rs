//! Time of calls of our functions in Rust, through the handles of the JIT.

use std::hint::black_box;
use std::time::Instant;

use jit::abi::Any;
use jit::{Arg, Context, TensorView};

use crate::cases::cases;
use crate::ours;
use crate::peers::Kernels;
use crate::report::Table;
use crate::samples::{Item, interleave};
use crate::setup::Setup;

const CALLS: u32 = 20_000;

/// Returns the nanoseconds per call.
fn batch(mut call: impl FnMut()) -> Vec<f64> {
    let start = Instant::now();
    (0..CALLS).for_each(|_| call());
    vec![start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)]
}

fn item<'a>(column: &str, run: impl FnMut() -> Vec<f64> + 'a) -> Item<'a> {
    let (column, rows) = (column.to_owned(), vec!["add_one".to_owned()]);
    Item { column, rows, run: Box::new(run) }
}

/// Measures `add_one` by its address, by the safe handle, and as a function object that keeps its code.
pub(crate) fn handles(setup: &Setup, kernels: &Kernels) -> Table {
    let case = cases().into_iter().find(|case| case.name == "add_one").expect("one of them");
    let function = ours::compile(&case.declaration, kernels).function(case.name);
    let function = function.expect("it is declared");
    let object = function.clone().into_ffi_function(Context::none()).expect("the runtime can");
    let (mut x, mut y) = ([1.0_f32; 5], [0.0_f32; 5]);
    let (mut x, mut y) = (TensorView::new(&mut x), TensorView::new(&mut y));
    let args: [Arg<'_>; 2] = [(&mut x).into(), (&mut y).into()];
    let values = args.map(|arg| *arg.as_raw());
    let by_address = || {
        let (mut result, args) = (Any::NONE, black_box(&values).as_ptr());
        // SAFETY: there are two valid values, and a place for the result.
        let status = unsafe { function.call_raw(std::ptr::null_mut(), args, 2, &mut result) };
        assert_eq!(status, 0);
    };
    let by_handle = || drop(function.call(black_box(&args)).expect("they fit"));
    let by_object = || drop(object.call(black_box(&args)).expect("they fit"));
    let items = vec![
        item("HostFunction::call_raw", || batch(by_address)),
        item("HostFunction::call", || batch(by_handle)),
        item("FfiFunction::call", || batch(by_object)),
    ];
    Table {
        title: "Calls through the handles of the JIT".to_owned(),
        unit: "ns per call",
        base: Some("HostFunction::call_raw".to_owned()),
        series: interleave(items, setup.pick(201, 3)),
        ..Table::default()
    }
}
