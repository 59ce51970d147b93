//! Named tensor maps, and the cache of each site that makes maps.

use std::ptr;
use std::sync::Barrier;
use std::thread;

use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::session::{Fake, Session, int, library, sessions, take_launches};

/// A map of which every number is an input.
const WHOLE: &str = "f(x: Tensor([n, m], float32, device=cuda, strides=any), d0: int64, d1: int64, s: int64, o: int64, \
    b0: int64, b1: int64, e0: int64, e1: int64) -> None = { launch cubin.\"tma\"(tensormap(x, dims=[d0, d1], \
    strides=[s, 1], offset=o, box=[b0, b1], steps=[e0, e1]), x.data) grid(1) block(1); };";

/// Calls a function that succeeds; returns the number of encoded maps, and the maps of its launches.
fn call(session: &Session, cuda: &FakeCuda, args: &[Any]) -> (usize, Vec<String>) {
    cuda.reset();
    session.call("f", args).unwrap_or_else(|error| panic!("{}: {error}", session.name));
    let record = take_launches(cuda);
    let encoded = record.lines().filter(|line| line.starts_with("cuTensorMapEncodeTiled"));
    let launches = record.lines().filter_map(|line| line.split("parameters=[").nth(1));
    let maps = launches.filter_map(|parameters| parameters.split(',').next().map(str::to_owned));
    (encoded.count(), maps.collect())
}

#[test]
fn equal_inputs_are_encoded_once() {
    let cuda = fake_cuda::exclusive();
    for session in sessions(&library(WHOLE)) {
        session.set_stream(0, ptr::null_mut());
        let plain = [8, 64, 128, 0, 1, 16, 1, 1];
        let x = Fake::new(0x10000, &[8, 128]);
        let with = |x: &Fake, numbers: [i64; 8]| {
            let args: Vec<Any> = [x.arg()].into_iter().chain(numbers.map(int)).collect();
            call(&session, &cuda, &args)
        };
        let (count, maps) = with(&x, plain);
        assert_eq!((count, maps.len()), (1, 1), "{}", session.name);
        assert_eq!(with(&x, plain), (0, maps.clone()), "{}", session.name);
        // Each input alone makes another map, and then the first one again.
        for (at, other) in [7, 32, 64, 16, 2, 8, 2, 2].into_iter().enumerate() {
            let mut numbers = plain;
            numbers[at] = other;
            let (count, changed) = with(&x, numbers);
            assert!(count == 1 && changed != maps, "{}: input {at}", session.name);
            assert_eq!(with(&x, numbers), (0, changed), "{}: input {at}", session.name);
            assert_eq!(with(&x, plain), (1, maps.clone()), "{}: input {at}", session.name);
        }
        let moved = Fake::new(0x20000, &[8, 128]);
        let (count, changed) = with(&moved, plain);
        assert!(count == 1 && changed != maps, "{}", session.name);
        assert_eq!(with(&moved, plain), (0, changed), "{}", session.name);
    }
}

/// The map of the tensor as it is depends on its extents and, unless it is compact, on its strides.
#[test]
fn tensors_are_inputs() {
    let cuda = fake_cuda::exclusive();
    let text = |strides: &str| {
        format!(
            "f(x: Tensor([n, m], float32, device=cuda{strides})) -> None \
             = {{ launch cubin.\"tma\"(tensormap(x, box=[1, 4]), x.data) grid(1) block(1); }};"
        )
    };
    let shapes = [[8, 128], [7, 128], [8, 64], [64, 8]];
    for strides in ["", ", strides=any", ", strides=[s, 1]"] {
        for session in sessions(&library(&text(strides))) {
            session.set_stream(0, ptr::null_mut());
            let mut seen = Vec::new();
            for shape in shapes {
                let x = Fake::new(0x10000, &shape);
                let (count, maps) = call(&session, &cuda, &[x.arg()]);
                assert!(count == 1 && !seen.contains(&maps), "{}: {shape:?}", session.name);
                assert_eq!(
                    call(&session, &cuda, &[x.arg()]),
                    (0, maps.clone()),
                    "{}",
                    session.name
                );
                seen.push(maps);
            }
            if !strides.is_empty() {
                let x = Fake::new(0x10000, &[64, 8]).with_strides(&[16, 1]);
                let (count, maps) = call(&session, &cuda, &[x.arg()]);
                assert!(count == 1 && !seen.contains(&maps), "{}", session.name);
            }
        }
    }
}

/// A map that no driver has encoded is not kept, nor one whose numbers are refused.
#[test]
fn failures_are_not_kept() {
    let cuda = fake_cuda::exclusive();
    for session in sessions(&library(WHOLE)) {
        session.set_stream(0, ptr::null_mut());
        let x = Fake::new(0x10000, &[8, 128]);
        let args = |d0: i64, o: i64| {
            let numbers = [d0, 64, 128, o, 1, 16, 1, 1].map(int);
            [x.arg()].into_iter().chain(numbers).collect::<Vec<Any>>()
        };
        let (_, maps) = call(&session, &cuda, &args(8, 0));
        for wrong in [args(0, 0), args(8, 8)] {
            assert!(session.call("f", &wrong).is_err(), "{}", session.name);
            assert_eq!(call(&session, &cuda, &args(8, 0)), (0, maps.clone()), "{}", session.name);
        }
        let (_, other) = call(&session, &cuda, &args(7, 0));
        cuda.reset();
        cuda.fail_at(1, 999);
        assert!(session.call("f", &args(8, 0)).is_err(), "{}", session.name);
        cuda.pop_all();
        assert_eq!(call(&session, &cuda, &args(7, 0)), (0, other), "{}", session.name);
        assert_eq!(call(&session, &cuda, &args(8, 0)), (1, maps), "{}", session.name);
    }
}

