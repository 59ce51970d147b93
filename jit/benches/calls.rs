//! Time of safe calls, compared with bare calls of the wrapper: `cargo bench -p tvm-ffi-codegen-jit`.

use std::hint::black_box;
use std::time::Instant;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::abi::Any;
use tvm_ffi_codegen_jit::{Arg, Context, HostFunction, Jit, TensorView};

const CALLS: u32 = 200_000;
const SAMPLES: usize = 61;
const LIBRARIES: u32 = 2_000;

extern "C" fn add_one(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}

extern "C" fn scale(x: f64, y: i64) -> f64 {
    x * y as f64
}

const TEXT: &str = "
    add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None = add_one(x.data, y.data, n);
    scale(x: float64, y: int64) -> float64 = scale(x, y);
";

/// Returns the shortest time of a call, in nanoseconds.
fn time(mut call: impl FnMut()) -> f64 {
    let sample = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..SAMPLES).map(sample).fold(f64::INFINITY, f64::min)
}

/// Calls a function as C does.
fn raw(function: &HostFunction, args: &[Any; 2]) {
    let mut result = Any::NONE;
    let args = black_box(args).as_ptr();
    // SAFETY: there are two valid values, and a place for the result.
    let status = unsafe { function.call_raw(std::ptr::null_mut(), args, 2, &mut result) };
    assert_eq!(status, 0);
    black_box(&result);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let library: Library = TEXT.parse()?;
    let (adding, scaling): (extern "C" fn(_, _, _), extern "C" fn(_, _) -> _) = (add_one, scale);
    // SAFETY: the kernels are sound for vectors of one length and for numbers, and `x` is only read.
    let jit = unsafe { Jit::new()?.kernel("add_one", adding).kernel("scale", scaling) };
    let compiled = jit.compile(&library)?;
    let [add_one, scale] = ["add_one", "scale"].map(|name| compiled.function(name));
    let (add_one, scale) = (add_one.ok_or("declared")?, scale.ok_or("declared")?);

    let (x, mut y) = (vec![1.0_f32; 5], vec![0.0_f32; 5]);
    let mut z = y.clone();
    let (a, mut b) = (TensorView::new(&x), TensorView::new(&mut z));
    let bare = [*Arg::from(&a).as_raw(), *Arg::from(&mut b).as_raw()];
    let base = time(|| raw(&add_one, &bare));
    let report = |name: &str, base: f64, found: f64| {
        println!("{name:32} {found:6.2} ns  {:.2}x", found / base);
    };
    report("add_one: call_raw", base, base);
    let views = time(|| drop(add_one.call((black_box(&a), &mut b))));
    report("add_one: views", base, views);
    let args = [Arg::from(&a), Arg::from(&mut b)];
    report("add_one: [Arg; 2]", base, time(|| drop(add_one.call(black_box(&args)))));
    report("add_one: &[Arg]", base, time(|| drop(add_one.call(&black_box(&args)[..]))));
    report("add_one: vectors", base, time(|| drop(add_one.call((black_box(&x), &mut y)))));
    let object = add_one.clone().into_ffi_function(Context::none())?;
    report("add_one: FfiFunction", base, time(|| drop(object.call((black_box(&x), &mut y)))));

    // C fills in the arguments, calls, and reads the result.
    let mut sum = 0.0;
    let base = time(|| {
        let args = [*Arg::from(black_box(2.0)).as_raw(), *Arg::from(3).as_raw()];
        let mut result = Any::NONE;
        // SAFETY: there are two valid values, and a place for the result.
        let status = unsafe { scale.call_raw(std::ptr::null_mut(), args.as_ptr(), 2, &mut result) };
        assert_eq!(status, 0);
        sum += f64::from_bits(result.bits() as u64);
    });
    report("scale: call_raw", base, base);
    let numbers = time(|| {
        let returned = scale.call((black_box(2.0), 3)).expect("they fit");
        sum += f64::try_from(returned).expect("it is a float");
    });
    report("scale: numbers", base, numbers);
    black_box(sum);

    let compile = || -> Result<_, tvm_ffi_codegen_jit::Error> {
        // SAFETY: as above.
        unsafe { Jit::new()?.kernel("add_one", adding).kernel("scale", scaling) }.compile(&library)
    };
    let start = Instant::now();
    let live: Vec<_> = (0..LIBRARIES).map(|_| compile()).collect::<Result<_, _>>()?;
    let made = start.elapsed().as_secs_f64() * 1e6 / f64::from(LIBRARIES);
    let start = Instant::now();
    drop(live);
    let freed = start.elapsed().as_secs_f64() * 1e6 / f64::from(LIBRARIES);
    println!(
        "{LIBRARIES} live libraries of two functions: made in {made:.1} us each, freed in {freed:.1}"
    );
    Ok(())
}
