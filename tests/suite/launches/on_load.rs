//! Functions that are called once an image is loaded on a device, as NVSHMEM and rocSHMEM want: once per image and
//! device, before the first launch there, and again after an error.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use abi_spec::TypeIndex;
use codegen::Library;
use jit::CallError;
use jit::abi::{Any, SafeCall};
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::closures::Held;
use super::hooks::{self, Loaded};
use super::session::{
    Driver, Fake, FakeObject, Session, cuda, current_context, error_of, int, launched_so_far,
    library_on_load, sessions, take_loading,
};

/// Name of the function that plays NVSHMEM.
const INIT: &str = "test.nvshmem.init";

const LIBRARY: &str = "
    f(x: Tensor([n], float32, device=cuda)) -> None = { launch cubin.\"cluster_kernel\"(x.data) grid(n) block(1); };
    g(x: Tensor([n], float32, device=cuda)) -> None = {
        launch cubin.\"cluster_kernel\"(x.data) grid(2) block(1) smem(n);
        launch cubin.\"shared_kernel\"(x.data, int32(n)) grid(1) block(1);
    };
    other(x: Tensor([n], float32, device=cuda)) -> None = { launch ptx.\"cluster_kernel\"(x.data) grid(n) block(1); };
    state(x: Tensor([n], float32, device=cuda)) -> ptr = { return cubin.global(\"state\"); };
    keep(x: Tensor([n], float32, device=cuda)) -> Function = {
        return function() -> None { launch cubin.\"cluster_kernel\"(x.data) grid(n) block(1); };
    };
    choose(x: Tensor([n], float32, device=cuda), k: int64) -> None
        = { let chosen: Function = cached (k) @keep(x); @(chosen)(); };
";

fn nvshmem() -> Library {
    library_on_load(&format!(" on load @\"{INIT}\""), LIBRARY).with_prepare("ready")
}

fn vector(device: i32) -> Fake {
    Fake::new(0x1000, &[3]).on(cuda(device))
}

/// The calls so far, each with the number of launches before it.
type Seen = Arc<Mutex<Vec<Loaded>>>;

/// Sets a function that notes its calls.
fn note() -> Seen {
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    hooks::set(INIT, move |loaded| {
        noted.lock().unwrap().push(loaded);
        Ok(())
    });
    seen
}

fn take(seen: &Seen) -> Vec<Loaded> {
    std::mem::take(&mut *seen.lock().unwrap())
}

fn devices(seen: &Seen) -> Vec<i64> {
    take(seen).iter().map(|loaded| loaded.device).collect()
}

/// Each image on each device is initialised once, whichever function comes first, with the handles of the image there.
#[test]
fn an_image_is_initialised_once_per_device() {
    let stand_in = fake_cuda::exclusive();
    stand_in.set("devices", 2);
    let seen = note();
    for session in sessions(&nvshmem()) {
        let call = |function: &str, device: i32| {
            session.set_stream(device, ptr::null_mut());
            session.value(function, &[vector(device).arg()]).unwrap();
        };
        call("f", 0);
        let first = take(&seen);
        assert_eq!(first.len(), 1, "{}", session.name);
        assert!(first[0].library != 0 && first[0].module != 0, "{first:x?}");
        call("g", 1);
        let second = take(&seen);
        assert_eq!((second.len(), second[0].device), (1, 1), "{}", session.name);
        assert_eq!(second[0].library, first[0].library, "{}", session.name);
        assert_ne!(second[0].module, first[0].module, "{}", session.name);
        for device in [0, 1] {
            ["f", "g", "state"].into_iter().for_each(|function| call(function, device));
            assert_eq!(devices(&seen), [0; 0], "{}", session.name);
            call("other", device);
            assert_eq!(devices(&seen), [i64::from(device)], "{}", session.name);
        }
        assert_eq!(stand_in.live().pushed, 0, "{}", session.name);
    }
}

/// The record of the first launch: the function runs between loading and launch, with the device current.
#[test]
fn the_first_launch_comes_after() {
    let stand_in = fake_cuda::exclusive();
    let current = Arc::new(AtomicUsize::new(0));
    let context = Arc::clone(&current);
    hooks::set(INIT, move |_| {
        context.store(current_context(), Ordering::Relaxed);
        Ok(())
    });
    let expected = [
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
        "cuKernelGetParamInfo",
        "cuKernelGetParamInfo",
        "cuCtxGetDevice",
        "cuCtxPushCurrent_v2",
        "cuLibraryGetModule",
        "cuCtxGetCurrent",
        "cuCtxPopCurrent_v2",
        "cuCtxGetDevice",
        "cuCtxPushCurrent_v2",
        "cuLaunchKernelEx",
        "cuCtxPopCurrent_v2",
    ];
    for session in sessions(&nvshmem()) {
        session.set_stream(0, ptr::null_mut());
        stand_in.reset();
        session.call("f", &[vector(0).arg()]).unwrap();
        let record = take_loading(&stand_in);
        let names: Vec<&str> = record.lines().filter_map(|line| line.split('(').next()).collect();
        assert_eq!(names, expected, "{}\n{record}", session.name);
        assert_ne!(current.swap(0, Ordering::Relaxed), 0, "{}", session.name);
    }
}

/// Calls a function from several threads that start at once; returns their statuses.
fn at_once(function: SafeCall, count: usize) -> Vec<i32> {
    let barrier = Barrier::new(count);
    let work = || {
        let (x, mut result) = (vector(0), Any::NONE);
        let args = [x.arg()];
        barrier.wait();
        // SAFETY: the arguments are valid, and the code is alive.
        unsafe { function(ptr::null_mut(), args.as_ptr(), 1, &mut result) }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A thread that comes while another one initialises waits until that has ended: nothing is launched meanwhile.
#[test]
fn threads_wait_for_the_first_one() {
    let stand_in = fake_cuda::exclusive();
    let (calls, early) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, found) = (Arc::clone(&calls), Arc::clone(&early));
    hooks::set(INIT, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(30));
        found.fetch_or(launched_so_far() > 0, Ordering::Relaxed);
        Ok(())
    });
    for session in sessions(&nvshmem()) {
        stand_in.reset();
        assert_eq!(at_once(session.function("f"), 4), [0; 4], "{}", session.name);
        let launches = launches(&stand_in);
        assert_eq!((calls.swap(0, Ordering::Relaxed), launches), (1, 4), "{}", session.name);
        assert!(!early.load(Ordering::Relaxed), "{}", session.name);
    }
}

fn launches(stand_in: &FakeCuda) -> usize {
    take_loading(stand_in).lines().filter(|line| line.starts_with("cuLaunchKernelEx")).count()
}

/// The error is that of the launch, word by word; nothing is launched, nothing is left, and the next launch tries
/// again. A thread that has waited makes the call itself.
#[test]
fn an_error_is_that_of_the_launch() {
    let stand_in = fake_cuda::exclusive();
    let (library, x) = (nvshmem(), FakeObject::new(vector(0)));
    let (calls, failing) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, left) = (Arc::clone(&calls), Arc::clone(&failing));
    hooks::set(INIT, move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        let fails = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        match fails {
            Ok(_) => Err(CallError::new("ValueError", "no peers: `a` {b} %s \u{e9}")),
            Err(_) => Ok(()),
        }
    });
    for session in sessions(&library) {
        session.set_stream(0, ptr::null_mut());
        let before = stand_in.live();
        stand_in.reset();
        let expected = Err("ValueError: no peers: `a` {b} %s \u{e9}".to_owned());
        for function in ["f", "g", "keep", "choose", "state", "ready"] {
            failing.store(2, Ordering::Relaxed);
            for _ in 0..2 {
                assert_eq!(call(&session, function, &x), expected, "{} {function}", session.name);
                assert_eq!(launches(&stand_in), 0, "{} {function}", session.name);
            }
            assert_eq!(calls.swap(0, Ordering::Relaxed), 2, "{} {function}", session.name);
        }
        let after = stand_in.live();
        assert_eq!((after.pushed, after.streams, after.memory), (0, before.streams, before.memory));
        failing.store(3, Ordering::Relaxed);
        let mut statuses = at_once(session.function("f"), 6);
        statuses.sort_unstable();
        assert_eq!(statuses, [-1, -1, -1, 0, 0, 0], "{}", session.name);
        assert_eq!(calls.swap(0, Ordering::Relaxed), 4, "{}", session.name);
        assert_eq!(session.call("f", &[vector(0).arg()]), Ok(()), "{}", session.name);
        assert_eq!(calls.load(Ordering::Relaxed), 0, "{}", session.name);
    }
}

/// Calls a function that launches, or the function that it returns. A library may keep the tensor.
fn call(session: &Session, function: &str, x: &FakeObject) -> Result<(), String> {
    match function {
        "ready" => session.call("ready", &[int(0)]),
        "choose" => session.call("choose", &[x.arg(), int(1)]),
        "keep" => Held::new(session, "keep", &[x.arg()])?.call(&[]),
        _ => session.value(function, &[x.arg()]).map(|_| ()),
    }
}

/// What the function launches itself finds the image loaded, on its thread: it may start kernels of its image.
#[test]
fn the_function_may_launch() {
    let stand_in = fake_cuda::exclusive();
    let calls = Arc::new(AtomicUsize::new(0));
    for session in sessions(&nvshmem()) {
        session.set_stream(0, ptr::null_mut());
        let (count, launch) = (Arc::clone(&calls), session.function("g"));
        let x = FakeObject::new(vector(0));
        let held = Held::new(&session, "keep", &[x.arg()]).unwrap();
        hooks::set(INIT, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            let (x, mut result) = (vector(0), Any::NONE);
            let args = [x.arg()];
            // SAFETY: the arguments are valid, and the code is alive while this function is set.
            let status = unsafe { launch(ptr::null_mut(), args.as_ptr(), 1, &mut result) };
            if status == 0 { Ok(()) } else { Err(CallError::new("RuntimeError", "not launched")) }
        });
        stand_in.reset();
        held.call(&[]).unwrap();
        assert_eq!(launches(&stand_in), 3, "{}", session.name);
        held.call(&[]).unwrap();
        session.call("f", &[vector(0).arg()]).unwrap();
        assert_eq!(calls.swap(0, Ordering::Relaxed), 1, "{}", session.name);
        hooks::set(INIT, |_| Ok(()));
    }
}

/// A launch that the function makes by a closure is not kept: another thread that launches by the same closure waits.
#[test]
fn a_closure_in_the_function_is_not_kept() {
    let stand_in = fake_cuda::exclusive();
    let x = FakeObject::new(vector(0));
    let address = x.arg().bits() as usize;
    for session in sessions(&nvshmem()) {
        session.set_stream(0, ptr::null_mut());
        let choose = session.function("choose");
        let call = move || {
            let pointer = ptr::with_exposed_provenance_mut(address);
            let args = [Any::ptr(TypeIndex::TENSOR, pointer), int(1)];
            let mut result = Any::NONE;
            // SAFETY: the arguments are valid, and the code is alive while this function is called.
            unsafe { choose(ptr::null_mut(), args.as_ptr(), 2, &mut result) }
        };
        let (started, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (start, end) = (Arc::clone(&started), Arc::clone(&ended));
        hooks::set(INIT, move |_| {
            let status = call();
            start.store(true, Ordering::Release);
            thread::sleep(Duration::from_millis(30));
            end.store(launched_so_far() + 100 * status.unsigned_abs() as usize, Ordering::Relaxed);
            Ok(())
        });
        stand_in.reset();
        let statuses = thread::scope(|scope| {
            let other = scope.spawn(|| {
                while !started.load(Ordering::Acquire) {
                    thread::sleep(Duration::from_millis(1));
                }
                call()
            });
            [call(), other.join().unwrap()]
        });
        assert_eq!((statuses, ended.load(Ordering::Relaxed)), ([0, 0], 1), "{}", session.name);
        assert_eq!((call(), launches(&stand_in)), (0, 4), "{}", session.name);
        hooks::set(INIT, |_| Ok(()));
    }
}

/// `prepare` initialises, so that launches are legal while a graph is captured; closures and kept functions too.
#[test]
fn preparing_initialises() {
    let stand_in = fake_cuda::exclusive();
    stand_in.set("devices", 2);
    let (driver, x) = (Driver(&stand_in), FakeObject::new(vector(0)));
    let seen = note();
    let stream = driver.create_stream(0);
    for session in sessions(&nvshmem()) {
        session.set_stream(0, stream);
        session.call("ready", &[int(0)]).unwrap();
        assert_eq!(devices(&seen), [0, 0], "{}: both images", session.name);
        session.call("ready", &[int(0)]).unwrap();
        let status = driver.capture(stream, || {
            for function in ["f", "g", "keep", "choose", "other", "state"] {
                assert_eq!(call(&session, function, &x), Ok(()), "{} {function}", session.name);
            }
        });
        assert_eq!((devices(&seen), status), (vec![], 0), "{}", session.name);
        session.call("ready", &[int(1)]).unwrap();
        assert_eq!(devices(&seen), [1, 1], "{}", session.name);
    }
    driver.destroy_stream(0, stream);
}

/// Every call of the driver fails once, in a fresh library: no context is left, and the next call initialises once.
#[test]
fn failures_of_the_driver() {
    let stand_in = fake_cuda::exclusive();
    let seen = note();
    let library = nvshmem();
    for make in super::session::shared(&library) {
        for fault in 1.. {
            let session = make();
            session.set_stream(0, ptr::null_mut());
            stand_in.reset();
            stand_in.fail_at(fault, 999);
            let ended = session.call("f", &[vector(0).arg()]);
            let (record, calls) = (stand_in.record(), stand_in.calls());
            stand_in.reset();
            if calls < fault {
                assert_eq!((ended, take(&seen).len()), (Ok(()), 1), "{}", session.name);
                break;
            }
            let place = format!("{}: call {fault}: {record}", session.name);
            stand_in.pop_all();
            assert_eq!(session.call("f", &[vector(0).arg()]), Ok(()), "{place}");
            assert_eq!(take(&seen).len(), 1, "{place}");
        }
    }
}

/// A function that there is not is a missing function, as where a body calls it.
#[test]
fn functions_are_found_by_name() {
    let _stand_in = fake_cuda::exclusive();
    let library = library_on_load(" on load @\"test.nvshmem.none\"", LIBRARY);
    for session in sessions(&library).iter().filter(|session| !session.name.contains("builtin")) {
        session.set_stream(0, ptr::null_mut());
        let expected =
            error_of(&library, "f", "RuntimeError: Missing function test.nvshmem.none …");
        let error = session.call("f", &[vector(0).arg()]).unwrap_err();
        let is_known = error == expected || error.starts_with("KeyError");
        assert!(is_known, "{}: {error}", session.name);
    }
}

/// Unloading forgets that an image was initialised.
#[test]
fn images_are_initialised_again_after_unloading() {
    let _stand_in = fake_cuda::exclusive();
    let seen = note();
    for session in sessions(&nvshmem()) {
        let Some(compiled) = session.compiled() else { continue };
        session.set_stream(0, ptr::null_mut());
        for _ in 0..2 {
            session.call("f", &[vector(0).arg()]).unwrap();
            session.call("f", &[vector(0).arg()]).unwrap();
            assert_eq!(take(&seen).len(), 1, "{}", session.name);
            // SAFETY: no function and no kernel is running.
            unsafe { compiled.unload_images() };
        }
    }
}