/// An operand that may fail is evaluated only where its condition holds, with a full cache too.
#[test]
fn inputs_under_a_condition() {
    let cuda = fake_cuda::exclusive();
    let text = "f(x: Tensor([...], float32, device=cuda), i: int64) -> None = { launch cubin.\"tma\"(tensormap(x, \
        dims=[1 + int64(x.ndim > 1 and x.shape[1] > 64), i], box=[1, 4]), x.data) grid(1) block(1); };";
    for session in sessions(&library(text)) {
        session.set_stream(0, ptr::null_mut());
        for (shape, is_new) in
            [(&[128][..], 1), (&[128], 0), (&[1, 128], 1), (&[1, 128], 0), (&[9], 1)]
        {
            let x = Fake::new(0x10000, shape);
            let (count, _) = call(&session, &cuda, &[x.arg(), int(8)]);
            assert_eq!(count, is_new, "{}: {shape:?}", session.name);
        }
    }
}

/// Launches take a named map as often as they want; it is encoded once for each turn of a loop around it.
#[test]
fn named_maps() {
    let cuda = fake_cuda::exclusive();
    let text = "f(x: Tensor([n, m], float32, device=cuda), y: Tensor([n, m], float32, device=cuda), k: int64) -> None = {
        let whole = tensormap(x, box=[1, 4]);
        launch cubin.\"tma\"(whole, y.data) grid(1) block(1);
        for j in 1..k {
            let part = tensormap(x, dims=[j, m], box=[1, 4]);
            if j % 2 == 0 {
                let other = tensormap(y, offset=16 * j, box=[1, 4]);
                launch cubin.\"tma\"(other, y.data) grid(1) block(1);
            }
            launch cubin.\"tma\"(part, y.data) grid(1) block(1);
            launch cubin.\"tma\"(whole, y.data) grid(1) block(1);
            launch cubin.\"tma\"(part, y.data) grid(1) block(1);
        }
    };";
    for session in sessions(&library(text)) {
        session.set_stream(0, ptr::null_mut());
        let (x, y) = (Fake::new(0x10000, &[8, 128]), Fake::new(0x20000, &[8, 128]));
        let (count, maps) = call(&session, &cuda, &[x.arg(), y.arg(), int(3)]);
        assert_eq!((count, maps.len()), (4, 8), "{}", session.name);
        let [whole, first, again, back, other, second, ..] = &maps[..] else { unreachable!() };
        assert!(again == whole && back == first && second != first && other != second);
        assert_eq!(maps[6..], [whole.clone(), second.clone()], "{}", session.name);
        let (count, _) = call(&session, &cuda, &[x.arg(), y.arg(), int(1)]);
        assert_eq!(count, 0, "{}", session.name);
    }
}

/// A named map of a tensor of any device is refused where it is made.
#[test]
fn named_maps_are_of_gpus() {
    let cuda = fake_cuda::exclusive();
    let text =
        "f(x: Tensor([n], float32, device=any), y: Tensor([n], float32, device=cuda)) -> None = {
        let map = tensormap(x, box=[4]); launch cubin.\"tma\"(map, y.data) grid(1) block(1);
    };";
    for session in sessions(&library(text)) {
        session.set_stream(0, ptr::null_mut());
        let y = Fake::new(0x20000, &[8]);
        let x =
            Fake::new(0x10000, &[8]).on(abi_spec::Device { ty: abi_spec::DeviceType::CPU, id: 0 });
        let error = session.call("f", &[x.arg(), y.arg()]).unwrap_err();
        assert!(error.starts_with("ValueError: Mismatched x.device on argument #0"), "{error}");
        let x = Fake::new(0x10000, &[8]);
        assert_eq!(call(&session, &cuda, &[x.arg(), y.arg()]).0, 1, "{}", session.name);
    }
}

/// Threads use one site with different tensors. Each launch gets the map of its own tensor, whose address is the second
/// word of the map and the second parameter.
#[test]
fn threads_never_see_a_torn_map() {
    const THREADS: usize = 4;
    const CALLS: usize = 300;
    let cuda = fake_cuda::exclusive();
    let text = "f(x: Tensor([n, m], float32, device=cuda)) -> None \
                = { launch cubin.\"tma\"(tensormap(x, box=[1, 4]), x.data) grid(1) block(1); };";
    for session in sessions(&library(text)) {
        session.set_stream(0, ptr::null_mut());
        let function = session.function("f");
        cuda.reset();
        let barrier = Barrier::new(THREADS);
        let work = |thread: usize| {
            let tensors = [0, 1].map(|at| Fake::new(0x10000 * (1 + at), &[8, 128 << at]));
            let mut result = Any::NONE;
            barrier.wait();
            (0..CALLS).all(|turn| {
                let args = [tensors[(turn / (thread + 1)) % 2].arg()];
                // SAFETY: the arguments are valid, and the code is alive.
                unsafe { function(ptr::null_mut(), args.as_ptr(), 1, &mut result) == 0 }
            })
        };
        let work = &work;
        let fine: Vec<bool> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || work(at))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(fine, [true; THREADS], "{}", session.name);
        let record = take_launches(&cuda);
        let launches: Vec<&str> =
            record.lines().filter_map(|line| line.split("parameters=[").nth(1)).collect();
        assert_eq!(launches.len(), THREADS * CALLS, "{}", session.name);
        let mut kinds: Vec<&str> = launches.clone();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), 2, "{}: {kinds:#?}", session.name);
        for kind in kinds {
            let (map, address) =
                kind.trim_end_matches(']').split_once(", ").expect("two parameters");
            assert_eq!(&map[16..32], address, "{}", session.name);
        }
    }
}
